"""Resends a webhook delivery, replays a part of the log, and sends a test event."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.audit import audit
from shop.actions.context import Context
from shop.actions.events import Subject
from shop.actions.webhooks.secrets import list_secrets
from shop.actions.webhooks.sender import RenderWebhook, open_client, send_event
from shop.base.errors import Conflict, Invalid, NotFound
from shop.base.ids import new_id
from shop.gateways.safe_http import HttpResult
from shop.models.events import Event
from shop.models.webhooks.inputs import WebhookReplayInput
from shop.queries import events
from shop.queries.access import server_keys
from shop.queries.webhooks import deliveries, endpoints
from shop.queries.webhooks.deliveries import AttemptRecord, DueDelivery

TEST_TYPE = "webhook_endpoint.test"
_NO_SUBJECT = UUID(int=0)


def delivery_row(endpoint_id: UUID, event: Event) -> Mapping[str, Any]:
    """Returns the columns of a new delivery."""
    return {
        "id": new_id(),
        "endpoint_id": endpoint_id,
        "event_id": event.id,
        "event_type": event.type,
        "occurred_at": event.occurred_at,
        "position": event.position or 0,
        # Events about the whole shop have no subject; they too go one after another.
        "subject_id": event.subject_id or _NO_SUBJECT,
    }


def attempt_record(delivery_id: UUID, state: str, wait: int | None, result: HttpResult) -> AttemptRecord:
    # PostgreSQL stores no zero bytes in texts.
    response = result.body.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
    return AttemptRecord(
        id=new_id(),
        delivery_id=delivery_id,
        state=state,
        wait=wait,
        status=result.status,
        milliseconds=result.milliseconds,
        response=response,
        error=result.error,
    )


async def resend(ctx: Context, delivery_id: UUID) -> UUID:
    """Delivers an event again, as a new delivery; a pending one is only sent earlier. Returns the delivery's id."""
    async with ctx.transaction() as idempotency:
        if idempotency.existing_id:
            return idempotency.existing_id
        due = await _lock_delivery(ctx, delivery_id)
        if due.delivery.state == "pending":
            await deliveries.expedite(ctx.db, delivery_id)
            new_delivery_id = delivery_id
        else:
            if due.event is None:
                raise Conflict("The event is no longer kept, or was a test.")
            row = delivery_row(due.delivery.endpoint_id, due.event)
            new_delivery_id = row["id"]
            await deliveries.insert_deliveries(ctx.db, [row])
        await audit(ctx, "webhook_resent", "done", subject_id=new_delivery_id)
        idempotency.record(new_delivery_id)
    return new_delivery_id


async def replay(ctx: Context, endpoint_id: UUID, body: WebhookReplayInput) -> None:
    """Queues all matching events of a part of the log again, in the background."""
    async with ctx.transaction() as idempotency:
        if idempotency.existing_id:
            return
        await _lock(ctx, endpoint_id)
        first, last = await _read_range(ctx, body)
        if first <= last and not await endpoints.start_replay(ctx.db, endpoint_id, after=first - 1, until=last):
            raise Conflict("A replay is already in progress; wait until it has ended.")
        await audit(ctx, "webhook_replayed", "done", subject_id=endpoint_id, detail={"from": first, "to": last})
        idempotency.record(endpoint_id)


async def _lock_delivery(ctx: Context, delivery_id: UUID) -> DueDelivery:
    """Locks the endpoint of a delivery, and returns the delivery as it is then."""
    before = await deliveries.find_with_event(ctx.db, delivery_id)
    if before is None:
        raise NotFound()
    await _lock(ctx, before.delivery.endpoint_id)
    return await deliveries.find_with_event(ctx.db, delivery_id) or before


async def _lock(ctx: Context, endpoint_id: UUID) -> None:
    if await endpoints.find_endpoint(ctx.db, endpoint_id) is None:
        raise NotFound()
    if await endpoints.lock_active(ctx.db, endpoint_id) is None:
        raise Conflict("The endpoint is disabled; enable it first.")


async def _read_range(ctx: Context, body: WebhookReplayInput) -> tuple[int, int]:
    """Returns the first and the last position of a range."""
    if bool(body.from_position) == bool(body.since):
        raise Invalid({"base": ["needs either from_position or since"]})
    if body.to_position and body.until:
        raise Invalid({"base": ["has both to_position and until"]})
    end = await events.last_position(ctx.db)
    first, last = await endpoints.find_positions(ctx.db, body.since or None, body.until or None)
    # Without an event since that time, the range is empty.
    start = (body.from_position or 0) if body.from_position else (first or end + 1)
    stop = (last or 0) if body.until else min(body.to_position or end, end)
    return start, stop


async def send_test(ctx: Context, endpoint_id: UUID, subject: Subject, render: RenderWebhook) -> UUID:
    """Sends a test event at once, also to a disabled endpoint; records and returns the delivery. It is not retried."""
    endpoint = await endpoints.find_endpoint(ctx.db, endpoint_id)
    if endpoint is None:
        raise NotFound()
    now = await server_keys.read_clock(ctx.db)
    event = Event(
        id=new_id(),
        type=TEST_TYPE,
        occurred_at=now,
        actor_kind=ctx.actor.kind,
        actor_id=ctx.actor.id,
        subject_type=subject.type,
        subject_id=endpoint_id,
        row=msgspec.to_builtins(endpoint),
    )
    secrets = await list_secrets(ctx.shared, ctx.db, endpoint_id)
    client = open_client(is_try_out=ctx.shared.is_try_out)
    result = await send_event(client, endpoint.url, secrets, event, render, now.timestamp())
    row = delivery_row(endpoint_id, event)
    is_success = result.error is None and result.status is not None and 200 <= result.status < 300
    attempt = attempt_record(row["id"], "succeeded" if is_success else "failed", None, result)
    async with ctx.transaction() as idempotency:
        if idempotency.existing_id:
            return idempotency.existing_id
        await deliveries.insert_ended(ctx.db, row, attempt)
        await audit(ctx, "webhook_tested", "done", subject_id=endpoint_id, detail={"status": result.status})
        idempotency.record(row["id"])
    return UUID(str(row["id"]))
