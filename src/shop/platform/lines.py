"""How a line of an import becomes a typed one: every field checked for its kind, every wrong one named."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, TypeVar
from uuid import UUID

from msgspec import UNSET

from shop.actions.imports.batch_runner import Line
from shop.base.money import is_currency, minor_units
from shop.models.catalog.products import Product, Variant
from shop.platform.collection import kinds
from shop.platform.values import read_kind
from shop.rules.imports.exports import PRODUCT_FIELDS, VARIANT_FIELDS
from shop.rules.imports.prices import PriceLine
from shop.rules.imports.rows import Errors, ProductLine, StockLine, VariantLine
from shop.web.lines import RawLine

T = TypeVar("T")

_LONGEST_KEY = 200
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
_PRICE = {
    "sku": str | None,
    "variant_id": UUID | None,
    "currency": str | None,
    "amount": Decimal | None,
    "compare_at": Decimal | None,
    "price_list": str | None,
    "min_quantity": int,
}


class _Form:
    """A line or a part of it, read field by field; what is wrong is noted under its place in the line."""

    def __init__(self, given: Mapping[str, Any], errors: Errors, at: str = "") -> None:
        self.given = given
        self.errors = errors
        self.at = f"{at}." if at else ""

    def only(self, *names: str) -> None:
        for name in self.given.keys() - set(names):
            self.wrong(name, f"is not a field here; there are {', '.join(names)}")

    def wrong(self, name: str, sentence: str) -> None:
        self.errors.setdefault(self.at + name[:_LONGEST_KEY], []).append(sentence)

    def take(self, name: str, kind: Any, default: Any = UNSET) -> Any:
        """The value of a field, or the default where it is not there or not right."""
        if name not in self.given:
            return default
        try:
            return read_kind(self.given[name], kind)
        except ValueError as error:
            self.wrong(name, str(error))
            return default

    def fields(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        taken = {name: self.take(name, kind) for name, kind in wanted.items() if name in self.given}
        return {name: value for name, value in taken.items() if value is not UNSET}

    def names(self, name: str) -> Any:
        """A list of names, each once."""
        given = self.given.get(name, UNSET)
        if given is UNSET:
            return UNSET
        if not isinstance(given, list):
            self.wrong(name, "must be a list of names")
            return UNSET
        return list(dict.fromkeys(self.texts(name, dict(enumerate(given))).values()))

    def group(self, name: str) -> Mapping[str, Any] | None:
        """An object of entries by name; none where there is no such field."""
        given = self.given.get(name, UNSET)
        if given is UNSET or isinstance(given, dict):
            return None if given is UNSET else given
        self.wrong(name, "must be an object")
        return None

    def texts(self, name: str, entries: Mapping[Any, Any]) -> dict[Any, str]:
        """Texts by name, where the names are people's own and must be texts that a field could hold too."""
        inner = _Form({str(key): value for key, value in entries.items()}, self.errors, self.at + name)
        for key in inner.given:
            _Form({key: key}, self.errors, self.at + name).take(key, str)
        return inner.fields(dict.fromkeys(inner.given, str))


def product_line(raw: RawLine) -> Line[ProductLine]:
    return _line(raw, raw.value.get("slug"), _product)


def price_line(raw: RawLine) -> Line[PriceLine]:
    names = ("sku", "variant_id", "currency", "price_list", "min_quantity")
    return _line(raw, " ".join(str(raw.value[name])[:100] for name in names if raw.value.get(name)), _price)


def _line(raw: RawLine, key: Any, read: Callable[[_Form], T | None]) -> Line[T]:
    shown = key[:_LONGEST_KEY] if isinstance(key, str) and key else None
    errors: Errors = {}
    if raw.error:
        return Line(raw.number, raw.size, shown, None, {"base": [raw.error]})
    value = read(_Form(raw.value, errors))
    return Line(raw.number, raw.size, shown, None if errors else value, errors)


def _product(form: _Form) -> ProductLine | None:
    form.only(*_PRODUCT_OTHERS, *_PRODUCT)
    slug = form.take("slug", str, "")
    if not slug:
        form.errors.setdefault("slug", ["must be given: it is what a product is known by"])
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
    given = form.given.get("variants", [])
    if not isinstance(given, list) or not all(isinstance(item, dict) for item in given):
        form.wrong("variants", "must be a list of objects")
        return []
    read = [
        _variant(_Form(item, form.errors, f"variants.{place}"), f"variants.{place}") for place, item in enumerate(given)
    ]
    for variant in read:
        if not (variant.sku or variant.id):
            form.errors.setdefault(f"{variant.at}.sku", ["must be given: it is what a variant is known by"])
    return read


def _variant(form: _Form, at: str) -> VariantLine:
    form.only(*_VARIANT_OTHERS, *_VARIANT)
    if at == "master" and "id" in form.given:
        form.wrong("id", "is not for the master, of which there is one")
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
    """What it costs the shop: an amount is nothing without its currency, so one is not said without the other."""
    said = form.given.keys() & {"cost_price", "cost_currency"}
    currency = form.take("cost_currency", str | None, None)
    if currency is not None and not is_currency(currency):
        form.wrong("cost_currency", "must be the code of a currency, like USD or EUR")
        return {}
    if said == {"cost_currency"} or (currency is None and form.given.get("cost_price") is not None):
        form.errors.setdefault(f"{form.at}cost_currency", ["must be given with cost_price, and cost_price with it"])
        return {}
    found = {"cost_price": _units(form, "cost_price", currency or ""), "cost_currency": currency}
    return {name: found[name] for name in said}


def _prices(form: _Form, given: Mapping[str, Any]) -> dict[str, tuple[int, int | None]]:
    """By currency: an amount, or an object with what it was before; null for none."""
    found: dict[str, tuple[int, int | None]] = {}
    for currency, said in given.items():
        if said is None:
            continue
        if not is_currency(currency):
            form.wrong(f"prices.{currency[:20]}", "must be the code of a currency, like USD or EUR")
            continue
        price = _Form(said if isinstance(said, dict) else {"amount": said}, form.errors, f"{form.at}prices.{currency}")
        price.only("amount", "compare_at")
        amount = _units(price, "amount", currency)
        compare_at = _units(price, "compare_at", currency)
        if amount is None:
            form.errors.setdefault(f"{price.at}amount", ["must be given"])
        else:
            found[currency] = (amount, compare_at)
    return found


def _units(price: _Form, name: str, currency: str) -> int | None:
    value = price.take(name, Decimal | None, None)
    try:
        return None if value is None else minor_units(value, currency)
    except ValueError as error:
        price.wrong(name, str(error))
        return None


def _stock(form: _Form, given: Mapping[str, Any]) -> dict[str, StockLine]:
    """By location: a count, or an object with whether more can be sold."""
    found: dict[str, StockLine] = {}
    for place, said in given.items():
        at = f"{form.at}stock.{place[:100]}"
        item = _Form(said if isinstance(said, dict) else {"count_on_hand": said}, form.errors, at)
        item.only("count_on_hand", "backorderable")
        found[place] = StockLine(item.take("count_on_hand", int, None), item.take("backorderable", bool, None))
    return found


def _price(form: _Form) -> PriceLine | None:
    form.only(*_PRICE)
    line = PriceLine(**form.fields(_PRICE))
    if bool(line.sku) == bool(line.variant_id):
        form.errors.setdefault("sku", ["must be given, or variant_id for a variant that has none; and not both"])
    if line.amount is UNSET and line.compare_at is UNSET:
        form.errors.setdefault("amount", ["must be given; null removes the price"])
    if line.min_quantity < 1:
        form.wrong("min_quantity", "must be 1 or more")
    if "min_quantity" in form.given and line.price_list is None:
        form.wrong("min_quantity", "is for the entries of a list; name its price_list")
    return line
