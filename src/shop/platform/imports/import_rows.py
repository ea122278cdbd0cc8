"""Parses import lines into typed rows: checks the type of every field and reports every invalid one."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, TypeVar
from uuid import UUID

from msgspec import UNSET

from shop.actions.imports.batch_runner import ImportLine
from shop.base.money import is_currency, minor_units
from shop.base.values import REQUIRED
from shop.models.catalog.products import Product, Variant
from shop.platform.collection import kinds
from shop.rules.imports.exports import PRODUCT_FIELDS, VARIANT_FIELDS
from shop.rules.imports.prices import PriceLine
from shop.rules.imports.rows import Errors, ProductLine, StockLine, VariantLine
from shop.web.input.inputs import read_value
from shop.web.input.ndjson import RawLine

T = TypeVar("T")

_MAX_KEY_LENGTH = 200
_PRODUCT = kinds(Product, *PRODUCT_FIELDS)
_VARIANT = kinds(Variant, *VARIANT_FIELDS)
_PRODUCT_OTHERS = (
    "slug",
    "tax_category",
    "shipping_category",
    "taxons",
    "option_types",
    "properties",
    "master",
    "variants",
    "variants_complete",
)
_VARIANT_OTHERS = ("id", "sku", "cost_price", "cost_currency", "tax_category", "options", "prices", "stock")
_PRICE = kinds(PriceLine)


class _Form:
    """A line or a part of it, read field by field; errors are recorded under the path within the line."""

    def __init__(self, values: Mapping[str, Any], errors: Errors, at: str = "") -> None:
        self.values = values
        self.errors = errors
        self.at = f"{at}." if at else ""

    def only(self, *names: str) -> None:
        for name in self.values.keys() - set(names):
            self.wrong(name, f"is not a known field; allowed: {', '.join(names)}")

    def wrong(self, name: str, sentence: str) -> None:
        self.errors.setdefault(self.at + name[:_MAX_KEY_LENGTH], []).append(sentence)

    def take(self, name: str, kind: Any, default: Any = UNSET) -> Any:
        """Returns the value of a field, or the default if it is absent or invalid."""
        if name not in self.values:
            return default
        try:
            return read_value(self.values[name], kind)
        except ValueError as error:
            self.wrong(name, str(error))
            return default

    def fields(self, field_kinds: Mapping[str, Any]) -> dict[str, Any]:
        values = {name: self.take(name, kind) for name, kind in field_kinds.items() if name in self.values}
        return {name: value for name, value in values.items() if value is not UNSET}

    def names(self, name: str) -> Any:
        """Returns a list of unique names."""
        items = self.values.get(name, UNSET)
        if items is UNSET:
            return UNSET
        if not isinstance(items, list):
            self.wrong(name, "must be a list of names")
            return UNSET
        return list(dict.fromkeys(self.texts(name, dict(enumerate(items))).values()))

    def group(self, name: str) -> Mapping[str, Any] | None:
        """Returns an object field; None if it is absent or invalid."""
        value = self.values.get(name, UNSET)
        if value is UNSET or isinstance(value, dict):
            return None if value is UNSET else value
        self.wrong(name, "must be an object")
        return None

    def texts(self, name: str, entries: Mapping[Any, Any]) -> dict[Any, str]:
        """Returns texts by user-defined names; the names are validated like the texts."""
        inner = _Form({str(key): value for key, value in entries.items()}, self.errors, self.at + name)
        for key in inner.values:
            _Form({key: key}, self.errors, self.at + name).take(key, str)
        return inner.fields(dict.fromkeys(inner.values, str))


def product_line(raw: RawLine) -> ImportLine[ProductLine]:
    return _line(raw, raw.value.get("slug"), _product)


def price_line(raw: RawLine) -> ImportLine[PriceLine]:
    names = ("sku", "variant_id", "currency", "price_list", "min_quantity")
    return _line(raw, " ".join(str(raw.value[name])[:100] for name in names if raw.value.get(name)), _price)


def _line(raw: RawLine, key: Any, read: Callable[[_Form], T | None]) -> ImportLine[T]:
    short_key = key[:_MAX_KEY_LENGTH] if isinstance(key, str) and key else None
    errors: Errors = {}
    if raw.error:
        return ImportLine(raw.number, raw.size, short_key, None, {"base": [raw.error]})
    value = read(_Form(raw.value, errors))
    return ImportLine(raw.number, raw.size, short_key, None if errors else value, errors)


def _product(form: _Form) -> ProductLine | None:
    form.only(*_PRODUCT_OTHERS, *_PRODUCT)
    slug = form.take("slug", str, "")
    if not slug:
        form.errors.setdefault("slug", ["is required: it identifies the product"])
    master = form.group("master")
    facts = form.group("properties")
    return ProductLine(
        slug=slug,
        fields=form.fields(_PRODUCT),
        tax_category=form.take("tax_category", str | None),
        shipping_category=form.take("shipping_category", str | None),
        taxons=form.names("taxons"),
        option_types=form.names("option_types"),
        properties=UNSET if facts is None else form.texts("properties", facts),
        master=None if master is None else _variant(_Form(master, form.errors, "master"), "master"),
        variants=_variants(form),
        variants_complete=form.take("variants_complete", bool, default=False),
    )


def _variants(form: _Form) -> list[VariantLine]:
    items = form.values.get("variants", [])
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        form.wrong("variants", "must be a list of objects")
        return []
    read = [
        _variant(_Form(item, form.errors, f"variants.{index}"), f"variants.{index}") for index, item in enumerate(items)
    ]
    for variant in read:
        if not (variant.sku or variant.id):
            form.errors.setdefault(f"{variant.at}.sku", ["is required: it identifies the variant"])
    return read


def _variant(form: _Form, at: str) -> VariantLine:
    form.only(*_VARIANT_OTHERS, *_VARIANT)
    if at == "master" and "id" in form.values:
        form.wrong("id", "cannot be set for the master")
    options, prices, stock = form.group("options"), form.group("prices"), form.group("stock")
    return VariantLine(
        at=at,
        id=form.take("id", UUID, None),
        sku=form.take("sku", str, None),
        fields={**form.fields(_VARIANT), **_cost(form)},
        tax_category=form.take("tax_category", str | None),
        options=UNSET if options is None else form.texts("options", options),
        prices=UNSET if prices is None else _prices(form, prices),
        stock={} if stock is None else _stock(form, stock),
    )


def _cost(form: _Form) -> dict[str, Any]:
    """Returns the cost price and its currency, which must be sent together."""
    names = form.values.keys() & {"cost_price", "cost_currency"}
    currency = form.take("cost_currency", str | None, None)
    if currency is not None and not is_currency(currency):
        form.wrong("cost_currency", "must be the code of a currency, like USD or EUR")
        return {}
    if names == {"cost_currency"} or (currency is None and form.values.get("cost_price") is not None):
        form.errors.setdefault(f"{form.at}cost_currency", ["is required together with cost_price"])
        return {}
    values = {"cost_price": _units(form, "cost_price", currency or ""), "cost_currency": currency}
    return {name: values[name] for name in names}


def _prices(form: _Form, entries: Mapping[str, Any]) -> dict[str, tuple[int, int | None]]:
    """Reads prices by currency: an amount, or an object with `compare_at`; null for no price."""
    prices: dict[str, tuple[int, int | None]] = {}
    for currency, entry in entries.items():
        if entry is None:
            continue
        if not is_currency(currency):
            form.wrong(f"prices.{currency[:20]}", "must be the code of a currency, like USD or EUR")
            continue
        price = _Form(
            entry if isinstance(entry, dict) else {"amount": entry}, form.errors, f"{form.at}prices.{currency}"
        )
        price.only("amount", "compare_at")
        amount = _units(price, "amount", currency)
        compare_at = _units(price, "compare_at", currency)
        if amount is None:
            form.errors.setdefault(f"{price.at}amount", [REQUIRED])
        else:
            prices[currency] = (amount, compare_at)
    return prices


def _units(price: _Form, name: str, currency: str) -> int | None:
    value = price.take(name, Decimal | None, None)
    try:
        return None if value is None else minor_units(value, currency)
    except ValueError as error:
        price.wrong(name, str(error))
        return None


def _stock(form: _Form, entries: Mapping[str, Any]) -> dict[str, StockLine]:
    """Reads stock by location: a count, or an object with `backorderable`."""
    stock: dict[str, StockLine] = {}
    for location_name, entry in entries.items():
        at = f"{form.at}stock.{location_name[:100]}"
        item = _Form(entry if isinstance(entry, dict) else {"count_on_hand": entry}, form.errors, at)
        item.only("count_on_hand", "backorderable")
        stock[location_name] = StockLine(item.take("count_on_hand", int, None), item.take("backorderable", bool, None))
    return stock


def _price(form: _Form) -> PriceLine | None:
    form.only(*_PRICE)
    line = PriceLine(**form.fields(_PRICE))
    if bool(line.sku) == bool(line.variant_id):
        form.errors.setdefault("sku", ["or variant_id is required, but not both"])
    if line.amount is UNSET and line.compare_at is UNSET:
        form.errors.setdefault("amount", ["is required; null removes the price"])
    if line.min_quantity < 1:
        form.wrong("min_quantity", "must be 1 or more")
    if "min_quantity" in form.values and line.price_list is None:
        form.wrong("min_quantity", "is only for price list entries; set price_list")
    return line
