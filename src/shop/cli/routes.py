"""`shop routes`."""

import click
from rich.console import Console
from rich.table import Table

from shop.app import all_routes
from shop.site.health import live
from shop.site.routes import site_routes

# Handlers of the others are made with the process, and stood in for here.
_NAMED = ("/api", "/shop_oauth", "/spree_oauth", "/admin")


@click.command(epilog="Example: shop routes | grep cart")
def routes() -> None:
    """Print the table of contents: method, address, handler, who may call."""
    table = Table(box=None, pad_edge=False)
    for title in ("method", "address", "handler", "who may call"):
        table.add_column(title, no_wrap=True)
    for route in all_routes(site_routes(ready=live, metrics=live, description=live, mailbox=live, mails=live)):
        name = f"{route.handler.__module__.removeprefix('shop.')}.{route.handler.__qualname__}"
        table.add_row(route.method, route.path, name if route.path.startswith(_NAMED) else "site", route.who)
    Console(width=160).print(table)
