"""The route table of the website."""

from collections.abc import Callable

from shop.actions.context import Shared
from shop.web.endpoint import Route
from shop.website import assets, landing
from shop.website.account.routes import ACCOUNT_ROUTES
from shop.website.catalog.routes import CATALOG_ROUTES
from shop.website.checkout.routes import CHECKOUT_ROUTES
from shop.website.content.routes import CONTENT_ROUTES
from shop.website.route_builder import build_route, get


def website_routes(get_shared: Callable[[], Shared], *, is_on: bool) -> tuple[Route, ...]:
    """Builds the routes; a website that is off has only a landing page."""
    static = get("/website/{name}", assets.show, "Static files of the website")
    rows = (
        (static, *CATALOG_ROUTES, *CHECKOUT_ROUTES, *ACCOUNT_ROUTES, *CONTENT_ROUTES)
        if is_on
        else (static, get("/", landing.show, "Landing page of a shop without a website"))
    )
    return tuple(build_route(row, get_shared) for row in rows)
