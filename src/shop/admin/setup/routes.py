"""Dashboard routes of the setup: zones, taxes, shipping, payment methods and integrity checks."""

from shop.admin.operations import checks
from shop.admin.route_builder import RouteBuilder
from shop.admin.setup import payment_methods, shipping, taxes, zones
from shop.admin.setup.form import SetupForm
from shop.web.endpoint import Route

# Enough to select every country.
_MANY = 1000


def setup_routes(rows: RouteBuilder) -> tuple[Route, ...]:
    return (
        rows.page(zones.HERE, zones.listing, "Zones"),
        *_form(rows, zones.FORM),
        rows.page(taxes.HERE, taxes.listing, "Tax categories and tax rates"),
        *_form(rows, taxes.CATEGORY_FORM),
        *_form(rows, taxes.RATE_FORM),
        rows.page(shipping.HERE, shipping.listing, "Shipping categories and shipping methods"),
        *_form(rows, shipping.CATEGORY_FORM),
        *_form(rows, shipping.METHOD_FORM),
        rows.page(payment_methods.HERE, payment_methods.listing, "Payment methods"),
        *_form(rows, payment_methods.FORM),
        rows.page(checks.HERE, checks.show, "Consistency checks"),
        rows.act(checks.HERE, checks.run_checks, "Run the consistency checks"),
    )


def _form(rows: RouteBuilder, form: SetupForm) -> tuple[Route, ...]:
    one = f"{form.base}/{{record_id}}"
    return (
        rows.page(f"{form.base}/new", form.new, f"New {form.word}"),
        rows.act(f"{form.base}/new", form.create, f"Create a {form.word}", most_params=_MANY),
        rows.page(one, form.show, f"One {form.word}"),
        rows.act(one, form.change, f"Change a {form.word}", most_params=_MANY),
        rows.page(f"{one}/delete", form.show_delete, f"Delete a {form.word}?"),
        rows.act(f"{one}/delete", form.delete, f"Delete a {form.word}"),
    )
