"""Cart line rules and warnings: a line keeps its quoted price until the shopper changes the cart.

    warning           condition
    price_changed     the current price differs from the quoted price
    no_price          there is no price in the cart's currency any more
    stock_low         less stock is available than the line's quantity
    not_sold          the variant is no longer sold

A warning does not change the cart, and no line is removed silently.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from shop.models.cart.orders import LineItem
from shop.models.cart.quotes import Quote
from shop.rules.cart.totals import Amounts, Taxable

L = TypeVar("L", bound=LineItem)
MAX_CART_AMOUNT = 10**17
"""The maximum total of a cart, in minor units; with shipping and taxes, it fits the database's integer type."""


class CartWarning(msgspec.Struct, frozen=True):
    """A warning about a line or the whole cart, for the shopper to see before buying."""

    code: str
    line_item_id: UUID | None
    sentence: str
    quoted: int | None = None
    now: int | None = None
    available: int | None = None


def warnings_of(lines: Sequence[LineItem], quotes: Mapping[UUID, Quote]) -> list[CartWarning]:
    warnings: list[CartWarning] = []
    for line in lines:
        quote = quotes.get(line.variant_id)
        # Most lines have none.
        is_current = quote is not None and quote.price is not None and quote.price == line.price
        if quote is None or not (is_current and quote.is_sold and quote.can_supply(line.quantity)):
            warnings += _warnings(line, quote)
    return warnings


def _warnings(line: LineItem, quote: Quote | None) -> list[CartWarning]:
    if quote is None or not quote.is_sold:
        return [CartWarning("not_sold", line.id, "It is no longer available.")]
    warnings = []
    if quote.price is None or line.price is None:
        warnings.append(CartWarning("no_price", line.id, "It has no price in this currency."))
    elif quote.price != line.price:
        warnings.append(
            CartWarning("price_changed", line.id, "Its price has changed.", quoted=line.price, now=quote.price)
        )
    if not quote.can_supply(line.quantity):
        warnings.append(CartWarning("stock_low", line.id, "Not enough stock available.", available=quote.most))
    return warnings


def add_reserved_stock(quotes: Mapping[UUID, Quote], held_quantities: Mapping[UUID, int]) -> dict[UUID, Quote]:
    """Adds the cart's own reserved stock to the stock on hand."""
    return {
        variant_id: msgspec.structs.replace(quote, on_hand=quote.on_hand + held_quantities.get(variant_id, 0))
        for variant_id, quote in quotes.items()
    }


def find_refusal(quote: Quote, quantity: int) -> tuple[str, str, str] | None:
    """Returns why the quantity cannot be added to a cart: code, field and message."""
    if not quote.is_sold:
        return "not_purchasable", "variant_id", "is not sold"
    if quote.price is None:
        return "no_price_in_currency", "variant_id", "has no price in the currency of the cart"
    if not quote.can_supply(quantity):
        return "out_of_stock", "quantity", f"is more than the available stock: {quote.most}"
    return None


def apply_quote(line: L, quote: Quote, quantity: int, now: Any) -> L:
    """Returns the line with the current quote applied."""
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


def without_taxes(line: L) -> L:
    """Returns the line with the amounts that it has without taxes; the same object if it has them."""
    amount, promo_total = (line.price or 0) * line.quantity, line.promo_total
    if (
        line.pre_tax_amount == amount + promo_total
        and line.adjustment_total == promo_total
        and not line.additional_tax_total
        and not line.included_tax_total
    ):
        return line
    return with_amounts(line, Amounts(line.id, amount, promo_total, promo_total, 0, 0, amount + promo_total))


def with_amounts(line: L, amounts: Amounts) -> L:
    """Returns the line with its amounts; the same object if nothing changes, as for most lines of a large cart."""
    if (
        line.pre_tax_amount == amounts.pre_tax_amount
        and line.promo_total == amounts.promo_total
        and line.adjustment_total == amounts.adjustment_total
        and line.additional_tax_total == amounts.additional_tax_total
        and line.included_tax_total == amounts.included_tax_total
    ):
        return line
    return msgspec.structs.replace(
        line,
        promo_total=amounts.promo_total,
        adjustment_total=amounts.adjustment_total,
        additional_tax_total=amounts.additional_tax_total,
        included_tax_total=amounts.included_tax_total,
        pre_tax_amount=amounts.pre_tax_amount,
    )
