"""The route table of public endpoints."""

from shop.site import health, mailbox, media, test_card
from shop.site import webhooks as notices
from shop.web.endpoint import Handler, Route
from shop.web.reply import JSON


def site_routes(*, ready: Handler, metrics: Handler, description: Handler, docs: Handler) -> tuple[Route, ...]:
    """Build the routes. `app.py` creates the handlers that depend on the process."""

    def row(path: str, handler: Handler, summary: str) -> Route:
        return Route("GET", path, handler, "anyone", summary, media=JSON, reads_claim=False)

    return (
        row("/livez", health.show_liveness, "Is the process alive"),
        row("/readyz", ready, "May the process be sent traffic"),
        row("/metrics", metrics, "Numbers of all workers, for Prometheus"),
        row("/openapi.json", description, "The description of the APIs"),
        row("/docs", docs, "The API reference, as a page"),
        row("/docs/{section}", docs, "A section of the API reference; `operations.json` is what its search looks in"),
        row("/mailbox", mailbox.page, "Mails of a shop without a mail server, as a page"),
        row("/media/{key*}", media.show, "The files of pictures"),
        row("/mailbox.json", mailbox.listing, "The same as JSON; `to` picks an address"),
        row("/test_card/{client_secret}", test_card.show, "Where a shopper confirms a payment by test card, as a page"),
        Route(
            "POST",
            "/test_card/{client_secret}",
            test_card.decide,
            "anyone",
            "Confirm or decline a payment by test card",
            None,
            200,
            (400, 404, 413, 415, 422),
            JSON,
            reads_claim=False,
        ),
        Route(
            "POST",
            "/payment_notices/{provider}",
            notices.take,
            "anyone",
            "What a provider of payments tells, signed by it",
            None,
            204,
            (400, 404, 413, 415),
            JSON,
            reads=("application/json",),
            reads_claim=False,
        ),
    )
