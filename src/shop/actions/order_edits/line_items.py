"""The line items of a placed order with their new quantities; writes nothing."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from shop.actions.cart.orders import Checkout
from shop.actions.context import Context
from shop.base.errors import Invalid
from shop.base.ids import new_id
from shop.base.input_types import MAX_UNITS
from shop.models.cart.orders import CartLine, Order
from shop.models.cart.quotes import Quote
from shop.models.order_edits.edits import MAX_ADDITIONS, OrderEdit
from shop.queries.catalog import quotes as quote_queries
from shop.queries.catalog.prices import Pricing
from shop.rules.cart.line_items import apply_quote
from shop.rules.order_edits.edits import change_quantity

NO_ITEMS = "An order needs at least one item. Cancel the order instead."


async def load_quotes(
    ctx: Context, pricing: Pricing, lines: Sequence[CartLine], edit: OrderEdit
) -> Mapping[UUID, Quote]:
    """Returns the variants of the order and those to add, with today's prices for the customer."""
    quantities = {line.variant_id: line.quantity for line in lines} | dict(edit.additions)
    return await quote_queries.list_quotes(ctx.db, pricing, quantities)


def change_lines(checkout: Checkout, edit: OrderEdit, quotes: Mapping[UUID, Quote]) -> list[CartLine]:
    """Returns the line items after the edit. More units of a variant that the order has cost what it cost."""
    _check(checkout, edit, quotes)
    additions = dict(edit.additions)
    lines = []
    for line in checkout.lines:
        quantity = edit.quantities.get(line.id, line.quantity) + additions.pop(line.variant_id, 0)
        if quantity > MAX_UNITS:
            raise _error(f"{line.name}: must be at most {MAX_UNITS}.")
        if quantity:
            lines.append(line if quantity == line.quantity else change_quantity(line, quantity))
    lines += [_new_line(checkout.order, quotes[variant_id], count) for variant_id, count in additions.items()]
    if not lines:
        raise _error(NO_ITEMS)
    return lines


def _check(checkout: Checkout, edit: OrderEdit, quotes: Mapping[UUID, Quote]) -> None:
    line_ids = {line.id for line in checkout.lines}
    if edit.quantities.keys() - line_ids:
        raise _error("An item was removed from the order meanwhile. Open the page again.")
    if len(edit.additions) > MAX_ADDITIONS:
        raise _error(f"At most {MAX_ADDITIONS} items can be added at once.")
    own_variant_ids = {line.variant_id for line in checkout.lines}
    for variant_id in edit.additions.keys() - own_variant_ids:
        quote = quotes.get(variant_id)
        if quote is None or not quote.is_sold:
            raise _error(f"{quote.name if quote else 'An item'} is not sold.")
        if quote.price is None:
            raise _error(f"{quote.name} has no price in {checkout.order.currency}.")


def _error(sentence: str) -> Invalid:
    return Invalid({"base": [sentence]}, sentence)


def _new_line(order: Order, quote: Quote, quantity: int) -> CartLine:
    line = CartLine(
        id=new_id(),
        order_id=order.id,
        variant_id=quote.variant_id,
        quantity=quantity,
        quoted_at=order.updated_at,
        name=quote.name,
        slug=quote.slug,
        created_at=order.updated_at,
        updated_at=order.updated_at,
        currency=order.currency,
    )
    return apply_quote(line, quote, quantity, order.updated_at)
