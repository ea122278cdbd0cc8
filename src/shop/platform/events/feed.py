"""The event log for applications: a feed without gaps, a live stream, and the types of events."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from time import monotonic
from typing import Any

import msgspec

from shop.actions.access import oauth
from shop.actions.context import Context
from shop.actions.operations import event_log
from shop.actions.operations.event_log import EventPage
from shop.base.errors import CursorExpired, Forbidden, Malformed, RateLimitError, Unauthenticated
from shop.platform.events.bodies import EventBody, render_event
from shop.platform.events.examples import render_example
from shop.platform.events.types import EVENT_TYPES
from shop.rules.event_types import EventType, parse_type_patterns
from shop.web.endpoint import Route
from shop.web.input.request import Request
from shop.web.reply import JSON, NO_STORE, Reply, json_reply

_BASE = "/api/v2/platform"
_MAY_READ = "application: read"
DEFAULT_SIZE, MAX_SIZE = 25, 100
MAX_WAIT_SECONDS = 30
KEEP_ALIVE_SECONDS = 15
MAX_STREAMS = 100
"""Open streams of one process."""
EVENT_STREAM = b"text/event-stream"
_CURSOR = "Send page[after] as the cursor of the last page, or as `now`."
_encode = msgspec.json.Encoder().encode


class EventFeedMeta(msgspec.Struct, frozen=True):
    """`cursor` is the value of `page[after]` for the next page; it is there even if the page is empty."""

    cursor: str


class EventFeed(msgspec.Struct, frozen=True):
    """Events in the order of their positions."""

    data: list[EventBody]
    meta: EventFeedMeta


class EventTypeExample(EventType, frozen=True):
    """A type of event with an example of its body."""

    example: EventBody


class EventTypeList(msgspec.Struct, frozen=True):
    """The types of events, each with what causes it and an example."""

    data: list[EventTypeExample]


async def list_events(request: Request, ctx: Context) -> Reply:
    """Answers a page of the log; with `wait`, as soon as there is an event or the time is up."""
    await oauth.authorize(ctx, "read")
    size, wait = _read_size(request.params), _read_number(request.params, "wait", 0, MAX_WAIT_SECONDS)
    patterns = _read_patterns(request.params)
    after = await _read_position(ctx, _page(request.params).get("after"))
    page = await _read_when_ready(ctx, after, size, patterns, wait)
    origin = request.origin(ctx.shared.settings.public_url)
    bodies = [render_event(ctx.shared, event, origin, oauth.can_read(ctx, "costs")) for event in page.events]
    return json_reply(EventFeed(bodies, EventFeedMeta(str(page.position))))


async def _read_when_ready(ctx: Context, after: int, size: int, patterns: Sequence[str], wait: int) -> EventPage:
    """Reads a page; waits until a matching event comes or the time is up."""
    end = monotonic() + wait
    page = await event_log.read_page(ctx.shared, after, size, patterns)
    while not page.events and (left := end - monotonic()) > 0:
        await ctx.shared.event_tail.wait(ctx.shared.database, page.position, left)
        # The token may have been revoked meanwhile.
        await oauth.authorize(ctx.with_new_session(), "read")
        page = await event_log.read_page(ctx.shared, page.position, size, patterns)
    return page


async def stream_events(request: Request, ctx: Context) -> Reply:
    """Answers the log as server-sent events, from the end or from the event after `Last-Event-ID`."""
    await oauth.authorize(ctx, "read")
    patterns = _read_patterns(request.params)
    cursor = request.headers.get(b"last-event-id", b"").decode("latin-1") or _page(request.params).get("after") or "now"
    after = await _read_position(ctx, cursor)
    if ctx.shared.event_tail.stream_count >= MAX_STREAMS:
        raise RateLimitError(KEEP_ALIVE_SECONDS)
    origin = request.origin(ctx.shared.settings.public_url)
    chunks = _stream(ctx, after, patterns, origin)
    return Reply(200, headers=((b"content-type", EVENT_STREAM), NO_STORE), chunks=chunks)


async def _stream(ctx: Context, after: int, patterns: Sequence[str], origin: str) -> AsyncGenerator[bytes]:
    shared, position = ctx.shared, after
    if shared.event_tail.stream_count >= MAX_STREAMS:
        return  # Others have connected since the limit was checked; the reader connects again.
    with shared.event_tail.count_stream():
        yield b": connected\n\n"
        while await _is_authorized(ctx):
            page = await event_log.read_page(shared, position, MAX_SIZE, patterns)
            for event in page.events:
                body = render_event(shared, event, origin, oauth.can_read(ctx, "costs"))
                yield b"id: %d\nevent: %s\ndata: %s\n\n" % (body.position, body.type.encode(), _encode(body))
            if page.position == position:
                await shared.event_tail.wait(shared.database, position, KEEP_ALIVE_SECONDS)
                yield b": waiting\n\n"
            position = page.position


async def _is_authorized(ctx: Context) -> bool:
    """A revoked application or an expired token ends its streams."""
    try:
        await oauth.authorize(ctx.with_new_session(), "read")
    except (Unauthenticated, Forbidden):
        return False
    return True


async def list_event_types(request: Request, ctx: Context) -> Reply:
    await oauth.authorize(ctx, "read")
    origin = request.origin(ctx.shared.settings.public_url)
    types = [
        EventTypeExample(each.type, each.subject_type, each.description, render_example(ctx.shared, each, origin))
        for each in EVENT_TYPES
    ]
    return json_reply(EventTypeList(types))


async def _read_position(ctx: Context, cursor: Any) -> int:
    """Returns the position of a cursor; without one, that before the first event."""
    if cursor in (None, ""):
        return await event_log.find_start(ctx.shared)
    if cursor == "now":
        return await event_log.read_end(ctx.shared)
    if not isinstance(cursor, str) or not cursor.isascii() or not cursor.isdigit() or len(cursor) > 18:
        raise Malformed(_CURSOR, code="bad_page")
    await event_log.check_position(ctx.shared, int(cursor))
    return int(cursor)


def _page(params: Mapping[str, Any]) -> Mapping[str, Any]:
    page = params.get("page", {})
    if not isinstance(page, dict) or not set(page) <= {"after", "size"}:
        raise Malformed("Request pages with page[after] and page[size].", code="bad_page")
    return page


def _read_size(params: Mapping[str, Any]) -> int:
    return _read_number({"page[size]": _page(params).get("size", DEFAULT_SIZE)}, "page[size]", 1, MAX_SIZE)


def _read_number(params: Mapping[str, Any], name: str, least: int, most: int) -> int:
    text = str(params.get(name, least))
    if not text.isascii() or not text.isdigit() or len(text) > 9 or not least <= int(text) <= most:
        raise Malformed(f"{name} must be a number from {least} to {most}.", code="bad_page")
    return int(text)


def _read_patterns(params: Mapping[str, Any]) -> Sequence[str]:
    """Reads `filter[type_in]`: types separated by commas, `order.*` for all of a kind."""
    filters = params.get("filter", {})
    if not isinstance(filters, dict) or not set(filters) <= {"type_in"}:
        raise Malformed("Filter events with filter[type_in].", code="bad_filter")
    try:
        return parse_type_patterns(str(filters.get("type_in", "")))
    except ValueError as error:
        raise Malformed(f"filter[type_in] {error}.", code="bad_filter") from None


_LOG_ERRORS = (400, 401, 403, 410)
_CODES = {400: ("bad_page", "bad_filter")}
ROUTES = (
    Route(
        "GET",
        f"{_BASE}/events",
        list_events,
        _MAY_READ,
        "Read the event log",
        EventFeed,
        200,
        _LOG_ERRORS,
        JSON,
        fails=(CursorExpired,),
        codes=_CODES,
        asks=("page[after]", "page[size]", "filter[type_in]", "wait"),
    ),
    Route(
        "GET",
        f"{_BASE}/events/stream",
        stream_events,
        _MAY_READ,
        "Stream events",
        EventBody,
        200,
        (*_LOG_ERRORS, 429),
        JSON,
        fails=(CursorExpired,),
        codes=_CODES,
        asks=("page[after]", "filter[type_in]"),
        sends_events=True,
    ),
    Route(
        "GET",
        f"{_BASE}/event_types",
        list_event_types,
        _MAY_READ,
        "List the types of events",
        EventTypeList,
        200,
        (400, 401, 403),
        JSON,
    ),
)
