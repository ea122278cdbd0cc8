"""Which statements load products whole: the same few for any number of them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast
from uuid import UUID

from sqlalchemy import BigInteger, Table, Text, bindparam, select
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import Session
from shop.db.statements import Statement, among, into, statement
from shop.models.catalog.full_products import WholeProduct, WholeVariant
from shop.models.catalog.prices import Price, prices
from shop.models.catalog.products import (
    Product,
    ProductOptionType,
    ProductProperty,
    Variant,
    option_types,
    option_values,
    product_option_types,
    product_properties,
    products,
    properties,
    variant_option_values,
    variants,
)
from shop.models.catalog.stock import StockItem, stock_items, stock_locations
from shop.models.catalog.taxons import classifications, taxons
from shop.models.setup.taxes import shipping_categories, tax_categories

T = TypeVar("T")

_these = among("ids", PG_UUID(as_uuid=True))


def _named(row: type[T]) -> Callable[[Any], tuple[str, T]]:
    """A record whose first column is a name, and whose others are a row."""

    def read(record: Any) -> tuple[str, T]:
        values = dict(record)
        return values.pop("called"), row(**values)

    return read


# In the order of ids, as every writer of several products holds them; a key that others refer to may still be read.
_LOCK = statement(
    select(products)
    .where(products.c.slug == among("slugs", Text()), products.c.deleted_at.is_(None))
    .order_by(products.c.id)
    .with_for_update(key_share=True),
    into(Product),
)
_AFTER = statement(
    select(products)
    .where(products.c.slug > bindparam("slug", type_=Text()), products.c.deleted_at.is_(None))
    .order_by(products.c.slug)
    .limit(bindparam("most", type_=BigInteger)),
    into(Product),
)
_VARIANTS = statement(
    select(variants)
    .where(variants.c.product_id == _these, variants.c.deleted_at.is_(None))
    .order_by(variants.c.position, variants.c.id),
    into(Variant),
)
_OPTIONS = statement(
    select(variant_option_values.c.variant_id, variant_option_values.c.id, option_types.c.name, option_values.c.name)
    .join(option_values, option_values.c.id == variant_option_values.c.option_value_id)
    .join(option_types, option_types.c.id == option_values.c.option_type_id)
    .where(variant_option_values.c.variant_id == _these)
    .order_by(option_types.c.position, option_types.c.name),
    lambda record: cast(tuple[UUID, UUID, str, str], tuple(record)),
)
_PRICES = statement(select(prices).where(prices.c.variant_id == _these).order_by(prices.c.currency), into(Price))
_STOCK = statement(
    select(stock_locations.c.name.label("called"), stock_items)
    .join(stock_locations, stock_locations.c.id == stock_items.c.stock_location_id)
    .where(stock_items.c.variant_id == _these)
    .order_by(stock_locations.c.name),
    _named(StockItem),
)
_OPTION_TYPES = statement(
    select(option_types.c.name.label("called"), product_option_types)
    .join(option_types, option_types.c.id == product_option_types.c.option_type_id)
    .where(product_option_types.c.product_id == _these)
    .order_by(product_option_types.c.position, product_option_types.c.id),
    _named(ProductOptionType),
)
_PROPERTIES = statement(
    select(properties.c.name.label("called"), product_properties)
    .join(properties, properties.c.id == product_properties.c.property_id)
    .where(product_properties.c.product_id == _these)
    .order_by(product_properties.c.position, product_properties.c.id),
    _named(ProductProperty),
)
_TAXONS = statement(
    select(classifications.c.product_id, taxons.c.permalink, classifications.c.id)
    .join(taxons, taxons.c.id == classifications.c.taxon_id)
    .where(classifications.c.product_id == _these)
    .order_by(taxons.c.permalink),
    lambda record: cast(tuple[UUID, str, UUID], tuple(record)),
)


def _names_of(table: Table) -> Statement[tuple[UUID, str]]:
    return statement(
        select(table.c.id, table.c.name).where(table.c.id == _these),
        lambda record: cast(tuple[UUID, str], tuple(record)),
    )


_TAX_CATEGORIES = _names_of(tax_categories)
_SHIPPING_CATEGORIES = _names_of(shipping_categories)


async def lock_products(db: Session, slugs: Iterable[str]) -> list[WholeProduct]:
    """Nobody else changes them until the transaction ends."""
    return await _complete(db, await db.all(_LOCK, slugs=list(slugs)))


async def list_products_after(db: Session, slug: str, most: int) -> list[WholeProduct]:
    return await _complete(db, await db.all(_AFTER, slug=slug, most=most))


async def _complete(db: Session, rows: Sequence[Product]) -> list[WholeProduct]:
    if not rows:
        return []
    ids = [row.id for row in rows]
    theirs = await db.all(_VARIANTS, ids=ids)
    tax_ids = {row.tax_category_id for row in rows} | {row.tax_category_id for row in theirs}
    taxed = dict(await db.all(_TAX_CATEGORIES, ids=[tax_id for tax_id in tax_ids if tax_id]))
    sent_ids = {row.shipping_category_id for row in rows if row.shipping_category_id}
    sent = dict(await db.all(_SHIPPING_CATEGORIES, ids=list(sent_ids)))
    sold = await _whole_variants(db, theirs, taxed)
    types = _by(await db.all(_OPTION_TYPES, ids=ids), "product_id")
    facts = _by(await db.all(_PROPERTIES, ids=ids), "product_id")
    places: dict[UUID, dict[str, UUID]] = {}
    for product_id, permalink, link_id in await db.all(_TAXONS, ids=ids):
        places.setdefault(product_id, {})[permalink] = link_id
    return [
        WholeProduct(
            row=row,
            tax_category=taxed.get(row.tax_category_id) if row.tax_category_id else None,
            shipping_category=sent.get(row.shipping_category_id) if row.shipping_category_id else None,
            option_types=types.get(row.id, {}),
            properties=facts.get(row.id, {}),
            taxons=places.get(row.id, {}),
            master=next(variant for variant in sold[row.id] if variant.row.is_master),
            variants=tuple(variant for variant in sold[row.id] if not variant.row.is_master),
        )
        for row in rows
    ]


async def _whole_variants(
    db: Session, rows: Sequence[Variant], taxed: dict[UUID, str]
) -> dict[UUID, list[WholeVariant]]:
    """By the id of their product."""
    ids = [row.id for row in rows]
    options: dict[UUID, dict[str, tuple[UUID, str]]] = {}
    for variant_id, link_id, kind, value in await db.all(_OPTIONS, ids=ids):
        options.setdefault(variant_id, {})[kind] = (link_id, value)
    costs = _by([(price.currency, price) for price in await db.all(_PRICES, ids=ids)], "variant_id")
    stock = _by(await db.all(_STOCK, ids=ids), "variant_id")
    found: dict[UUID, list[WholeVariant]] = {}
    for row in rows:
        whole = WholeVariant(
            row=row,
            tax_category=taxed.get(row.tax_category_id) if row.tax_category_id else None,
            options=options.get(row.id, {}),
            prices=costs.get(row.id, {}),
            stock=stock.get(row.id, {}),
        )
        found.setdefault(row.product_id, []).append(whole)
    return found


def _by(named: Iterable[tuple[str, T]], column: str) -> dict[UUID, dict[str, T]]:
    """Rows by the id of what they hang on, then by their names."""
    found: dict[UUID, dict[str, T]] = {}
    for name, row in named:
        found.setdefault(getattr(row, column), {})[name] = row
    return found
