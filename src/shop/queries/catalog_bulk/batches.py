"""Statements that select the products of a filtered list, and those of batches of changes."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

from sqlalchemy import BigInteger, DateTime, bindparam, delete, func, literal_column, select, update
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.listing import CursorPosition
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, any_of, dynamic_statement, into, statement
from shop.models.access.operators import operators
from shop.models.catalog.product_index import listings
from shop.models.catalog.products import products
from shop.models.catalog_bulk.batches import (
    OPEN_STATES,
    ProductBatch,
    ProductBatchEdit,
    product_batch_edits,
    product_batches,
)
from shop.queries import bulk, writes
from shop.queries.catalog_admin.products import ProductFilter, filter_products
from shop.queries.dashboard import SortOrder, load_page, paginate

_ID = PG_UUID(as_uuid=True)
SORTS: Mapping[str, SortOrder] = {
    "newest": SortOrder(product_batches.c.created_at),
    "oldest": SortOrder(product_batches.c.created_at, is_ascending=True),
    "largest": SortOrder(product_batches.c.product_count),
}
UNDO_TIME = timedelta(days=1)
_most = bindparam("most", type_=BigInteger())
_batch_id = bindparam("batch_id", type_=_ID)


class ListedBatch(ProductBatch, frozen=True, kw_only=True):
    """A batch with the e-mail address of its operator, and whether it can be undone."""

    operator_email: str | None
    can_undo: bool

    @property
    def undo_until(self) -> datetime | None:
        return self.finished_at and self.finished_at + UNDO_TIME


def _select(columns: Any, is_searched: bool, status: str | None, stock: str | None) -> Any:
    clause = (
        select(columns)
        .select_from(products.join(listings, listings.c.product_id == products.c.id))
        .where(products.c.deleted_at.is_(None))
    )
    return filter_products(clause, is_searched=is_searched, status=status, stock=stock)


@lru_cache(maxsize=64)
def _count_statement(is_searched: bool, status: str | None, stock: str | None) -> Statement[int]:
    ids = _select(products.c.id, is_searched, status, stock).limit(_most).subquery()
    return dynamic_statement(select(func.count()).select_from(ids), lambda record: cast(int, record[0]))


@lru_cache(maxsize=64)
def _ids_statement(is_searched: bool, status: str | None, stock: str | None) -> Statement[UUID]:
    clause = (
        _select(products.c.id, is_searched, status, stock)
        .where(
            products.c.id > bindparam("position", type_=_ID),
            products.c.created_at <= func.coalesce(bindparam("until", type_=DateTime(timezone=True)), func.now()),
        )
        .order_by(products.c.id)
        .limit(_most)
    )
    return dynamic_statement(clause, lambda record: cast(UUID, record[0]))


_listed = select(
    product_batches,
    operators.c.email.label("operator_email"),
    func.coalesce(
        (product_batches.c.state == "done")
        & (product_batches.c.change_count > literal_column("0"))
        & (product_batches.c.finished_at > func.now() - UNDO_TIME),
        literal_column("false"),
    ).label("can_undo"),
).select_from(product_batches.outerjoin(operators, operators.c.id == product_batches.c.operator_id))
_BATCH = statement(_listed.where(product_batches.c.id == _batch_id), into(ListedBatch))
_COUNT = statement(select(func.count()).select_from(product_batches), lambda record: cast(int, record[0]))
_LOCK_NEXT = statement(
    select(product_batches)
    .where(product_batches.c.state.in_([literal_column(f"'{state}'") for state in OPEN_STATES]))
    .order_by(product_batches.c.created_at)
    .limit(literal_column("1"))
    .with_for_update(skip_locked=True),
    into(ProductBatch),
)
_START_UNDO = statement(
    update(product_batches)
    .where(
        product_batches.c.id == _batch_id,
        product_batches.c.state == "done",
        product_batches.c.finished_at > func.now() - UNDO_TIME,
    )
    .values(state="undoing", finished_at=None, updated_at=func.now())
    .returning(product_batches.c.id),
    lambda record: cast(UUID, record[0]),
)
_FINISH = statement(
    update(product_batches)
    .where(product_batches.c.id == _batch_id)
    .values(state=bindparam("state"), finished_at=func.now(), updated_at=func.now())
    .returning(product_batches.c.id),
    lambda record: cast(UUID, record[0]),
)
_EDITS = statement(
    select(product_batch_edits)
    .where(product_batch_edits.c.batch_id == _batch_id)
    .order_by(product_batch_edits.c.owner_id, product_batch_edits.c.id)
    .limit(_most),
    into(ProductBatchEdit),
)
_DELETE_EDITS = statement(
    delete(product_batch_edits)
    .where(product_batch_edits.c.id == any_of("ids", _ID))
    .returning(product_batch_edits.c.id),
    lambda record: cast(UUID, record[0]),
)


async def count_products(db: DatabaseSession, product_filter: ProductFilter, *, most: int) -> int:
    """Returns the number of products of a filtered list, at most `most`."""
    count = await db.one(
        _count_statement(product_filter.query is not None, product_filter.status and "-", product_filter.stock),
        query=product_filter.query,
        status=product_filter.status,
        most=most,
    )
    return count or 0


async def list_filtered_ids(
    db: DatabaseSession,
    product_filter: ProductFilter,
    *,
    most: int,
    position: UUID | None = None,
    until: datetime | None = None,
) -> list[UUID]:
    """Returns the next products of a filtered list that existed at a time, in the order of their ids."""
    return await db.all(
        _ids_statement(product_filter.query is not None, product_filter.status and "-", product_filter.stock),
        query=product_filter.query,
        status=product_filter.status,
        position=position or UUID(int=0),
        until=until,
        most=most,
    )


@lru_cache(maxsize=16)
def _list_statement(sort: str, side: str | None) -> Statement[ListedBatch]:
    return dynamic_statement(paginate(_listed, SORTS[sort], product_batches.c.id, side), into(ListedBatch))


async def list_batches(
    db: DatabaseSession, cursor: CursorPosition | None, *, sort: str, most: int
) -> list[ListedBatch]:
    return await load_page(db, _list_statement(sort, cursor.side if cursor else None), cursor, most=most)


async def count_batches(db: DatabaseSession) -> int:
    return await db.one(_COUNT) or 0


async def find_batch(db: DatabaseSession, batch_id: UUID) -> ListedBatch | None:
    return await db.one(_BATCH, batch_id=batch_id)


async def insert_batch(db: DatabaseSession, batch_id: UUID, **values: Any) -> None:
    await writes.insert_record(db, product_batches, batch_id, values)


async def lock_next_batch(db: DatabaseSession) -> ProductBatch | None:
    """Locks the oldest batch with work to do that no other process is working on."""
    return await db.one(_LOCK_NEXT)


async def update_batch(db: DatabaseSession, batch_id: UUID, **values: Any) -> None:
    await writes.update_record(db, product_batches, batch_id, values)


async def finish_batch(db: DatabaseSession, batch_id: UUID, state: str) -> None:
    await db.one(_FINISH, batch_id=batch_id, state=state)


async def start_undo(db: DatabaseSession, batch_id: UUID) -> bool:
    """Returns whether the batch can be undone, and starts it."""
    return await db.one(_START_UNDO, batch_id=batch_id) is not None


async def list_edits(db: DatabaseSession, batch_id: UUID, *, most: int) -> list[ProductBatchEdit]:
    return await db.all(_EDITS, batch_id=batch_id, most=most)


async def delete_edits(db: DatabaseSession, ids: Sequence[UUID]) -> None:
    await db.all(_DELETE_EDITS, ids=list(ids))


async def insert_edits(db: DatabaseSession, rows: Sequence[dict[str, Any]]) -> None:
    await bulk.insert_rows(db, "product_batch_edits", rows)
