"""Differences between a cart's quoted lines and current quotes at completion, and the lines that result.

    unavailable     the line is removed
    short stock     the quantity is reduced to the available stock
    price changed   the current price applies

No change is made without the customer's consent.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from shop.models.cart.orders import CartLine
from shop.models.cart.quotes import Quote
from shop.rules.cart.line_items import apply_quote


class Difference(msgspec.Struct, frozen=True):
    """A change to one line; amounts are minor units."""

    code: str
    line_item_id: UUID
    name: str
    was: int
    now: int
    is_amount: bool = False


def find_differences(lines: Sequence[CartLine], quotes: Mapping[UUID, Quote]) -> list[Difference]:
    return [difference for line in lines for difference in _differences(line, quotes.get(line.variant_id))]


def _differences(line: CartLine, quote: Quote | None) -> list[Difference]:
    if quote is None or not quote.is_sold or quote.price is None:
        return [Difference("product_gone", line.id, line.name, line.quantity, 0)]
    line_differences = []
    if quote.price != line.price:
        line_differences.append(
            Difference("price_changed", line.id, line.name, line.price or 0, quote.price, is_amount=True)
        )
    if not quote.can_supply(line.quantity):
        line_differences.append(Difference("stock_lost", line.id, line.name, line.quantity, quote.most or 0))
    return line_differences


def find_unavailable_lines(lines: Sequence[CartLine], quotes: Mapping[UUID, Quote]) -> list[CartLine]:
    """Returns the lines that are not available at all."""
    return [line for line in lines if not _is_available(quotes.get(line.variant_id))]


def _is_available(quote: Quote | None) -> bool:
    return quote is not None and quote.is_sold and quote.price is not None and quote.most != 0


def requote_available_lines(lines: Sequence[CartLine], quotes: Mapping[UUID, Quote], now: Any) -> list[CartLine]:
    """Returns the available lines with current prices and quantities."""
    purchasable = []
    for line in lines:
        quote = quotes.get(line.variant_id)
        if quote is None or not _is_available(quote):
            continue
        quantity = line.quantity if quote.most is None else min(line.quantity, quote.most)
        is_same = quantity == line.quantity and quote.price == line.price
        purchasable.append(line if is_same else apply_quote(line, quote, quantity, now))
    return purchasable
