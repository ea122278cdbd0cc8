"""Option and variant forms of a product; each form saves all of its fields or none."""

from collections.abc import Mapping, Sequence, Set
from decimal import Decimal
from itertools import product as combinations
from math import prod
from uuid import UUID

import msgspec

from shop.actions import records
from shop.actions.catalog.resources import OPTION_TYPE, OPTION_VALUE, PRODUCT, VARIANT
from shop.actions.catalog_admin.products import lock_product, machine_name
from shop.actions.context import Context
from shop.base.errors import ChangedMeanwhile, Invalid, NotFound
from shop.models.catalog.inputs import VariantInput
from shop.models.catalog.products import OptionValue
from shop.queries.catalog_admin import products as product_pages
from shop.queries.catalog_admin import variants as variant_queries
from shop.queries.catalog_admin.products import AdminVariant, ChosenOptionType
from shop.queries.records import find_record
from shop.rules.form_values import fingerprint

MAX_NEW_VARIANTS = 100


class NewVariants(msgspec.Struct, frozen=True):
    """Values shared by variants that are generated together."""

    sku_prefix: str = ""
    price: Decimal | None = None


async def set_options(
    ctx: Context,
    product_id: UUID,
    type_ids: Sequence[UUID],
    *,
    new_values: Mapping[UUID, Sequence[str]],
    new_type: str,
) -> None:
    """Sets the option types of a product; creates missing option types and values."""
    async with ctx.db.transaction():
        await lock_product(ctx, product_id)
        types = {
            option_type.id: option_type for option_type in await product_pages.list_option_types(ctx.db, product_id)
        }
        variants = await product_pages.list_variants(ctx.db, product_id)
        selected_ids = [type_id for type_id in type_ids if type_id in types]
        await _check_unused_types(ctx, types, selected_ids, variants)
        for type_id, names in new_values.items():
            if type_id in types:
                await create_values(ctx, type_id, names)
        if new_type:
            selected_ids.append(await find_or_create_option_type(ctx, new_type))
        existing = [option_type.id for option_type in types.values() if option_type.product_position is not None]
        selected_ids = list(
            dict.fromkeys([*(type_id for type_id in existing if type_id in selected_ids), *selected_ids])
        )
        if selected_ids != existing:
            await records.change(ctx, PRODUCT, product_id, {"option_type_ids": selected_ids})


async def add_variant(ctx: Context, product_id: UUID, values: VariantInput) -> UUID:
    async with ctx.db.transaction():
        await lock_product(ctx, product_id)
        await _check_option_values(ctx, product_id, values["option_value_ids"])
        return await records.make(ctx, VARIANT, {"product_id": product_id, **values})


def fingerprint_variant(variant: AdminVariant) -> str:
    """Returns a digest of what the form of a variant shows."""
    names = ("sku", "barcode", "track_inventory", "weight", "height", "width", "depth")
    options = sorted(str(value_id) for value_id in variant.option_value_ids)
    return fingerprint({"options": options, **{name: getattr(variant, name) for name in names}})


async def change_variant(
    ctx: Context, product_id: UUID, variant_id: UUID, values: VariantInput, seen_mark: str | None = None
) -> None:
    """Changes a variant; raises ChangedMeanwhile if it is not what a form with the fingerprint `seen_mark` showed."""
    async with ctx.db.transaction():
        await lock_product(ctx, product_id)
        variant = await get_variant(ctx, product_id, variant_id)
        if seen_mark is not None and seen_mark != fingerprint_variant(variant):
            raise ChangedMeanwhile()
        fields: dict[str, object] = {name: value for name, value in values.items() if name != "option_value_ids"}
        value_ids = values.get("option_value_ids", [])
        if not variant.is_master:
            await _check_option_values(ctx, product_id, value_ids)
            if set(value_ids) != set(variant.option_value_ids):
                fields["option_value_ids"] = value_ids
        await records.change(ctx, VARIANT, variant_id, fields)


async def generate_variants(
    ctx: Context, product_id: UUID, selection: Sequence[Sequence[UUID]], common: NewVariants
) -> tuple[int, int]:
    """Creates variants for all combinations of the selected values; returns the new and the existing count."""
    async with ctx.db.transaction():
        await lock_product(ctx, product_id)
        existing = {
            frozenset(variant.option_value_ids) for variant in await product_pages.list_variants(ctx.db, product_id)
        }
        values = await _list_option_values(ctx, product_id)
        if not all(value in values for group in selection for value in group):
            raise Invalid({"values": ["must be those of the product's options"]})
        chosen_type_ids = {values[value].option_type_id for group in selection for value in group}
        await _check_selection(ctx, product_id, chosen_type_ids)
        if prod(map(len, selection)) > 10 * MAX_NEW_VARIANTS:
            raise Invalid({"values": [f"would create too many variants; create at most {MAX_NEW_VARIANTS} at once"]})
        all_combinations = list(combinations(*selection))
        new = [combination for combination in all_combinations if frozenset(combination) not in existing]
        if len(new) > MAX_NEW_VARIANTS:
            raise Invalid({"values": [f"would create {len(new)} variants; create at most {MAX_NEW_VARIANTS} at once"]})
        skus_by_combination = {combination: _sku(common.sku_prefix, combination, values) for combination in new}
        existing_skus = await variant_queries.find_variants(
            ctx.db, [sku for sku in skus_by_combination.values() if sku]
        )
        if existing_skus:
            raise Invalid({"sku_prefix": [f"creates {next(iter(existing_skus))}, the SKU of another variant"]})
        for position, (combination, sku) in enumerate(skus_by_combination.items(), len(existing)):
            fields: VariantInput = {
                "product_id": product_id,
                "sku": sku,
                "position": position,
                "option_value_ids": list(combination),
            }
            if common.price is not None:
                fields["price"] = common.price
            await records.make(ctx, VARIANT, fields)
        return len(new), len(all_combinations) - len(new)


async def get_variant(ctx: Context, product_id: UUID, variant_id: UUID) -> AdminVariant:
    matches = [variant for variant in await product_pages.list_variants(ctx.db, product_id) if variant.id == variant_id]
    if not matches:
        raise NotFound()
    return matches[0]


async def _check_unused_types(
    ctx: Context, types: Mapping[UUID, ChosenOptionType], selected_ids: Sequence[UUID], variants: Sequence[AdminVariant]
) -> None:
    used_value_ids = {value_id for variant in variants for value_id in variant.option_value_ids}
    removed_types = [
        option_type
        for option_type in types.values()
        if option_type.product_position is not None and option_type.id not in selected_ids
    ]
    for value in await product_pages.list_option_values(ctx.db, [option_type.id for option_type in removed_types]):
        if value.id in used_value_ids:
            name = types[value.option_type_id].presentation
            raise Invalid({"option_type_ids": [f"must include {name}, which existing variants use"]})


async def _check_option_values(ctx: Context, product_id: UUID, value_ids: Sequence[UUID]) -> None:
    values = await _list_option_values(ctx, product_id)
    types = await _list_own_types(ctx, product_id)
    type_ids = {values[value_id].option_type_id for value_id in value_ids if value_id in values}
    missing = {
        f"option-{option_type.id}": ["must be chosen"] for option_type in types if option_type.id not in type_ids
    }
    if missing:
        raise Invalid(missing)


async def _check_selection(ctx: Context, product_id: UUID, type_ids: Set[UUID]) -> None:
    """Refuses combinations without a value of each option of the product."""
    types = await _list_own_types(ctx, product_id)
    missing = {
        f"choice-{option_type.id}": [f"Select at least one value of {option_type.presentation}."]
        for option_type in types
        if option_type.id not in type_ids
    }
    if missing or not types:
        raise Invalid(missing or {"values": ["must be those of the product's options"]})


async def _list_own_types(ctx: Context, product_id: UUID) -> list[ChosenOptionType]:
    types = await product_pages.list_option_types(ctx.db, product_id)
    return [option_type for option_type in types if option_type.product_position is not None]


async def _list_option_values(ctx: Context, product_id: UUID) -> dict[UUID, OptionValue]:
    type_ids = [option_type.id for option_type in await _list_own_types(ctx, product_id)]
    return {value.id: value for value in await product_pages.list_option_values(ctx.db, type_ids)}


async def create_values(ctx: Context, type_id: UUID, names: Sequence[str]) -> None:
    existing = {value.name for value in await product_pages.list_option_values(ctx.db, [type_id])}
    for presentation in names:
        name = machine_name(presentation)
        if name not in existing:
            fields = {"name": name, "presentation": presentation, "position": len(existing)}
            await records.make(ctx, OPTION_VALUE, {"option_type_id": type_id, **fields})
            existing.add(name)


async def find_or_create_option_type(ctx: Context, presentation: str) -> UUID:
    existing = await find_record(ctx.db, OPTION_TYPE.records, "name", machine_name(presentation))
    if existing is not None:
        return UUID(str(existing.id))
    return await records.make(ctx, OPTION_TYPE, {"name": machine_name(presentation), "presentation": presentation})


def _sku(prefix: str, combination: Sequence[UUID], values: Mapping[UUID, OptionValue]) -> str:
    return "-".join([prefix, *(values[value_id].name.upper() for value_id in combination)]) if prefix else ""
