"""What stands in a cart, and what must be said of it: a line keeps the price that was quoted until the shopper acts.

    warning           when
    price_changed     the shop asks another price now than was quoted
    no_price          it has no price in the cart's currency any more
    stock_low         fewer can be had than are wanted
    not_sold          it is not sold any more

A warning changes nothing by itself, and no line is dropped in silence.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from shop.models.cart.orders import LineItem
from shop.models.cart.quotes import Quote
from shop.rules.cart.totals import Amounts, Taxable

L = TypeVar("L", bound=LineItem)
MOST_LINES = 500
MOST_PIECES = 1_000_000
MOST_AMOUNT = 10**17
"""Of a whole cart, in minor units: with shipping and taxes on top it still fits into the database's numbers."""
NOT_POSITIVE = f"must be a whole number from 1 to {MOST_PIECES}"


class Wish(msgspec.Struct, frozen=True):
    """So many of a variant."""

    variant_id: UUID
    quantity: int = 1
    public_metadata: dict[str, Any] | None = None
    private_metadata: dict[str, Any] | None = None


def read_pieces(value: Any) -> int | None:
    """How many are wanted: a whole number, or the text of one; none is no such number."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        value = int(value)
    return value if type(value) is int and 0 < value <= MOST_PIECES else None


class CartWarning(msgspec.Struct, frozen=True):
    """What a shopper should know of a line, or of the whole cart, before they buy."""

    code: str
    line_item_id: UUID | None
    sentence: str
    quoted: int | None = None
    now: int | None = None
    available: int | None = None


def warnings_of(lines: Sequence[LineItem], quotes: Mapping[UUID, Quote]) -> list[CartWarning]:
    return [found for line in lines for found in _warnings(line, quotes.get(line.variant_id))]


def _warnings(line: LineItem, quote: Quote | None) -> list[CartWarning]:
    if quote is None or not quote.is_sold:
        return [CartWarning("not_sold", line.id, "It is not sold any more.")]
    found = []
    if quote.price is None or line.price is None:
        found.append(CartWarning("no_price", line.id, "It has no price in this currency."))
    elif quote.price != line.price:
        found.append(
            CartWarning("price_changed", line.id, "It costs another price now.", quoted=line.price, now=quote.price)
        )
    if not quote.can_supply(line.quantity):
        found.append(CartWarning("stock_low", line.id, "Fewer can be had than are wanted.", available=quote.most))
    return found


def with_held(quotes: Mapping[UUID, Quote], held: Mapping[UUID, int]) -> dict[UUID, Quote]:
    """What lies aside for a cart can be had by it."""
    return {
        variant_id: msgspec.structs.replace(quote, on_hand=quote.on_hand + held.get(variant_id, 0))
        for variant_id, quote in quotes.items()
    }


def refusal(quote: Quote, quantity: int) -> tuple[str, str, str] | None:
    """Why so many of it cannot be put into a cart: code, field and what is wrong with that."""
    if not quote.is_sold:
        return "not_purchasable", "variant_id", "is not sold"
    if quote.price is None:
        return "no_price_in_currency", "variant_id", "has no price in the currency of the cart"
    if not quote.can_supply(quantity):
        return "out_of_stock", "quantity", f"is more than can be had: {quote.most}"
    return None


def quoted(line: L, quote: Quote, quantity: int, now: Any) -> L:
    """The line as the shop offers it now."""
    return msgspec.structs.replace(
        line,
        quantity=quantity,
        price=quote.price,
        compare_at_price=quote.compare_at_price,
        price_list_id=quote.price_list_id,
        quoted_at=now,
        name=quote.name,
        sku=quote.sku,
        slug=quote.slug,
        options_text=quote.options_text,
        tax_category_id=quote.tax_category_id,
    )


def taxable(line: LineItem) -> Taxable:
    return Taxable(line.id, line.name, line.price or 0, line.quantity, line.promo_total, line.tax_category_id)


def with_amounts(line: L, amounts: Amounts) -> L:
    return msgspec.structs.replace(
        line,
        promo_total=amounts.promo_total,
        adjustment_total=amounts.adjustment_total,
        additional_tax_total=amounts.additional_tax_total,
        included_tax_total=amounts.included_tax_total,
        pre_tax_amount=amounts.pre_tax_amount,
    )
