"""The page of the shop's settings."""

from collections.abc import Mapping, Sequence
from typing import Any

from shop.actions.context import Context
from shop.actions.setup import shop as shop_actions
from shop.actions.setup.shop import ShopOptions
from shop.admin.fields import Fields
from shop.admin.pages import PageContext, notice_of, page, redirect
from shop.admin.uses import UseLink, link_uses
from shop.base.errors import Conflict, Invalid
from shop.base.ids import MAX_ORDER_DIGITS
from shop.rules.setup.names import label_code, name_currencies, name_locales, name_zones
from shop.rules.setup.shop import (
    MAX_CURRENCIES,
    MAX_PREFIX_LENGTH,
    MIN_ORDER_DIGITS,
    currency_codes,
    find_unknown_currency,
)
from shop.rules.setup.units import DIMENSION_UNITS, WEIGHT_UNITS
from shop.web.input.request import Request
from shop.web.reply import Reply

SHOP = "/admin/settings/shop"
LABELS = {
    "name": "Name",
    "currencies": "Currencies",
    "default_country": "Default country",
    "default_locale": "Language and region",
    "time_zone": "Time zone",
    "order_prefix": "Prefix of order numbers",
    "order_digits": "Digits of order numbers",
    "weight_unit": "Weights",
    "dimension_unit": "Dimensions",
    "removes_used_currencies": "Remove these currencies",
}
_TEXTS = (
    *("name", "default_country", "default_locale", "time_zone"),
    *("order_prefix", "weight_unit", "dimension_unit"),
)
_EMPTY_INPUTS = 2
_NOTICES = {"saved": "Saved."}


async def show_shop(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    shop = await shop_actions.get_shop(ctx)
    names = await _list_names(ctx)
    values: dict[str, Any] = {name: getattr(shop, name) for name in (*_TEXTS, "order_digits", "version")}
    for name in ("default_country", "default_locale", "time_zone"):
        values[name] = label_code(values[name], names[name])
    values["currencies"] = [label_code(code, names["currencies"]) for code in shop.currencies]
    return _shop_page(page_context, values, names, notice=notice_of(request, _NOTICES))


async def change_shop(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields = Fields(request)
    texts = {name: fields.texts.get(name, "") for name in _TEXTS}
    currencies, version = fields.lines("currencies")[: MAX_CURRENCIES + 1], fields.whole("version")
    values = {
        **texts,
        "currencies": currencies,
        "version": version,
        "order_digits": fields.texts.get("order_digits", ""),
    }
    options = ShopOptions(
        **texts,
        currencies=currencies,
        order_digits=fields.whole("order_digits"),
        version=-1 if version is None else version,
        removes_used_currencies=fields.flag("removes_used_currencies"),
    )
    try:
        await shop_actions.change_shop(ctx, options)
    except Invalid as error:
        uses = await _list_uses(ctx, currencies) if "removes_used_currencies" in error.errors else {}
        return _shop_page(page_context, values, await _list_names(ctx), 422, errors=error.errors, uses=uses)
    except Conflict as conflict:
        names = await _list_names(ctx)
        return _shop_page(page_context, values, names, 409, errors={"base": [conflict.sentence]})
    return redirect(f"{SHOP}?done=saved")


async def _list_uses(ctx: Context, currencies: Sequence[str]) -> Mapping[str, Sequence[UseLink]]:
    uses = await shop_actions.list_currency_uses(ctx, await shop_actions.get_shop(ctx), currency_codes(currencies))
    return {code: link_uses(rows) for code, rows in uses.items()}


async def _list_names(ctx: Context) -> dict[str, Mapping[str, str]]:
    """Returns the names by code that the fields of the form can be searched by."""
    return {
        "currencies": name_currencies(),
        "default_country": {country.iso: country.name for country in await shop_actions.list_countries(ctx)},
        "default_locale": name_locales(),
        "time_zone": name_zones(),
    }


def _shop_page(
    page_context: PageContext,
    values: Mapping[str, Any],
    names: Mapping[str, Mapping[str, str]],
    status: int = 200,
    **others: Any,
) -> Reply:
    size = min(len(values["currencies"]) + _EMPTY_INPUTS, MAX_CURRENCIES)
    return page(
        "setup/shop.html",
        page_context,
        status,
        **{"uses": {}, **others},
        values=values,
        currency_inputs=[*values["currencies"], *[""] * (size - len(values["currencies"]))],
        wrong_currency=next((text for text in values["currencies"] if find_unknown_currency([text])), None),
        names=names,
        labels=LABELS,
        units={"weight_unit": WEIGHT_UNITS, "dimension_unit": DIMENSION_UNITS},
        digits=(MIN_ORDER_DIGITS, MAX_ORDER_DIGITS),
        longest_prefix=MAX_PREFIX_LENGTH,
    )
