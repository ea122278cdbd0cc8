"""The cart page and its forms: add, change, remove, coupon codes, and changes since the quote."""

from collections.abc import Mapping, Sequence
from typing import Any

from shop.actions.cart import carts, line_items, locked_carts
from shop.actions.cart import promotions as discounts
from shop.actions.cart.locked_carts import Cart
from shop.actions.catalog import storefront
from shop.actions.checkout import coupons
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound, PaymentInProgress, ShopError
from shop.base.ids import as_uuid
from shop.base.values import read_lookup_id
from shop.models.cart.inputs import CartItemInput, CartQuantityInput
from shop.models.checkout.inputs import CartCouponInput
from shop.web.input.inputs import read_input
from shop.web.input.request import Request
from shop.web.reply import Reply, json_reply
from shop.website.checkout.progress import CART, find_cart
from shop.website.checkout.summary import build_sums, load_rows
from shop.website.layout import show_page
from shop.website.pages import error_text, notice_of, redirect
from shop.website.visits import COUNT_COOKIE, Visit, plain_fields

_NOTICES = {
    "added": "The item is in your cart.",
    "changed": "Your cart is updated.",
    "removed": "The item is removed.",
    "coupon": "Your coupon code is applied.",
    "coupon-removed": "The coupon code is removed.",
    "accepted": "Your cart has current prices and quantities.",
    "reordered": "The items of your order are in your cart.",
    "reordered-partly": "The items that are still available are in your cart.",
}
_NOT_FOR_SALE = "This product is not for sale at the moment."
_CHOOSE_OPTIONS = "Please choose an option first."
_PAYING = "Your last payment is still being processed. Please try again in a moment."
_SENTENCES = {"not_purchasable": _NOT_FOR_SALE, "no_price_in_currency": _NOT_FOR_SALE}
_LABELS = {"quantity": "The quantity", "variant_id": "This product", "coupon_code": "The code"}


async def show(request: Request, ctx: Context, visit: Visit) -> Reply:
    return await render_cart(request, ctx, visit, notice=notice_of(request, _NOTICES))


async def add(request: Request, ctx: Context, visit: Visit) -> Reply:
    """Adds a product; the script receives JSON, a form is redirected to the cart."""
    is_script = b"application/json" in request.headers.get(b"accept", b"")
    try:
        item = await _read_item(request, ctx)
        cart = await carts.add_to_cart(ctx, item)
    except PaymentInProgress as error:
        if is_script:
            return json_reply({"error": _PAYING}, error.status)
        raise
    except (Invalid, NotFound) as error:
        sentence = _describe(error)
        if is_script:
            return json_reply({"error": sentence}, error.status)
        return await render_cart(request, ctx, visit, 422, problem=sentence)
    visit.save_cart(ctx, cart.order)
    if is_script:
        names = [line.name for line in cart.lines if line.variant_id == item.variant_id]
        count = cart.order.item_count
        return json_reply({"count": count, "text": f"{names[0]} is in your cart.", "cart_url": CART})
    return redirect(f"{CART}?done=added")


async def _read_item(request: Request, ctx: Context) -> CartItemInput:
    """Reads the variant, or finds it by the chosen options of a product."""
    members = request.body_params()
    fields = {"variant_id": members.get("variant_id"), "quantity": members.get("quantity") or "1"}
    if not fields["variant_id"]:
        options = members.get("option")
        fields["variant_id"] = await _find_variant(ctx, members.get("product_id"), options)
    return read_input(CartItemInput, fields)


async def _find_variant(ctx: Context, product_id: object, options: object) -> str:
    key = as_uuid(product_id)
    if key is None:
        raise NotFound()
    chosen_options = {str(name): str(value) for name, value in options.items()} if isinstance(options, Mapping) else {}
    currency = ctx.shared.shop.currencies[0]
    records, _ = await storefront.list_variants(ctx, key, currency, chosen_options, {})
    # A product with variants is not sold as such.
    rows = [record.row for record in records if not record.row.is_master] or [record.row for record in records]
    if len(rows) != 1:
        raise Invalid({"option": [_CHOOSE_OPTIONS if rows else _NOT_FOR_SALE]})
    return str(rows[0].id)


async def change_quantity(request: Request, ctx: Context, visit: Visit) -> Reply:
    line_id = request.path_params["id"]
    quantity = plain_fields(request).get("quantity", "").strip()
    if quantity == "0":
        return await remove(request, ctx, visit)
    try:
        change = read_input(CartQuantityInput, {"line_item_id": line_id, "quantity": quantity})
        cart = await line_items.set_quantity(ctx, change.line_item_id, change.quantity)
    except Invalid as error:
        quantities = {line_id: quantity}
        return await render_cart(request, ctx, visit, 422, problem=_describe(error), quantities=quantities)
    return _after_change(ctx, visit, cart, "changed")


async def remove(request: Request, ctx: Context, visit: Visit) -> Reply:
    cart = await line_items.remove_line(ctx, read_lookup_id(request.path_params["id"]))
    return _after_change(ctx, visit, cart, "removed")


async def accept_changes(_request: Request, ctx: Context, visit: Visit) -> Reply:
    return _after_change(ctx, visit, await line_items.accept_changes(ctx), "accepted")


async def apply_coupon(request: Request, ctx: Context, visit: Visit) -> Reply:
    code = plain_fields(request).get("coupon_code", "")
    try:
        await coupons.apply_code(ctx, read_input(CartCouponInput, {"coupon_code": code}).coupon_code)
    except Invalid as error:
        return await render_cart(request, ctx, visit, 422, errors=error.errors, coupon_code=code)
    return redirect(f"{CART}?done=coupon")


async def remove_coupon(request: Request, ctx: Context, visit: Visit) -> Reply:
    try:
        await coupons.remove_code(ctx, plain_fields(request).get("coupon_code", ""))
    except Invalid as error:
        return await render_cart(request, ctx, visit, 422, errors=error.errors)
    return redirect(f"{CART}?done=coupon-removed")


def _after_change(ctx: Context, visit: Visit, cart: Cart, notice: str) -> Reply:
    visit.save_cart(ctx, cart.order)
    return redirect(f"{CART}?done={notice}")


def _describe(error: ShopError) -> str:
    """Returns the reason why an item cannot be in the cart, in sentences."""
    if not isinstance(error, Invalid):
        return _NOT_FOR_SALE
    sentences: Sequence[str] = [
        error_text(messages, _LABELS.get(name, "This product")) for name, messages in error.errors.items()
    ]
    return _SENTENCES.get(error.code) or " ".join(sentences) or error.sentence


async def render_cart(request: Request, ctx: Context, visit: Visit, status: int = 200, **values: Any) -> Reply:
    """Shows the cart, with the problem of a change that was not made."""
    order = await find_cart(ctx)
    page: dict[str, Any] = {"title": "Your cart", "problem": None, "coupon_code": "", "quantities": {}, **values}
    if order is None:
        visit.forget_cart()
    elif visit.cookies.get(COUNT_COOKIE, "0") != str(order.item_count):
        visit.save_cart(ctx, order)
    if order is None or not order.item_count:
        return await show_page(ctx, request, visit, "checkout/empty_cart.html", status, **page)
    cart = await locked_carts.load_cart(ctx, order)
    page |= {
        "order": order,
        "rows": await load_rows(ctx, order, cart.lines, cart.warnings),
        "sums": build_sums(order),
        "codes": await coupons.list_codes(ctx, order),
        "free_shipping": await discounts.find_free_shipping(ctx, order, cart.lines),
        "has_changes": bool(cart.warnings),
    }
    return await show_page(ctx, request, visit, "checkout/cart.html", status, **page)
