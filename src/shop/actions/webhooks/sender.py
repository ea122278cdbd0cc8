"""Sends an event to the URL of a webhook endpoint, signed."""

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache, partial

import msgspec
import structlog

from shop.base.ids import event_id
from shop.gateways.safe_http import HttpResult, SafeHttpClient
from shop.models.events import Event
from shop.rules.outgoing_urls import address_error, url_error
from shop.rules.webhooks.signature import signature_headers

_log = structlog.get_logger("shop.webhooks")


class WebhookBody(msgspec.Struct, frozen=True):
    """The body of a webhook, and the attributes that its event changed."""

    body: bytes
    changes: Collection[str]


RenderWebhook = Callable[[Event], WebhookBody]
"""Renders an event as the Platform API shows it, which this layer cannot import."""


@lru_cache(maxsize=2)
def open_client(*, is_try_out: bool) -> SafeHttpClient:
    """Returns the client of this process; a try-out can send to loopback."""
    return SafeHttpClient(partial(url_error, is_try_out=is_try_out), partial(address_error, is_try_out=is_try_out))


async def send_event(
    client: SafeHttpClient, url: str, secrets: Sequence[str], event: Event | None, render: RenderWebhook, now: float
) -> HttpResult:
    """Sends an event; raises no error. `now` is the time in seconds since 1970."""
    if event is None:
        return HttpResult(0, error="The event is no longer kept.")
    if not secrets:
        return HttpResult(0, error="The secret of the endpoint cannot be decrypted; rotate it.")
    try:
        body = render(event).body
    except Exception:
        # One such event must not block the others.
        _log.exception("event could not be rendered", event=str(event.id), type=event.type)
        return HttpResult(0, error="The event cannot be rendered.")
    headers = {
        "Content-Type": "application/json",
        **signature_headers(secrets, event_id(event.id), int(now), body),
    }
    return await client.send("POST", url, headers=headers, body=body)
