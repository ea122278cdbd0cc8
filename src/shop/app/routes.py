"""The routes of a worker: both APIs, the dashboard, the website and the site.

The Platform API, the dashboard and the reference are loaded with their first request: shoppers need none of them.
"""

from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from shop.actions.context import Context, Shared
from shop.app.configuration import ServerConfiguration, is_mailbox_on
from shop.app.extensions import NO_ROUTES, ExtensionRoutes, load_extensions
from shop.base.errors import Unavailable
from shop.base.lazy_modules import LazyModule
from shop.site import health
from shop.site.routes import description_routes, site_routes
from shop.storefront.resources.registry import DOCUMENTED_RESOURCES as STOREFRONT_RESOURCES
from shop.storefront.routes import ROUTES as STOREFRONT_ROUTES
from shop.web.endpoint import Route
from shop.web.input.request import Request
from shop.web.reply import Reply
from shop.web.router import LateRoutes
from shop.website.routes import website_routes

if TYPE_CHECKING:
    from shop.admin import platform_events
    from shop.admin import routes as admin
    from shop.platform import routes as platform
    from shop.platform.events import bodies, types, webhook_bodies
    from shop.platform.resources import registry
    from shop.site import docs, reference
else:
    platform_events, admin = LazyModule("shop.admin.platform_events"), LazyModule("shop.admin.routes")
    platform, registry = LazyModule("shop.platform.routes"), LazyModule("shop.platform.resources.registry")
    bodies, types = LazyModule("shop.platform.events.bodies"), LazyModule("shop.platform.events.types")
    webhook_bodies = LazyModule("shop.platform.events.webhook_bodies")
    docs, reference = LazyModule("shop.site.docs"), LazyModule("shop.site.reference")

_WITHOUT_DATABASE = frozenset({"/livez", "/website/{name}"})
"""The routes that are served before the database answers: the probe, and the styles of error pages."""
_PLATFORM_PATHS = ("/api/v2/platform", "/shop_oauth", "/spree_oauth", "/.well-known/oauth-authorization-server")


def documented_apis(extension_routes: ExtensionRoutes = NO_ROUTES) -> "tuple[reference.ApiDefinition, ...]":
    """Returns the APIs with a public OpenAPI description."""
    webhooks = {each.type: each.description for each in types.EVENT_TYPES}
    storefront = (*STOREFRONT_ROUTES, *extension_routes.storefront)
    return (
        reference.ApiDefinition("Storefront", storefront, STOREFRONT_RESOURCES),
        reference.ApiDefinition(
            "Platform", _platform_routes(extension_routes), registry.RESOURCES, webhooks, bodies.EventBody
        ),
    )


def describe_platform_events() -> "platform_events.PlatformEvents":
    return platform_events.PlatformEvents(types.EVENT_TYPES, bodies.render_event, webhook_bodies.render_webhook)


def all_routes(
    site: tuple[Route, ...],
    get_shared: Callable[[], Shared],
    *,
    has_mailbox: bool = False,
    extension_routes: ExtensionRoutes = NO_ROUTES,
) -> tuple[Route, ...]:
    """Returns the routes of all parts, as if all of them were loaded."""
    website = website_routes(get_shared, is_on=True)
    dashboard = _dashboard_routes(extension_routes, has_mailbox=has_mailbox)
    platform_routes = _platform_routes(extension_routes)
    return (*STOREFRONT_ROUTES, *extension_routes.storefront, *platform_routes, *dashboard, *website, *site)


def _platform_routes(extension_routes: ExtensionRoutes) -> tuple[Route, ...]:
    return (*platform.ROUTES, *extension_routes.platform)


def _dashboard_routes(extension_routes: ExtensionRoutes, *, has_mailbox: bool) -> tuple[Route, ...]:
    return admin.admin_routes(
        has_mailbox=has_mailbox,
        events=describe_platform_events(),
        extensions=extension_routes.installed_extensions,
    )


def _description_routes(extension_routes: ExtensionRoutes) -> tuple[Route, ...]:
    load_apis = partial(documented_apis, extension_routes)
    return description_routes(
        description=reference.make_description_handler(load_apis), docs=docs.make_docs_handler(load_apis)
    )


def worker_routes(
    configuration: ServerConfiguration,
    is_stopping: Callable[[], bool],
    other_snapshots: Callable[[], Iterable[Path]],
    get_shared: Callable[[], Shared],
) -> tuple[tuple[Route, ...], tuple[LateRoutes, ...]]:
    """Returns the routes of a worker, and those that it loads with their first request."""
    extension_routes = load_extensions(configuration.settings)
    site = site_routes(
        ready=health.make_readiness_handler(is_stopping, configuration.outdated),
        metrics=health.make_metrics_handler(other_snapshots),
    )
    website = website_routes(get_shared, is_on=configuration.settings.website == "on")
    has_mailbox = is_mailbox_on(configuration.settings, configuration.host)
    late_routes = (
        LateRoutes(_PLATFORM_PATHS, cache(partial(_platform_routes, extension_routes))),
        LateRoutes(("/openapi.json", "/docs"), cache(partial(_description_routes, extension_routes))),
        LateRoutes(("/admin",), cache(partial(_dashboard_routes, extension_routes, has_mailbox=has_mailbox))),
    )
    return (*STOREFRONT_ROUTES, *extension_routes.storefront, *website, *site), late_routes


def unavailable_route(route: Route) -> Route:
    """Returns the route as served while the worker waits for the database: 503, but for those that do not use it."""
    if route.path in _WITHOUT_DATABASE:
        return route
    return msgspec.structs.replace(route, handler=_unavailable, who="anyone", reads_claim=False)


async def _unavailable(_request: Request, _ctx: Context) -> Reply:
    raise Unavailable()
