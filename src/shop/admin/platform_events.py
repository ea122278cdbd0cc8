"""Events in the words of the Platform API, which the dashboard cannot import."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec

from shop.actions.context import Shared
from shop.actions.webhooks.sender import WebhookBody
from shop.models.events import Event
from shop.rules.event_types import EventType


class RenderedEvent(Protocol):
    """An event as the Platform API shows it."""

    @property
    def data(self) -> dict[str, Any]: ...

    @property
    def changes(self) -> dict[str, list[Any]]: ...


RenderEvent = Callable[[Shared, Event, str, bool], RenderedEvent]
"""Renders an event of a shop with an origin for its URLs, and with or without cost prices."""


class PlatformEvents(msgspec.Struct, frozen=True):
    """All types of events, and how to render one for a page and for a webhook."""

    types: Sequence[EventType]
    render_event: RenderEvent
    render_webhook: Callable[[Shared, Event, str | None], WebhookBody]
