"""How long lists are paged: by a place in them, which costs the same on the first page and on the last."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol
from urllib.parse import urlencode
from uuid import UUID

import msgspec

from shop.base.listing import Place, Spot
from shop.queries.dashboard import Event
from shop.web.request import Request

SIZE = 25
_START = datetime(1970, 1, 1, tzinfo=UTC)


class Keyed(Protocol):
    """Whatever has an id."""

    @property
    def id(self) -> UUID: ...


class Pages(msgspec.Struct, frozen=True):
    """Where the neighbouring pages are."""

    newer: str | None
    older: str | None


def text_param(request: Request, name: str) -> str:
    value = request.params.get(name, "")
    return value.strip()[:254] if isinstance(value, str) else ""


def day_param(request: Request, name: str) -> datetime | None:
    """A day as a date field sends it, by UTC."""
    try:
        return datetime.strptime(text_param(request, name), "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return None


def read_place(request: Request) -> Place | None:
    """The page asked for; one that cannot be read is the first."""
    for side in ("before", "after"):
        moment, _, key = text_param(request, side).partition("_")
        try:
            return Place(side, _START + timedelta(microseconds=int(moment)), UUID(key))
        except (ValueError, OverflowError):
            continue
    return None


def read_spot(request: Request) -> Spot | None:
    """The same in a list that is sorted by a number."""
    for side in ("next", "back"):
        count, _, key = text_param(request, side).partition("_")
        try:
            return Spot(side, max(min(int(count), 2**62), -(2**62)), UUID(key))
        except ValueError:
            continue
    return None


def page_of(
    request: Request,
    rows: Sequence[Keyed],
    place: Place | Spot | None,
    *,
    by: str,
    params: Mapping[str, str],
    sides: tuple[str, str] = ("after", "before"),
) -> tuple[Sequence[Keyed], Pages]:
    """Of one row more than a page holds: the page, and its neighbours; `sides` are the words for up and down."""
    is_back = place is not None and place.side == sides[0]
    has_more = len(rows) > SIZE
    shown = (rows[-SIZE:] if is_back else rows[:SIZE]) if has_more else rows
    path, kept = str(request.scope["path"]), {name: value for name, value in params.items() if value}

    def link(side: str, row: Keyed) -> str:
        at = getattr(row, by)
        number = (at - _START) // timedelta(microseconds=1) if isinstance(at, datetime) else at
        return f"{path}?{urlencode({**kept, side: f'{number}_{row.id.hex}'})}"

    newer = link(sides[0], shown[0]) if shown and (has_more if is_back else place) else None
    older = link(sides[1], shown[-1]) if shown and (is_back or has_more) else None
    return shown, Pages(newer, older)


def timeline(events: Sequence[Event], facts: Mapping[str, datetime | None]) -> list[Event]:
    """What the audit knows of a record and what the record knows of itself, newest first."""
    own = [
        Event(id=UUID(int=0), at=at, actor_kind="", action=name, outcome="done", operator_email=None)
        for name, at in facts.items()
        if at
    ]
    return sorted([*events, *own], key=lambda event: event.at, reverse=True)
