"""Creates, updates, deletes and disables webhook endpoints, in the caller's transaction."""

from uuid import UUID

from shop.actions.access.operator_notices import notify_operators
from shop.actions.audit import audit
from shop.actions.context import Context
from shop.actions.events import note_event
from shop.actions.records import ResourceActions
from shop.actions.webhooks.secrets import create_secret
from shop.base.errors import Invalid, NotFound
from shop.base.ids import new_id
from shop.models.webhooks.endpoints import WebhookEndpoint, webhook_endpoints
from shop.models.webhooks.inputs import WebhookEndpointInput
from shop.queries import events, writes
from shop.queries.records import Records
from shop.queries.webhooks import deliveries, endpoints, secrets
from shop.rules.outgoing_urls import url_error
from shop.rules.webhooks.disabling import choice_reason
from shop.rules.webhooks.possible_types import list_possible_types
from shop.rules.webhooks.subscriptions import fields_error, patterns_error

MAX_ENDPOINTS = 100
"""A process can deliver to all of them at once."""
MAX_DESCRIPTION = 1000
CANCEL_BATCH = 5000


class ShownEndpoint(WebhookEndpoint, frozen=True, kw_only=True):
    """An endpoint with its secret, which is shown only when it is created."""

    secret: str | None = None


async def create_endpoint(ctx: Context, values: WebhookEndpointInput) -> UUID:
    return await insert_endpoint(ctx, new_id(), values)


async def insert_endpoint(ctx: Context, endpoint_id: UUID, values: WebhookEndpointInput) -> UUID:
    """Creates an endpoint with this id, and its secret."""
    _check(ctx, values)
    if await endpoints.count_endpoints(ctx.db) >= MAX_ENDPOINTS:
        raise Invalid({"base": [f"exceeds the limit of {MAX_ENDPOINTS} endpoints; delete one first"]})
    end = await events.last_position(ctx.db)
    await writes.insert_record(ctx.db, webhook_endpoints, endpoint_id, {"types": ["*"], **values, "position": end})
    await create_secret(ctx, endpoint_id)
    ctx.wake("webhooks")
    return endpoint_id


async def update_endpoint(ctx: Context, endpoint_id: UUID, values: WebhookEndpointInput) -> None:
    """Updates an endpoint. One that is enabled again starts at the end of the log."""
    _check(ctx, values)
    columns = {name: value for name, value in values.items() if name != "enabled"}
    if "url" in columns:
        # The new receiver has not failed yet.
        columns |= {"failing_since": None, "paused_until": None}
    if columns:
        await writes.update_record(ctx.db, webhook_endpoints, endpoint_id, columns)
    if values.get("enabled") is True:
        while await deliveries.cancel_pending(ctx.db, endpoint_id, CANCEL_BATCH) == CANCEL_BATCH:
            pass
        await endpoints.enable(ctx.db, endpoint_id, await events.last_position(ctx.db))
        ctx.wake("webhooks")
    elif values.get("enabled") is False:
        await endpoints.disable(ctx.db, endpoint_id, choice_reason(ctx.actor.kind))


async def delete_endpoint(ctx: Context, endpoint_id: UUID) -> None:
    if not await endpoints.delete_endpoint(ctx.db, endpoint_id):
        raise NotFound()
    await secrets.delete_secrets(ctx.db, endpoint_id)


async def disable_endpoint(ctx: Context, endpoint_id: UUID, reason: str) -> None:
    """Disables an endpoint that does not work, and notifies all operators."""
    url = await endpoints.disable(ctx.db, endpoint_id, reason)
    if url is None:
        return
    note_event(ctx, "webhook_endpoint.disabled", WEBHOOK_ENDPOINT.subject, endpoint_id)
    detail = {"url": url, "reason": reason}
    audit_id = await audit(ctx, "webhook_endpoint_disabled", "done", subject_id=endpoint_id, detail=detail)
    await notify_operators(ctx, audit_id)


def find_errors(ctx: Context, values: WebhookEndpointInput) -> dict[str, list[str]]:
    """Returns the errors of the values, by field."""
    errors = {
        "url": url_error(values["url"], is_try_out=ctx.is_try_out) if "url" in values else None,
        "types": patterns_error(values["types"], list_possible_types(values["types"])) if "types" in values else None,
        "fields": fields_error(values["fields"]) if "fields" in values else None,
        "description": (
            f"must have at most {MAX_DESCRIPTION} characters"
            if len(values.get("description") or "") > MAX_DESCRIPTION
            else None
        ),
    }
    return {name: [error] for name, error in errors.items() if error}


def _check(ctx: Context, values: WebhookEndpointInput) -> None:
    if errors := find_errors(ctx, values):
        raise Invalid(errors)


_is_shown = webhook_endpoints.c.deleted_at.is_(None)
WEBHOOK_ENDPOINT = ResourceActions(
    "webhook_endpoint",
    Records(table=webhook_endpoints, row=ShownEndpoint, shown=_is_shown),
    create_endpoint,
    update_endpoint,
    delete_endpoint,
)
