"""Pages for the addresses of a customer: add, change, delete, and choose the defaults."""

from collections.abc import Mapping

from shop.actions.context import Context
from shop.actions.customers import account
from shop.actions.setup import shop as setup
from shop.admin.customers.customer_form import PATH, get_customer
from shop.admin.fields import Fields, id_of, list_differences
from shop.admin.pages import PageContext, page, redirect
from shop.base.errors import ChangedMeanwhile, Invalid
from shop.models.access.users import User
from shop.models.customers.addresses import AddressWithCountry
from shop.models.customers.inputs import AccountAddressFields, AccountAddressUpdateFields, AccountFields
from shop.rules.customers.address_formats import FORM_FIELDS, address_format, changes_country, read_members
from shop.web.input.inputs import read_input
from shop.web.input.request import Request
from shop.web.reply import Reply


async def new(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    customer = await get_customer(request, ctx)
    values = {"firstname": customer.first_name or "", "lastname": customer.last_name or ""}
    return await _form_page(ctx, page_context, customer, values | {"phone": customer.phone or ""})


async def create(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    customer, texts = await get_customer(request, ctx), Fields(request).texts
    if changes_country(texts):
        return await _form_page(ctx, page_context, customer, texts)
    try:
        await account.add_address(ctx, read_input(AccountAddressFields, read_members(texts)), customer.id)
    except Invalid as error:
        return await _form_page(ctx, page_context, customer, texts, error=error)
    return redirect(f"{PATH}/{customer.id}?done=added")


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    customer = await get_customer(request, ctx)
    address = await account.get_address(ctx, id_of(request, "address_id"), customer.id)
    return await _form_page(ctx, page_context, customer, _stored_values(address), address)


async def change(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    customer, texts = await get_customer(request, ctx), Fields(request).texts
    address = await account.get_address(ctx, id_of(request, "address_id"), customer.id)
    seen_at = texts.get("seen_at")
    if changes_country(texts):
        return await _form_page(ctx, page_context, customer, texts, address, seen_at=seen_at)
    try:
        values = read_input(AccountAddressUpdateFields, read_members(texts))
        await account.change_address(ctx, address.id, values, customer.id, seen_at=seen_at)
    except Invalid as error:
        return await _form_page(ctx, page_context, customer, texts, address, error=error, seen_at=seen_at)
    except ChangedMeanwhile as error:
        address = await account.get_address(ctx, address.id, customer.id)
        return await _form_page(ctx, page_context, customer, texts, address, error=error)
    return redirect(f"{PATH}/{customer.id}?done=changed")


def _stored_values(address: AddressWithCountry) -> dict[str, str]:
    values = {name: getattr(address, name) or "" for name in FORM_FIELDS}
    return {**values, "state_name": address.state_code or address.state_name or ""}


async def make_default(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    """Makes an address the default for shipping, or for billing with `use=billing`."""
    user_id, address_id = id_of(request, "user_id"), id_of(request, "address_id")
    is_billing = Fields(request).texts.get("use") == "billing"
    values = AccountFields(bill_address_id=address_id) if is_billing else AccountFields(ship_address_id=address_id)
    await account.get_address(ctx, address_id, user_id)
    await account.update_account(ctx, values, {}, user_id)
    return redirect(f"{PATH}/{user_id}?done=default")


async def delete(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    user_id = id_of(request, "user_id")
    await account.remove_address(ctx, id_of(request, "address_id"), user_id)
    return redirect(f"{PATH}/{user_id}?done=removed")


async def _form_page(
    ctx: Context,
    page_context: PageContext,
    customer: User,
    values: Mapping[str, str],
    address: AddressWithCountry | None = None,
    *,
    error: Invalid | ChangedMeanwhile | None = None,
    seen_at: str | None = None,
) -> Reply:
    """Shows the form of the selected country with everything that the operator entered."""
    country, states = await setup.find_country(ctx, values.get("country_iso", ""))
    form = address_format(country.iso)
    labels = {"base": "The customer", **form.labels, "label": "Name of this address"}
    return page(
        "customers/address.html",
        page_context,
        error.status if error else 200,
        customer=customer,
        address=address,
        action=f"{PATH}/{customer.id}/addresses/{address.id if address else 'new'}",
        back=f"{PATH}/{customer.id}",
        format=form,
        labels={**labels, "state_id": form.labels.get("state_name", "State")},
        values={**values, "country_iso": country.iso},
        countries={each.iso: each.name for each in await setup.list_countries(ctx)},
        states={state.abbr: state.name for state in states},
        errors=error.errors if isinstance(error, Invalid) else {},
        seen_at=address.updated_at.isoformat() if address and seen_at is None else seen_at,
        conflict=error.sentence if isinstance(error, ChangedMeanwhile) else None,
        theirs=list_differences(labels, values, _stored_values(address)) if address else {},
    )
