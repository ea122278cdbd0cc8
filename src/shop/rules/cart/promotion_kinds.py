"""Promotion conditions and benefits, as two tables of kinds. A new kind is one function and one row."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal
from uuid import UUID

import msgspec

from shop.rules.form_values import amount_text

Exact = tuple[int, int]
"""Unrounded minor units, as numerator and denominator."""
Level = Literal["line", "shipment", "order"]
Ids = frozenset[int]
"""Ids as integers, which are the fastest to look up; every cart looks up many."""


class BasketItem(msgspec.Struct, frozen=True):
    """A cart line as promotions see it; `position` is its index in the basket's items."""

    id: UUID
    position: int
    product: int | None
    taxons: Ids
    """Its taxons and their ancestors."""
    price: int
    quantity: int
    amount: int
    is_promotionable: bool = True


class Basket(msgspec.Struct, frozen=True):
    """A cart and its customer, as promotions see them."""

    currency: str
    items: Sequence[BasketItem]
    shipments: Sequence[tuple[UUID, int]] = ()
    """Shipment ids with their costs."""
    groups: Ids = frozenset()
    has_ordered: bool | None = False
    """None for a guest."""
    promotable: Sequence[BasketItem] = ()
    """The items that may be discounted."""
    amount: int = 0
    """The total of the items."""


def fill_basket(currency: str, items: Sequence[BasketItem], **more: Any) -> Basket:
    promotable = [item for item in items if item.is_promotionable]
    return Basket(currency, items, promotable=promotable, amount=sum(item.amount for item in items), **more)


ItemPositions = frozenset[int] | None
"""The positions of the items that a condition applies to; None if it applies to all."""
Condition = Callable[[Mapping[str, Any], Basket], tuple[str | None, ItemPositions]]
Benefit = Callable[[Mapping[str, Any], Basket, Sequence[BasketItem], int], Iterable[tuple[int, Exact]]]


class ConditionKind(msgspec.Struct, frozen=True):
    """A kind of condition. `settings` maps each setting to its type: ids of `products`, `taxons` or `groups`, `amounts`
    by currency, a `percent`, a `count`. `check` returns the reason for a failure, and the items that it applies to.
    """

    label: str
    settings: Mapping[str, str]
    check: Condition


class BenefitKind(msgspec.Struct, frozen=True):
    """A kind of benefit. `calculate` returns exact amounts by index of the item or shipment; 0 for the whole order."""

    label: str
    settings: Mapping[str, str]
    level: Level
    calculate: Benefit
    is_share: bool = False
    """Whether it discounts a line by at most its percent."""


def _has_product(settings: Mapping[str, Any], basket: Basket) -> tuple[str | None, ItemPositions]:
    product_ids = settings["product_ids"]
    positions = frozenset([item.position for item in basket.items if item.product in product_ids])
    return (None if positions else "the cart has none of its products"), positions


def _has_taxon(settings: Mapping[str, Any], basket: Basket) -> tuple[str | None, ItemPositions]:
    taxon_ids = settings["taxon_ids"]
    positions = frozenset([item.position for item in basket.items if not taxon_ids.isdisjoint(item.taxons)])
    return (None if positions else "the cart has no product of its categories"), positions


def _is_in_group(settings: Mapping[str, Any], basket: Basket) -> tuple[str | None, ItemPositions]:
    return (None if settings["group_ids"] & basket.groups else "it is limited to a customer group"), None


def _is_first_order(_settings: Mapping[str, Any], basket: Basket) -> tuple[str | None, ItemPositions]:
    if basket.has_ordered is None:
        return "it is limited to first orders; sign in to use it", None
    return ("it is limited to first orders" if basket.has_ordered else None), None


def _reaches_minimum(settings: Mapping[str, Any], basket: Basket) -> tuple[str | None, ItemPositions]:
    minimum = settings["amounts"].get(basket.currency)
    if minimum is None:
        return f"it does not apply in {basket.currency}", None
    if basket.amount >= minimum:
        return None, None
    return _below_minimum_reason(minimum, basket.currency), None


def _percent_off_lines(
    settings: Mapping[str, Any], _basket: Basket, items: Sequence[BasketItem], _remaining: int
) -> Iterable[tuple[int, Exact]]:
    part, whole = settings["percent"]
    return [(item.position, (item.amount * part, whole)) for item in items]


def _amount_off_units(
    settings: Mapping[str, Any], basket: Basket, items: Sequence[BasketItem], _remaining: int
) -> Iterable[tuple[int, Exact]]:
    amount_off = settings["amounts"].get(basket.currency, 0)
    return [(item.position, (min(amount_off, item.price) * item.quantity, 1)) for item in items]


def _buy_some_get_some(
    settings: Mapping[str, Any], _basket: Basket, items: Sequence[BasketItem], _remaining: int
) -> Iterable[tuple[int, Exact]]:
    """Discounts the cheapest units: `get` units for each complete group of `buy` plus `get`."""
    part, whole = settings["percent"]
    remaining = sum(item.quantity for item in items) // (settings["buy"] + settings["get"]) * settings["get"]
    for item in sorted(items, key=lambda item: (item.price, item.id)):
        count = min(remaining, item.quantity)
        remaining -= count
        yield item.position, (item.price * count * part, whole)


def _free_shipping(
    _settings: Mapping[str, Any], basket: Basket, _items: Sequence[BasketItem], _remaining: int
) -> Iterable[tuple[int, Exact]]:
    return [(index, (cost, 1)) for index, (_, cost) in enumerate(basket.shipments)]


def _percent_off_order(
    settings: Mapping[str, Any], _basket: Basket, _items: Sequence[BasketItem], remaining: int
) -> Iterable[tuple[int, Exact]]:
    part, whole = settings["percent"]
    return [(0, (remaining * part, whole))]


def _amount_off_order(
    settings: Mapping[str, Any], basket: Basket, _items: Sequence[BasketItem], remaining: int
) -> Iterable[tuple[int, Exact]]:
    return [(0, (min(remaining, settings["amounts"].get(basket.currency, 0)), 1))]


CONDITIONS: dict[str, ConditionKind] = {
    "product": ConditionKind("Specific products", {"product_ids": "products"}, _has_product),
    "taxon": ConditionKind("Products in specific categories", {"taxon_ids": "taxons"}, _has_taxon),
    "customer_group": ConditionKind("Customers in specific groups", {"group_ids": "groups"}, _is_in_group),
    "first_order": ConditionKind("First order of a customer", {}, _is_first_order),
    "item_total": ConditionKind("Minimum item total", {"amounts": "amounts"}, _reaches_minimum),
}
CUSTOMER_CONDITIONS = frozenset({"customer_group", "first_order"})
"""The conditions that depend on the customer's account."""
BENEFITS: dict[str, BenefitKind] = {
    "percent_off_items": BenefitKind(
        "Percentage off each line", {"percent": "percent"}, "line", _percent_off_lines, is_share=True
    ),
    "amount_off_items": BenefitKind("Amount off each unit", {"amounts": "amounts"}, "line", _amount_off_units),
    "buy_some_get_some": BenefitKind(
        "Buy X, get Y",
        {"buy": "count", "get": "count", "percent": "percent"},
        "line",
        _buy_some_get_some,
        is_share=True,
    ),
    "free_shipping": BenefitKind("Free shipping", {}, "shipment", _free_shipping),
    "percent_off_order": BenefitKind("Percentage off the order", {"percent": "percent"}, "order", _percent_off_order),
    "amount_off_order": BenefitKind("Amount off the order", {"amounts": "amounts"}, "order", _amount_off_order),
}


@lru_cache(maxsize=1024)
def _below_minimum_reason(minimum: int, currency: str) -> str:
    """Returns the reason; cached, because many carts do not reach the minimum and few show the reason."""
    return f"it requires an item total of at least {amount_text(minimum, currency)} {currency}"
