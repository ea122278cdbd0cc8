"""How what was bought is packed, and what it costs to send.

packing   one place that has everything, if there is one; else place after place, the default one first, each giving
          what it has; what no place has is promised by the first that may. A parcel holds one shipping category,
          and what is there apart from what is not there yet.
rates     of the methods that reach the address and take the category, each with an amount in the currency;
          the cheapest first, and chosen until the shopper chooses
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from urllib.parse import quote, urlsplit
from uuid import UUID

import msgspec

from shop.base.texts import is_line


class Wanted(msgspec.Struct, frozen=True):
    """Pieces of a line to be packed."""

    line_item_id: UUID
    variant_id: UUID
    quantity: int
    shipping_category_id: UUID
    weight: Decimal = Decimal(0)
    is_tracked: bool = True


class Shelf(msgspec.Struct, frozen=True):
    """What a place has of a variant. Places come in the order in which they are asked."""

    stock_item_id: UUID
    stock_location_id: UUID
    variant_id: UUID
    on_hand: int
    backorderable: bool


class Packed(msgspec.Struct, frozen=True):
    """Pieces of a line in a parcel."""

    line_item_id: UUID
    variant_id: UUID
    quantity: int
    is_backordered: bool
    weight: Decimal
    stock_item_id: UUID | None
    """None for what is not counted."""


class Parcel(msgspec.Struct, frozen=True):
    """From one place, of one category; either there or promised."""

    stock_location_id: UUID
    shipping_category_id: UUID
    is_backordered: bool
    items: Sequence[Packed]

    @property
    def weight(self) -> Decimal:
        return sum((item.weight * item.quantity for item in self.items), Decimal(0))

    @property
    def count(self) -> int:
        return sum(item.quantity for item in self.items)


class Lacking(msgspec.Struct, frozen=True):
    """What no place can give."""

    line_item_id: UUID
    variant_id: UUID
    missing: int


def pack(
    wanted: Sequence[Wanted], shelves: Sequence[Shelf], places: Sequence[UUID]
) -> tuple[list[Parcel], list[Lacking]]:
    """`places` are those from which is sold, in the order in which they are asked."""
    for place in places:
        if _has_all(wanted, [shelf for shelf in shelves if shelf.stock_location_id == place]):
            # One parcel is better than two, wherever it comes from.
            return _pack(wanted, shelves, [place])
    return _pack(wanted, shelves, places)


def _has_all(wanted: Sequence[Wanted], shelves: Sequence[Shelf]) -> bool:
    on_hand = {shelf.variant_id: shelf.on_hand for shelf in shelves}
    return all(not line.is_tracked or on_hand.get(line.variant_id, 0) >= line.quantity for line in wanted)


def _pack(
    wanted: Sequence[Wanted], shelves: Sequence[Shelf], places: Sequence[UUID]
) -> tuple[list[Parcel], list[Lacking]]:
    known = {(shelf.stock_location_id, shelf.variant_id): shelf for shelf in shelves}
    parcels: dict[tuple[UUID, UUID, bool], list[Packed]] = {}
    lacking = []

    def put(place: UUID, line: Wanted, quantity: int, *, is_backordered: bool) -> None:
        shelf = known.get((place, line.variant_id))
        item_id = shelf.stock_item_id if shelf else None
        packed = Packed(line.line_item_id, line.variant_id, quantity, is_backordered, line.weight, item_id)
        parcels.setdefault((place, line.shipping_category_id, is_backordered), []).append(packed)

    for line in wanted:
        if not line.is_tracked:
            if places:
                put(places[0], line, line.quantity, is_backordered=False)
            else:
                lacking.append(Lacking(line.line_item_id, line.variant_id, line.quantity))
            continue
        left = line.quantity
        theirs = [(place, known[place, line.variant_id]) for place in places if (place, line.variant_id) in known]
        for place, shelf in theirs:
            taken = min(left, max(shelf.on_hand, 0))
            if taken:
                put(place, line, taken, is_backordered=False)
                left -= taken
        if left:
            promising = next((place for place, shelf in theirs if shelf.backorderable), None)
            if promising is None:
                lacking.append(Lacking(line.line_item_id, line.variant_id, left))
            else:
                put(promising, line, left, is_backordered=True)
    return [Parcel(*found, items) for found, items in parcels.items()], lacking


class Method(msgspec.Struct, frozen=True):
    """A way to send that reaches the address, with what it costs in the order's currency."""

    id: UUID
    name: str
    calculator: str
    tax_category_id: UUID | None
    category_ids: frozenset[UUID]
    amounts: Sequence[tuple[Decimal, int]]
    """From which weight on, how much; the lightest first."""


class Offer(msgspec.Struct, frozen=True):
    """What a method costs for a parcel."""

    shipping_method_id: UUID
    name: str
    cost: int
    tax_category_id: UUID | None


def offers(parcel: Parcel, methods: Iterable[Method]) -> list[Offer]:
    """The cheapest first; of equal ones by name."""
    found = [
        Offer(method.id, method.name, cost, method.tax_category_id)
        for method in methods
        if parcel.shipping_category_id in method.category_ids
        and (cost := _CALCULATORS[method.calculator](parcel, method.amounts)) is not None
    ]
    return sorted(found, key=lambda offer: (offer.cost, offer.name, offer.shipping_method_id))


def _flat(_parcel: Parcel, amounts: Sequence[tuple[Decimal, int]]) -> int | None:
    return amounts[0][1] if amounts else None


def _per_item(parcel: Parcel, amounts: Sequence[tuple[Decimal, int]]) -> int | None:
    return amounts[0][1] * parcel.count if amounts else None


def _by_weight(parcel: Parcel, amounts: Sequence[tuple[Decimal, int]]) -> int | None:
    """The heaviest step that is reached; a parcel below the first is not taken."""
    return next((amount for weight, amount in reversed(amounts) if weight <= parcel.weight), None)


_CALCULATORS = {"flat": _flat, "per_item": _per_item, "by_weight": _by_weight}


def tracking_address(template: str | None, tracking: str | None) -> str | None:
    """Where a parcel can be followed. Only at an https address: older rows may have any text."""
    if not template or not tracking or not is_tracking_url(template):
        return None
    return template.replace(":tracking", quote(tracking, safe=""))


def is_tracking_url(url: str) -> bool:
    """Whether customers may be sent there: an https address with a host, and nothing that breaks a line."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme == "https" and bool(parts.hostname) and is_line(url) and " " not in url


def chosen(found: Sequence[Offer], before: Mapping[UUID, int] | Sequence[UUID] = ()) -> Offer | None:
    """The method that was chosen before, where it is still offered; else the cheapest."""
    return next((offer for offer in found if offer.shipping_method_id in before), found[0] if found else None)
