"""What operators do with a product in one go: each form is saved whole or not at all."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec

from shop.actions import records
from shop.actions.catalog.resources import PRICE, PRODUCT, PRODUCT_PROPERTY, PROPERTY
from shop.actions.context import Context
from shop.base.errors import Conflict, Invalid, NotFound
from shop.base.texts import slug_of
from shop.models.catalog.prices import Price
from shop.models.catalog.products import Product
from shop.queries.catalog_pages import products as product_pages
from shop.queries.catalog_pages import taxons as taxon_pages
from shop.queries.records import find_record, lock_record
from shop.rules.form_values import fingerprint

DETAILS = (
    "name",
    "slug",
    "description",
    "status",
    "available_on",
    "make_active_at",
    "discontinue_on",
    "tags",
    "meta_title",
    "meta_description",
    "meta_keywords",
)
_MEANWHILE = "Somebody changed this product meanwhile; look at what is there now before you save what you typed."


class Cell(msgspec.Struct, frozen=True):
    """What a variant is to cost in a currency; without an amount it is not sold in it."""

    variant_id: UUID
    currency: str
    amount: Decimal | None
    compare_at_amount: Decimal | None


async def get_product(ctx: Context, product_id: UUID) -> Product:
    found = await find_record(ctx.db, PRODUCT.records, "id", product_id)
    if not isinstance(found, Product):
        raise NotFound()
    return found


def details_seen(product: Product) -> str:
    """Stands in the form: only who saw these details may change them."""
    return fingerprint({name: getattr(product, name) for name in DETAILS})


def prices_seen(prices: Sequence[Price]) -> str:
    return fingerprint(
        {f"{price.variant_id}{price.currency}": (price.amount, price.compare_at_amount) for price in prices}
    )


async def change_details(ctx: Context, product_id: UUID, values: Mapping[str, Any], *, seen: str) -> None:
    async with ctx.db.transaction():
        product = await lock_product(ctx, product_id)
        if details_seen(product) != seen:
            raise Conflict(_MEANWHILE)
        await records.change(ctx, PRODUCT, product_id, values)


async def set_status(ctx: Context, product_id: UUID, status: str) -> None:
    async with ctx.db.transaction():
        await records.change(ctx, PRODUCT, product_id, {"status": status})


async def set_taxons(ctx: Context, product_id: UUID, taxon_ids: Sequence[UUID]) -> None:
    async with ctx.db.transaction():
        await lock_product(ctx, product_id)
        present = await taxon_pages.list_taxon_ids_of(ctx.db, product_id)
        if set(present) != set(taxon_ids):
            # Those it had stay where they stand among each other.
            kept = [taxon_id for taxon_id in present if taxon_id in taxon_ids]
            new = [taxon_id for taxon_id in taxon_ids if taxon_id not in present]
            await records.change(ctx, PRODUCT, product_id, {"taxon_ids": kept + new})


async def save_prices(ctx: Context, product_id: UUID, cells: Sequence[Cell], *, seen: str) -> int:
    """Says how many prices changed."""
    async with ctx.db.transaction():
        await lock_product(ctx, product_id)
        own = [variant.id for variant in await product_pages.list_variants(ctx.db, product_id)]
        prices = await product_pages.list_prices(ctx.db, own)
        if prices_seen(prices) != seen:
            raise Conflict(_MEANWHILE)
        present = {(price.variant_id, price.currency): price for price in prices}
        return sum(
            [
                await _save_price(ctx, cell, present.get((cell.variant_id, cell.currency)))
                for cell in cells
                if cell.variant_id in own
            ]
        )


async def _save_price(ctx: Context, cell: Cell, present: Price | None) -> bool:
    amounts = {"amount": cell.amount, "compare_at_amount": cell.compare_at_amount}
    if cell.amount is None:
        if present:
            await records.remove(ctx, PRICE, present.id)
        return present is not None
    if present:
        return await records.change(ctx, PRICE, present.id, amounts)
    await records.make(ctx, PRICE, {"variant_id": cell.variant_id, "currency": cell.currency, **amounts})
    return True


async def save_properties(
    ctx: Context, product_id: UUID, values: Mapping[UUID, str], *, new: tuple[str, str] | None
) -> None:
    """A value that was emptied takes the property away; `new` is a name and its value."""
    async with ctx.db.transaction():
        await lock_product(ctx, product_id)
        present = {found.id: found for found in await product_pages.list_product_properties(ctx.db, product_id)}
        for record_id, value in values.items():
            if record_id in present and not value:
                await records.remove(ctx, PRODUCT_PROPERTY, record_id)
            elif record_id in present:
                await records.change(ctx, PRODUCT_PROPERTY, record_id, {"value": value})
        if new:
            property_id = await _property_called(ctx, new[0])
            if property_id in {found.property_id for found in present.values()}:
                raise Invalid({"new_name": ["is there already; change its value above"]})
            fields = {"property_id": property_id, "value": new[1], "position": len(present)}
            await records.make(ctx, PRODUCT_PROPERTY, {"product_id": product_id, **fields})


async def lock_product(ctx: Context, product_id: UUID) -> Product:
    """Of two who save at once the later one sees what the earlier one left."""
    found = await lock_record(ctx.db, PRODUCT.records, product_id)
    if not isinstance(found, Product):
        raise NotFound()
    return found


async def _property_called(ctx: Context, presentation: str) -> UUID:
    found = await find_record(ctx.db, PROPERTY.records, "name", machine_name(presentation))
    if found is not None:
        return UUID(str(found.id))
    return await records.make(ctx, PROPERTY, {"name": machine_name(presentation), "presentation": presentation})


def machine_name(presentation: str) -> str:
    """What machines call it."""
    return slug_of(presentation) or presentation.casefold()
