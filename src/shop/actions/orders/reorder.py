"""Puts the items of an earlier order into the cart again."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from shop.actions.cart import line_items
from shop.actions.cart.carts import change_cart
from shop.actions.cart.locked_carts import Cart, LockedCart
from shop.actions.context import Context
from shop.base.errors import Invalid
from shop.models.cart.inputs import CartItemInput
from shop.models.cart.orders import CartLine, Order
from shop.models.cart.quotes import Quote
from shop.queries.cart import line_items as line_queries
from shop.queries.catalog import quotes

NOTHING_LEFT = "None of these products is for sale at the moment."


class ReorderResult(msgspec.Struct, frozen=True):
    """The cart with the added items, and whether all of the order could be added."""

    cart: Cart
    is_complete: bool


async def reorder(ctx: Context, order: Order) -> ReorderResult:
    """Adds the items of an order that are still for sale, at current prices, as far as they are in stock."""
    lines = await line_queries.list_lines(ctx.db, order.id)
    is_complete = False

    async def add(locked_cart: LockedCart) -> Cart:
        nonlocal is_complete
        items = await _list_available(ctx, locked_cart, lines)
        if not items:
            raise Invalid({"base": [NOTHING_LEFT]}, NOTHING_LEFT, code="not_purchasable")
        is_complete = sum(item.quantity for item in items) == sum(line.quantity for line in lines)
        return await line_items.add_lines(ctx, locked_cart, items, is_one=False)

    cart = await change_cart(ctx, add)
    return ReorderResult(cart, is_complete)


async def _list_available(ctx: Context, locked_cart: LockedCart, lines: Sequence[CartLine]) -> list[CartItemInput]:
    in_cart = {line.variant_id: line.quantity for line in locked_cart.lines}
    quantities = {line.variant_id: line.quantity + in_cart.get(line.variant_id, 0) for line in lines}
    variant_quotes = await quotes.list_quotes(ctx.db, locked_cart.pricing, quantities)
    items = [
        CartItemInput(line.variant_id, _available(line, variant_quotes.get(line.variant_id), in_cart)) for line in lines
    ]
    return [item for item in items if item.quantity > 0]


def _available(line: CartLine, quote: Quote | None, in_cart: Mapping[UUID, int]) -> int:
    if quote is None or not quote.is_sold or quote.price is None:
        return 0
    return line.quantity if quote.most is None else min(line.quantity, quote.most - in_cart.get(line.variant_id, 0))
