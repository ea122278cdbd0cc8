"""Routes of the grid of products and of bulk operations."""

from shop.admin.catalog_bulk import grid
from shop.admin.route_builder import RouteBuilder
from shop.web.endpoint import Route


def catalog_bulk_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    return (
        builder.page(grid.PATH, grid.show, "The grid of products"),
        builder.act(
            grid.PATH,
            grid.change,
            "Review or save changes of the grid",
            body_limit=grid.BODY_LIMIT,
            most_params=grid.MOST_PARAMS,
        ),
    )
