"""Statements that change products, variants and their related rows, and find the products a change affects."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Table, Text, bindparam, delete, func, literal_column, or_, select, update
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, any_of, dynamic_statement, into, statement
from shop.models.catalog.prices import Price, prices
from shop.models.catalog.products import (
    Product,
    Variant,
    option_values,
    product_option_types,
    product_slugs,
    products,
    variant_option_values,
    variants,
)
from shop.models.catalog.stock import stock_items
from shop.models.catalog.taxons import classifications, taxonomies, taxons
from shop.queries.catalog.product_index import lock_products

_ID = PG_UUID(as_uuid=True)
_IDS = ARRAY(_ID)
_now = func.now()
_id = bindparam("id", type_=_ID)


def _first(record: Any) -> UUID:
    return cast(UUID, record[0])


_PRODUCT = statement(select(products).where(products.c.id == _id), into(Product))
_LOCK_VARIANT = statement(
    select(variants)
    .where(variants.c.id == _id, variants.c.deleted_at.is_(None))
    .with_for_update(key_share=True, of=variants),
    into(Variant),
)
_PRICE = statement(
    select(prices).where(
        prices.c.variant_id == bindparam("variant_id", type_=_ID),
        prices.c.currency == bindparam("currency", type_=Text()),
    ),
    into(Price),
)
_MASTER = statement(select(variants).where(variants.c.product_id == _id, variants.c.is_master), into(Variant))
_slug = bindparam("slug", type_=Text())
_SLUGS = statement(
    select(products.c.slug).where(
        products.c.deleted_at.is_(None),
        or_(products.c.slug == _slug, products.c.slug.like(_slug + "-%")),
    ),
    lambda record: cast(str, record[0]),
)
_insert_slug = insert(product_slugs).values(slug=bindparam("slug"), product_id=bindparam("product_id"), created_at=_now)
_SAVE_FORMER_SLUG = statement(
    _insert_slug.on_conflict_do_update(
        index_elements=["slug"], set_={"product_id": _insert_slug.excluded.product_id, "created_at": _now}
    ).returning(product_slugs.c.product_id),
    _first,
)
_DELETE_FORMER_SLUG = statement(
    delete(product_slugs).where(product_slugs.c.slug == bindparam("slug")).returning(product_slugs.c.product_id), _first
)
_REMOVE_PRODUCT = statement(
    update(products).where(products.c.id == _id).values(deleted_at=_now, updated_at=_now).returning(products.c.id),
    _first,
)
_REMOVE_VARIANTS = statement(
    update(variants)
    .where(or_(variants.c.id == _id, variants.c.product_id == _id), variants.c.deleted_at.is_(None))
    .values(deleted_at=_now, updated_at=_now)
    .returning(variants.c.id),
    _first,
)
_TOUCH = statement(
    update(products).where(products.c.id == any_of("ids", _ID)).values(updated_at=_now).returning(products.c.id),
    _first,
)
_DUE = statement(
    select(products.c.id)
    .where(products.c.status == "draft", products.c.make_active_at <= _now, products.c.deleted_at.is_(None))
    .limit(literal_column("100"))
    .with_for_update(skip_locked=True),
    _first,
)
_ACTIVATE = statement(
    update(products)
    .where(products.c.id == any_of("ids", _ID))
    .values(status="active", make_active_at=None, updated_at=_now)
    .returning(products.c.id),
    _first,
)
_insert_price = insert(prices).values(
    id=bindparam("id"),
    variant_id=bindparam("variant_id"),
    currency=bindparam("currency"),
    amount=bindparam("amount"),
    compare_at_amount=bindparam("compare_at_amount"),
    created_at=_now,
    updated_at=_now,
)
_SET_PRICE = statement(
    _insert_price.on_conflict_do_update(
        index_elements=["variant_id", "currency"],
        set_={
            "amount": _insert_price.excluded.amount,
            "compare_at_amount": _insert_price.excluded.compare_at_amount,
            "updated_at": _now,
        },
    ).returning(prices.c.id),
    _first,
)
_OPTION_PAIRS = statement(
    select(option_values.c.option_type_id, option_values.c.id).where(option_values.c.id == any_of("ids", _ID)),
    lambda record: cast(tuple[UUID, UUID], tuple(record)),
)
_OTHER_VARIANT_OPTIONS = statement(
    select(func.array_agg(variant_option_values.c.option_value_id, type_=_IDS))
    .join(variants, variants.c.id == variant_option_values.c.variant_id)
    .where(
        variants.c.product_id == bindparam("product_id", type_=_ID),
        variants.c.id != bindparam("but", type_=_ID),
        variants.c.deleted_at.is_(None),
    )
    .group_by(variants.c.id),
    lambda record: frozenset(cast(list[UUID], record[0])),
)
_USED_TYPES = statement(
    select(option_values.c.option_type_id)
    .join(variant_option_values, variant_option_values.c.option_value_id == option_values.c.id)
    .join(variants, variants.c.id == variant_option_values.c.variant_id)
    .where(variants.c.product_id == _id, variants.c.deleted_at.is_(None))
    .distinct(),
    _first,
)
# The product needs the option types of its variants to offer the choice on its page.
_ADD_OPTION_TYPES = statement(
    insert(product_option_types)
    .values(
        id=bindparam("id"),
        product_id=bindparam("product_id"),
        option_type_id=bindparam("option_type_id"),
        position=bindparam("position"),
        created_at=_now,
        updated_at=_now,
    )
    .on_conflict_do_nothing(index_elements=["product_id", "option_type_id"])
    .returning(product_option_types.c.id),
    _first,
)

_LOCK_TAXONOMIES = statement(
    select(taxonomies.c.id)
    .where(taxonomies.c.id.in_(select(taxons.c.taxonomy_id).where(taxons.c.id == any_of("ids", _ID))))
    .order_by(taxonomies.c.id)
    .with_for_update(read=True, key_share=True),
    _first,
)

# By table of the changed record: the products that display it.
_BY_VARIANT = select(variants.c.product_id).join_from(variant_option_values, variants)
_OWNERS: dict[str, Any] = {
    "products": select(products.c.id).where(products.c.id == _id),
    "variants": select(variants.c.product_id).where(variants.c.id == _id),
    "option_values": _BY_VARIANT.where(variant_option_values.c.option_value_id == _id),
    # Includes products without such a variant, so that one of two concurrent writers sees the other's change.
    "option_types": select(product_option_types.c.product_id)
    .where(product_option_types.c.option_type_id == _id)
    .union(
        _BY_VARIANT.join(option_values, option_values.c.id == variant_option_values.c.option_value_id).where(
            option_values.c.option_type_id == _id
        )
    ),
    "prices": select(variants.c.product_id)
    .join(prices, prices.c.variant_id == variants.c.id)
    .where(prices.c.id == _id),
    "taxons": select(classifications.c.product_id)
    .join(taxons, taxons.c.id == classifications.c.taxon_id)
    .where(taxons.c.taxonomy_id == select(taxons.c.taxonomy_id).where(taxons.c.id == _id).scalar_subquery()),
    "stock_items": select(variants.c.product_id)
    .join(stock_items, stock_items.c.variant_id == variants.c.id)
    .where(stock_items.c.id == _id),
    "stock_locations": select(variants.c.product_id)
    .join(stock_items, stock_items.c.variant_id == variants.c.id)
    .where(stock_items.c.stock_location_id == _id),
}


@lru_cache(maxsize=64)
def _owners(table: Table) -> Statement[UUID]:
    clause = _OWNERS.get(table.name)
    if clause is None:
        column = table.c.product_id if "product_id" in table.c else None
        if column is not None:
            clause = select(column).where(table.c.id == _id)
        else:
            # A property is displayed by the products that have a value for it.
            link_table = table.metadata.tables[f"product_{table.name}"]
            clause = select(link_table.c.product_id).where(link_table.c.property_id == _id)
    return dynamic_statement(select(clause.subquery().c[0]).distinct(), _first)


async def list_owners(db: DatabaseSession, table: Table, record_id: UUID) -> list[UUID]:
    """Returns the products that display this record."""
    return await db.all(_owners(table), id=record_id)


async def find_product(db: DatabaseSession, product_id: UUID) -> Product | None:
    return await db.one(_PRODUCT, id=product_id)


async def find_master(db: DatabaseSession, product_id: UUID) -> Variant | None:
    return await db.one(_MASTER, id=product_id)


async def lock_variant(db: DatabaseSession, variant_id: UUID) -> Variant | None:
    """Locks a variant after its product, the order in which every writer locks them."""
    await lock_products(db, await list_owners(db, variants, variant_id))
    return await db.one(_LOCK_VARIANT, id=variant_id)


async def find_price(db: DatabaseSession, variant_id: UUID, currency: str) -> Price | None:
    return await db.one(_PRICE, variant_id=variant_id, currency=currency)


async def list_slugs(db: DatabaseSession, slug: str) -> list[str]:
    """Returns the slugs that equal this one or extend it with `-`."""
    return await db.all(_SLUGS, slug=slug)


async def save_former_slug(db: DatabaseSession, slug: str, product_id: UUID) -> None:
    """Saves a former slug, so that it still finds its product."""
    await db.one(_SAVE_FORMER_SLUG, slug=slug, product_id=product_id)


async def delete_former_slug(db: DatabaseSession, slug: str) -> None:
    """Deletes a former slug that is now a product's current one."""
    await db.one(_DELETE_FORMER_SLUG, slug=slug)


async def remove_product(db: DatabaseSession, product_id: UUID) -> None:
    await db.one(_REMOVE_PRODUCT, id=product_id)


async def remove_variants(db: DatabaseSession, product_or_variant_id: UUID) -> None:
    await db.all(_REMOVE_VARIANTS, id=product_or_variant_id)


async def touch_products(db: DatabaseSession, product_ids: Sequence[UUID]) -> None:
    """Updates `updated_at` of products whose related rows changed, which invalidates caches."""
    await db.all(_TOUCH, ids=list(product_ids))


async def activate_due(db: DatabaseSession) -> list[UUID]:
    """Activates drafts whose `make_active_at` has passed; returns their ids."""
    due = await db.all(_DUE)
    # Even an update of no rows creates a new catalog version.
    return await db.all(_ACTIVATE, ids=due) if due else []


async def lock_taxonomies_of(db: DatabaseSession, taxon_ids: Sequence[UUID]) -> None:
    """Locks the taxonomies of these taxons against changes until the transaction ends."""
    await db.all(_LOCK_TAXONOMIES, ids=list(taxon_ids))


async def set_price(
    db: DatabaseSession, *, price_id: UUID, variant_id: UUID, currency: str, amount: int, compare_at_amount: int | None
) -> UUID:
    """Upserts a price; returns its id, which is the existing one if the variant had a price in this currency."""
    saved_price_id = await db.one(
        _SET_PRICE,
        id=price_id,
        variant_id=variant_id,
        currency=currency,
        amount=amount,
        compare_at_amount=compare_at_amount,
    )
    return cast(UUID, saved_price_id)


async def list_option_pairs(db: DatabaseSession, option_value_ids: Sequence[UUID]) -> list[tuple[UUID, UUID]]:
    """Returns pairs of option type id and option value id."""
    return await db.all(_OPTION_PAIRS, ids=list(option_value_ids))


async def list_other_variant_options(db: DatabaseSession, product_id: UUID, but: UUID) -> list[frozenset[UUID]]:
    return await db.all(_OTHER_VARIANT_OPTIONS, product_id=product_id, but=but)


async def list_used_option_types(db: DatabaseSession, product_id: UUID) -> list[UUID]:
    """Returns the option types that the product's variants have values of."""
    return await db.all(_USED_TYPES, id=product_id)


async def add_option_type(
    db: DatabaseSession, *, link_id: UUID, product_id: UUID, option_type_id: UUID, position: int
) -> None:
    await db.one(_ADD_OPTION_TYPES, id=link_id, product_id=product_id, option_type_id=option_type_id, position=position)
