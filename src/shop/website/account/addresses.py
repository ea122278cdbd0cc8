"""The addresses of a customer: list, add, change, delete, and choose the defaults."""

from collections.abc import Mapping
from typing import Any

import msgspec

from shop.actions.context import Context
from shop.actions.customers import account
from shop.actions.setup import shop as setup
from shop.base.errors import Invalid
from shop.base.values import read_lookup_id
from shop.models.customers.addresses import AddressWithCountry
from shop.models.customers.inputs import AccountAddressFields, AccountAddressUpdateFields, AccountFields
from shop.rules.customers.address_formats import FORM_FIELDS, address_format, changes_country, read_members
from shop.rules.customers.addresses import address_lines
from shop.web.input.inputs import read_input
from shop.web.input.request import Request
from shop.web.reply import Reply
from shop.website.addresses import describe_errors
from shop.website.layout import show_page
from shop.website.pages import notice_of, redirect
from shop.website.visits import Visit, plain_fields

LIST = "/account/addresses"
_NOTICES = {
    "added": "The address is saved.",
    "changed": "The address is changed.",
    "removed": "The address is deleted.",
    "default": "Your default address is changed.",
}


class AddressCard(msgspec.Struct, frozen=True):
    """An address in the list, as its lines."""

    address: AddressWithCountry
    lines: list[str]
    is_shipping_default: bool
    is_billing_default: bool


async def show_list(request: Request, ctx: Context, visit: Visit) -> Reply:
    user = (await ctx.signed_in()).user
    cards = [
        AddressCard(
            address, list_lines(address), address.id == user.ship_address_id, address.id == user.bill_address_id
        )
        for address in await account.list_addresses(ctx)
    ]
    notice = notice_of(request, _NOTICES)
    return await show_page(ctx, request, visit, "account/addresses.html", title="Addresses", cards=cards, notice=notice)


def list_lines(address: AddressWithCountry) -> list[str]:
    return address_lines(msgspec.structs.asdict(address))


async def show_new(request: Request, ctx: Context, visit: Visit) -> Reply:
    user = (await ctx.signed_in()).user
    return await _show_form(request, ctx, visit, {"firstname": user.first_name or "", "lastname": user.last_name or ""})


async def create(request: Request, ctx: Context, visit: Visit) -> Reply:
    fields = plain_fields(request)
    if changes_country(fields):
        return await _show_form(request, ctx, visit, fields)
    try:
        await account.add_address(ctx, read_input(AccountAddressFields, read_members(fields)))
    except Invalid as error:
        return await _show_form(request, ctx, visit, fields, error=error)
    return redirect(f"{LIST}?done=added")


async def show_edit(request: Request, ctx: Context, visit: Visit) -> Reply:
    address = await _get_address(request, ctx)
    values = {name: getattr(address, name) or "" for name in FORM_FIELDS}
    return await _show_form(request, ctx, visit, {**values, "state_name": _state_value(address)}, address)


async def update(request: Request, ctx: Context, visit: Visit) -> Reply:
    address, fields = await _get_address(request, ctx), plain_fields(request)
    if changes_country(fields):
        return await _show_form(request, ctx, visit, fields, address)
    try:
        await account.change_address(ctx, address.id, read_input(AccountAddressUpdateFields, read_members(fields)))
    except Invalid as error:
        return await _show_form(request, ctx, visit, fields, address, error=error)
    return redirect(f"{LIST}?done=changed")


async def remove(request: Request, ctx: Context, _visit: Visit) -> Reply:
    await account.remove_address(ctx, read_lookup_id(request.path_params["id"]))
    return redirect(f"{LIST}?done=removed")


async def make_default(request: Request, ctx: Context, _visit: Visit) -> Reply:
    """Makes an address the default for shipping, or for billing with `use=billing`."""
    address = await _get_address(request, ctx)
    is_billing = plain_fields(request).get("use") == "billing"
    values = AccountFields(bill_address_id=address.id) if is_billing else AccountFields(ship_address_id=address.id)
    await account.update_account(ctx, values, {})
    return redirect(f"{LIST}?done=default")


async def _get_address(request: Request, ctx: Context) -> AddressWithCountry:
    return await account.get_address(ctx, read_lookup_id(request.path_params["id"]))


def _state_value(address: AddressWithCountry) -> str:
    return address.state_code or address.state_name or ""


async def _show_form(
    request: Request,
    ctx: Context,
    visit: Visit,
    values: Mapping[str, str],
    address: AddressWithCountry | None = None,
    *,
    error: Invalid | None = None,
) -> Reply:
    """Shows the form of the selected country with everything that the shopper entered."""
    country, states = await setup.find_country(ctx, values.get("country_iso", ""))
    form = address_format(country.iso)
    labels = {**form.labels, "label": "Name of this address", "state_id": form.labels.get("state_name", "State")}
    errors = error.errors if error else {}
    page: dict[str, Any] = {
        "title": "Edit address" if address else "New address",
        "action": f"{LIST}/{address.id}" if address else LIST,
        "address": address,
        "format": form,
        "labels": labels,
        "values": {**values, "country_iso": country.iso},
        "countries": [(each.iso, each.name) for each in await setup.list_countries(ctx)],
        "states": [(state.abbr, state.name) for state in states],
        "errors": describe_errors(errors, list(labels)),
    }
    return await show_page(ctx, request, visit, "account/address.html", 422 if error else 200, **page)
