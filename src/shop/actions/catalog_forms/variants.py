"""What operators do with a product's options and variants: each form is saved whole or not at all."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import product as combinations
from math import prod
from typing import Any
from uuid import UUID

import msgspec

from shop.actions import records
from shop.actions.catalog.resources import OPTION_TYPE, OPTION_VALUE, PRODUCT, VARIANT
from shop.actions.catalog_forms.products import lock_product, machine_name
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound
from shop.models.catalog.products import OptionValue
from shop.queries.catalog import skus
from shop.queries.catalog_pages import products as product_pages
from shop.queries.catalog_pages.products import ChosenOptionType, DeskVariant
from shop.queries.records import find_record

MOST_AT_ONCE = 100


class NewVariants(msgspec.Struct, frozen=True):
    """What variants that are made together have in common."""

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
    """Which options the product's variants differ by; types and values that are not there yet are made on the way."""
    async with ctx.db.transaction():
        await lock_product(ctx, product_id)
        types = {found.id: found for found in await product_pages.list_option_types(ctx.db, product_id)}
        variants = await product_pages.list_variants(ctx.db, product_id)
        wanted = [type_id for type_id in type_ids if type_id in types]
        await _check_unused(ctx, types, wanted, variants)
        for type_id, names in new_values.items():
            if type_id in types:
                await _make_values(ctx, type_id, names)
        if new_type:
            wanted.append(await _type_called(ctx, new_type))
        present = [found.id for found in types.values() if found.place is not None]
        wanted = list(dict.fromkeys([*(found for found in present if found in wanted), *wanted]))
        if wanted != present:
            await records.change(ctx, PRODUCT, product_id, {"option_type_ids": wanted})


async def add_variant(ctx: Context, product_id: UUID, values: Mapping[str, Any]) -> UUID:
    async with ctx.db.transaction():
        await lock_product(ctx, product_id)
        await _check_chosen(ctx, product_id, values["option_value_ids"])
        return await records.make(ctx, VARIANT, {"product_id": product_id, **values})


async def change_variant(ctx: Context, product_id: UUID, variant_id: UUID, values: Mapping[str, Any]) -> None:
    async with ctx.db.transaction():
        await lock_product(ctx, product_id)
        variant = await get_variant(ctx, product_id, variant_id)
        fields = dict(values)
        wanted = fields.pop("option_value_ids", [])
        if not variant.is_master:
            await _check_chosen(ctx, product_id, wanted)
            if set(wanted) != set(variant.option_value_ids):
                fields["option_value_ids"] = wanted
        await records.change(ctx, VARIANT, variant_id, fields)


async def generate_variants(
    ctx: Context, product_id: UUID, chosen: Sequence[Sequence[UUID]], alike: NewVariants
) -> tuple[int, int]:
    """All combinations of the values chosen of each option; says how many were made, and how many were there."""
    async with ctx.db.transaction():
        await lock_product(ctx, product_id)
        present = {
            frozenset(variant.option_value_ids) for variant in await product_pages.list_variants(ctx.db, product_id)
        }
        values = await _values_of(ctx, product_id)
        if not chosen or not all(chosen) or not all(value in values for some in chosen for value in some):
            raise Invalid({"values": ["must have at least one of each option"]})
        if prod(map(len, chosen)) > 10 * MOST_AT_ONCE:
            raise Invalid({"values": [f"would make too many variants; make at most {MOST_AT_ONCE} at once"]})
        wanted = list(combinations(*chosen))
        new = [combination for combination in wanted if frozenset(combination) not in present]
        if len(new) > MOST_AT_ONCE:
            raise Invalid({"values": [f"would make {len(new)} variants; make at most {MOST_AT_ONCE} at once"]})
        named = {combination: _sku(alike.sku_prefix, combination, values) for combination in new}
        taken = await skus.find_variants(ctx.db, [sku for sku in named.values() if sku])
        if taken:
            raise Invalid({"sku_prefix": [f"makes {next(iter(taken))}, which is another variant's"]})
        for position, (combination, sku) in enumerate(named.items(), len(present)):
            fields: dict[str, Any] = {"product_id": product_id, "sku": sku, "position": position}
            fields["option_value_ids"] = list(combination)
            if alike.price is not None:
                fields["price"] = alike.price
            await records.make(ctx, VARIANT, fields)
        return len(new), len(wanted) - len(new)


async def get_variant(ctx: Context, product_id: UUID, variant_id: UUID) -> DeskVariant:
    found = [one for one in await product_pages.list_variants(ctx.db, product_id) if one.id == variant_id]
    if not found:
        raise NotFound()
    return found[0]


async def _check_unused(
    ctx: Context, types: Mapping[UUID, ChosenOptionType], wanted: Sequence[UUID], variants: Sequence[DeskVariant]
) -> None:
    used = {value_id for variant in variants for value_id in variant.option_value_ids}
    left = [found for found in types.values() if found.place is not None and found.id not in wanted]
    for value in await product_pages.list_option_values(ctx.db, [found.id for found in left]):
        if value.id in used:
            name = types[value.option_type_id].presentation
            raise Invalid({"option_type_ids": [f"must keep {name}: variants differ by it"]})


async def _check_chosen(ctx: Context, product_id: UUID, wanted: Sequence[UUID]) -> None:
    values = await _values_of(ctx, product_id)
    types = [found for found in await product_pages.list_option_types(ctx.db, product_id) if found.place is not None]
    chosen = {values[value_id].option_type_id for value_id in wanted if value_id in values}
    missing = {f"option-{found.id}": ["must be chosen"] for found in types if found.id not in chosen}
    if missing:
        raise Invalid(missing)


async def _values_of(ctx: Context, product_id: UUID) -> dict[UUID, OptionValue]:
    types = await product_pages.list_option_types(ctx.db, product_id)
    own = [found.id for found in types if found.place is not None]
    return {value.id: value for value in await product_pages.list_option_values(ctx.db, own)}


async def _make_values(ctx: Context, type_id: UUID, names: Sequence[str]) -> None:
    present = {value.name for value in await product_pages.list_option_values(ctx.db, [type_id])}
    for presentation in names:
        name = machine_name(presentation)
        if name not in present:
            fields = {"name": name, "presentation": presentation, "position": len(present)}
            await records.make(ctx, OPTION_VALUE, {"option_type_id": type_id, **fields})
            present.add(name)


async def _type_called(ctx: Context, presentation: str) -> UUID:
    found = await find_record(ctx.db, OPTION_TYPE.records, "name", machine_name(presentation))
    if found is not None:
        return UUID(str(found.id))
    return await records.make(ctx, OPTION_TYPE, {"name": machine_name(presentation), "presentation": presentation})


def _sku(prefix: str, combination: Sequence[UUID], values: Mapping[UUID, OptionValue]) -> str:
    return "-".join([prefix, *(values[value_id].name.upper() for value_id in combination)]) if prefix else ""
