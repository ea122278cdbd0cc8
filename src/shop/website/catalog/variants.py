"""The variants of a product page: stock hints, option pickers and the data for the script."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from shop.actions.catalog.website import ProductDetails
from shop.base.money import money_text
from shop.models.catalog.storefront import StorefrontOptionType, StorefrontVariant

LOW_STOCK = 5
"""Up to this number, the page says how many are left."""
Options = Mapping[str, str]
"""Names of option types, each with the name of a value."""


class VariantChoice(msgspec.Struct, frozen=True):
    """A variant of a product page; amounts are in minor units."""

    id: UUID
    sku: str
    options: Options
    price: int | None
    compare_at_price: int | None
    price_list_name: str | None
    """The price list that a customer's own price comes from."""
    stock: str
    purchasable: bool
    is_backorder: bool
    image: int | None
    """The index of its first image in the gallery."""


class PickerValue(msgspec.Struct, frozen=True):
    """A value of an option; unavailable if no variant with it and the other selected values can be bought."""

    value: str
    label: str
    is_selected: bool
    is_available: bool


class Picker(msgspec.Struct, frozen=True):
    """An option type with its values, as a group of radio buttons."""

    name: str
    label: str
    values: Sequence[PickerValue]


class ScriptVariant(msgspec.Struct, frozen=True):
    """A variant as the script sees it: everything that changes on the page when it is selected."""

    id: UUID
    options: Options
    price: str
    compare_at: str
    stock: str
    purchasable: bool
    image: int | None


def build_variants(details: ProductDetails) -> list[VariantChoice]:
    """Builds the variants that are on sale; if none is, all of them, so that the page can say so."""
    rows = [row for row in details.variants if row.available] or details.variants
    return [_build_variant(details, row) for row in rows]


def _build_variant(details: ProductDetails, row: StorefrontVariant) -> VariantChoice:
    price = details.prices.get(row.id)
    amount, compare_at = (price.amount, price.compare_at_amount) if price else (None, None)
    if price and price.price_list_id and price.base_amount is not None:
        compare_at = max(price.base_amount, compare_at or 0)
    purchasable = row.purchasable and amount is not None
    image_ids = details.product.image_ids
    return VariantChoice(
        id=row.id,
        sku=row.sku,
        options={option["name"]: option["value"] for option in row.options},
        price=amount,
        compare_at_price=compare_at if amount is not None and compare_at and compare_at > amount else None,
        price_list_name=price.price_list_name if price else None,
        stock=stock_text(row, details.counts_on_hand.get(row.id, 0), purchasable=purchasable),
        purchasable=purchasable,
        is_backorder=purchasable and not row.in_stock,
        image=image_ids.index(row.image_ids[0]) if row.image_ids and row.image_ids[0] in image_ids else None,
    )


def stock_text(row: StorefrontVariant, on_hand: int, *, purchasable: bool) -> str:
    if not row.available:
        return "No longer available"
    if not purchasable:
        return "Sold out"
    if not row.in_stock:
        return "Ships later"
    is_low = row.track_inventory and not row.backorderable and on_hand <= LOW_STOCK
    return f"Only {on_hand} left" if is_low else "In stock"


def select_variant(variants: Sequence[VariantChoice], *preferred_ids: UUID | None) -> VariantChoice | None:
    """Returns the first preferred variant that exists, or else one that can be bought."""
    by_id = {variant.id: variant for variant in variants}
    preferred = next((by_id[each] for each in preferred_ids if each in by_id), None)
    return preferred or next((each for each in variants if each.purchasable), variants[0] if variants else None)


def build_pickers(
    details: ProductDetails, variants: Sequence[VariantChoice], selected: VariantChoice | None
) -> list[Picker]:
    """Builds the pickers in the order of the product's option types; without options, there are none."""
    types = {option_type.id: option_type for option_type in details.option_types}
    pickers = [
        _build_picker(types[type_id], details.variants, variants, selected.options if selected else {})
        for type_id in details.product.option_type_ids
        if type_id in types
    ]
    return [picker for picker in pickers if picker.values]


def _build_picker(
    option_type: StorefrontOptionType,
    rows: Sequence[StorefrontVariant],
    variants: Sequence[VariantChoice],
    selected: Options,
) -> Picker:
    name = option_type.name
    positions = {value_id: position for position, value_id in enumerate(option_type.option_value_ids)}
    by_position = {
        positions.get(value_id, len(positions)): (option["value"], option["presentation"])
        for row in rows
        for option, value_id in zip(row.options, row.option_value_ids, strict=True)
        if option["name"] == name
    }
    offered_values = {variant.options.get(name) for variant in variants}
    values = [
        PickerValue(value, label, selected.get(name) == value, _is_available(variants, {**selected, name: value}))
        for _, (value, label) in sorted(by_position.items())
        if value in offered_values
    ]
    return Picker(name, option_type.presentation, values)


def _is_available(variants: Sequence[VariantChoice], options: Options) -> bool:
    return any(variant.purchasable and variant.options == options for variant in variants)


def build_script_data(variants: Sequence[VariantChoice], currency: str, locale: str) -> list[ScriptVariant]:
    format_amount = money_text(currency, locale)
    return [
        ScriptVariant(
            variant.id,
            variant.options,
            "" if variant.price is None else format_amount(variant.price),
            "" if variant.compare_at_price is None else format_amount(variant.compare_at_price),
            variant.stock,
            variant.purchasable,
            variant.image,
        )
        for variant in variants
    ]
