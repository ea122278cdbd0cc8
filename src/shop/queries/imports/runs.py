"""Which statements find what the lines of an import name."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, cast
from uuid import UUID

from sqlalchemy import BigInteger, Table, Text, and_, bindparam, delete, or_, select
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import Session
from shop.db.statements import Statement, among, into, statement
from shop.models.catalog.prices import Price, PriceList, PriceListEntry, price_list_entries, price_lists, prices
from shop.models.catalog.products import option_types, option_values, product_slugs, products, properties, variants
from shop.models.catalog.stock import StockLocation, stock_locations
from shop.models.catalog.taxons import taxons
from shop.models.setup.taxes import shipping_categories, tax_categories
from shop.rules.imports.prices import Owned, Priced
from shop.rules.imports.rows import Names, Wanted

R = TypeVar("R")

_names = among("names", Text())
_ids = among("ids", PG_UUID(as_uuid=True))


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
    .where(option_types.c.name == among("types", Text()), option_values.c.name == _names),
    lambda record: cast(tuple[str, str, UUID], tuple(record)),
)
_is_sold = (variants.c.sku == _names, variants.c.sku != "", variants.c.deleted_at.is_(None))
_SKUS = statement(select(variants.c.sku, variants.c.product_id).where(*_is_sold), _pair)
_FREE_SLUGS = statement(
    delete(product_slugs).where(product_slugs.c.slug == _names).returning(product_slugs.c.product_id),
    lambda record: cast(UUID, record[0]),
)
_owned = select(variants.c.id, variants.c.product_id, variants.c.sku)
_OWNED = statement(
    _owned.where(
        or_(variants.c.id == _ids, and_(variants.c.sku == _names, variants.c.sku != "")),
        variants.c.deleted_at.is_(None),
    ),
    into(Owned),
)
_OWNED_AFTER = statement(
    _owned.where(variants.c.id > bindparam("id", type_=PG_UUID(as_uuid=True)), variants.c.deleted_at.is_(None))
    .order_by(variants.c.id)
    .limit(bindparam("most", type_=BigInteger)),
    into(Owned),
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
        price_list_entries.c.price_list_id == among("lists", PG_UUID(as_uuid=True)),
    ),
    into(PriceListEntry),
)
_ALL_ENTRIES = statement(
    select(price_list_entries).where(price_list_entries.c.variant_id == _ids), into(PriceListEntry)
)


async def find_names(db: Session, wanted: Wanted) -> Names:
    """One statement for each kind of name that is wanted at all."""
    types, values = list(wanted.option_types), list(wanted.option_values)
    return Names(
        tax_categories=await _found(db, _TAX_CATEGORIES, wanted.tax_categories),
        shipping_categories=await _found(db, _SHIPPING_CATEGORIES, wanted.shipping_categories),
        taxons=await _found(db, _TAXONS, wanted.taxons),
        locations={place.name: place for place in await _all(db, _LOCATIONS, wanted.locations)},
        option_types=await _found(db, _OPTION_TYPES, types),
        option_values={
            (kind, value): value_id
            for kind, value, value_id in (await db.all(_OPTION_VALUES, types=types, names=values) if values else [])
        },
        properties=await _found(db, _PROPERTIES, wanted.properties),
        skus=await _found(db, _SKUS, wanted.skus),
    )


async def free_slugs(db: Session, slugs: Sequence[str]) -> None:
    """Slugs that are new products' own from now on lead to no other."""
    if slugs:
        await db.all(_FREE_SLUGS, names=list(slugs))


async def lock_priced(db: Session, skus: Iterable[str], ids: Iterable[UUID], lists: Iterable[str]) -> Priced:
    """What is named, and what it costs; the products are held, so that nobody else changes a price meanwhile."""
    owned = await db.all(_OWNED, ids=list(ids), names=list(skus))
    if not owned:
        return Priced()
    await db.all(_LOCK_OWNERS, ids=list({variant.product_id for variant in owned}))
    named = {found.name: found for found in await _all(db, _LISTS, lists)}
    variant_ids = [variant.id for variant in owned]
    list_ids = [found.id for found in named.values()]
    return Priced(
        variants=tuple(owned),
        lists=named,
        prices=tuple(await db.all(_PRICES, ids=variant_ids)),
        entries=tuple(await db.all(_ENTRIES, ids=variant_ids, lists=list_ids) if list_ids else ()),
    )


async def list_priced_after(db: Session, variant_id: UUID, most: int) -> Priced:
    """The next variants, whatever they cost in any list."""
    owned = await db.all(_OWNED_AFTER, id=variant_id, most=most)
    if not owned:
        return Priced()
    variant_ids = [variant.id for variant in owned]
    entries = await db.all(_ALL_ENTRIES, ids=variant_ids)
    list_ids = list({entry.price_list_id for entry in entries})
    lists = await db.all(_LISTS_BY_ID, ids=list_ids) if list_ids else []
    return Priced(
        variants=tuple(owned),
        lists={found.name: found for found in lists},
        prices=tuple(await db.all(_PRICES, ids=variant_ids)),
        entries=tuple(entries),
    )


async def _found(db: Session, asked: Statement[tuple[str, UUID]], names: Iterable[str]) -> dict[str, UUID]:
    return dict(await _all(db, asked, names))


async def _all(db: Session, asked: Statement[R], names: Iterable[str]) -> list[R]:
    wanted = list(names)
    return await db.all(asked, names=wanted) if wanted else []
