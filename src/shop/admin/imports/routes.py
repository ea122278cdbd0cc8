"""Dashboard routes of CSV imports and exports."""

from shop.admin.imports import imports
from shop.admin.route_builder import RouteBuilder
from shop.web.endpoint import Route

_IMPORT = f"{imports.PATH}/{{import_id}}"


def import_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act = builder.page, builder.act
    return (
        page(imports.PATH, imports.listing, "CSV imports"),
        builder.upload(imports.PATH, imports.upload, "Upload a CSV file"),
        page(
            "/admin/exports/customers.csv",
            imports.export_customers,
            "Export customers as CSV",
            permission="customers:read",
        ),
        page("/admin/exports/{kind}", imports.export, "Export products or stock as CSV"),
        page(_IMPORT, imports.show, "One CSV import"),
        act(f"{_IMPORT}/check", imports.check, "Check a CSV file", most_params=300),
        act(f"{_IMPORT}/start", imports.start, "Import a CSV file"),
        page(f"{_IMPORT}/errors", imports.download_errors, "Download the errors of a CSV import"),
        act(f"{_IMPORT}/delete", imports.delete, "Delete a CSV import"),
    )
