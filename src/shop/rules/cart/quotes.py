"""What is different from what was quoted, when somebody is about to buy; and what they would then get.

    gone            the line is taken out
    fewer           as many as can be had
    another price   at that price

Nothing of it is done without consent.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from shop.models.cart.orders import CartLine
from shop.models.cart.quotes import Quote
from shop.rules.cart.line_items import quoted


class Difference(msgspec.Struct, frozen=True):
    """One line that is not what it was; amounts are minor units."""

    code: str
    line_item_id: UUID
    name: str
    was: int
    now: int
    is_amount: bool = False


def differences(lines: Sequence[CartLine], known: Mapping[UUID, Quote]) -> list[Difference]:
    return [found for line in lines for found in _differences(line, known.get(line.variant_id))]


def _differences(line: CartLine, quote: Quote | None) -> list[Difference]:
    if quote is None or not quote.is_sold or quote.price is None:
        return [Difference("product_gone", line.id, line.name, line.quantity, 0)]
    found = []
    if quote.price != line.price:
        found.append(Difference("price_changed", line.id, line.name, line.price or 0, quote.price, is_amount=True))
    if not quote.can_supply(line.quantity):
        found.append(Difference("stock_lost", line.id, line.name, line.quantity, quote.most or 0))
    return found


def unavailable(lines: Sequence[CartLine], known: Mapping[UUID, Quote]) -> list[CartLine]:
    """Those of which nothing can be had."""
    return [line for line in lines if not _can_be_had(known.get(line.variant_id))]


def _can_be_had(quote: Quote | None) -> bool:
    return quote is not None and quote.is_sold and quote.price is not None and quote.most != 0


def agreed(lines: Sequence[CartLine], known: Mapping[UUID, Quote], now: Any) -> list[CartLine]:
    """The lines as they can be had."""
    found = []
    for line in lines:
        quote = known.get(line.variant_id)
        if quote is None or not _can_be_had(quote):
            continue
        quantity = line.quantity if quote.most is None else min(line.quantity, quote.most)
        is_same = quantity == line.quantity and quote.price == line.price
        found.append(line if is_same else quoted(line, quote, quantity, now))
    return found
