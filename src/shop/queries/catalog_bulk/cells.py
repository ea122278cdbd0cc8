"""Statements that load the current values of products for the grid and for bulk operations."""

from collections.abc import Sequence
from typing import cast
from uuid import UUID

from sqlalchemy import literal_column, or_, select, union_all
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import any_of, into, statement
from shop.models.catalog.prices import Price, prices
from shop.models.catalog.products import Product, products, variants
from shop.models.catalog.stock import StockItem, StockLocation, stock_items, stock_locations
from shop.models.catalog.taxons import classifications, taxons
from shop.models.catalog_bulk.cells import CellVariant, ProductCells
from shop.models.setup.taxes import shipping_categories, tax_categories
from shop.queries.catalog.columns import OPTIONS_TEXT

_ID = PG_UUID(as_uuid=True)
_any_id = any_of("ids", _ID)
_PRODUCT_IDS = statement(
    select(variants.c.product_id)
    .where(or_(variants.c.id == _any_id, variants.c.product_id == _any_id), variants.c.deleted_at.is_(None))
    .distinct(),
    lambda record: cast(UUID, record[0]),
)
_PRODUCTS = statement(select(products).where(products.c.id == _any_id, products.c.deleted_at.is_(None)), into(Product))
_VARIANTS = statement(
    select(variants, OPTIONS_TEXT.label("options_text"))
    .where(variants.c.product_id == _any_id, variants.c.deleted_at.is_(None))
    .order_by(variants.c.product_id, variants.c.is_master.desc(), variants.c.position, variants.c.id),
    into(CellVariant),
)
_PRICES = statement(select(prices).where(prices.c.variant_id == _any_id), into(Price))
_STOCK = statement(select(stock_items).where(stock_items.c.variant_id == _any_id), into(StockItem))
_CLASSIFICATIONS = statement(
    select(classifications.c.id, classifications.c.product_id, classifications.c.taxon_id).where(
        classifications.c.product_id == _any_id
    ),
    lambda record: cast(tuple[UUID, UUID, UUID], tuple(record)),
)
_LOCATIONS = statement(
    select(stock_locations)
    .where(stock_locations.c.active)
    .order_by(stock_locations.c.default.desc(), stock_locations.c.name),
    into(StockLocation),
)
_CATEGORIES = statement(
    union_all(
        *(
            select(literal_column(f"'{kind}'").label("kind"), table.c.id, table.c.name.label("name"))
            for kind, table in (("tax", tax_categories), ("shipping", shipping_categories))
        )
    ).order_by(literal_column("name")),
    lambda record: cast(tuple[str, UUID, str], tuple(record)),
)
_TAXON_IDS = statement(select(taxons.c.id).where(taxons.c.id == _any_id), lambda record: str(record[0]))


async def list_product_ids(db: DatabaseSession, owner_ids: Sequence[UUID]) -> list[UUID]:
    """Returns the products of products and variants, in the order of their ids."""
    return sorted(await db.all(_PRODUCT_IDS, ids=list(owner_ids)))


async def load_cells(
    db: DatabaseSession, product_ids: Sequence[UUID], default_currency: str, *, with_taxons: bool = False
) -> ProductCells:
    """Loads the current values of products and all of their variants."""
    ids = list(product_ids)
    product_rows = await db.all(_PRODUCTS, ids=ids)
    variant_rows = await db.all(_VARIANTS, ids=[product.id for product in product_rows])
    variant_ids = [variant.id for variant in variant_rows]
    links = await db.all(_CLASSIFICATIONS, ids=ids) if with_taxons else []
    return ProductCells(
        {product.id: product for product in product_rows},
        {variant.id: variant for variant in variant_rows},
        {(price.variant_id, price.currency): price for price in await db.all(_PRICES, ids=variant_ids)},
        {(item.variant_id, item.stock_location_id): item for item in await db.all(_STOCK, ids=variant_ids)},
        {(product_id, taxon_id): link_id for link_id, product_id, taxon_id in links},
        default_currency,
    )


async def list_locations(db: DatabaseSession) -> list[StockLocation]:
    """Returns the active stock locations, the default one first."""
    return await db.all(_LOCATIONS)


async def list_categories(db: DatabaseSession) -> tuple[dict[str, str], dict[str, str]]:
    """Returns the names of the tax and of the shipping categories, by id."""
    names: dict[str, dict[str, str]] = {"tax": {}, "shipping": {}}
    for kind, category_id, name in await db.all(_CATEGORIES):
        names[kind][str(category_id)] = name
    return names["tax"], names["shipping"]


async def list_known_ids(db: DatabaseSession, taxon_ids: Sequence[UUID]) -> dict[str, set[str]]:
    """Returns the ids of the records that cells may refer to, by name of their column."""
    tax_names, shipping_names = await list_categories(db)
    return {
        "tax_category": {*tax_names},
        "shipping_category": {*shipping_names},
        "stock": {str(location.id) for location in await list_locations(db)},
        "taxon": {*await db.all(_TAXON_IDS, ids=list(taxon_ids))} if taxon_ids else set(),
    }
