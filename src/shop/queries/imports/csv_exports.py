"""The statement that reads stock for a CSV file."""

from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, bindparam, select
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.catalog.products import variants
from shop.models.catalog.stock import stock_items, stock_locations


class ExportedStock(msgspec.Struct, frozen=True):
    """A stock item of a variant that has a SKU."""

    id: UUID
    sku: str
    location: str
    count_on_hand: int
    backorderable: bool


_STOCK = statement(
    select(
        stock_items.c.id,
        variants.c.sku,
        stock_locations.c.name.label("location"),
        stock_items.c.count_on_hand,
        stock_items.c.backorderable,
    )
    .join(variants, variants.c.id == stock_items.c.variant_id)
    .join(stock_locations, stock_locations.c.id == stock_items.c.stock_location_id)
    .where(
        stock_items.c.id > bindparam("id", type_=PG_UUID(as_uuid=True)),
        variants.c.sku != "",
        variants.c.deleted_at.is_(None),
    )
    .order_by(stock_items.c.id)
    .limit(bindparam("most", type_=BigInteger())),
    into(ExportedStock),
)


async def list_stock_after(db: DatabaseSession, item_id: UUID, most: int) -> list[ExportedStock]:
    return await db.all(_STOCK, id=item_id, most=most)
