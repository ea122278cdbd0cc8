"""Dashboard routes of archived orders."""

from shop.admin.archive import archived_orders
from shop.admin.route_builder import RouteBuilder
from shop.web.endpoint import Route

_ORDER = "/admin/archive/{id}"


def archive_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    return (
        builder.page(_ORDER, archived_orders.show, "One archived order"),
        builder.act(f"{_ORDER}/restore", archived_orders.restore, "Restore an archived order"),
    )
