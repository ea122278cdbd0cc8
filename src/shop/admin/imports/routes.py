"""Dashboard routes of CSV imports and exports."""

from shop.admin.imports import imports
from shop.admin.route_builder import RouteBuilder
from shop.models.imports.csv_imports import KINDS
from shop.web.endpoint import Route

_EXPORTS = {
    "products": imports.export_products,
    "stock": imports.export_stock,
    "customers": imports.export_customers,
}


def import_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    return tuple(route for kind in KINDS for route in _routes_of(builder.of(kind), kind))


def _routes_of(builder: RouteBuilder, kind: str) -> tuple[Route, ...]:
    """Builds the routes of a kind of file, with the permissions of its resource."""
    page, act = builder.page, builder.act
    path = f"{imports.PATH}/{kind}"
    one = f"{path}/{{import_id}}"
    return (
        page(path, imports.listing, f"CSV imports of {kind}"),
        builder.upload_file(path, imports.upload, f"Upload a CSV file of {kind}"),
        page(f"/admin/exports/{kind}.csv", _EXPORTS[kind], f"Export {kind} as CSV"),
        page(one, imports.show, f"One CSV import of {kind}"),
        act(f"{one}/check", imports.check, f"Check a CSV file of {kind}", most_params=300),
        act(f"{one}/start", imports.start, f"Import a CSV file of {kind}"),
        page(f"{one}/errors", imports.download_errors, f"Download the errors of a CSV import of {kind}"),
        act(f"{one}/delete", imports.delete, f"Delete a CSV import of {kind}"),
    )
