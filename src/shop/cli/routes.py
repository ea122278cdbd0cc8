"""`shop routes`: lists all routes."""

import click
from rich.console import Console
from rich.table import Table

from shop.actions.context import Shared
from shop.app.extensions import NO_ROUTES, ExtensionRoutes, load_extensions
from shop.app.routes import all_routes
from shop.cli.access.credentials import credential_page
from shop.cli.prepare import load_settings
from shop.site.health import show_liveness
from shop.site.routes import description_routes, site_routes
from shop.web.endpoint import Route

# Only these have their real handlers here; the other routes get theirs from the serving process.
_HANDLER_PREFIXES = ("/api", "/shop_oauth", "/spree_oauth", "/admin")


def every_route(extension_routes: ExtensionRoutes = NO_ROUTES) -> tuple[Route, ...]:
    return all_routes(
        (
            *site_routes(ready=show_liveness, metrics=show_liveness),
            *description_routes(description=show_liveness, docs=show_liveness),
        ),
        _no_shared,
        extension_routes=extension_routes,
    )


def _no_shared() -> Shared:
    raise AssertionError("routes that are listed are never called")


@click.command(epilog="Example: shop routes | grep cart")
@click.option(
    "--credentials", is_flag=True, help="Print the response of each route to each kind of credential, as Markdown."
)
def routes(credentials: bool) -> None:
    """List all routes with method, path, handler and access, also those of extensions."""
    if credentials:
        click.echo(credential_page(every_route()), nl=False)
        return
    table = Table(box=None, pad_edge=False)
    for title in ("method", "address", "handler", "who may call"):
        table.add_column(title, no_wrap=True)
    for route in every_route(load_extensions(load_settings())):
        name = f"{route.handler.__module__.removeprefix('shop.')}.{route.handler.__qualname__}"
        table.add_row(route.method, route.path, name if route.path.startswith(_HANDLER_PREFIXES) else "site", route.who)
    Console(width=240).print(table)
