"""Settings pages: the shop and its operators."""

from uuid import UUID

from shop.actions.access import operators
from shop.actions.context import Context
from shop.actions.setup import shop as setup
from shop.actions.setup.shop import ShopOptions
from shop.admin.pages import PageContext, notice_of, page, redirect
from shop.admin.session import form
from shop.base.errors import Conflict, Invalid, NotFound
from shop.base.ids import as_uuid
from shop.web.reply import Reply
from shop.web.request import Request

OPERATORS = "/admin/settings/operators"
SHOP = "/admin/settings/shop"
_SHOP_FIELDS = ("name", "currencies", "default_country", "default_locale", "version")
_NOTICES = {
    "saved": "Saved.",
    "disabled": "Operator disabled and signed out everywhere.",
    "enabled": "Operator enabled.",
}


async def show_shop(request: Request, ctx: Context, visit: PageContext) -> Reply:
    shop = await setup.get_shop(ctx)
    values = {name: getattr(shop, name) for name in _SHOP_FIELDS} | {"currencies": ", ".join(shop.currencies)}
    return page("shop.html", visit, notice=notice_of(request, _NOTICES), values=values)


async def change_shop(request: Request, ctx: Context, visit: PageContext) -> Reply:
    values = {name: form(request).get(name, "") for name in _SHOP_FIELDS}
    version = int(values["version"]) if values["version"].isascii() and values["version"].isdigit() else -1
    try:
        await setup.change_shop(ctx, ShopOptions(**{**values, "version": min(version, 2**62)}))  # type: ignore[arg-type]
    except Invalid as error:
        return page("shop.html", visit, 422, values=values, errors=error.errors)
    except Conflict as conflict:
        return page("shop.html", visit, 409, values=values, errors={"base": [conflict.sentence]})
    return redirect(f"{SHOP}?done=saved")


async def list_operators(request: Request, ctx: Context, visit: PageContext) -> Reply:
    rows = await operators.list_operators(ctx)
    return page("operators.html", visit, notice=notice_of(request, _NOTICES), operators=rows)


async def new_operator(_request: Request, _ctx: Context, visit: PageContext) -> Reply:
    return page("operator_new.html", visit, email="")


async def invite(request: Request, ctx: Context, visit: PageContext) -> Reply:
    email = form(request).get("email", "").strip()
    try:
        token = await operators.invite(ctx, email)
    except Invalid as error:
        return page("operator_new.html", visit, 422, email=email, errors=error.errors)
    return page("operator_link.html", visit, email=email, link=f"{visit.origin}/admin/join/{token}")


async def disable(request: Request, ctx: Context, _visit: PageContext) -> Reply:
    await operators.disable_operator(ctx, _id(request))
    return redirect(f"{OPERATORS}?done=disabled")


async def enable(request: Request, ctx: Context, _visit: PageContext) -> Reply:
    await operators.enable_operator(ctx, _id(request))
    return redirect(f"{OPERATORS}?done=enabled")


def _id(request: Request) -> UUID:
    operator_id = as_uuid(request.path_params["operator_id"])
    if operator_id is None:
        raise NotFound()
    return operator_id
