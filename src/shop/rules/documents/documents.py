"""Decides what packing slips and pick lists show, and how documents write addresses."""

from collections.abc import Sequence
from itertools import groupby
from uuid import UUID

import msgspec

from shop.models.customers.addresses import AddressWithCountry
from shop.models.documents.invoices import Seller
from shop.models.setup.documents import DocumentSettings
from shop.models.setup.shop import Shop
from shop.rules.customers.addresses import address_lines

MAX_ORDERS = 200
MAX_ITEMS = 5_000
"""The items of all orders of one document."""
LETTER_COUNTRIES = frozenset("BZ CA CL CO CR DO GT MX NI PA PH PR SV US VE".split())  # noqa: SIM905
"""The countries that print on Letter paper; all others use A4."""


class PickedItem(msgspec.Struct, frozen=True):
    """A variant to take from a stock location, and the orders that need it."""

    name: str
    options_text: str
    sku: str
    quantity: int
    backordered: int
    orders: Sequence[tuple[str, int]]


class PickLocation(msgspec.Struct, frozen=True):
    """The variants to take from one stock location."""

    name: str
    items: Sequence[PickedItem]


class PickEntry(msgspec.Struct, frozen=True):
    """A quantity of a variant that one order needs from one stock location."""

    location_id: UUID
    location_name: str
    variant_id: UUID
    name: str
    options_text: str
    sku: str
    order_number: str
    quantity: int
    backordered: int


def group_entries(entries: Sequence[PickEntry]) -> list[PickLocation]:
    """Groups entries, which are sorted by stock location and product, by stock location and variant."""
    locations = []
    for _, of_location in groupby(entries, key=lambda entry: entry.location_id):
        by_variant: dict[UUID, list[PickEntry]] = {}
        for entry in of_location:
            by_variant.setdefault(entry.variant_id, []).append(entry)
        groups = list(by_variant.values())
        locations.append(PickLocation(groups[0][0].location_name, [_merge(group) for group in groups]))
    return locations


def _merge(entries: Sequence[PickEntry]) -> PickedItem:
    first = entries[0]
    quantities: dict[str, int] = {}
    for entry in entries:
        quantities[entry.order_number] = quantities.get(entry.order_number, 0) + entry.quantity
    return PickedItem(
        first.name,
        first.options_text,
        first.sku,
        sum(quantities.values()),
        sum(entry.backordered for entry in entries),
        sorted(quantities.items()),
    )


def recipient_lines(address: AddressWithCountry | None) -> Sequence[str]:
    """Returns an address as it is written in its country."""
    return address_lines(msgspec.structs.asdict(address)) if address else ()


def build_seller(shop: Shop, settings: DocumentSettings, country_name: str) -> Seller:
    names = ("address1", "address2", "zipcode", "city")
    fields = {name: getattr(settings, name) for name in names}
    lines = address_lines({**fields, "country_iso": settings.country, "country_name": country_name})
    return Seller(settings.legal_name or shop.name, lines, settings.email, settings.tax_numbers)


def parse_numbers(text: str) -> list[str]:
    """Reads order numbers separated by commas or white space, without duplicates."""
    return list(dict.fromkeys(text.replace(",", " ").split()))


def paper_of(country: str) -> str:
    return "letter" if country in LETTER_COUNTRIES else "a4"
