"""Describes what changed between the quote and the payment, for the shopper to accept."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from shop.base.money import currency_digits
from shop.models.cart.orders import CartLine, Order

Money = Callable[[int], str]


def describe_differences(
    order: Order, lines: Sequence[CartLine], differences: Sequence[Mapping[str, object]], money: Money
) -> list[str]:
    """Returns one sentence for each difference; the new total is shown separately."""
    names = {str(line.id): line.name for line in lines}
    sentences = []
    for difference in differences:
        write = _SENTENCES.get(str(difference["code"]))
        if write is None:
            continue
        name = str(difference.get("name") or names.get(str(difference.get("line_item_id")), "An item"))
        amounts = [_text(order, difference[key], money) for key in ("was", "now")]
        sentences.append(write(name, *amounts))
    return sentences


def find_new_total(order: Order, differences: Sequence[Mapping[str, object]]) -> int:
    """Returns the total after the changes, in minor units."""
    totals = [each["now"] for each in differences if each["code"] == "total_changed"]
    return _minor(order, totals[-1]) if totals else order.total


def _text(order: Order, value: object, money: Money) -> str:
    """Amounts are decimals as text; quantities are whole numbers."""
    return str(value) if isinstance(value, int) else money(abs(_minor(order, value)))


def _minor(order: Order, value: object) -> int:
    return int(Decimal(str(value)).scaleb(currency_digits(order.currency)))


_SENTENCES: Mapping[str, Callable[[str, str, str], str]] = {
    "price_changed": lambda name, was, now: f"{name} now costs {now}. Before, it cost {was}.",
    "stock_lost": lambda name, was, now: f"{name}: only {now} of {was} are left, so the quantity is now {now}.",
    "product_gone": lambda name, _was, _now: f"{name} is no longer available and is removed.",
    "promotion_lost": lambda name, was, now: f"The discount “{name}” is now {now}. Before, it was {was}.",
    "store_credit_changed": lambda _name, was, now: f"Your store credit covers {now}. Before, it covered {was}.",
}
