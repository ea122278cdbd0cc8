"""The settings page of invoices and other documents."""

from collections.abc import Mapping
from typing import Any

import msgspec

from shop.actions.context import Context
from shop.actions.setup.documents import change_documents
from shop.actions.setup.shop import get_shop, list_countries
from shop.admin.fields import Fields
from shop.admin.pages import PageContext, notice_of, page, redirect
from shop.base.errors import Conflict, Invalid
from shop.models.setup.documents import MAX_TAX_NUMBERS, DocumentSettings, TaxNumber
from shop.rules.setup.documents import MAX_DIGITS, MAX_LABEL_LENGTH, MAX_LENGTHS, MAX_NUMBER_LENGTH
from shop.rules.setup.names import label_code
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/settings/documents"
LABELS = {
    "legal_name": "Legal name",
    "address1": "Address",
    "address2": "Address, second line",
    "zipcode": "Postal code",
    "city": "City",
    "country": "Country",
    "email": "Support e-mail",
    "tax_numbers": "Tax numbers",
    "invoice_prefix": "Prefix of invoices",
    "credit_note_prefix": "Prefix of credit notes",
    "digits": "Digits of document numbers",
}
_TEXTS = tuple(name for name in LABELS if name not in {"tax_numbers", "digits"})
_NOTICES = {"saved": "Saved. Documents that were issued before stay as they are."}


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    shop = await get_shop(ctx)
    settings, names = shop.document_settings, await _name_countries(ctx)
    settings = msgspec.structs.replace(settings, country=label_code(settings.country, names))
    return _page(page_context, settings, shop.version, names, notice=notice_of(request, _NOTICES))


async def change(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields = Fields(request)
    version, settings = fields.whole("version"), _read_settings(fields)
    try:
        await change_documents(ctx, settings, -1 if version is None else version)
    except Invalid as error:
        return _page(page_context, settings, version, await _name_countries(ctx), 422, errors=error.errors)
    except Conflict as conflict:
        names = await _name_countries(ctx)
        return _page(page_context, settings, version, names, 409, errors={"base": [conflict.sentence]})
    return redirect(f"{PATH}?done=saved")


def _read_settings(fields: Fields) -> DocumentSettings:
    texts = {name: fields.texts.get(name, "").strip() for name in _TEXTS}
    digits = fields.whole("digits")
    rows = [
        TaxNumber(*(fields.texts.get(f"{name}_{row}", "").strip() for name in ("tax_label", "tax_number")))
        for row in range(MAX_TAX_NUMBERS)
    ]
    return DocumentSettings(
        **texts,
        tax_numbers=tuple(row for row in rows if row.label or row.number),
        digits=digits or 0,
    )


async def _name_countries(ctx: Context) -> dict[str, str]:
    return {country.iso: country.name for country in await list_countries(ctx)}


def _page(
    page_context: PageContext,
    settings: DocumentSettings,
    version: int | None,
    names: Mapping[str, str],
    status: int = 200,
    **values: Any,
) -> Reply:
    empty = TaxNumber("", "")
    tax_rows = [*settings.tax_numbers, empty][:MAX_TAX_NUMBERS]
    return page(
        "setup/documents.html",
        page_context,
        status,
        **values,
        values=settings,
        version=version,
        tax_rows=tax_rows,
        labels=LABELS,
        countries=names,
        lengths={**MAX_LENGTHS, "country": 120, "label": MAX_LABEL_LENGTH, "number": MAX_NUMBER_LENGTH},
        most_digits=MAX_DIGITS,
    )
