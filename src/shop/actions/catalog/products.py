"""What is done with products and variants: made, changed, taken away; what a list shows of them follows in the same
transaction. Each runs inside the caller's.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any
from uuid import UUID

from shop.actions.context import Context, Shared
from shop.actions.records import plain
from shop.base.errors import Invalid, Lost, NotFound
from shop.base.ids import new_id
from shop.base.money import is_currency, minor_units
from shop.base.texts import slug_of
from shop.db.pool import Refused
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

Values = Mapping[str, Any]
PRICE = ("price", "compare_at_price")
MASTERS = ("sku", "barcode", "weight", "height", "width", "depth", "track_inventory")
"""What may be said of a product and is its master's."""


async def refresh(ctx: Context, product_ids: Iterable[UUID]) -> None:
    """Whatever changes what products show ends with this."""
    if ctx.stale is not None:
        ctx.stale.update(product_ids)
        return
    ids = list(product_ids)
    # First this, for it locks them in the order in which everybody does.
    await product_index.refresh(ctx.db, ids)
    await queries.touch(ctx.db, ids)


@asynccontextmanager
async def refreshing_once(ctx: Context) -> AsyncIterator[None]:
    """For work on many products: they are shown anew together, at the end. Inside the caller's transaction."""
    ctx.stale = set()
    try:
        yield
        stale = ctx.stale
    finally:
        ctx.stale = None
    await refresh(ctx, stale)


def shown_by_products(records: Records) -> dict[str, Any]:
    """The plain verbs of a record that products show: with each change they are shown anew."""
    verbs, table = plain(records), records.table

    async def create(ctx: Context, values: Values) -> UUID:
        if "taxon_id" in values:
            await queries.hold_taxonomies(ctx.db, [values["taxon_id"]])
        record_id: UUID = await verbs["create"](ctx, values)
        await refresh(ctx, await queries.list_owners(ctx.db, table, record_id))
        return record_id

    async def update(ctx: Context, record_id: UUID, values: Values) -> None:
        before = await queries.list_owners(ctx.db, table, record_id)
        await verbs["update"](ctx, record_id, values)
        await refresh(ctx, {*before, *await queries.list_owners(ctx.db, table, record_id)})

    async def delete(ctx: Context, record_id: UUID) -> None:
        before = await queries.list_owners(ctx.db, table, record_id)
        await verbs["delete"](ctx, record_id)
        await refresh(ctx, before)

    return {"create": create, "update": update, "delete": delete}


async def create_product(ctx: Context, values: Values) -> UUID:
    """With its master, and where a price is given, what that costs in the shop's first currency or the one named."""
    _raise(product_errors(values) | size_errors(values))
    product_id, master_id = new_id(), new_id()
    slug = values.get("slug") or await _slug(ctx, slug_of(values["name"]) or str(product_id))
    try:
        await writes.insert_record(ctx.db, products, product_id, {**_own(values, products), "slug": slug})
    except Refused as refused:
        if values.get("slug") or writes.columns_of(products, refused.constraint) != ("slug",):
            raise
        # Another product took the slug that we had found free: the next free one is another.
        raise Lost() from refused
    master = {
        "product_id": product_id,
        "is_master": True,
        **{name: values[name] for name in MASTERS if name in values},
    }
    await writes.insert_record(ctx.db, variants, master_id, master)
    await queries.free_slug(ctx.db, slug)
    await _set_price(ctx, master_id, values)
    await _link(ctx, product_id, values)
    await refresh(ctx, [product_id])
    return product_id


async def update_product(ctx: Context, product_id: UUID, values: Values) -> None:
    present, master = await queries.find_product(ctx.db, product_id), await queries.find_master(ctx.db, product_id)
    if present is None or master is None or present.deleted_at:
        raise NotFound()
    _raise(product_errors(values, present) | size_errors(values))
    fields = _own(values, products)
    if values.get("slug") and values["slug"] != present.slug:
        await queries.free_slug(ctx.db, values["slug"])
        await queries.keep_slug(ctx.db, present.slug, product_id)
    if fields:
        await writes.update_record(ctx.db, products, product_id, fields)
    masters = {name: values[name] for name in MASTERS if name in values}
    if masters:
        await writes.update_record(ctx.db, variants, master.id, masters)
    await _set_price(ctx, master.id, values)
    await _link(ctx, product_id, values)
    await refresh(ctx, [product_id])


async def delete_product(ctx: Context, product_id: UUID) -> None:
    """Hidden for good; what was ordered of it stays what it was."""
    await queries.remove_product(ctx.db, product_id)
    await product_index.refresh(ctx.db, [product_id])
    await queries.remove_variants(ctx.db, product_id)


async def show_due(shared: Shared) -> int:
    """Drafts become active, and products are shown or no longer, when their times have come. Says how many."""
    db = shared.database.session()
    async with db.transaction():
        ids = {*await queries.activate_due(db), *await product_index.list_due(db)}
        await product_index.refresh(db, ids)
    return len(ids)


async def create_variant(ctx: Context, values: Values) -> UUID:
    # Locked, so that of two with the same options the later one sees the earlier.
    await product_index.lock_products(ctx.db, [values["product_id"]])
    product = await queries.find_product(ctx.db, values["product_id"])
    if product is None or product.deleted_at:
        raise Invalid({"product_id": ["is not a product"]})
    _raise(size_errors(values))
    variant_id = new_id()
    fields = _own(values, variants) | _cost(ctx, values, None)
    await writes.insert_record(ctx.db, variants, variant_id, fields)
    await _set_options(ctx, product.id, variant_id, values)
    await _set_price(ctx, variant_id, values)
    await refresh(ctx, [product.id])
    return variant_id


async def update_variant(ctx: Context, variant_id: UUID, values: Values) -> None:
    variant = await queries.lock_variant(ctx.db, variant_id)
    if variant is None:
        raise NotFound()
    _raise(size_errors(values))
    fields = _own(values, variants) | _cost(ctx, values, variant)
    if fields:
        await writes.update_record(ctx.db, variants, variant_id, fields)
    await _set_options(ctx, variant.product_id, variant_id, values)
    await _set_price(ctx, variant_id, values)
    await refresh(ctx, [variant.product_id])


async def delete_variant(ctx: Context, variant_id: UUID) -> None:
    variant = await queries.lock_variant(ctx.db, variant_id)
    if variant is None:
        raise NotFound()
    if variant.is_master:
        raise Invalid({"base": ["is the product's master; remove the product instead"]})
    await queries.remove_variants(ctx.db, variant_id)
    await refresh(ctx, [variant.product_id])


async def create_property(ctx: Context, values: Values) -> UUID:
    record_id = new_id()
    fields = {**values, **property_fields(values["property_id"], values["value"])}
    await writes.insert_record(ctx.db, product_properties, record_id, fields)
    await refresh(ctx, [values["product_id"]])
    return record_id


async def update_property(ctx: Context, record_id: UUID, values: Values) -> None:
    fields = dict(values)
    if "value" in values:
        property_id = await writes.find_value(ctx.db, product_properties, record_id, "property_id")
        fields |= property_fields(property_id, values["value"])
    await writes.update_record(ctx.db, product_properties, record_id, fields)
    await refresh(ctx, await queries.list_owners(ctx.db, product_properties, record_id))


def price_units(amount: Decimal | None, currency: str, name: str) -> int | None:
    if amount is None:
        return None
    try:
        return minor_units(amount, currency)
    except ValueError as error:
        raise Invalid({name: [str(error)]}) from None


def in_units(values: Values, currency: str, names: Sequence[str]) -> dict[str, int | None]:
    """Of these amounts those that are given, in minor units; every one that is no price is named."""
    found: dict[str, int | None] = {}
    errors: dict[str, list[str]] = {}
    for name in (name for name in names if name in values):
        try:
            found[name] = price_units(values[name], currency, name)
        except Invalid as error:
            errors |= {field: list(words) for field, words in error.errors.items()}
    _raise(errors)
    return found


def check_currency(ctx: Context, currency: str, name: str = "currency") -> None:
    """Prices may be kept for a currency before the shop sells in it."""
    if not is_currency(currency):
        raise Invalid({name: ["must be the code of a currency, like USD or EUR"]})


async def _set_price(ctx: Context, variant_id: UUID, values: Values) -> None:
    """What is not said of a price that is there, it keeps."""
    if not values.keys() & set(PRICE):
        return
    currency = values.get("currency") or ctx.shared.shop.currencies[0]
    check_currency(ctx, currency)
    found = await queries.find_price(ctx.db, variant_id, currency)
    kept = {"price": found.amount, "compare_at_price": found.compare_at_amount} if found else {}
    amounts = {**kept, **in_units(values, currency, PRICE)}
    amount = amounts.get("price")
    if amount is None:
        if amounts.get("compare_at_price") is not None:
            raise Invalid({"price": ["must be given with compare_at_price"]})
        return
    await queries.set_price(
        ctx.db,
        price_id=new_id(),
        variant_id=variant_id,
        currency=currency,
        amount=amount,
        compare_at_amount=amounts.get("compare_at_price"),
    )


def _cost(ctx: Context, values: Values, present: Variant | None) -> dict[str, Any]:
    """What a variant costs the shop, in a currency of its own: an amount is nothing without it."""
    if "cost_price" not in values:
        if "cost_currency" in values and present and present.cost_price is not None:
            raise Invalid({"cost_price": ["must be given with cost_currency"]})
        if values.get("cost_currency"):
            check_currency(ctx, values["cost_currency"], "cost_currency")
        return {}
    currency = values.get("cost_currency") or (present and present.cost_currency) or ctx.shared.shop.currencies[0]
    check_currency(ctx, currency, "cost_currency")
    return {"cost_currency": currency, **in_units(values, currency, ("cost_price",))}


async def _set_options(ctx: Context, product_id: UUID, variant_id: UUID, values: Values) -> None:
    wanted = values.get("option_value_ids")
    if wanted is None:
        return
    chosen = await queries.list_chosen(ctx.db, wanted)
    others = await queries.list_others_options(ctx.db, product_id, variant_id)
    _raise(option_errors(chosen, wanted, others))
    await writes.replace_links(
        ctx.db, variant_option_values, ("variant_id", variant_id), "option_value_id", list(dict.fromkeys(wanted))
    )
    for position, (type_id, _) in enumerate(chosen):
        await queries.add_option_type(
            ctx.db, link_id=new_id(), product_id=product_id, option_type_id=type_id, position=position
        )


async def _link(ctx: Context, product_id: UUID, values: Values) -> None:
    owner = ("product_id", product_id)
    if "option_type_ids" in values:
        ids = list(dict.fromkeys(values["option_type_ids"]))
        if not set(ids) >= set(await queries.list_used_option_types(ctx.db, product_id)):
            raise Invalid({"option_type_ids": ["must name every option type that a variant has a value of"]})
        await writes.replace_links(ctx.db, product_option_types, owner, "option_type_id", ids, is_ordered=True)
    if "taxon_ids" in values:
        ids = list(dict.fromkeys(values["taxon_ids"]))
        # Held, so that nobody moves them between our look at the tree and the end of this.
        await queries.hold_taxonomies(ctx.db, ids)
        await writes.replace_links(ctx.db, classifications, owner, "taxon_id", ids)


async def _slug(ctx: Context, wanted: str) -> str:
    return free_slug(wanted, set(await queries.list_slugs(ctx.db, wanted)))


def _own(values: Values, table: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in table.c}


def _raise(errors: dict[str, list[str]]) -> None:
    if errors:
        raise Invalid(errors)
