"""Builds export lines with every field that an import can set, in import format."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from shop.base.money import currency_digits, plain_decimal, wire_decimal
from shop.models.catalog.full_products import FullProduct, FullVariant
from shop.rules.imports.prices import PriceData, PricedVariant

PRODUCT_FIELDS = (
    "name",
    "description",
    "status",
    "available_on",
    "make_active_at",
    "discontinue_on",
    "meta_title",
    "meta_description",
    "meta_keywords",
    "promotionable",
    "tags",
    "public_metadata",
    "private_metadata",
)
VARIANT_FIELDS = (
    "barcode",
    "weight",
    "height",
    "width",
    "depth",
    "position",
    "track_inventory",
    "discontinue_on",
    "public_metadata",
    "private_metadata",
)
_MAX_EXACT_INTEGER = 2**53


def product_line(product: FullProduct) -> dict[str, Any]:
    return {
        "slug": product.row.slug,
        **_fields(product.row, PRODUCT_FIELDS),
        "tax_category": product.tax_category,
        "shipping_category": product.shipping_category,
        "taxons": list(product.taxons),
        "option_types": list(product.option_types),
        "properties": {name: product_property.value for name, product_property in product.properties.items()},
        "master": {"sku": product.master.row.sku, **_variant(product.master)},
        "variants": [
            # Without a SKU, only the id identifies the variant.
            {**({} if variant.row.sku else {"id": variant.row.id}), "sku": variant.row.sku, **_variant(variant)}
            for variant in product.variants
        ],
    }


def _variant(variant: FullVariant) -> dict[str, Any]:
    return {
        **_fields(variant.row, VARIANT_FIELDS),
        "cost_price": _amount(variant.row.cost_price, variant.row.cost_currency or ""),
        "cost_currency": variant.row.cost_currency,
        "tax_category": variant.tax_category,
        "options": {kind: value for kind, (_, value) in variant.options.items()},
        "prices": {
            currency: {
                "amount": _amount(price.amount, currency),
                "compare_at": _amount(price.compare_at_amount, currency),
            }
            for currency, price in variant.prices.items()
        },
        "stock": {
            name: {"count_on_hand": item.count_on_hand, "backorderable": item.backorderable}
            for name, item in variant.stock.items()
        },
    }


def price_lines(price_data: PriceData) -> Iterable[dict[str, Any]]:
    """Yields the prices of each variant by currency, then its price list entries."""
    lists = {entry.id: entry for entry in price_data.lists.values()}
    prices: dict[Any, list[dict[str, Any]]] = {}
    for price in price_data.prices:
        amounts = (price.amount, price.compare_at_amount)
        fields = {
            name: _amount(amount, price.currency)
            for name, amount in zip(("amount", "compare_at"), amounts, strict=True)
        }
        prices.setdefault(price.variant_id, []).append({"currency": price.currency, **fields})
    entries = sorted(price_data.entries, key=lambda entry: (lists[entry.price_list_id].name, entry.min_quantity))
    for entry in entries:
        price_list = lists[entry.price_list_id]
        fields = {"currency": price_list.currency, "amount": _amount(entry.amount, price_list.currency)}
        list_fields = {"price_list": price_list.name, "min_quantity": entry.min_quantity}
        prices.setdefault(entry.variant_id, []).append(fields | list_fields)
    for variant in price_data.variants:
        yield from (_variant_key(variant) | line for line in prices.get(variant.id, ()))


def _variant_key(variant: PricedVariant) -> dict[str, Any]:
    return {"sku": variant.sku} if variant.sku else {"variant_id": variant.id}


def _fields(row: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: _plain(getattr(row, name)) for name in names}


def _amount(minor: int | None, currency: str) -> str | None:
    return None if minor is None else wire_decimal(minor, currency_digits(currency))


def _plain(value: Any) -> Any:
    match value:
        case Decimal():
            return plain_decimal(value)
        case Mapping():
            return {name: _plain(inner) for name, inner in value.items()}
        case list():
            return [_plain(inner) for inner in value]
        case int() if abs(value) > _MAX_EXACT_INTEGER:
            # The database expanded a number with an exponent; request bodies do not accept the expanded form.
            return float(value)
    return value
