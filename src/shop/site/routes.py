"""The route table of public endpoints."""

from shop.site import health, mailbox, media, test_card, webhooks
from shop.web.endpoint import Handler, Route
from shop.web.reply import JSON

_DECIDE_TEST_CARD_PAYMENT = Route(
    "POST",
    "/test_card/{client_secret}",
    test_card.decide,
    "anyone",
    "Confirm or decline a test card payment",
    None,
    200,
    (400, 404, 413, 415, 422),
    JSON,
    reads_claim=False,
)
_RECEIVE_WEBHOOK = Route(
    "POST",
    "/payment_notices/{provider}",
    webhooks.receive,
    "anyone",
    "Signed webhooks of a payment provider",
    None,
    204,
    (400, 404, 413, 415),
    JSON,
    reads=("application/json", "application/x-www-form-urlencoded"),
    reads_claim=False,
)


def _row(path: str, handler: Handler, summary: str) -> Route:
    return Route("GET", path, handler, "anyone", summary, media=JSON, reads_claim=False)


def site_routes(*, ready: Handler, metrics: Handler) -> tuple[Route, ...]:
    """Builds the routes. `app/routes.py` creates the handlers that depend on the process."""
    return (
        _row("/livez", health.show_liveness, "Check whether the process is alive"),
        _row("/readyz", ready, "Check whether the process can receive traffic"),
        _row("/metrics", metrics, "Metrics of all workers, for Prometheus"),
        _row("/mailbox", mailbox.page, "E-mails of a shop without a mail server"),
        _row("/media/{key*}", media.show, "Image files"),
        _row("/mailbox.json", mailbox.listing, "The e-mails as JSON; `to` selects a recipient"),
        _row("/test_card/{client_secret}", test_card.show, "Page where a shopper confirms a test card payment"),
        _DECIDE_TEST_CARD_PAYMENT,
        _RECEIVE_WEBHOOK,
    )


def description_routes(*, description: Handler, docs: Handler) -> tuple[Route, ...]:
    """Builds the routes that describe the APIs."""
    return (
        _row("/openapi.json", description, "OpenAPI description"),
        _row("/docs", docs, "API reference"),
        _row("/docs/{section}", docs, "A section of the API reference; `operations.json` is its search index"),
    )
