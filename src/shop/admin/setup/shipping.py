"""Pages for shipping categories and shipping methods."""

from typing import Any
from uuid import UUID

from shop.actions.context import Context
from shop.actions.setup.resources import SHIPPING_CATEGORY, SHIPPING_METHOD, TAX_CATEGORY, ZONE
from shop.admin.fields import Fields
from shop.admin.listing import ListHead, RowSort, fold_text, sort_rows
from shop.admin.pages import PageContext, notice_of, page
from shop.admin.setup.form import DISPLAYS, NOTICES, SetupForm, Values, linked_ids, linked_rows, list_all, names_of
from shop.admin.setup.shipping_amounts import amounts_texts, present_amounts, read_amounts
from shop.base.money import money_text
from shop.base.record import Record
from shop.models.setup.taxes import DEFAULT_SHIPPING_CATEGORY
from shop.rules.setup.shipping import is_tracking_url
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/settings/shipping"
HOME = (PATH, "Shipping")
CALCULATORS = {"flat": "Flat rate per shipment", "per_item": "Per item", "by_weight": "By weight"}
_SORTS = {
    "name": RowSort("Name", lambda method: fold_text(method[0].name)),
    "code": RowSort("Code", lambda method: fold_text(method[0].code)),
    "type": RowSort("Rate type", lambda method: CALCULATORS[method[0].calculator]),
}


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    records = await list_all(ctx, SHIPPING_METHOD, {"zones": {}})
    methods = [(each.row, [zone.name for zone in linked_rows(each, "zones")]) for each in records]
    locale = page_context.shop.default_locale
    methods, head = sort_rows(request, PATH, methods, _SORTS)
    categories = [each.row for each in await list_all(ctx, SHIPPING_CATEGORY)]
    return page(
        "setup/shipping.html",
        page_context,
        methods=methods,
        prices={method.id: _describe_price(method, locale) for method, _ in methods},
        head=head,
        categories=categories,
        category_head=ListHead(len(categories)),
        calculators=CALCULATORS,
        displays=DISPLAYS,
        notice=notice_of(request, NOTICES),
    )


def _describe_price(method: Any, locale: str) -> str:
    if method.calculator == "by_weight":
        return "by weight"
    amounts = ", ".join(money_text(currency, locale)(minor) for currency, _, minor in method.amounts)
    return f"{amounts} per item" if amounts and method.calculator == "per_item" else amounts


async def _read_category(fields: Fields, _ctx: Context, _category_id: UUID | None) -> Values:
    return {"name": fields.line("name", most=100, required=True)}


async def _read_method(fields: Fields, _ctx: Context, _method_id: UUID | None) -> Values:
    calculator = fields.choice("calculator", CALCULATORS)
    url = fields.line("tracking_url")
    if url and not is_tracking_url(url):
        fields.refuse("tracking_url", "must be a URL that starts with https://")
    return {
        "name": fields.line("name", most=100, required=True),
        "admin_name": fields.line("admin_name", most=100) or None,
        "code": fields.line("code", most=100) or None,
        "tracking_url": url or None,
        "display_on": fields.choice("display_on", DISPLAYS),
        "calculator": calculator,
        "tax_category_id": fields.id("tax_category_id"),
        "zone_ids": sorted(fields.ids("zone_ids")),
        "shipping_category_ids": sorted(fields.ids("shipping_category_ids")),
        "amounts": read_amounts(fields, is_by_weight=calculator == "by_weight"),
    }


def _form_values(method: Record) -> Values:
    return {
        "zone_ids": {str(each) for each in linked_ids(method, "zones")},
        "shipping_category_ids": {str(each) for each in linked_ids(method, "shipping_categories")},
        "amounts": amounts_texts(method.row.amounts),
    }


def _link_values(method: Record) -> Values:
    return {
        "zone_ids": linked_ids(method, "zones"),
        "shipping_category_ids": linked_ids(method, "shipping_categories"),
        "amounts": present_amounts(method.row.amounts),
    }


async def _choices(ctx: Context, page_context: PageContext, method: Record | None) -> Values:
    # A currency that the shop no longer accepts stays listed until its amount is removed.
    amounts = present_amounts(method.row.amounts) if method else {}
    currencies = list(dict.fromkeys([*page_context.shop.currencies, *amounts]))
    return {
        "labels": {**_LABELS, **{f"amounts-{currency}": f"Amount in {currency}" for currency in currencies}},
        "zones": await names_of(ctx, ZONE),
        "categories": await names_of(ctx, SHIPPING_CATEGORY),
        "tax_categories": {"": "None (not taxed)", **await names_of(ctx, TAX_CATEGORY)},
        "calculators": CALCULATORS,
        "displays": DISPLAYS,
        "currencies": currencies,
    }


_LABELS = {
    "name": "Name",
    "admin_name": "Name for operators",
    "code": "Code",
    "tracking_url": "Tracking URL",
    "display_on": "Available in",
    "calculator": "Rate type",
    "tax_category_id": "Tax category",
    "zone_ids": "Zones",
    "shipping_category_ids": "Shipping categories",
    "amounts": "Amounts",
}
_METHOD: dict[str, Any] = {
    "name": "",
    "admin_name": "",
    "code": "",
    "tracking_url": "",
    "display_on": "both",
    "calculator": "flat",
    "tax_category_id": "",
    "zone_ids": frozenset(),
    "shipping_category_ids": frozenset({str(DEFAULT_SHIPPING_CATEGORY)}),
    "amounts": {},
}
CATEGORY_FORM = SetupForm(
    actions=SHIPPING_CATEGORY,
    noun="shipping category",
    base=f"{PATH}/categories",
    home=HOME,
    template="setup/shipping_category.html",
    labels={"name": "Name"},
    defaults={"name": ""},
    read=_read_category,
    use_note="Can be deleted once no product or shipping method uses it.",
    required_ids=frozenset({DEFAULT_SHIPPING_CATEGORY}),
)
METHOD_FORM = SetupForm(
    actions=SHIPPING_METHOD,
    noun="shipping method",
    base=f"{PATH}/methods",
    home=HOME,
    template="setup/shipping_method.html",
    labels=_LABELS,
    defaults=_METHOD,
    read=_read_method,
    form_values=_form_values,
    link_values=_link_values,
    choices=_choices,
    include={"zones": {}, "shipping_categories": {}},
    delete_note="It will no longer be offered. Existing shipments will keep it.",
)
