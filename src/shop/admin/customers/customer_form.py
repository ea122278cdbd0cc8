"""Forms of a customer: details, groups and price lists."""

from collections.abc import Sequence
from typing import Any

from shop.actions import records
from shop.actions.catalog.resources import CUSTOMER_GROUP_MEMBER, PRICE_LIST, PRICE_LIST_USER
from shop.actions.context import Context
from shop.actions.customers import customers as actions
from shop.actions.customers.customers import DETAILS, MAX_NOTE_LENGTH, MAX_PHONE_LENGTH, fingerprint_details
from shop.admin.fields import Fields, id_of
from shop.admin.pages import PageContext, page, redirect
from shop.base.errors import Conflict, Invalid, NotFound
from shop.base.listing import ListQuery, Page, Sort
from shop.models.access.users import AccountUser, User
from shop.models.customers.record_inputs import CustomerInput
from shop.queries.customers import users
from shop.rules.form_values import split_words
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/customers"
MAX_NAME_LENGTH, MAX_GROUPS = 100, 500
LABELS = {
    "base": "The customer",
    "email": "E-mail address",
    "first_name": "First name",
    "last_name": "Last name",
    "phone": "Phone",
    "note": "Note",
    "tags": "Tags",
}


async def new(_request: Request, _ctx: Context, page_context: PageContext) -> Reply:
    return _form_page(page_context, None, dict.fromkeys(DETAILS, ""))


async def create(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields = Fields(request)
    try:
        values = _read(fields)
        fields.check()
        user_id = await actions.create_customer(ctx, values)
    except Invalid as error:
        return _form_page(page_context, None, _submitted_texts(fields), 422, errors=error.errors)
    return redirect(f"{PATH}/{user_id}?done=created")


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    customer = await get_customer(request, ctx)
    return _form_page(page_context, customer, _texts(customer), seen=fingerprint_details(customer))


async def change(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    customer, fields = await get_customer(request, ctx), Fields(request)
    texts, fingerprint = _submitted_texts(fields), fields.texts.get("seen", "")
    try:
        values = _read(fields)
        fields.check()
        await actions.change_customer(ctx, customer.id, values, expected_fingerprint=fingerprint)
    except Invalid as error:
        return _form_page(page_context, customer, texts, 422, errors=error.errors, seen=fingerprint)
    except Conflict as conflict:
        latest = await get_customer(request, ctx)
        now = _texts(latest)
        current_values = {LABELS[name]: now[name] for name in DETAILS if now[name] != texts[name].replace("\r\n", "\n")}
        more = {"conflict": conflict.sentence, "current_values": current_values, "seen": fingerprint_details(latest)}
        return _form_page(page_context, customer, texts, 409, **more)
    return redirect(f"{PATH}/{customer.id}?done=saved")


async def set_groups(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    user_id, fields = id_of(request, "user_id"), Fields(request)
    ids, former_ids = fields.ids("group_ids"), fields.ids("former_ids")
    await actions.change_links(ctx, CUSTOMER_GROUP_MEMBER, "customer_group_id", user_id, ids, former_ids)
    return redirect(f"{PATH}/{user_id}?done=groups")


async def set_price_lists(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    user_id, fields = id_of(request, "user_id"), Fields(request)
    ids, former_ids = fields.ids("list_ids"), fields.ids("former_ids")
    await actions.change_links(ctx, PRICE_LIST_USER, "price_list_id", user_id, ids, former_ids)
    return redirect(f"{PATH}/{user_id}?done=lists")


async def get_customer(request: Request, ctx: Context) -> AccountUser:
    customer = await users.find_user(ctx.db, id_of(request, "user_id"))
    if customer is None:
        raise NotFound()
    return customer


async def list_price_lists(ctx: Context) -> Sequence[Any]:
    """Returns all price lists, as choices."""
    query = ListQuery(Sort("name", is_descending=False), Page(1, MAX_GROUPS))
    return [record.row for record in (await records.list_page(ctx, PRICE_LIST, query, {}, ())).records]


def _read(fields: Fields) -> CustomerInput:
    return {
        "email": fields.line("email", required=True),
        "first_name": fields.line("first_name", most=MAX_NAME_LENGTH) or None,
        "last_name": fields.line("last_name", most=MAX_NAME_LENGTH) or None,
        "phone": fields.line("phone", most=MAX_PHONE_LENGTH) or None,
        "note": fields.prose("note", most=MAX_NOTE_LENGTH) or None,
        "tags": split_words(fields.line("tags", most=1000)),
    }


def _texts(customer: User) -> dict[str, str]:
    texts = {name: getattr(customer, name) or "" for name in DETAILS}
    return {**texts, "tags": ", ".join(customer.tags)}


def _submitted_texts(fields: Fields) -> dict[str, str]:
    return {name: fields.texts.get(name, "") for name in DETAILS}


def _form_page(
    page_context: PageContext, customer: User | None, values: dict[str, str], status: int = 200, **more: Any
) -> Reply:
    context = {"conflict": None, "current_values": {}, "seen": "", **more}
    return page(
        "customers/customer_form.html",
        page_context,
        status,
        **context,
        customer=customer,
        values=values,
        labels=LABELS,
        action=f"{PATH}/{customer.id}/edit" if customer else f"{PATH}/new",
        back=f"{PATH}/{customer.id}" if customer else PATH,
    )
