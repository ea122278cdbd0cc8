"""Promotion conditions and benefits, as two tables of kinds. A new kind is one function and one row."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal
from uuid import UUID

import msgspec

from shop.base.money import currency_digits, wire_decimal

Exact = tuple[int, int]
"""Unrounded minor units, as numerator and denominator."""
Level = Literal["line", "shipment", "order"]
Ids = frozenset[int]
"""Ids as integers, which are the fastest to look up; every cart looks up many."""


class BasketItem(msgspec.Struct, frozen=True):
    """A cart line as promotions see it; `place` is its index in the basket's goods."""

    id: UUID
    place: int
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
    goods: Sequence[BasketItem]
    shipments: Sequence[tuple[UUID, int]] = ()
    """Shipment ids with their costs."""
    groups: Ids = frozenset()
    has_ordered: bool | None = False
    """None for a guest."""
    promotable: Sequence[BasketItem] = ()
    """The goods that may be discounted."""
    amount: int = 0
    """The total of the goods."""


def fill_basket(currency: str, goods: Sequence[BasketItem], **more: Any) -> Basket:
    promotable = [good for good in goods if good.is_promotionable]
    return Basket(currency, goods, promotable=promotable, amount=sum(good.amount for good in goods), **more)


Names = frozenset[int] | None
"""The indexes of the goods a condition applies to; None if it applies to all."""
Condition = Callable[[Mapping[str, Any], Basket], tuple[str | None, Names]]
Benefit = Callable[[Mapping[str, Any], Basket, Sequence[BasketItem], int], Iterable[tuple[int, Exact]]]


class ConditionKind(msgspec.Struct, frozen=True):
    """A kind of condition. `settings` maps each setting to its type: ids of `products`, `taxons` or `groups`, `amounts`
    by currency, a `percent`, a `count`. `holds` returns the reason for a failure, and the goods it applies to.
    """

    label: str
    settings: Mapping[str, str]
    holds: Condition


class BenefitKind(msgspec.Struct, frozen=True):
    """A kind of benefit. `gives` returns exact amounts by index of the good or shipment; 0 for the whole order."""

    label: str
    settings: Mapping[str, str]
    level: Level
    gives: Benefit
    is_share: bool = False
    """Whether it discounts a line by at most its percent."""


def _of_products(settings: Mapping[str, Any], basket: Basket) -> tuple[str | None, Names]:
    product_ids = settings["product_ids"]
    positions = frozenset([good.place for good in basket.goods if good.product in product_ids])
    return (None if positions else "the cart has none of its products"), positions


def _of_taxons(settings: Mapping[str, Any], basket: Basket) -> tuple[str | None, Names]:
    taxon_ids = settings["taxon_ids"]
    positions = frozenset([good.place for good in basket.goods if not taxon_ids.isdisjoint(good.taxons)])
    return (None if positions else "the cart has no product of its categories"), positions


def _of_groups(settings: Mapping[str, Any], basket: Basket) -> tuple[str | None, Names]:
    return (None if settings["group_ids"] & basket.groups else "it is limited to a customer group"), None


def _first_order(_settings: Mapping[str, Any], basket: Basket) -> tuple[str | None, Names]:
    if basket.has_ordered is None:
        return "it is limited to first orders; sign in to use it", None
    return ("it is limited to first orders" if basket.has_ordered else None), None


def _minimum(settings: Mapping[str, Any], basket: Basket) -> tuple[str | None, Names]:
    least = settings["amounts"].get(basket.currency)
    if least is None:
        return f"it does not apply in {basket.currency}", None
    if basket.amount >= least:
        return None, None
    return _too_little(least, basket.currency), None


def _percent_off_lines(
    settings: Mapping[str, Any], _basket: Basket, goods: Sequence[BasketItem], _left: int
) -> Iterable[tuple[int, Exact]]:
    part, whole = settings["percent"]
    return [(good.place, (good.amount * part, whole)) for good in goods]


def _amount_off_pieces(
    settings: Mapping[str, Any], basket: Basket, goods: Sequence[BasketItem], _left: int
) -> Iterable[tuple[int, Exact]]:
    off = settings["amounts"].get(basket.currency, 0)
    return [(good.place, (min(off, good.price) * good.quantity, 1)) for good in goods]


def _buy_some_get_some(
    settings: Mapping[str, Any], _basket: Basket, goods: Sequence[BasketItem], _left: int
) -> Iterable[tuple[int, Exact]]:
    """Discounts the cheapest units: `get` units for each complete group of `buy` plus `get`."""
    part, whole = settings["percent"]
    remaining = sum(good.quantity for good in goods) // (settings["buy"] + settings["get"]) * settings["get"]
    for good in sorted(goods, key=lambda good: (good.price, good.id)):
        count = min(remaining, good.quantity)
        remaining -= count
        yield good.place, (good.price * count * part, whole)


def _free_shipping(
    _settings: Mapping[str, Any], basket: Basket, _goods: Sequence[BasketItem], _left: int
) -> Iterable[tuple[int, Exact]]:
    return [(index, (cost, 1)) for index, (_, cost) in enumerate(basket.shipments)]


def _percent_off_order(
    settings: Mapping[str, Any], _basket: Basket, _goods: Sequence[BasketItem], left: int
) -> Iterable[tuple[int, Exact]]:
    part, whole = settings["percent"]
    return [(0, (left * part, whole))]


def _amount_off_order(
    settings: Mapping[str, Any], basket: Basket, _goods: Sequence[BasketItem], left: int
) -> Iterable[tuple[int, Exact]]:
    return [(0, (min(left, settings["amounts"].get(basket.currency, 0)), 1))]


CONDITIONS: Mapping[str, ConditionKind] = {
    "product": ConditionKind("Specific products", {"product_ids": "products"}, _of_products),
    "taxon": ConditionKind("Products in specific categories", {"taxon_ids": "taxons"}, _of_taxons),
    "customer_group": ConditionKind("Customers in specific groups", {"group_ids": "groups"}, _of_groups),
    "first_order": ConditionKind("First order of a customer", {}, _first_order),
    "item_total": ConditionKind("Minimum item total", {"amounts": "amounts"}, _minimum),
}
CUSTOMER_CONDITIONS = frozenset({"customer_group", "first_order"})
"""The conditions that depend on the customer's account."""
BENEFITS: Mapping[str, BenefitKind] = {
    "percent_off_items": BenefitKind(
        "Percentage off each line", {"percent": "percent"}, "line", _percent_off_lines, is_share=True
    ),
    "amount_off_items": BenefitKind("Amount off each unit", {"amounts": "amounts"}, "line", _amount_off_pieces),
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
def _too_little(least: int, currency: str) -> str:
    """Returns the reason; cached, because many carts do not reach the minimum and few show the reason."""
    return f"it requires an item total of at least {wire_decimal(least, currency_digits(currency))} {currency}"
