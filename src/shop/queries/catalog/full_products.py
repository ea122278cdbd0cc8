"""Statements that load products with all related rows, in a fixed number of queries."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast
from uuid import UUID

from sqlalchemy import BigInteger, Table, Text, bindparam, select
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, any_of, into, statement
from shop.models.catalog.full_products import FullProduct, FullVariant
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

_any_id = any_of("ids", PG_UUID(as_uuid=True))


def _read_named(row: type[T]) -> Callable[[Any], tuple[str, T]]:
    """Returns a reader for records with a name column `called` and the columns of a row."""

    def read(record: Any) -> tuple[str, T]:
        values = dict(record)
        return values.pop("called"), row(**values)

    return read


# In id order, as every writer locks products; does not block inserts that refer to them (FOR NO KEY UPDATE).
_LOCK = statement(
    select(products)
    .where(products.c.slug == any_of("slugs", Text()), products.c.deleted_at.is_(None))
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
    .where(variants.c.product_id == _any_id, variants.c.deleted_at.is_(None))
    .order_by(variants.c.position, variants.c.id),
    into(Variant),
)
_OPTIONS = statement(
    select(variant_option_values.c.variant_id, variant_option_values.c.id, option_types.c.name, option_values.c.name)
    .join(option_values, option_values.c.id == variant_option_values.c.option_value_id)
    .join(option_types, option_types.c.id == option_values.c.option_type_id)
    .where(variant_option_values.c.variant_id == _any_id)
    .order_by(option_types.c.position, option_types.c.name),
    lambda record: cast(tuple[UUID, UUID, str, str], tuple(record)),
)
_PRICES = statement(select(prices).where(prices.c.variant_id == _any_id).order_by(prices.c.currency), into(Price))
_STOCK = statement(
    select(stock_locations.c.name.label("called"), stock_items)
    .join(stock_locations, stock_locations.c.id == stock_items.c.stock_location_id)
    .where(stock_items.c.variant_id == _any_id)
    .order_by(stock_locations.c.name),
    _read_named(StockItem),
)
_OPTION_TYPES = statement(
    select(option_types.c.name.label("called"), product_option_types)
    .join(option_types, option_types.c.id == product_option_types.c.option_type_id)
    .where(product_option_types.c.product_id == _any_id)
    .order_by(product_option_types.c.position, product_option_types.c.id),
    _read_named(ProductOptionType),
)
_PROPERTIES = statement(
    select(properties.c.name.label("called"), product_properties)
    .join(properties, properties.c.id == product_properties.c.property_id)
    .where(product_properties.c.product_id == _any_id)
    .order_by(product_properties.c.position, product_properties.c.id),
    _read_named(ProductProperty),
)
_TAXONS = statement(
    select(classifications.c.product_id, taxons.c.permalink, classifications.c.id)
    .join(taxons, taxons.c.id == classifications.c.taxon_id)
    .where(classifications.c.product_id == _any_id)
    .order_by(taxons.c.permalink),
    lambda record: cast(tuple[UUID, str, UUID], tuple(record)),
)


def _names_of(table: Table) -> Statement[tuple[UUID, str]]:
    return statement(
        select(table.c.id, table.c.name).where(table.c.id == _any_id),
        lambda record: cast(tuple[UUID, str], tuple(record)),
    )


_TAX_CATEGORIES = _names_of(tax_categories)
_SHIPPING_CATEGORIES = _names_of(shipping_categories)


async def lock_products(db: DatabaseSession, slugs: Iterable[str]) -> list[FullProduct]:
    """Loads products and locks them until the transaction ends."""
    return await _complete(db, await db.all(_LOCK, slugs=list(slugs)))


async def list_products_after(db: DatabaseSession, slug: str, most: int) -> list[FullProduct]:
    return await _complete(db, await db.all(_AFTER, slug=slug, most=most))


async def _complete(db: DatabaseSession, rows: Sequence[Product]) -> list[FullProduct]:
    if not rows:
        return []
    ids = [row.id for row in rows]
    variant_rows = await db.all(_VARIANTS, ids=ids)
    tax_ids = {row.tax_category_id for row in rows} | {row.tax_category_id for row in variant_rows}
    tax_names = dict(await db.all(_TAX_CATEGORIES, ids=[tax_id for tax_id in tax_ids if tax_id]))
    sent_ids = {row.shipping_category_id for row in rows if row.shipping_category_id}
    shipping_names = dict(await db.all(_SHIPPING_CATEGORIES, ids=list(sent_ids)))
    by_product = await _full_variants(db, variant_rows, tax_names)
    types = _by(await db.all(_OPTION_TYPES, ids=ids), "product_id")
    facts = _by(await db.all(_PROPERTIES, ids=ids), "product_id")
    places: dict[UUID, dict[str, UUID]] = {}
    for product_id, permalink, link_id in await db.all(_TAXONS, ids=ids):
        places.setdefault(product_id, {})[permalink] = link_id
    return [
        FullProduct(
            row=row,
            tax_category=tax_names.get(row.tax_category_id) if row.tax_category_id else None,
            shipping_category=shipping_names.get(row.shipping_category_id) if row.shipping_category_id else None,
            option_types=types.get(row.id, {}),
            properties=facts.get(row.id, {}),
            taxons=places.get(row.id, {}),
            master=next(variant for variant in by_product[row.id] if variant.row.is_master),
            variants=tuple(variant for variant in by_product[row.id] if not variant.row.is_master),
        )
        for row in rows
    ]


async def _full_variants(
    db: DatabaseSession, rows: Sequence[Variant], tax_names: dict[UUID, str]
) -> dict[UUID, list[FullVariant]]:
    """Returns variants by product id."""
    ids = [row.id for row in rows]
    options: dict[UUID, dict[str, tuple[UUID, str]]] = {}
    for variant_id, link_id, kind, value in await db.all(_OPTIONS, ids=ids):
        options.setdefault(variant_id, {})[kind] = (link_id, value)
    costs = _by([(price.currency, price) for price in await db.all(_PRICES, ids=ids)], "variant_id")
    stock = _by(await db.all(_STOCK, ids=ids), "variant_id")
    by_product: dict[UUID, list[FullVariant]] = {}
    for row in rows:
        whole = FullVariant(
            row=row,
            tax_category=tax_names.get(row.tax_category_id) if row.tax_category_id else None,
            options=options.get(row.id, {}),
            prices=costs.get(row.id, {}),
            stock=stock.get(row.id, {}),
        )
        by_product.setdefault(row.product_id, []).append(whole)
    return by_product


def _by(pairs: Iterable[tuple[str, T]], column: str) -> dict[UUID, dict[str, T]]:
    """Groups rows by the id in `column`, then by name."""
    groups: dict[UUID, dict[str, T]] = {}
    for name, row in pairs:
        groups.setdefault(getattr(row, column), {})[name] = row
    return groups
