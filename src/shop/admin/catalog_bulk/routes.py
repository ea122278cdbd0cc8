"""Routes of the forms of a whole product, of the grid of products and of bulk operations."""

from shop.admin.catalog_bulk import batch_pages, bulk, grid, product_form, product_page
from shop.admin.route_builder import RouteBuilder
from shop.web.endpoint import Route

_PRODUCT = "/admin/products/{product_id}"
_BATCH = f"{batch_pages.PATH}/{{batch_id}}"


def catalog_bulk_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act = builder.page, builder.act
    return (
        page("/admin/products/new", product_form.new, "New product"),
        builder.upload(
            "/admin/products/new", product_form.create, "Create a product", most_params=product_form.MOST_PARAMS
        ),
        page(_PRODUCT, product_page.show, "One product"),
        builder.upload(_PRODUCT, product_page.change, "Change a product", most_params=grid.MOST_PARAMS),
        act(f"{_PRODUCT}/duplicate", product_form.duplicate, "Duplicate a product"),
        page(grid.PATH, grid.show, "The grid of products"),
        act(
            grid.PATH,
            grid.change,
            "Review or save changes of the grid",
            body_limit=grid.BODY_LIMIT,
            most_params=grid.MOST_PARAMS,
        ),
        page(bulk.PATH, bulk.show, "Change many products"),
        act(bulk.PATH, bulk.change, "Preview or apply a change of many products"),
        page(batch_pages.PATH, batch_pages.listing, "Changes of many products"),
        page(_BATCH, batch_pages.show, "One change of many products"),
        act(f"{_BATCH}/undo", batch_pages.undo, "Undo a change of many products"),
    )
