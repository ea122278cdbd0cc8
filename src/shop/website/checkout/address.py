"""The address step: e-mail, shipping and billing address."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.cart.orders import Checkout
from shop.actions.checkout import views, workflow
from shop.actions.context import Context
from shop.actions.customers import account
from shop.base.errors import Invalid
from shop.base.values import NOT_EMAIL
from shop.models.cart.orders import Order
from shop.models.checkout.inputs import CheckoutFields
from shop.models.customers.addresses import AddressWithCountry
from shop.rules.customers.addresses import address_lines
from shop.web.input.inputs import read_valid_input
from shop.web.input.request import Request
from shop.web.reply import Reply
from shop.website.addresses import AddressForm, address_values, describe_errors, load_address_form, read_address
from shop.website.checkout.progress import ADDRESS, CART, DELIVERY, STEPS, find_checkout, path_for_error
from shop.website.checkout.summary import build_sums, load_rows
from shop.website.layout import show_page
from shop.website.pages import redirect
from shop.website.visits import Visit, plain_fields

NEW = "new"
_SIDES = ("ship_address", "bill_address")
_LABELS = {
    "email": "E-mail",
    "ship_address": "Shipping address",
    "bill_address": "Billing address",
    "special_instructions": "Note",
}

_ENTER_EMAIL = "Enter your e-mail address, like name@example.com."


class AddressSide(msgspec.Struct, frozen=True):
    """The shipping or the billing address in the form: a saved one, or the fields of a new one."""

    form: AddressForm
    saved_addresses: Sequence[tuple[UUID, str | None, Sequence[str]]]
    """The id, the label and the lines of each saved address."""
    choice: str
    """The id of a saved address, or `new`."""


async def start(_request: Request, _ctx: Context, _visit: Visit) -> Reply:
    return redirect(ADDRESS)


async def show(request: Request, ctx: Context, visit: Visit) -> Reply:
    checkout = await find_checkout(ctx)
    if checkout is None:
        return redirect(CART)
    return await _show_form(request, ctx, visit, checkout, await _stored_fields(ctx, visit, checkout.order))


async def save(request: Request, ctx: Context, visit: Visit) -> Reply:
    fields = plain_fields(request)
    if fields.get("intent") == "country":
        return await _show_again(request, ctx, visit, fields)
    values, errors = read_valid_input(CheckoutFields, _members(fields))
    try:
        invalid = Invalid(errors) if errors else None
        await workflow.enter_address(ctx, values, invalid, saves_address="save_address" in fields)
    except Invalid as error:
        other = path_for_error(error, ADDRESS)
        return redirect(other) if other else await _show_again(request, ctx, visit, fields, error)
    return redirect(DELIVERY)


def _members(fields: Mapping[str, str]) -> dict[str, object]:
    """Returns the submitted fields as the API names them; the billing address may be the shipping address."""
    members: dict[str, object] = {name: fields[name] for name in ("email", "special_instructions") if name in fields}
    is_same = "bill_same" in fields
    for side in _SIDES[:1] if is_same else _SIDES:
        choice = fields.get(f"{side}_id", NEW)
        if choice == NEW:
            members[f"{side}_attributes"] = {name: text.strip() for name, text in read_address(fields, side).items()}
        else:
            members[f"{side}_id"] = choice
    return {**members, "use_shipping": True} if is_same else members


async def _show_again(
    request: Request, ctx: Context, visit: Visit, fields: Mapping[str, str], error: Invalid | None = None
) -> Reply:
    """Shows the form with everything that the shopper entered."""
    checkout = await find_checkout(ctx)
    if checkout is None:
        return redirect(CART)
    return await _show_form(request, ctx, visit, checkout, fields, error)


async def _stored_fields(ctx: Context, visit: Visit, order: Order) -> dict[str, str]:
    """Returns the fields of the form for the addresses of the order, or else the defaults of the account."""
    user = visit.user
    ids = {
        "ship_address": order.ship_address_id or (user.ship_address_id if user else None),
        "bill_address": order.bill_address_id or (user.bill_address_id if user else None),
    }
    addresses = await views.find_addresses(ctx, list({address_id for address_id in ids.values() if address_id}))
    fields = {
        "email": order.email or (user.email if user else ""),
        "special_instructions": order.special_instructions or "",
    }
    for side, address_id in ids.items():
        address = addresses.get(address_id) if address_id else None
        values = address_values(address) if address else {}
        fields |= {f"{side}.{name}": value for name, value in values.items()}
        fields |= {f"{side}_id": str(address_id)} if address and address.user_id else {}
    if user and not ids["ship_address"]:
        fields |= {"ship_address.firstname": user.first_name or "", "ship_address.lastname": user.last_name or ""}
    if order.bill_address_id is None or order.bill_address_id == order.ship_address_id:
        fields["bill_same"] = "1"
    return {**fields, "save_address": "1"} if user and user.ship_address_id is None else fields


async def _show_form(
    request: Request,
    ctx: Context,
    visit: Visit,
    checkout: Checkout,
    fields: Mapping[str, str],
    error: Invalid | None = None,
) -> Reply:
    order = checkout.order
    own = await account.list_addresses(ctx) if visit.user and order.user_id == visit.user.id else []
    shipping, billing = [await _load_side(ctx, side, fields, own) for side in _SIDES]
    labels = {**_LABELS, **shipping.form.labels, **billing.form.labels}
    page: dict[str, Any] = {
        "title": "Address",
        "steps": STEPS,
        "order": order,
        "rows": await load_rows(ctx, order, checkout.lines),
        "sums": build_sums(order),
        "email": fields.get("email", ""),
        "special_instructions": fields.get("special_instructions", ""),
        "shipping": shipping,
        "billing": billing,
        "is_same": "bill_same" in fields,
        "has_address_book": visit.user is not None and order.user_id == visit.user.id,
        "saves_address": "save_address" in fields,
        "labels": labels,
        "errors": _describe_errors(error.errors, list(labels)) if error else {},
    }
    return await show_page(ctx, request, visit, "checkout/address.html", 422 if error else 200, **page)


def _describe_errors(errors: Mapping[str, Sequence[str]], names: Sequence[str]) -> dict[str, list[str]]:
    sorted_errors = describe_errors(errors, names)
    return {
        name: [_ENTER_EMAIL if text == NOT_EMAIL else text for text in sorted_errors[name]] for name in sorted_errors
    }


async def _load_side(
    ctx: Context, side: str, fields: Mapping[str, str], own: Sequence[AddressWithCountry]
) -> AddressSide:
    form = await load_address_form(ctx, side, read_address(fields, side), is_shippable=side == "ship_address")
    saved = [(address.id, address.label, address_lines(msgspec.structs.asdict(address))) for address in own]
    ids = {str(address.id) for address in own}
    default = str(own[0].id) if own and not read_address(fields, side) else NEW
    choice = fields.get(f"{side}_id", default)
    return AddressSide(form, saved, choice if choice in ids else NEW)
