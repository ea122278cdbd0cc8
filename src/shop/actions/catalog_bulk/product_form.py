"""Saves products with variants, prices and stock in one transaction each, and duplicates products."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from shop.actions import records
from shop.actions.catalog.images import copy_image
from shop.actions.catalog.products import defer_refresh
from shop.actions.catalog.resources import PRODUCT, PRODUCT_PROPERTY, VARIANT
from shop.actions.catalog_admin.products import CONFLICT, change_details, get_product, lock_product, machine_name
from shop.actions.catalog_admin.variants import create_values, find_or_create_option_type
from shop.actions.catalog_bulk.cells import apply_edits
from shop.actions.context import Context
from shop.base.errors import Conflict, Invalid, NotFound, Unavailable
from shop.models.catalog.inputs import ProductInput, VariantInput
from shop.models.catalog_bulk.cells import CellEdit
from shop.queries.catalog import images as image_queries
from shop.queries.catalog_admin import products as product_pages
from shop.queries.catalog_admin import taxons as taxon_pages
from shop.queries.catalog_admin.products import AdminVariant
from shop.queries.catalog_bulk import cells as queries
from shop.rules.catalog_bulk.cells import CHANGED
from shop.rules.catalog_bulk.product_form import COPY_PREFIX, Combination, OptionChoice
from shop.rules.form_values import amount_text

_COPIED = (
    *("description", "meta_title", "meta_description", "meta_keywords", "promotionable", "tags"),
    *("tax_category_id", "shipping_category_id", "public_metadata", "private_metadata"),
)
_SIZES = ("weight", "height", "width", "depth")


class NewVariant(msgspec.Struct, frozen=True):
    """A variant to create, or the product itself: its options and the texts of its cells by column."""

    combination: Combination | None
    cells: Mapping[str, str]


async def create_full_product(
    ctx: Context,
    values: ProductInput,
    options: Sequence[OptionChoice],
    variants: Sequence[NewVariant],
    sizes: VariantInput,
) -> tuple[UUID, dict[str, UUID]]:
    """Creates a product with everything that its form has; returns its id, and the variants by key of the combination.

    Raises Invalid with the field of each cell that is refused; nothing is saved then.
    """
    async with ctx.db.transaction():
        async with defer_refresh(ctx):
            product_id = await records.make(ctx, PRODUCT, values)
            value_ids = await _create_options(ctx, product_id, options)
            ids_by_key: dict[str, UUID] = {}
            for position, variant in enumerate(each for each in variants if each.combination):
                combination = variant.combination
                if combination is None:
                    continue
                ids = [
                    value_ids[option.name, machine_name(value)]
                    for option, value in zip(options, combination.values, strict=True)
                ]
                fields: VariantInput = {"product_id": product_id, "position": position, "option_value_ids": ids}
                ids_by_key[combination.key] = await records.make(ctx, VARIANT, {**fields, **sizes})
        await _fill_cells(ctx, product_id, variants, ids_by_key)
    return product_id, ids_by_key


async def _create_options(
    ctx: Context, product_id: UUID, options: Sequence[OptionChoice]
) -> dict[tuple[str, str], UUID]:
    """Adds options to a product; returns the ids of their values by option and machine name."""
    value_ids: dict[tuple[str, str], UUID] = {}
    type_ids = []
    for option in options:
        type_id = await find_or_create_option_type(ctx, option.name)
        await create_values(ctx, type_id, option.values)
        for value in await product_pages.list_option_values(ctx.db, [type_id]):
            value_ids[option.name, value.name] = value.id
        type_ids.append(type_id)
    if type_ids:
        await records.change(ctx, PRODUCT, product_id, {"option_type_ids": type_ids})
    return value_ids


async def _fill_cells(
    ctx: Context, product_id: UUID, variants: Sequence[NewVariant], ids_by_key: Mapping[str, UUID]
) -> None:
    """Writes SKUs, prices, costs and stock."""
    master = next(each for each in await product_pages.list_variants(ctx.db, product_id) if each.is_master)
    keys = {ids_by_key[each.combination.key] if each.combination else master.id: each for each in variants}
    edits = [
        CellEdit(owner_id, column, "", text)
        for owner_id, variant in keys.items()
        for column, text in variant.cells.items()
        if text
    ]
    result = await apply_edits(ctx, edits)
    errors: dict[str, list[str]] = {}
    for problem in result.problems:
        combination = keys[problem.edit.owner_id].combination
        name = f"{problem.edit.column}-{combination.key}" if combination else problem.edit.column
        errors.setdefault(name, []).append(problem.message)
    if errors:
        raise Invalid(errors)


async def change_full_product(
    ctx: Context,
    product_id: UUID,
    values: records.Values,
    edits: Sequence[CellEdit],
    *,
    expected_fingerprint: str,
) -> None:
    """Saves the details of a product and the cells of its variants.

    Raises Conflict if someone else changed one of them, and Invalid with the owner and column of each cell that is
    refused; nothing is saved then.
    """
    async with ctx.db.transaction(), defer_refresh(ctx):
        await change_details(ctx, product_id, values, expected_fingerprint=expected_fingerprint)
        owner_ids = await queries.list_product_ids(ctx.db, [edit.owner_id for edit in edits])
        if {*owner_ids} - {product_id}:
            raise NotFound()
        problems = (await apply_edits(ctx, edits)).problems
        if any(problem.message == CHANGED for problem in problems):
            raise Conflict(CONFLICT)
        if problems:
            raise Invalid({problem.edit.cell_id: [problem.message] for problem in problems})


async def duplicate_product(ctx: Context, product_id: UUID) -> tuple[UUID, bool]:
    """Creates a draft with the same details, variants, prices, categories, properties and images: without SKUs, stock
    and dates. Returns its id, and whether all images were copied.
    """
    copy_id, variant_ids = await _duplicate_rows(ctx, product_id)
    return copy_id, await _copy_images(ctx, product_id, copy_id, variant_ids)


async def _duplicate_rows(ctx: Context, product_id: UUID) -> tuple[UUID, dict[UUID, UUID]]:
    """Copies everything except the images; returns the id of the copy, and its variants by those of the product."""
    async with ctx.db.transaction():
        await lock_product(ctx, product_id)
        product = await get_product(ctx, product_id)
        types = await product_pages.list_option_types(ctx.db, product_id)
        variants = await product_pages.list_variants(ctx.db, product_id)
        master = next(variant for variant in variants if variant.is_master)
        values: dict[str, Any] = {
            **{name: getattr(product, name) for name in _COPIED},
            **{name: getattr(master, name) for name in _SIZES},
            "name": f"{COPY_PREFIX}{product.name}"[:250],
            "status": "draft",
            "track_inventory": master.track_inventory,
            "taxon_ids": await taxon_pages.list_taxon_ids_of(ctx.db, product_id),
            "option_type_ids": [each.id for each in types if each.product_position is not None],
        }
        async with defer_refresh(ctx):
            copy_id = await records.make(ctx, PRODUCT, values)
            await _copy_properties(ctx, product_id, copy_id)
            ids = {variant.id: await _copy_variant(ctx, copy_id, variant) for variant in variants if variant != master}
        copy_master = next(each for each in await product_pages.list_variants(ctx.db, copy_id) if each.is_master)
        variant_ids = {master.id: copy_master.id, **ids}
        await _copy_cells(ctx, variants, variant_ids)
    return copy_id, variant_ids


async def _copy_images(ctx: Context, product_id: UUID, copy_id: UUID, variant_ids: Mapping[UUID, UUID]) -> bool:
    """Copies images one by one, after the copy exists; returns whether all were copied."""
    images = await image_queries.list_images(ctx.db, product_id)
    # Images of a variant that was removed since are left out.
    pairs = [(image, variant_ids.get(image.variant_id)) for image in images if image.variant_id]
    try:
        copies = [await copy_image(ctx, image, copy_id, variant_id) for image, variant_id in pairs if variant_id]
    except Unavailable:
        return False
    return all(copies)


async def _copy_properties(ctx: Context, product_id: UUID, copy_id: UUID) -> None:
    for row in await product_pages.list_product_properties(ctx.db, product_id):
        fields = {"property_id": row.property_id, "value": row.value, "position": row.position}
        await records.make(ctx, PRODUCT_PROPERTY, {"product_id": copy_id, "show_property": row.show_property, **fields})


async def _copy_variant(ctx: Context, product_id: UUID, variant: AdminVariant) -> UUID:
    values: VariantInput = {
        "product_id": product_id,
        "position": variant.position,
        "track_inventory": variant.track_inventory,
        "tax_category_id": variant.tax_category_id,
        "option_value_ids": variant.option_value_ids,
        "weight": variant.weight,
        "height": variant.height,
        "width": variant.width,
        "depth": variant.depth,
    }
    return await records.make(ctx, VARIANT, values)


async def _copy_cells(ctx: Context, variants: Sequence[AdminVariant], ids: Mapping[UUID, UUID]) -> None:
    """Copies prices and costs; a cost in another than the shop's first currency has to be entered again."""
    edits = [
        CellEdit(ids[price.variant_id], f"{name}-{price.currency}", "", amount_text(amount, price.currency))
        for price in await product_pages.list_prices(ctx.db, list(ids))
        for name, amount in (("price", price.amount), ("compare", price.compare_at_amount))
        if amount is not None
    ]
    currency = ctx.shared.shop.currencies[0]
    edits += [
        CellEdit(ids[variant.id], "cost", "", amount_text(variant.cost_price, currency))
        for variant in variants
        if variant.cost_price is not None and variant.cost_currency == currency
    ]
    await apply_edits(ctx, edits)
