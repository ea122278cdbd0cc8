"""Pages for the addresses of a customer: add, change, delete, and choose the defaults."""

from collections.abc import Mapping

from shop.actions.context import Context
from shop.actions.customers import account
from shop.actions.setup import shop as setup
from shop.admin.customers.customer_form import PATH, get_customer
from shop.admin.fields import Fields, id_of
from shop.admin.pages import PageContext, page, redirect
from shop.base.errors import Invalid, NotFound
from shop.models.access.users import User
from shop.models.customers.addresses import AddressWithCountry
from shop.models.customers.inputs import AccountAddressFields, AccountAddressUpdateFields, AccountFields
from shop.models.setup.countries import Country, State
from shop.rules.customers.address_formats import address_format
from shop.web.input.inputs import read_input
from shop.web.input.request import Request
from shop.web.reply import Reply

_NAMES = (
    "label",
    "firstname",
    "lastname",
    "company",
    "address1",
    "address2",
    "city",
    "state_name",
    "zipcode",
    "country_iso",
    "phone",
)


async def new(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    customer = await get_customer(request, ctx)
    values = {"firstname": customer.first_name or "", "lastname": customer.last_name or ""}
    return await _form_page(ctx, page_context, customer, values | {"phone": customer.phone or ""})


async def create(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    customer, texts = await get_customer(request, ctx), Fields(request).texts
    if _changes_country(texts):
        return await _form_page(ctx, page_context, customer, texts)
    try:
        await account.add_address(ctx, read_input(AccountAddressFields, _members(texts)), customer.id)
    except Invalid as error:
        return await _form_page(ctx, page_context, customer, texts, error=error)
    return redirect(f"{PATH}/{customer.id}?done=added")


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    customer = await get_customer(request, ctx)
    address = await account.get_address(ctx, id_of(request, "address_id"), customer.id)
    values = {name: getattr(address, name) or "" for name in _NAMES}
    values["state_name"] = address.state_code or address.state_name or ""
    return await _form_page(ctx, page_context, customer, values, address)


async def change(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    customer, texts = await get_customer(request, ctx), Fields(request).texts
    address = await account.get_address(ctx, id_of(request, "address_id"), customer.id)
    if _changes_country(texts):
        return await _form_page(ctx, page_context, customer, texts, address)
    try:
        values = read_input(AccountAddressUpdateFields, _members(texts))
        await account.change_address(ctx, address.id, values, customer.id)
    except Invalid as error:
        return await _form_page(ctx, page_context, customer, texts, address, error=error)
    return redirect(f"{PATH}/{customer.id}?done=changed")


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


def _changes_country(texts: Mapping[str, str]) -> bool:
    """Whether the form was sent to show the fields of another country, not to save the address."""
    return texts.get("intent") == "country"


def _members(texts: Mapping[str, str]) -> dict[str, str | None]:
    """Returns the submitted fields of the address; empty ones are None."""
    return {name: texts[name].strip() or None for name in _NAMES if name in texts}


async def _form_page(
    ctx: Context,
    page_context: PageContext,
    customer: User,
    values: Mapping[str, str],
    address: AddressWithCountry | None = None,
    *,
    error: Invalid | None = None,
) -> Reply:
    """Shows the form of the selected country with everything that the operator entered."""
    country, states = await _find_country(ctx, values.get("country_iso", ""))
    form = address_format(country.iso)
    labels = {"base": "The customer", **form.labels, "label": "Name of this address"}
    return page(
        "customers/address.html",
        page_context,
        422 if error else 200,
        customer=customer,
        address=address,
        action=f"{PATH}/{customer.id}/addresses/{address.id if address else 'new'}",
        back=f"{PATH}/{customer.id}",
        format=form,
        labels={**labels, "state_id": form.labels.get("state_name", "State")},
        values={**values, "country_iso": country.iso},
        countries={each.iso: each.name for each in await setup.list_countries(ctx)},
        states={state.abbr: state.name for state in states},
        errors=error.errors if error else {},
    )


async def _find_country(ctx: Context, code: str) -> tuple[Country, list[State]]:
    """Returns the country with its states; the shop's own if the code is not one of a country."""
    try:
        return await setup.get_country(ctx, code or "default")
    except NotFound:
        return await setup.get_country(ctx, "default")
