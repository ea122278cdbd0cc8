"""The account's start page, the profile and the export of personal data."""

import msgspec

from shop.actions.archive.views import export_personal_data, list_own
from shop.actions.context import Context
from shop.actions.customers import account
from shop.actions.orders import resources as orders
from shop.base.errors import Invalid
from shop.base.listing import Page
from shop.models.customers.inputs import AccountFields
from shop.web.input.inputs import read_valid_input
from shop.web.input.request import Request
from shop.web.reply import JSON, NO_STORE, Reply
from shop.website.account.orders import build_rows
from shop.website.assets import PAGE_HEADERS
from shop.website.layout import show_page
from shop.website.pages import notice_of, redirect
from shop.website.visits import Visit, plain_fields

RECENT_ORDERS = 3
_NAMES = ("first_name", "last_name")
_NOTICES = {"saved": "Your changes are saved."}


async def show(request: Request, ctx: Context, visit: Visit) -> Reply:
    user, addresses = await account.get_account(ctx)
    recent = await list_own(ctx, Page(1, RECENT_ORDERS), orders.NEWEST)
    return await show_page(
        ctx,
        request,
        visit,
        "account/overview.html",
        title="Your account",
        account=user,
        orders=build_rows(recent.orders),
        order_count=recent.total,
        address=addresses.get(user.ship_address_id) if user.ship_address_id else None,
    )


async def show_profile(request: Request, ctx: Context, visit: Visit) -> Reply:
    names = {name: getattr(visit.user, name) or "" for name in _NAMES}
    return await _show_profile(request, ctx, visit, names)


async def save_profile(request: Request, ctx: Context, visit: Visit) -> Reply:
    names = {name: plain_fields(request).get(name, "").strip() for name in _NAMES}
    values, errors = read_valid_input(AccountFields, {name: text or None for name, text in names.items()})
    try:
        await account.update_account(ctx, values, errors)
    except Invalid as error:
        return await _show_profile(request, ctx, visit, names, 422, error)
    return redirect("/account/profile?done=saved")


async def _show_profile(
    request: Request,
    ctx: Context,
    visit: Visit,
    names: dict[str, str],
    status: int = 200,
    error: Invalid | None = None,
) -> Reply:
    return await show_page(
        ctx,
        request,
        visit,
        "account/profile.html",
        status,
        title="Profile",
        names=names,
        errors=error.errors if error else {},
        notice=notice_of(request, _NOTICES),
    )


async def export(_request: Request, ctx: Context, _visit: Visit) -> Reply:
    """Replies with the personal data as a JSON file."""
    body = msgspec.json.format(msgspec.json.encode(await export_personal_data(ctx)), indent=2)
    disposition = (b"content-disposition", b'attachment; filename="personal-data.json"')
    return Reply(200, body, ((b"content-type", JSON), NO_STORE, disposition), security=PAGE_HEADERS)
