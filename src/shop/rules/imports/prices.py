"""Computes the changes of imported prices: base prices of variants and price list entries."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from shop.base.errors import Invalid
from shop.base.money import is_currency, minor_units
from shop.models.catalog.prices import Price, PriceList, PriceListEntry
from shop.rules.imports.rows import Changes


class PriceLine(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed line; fields that were absent are UNSET."""

    sku: str | None = None
    variant_id: UUID | None = None
    """Identifies a variant without a SKU."""
    currency: str | None = None
    amount: Decimal | UnsetType | None = UNSET
    compare_at: Decimal | UnsetType | None = UNSET
    price_list: str | None = None
    min_quantity: int = 1


class PricedVariant(msgspec.Struct, frozen=True):
    """A variant with its product id."""

    id: UUID
    product_id: UUID
    sku: str


class PriceData(msgspec.Struct, frozen=True, kw_only=True):
    """The variants and price lists that lines refer to, with their current prices."""

    variants: tuple[PricedVariant, ...] = ()
    lists: Mapping[str, PriceList] = {}
    prices: tuple[Price, ...] = ()
    entries: tuple[PriceListEntry, ...] = ()


Key = tuple[UUID, str] | tuple[UUID, UUID, int]
"""Variant and currency; or variant, price list and minimum quantity."""
Amounts = tuple[int, int | None]


class PriceBook:
    """Prices after the import; each line is applied to the result of the previous lines."""

    def __init__(self, price_data: PriceData) -> None:
        self._lists = price_data.lists
        self._by_sku = {variant.sku: variant for variant in price_data.variants if variant.sku}
        self._by_id = {variant.id: variant for variant in price_data.variants}
        self._records: dict[Key, Price | PriceListEntry] = {
            **{(price.variant_id, price.currency): price for price in price_data.prices},
            **{(row.variant_id, row.price_list_id, row.min_quantity): row for row in price_data.entries},
        }
        self._before: dict[Key, Amounts] = {key: _amounts(row) for key, row in self._records.items()}
        self._now = dict(self._before)

    def apply(self, line: PriceLine) -> str:
        """Applies a line; returns `created`, `updated` or `unchanged`. Raises Invalid without changes."""
        key, currency = self._key(line)
        previous = self._now.get(key)
        if line.amount is None:
            return "unchanged" if self._now.pop(key, None) is None else "updated"
        if line.amount is UNSET and previous is None:
            raise Invalid({"amount": ["is required for a new price"]})
        amount = previous[0] if line.amount is UNSET and previous else _units(line.amount, currency, "amount")
        compare_at = (previous[1] if previous else None) if line.compare_at is UNSET else None
        if line.compare_at not in {UNSET, None}:
            compare_at = _units(line.compare_at, currency, "compare_at")
        self._now[key] = (amount, compare_at)
        return "created" if previous is None else "unchanged" if previous == self._now[key] else "updated"

    def changes(self, new_id: Callable[[], UUID]) -> Changes:
        """Returns the combined changes of all lines."""
        changes = Changes()
        for key, now in self._now.items():
            values = _values(key, now)
            if key not in self._records:
                changes.insert(_table(key), id=new_id(), **_names(key), **values)
            elif now != self._before[key]:
                changes.update(_table(key), self._records[key].id, values)
        for key in self._before.keys() - self._now.keys():
            changes.delete(_table(key), self._records[key].id)
        return changes

    def touched_products(self) -> set[UUID]:
        """Returns the products whose base price changes; price list entries do not affect product listings."""
        keys = {*self._before, *self._now}
        changed_keys = [key for key in keys if len(key) == 2 and self._before.get(key) != self._now.get(key)]
        return {self._by_id[key[0]].product_id for key in changed_keys}

    def _key(self, line: PriceLine) -> tuple[Key, str]:
        variant = self._by_id.get(line.variant_id) if line.variant_id else self._by_sku.get(line.sku or "")
        if variant is None:
            raise Invalid({"variant_id" if line.variant_id else "sku": ["does not exist"]})
        if line.price_list is None:
            if line.currency is None or not is_currency(line.currency):
                raise Invalid({"currency": ["must be the code of a currency, like USD or EUR"]})
            return (variant.id, line.currency), line.currency
        price_list = self._lists.get(line.price_list)
        if price_list is None:
            raise Invalid({"price_list": [f"is not a price list: {line.price_list[:100]}"]})
        if line.currency not in {None, price_list.currency}:
            raise Invalid({"currency": [f"must be omitted or {price_list.currency}, the currency of the price list"]})
        if line.compare_at not in {UNSET, None}:
            raise Invalid({"compare_at": ["cannot be set for price list entries"]})
        return (variant.id, price_list.id, line.min_quantity), price_list.currency


def _amounts(row: Price | PriceListEntry) -> Amounts:
    return row.amount, row.compare_at_amount if isinstance(row, Price) else None


def _units(amount: Any, currency: str, name: str) -> int:
    try:
        return minor_units(amount, currency)
    except ValueError as error:
        raise Invalid({name: [str(error)]}) from None


def _table(key: Key) -> str:
    return "prices" if len(key) == 2 else "price_list_entries"


def _names(key: Key) -> dict[str, Any]:
    names = ("variant_id", "currency") if len(key) == 2 else ("variant_id", "price_list_id", "min_quantity")
    return dict(zip(names, key, strict=True))


def _values(key: Key, now: Amounts) -> dict[str, Any]:
    amount, compare_at = now
    return {"amount": amount} | ({"compare_at_amount": compare_at} if len(key) == 2 else {})
