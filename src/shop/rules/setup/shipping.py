"""Packs orders into shipments and calculates shipping rates.

packing   One stock location that has all items, if there is one; else location by location, the default first, each
          with the items that it has. The first location that allows backorders covers the rest. A package holds one
          shipping category, and either stock on hand or backordered items.
rates     The methods that reach the address, accept the category and have an amount in the currency, cheapest first;
          the cheapest is selected until the customer selects another.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from urllib.parse import quote, urlsplit
from uuid import UUID

import msgspec

from shop.base.texts import is_line


class PackingLine(msgspec.Struct, frozen=True):
    """A line item to pack."""

    line_item_id: UUID
    variant_id: UUID
    quantity: int
    shipping_category_id: UUID
    weight: Decimal = Decimal(0)
    is_tracked: bool = True


class LocationStock(msgspec.Struct, frozen=True):
    """The stock of a variant at a stock location."""

    stock_item_id: UUID
    stock_location_id: UUID
    variant_id: UUID
    on_hand: int
    backorderable: bool


class PackageItem(msgspec.Struct, frozen=True):
    """A quantity of a line item in a package."""

    line_item_id: UUID
    variant_id: UUID
    quantity: int
    is_backordered: bool
    weight: Decimal
    stock_item_id: UUID | None
    """None for variants without stock tracking."""


class Package(msgspec.Struct, frozen=True):
    """Items from one stock location, of one shipping category; either on hand or backordered."""

    stock_location_id: UUID
    shipping_category_id: UUID
    is_backordered: bool
    items: Sequence[PackageItem]

    @property
    def weight(self) -> Decimal:
        return sum((item.weight * item.quantity for item in self.items), Decimal(0))

    @property
    def count(self) -> int:
        return sum(item.quantity for item in self.items)


class StockShortage(msgspec.Struct, frozen=True):
    """A quantity that no stock location can supply."""

    line_item_id: UUID
    variant_id: UUID
    missing: int


def pack(
    lines: Sequence[PackingLine], stock_levels: Sequence[LocationStock], locations: Sequence[UUID]
) -> tuple[list[Package], list[StockShortage]]:
    """Returns packages and shortages; `locations` are the active stock locations in order of preference."""
    for location in locations:
        if _has_all(lines, [stock for stock in stock_levels if stock.stock_location_id == location]):
            # One package is better than two, regardless of its location.
            return _pack(lines, stock_levels, [location])
    return _pack(lines, stock_levels, locations)


def _has_all(lines: Sequence[PackingLine], stock_levels: Sequence[LocationStock]) -> bool:
    on_hand = {stock.variant_id: stock.on_hand for stock in stock_levels}
    return all(not line.is_tracked or on_hand.get(line.variant_id, 0) >= line.quantity for line in lines)


def _pack(
    lines: Sequence[PackingLine], stock_levels: Sequence[LocationStock], locations: Sequence[UUID]
) -> tuple[list[Package], list[StockShortage]]:
    stock_by_key = {(stock.stock_location_id, stock.variant_id): stock for stock in stock_levels}
    packages: dict[tuple[UUID, UUID, bool], list[PackageItem]] = {}
    shortages = []

    def put(location: UUID, line: PackingLine, quantity: int, *, is_backordered: bool) -> None:
        stock = stock_by_key.get((location, line.variant_id))
        item_id = stock.stock_item_id if stock else None
        item = PackageItem(line.line_item_id, line.variant_id, quantity, is_backordered, line.weight, item_id)
        packages.setdefault((location, line.shipping_category_id, is_backordered), []).append(item)

    for line in lines:
        if not line.is_tracked:
            if locations:
                put(locations[0], line, line.quantity, is_backordered=False)
            else:
                shortages.append(StockShortage(line.line_item_id, line.variant_id, line.quantity))
            continue
        left = line.quantity
        stocks = [
            (location, stock_by_key[location, line.variant_id])
            for location in locations
            if (location, line.variant_id) in stock_by_key
        ]
        for location, stock in stocks:
            count = min(left, max(stock.on_hand, 0))
            if count:
                put(location, line, count, is_backordered=False)
                left -= count
        if left:
            backorder_location = next((location for location, stock in stocks if stock.backorderable), None)
            if backorder_location is None:
                shortages.append(StockShortage(line.line_item_id, line.variant_id, left))
            else:
                put(backorder_location, line, left, is_backordered=True)
    return [Package(*key, items) for key, items in packages.items()], shortages


class ShippingOption(msgspec.Struct, frozen=True):
    """A shipping method that reaches the address, with its amounts in the order's currency."""

    id: UUID
    name: str
    calculator: str
    tax_category_id: UUID | None
    category_ids: frozenset[UUID]
    amounts: Sequence[tuple[Decimal, int]]
    """Pairs of minimum weight and amount, lightest first."""


class Offer(msgspec.Struct, frozen=True):
    """The cost of a shipping method for a package."""

    shipping_method_id: UUID
    name: str
    cost: int
    tax_category_id: UUID | None


def list_offers(package: Package, methods: Iterable[ShippingOption]) -> list[Offer]:
    """Returns the offers for a package, cheapest first, then by name."""
    results = [
        Offer(method.id, method.name, cost, method.tax_category_id)
        for method in methods
        if package.shipping_category_id in method.category_ids
        # The calculator of an extension that was removed offers nothing.
        and (calculate := CALCULATORS.get(method.calculator)) is not None
        and (cost := calculate(package, method.amounts)) is not None
    ]
    return sorted(results, key=lambda offer: (offer.cost, offer.name, offer.shipping_method_id))


def _flat(_package: Package, amounts: Sequence[tuple[Decimal, int]]) -> int | None:
    return amounts[0][1] if amounts else None


def _per_item(package: Package, amounts: Sequence[tuple[Decimal, int]]) -> int | None:
    return amounts[0][1] * package.count if amounts else None


def _by_weight(package: Package, amounts: Sequence[tuple[Decimal, int]]) -> int | None:
    """Returns the amount of the heaviest step reached; None for a package below the first step."""
    return next((amount for weight, amount in reversed(amounts) if weight <= package.weight), None)


Calculator = Callable[[Package, Sequence[tuple[Decimal, int]]], int | None]
CALCULATORS: dict[str, Calculator] = {"flat": _flat, "per_item": _per_item, "by_weight": _by_weight}


def tracking_address(template: str | None, tracking: str | None) -> str | None:
    """Returns the tracking URL of a package; https only, because older rows may contain any text."""
    if not template or not tracking or not is_tracking_url(template):
        return None
    return template.replace(":tracking", quote(tracking, safe=""))


def is_tracking_url(url: str) -> bool:
    """Returns whether this is a safe link for customers: an https URL with a host, on one line."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme == "https" and bool(parts.hostname) and is_line(url) and " " not in url


def choose_offer(candidates: Sequence[Offer], before: Mapping[UUID, int] | Sequence[UUID] = ()) -> Offer | None:
    """Returns the previously selected offer if still available, else the cheapest."""
    return next(
        (offer for offer in candidates if offer.shipping_method_id in before), candidates[0] if candidates else None
    )
