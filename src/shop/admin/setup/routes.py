"""Dashboard routes of the setup: website, documents, policies, e-mails, taxes, shipping, payment methods, checks."""

from shop.admin.operations import backups, checks
from shop.admin.route_builder import RouteBuilder
from shop.admin.setup import documents, mails, overview, payment_methods, policies, shipping, taxes, website, zones
from shop.admin.setup.form import SetupForm
from shop.rules.access.permissions import SELF
from shop.rules.content.markdown import MAX_MARKDOWN_BYTES
from shop.web.endpoint import Route

# Enough to select every country.
_MANY = 1000
_FORM = 64 * 1024
# A form sends up to three bytes for each byte of a text.
_LONG_TEXT = 4 * MAX_MARKDOWN_BYTES


def setup_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    content = builder.of("content")
    return (
        builder.page(overview.PATH, overview.show, "All settings", permission=SELF),
        content.page(website.PATH, website.show, "Website settings"),
        content.upload(website.PATH, website.change, "Change the website settings"),
        builder.page(documents.PATH, documents.show, "Settings of documents"),
        builder.act(documents.PATH, documents.change, "Change the settings of documents"),
        content.page(policies.PATH, policies.listing, "Policies"),
        *_form_routes(content, policies.FORM, _LONG_TEXT),
        *_mail_routes(content),
        builder.page(zones.PATH, zones.listing, "Zones"),
        *_form_routes(builder, zones.FORM),
        builder.page(taxes.PATH, taxes.listing, "Tax categories and tax rates"),
        *_form_routes(builder, taxes.CATEGORY_FORM),
        *_form_routes(builder, taxes.RATE_FORM),
        builder.page(shipping.PATH, shipping.listing, "Shipping categories and shipping methods"),
        *_form_routes(builder, shipping.CATEGORY_FORM),
        *_form_routes(builder, shipping.METHOD_FORM),
        builder.page(payment_methods.PATH, payment_methods.listing, "Payment methods"),
        *_form_routes(builder, payment_methods.FORM),
        builder.page(backups.PATH, backups.show, "Backups"),
        builder.page(checks.PATH, checks.show, "Consistency checks"),
        builder.act(checks.PATH, checks.run_checks, "Run the consistency checks"),
    )


def _mail_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    one = f"{mails.PATH}/{{kind}}"
    return (
        builder.page(mails.PATH, mails.listing, "E-mails to customers"),
        builder.page(one, mails.show, "One e-mail, with its texts"),
        builder.act(one, mails.change, "Change an e-mail"),
        builder.page(f"{one}/preview", mails.preview_saved, "Preview of an e-mail, as it is saved"),
        builder.act(f"{one}/preview", mails.preview_edited, "Preview of an e-mail, with the texts of the form"),
        builder.act(f"{one}/reset", mails.reset, "Restore the default texts of an e-mail"),
        builder.act(f"{one}/test", mails.send_test, "Send a test of an e-mail to yourself"),
    )


def _form_routes(builder: RouteBuilder, form: SetupForm, body_limit: int = _FORM) -> tuple[Route, ...]:
    one = f"{form.base}/{{record_id}}"
    return (
        builder.page(f"{form.base}/new", form.new, f"New {form.noun}"),
        builder.act(f"{form.base}/new", form.create, f"Create a {form.noun}", most_params=_MANY, body_limit=body_limit),
        builder.page(one, form.show, f"One {form.noun}"),
        builder.act(one, form.change, f"Change a {form.noun}", most_params=_MANY, body_limit=body_limit),
        builder.page(f"{one}/delete", form.show_delete, f"Delete a {form.noun}?"),
        builder.act(f"{one}/delete", form.delete, f"Delete a {form.noun}"),
    )
