"""Statements for the thresholds of single stock items."""

from typing import cast
from uuid import UUID

from sqlalchemy import BigInteger, bindparam, delete, select
from sqlalchemy.dialects.postgresql import UUID as PG_UUID
from sqlalchemy.dialects.postgresql import insert

from shop.db.pool import DatabaseSession
from shop.db.statements import statement
from shop.models.stock.thresholds import stock_thresholds

_item_id = bindparam("item_id", type_=PG_UUID(as_uuid=True))
_low_at = bindparam("low_at", type_=BigInteger())


def _number(record: object) -> int:
    return cast(int, record[0])  # type: ignore[index]


_FIND = statement(select(stock_thresholds.c.low_at).where(stock_thresholds.c.stock_item_id == _item_id), _number)
_SAVE = statement(
    insert(stock_thresholds)
    .values(stock_item_id=_item_id, low_at=_low_at)
    .on_conflict_do_update(index_elements=["stock_item_id"], set_={"low_at": _low_at})
    .returning(stock_thresholds.c.low_at),
    _number,
)
_DELETE = statement(
    delete(stock_thresholds).where(stock_thresholds.c.stock_item_id == _item_id).returning(stock_thresholds.c.low_at),
    _number,
)


async def find_threshold(db: DatabaseSession, item_id: UUID) -> int | None:
    return await db.one(_FIND, item_id=item_id)


async def save_threshold(db: DatabaseSession, item_id: UUID, low_at: int | None) -> None:
    """Saves the threshold of a stock item; None deletes it, so that the shop's applies."""
    if low_at is None:
        await db.one(_DELETE, item_id=item_id)
    else:
        await db.one(_SAVE, item_id=item_id, low_at=low_at)
