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
    reads=("application/json",),
    reads_claim=False,
)


def site_routes(*, ready: Handler, metrics: Handler, description: Handler, docs: Handler) -> tuple[Route, ...]:
    """Builds the routes. `app.py` creates the handlers that depend on the process."""

    def row(path: str, handler: Handler, summary: str) -> Route:
        return Route("GET", path, handler, "anyone", summary, media=JSON, reads_claim=False)

    return (
        row("/livez", health.show_liveness, "Check whether the process is alive"),
        row("/readyz", ready, "Check whether the process can receive traffic"),
        row("/metrics", metrics, "Metrics of all workers, for Prometheus"),
        row("/openapi.json", description, "OpenAPI description"),
        row("/docs", docs, "API reference"),
        row("/docs/{section}", docs, "A section of the API reference; `operations.json` is its search index"),
        row("/mailbox", mailbox.page, "E-mails of a shop without a mail server"),
        row("/media/{key*}", media.show, "Image files"),
        row("/mailbox.json", mailbox.listing, "The e-mails as JSON; `to` selects a recipient"),
        row("/test_card/{client_secret}", test_card.show, "Page where a shopper confirms a test card payment"),
        _DECIDE_TEST_CARD_PAYMENT,
        _RECEIVE_WEBHOOK,
    )
