"""Statements that look up the records that import rows refer to."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, cast
from uuid import UUID

from sqlalchemy import BigInteger, Table, Text, and_, bindparam, delete, or_, select
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, any_of, into, statement
from shop.models.catalog.prices import Price, PriceList, PriceListEntry, price_list_entries, price_lists, prices
from shop.models.catalog.products import option_types, option_values, product_slugs, products, properties, variants
from shop.models.catalog.stock import StockLocation, stock_locations
from shop.models.catalog.taxons import taxons
from shop.models.setup.taxes import shipping_categories, tax_categories
from shop.rules.imports.prices import PriceData, PricedVariant
from shop.rules.imports.rows import RecordsByName, ReferencedNames

R = TypeVar("R")

_names = any_of("names", Text())
_ids = any_of("ids", PG_UUID(as_uuid=True))


def _pair(record: Any) -> tuple[str, UUID]:
    return cast(tuple[str, UUID], tuple(record))


def _by_name(table: Table, name: str = "name") -> Statement[tuple[str, UUID]]:
    return statement(select(table.c[name], table.c.id).where(table.c[name] == _names), _pair)


_TAX_CATEGORIES = _by_name(tax_categories)
_SHIPPING_CATEGORIES = _by_name(shipping_categories)
_TAXONS = _by_name(taxons, "permalink")
_OPTION_TYPES = _by_name(option_types)
_PROPERTIES = _by_name(properties)
_LOCATIONS = statement(select(stock_locations).where(stock_locations.c.name == _names), into(StockLocation))
_OPTION_VALUES = statement(
    select(option_types.c.name, option_values.c.name, option_values.c.id)
    .join(option_types, option_types.c.id == option_values.c.option_type_id)
    .where(option_types.c.name == any_of("types", Text()), option_values.c.name == _names),
    lambda record: cast(tuple[str, str, UUID], tuple(record)),
)
_is_sold = (variants.c.sku == _names, variants.c.sku != "", variants.c.deleted_at.is_(None))
_SKUS = statement(select(variants.c.sku, variants.c.product_id).where(*_is_sold), _pair)
_FREE_SLUGS = statement(
    delete(product_slugs).where(product_slugs.c.slug == _names).returning(product_slugs.c.product_id),
    lambda record: cast(UUID, record[0]),
)
_variant_select = select(variants.c.id, variants.c.product_id, variants.c.sku)
_VARIANTS = statement(
    _variant_select.where(
        or_(variants.c.id == _ids, and_(variants.c.sku == _names, variants.c.sku != "")),
        variants.c.deleted_at.is_(None),
    ),
    into(PricedVariant),
)
_VARIANTS_AFTER = statement(
    _variant_select.where(variants.c.id > bindparam("id", type_=PG_UUID(as_uuid=True)), variants.c.deleted_at.is_(None))
    .order_by(variants.c.id)
    .limit(bindparam("most", type_=BigInteger)),
    into(PricedVariant),
)
_LOCK_OWNERS = statement(
    select(products.c.id).where(products.c.id == _ids).order_by(products.c.id).with_for_update(key_share=True),
    lambda record: cast(UUID, record[0]),
)
_LISTS = statement(select(price_lists).where(price_lists.c.name == _names), into(PriceList))
_LISTS_BY_ID = statement(select(price_lists).where(price_lists.c.id == _ids), into(PriceList))
_PRICES = statement(select(prices).where(prices.c.variant_id == _ids).order_by(prices.c.currency), into(Price))
_ENTRIES = statement(
    select(price_list_entries).where(
        price_list_entries.c.variant_id == _ids,
        price_list_entries.c.price_list_id == any_of("lists", PG_UUID(as_uuid=True)),
    ),
    into(PriceListEntry),
)
_ALL_ENTRIES = statement(
    select(price_list_entries).where(price_list_entries.c.variant_id == _ids), into(PriceListEntry)
)


async def find_names(db: DatabaseSession, references: ReferencedNames) -> RecordsByName:
    """Looks up names with one statement for each kind that is referenced."""
    types, values = list(references.option_types), list(references.option_values)
    return RecordsByName(
        tax_categories=await _find_ids(db, _TAX_CATEGORIES, references.tax_categories),
        shipping_categories=await _find_ids(db, _SHIPPING_CATEGORIES, references.shipping_categories),
        taxons=await _find_ids(db, _TAXONS, references.taxons),
        locations={location.name: location for location in await _all(db, _LOCATIONS, references.locations)},
        option_types=await _find_ids(db, _OPTION_TYPES, types),
        option_values={
            (kind, value): value_id
            for kind, value, value_id in (await db.all(_OPTION_VALUES, types=types, names=values) if values else [])
        },
        properties=await _find_ids(db, _PROPERTIES, references.properties),
        skus=await _find_ids(db, _SKUS, references.skus),
    )


async def free_slugs(db: DatabaseSession, slugs: Sequence[str]) -> None:
    """Deletes former slugs that are now current slugs of new products."""
    if slugs:
        await db.all(_FREE_SLUGS, names=list(slugs))


async def lock_priced(db: DatabaseSession, skus: Iterable[str], ids: Iterable[UUID], lists: Iterable[str]) -> PriceData:
    """Returns the referenced variants with their prices; locks the products against concurrent price changes."""
    variant_rows = await db.all(_VARIANTS, ids=list(ids), names=list(skus))
    if not variant_rows:
        return PriceData()
    await db.all(_LOCK_OWNERS, ids=list({variant.product_id for variant in variant_rows}))
    price_lists_by_name = {price_list.name: price_list for price_list in await _all(db, _LISTS, lists)}
    variant_ids = [variant.id for variant in variant_rows]
    list_ids = [price_list.id for price_list in price_lists_by_name.values()]
    return PriceData(
        variants=tuple(variant_rows),
        lists=price_lists_by_name,
        prices=tuple(await db.all(_PRICES, ids=variant_ids)),
        entries=tuple(await db.all(_ENTRIES, ids=variant_ids, lists=list_ids) if list_ids else ()),
    )


async def list_priced_after(db: DatabaseSession, variant_id: UUID, most: int) -> PriceData:
    """Returns the next variants with all their prices and price list entries."""
    variant_rows = await db.all(_VARIANTS_AFTER, id=variant_id, most=most)
    if not variant_rows:
        return PriceData()
    variant_ids = [variant.id for variant in variant_rows]
    entries = await db.all(_ALL_ENTRIES, ids=variant_ids)
    list_ids = list({entry.price_list_id for entry in entries})
    lists = await db.all(_LISTS_BY_ID, ids=list_ids) if list_ids else []
    return PriceData(
        variants=tuple(variant_rows),
        lists={price_list.name: price_list for price_list in lists},
        prices=tuple(await db.all(_PRICES, ids=variant_ids)),
        entries=tuple(entries),
    )


async def _find_ids(db: DatabaseSession, query: Statement[tuple[str, UUID]], names: Iterable[str]) -> dict[str, UUID]:
    return dict(await _all(db, query, names))


async def _all(db: DatabaseSession, query: Statement[R], names: Iterable[str]) -> list[R]:
    name_list = list(names)
    return await db.all(query, names=name_list) if name_list else []
