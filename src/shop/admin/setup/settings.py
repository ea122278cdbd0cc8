"""The page of the shop's settings."""

from collections.abc import Mapping
from typing import Any

from shop.actions.context import Context
from shop.actions.setup import shop as shop_actions
from shop.actions.setup.shop import ShopOptions
from shop.admin.fields import Fields
from shop.admin.pages import PageContext, notice_of, page, redirect
from shop.admin.session import form
from shop.base.errors import Conflict, Invalid
from shop.base.times import zone_names
from shop.rules.setup.shop import name_currencies, name_locales
from shop.web.input.request import Request
from shop.web.reply import Reply

SHOP = "/admin/settings/shop"
_SHOP_FIELDS = ("name", "currencies", "default_country", "default_locale", "time_zone", "version")
_NOTICES = {"saved": "Saved."}


async def show_shop(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    shop = await shop_actions.get_shop(ctx)
    values = {name: getattr(shop, name) for name in _SHOP_FIELDS} | {"currencies": ", ".join(shop.currencies)}
    return await _shop_page(ctx, page_context, values, notice=notice_of(request, _NOTICES))


async def change_shop(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    values = {name: form(request).get(name, "") for name in _SHOP_FIELDS}
    version = Fields(request).whole("version")
    try:
        options = ShopOptions(**{**values, "version": -1 if version is None else version})  # type: ignore[arg-type]
        await shop_actions.change_shop(ctx, options)
    except Invalid as error:
        return await _shop_page(ctx, page_context, values, 422, errors=error.errors)
    except Conflict as conflict:
        return await _shop_page(ctx, page_context, values, 409, errors={"base": [conflict.sentence]})
    return redirect(f"{SHOP}?done=saved")


async def _shop_page(
    ctx: Context, page_context: PageContext, values: Mapping[str, Any], status: int = 200, **others: Any
) -> Reply:
    names = name_currencies()
    return page(
        "setup/shop.html",
        page_context,
        status,
        values=values,
        zones=zone_names(),
        currencies=names,
        currency_names=[names[code] for code in page_context.shop.currencies if code in names],
        countries={country.iso: country.name for country in await shop_actions.list_countries(ctx)},
        locales=name_locales(),
        **others,
    )
