"""Runs the listeners of extensions from the event log: in order, each event at least once, each listener alone.

A listener reads the log after the commits, so that a failure cannot undo a change of the shop. It is repeated with
growing pauses, and delays no other listener.
"""

import asyncio
from collections.abc import Sequence
from uuid import UUID

import structlog

from shop.actions.audit import audit
from shop.actions.context import Context, Shared
from shop.actions.extensions.declarations import EventListener, ListenedEvent
from shop.actions.extensions.extension_context import background_context
from shop.actions.installed_extensions import InstalledExtension, InstalledExtensions
from shop.actions.operations.event_log import read_page
from shop.base.actor import Actor
from shop.base.errors import ChangedMeanwhile, NotFound
from shop.db.pool import Database
from shop.models.events import Event
from shop.models.extensions.listeners import ExtensionListener
from shop.queries import events
from shop.queries.extensions import listeners as queries
from shop.queries.extensions.webhooks import delete_webhooks
from shop.rules.event_types import parse_type_patterns

EVENT_BATCH = 100
HANDLER_SECONDS = 30
LEASE_SECONDS = 2 * HANDLER_SECONDS
PAUSES = (5, 30, 120, 600, 3600)
"""Seconds before each repetition; the last one repeats."""
MAX_ERROR_LENGTH = 500
_log = structlog.get_logger("shop.extensions")


async def register_listeners(database: Database, extensions: InstalledExtensions) -> None:
    """Adds new listeners, which start with the next event."""
    for extension in extensions.extensions:
        for listener in extension.declaration.listeners:
            await queries.add_listener(database.session(), extension.name, listener.name)


async def forget_listeners(ctx: Context, name: str, tables: Sequence[str]) -> None:
    """Forgets the progress of the listeners and the webhooks of an extension whose tables were deleted."""
    async with ctx.db.transaction():
        await queries.delete_listeners(ctx.db, name)
        await delete_webhooks(ctx.db, name)
        await audit(ctx, "extension_removed", "done", detail={"extension": name, "tables": list(tables)})


async def run_listener(shared: Shared, extension: InstalledExtension, listener: EventListener) -> bool:
    """Handles a batch of events; returns whether more remain."""
    state = await queries.find_listener(shared.database.session(), extension.name, listener.name)
    if state is None or state.position >= await shared.event_tail.position(shared.database):
        return False
    db = shared.database.session()
    leased_state = await queries.lease_listener(db, extension.name, listener.name, LEASE_SECONDS)
    if leased_state is None:
        return False
    after = await _skip_expired(shared, extension, leased_state)
    page = await read_page(shared, after, EVENT_BATCH, parse_type_patterns(",".join(listener.types)))
    for event in page.events:
        position = event.position or after
        if not await _handle(shared, extension, listener, event, leased_state.id, after):
            return False
        if not await _advance(shared, leased_state.id, after, position):
            return False
        after = position
    if page.position > after and not await _advance(shared, leased_state.id, after, page.position):
        return False
    await queries.release(shared.database.session(), leased_state.id, after=page.position)
    return page.position < await shared.event_tail.position(shared.database)


async def _skip_expired(shared: Shared, extension: InstalledExtension, state: ExtensionListener) -> int:
    """Returns the position to read after; later than that of the listener if the events after it are no longer kept."""
    first = await events.first_position(shared.database.session())
    if first is None or first <= state.position + 1:
        return state.position
    _log.error(
        "events expired before a listener handled them",
        extension=extension.name,
        listener=state.name,
        count=first - state.position - 1,
    )
    await _advance(shared, state.id, state.position, first - 1)
    return first - 1


async def _advance(shared: Shared, listener_id: UUID, after: int, position: int) -> bool:
    db = shared.database.session()
    return await queries.advance(db, listener_id, after=after, position=position, lease=LEASE_SECONDS)


async def _handle(
    shared: Shared,
    extension: InstalledExtension,
    listener: EventListener,
    event: Event,
    listener_id: UUID,
    after: int,
) -> bool:
    """Calls the listener with an event; returns whether it succeeded, and records a failure."""
    ctx = background_context(shared, extension)
    try:
        async with asyncio.timeout(HANDLER_SECONDS):
            await listener.handler(ctx, _to_listened(event))
    except Exception as error:
        names = {"extension": extension.name, "listener": listener.name}
        _log.exception("extension failed", **names, event_id=str(event.id), type=event.type)
        await _record_failure(shared, listener_id, after, event.position or after, error)
        return False
    return True


async def _record_failure(
    shared: Shared, listener_id: UUID, after: int, failed_position: int, error: Exception
) -> None:
    state = await queries.find_listener_by_id(shared.database.session(), listener_id)
    pause = PAUSES[min(state.failure_count if state else 0, len(PAUSES) - 1)]
    line = describe_error(error)
    db = shared.database.session()
    await queries.record_failure(db, listener_id, after=after, failed_position=failed_position, error=line, pause=pause)


def describe_error(error: Exception) -> str:
    """Returns an error as one short line."""
    text = f"{type(error).__name__}: {error}".strip(": ")
    return "".join(letter if letter.isprintable() else " " for letter in text)[:MAX_ERROR_LENGTH]


def _to_listened(event: Event) -> ListenedEvent:
    return ListenedEvent(
        id=event.id,
        type=event.type,
        position=event.position or 0,
        occurred_at=event.occurred_at,
        actor=Actor(event.actor_kind, event.actor_id),
        subject_type=event.subject_type,
        subject_id=event.subject_id,
        record=event.row,
        before=event.before,
    )


async def retry_listener(ctx: Context, listener_id: UUID) -> ExtensionListener:
    """Repeats the event that failed without waiting for the end of the pause."""
    async with ctx.db.transaction():
        listener = await queries.find_listener_by_id(ctx.db, listener_id)
        if listener is None:
            raise NotFound()
        if await queries.retry_now(ctx.db, listener_id):
            await _audit(ctx, "extension_listener_retried", listener)
    return listener


async def skip_failed_event(ctx: Context, listener_id: UUID, failed_position: int) -> ExtensionListener:
    """Continues with the next event; raises ChangedMeanwhile if the listener no longer fails at this one."""
    async with ctx.db.transaction():
        listener = await queries.find_listener_by_id(ctx.db, listener_id)
        if listener is None:
            raise NotFound()
        if not await queries.skip_event(ctx.db, listener_id, failed_position):
            raise ChangedMeanwhile()
        await _audit(ctx, "extension_event_skipped", listener)
    return listener


async def _audit(ctx: Context, action: str, listener: ExtensionListener) -> None:
    detail = {"extension": listener.extension, "listener": listener.name, "position": listener.failed_position}
    await audit(ctx, action, "done", subject_id=listener.id, detail=detail)
