"""Product forms; each form saves all of its fields or none."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from uuid import UUID

import msgspec

from shop.actions import records
from shop.actions.catalog.resources import PRICE, PRODUCT, PRODUCT_PROPERTY, PROPERTY
from shop.actions.context import Context
from shop.base.errors import Conflict, Invalid, NotFound
from shop.base.texts import slug_of
from shop.models.catalog.prices import Price
from shop.models.catalog.products import Product
from shop.queries.catalog_admin import products as product_pages
from shop.queries.catalog_admin import taxons as taxon_pages
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
    "tax_category_id",
    "shipping_category_id",
)
CONFLICT = "Someone else changed this product; review the current values before you save."


class PriceCell(msgspec.Struct, frozen=True):
    """The new price of a variant in a currency; without an amount, it is not for sale in that currency."""

    variant_id: UUID
    currency: str
    amount: Decimal | None
    compare_at_amount: Decimal | None


async def get_product(ctx: Context, product_id: UUID) -> Product:
    product = await find_record(ctx.db, PRODUCT.records, "id", product_id)
    if not isinstance(product, Product):
        raise NotFound()
    return product


def fingerprint_details(product: Product) -> str:
    """Returns a fingerprint for the form; a save is rejected if the details have changed since."""
    return fingerprint({name: getattr(product, name) for name in DETAILS})


def fingerprint_prices(prices: Sequence[Price]) -> str:
    return fingerprint(
        {f"{price.variant_id}{price.currency}": (price.amount, price.compare_at_amount) for price in prices}
    )


async def change_details(ctx: Context, product_id: UUID, values: records.Values, *, expected_fingerprint: str) -> None:
    """Changes a product in the caller's transaction; raises Conflict if its details are no longer those of the form."""
    product = await lock_product(ctx, product_id)
    if fingerprint_details(product) != expected_fingerprint:
        raise Conflict(CONFLICT)
    await records.change(ctx, PRODUCT, product_id, values)


async def set_status(ctx: Context, product_id: UUID, status: str) -> None:
    async with ctx.db.transaction():
        await records.change(ctx, PRODUCT, product_id, {"status": status})


async def change_taxons(ctx: Context, product_id: UUID, taxon_ids: Sequence[UUID], former_ids: Sequence[UUID]) -> None:
    """Applies the ticks that an operator changed; `former_ids` were ticked before. Other placements stay."""
    async with ctx.db.transaction():
        await lock_product(ctx, product_id)
        existing = await taxon_pages.list_taxon_ids_of(ctx.db, product_id)
        removed_ids = set(former_ids) - set(taxon_ids)
        new_ids = [each for each in taxon_ids if each not in former_ids and each not in existing]
        latest_ids = [each for each in existing if each not in removed_ids] + new_ids
        if latest_ids != existing:
            await records.change(ctx, PRODUCT, product_id, {"taxon_ids": latest_ids})


async def save_prices(ctx: Context, product_id: UUID, cells: Sequence[PriceCell], *, expected_fingerprint: str) -> int:
    """Saves the prices of a product; returns the number of changed prices."""
    async with ctx.db.transaction():
        await lock_product(ctx, product_id)
        variant_ids = [variant.id for variant in await product_pages.list_variants(ctx.db, product_id)]
        prices = await product_pages.list_prices(ctx.db, variant_ids)
        if fingerprint_prices(prices) != expected_fingerprint:
            raise Conflict(CONFLICT)
        existing = {(price.variant_id, price.currency): price for price in prices}
        return sum(
            [
                await _save_price(ctx, cell, existing.get((cell.variant_id, cell.currency)))
                for cell in cells
                if cell.variant_id in variant_ids
            ]
        )


async def _save_price(ctx: Context, cell: PriceCell, existing: Price | None) -> bool:
    amounts = {"amount": cell.amount, "compare_at_amount": cell.compare_at_amount}
    if cell.amount is None:
        if existing:
            await records.remove(ctx, PRICE, existing.id)
        return existing is not None
    if existing:
        return await records.change(ctx, PRICE, existing.id, amounts)
    await records.make(ctx, PRICE, {"variant_id": cell.variant_id, "currency": cell.currency, **amounts})
    return True


async def save_properties(
    ctx: Context,
    product_id: UUID,
    values: Mapping[UUID, str],
    former: Mapping[UUID, str],
    *,
    new: tuple[str, str] | None,
) -> None:
    """Saves changed property values; an empty value deletes the property. `former` has the values that the form showed:
    one that someone else changed meanwhile is refused. `new` is the name and value of a new property.
    """
    async with ctx.db.transaction():
        await lock_product(ctx, product_id)
        existing = {
            product_property.id: product_property
            for product_property in await product_pages.list_product_properties(ctx.db, product_id)
        }
        conflicts = {
            f"value-{record_id}": [f"was changed to “{row.value}” meanwhile; save again to replace it"]
            for record_id, row in existing.items()
            if record_id in values and row.value not in (former.get(record_id, row.value), values[record_id])
        }
        if conflicts:
            raise Invalid(conflicts)
        for record_id, value in values.items():
            if record_id in existing and not value:
                await records.remove(ctx, PRODUCT_PROPERTY, record_id)
            elif record_id in existing:
                await records.change(ctx, PRODUCT_PROPERTY, record_id, {"value": value})
        if new:
            property_id = await _find_or_create_property(ctx, new[0])
            if property_id in {product_property.property_id for product_property in existing.values()}:
                raise Invalid({"new_name": ["already exists; change its value above"]})
            fields = {"property_id": property_id, "value": new[1], "position": len(existing)}
            await records.make(ctx, PRODUCT_PROPERTY, {"product_id": product_id, **fields})


async def lock_product(ctx: Context, product_id: UUID) -> Product:
    """Locks a product, so that concurrent saves run one after the other."""
    product = await lock_record(ctx.db, PRODUCT.records, product_id)
    if not isinstance(product, Product):
        raise NotFound()
    return product


async def _find_or_create_property(ctx: Context, presentation: str) -> UUID:
    existing = await find_record(ctx.db, PROPERTY.records, "name", machine_name(presentation))
    if existing is not None:
        return UUID(str(existing.id))
    return await records.make(ctx, PROPERTY, {"name": machine_name(presentation), "presentation": presentation})


def machine_name(presentation: str) -> str:
    """Returns the internal name for a presentation name."""
    return slug_of(presentation) or presentation.casefold()
