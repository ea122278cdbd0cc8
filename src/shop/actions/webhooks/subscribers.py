"""Webhook endpoints under their names in Spree. Their events are those of an endpoint."""

from collections.abc import Mapping
from uuid import UUID

from shop.actions.context import Context
from shop.actions.events import note_change, note_deletion
from shop.actions.records import ResourceActions
from shop.actions.webhooks.endpoints import (
    WEBHOOK_ENDPOINT,
    ShownEndpoint,
    create_endpoint,
    delete_endpoint,
    update_endpoint,
)
from shop.base.errors import Invalid
from shop.models.webhooks.endpoints import webhook_endpoints
from shop.models.webhooks.inputs import SubscriberInput, WebhookEndpointInput
from shop.queries.records import Records
from shop.queries.webhooks import endpoints

_NAMES = {"types": "subscriptions"}


async def create_subscriber(ctx: Context, values: SubscriberInput) -> UUID:
    try:
        endpoint_id = await create_endpoint(ctx, _translate(values))
    except Invalid as error:
        raise _rename(error) from None
    note_change(ctx, WEBHOOK_ENDPOINT.subject, endpoint_id)
    return endpoint_id


async def update_subscriber(ctx: Context, endpoint_id: UUID, values: SubscriberInput) -> None:
    note_change(ctx, WEBHOOK_ENDPOINT.subject, endpoint_id, await endpoints.find_endpoint(ctx.db, endpoint_id))
    try:
        await update_endpoint(ctx, endpoint_id, _translate(values))
    except Invalid as error:
        raise _rename(error) from None


async def delete_subscriber(ctx: Context, endpoint_id: UUID) -> None:
    note_deletion(ctx, WEBHOOK_ENDPOINT.subject, await endpoints.find_endpoint(ctx.db, endpoint_id))
    await delete_endpoint(ctx, endpoint_id)


async def _present(_ctx: Context, row: ShownEndpoint, _values: object) -> Mapping[str, object]:
    return {"active": row.enabled, "subscriptions": row.types}


def _translate(values: SubscriberInput) -> WebhookEndpointInput:
    endpoint: WebhookEndpointInput = {}
    if "url" in values:
        endpoint["url"] = values["url"]
    if "active" in values:
        endpoint["enabled"] = values["active"]
    if "subscriptions" in values:
        endpoint["types"] = values["subscriptions"]
    return endpoint


def _rename(error: Invalid) -> Invalid:
    return Invalid({_NAMES.get(name, name): texts for name, texts in error.errors.items()})


SUBSCRIBER = ResourceActions(
    "subscriber",
    Records(table=webhook_endpoints, row=ShownEndpoint, shown=webhook_endpoints.c.deleted_at.is_(None)),
    create_subscriber,
    update_subscriber,
    delete_subscriber,
    present=_present,
    has_events=False,
)
