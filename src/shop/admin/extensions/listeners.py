"""The page of installed extensions with the state of their listeners, and what an operator can do about a failure."""

import re
from collections.abc import Sequence

import msgspec

from shop.actions.context import Context
from shop.actions.extensions.declarations import Extension
from shop.actions.extensions.listeners import retry_listener, skip_failed_event
from shop.actions.extensions.webhooks import retry_webhook
from shop.admin.fields import id_of
from shop.admin.pages import PageContext, confirmation_page, moment, notice_of, page, redirect
from shop.admin.route_builder import RouteBuilder
from shop.admin.session import form
from shop.base.errors import ChangedMeanwhile, NotFound
from shop.models.events import Event
from shop.models.extensions.listeners import ExtensionListener
from shop.queries import logs
from shop.queries.extensions import listeners as queries
from shop.queries.extensions import webhooks
from shop.queries.extensions.listeners import ListenerState
from shop.queries.logs import LogFilter
from shop.rules.event_types import title_type
from shop.web.endpoint import Route
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/integrations/extensions"
HOME = (PATH, "Extensions")
_POSITION = re.compile("[0-9]{1,18}", re.ASCII)
NOTICES = {
    "retried": "The listener tries again now.",
    "handled": "The webhook was handled meanwhile.",
    "webhook": "The webhook is handled again now.",
    "running": "The listener does not fail any more.",
    "skipped": "The event was skipped. The listener continues with the next one.",
}


class ListedExtension(msgspec.Struct, frozen=True):
    """An extension with the state of its listeners."""

    declaration: Extension
    listeners: Sequence[tuple[str, ListenerState | None]]


def extension_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    webhook = f"{PATH}/webhooks/{{webhook_id}}/retry"
    retry, skip = f"{PATH}/{{listener_id}}/retry", f"{PATH}/{{listener_id}}/skip"
    return (
        builder.page(PATH, listing, "Extensions"),
        builder.act(retry, retry_now, "Retry a listener of an extension"),
        builder.act(webhook, retry_webhook_now, "Retry a webhook of an extension"),
        builder.page(skip, show_skip, "Skip an event?", permission="integrations:write"),
        builder.act(skip, skip_event, "Skip an event that a listener cannot handle"),
    )


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    states = await queries.list_listeners(ctx.db)
    extensions = [
        ListedExtension(
            each.declaration,
            [(listener.name, states.get((each.name, listener.name))) for listener in each.declaration.listeners],
        )
        for each in ctx.shared.extensions.extensions
    ]
    names = {each.declaration.name for each in extensions}
    names_with_data = {name for name, _ in states} | set(await queries.list_names_with_tables(ctx.db))
    return page(
        "extensions/extensions.html",
        page_context,
        extensions=extensions,
        failing_webhooks=await webhooks.list_failing(ctx.db),
        absent_names=sorted(names_with_data - names),
        notice=notice_of(request, NOTICES),
    )


async def retry_now(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    listener = await retry_listener(ctx, id_of(request, "listener_id"))
    return redirect(f"{PATH}?done={'retried' if listener.failure_count else 'running'}")


async def retry_webhook_now(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    is_open = await retry_webhook(ctx, id_of(request, "webhook_id"))
    return redirect(f"{PATH}?done={'webhook' if is_open else 'handled'}")


async def show_skip(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    listener = await _get_failing(request, ctx)
    position = listener.failed_position or 0
    rows = await logs.list_events(ctx.db, LogFilter(), "before", position + 1, sort="newest", most=1)
    return _skip_page(page_context, listener, next((event for event in rows if event.position == position), None))


async def skip_event(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    text = form(request).get("position", "")
    position = int(text) if _POSITION.fullmatch(text) else 0
    try:
        await skip_failed_event(ctx, id_of(request, "listener_id"), position)
    except ChangedMeanwhile:
        return redirect(f"{PATH}?done=running")
    return redirect(f"{PATH}?done=skipped")


async def _get_failing(request: Request, ctx: Context) -> ExtensionListener:
    listener = await queries.find_listener_by_id(ctx.db, id_of(request, "listener_id"))
    if listener is None or not listener.failure_count:
        raise NotFound("The listener does not fail at any event.")
    return listener


def _skip_page(page_context: PageContext, listener: ExtensionListener, event: Event | None) -> Reply:
    about = f" ({title_type(event.type)}, {moment(event.occurred_at)})" if event else ""
    return confirmation_page(
        page_context,
        question=f"Skip event {listener.failed_position:,}?",
        sentence=f"The listener “{listener.name}” of the extension “{listener.extension}” will never handle this "
        f"event{about}, and will continue with the next one. This cannot be undone. To handle it, correct the cause "
        "and retry instead.",
        action=f"{PATH}/{listener.id}/skip",
        button="Skip event",
        back=HOME,
        hidden_fields={"position": listener.failed_position},
    )
