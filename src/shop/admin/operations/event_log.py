"""Pages of the event log: the list, and one event with its changes and webhook deliveries."""

from collections.abc import Sequence
from urllib.parse import urlencode

from shop.actions.context import Context
from shop.admin.fields import id_of
from shop.admin.listing import SIZE, Pages, build_head, count_list, read_sort, text_param
from shop.admin.operations.log_filters import SORTS, list_actor_options, name_actors, page_of, read_filter
from shop.admin.pages import PageContext, page
from shop.admin.platform_events import RenderEvent
from shop.admin.session import Page
from shop.base.errors import NotFound
from shop.base.ids import event_id
from shop.models.events import Event
from shop.queries import events, logs
from shop.rules.event_types import EventType
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/events"
MAX_DELIVERIES = 50


def make_event_list(types: Sequence[EventType]) -> Page:
    """Returns the handler of the list; `types` can be chosen in its filter."""
    names = sorted(each.type for each in types)

    async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
        (params, criteria), sort = await read_filter(request, ctx), read_sort(request, SORTS)
        side, position = _read_position(request)
        rows = await logs.list_events(ctx.db, criteria, side, position, sort=sort, most=SIZE + 1)
        page_rows, pages = _paginate(rows, side, {**params, "sort": sort})
        count = await count_list(rows, side, lambda: logs.count_events(ctx.db, criteria))
        return page(
            "operations/events.html",
            page_context,
            events=page_rows,
            head=build_head(PATH, count, SORTS, sort, params),
            pages=pages,
            params=params,
            is_filtered=any(params.values()),
            types=names,
            actors=await list_actor_options(ctx),
            names=await name_actors(ctx, page_rows),
            page_of=page_of,
        )

    return listing


def make_event_page(render_event: RenderEvent) -> Page:
    """Returns the handler of the page of one event."""

    async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
        event = await events.find_event(ctx.db, id_of(request, "event_id"))
        if event is None:
            raise NotFound()
        return page(
            "operations/event.html",
            page_context,
            event=event,
            public_id=event_id(event.id),
            body=render_event(ctx.shared, event, page_context.origin, page_context.can("costs:read")),
            deliveries=await logs.list_deliveries(ctx.db, event.id, most=MAX_DELIVERIES),
            names=await name_actors(ctx, [event]),
            subject_page=page_of(event.subject_type, event.subject_id, event.row),
        )

    return show


def _read_position(request: Request) -> tuple[str | None, int]:
    """Returns the side and the position of the page; the newest events if it is missing or invalid."""
    for side in ("before", "after"):
        text = text_param(request, side)
        if text.isascii() and text.isdigit():
            return side, min(int(text), 2**62)
    return None, 0


def _paginate(rows: list[Event], side: str | None, params: dict[str, str]) -> tuple[list[Event], Pages]:
    has_more = len(rows) > SIZE
    page_rows = (rows[-SIZE:] if side == "after" else rows[:SIZE]) if has_more else rows
    query = {name: value for name, value in params.items() if value}

    def link(to: str, event: Event) -> str:
        return f"{PATH}?{urlencode({**query, to: event.position})}"

    newer = link("after", page_rows[0]) if page_rows and (has_more if side == "after" else side) else None
    older = link("before", page_rows[-1]) if page_rows and (side == "after" or has_more) else None
    return page_rows, Pages(newer, older)
