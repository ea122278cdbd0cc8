"""Pages for tax categories and tax rates."""

from decimal import Decimal
from typing import Any
from uuid import UUID

from shop.actions.context import Context
from shop.actions.setup.resources import TAX_CATEGORY, TAX_RATE, ZONE
from shop.admin.fields import Fields
from shop.admin.listing import ListHead, RowSort, fold_text, sort_rows
from shop.admin.pages import PageContext, notice_of, page
from shop.admin.setup.form import NOTICES, SetupForm, Values, list_all, names_of
from shop.base.money import plain_decimal
from shop.base.record import Record
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/settings/taxes"
HOME = (PATH, "Taxes")
_SORTS = {
    "name": RowSort("Name", lambda rate: fold_text(rate[0].name)),
    "rate": RowSort("Highest rate", lambda rate: rate[0].amount, is_descending=True),
}


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    categories = [each.row for each in await list_all(ctx, TAX_CATEGORY)]
    rates = [(each.row, _percent(each)) for each in await list_all(ctx, TAX_RATE)]
    rates, head = sort_rows(request, PATH, rates, _SORTS)
    return page(
        "setup/taxes.html",
        page_context,
        categories=categories,
        category_head=ListHead(len(categories)),
        rates=rates,
        head=head,
        zones=await names_of(ctx, ZONE),
        notice=notice_of(request, NOTICES),
    )


async def _read_category(fields: Fields, _ctx: Context, _category_id: UUID | None) -> Values:
    return {
        "name": fields.line("name", most=100, required=True),
        "description": fields.line("description", most=500) or None,
        "tax_code": fields.line("tax_code", most=100) or None,
        "is_default": fields.flag("is_default"),
    }


async def _read_rate(fields: Fields, _ctx: Context, _rate_id: UUID | None) -> Values:
    percent = fields.number("percent")
    if percent is None and not fields.errors.get("percent"):
        fields.refuse("percent", "is required")
    if percent is not None and not (percent < 1000 and percent == round(percent, 3)):
        fields.refuse("percent", "must be less than 1000, with at most three decimals")
    zone_id, category_id = fields.id("zone_id"), fields.id("tax_category_id")
    for name, record_id in (("zone_id", zone_id), ("tax_category_id", category_id)):
        if record_id is None:
            fields.refuse(name, "must be chosen")
    return {
        "name": fields.line("name", most=100, required=True),
        "amount": (percent or Decimal(0)) / 100,
        "included_in_price": fields.flag("included_in_price"),
        "show_rate_in_label": fields.flag("show_rate_in_label"),
        "zone_id": zone_id,
        "tax_category_id": category_id,
    }


def _percent(rate: Record) -> str:
    return plain_decimal(rate.row.amount * 100).removesuffix(".0")


async def _rate_choices(ctx: Context, _page_context: PageContext, _rate: Record | None) -> Values:
    return {"zones": await names_of(ctx, ZONE), "categories": await names_of(ctx, TAX_CATEGORY)}


_RATE: dict[str, Any] = {
    "name": "",
    "percent": "",
    "included_in_price": False,
    "show_rate_in_label": True,
    "zone_id": "",
    "tax_category_id": "",
}
CATEGORY_FORM = SetupForm(
    actions=TAX_CATEGORY,
    noun="tax category",
    base=f"{PATH}/categories",
    home=HOME,
    template="setup/tax_category.html",
    labels={"name": "Name", "description": "Description", "tax_code": "Tax code", "is_default": "Default"},
    defaults={"name": "", "description": "", "tax_code": "", "is_default": False},
    read=_read_category,
    use_note="Can be deleted once no product, order, tax rate or shipping method uses it.",
)
RATE_FORM = SetupForm(
    actions=TAX_RATE,
    noun="tax rate",
    base=f"{PATH}/rates",
    home=HOME,
    template="setup/tax_rate.html",
    labels={"name": "Name", "percent": "Percent", "zone_id": "Zone", "tax_category_id": "Tax category"},
    defaults=_RATE,
    read=_read_rate,
    form_values=lambda rate: {"percent": _percent(rate)},
    choices=_rate_choices,
    delete_note="It will no longer apply to new orders. Completed orders will keep their taxes.",
)
