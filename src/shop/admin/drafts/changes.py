"""Form handlers of a draft: customer, addresses, items, discounts, shipping, coupon codes, and placing it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from decimal import Decimal
from urllib.parse import quote
from uuid import UUID

from msgspec.structs import replace

from shop.actions.context import Context
from shop.actions.drafts import drafts as actions
from shop.actions.drafts import placement
from shop.actions.drafts.discounts import DiscountInput
from shop.actions.drafts.drafts import AddressUse
from shop.admin.drafts.drafts import LABELS, draft_page, find_draft, path_of
from shop.admin.fields import Fields
from shop.admin.pages import PageContext, redirect
from shop.admin.session import Page, require_permission
from shop.base.email import read_email
from shop.base.errors import Conflict, Invalid, NotFound, TotalMismatch
from shop.base.ids import as_uuid
from shop.base.input_types import MAX_UNITS
from shop.base.values import NOT_EMAIL
from shop.models.cart.orders import Order
from shop.models.checkout.inputs import ShippingRateChoice
from shop.models.customers.inputs import CheckoutAddressInput
from shop.models.drafts.drafts import KINDS
from shop.web.input.request import Request
from shop.web.reply import Reply

MAX_REASON_LENGTH = 100
CHANGE_CONFLICT = "Another operator has changed the draft. This is its current state."
_ADDRESS_LINES = ("firstname", "lastname", "company", "address1", "address2", "zipcode", "city", "state_name", "phone")
_ADDRESS_USES: Mapping[str, AddressUse] = {"both": "both", "ship": "ship", "bill": "bill"}
_PRICES = (
    "Prices, taxes or stock have changed, and the draft now has the new values. Check the total, and place it again."
)
Change = Callable[[Context, Order, Fields], Awaitable[None]]


def build_handler(change: Change, notice: str, *, permission: str | None = None) -> Page:
    """Returns the handler of a form: it changes the draft, or shows its page with the errors. `permission` is needed in
    addition to that of the route.
    """

    async def answer(request: Request, ctx: Context, page_context: PageContext) -> Reply:
        if permission:
            require_permission(page_context, permission)
        order = await find_draft(request, ctx)
        if isinstance(order, Reply):
            return order
        fields = Fields(request)
        try:
            await change(ctx, order, fields)
        except (Invalid, Conflict, NotFound) as error:
            return await refuse_change(request, ctx, page_context, fields, error)
        return redirect(f"{path_of(order)}?done={notice}")

    return answer


async def refuse_change(
    request: Request, ctx: Context, page_context: PageContext, fields: Fields, error: Invalid | Conflict | NotFound
) -> Reply:
    """Shows the current page with what was entered and the reason why nothing was changed."""
    if isinstance(error, Invalid):
        return await _refuse(request, ctx, page_context, fields, 422, _to_page_errors(error))
    sentence = error.sentence if isinstance(error, Conflict) else CHANGE_CONFLICT
    return await _refuse(request, ctx, page_context, fields, 409, {"base": [sentence]})


async def _refuse(
    request: Request,
    ctx: Context,
    page_context: PageContext,
    fields: Fields,
    status: int,
    errors: Mapping[str, Sequence[str]],
) -> Reply:
    """Shows the current page with errors; a draft that was placed in the meantime redirects to its order."""
    order = await find_draft(request, ctx)
    if isinstance(order, Reply):
        return order
    return await draft_page(request, ctx, page_context, order, status, errors=errors, values=fields.texts)


def _to_page_errors(error: Invalid) -> dict[str, Sequence[str]]:
    names = {name: name.removeprefix("ship_address.").removeprefix("bill_address.") for name in error.errors}
    return {(names[name] if names[name] in LABELS else "base"): sentences for name, sentences in error.errors.items()}


async def _choose_customer(ctx: Context, order: Order, fields: Fields) -> None:
    user_id = fields.id("user_id")
    if user_id is None:
        raise Invalid({"customer": ["is not a customer"]})
    await actions.choose_customer(ctx, order.id, user_id)


async def _enter_customer(ctx: Context, order: Order, fields: Fields) -> None:
    email = read_email(fields.line("email", required=True))
    if email is None and not fields.errors:
        fields.refuse("email", NOT_EMAIL)
    creates_account = fields.flag("creates_account")
    fields.check()
    if email:
        await actions.enter_customer(ctx, order.id, email, creates_account=creates_account)


async def _use_address(ctx: Context, order: Order, fields: Fields) -> None:
    use = _read_use(fields)
    address_id = fields.id("address_id")
    if address_id is None:
        fields.refuse("base", "has no such address")
    fields.check()
    if address_id:
        await actions.use_address(ctx, order.id, address_id, use)


async def _enter_address(ctx: Context, order: Order, fields: Fields) -> None:
    lines = {name: fields.line(name) or None for name in _ADDRESS_LINES}
    country = fields.line("country_iso", most=3, required=True)
    use = _read_use(fields)
    fields.check()
    await actions.enter_address(ctx, order.id, replace(CheckoutAddressInput(country_iso=country), **lines), use)


def _read_use(fields: Fields) -> AddressUse:
    return _ADDRESS_USES.get(fields.choice("use", _ADDRESS_USES), "both")


async def _add_item(ctx: Context, order: Order, fields: Fields) -> None:
    quantity = _read_quantity(fields, least=1)
    variant_id = fields.id("variant_id")
    if variant_id is None:
        fields.refuse("variant_id", "is not a product of this shop")
    fields.check()
    if variant_id:
        await actions.add_item(ctx, order.id, variant_id, quantity)


async def _set_quantity(ctx: Context, order: Order, fields: Fields) -> None:
    quantity = _read_quantity(fields, least=0)
    fields.check()
    await actions.set_quantity(ctx, order.id, _read_line_id(fields), quantity)


async def _remove_item(ctx: Context, order: Order, fields: Fields) -> None:
    await actions.set_quantity(ctx, order.id, _read_line_id(fields), 0)


def _read_quantity(fields: Fields, *, least: int) -> int:
    quantity = fields.whole("quantity", least=least, required=True) or 0
    if quantity > MAX_UNITS:
        fields.refuse("quantity", f"must be at most {MAX_UNITS}")
    return quantity


def _read_line_id(fields: Fields) -> UUID:
    line_item_id = fields.id("line_item_id")
    if line_item_id is None:
        raise NotFound()
    return line_item_id


async def _set_discount(ctx: Context, order: Order, fields: Fields) -> None:
    line_item_id = _read_line_id(fields) if fields.texts.get("line_item_id") else None
    kind = fields.choice("kind", dict.fromkeys(KINDS))
    value = fields.number("value")
    if value is None and "value" not in fields.errors:
        fields.refuse("value", "is required")
    reason = fields.line("reason", most=MAX_REASON_LENGTH, required=True)
    fields.check()
    await actions.set_discount(ctx, order.id, DiscountInput(line_item_id, kind, value or Decimal(0), reason))


async def _remove_discount(ctx: Context, order: Order, fields: Fields) -> None:
    line_item_id = _read_line_id(fields) if fields.texts.get("line_item_id") else None
    await actions.remove_discount(ctx, order.id, line_item_id)


async def _choose_rates(ctx: Context, order: Order, fields: Fields) -> None:
    pairs = [(as_uuid(shipment_id), as_uuid(rate_id)) for shipment_id, rate_id in fields.group("rate").items()]
    choices = [ShippingRateChoice(shipment_id, rate_id) for shipment_id, rate_id in pairs if shipment_id and rate_id]
    if not choices:
        raise Invalid({"shipments": ["need a shipping method"]})
    try:
        await actions.choose_rates(ctx, order.id, choices)
    except Invalid as error:
        # The items have changed in the meantime, and with them the shipments.
        raise Conflict(CHANGE_CONFLICT) if error.code == "shipment_not_found" else error from None


async def _choose_pickup(ctx: Context, order: Order, fields: Fields) -> None:
    location_id = fields.id("location_id")
    if location_id is None and fields.texts.get("location_id"):
        fields.refuse("location_id", "is not a stock location")
    fields.check()
    await actions.choose_pickup(ctx, order.id, location_id)


async def _enter_coupon(ctx: Context, order: Order, fields: Fields) -> None:
    code = fields.line("coupon_code", most=100, required=True)
    fields.check()
    await actions.enter_coupon(ctx, order.id, code)


async def _remove_coupons(ctx: Context, order: Order, _fields: Fields) -> None:
    await actions.remove_coupons(ctx, order.id)


choose_customer = build_handler(_choose_customer, "customer", permission="customers:read")
_use_email = build_handler(_enter_customer, "customer")
use_address = build_handler(_use_address, "address", permission="customers:read")
enter_address = build_handler(_enter_address, "address")
add_item = build_handler(_add_item, "items")
set_quantity = build_handler(_set_quantity, "items")
remove_item = build_handler(_remove_item, "items")
set_discount = build_handler(_set_discount, "discount")
remove_discount = build_handler(_remove_discount, "discount")
choose_rates = build_handler(_choose_rates, "shipping")
choose_pickup = build_handler(_choose_pickup, "shipping")
enter_coupon = build_handler(_enter_coupon, "coupon")
remove_coupons = build_handler(_remove_coupons, "coupon-removed")


async def enter_customer(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    if Fields(request).flag("creates_account"):
        require_permission(page_context, "customers:write")
    return await _use_email(request, ctx, page_context)


async def place(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order = await find_draft(request, ctx)
    if isinstance(order, Reply):
        return order
    fields = Fields(request)
    version = fields.texts.get("version", "")
    try:
        placed_order = await placement.place_draft(
            ctx, order.id, fields.id("method"), version, is_handed_over=fields.flag("is_handed_over")
        )
    except TotalMismatch:
        await placement.refresh_draft(ctx, order.id)
        return await _refuse(request, ctx, page_context, fields, 409, {"base": [_PRICES]})
    except (Invalid, Conflict, NotFound) as error:
        return await refuse_change(request, ctx, page_context, fields, error)
    return redirect(f"/admin/orders/{quote(placed_order.number, safe='')}?done=placed")
