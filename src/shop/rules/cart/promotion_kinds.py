"""What must hold for a promotion, and what it gives: two tables of kinds. A new kind is one function and one row."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal
from uuid import UUID

import msgspec

from shop.base.money import currency_digits, wire_decimal

Exact = tuple[int, int]
"""Minor units before they are rounded, as numerator and denominator."""
Level = Literal["line", "shipment", "order"]
Ids = frozenset[int]
"""Ids as whole numbers: every cart looks many up, and these are looked up fastest."""


class Good(msgspec.Struct, frozen=True):
    """A line of a cart, as promotions look at it; its `place` is among the goods of the basket."""

    id: UUID
    place: int
    product: int | None
    taxons: Ids
    """Those it stands in, and those above them."""
    price: int
    quantity: int
    amount: int
    is_promotionable: bool = True


class Basket(msgspec.Struct, frozen=True):
    """A cart and whose it is, as promotions look at them."""

    currency: str
    goods: Sequence[Good]
    shipments: Sequence[tuple[UUID, int]] = ()
    """What each costs to send."""
    groups: Ids = frozenset()
    has_ordered: bool | None = False
    """None of a guest."""
    promotable: Sequence[Good] = ()
    """Of the goods those from which something may be taken off."""
    amount: int = 0
    """What the goods cost."""


def fill_basket(currency: str, goods: Sequence[Good], **more: Any) -> Basket:
    promotable = [good for good in goods if good.is_promotionable]
    return Basket(currency, goods, promotable=promotable, amount=sum(good.amount for good in goods), **more)


Names = frozenset[int] | None
"""The places of the goods that a condition is about; none where it is about all of them."""
Condition = Callable[[Mapping[str, Any], Basket], tuple[str | None, Names]]
Benefit = Callable[[Mapping[str, Any], Basket, Sequence[Good], int], Iterable[tuple[int, Exact]]]


class ConditionKind(msgspec.Struct, frozen=True):
    """`settings` says what must be settled, and as what: ids of `products`, `taxons` or `groups`, `amounts` by their
    currency, a `percent`, a `count`. `holds` says why it does not, and which goods it is about.
    """

    label: str
    settings: Mapping[str, str]
    holds: Condition


class BenefitKind(msgspec.Struct, frozen=True):
    """`gives` has exact amounts by the places of the goods or shipments they are taken off; of the whole at place 0."""

    label: str
    settings: Mapping[str, str]
    level: Level
    gives: Benefit
    is_share: bool = False
    """It takes at most its percent off a line."""


def _of_products(settings: Mapping[str, Any], basket: Basket) -> tuple[str | None, Names]:
    wanted = settings["product_ids"]
    found = frozenset([good.place for good in basket.goods if good.product in wanted])
    return (None if found else "none of its products is in the cart"), found


def _of_taxons(settings: Mapping[str, Any], basket: Basket) -> tuple[str | None, Names]:
    wanted = settings["taxon_ids"]
    found = frozenset([good.place for good in basket.goods if not wanted.isdisjoint(good.taxons)])
    return (None if found else "nothing of its categories is in the cart"), found


def _of_groups(settings: Mapping[str, Any], basket: Basket) -> tuple[str | None, Names]:
    return (None if settings["group_ids"] & basket.groups else "it is for a group of customers"), None


def _first_order(_settings: Mapping[str, Any], basket: Basket) -> tuple[str | None, Names]:
    if basket.has_ordered is None:
        return "it is for a first order; sign in to use it", None
    return ("it is for a first order" if basket.has_ordered else None), None


def _minimum(settings: Mapping[str, Any], basket: Basket) -> tuple[str | None, Names]:
    least = settings["amounts"].get(basket.currency)
    if least is None:
        return f"it does not count in {basket.currency}", None
    if basket.amount >= least:
        return None, None
    return _too_little(least, basket.currency), None


def _percent_off_lines(
    settings: Mapping[str, Any], _basket: Basket, goods: Sequence[Good], _left: int
) -> Iterable[tuple[int, Exact]]:
    part, whole = settings["percent"]
    return [(good.place, (good.amount * part, whole)) for good in goods]


def _amount_off_pieces(
    settings: Mapping[str, Any], basket: Basket, goods: Sequence[Good], _left: int
) -> Iterable[tuple[int, Exact]]:
    off = settings["amounts"].get(basket.currency, 0)
    return [(good.place, (min(off, good.price) * good.quantity, 1)) for good in goods]


def _buy_some_get_some(
    settings: Mapping[str, Any], _basket: Basket, goods: Sequence[Good], _left: int
) -> Iterable[tuple[int, Exact]]:
    """Of as many groups as there are whole ones, the cheapest pieces."""
    part, whole = settings["percent"]
    given = sum(good.quantity for good in goods) // (settings["buy"] + settings["get"]) * settings["get"]
    for good in sorted(goods, key=lambda good: (good.price, good.id)):
        pieces = min(given, good.quantity)
        given -= pieces
        yield good.place, (good.price * pieces * part, whole)


def _free_shipping(
    _settings: Mapping[str, Any], basket: Basket, _goods: Sequence[Good], _left: int
) -> Iterable[tuple[int, Exact]]:
    return [(place, (cost, 1)) for place, (_, cost) in enumerate(basket.shipments)]


def _percent_off_order(
    settings: Mapping[str, Any], _basket: Basket, _goods: Sequence[Good], left: int
) -> Iterable[tuple[int, Exact]]:
    part, whole = settings["percent"]
    return [(0, (left * part, whole))]


def _amount_off_order(
    settings: Mapping[str, Any], basket: Basket, _goods: Sequence[Good], left: int
) -> Iterable[tuple[int, Exact]]:
    return [(0, (min(left, settings["amounts"].get(basket.currency, 0)), 1))]


CONDITIONS: Mapping[str, ConditionKind] = {
    "product": ConditionKind("Certain products", {"product_ids": "products"}, _of_products),
    "taxon": ConditionKind("Products of certain categories", {"taxon_ids": "taxons"}, _of_taxons),
    "customer_group": ConditionKind("Customers of certain groups", {"group_ids": "groups"}, _of_groups),
    "first_order": ConditionKind("A customer's first order", {}, _first_order),
    "item_total": ConditionKind("Goods for at least", {"amounts": "amounts"}, _minimum),
}
CUSTOMER_CONDITIONS = frozenset({"customer_group", "first_order"})
"""The conditions that depend on the customer's account."""
BENEFITS: Mapping[str, BenefitKind] = {
    "percent_off_items": BenefitKind(
        "Percent off each line", {"percent": "percent"}, "line", _percent_off_lines, is_share=True
    ),
    "amount_off_items": BenefitKind("An amount off each piece", {"amounts": "amounts"}, "line", _amount_off_pieces),
    "buy_some_get_some": BenefitKind(
        "Buy some, get some",
        {"buy": "count", "get": "count", "percent": "percent"},
        "line",
        _buy_some_get_some,
        is_share=True,
    ),
    "free_shipping": BenefitKind("Free shipping", {}, "shipment", _free_shipping),
    "percent_off_order": BenefitKind("Percent off the whole", {"percent": "percent"}, "order", _percent_off_order),
    "amount_off_order": BenefitKind("An amount off the whole", {"amounts": "amounts"}, "order", _amount_off_order),
}


@lru_cache(maxsize=1024)
def _too_little(least: int, currency: str) -> str:
    """Kept, for most that are tried are not reached, and few carts are told why."""
    return f"it needs goods for at least {wire_decimal(least, currency_digits(currency))} {currency}"
