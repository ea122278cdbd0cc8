"""The routes of a worker: both APIs, the dashboard, the website and the site."""

from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from shop.actions.context import Context, Shared
from shop.admin.platform_events import PlatformEvents
from shop.admin.routes import admin_routes
from shop.app.configuration import ServerConfiguration, is_mailbox_on
from shop.app.extensions import NO_ROUTES, ExtensionRoutes, load_extensions
from shop.base.errors import Unavailable
from shop.platform.events.bodies import EventBody, render_event
from shop.platform.events.types import EVENT_TYPES
from shop.platform.events.webhook_bodies import render_webhook
from shop.platform.resources.registry import RESOURCES as PLATFORM_RESOURCES
from shop.platform.routes import ROUTES as PLATFORM_ROUTES
from shop.site import docs, health, reference
from shop.site.routes import site_routes
from shop.storefront.resources.registry import DOCUMENTED_RESOURCES as STOREFRONT_RESOURCES
from shop.storefront.routes import ROUTES as STOREFRONT_ROUTES
from shop.web.endpoint import Route
from shop.web.input.request import Request
from shop.web.reply import Reply
from shop.website.routes import website_routes

PLATFORM_EVENTS = PlatformEvents(EVENT_TYPES, render_event, render_webhook)
_WITHOUT_DATABASE = frozenset({"/livez", "/website/{name}"})
"""The routes that are served before the database answers: the probe, and the styles of error pages."""


def documented_apis(extension_routes: ExtensionRoutes = NO_ROUTES) -> tuple[reference.ApiDefinition, ...]:
    """Returns the APIs with a public OpenAPI description."""
    webhooks = {each.type: each.description for each in EVENT_TYPES}
    storefront = (*STOREFRONT_ROUTES, *extension_routes.storefront)
    platform = (*PLATFORM_ROUTES, *extension_routes.platform)
    return (
        reference.ApiDefinition("Storefront", storefront, STOREFRONT_RESOURCES),
        reference.ApiDefinition("Platform", platform, PLATFORM_RESOURCES, webhooks, EventBody),
    )


def all_routes(
    site: tuple[Route, ...],
    get_shared: Callable[[], Shared],
    *,
    has_mailbox: bool = False,
    has_website: bool = True,
    extension_routes: ExtensionRoutes = NO_ROUTES,
) -> tuple[Route, ...]:
    website = website_routes(get_shared, is_on=has_website)
    admin = admin_routes(
        has_mailbox=has_mailbox, events=PLATFORM_EVENTS, extensions=extension_routes.installed_extensions
    )
    extension_apis = (*extension_routes.storefront, *extension_routes.platform)
    return (*STOREFRONT_ROUTES, *PLATFORM_ROUTES, *extension_apis, *admin, *website, *site)


def worker_routes(
    configuration: ServerConfiguration,
    is_stopping: Callable[[], bool],
    other_snapshots: Callable[[], Iterable[Path]],
    get_shared: Callable[[], Shared],
) -> tuple[Route, ...]:
    extension_routes = load_extensions(configuration.settings)
    apis = documented_apis(extension_routes)
    site = site_routes(
        ready=health.make_readiness_handler(is_stopping, configuration.outdated),
        metrics=health.make_metrics_handler(other_snapshots),
        description=reference.make_description_handler(apis),
        docs=docs.make_docs_handler(apis),
    )
    return all_routes(
        site,
        get_shared,
        has_mailbox=is_mailbox_on(configuration.settings, configuration.host),
        has_website=configuration.settings.website == "on",
        extension_routes=extension_routes,
    )


def unavailable_route(route: Route) -> Route:
    """Returns the route as served while the worker waits for the database: 503, but for those that do not use it."""
    if route.path in _WITHOUT_DATABASE:
        return route
    return msgspec.structs.replace(route, handler=_unavailable, who="anyone", reads_claim=False)


async def _unavailable(_request: Request, _ctx: Context) -> Reply:
    raise Unavailable()
