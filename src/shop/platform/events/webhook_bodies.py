"""Renders the bodies of webhooks: compact JSON under 20 kB."""

import msgspec

from shop.actions.context import Shared
from shop.actions.webhooks.sender import WebhookBody
from shop.models.events import Event
from shop.platform.events.bodies import EventBody, render_event, truncate_data

MAX_BODY_BYTES = 20_000
_encode = msgspec.json.Encoder().encode


def render_webhook(shared: Shared, event: Event, origin: str | None = None) -> WebhookBody:
    """Renders an event; `origin` is that of links in a shop without a public URL."""
    link_origin = shared.settings.public_url or origin or ""
    body = render_event(shared, event, link_origin)
    # A row that is too large to store has no attributes to compare.
    changes = body.changes or event.before
    return WebhookBody(_encode_within_limit(body, event, link_origin), frozenset(changes))


def _encode_within_limit(body: EventBody, event: Event, origin: str) -> bytes:
    encoded = _encode(body)
    if len(encoded) < MAX_BODY_BYTES:
        return encoded
    short = msgspec.structs.replace(body, data=truncate_data(event, origin))
    encoded = _encode(short)
    return encoded if len(encoded) < MAX_BODY_BYTES else _encode(msgspec.structs.replace(short, changes={}))
