"""Creates, updates and deletes products and variants, and refreshes the product index in the same transaction.

Each action runs in the caller's transaction.
"""

from collections.abc import AsyncIterator, Container, Iterable, Sequence
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import cast
from uuid import UUID

from shop.actions.context import Context, Shared
from shop.actions.event_subjects import PRICE as PRICE_SUBJECT
from shop.actions.event_subjects import PRODUCT, VARIANT
from shop.actions.events import note_change, note_event
from shop.actions.records import Values, WriteActions, default_actions
from shop.base.actor import SHOP_ACTOR
from shop.base.errors import Invalid, NotFound, TransactionConflict
from shop.base.ids import new_id
from shop.base.money import is_currency, minor_units
from shop.base.texts import slug_of
from shop.db.pool import ConstraintViolation
from shop.models.catalog.inputs import (
    ClassificationInput,
    ProductInput,
    ProductPropertyInput,
    VariantInput,
    VariantPriceInput,
)
from shop.models.catalog.products import (
    Variant,
    product_option_types,
    product_properties,
    products,
    variant_option_values,
    variants,
)
from shop.models.catalog.taxons import classifications
from shop.queries import writes
from shop.queries.catalog import product_index
from shop.queries.catalog import products as queries
from shop.queries.records import Records
from shop.rules.catalog.products import free_slug, option_errors, product_errors, property_fields, size_errors

PRICE = ("price", "compare_at_price")
MASTER_FIELDS = ("sku", "barcode", "weight", "height", "width", "depth", "track_inventory")
"""Product fields that are stored on the master variant."""


async def refresh_products(ctx: Context, product_ids: Iterable[UUID]) -> None:
    """Refreshes the product index; call it last after any change that affects products."""
    if ctx.pending_refresh is not None:
        ctx.pending_refresh.update(product_ids)
        return
    ids = list(product_ids)
    # The index refresh comes first: it locks products in the common lock order.
    await product_index.refresh(ctx.db, ids)
    await queries.touch_products(ctx.db, ids)


@asynccontextmanager
async def defer_refresh(ctx: Context) -> AsyncIterator[None]:
    """Defers index refreshes to the end of a bulk change, in the caller's transaction."""
    ctx.pending_refresh = set()
    try:
        yield
        pending_refresh = ctx.pending_refresh
    finally:
        ctx.pending_refresh = None
    await refresh_products(ctx, pending_refresh)


def build_product_part_actions(records: Records) -> WriteActions:
    """Returns default actions for records that are part of products; each change refreshes the products."""
    actions, table = default_actions(records), records.table

    async def create(ctx: Context, values: Values) -> UUID:
        record_id = await actions["create"](ctx, values)
        await refresh_products(ctx, await queries.list_owners(ctx.db, table, record_id))
        return record_id

    async def update(ctx: Context, record_id: UUID, values: Values) -> None:
        before = await queries.list_owners(ctx.db, table, record_id)
        await actions["update"](ctx, record_id, values)
        await refresh_products(ctx, {*before, *await queries.list_owners(ctx.db, table, record_id)})

    async def delete(ctx: Context, record_id: UUID) -> None:
        before = await queries.list_owners(ctx.db, table, record_id)
        await actions["delete"](ctx, record_id)
        await refresh_products(ctx, before)

    return {"create": create, "update": update, "delete": delete}


async def create_product(ctx: Context, values: ProductInput) -> UUID:
    """Creates a product with its master variant, and its price if given.

    The price is in the `currency` given, or the shop's first currency.
    """
    _raise_if_any(product_errors(values) | size_errors(values))
    product_id, master_id = new_id(), new_id()
    slug = values.get("slug") or await _slug(ctx, slug_of(values["name"]) or str(product_id))
    try:
        await writes.insert_record(ctx.db, products, product_id, {**_pick(values, products.c.keys()), "slug": slug})
    except ConstraintViolation as error:
        if values.get("slug") or writes.columns_of(products, error.constraint) != ("slug",):
            raise
        # Another product took the free slug in the meantime; the retry picks the next free one.
        raise TransactionConflict() from error
    master = {"product_id": product_id, "is_master": True, **_pick(values, MASTER_FIELDS)}
    note_change(ctx, VARIANT, master_id)
    await writes.insert_record(ctx.db, variants, master_id, master)
    await queries.delete_former_slug(ctx.db, slug)
    await _set_price(ctx, master_id, values)
    await _link(ctx, product_id, values)
    await refresh_products(ctx, [product_id])
    return product_id


async def update_product(ctx: Context, product_id: UUID, values: ProductInput) -> None:
    existing, master = await queries.find_product(ctx.db, product_id), await queries.find_master(ctx.db, product_id)
    if existing is None or master is None or existing.deleted_at:
        raise NotFound()
    _raise_if_any(product_errors(values, existing) | size_errors(values))
    fields = _pick(values, products.c.keys())
    if values.get("slug") and values["slug"] != existing.slug:
        await queries.delete_former_slug(ctx.db, values["slug"])
        await queries.save_former_slug(ctx.db, existing.slug, product_id)
    if fields:
        await writes.update_record(ctx.db, products, product_id, fields)
    if master_fields := _pick(values, MASTER_FIELDS):
        note_change(ctx, VARIANT, master.id, master)
        await writes.update_record(ctx.db, variants, master.id, master_fields)
    await _set_price(ctx, master.id, values)
    await _link(ctx, product_id, values)
    await refresh_products(ctx, [product_id])


async def delete_product(ctx: Context, product_id: UUID) -> None:
    """Soft-deletes a product with its variants; existing orders keep their line items."""
    await queries.remove_product(ctx.db, product_id)
    await product_index.refresh(ctx.db, [product_id])
    await queries.remove_variants(ctx.db, product_id)


async def update_due_products(shared: Shared) -> int:
    """Activates due drafts and updates products whose availability changes now; returns their number."""
    ctx = Context(shared)
    ctx.actor = SHOP_ACTOR
    async with ctx.db.transaction():
        ids = {*await queries.activate_due(ctx.db), *await product_index.list_due(ctx.db)}
        await product_index.refresh(ctx.db, ids)
        for product_id in sorted(ids):
            note_event(ctx, "product.updated", PRODUCT, product_id)
    return len(ids)


async def create_variant(ctx: Context, values: VariantInput) -> UUID:
    # Lock the product, so that of two concurrent variants with the same options the later one is rejected.
    await product_index.lock_products(ctx.db, [values["product_id"]])
    product = await queries.find_product(ctx.db, values["product_id"])
    if product is None or product.deleted_at:
        raise Invalid({"product_id": ["is not a product"]})
    _raise_if_any(size_errors(values))
    variant_id = new_id()
    fields = _pick(values, variants.c.keys()) | _cost(ctx, values, None)
    await writes.insert_record(ctx.db, variants, variant_id, fields)
    await _set_options(ctx, product.id, variant_id, values)
    await _set_price(ctx, variant_id, values)
    await refresh_products(ctx, [product.id])
    return variant_id


async def update_variant(ctx: Context, variant_id: UUID, values: VariantInput) -> None:
    variant = await queries.lock_variant(ctx.db, variant_id)
    if variant is None:
        raise NotFound()
    _raise_if_any(size_errors(values))
    fields = _pick(values, variants.c.keys()) | _cost(ctx, values, variant)
    if fields:
        await writes.update_record(ctx.db, variants, variant_id, fields)
    await _set_options(ctx, variant.product_id, variant_id, values)
    await _set_price(ctx, variant_id, values)
    await refresh_products(ctx, [variant.product_id])


async def delete_variant(ctx: Context, variant_id: UUID) -> None:
    variant = await queries.lock_variant(ctx.db, variant_id)
    if variant is None:
        raise NotFound()
    if variant.is_master:
        raise Invalid({"base": ["is the product's master; delete the product instead"]})
    await queries.remove_variants(ctx.db, variant_id)
    await refresh_products(ctx, [variant.product_id])


async def create_property(ctx: Context, values: ProductPropertyInput) -> UUID:
    record_id = new_id()
    fields: dict[str, object] = {**values, **property_fields(values["property_id"], values["value"])}
    await writes.insert_record(ctx.db, product_properties, record_id, fields)
    await refresh_products(ctx, [values["product_id"]])
    return record_id


async def update_property(ctx: Context, record_id: UUID, values: ProductPropertyInput) -> None:
    fields: dict[str, object] = {**values}
    if "value" in values:
        property_id = await writes.find_value(ctx.db, product_properties, record_id, "property_id")
        fields |= property_fields(property_id, values["value"])
    await writes.update_record(ctx.db, product_properties, record_id, fields)
    await refresh_products(ctx, await queries.list_owners(ctx.db, product_properties, record_id))


async def create_classification(ctx: Context, values: ClassificationInput) -> UUID:
    # Lock the taxonomy, so that the taxon does not move before this transaction ends.
    await queries.lock_taxonomies_of(ctx.db, [values["taxon_id"]])
    record_id = new_id()
    await writes.insert_record(ctx.db, classifications, record_id, values)
    await refresh_products(ctx, [values["product_id"]])
    return record_id


def price_units(amount: Decimal | None, currency: str, name: str) -> int | None:
    if amount is None:
        return None
    try:
        return minor_units(amount, currency)
    except ValueError as error:
        raise Invalid({name: [str(error)]}) from None


def to_minor_units(values: Values, currency: str, names: Sequence[str]) -> dict[str, int | None]:
    """Converts the given amounts to minor units; raises Invalid with every amount that is not a valid price."""
    amounts: dict[str, int | None] = {}
    errors: dict[str, list[str]] = {}
    for name in (name for name in names if name in values):
        try:
            amounts[name] = price_units(cast(Decimal | None, values[name]), currency, name)
        except Invalid as error:
            errors |= {field: list(words) for field, words in error.errors.items()}
    _raise_if_any(errors)
    return amounts


def check_currency(ctx: Context, currency: str, name: str = "currency") -> None:
    """Raises Invalid unless it is a currency code; the shop does not need to sell in that currency yet."""
    if not is_currency(currency):
        raise Invalid({name: ["must be the code of a currency, like USD or EUR"]})


async def _set_price(ctx: Context, variant_id: UUID, values: VariantPriceInput) -> None:
    """Sets the price of a variant; omitted amounts of an existing price stay unchanged."""
    if not values.keys() & set(PRICE):
        return
    currency = values.get("currency") or ctx.shared.shop.currencies[0]
    check_currency(ctx, currency)
    price = await queries.find_price(ctx.db, variant_id, currency)
    current = {"price": price.amount, "compare_at_price": price.compare_at_amount} if price else {}
    amounts = {**current, **to_minor_units(values, currency, PRICE)}
    amount = amounts.get("price")
    if amount is None:
        if amounts.get("compare_at_price") is not None:
            raise Invalid({"price": ["is required with compare_at_price"]})
        return
    price_id = price.id if price else new_id()
    note_change(ctx, PRICE_SUBJECT, price_id, price)
    await queries.set_price(
        ctx.db,
        price_id=price_id,
        variant_id=variant_id,
        currency=currency,
        amount=amount,
        compare_at_amount=amounts.get("compare_at_price"),
    )


def _cost(ctx: Context, values: VariantInput, existing: Variant | None) -> dict[str, object]:
    """Returns the cost price with its currency; a cost price requires a currency."""
    currency = values.get("cost_currency")
    if "cost_price" not in values:
        if "cost_currency" in values and existing and existing.cost_price is not None:
            raise Invalid({"cost_price": ["is required with cost_currency"]})
        if currency:
            check_currency(ctx, currency, "cost_currency")
        return {}
    current = existing.cost_currency if existing else None
    currency = currency or current or ctx.shared.shop.currencies[0]
    check_currency(ctx, currency, "cost_currency")
    return {"cost_currency": currency, **to_minor_units(values, currency, ("cost_price",))}


async def _set_options(ctx: Context, product_id: UUID, variant_id: UUID, values: VariantInput) -> None:
    value_ids = values.get("option_value_ids")
    if value_ids is None:
        return
    option_pairs = await queries.list_option_pairs(ctx.db, value_ids)
    others = await queries.list_other_variant_options(ctx.db, product_id, variant_id)
    _raise_if_any(option_errors(option_pairs, value_ids, others))
    await writes.replace_links(
        ctx.db, variant_option_values, ("variant_id", variant_id), "option_value_id", list(dict.fromkeys(value_ids))
    )
    for position, (type_id, _) in enumerate(option_pairs):
        await queries.add_option_type(
            ctx.db, link_id=new_id(), product_id=product_id, option_type_id=type_id, position=position
        )


async def _link(ctx: Context, product_id: UUID, values: ProductInput) -> None:
    owner = ("product_id", product_id)
    if "option_type_ids" in values:
        ids = list(dict.fromkeys(values["option_type_ids"]))
        if not set(ids) >= set(await queries.list_used_option_types(ctx.db, product_id)):
            raise Invalid({"option_type_ids": ["must include every option type used by a variant"]})
        await writes.replace_links(ctx.db, product_option_types, owner, "option_type_id", ids, is_ordered=True)
    if "taxon_ids" in values:
        ids = list(dict.fromkeys(values["taxon_ids"]))
        # Lock the taxonomies, so that no taxon moves before this transaction ends.
        await queries.lock_taxonomies_of(ctx.db, ids)
        await writes.replace_links(ctx.db, classifications, owner, "taxon_id", ids)


async def _slug(ctx: Context, base_slug: str) -> str:
    return free_slug(base_slug, set(await queries.list_slugs(ctx.db, base_slug)))


def _pick(values: Values, names: Container[str]) -> dict[str, object]:
    return {name: value for name, value in values.items() if name in names}


def _raise_if_any(errors: dict[str, list[str]]) -> None:
    if errors:
        raise Invalid(errors)
