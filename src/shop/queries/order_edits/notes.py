"""Statements that read the notes of orders."""

from uuid import UUID

import msgspec
from sqlalchemy import bindparam, exists, func, literal_column, select
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.access.operators import operators
from shop.models.order_edits.approvals import refund_requests
from shop.models.order_edits.notes import ListedNote, OrderNote, order_notes
from shop.queries.order_edits.approvals import IS_OPEN


class OrderAttention(msgspec.Struct, frozen=True):
    """What operators left at an order for each other."""

    has_notes: bool
    requested_amount: int | None
    """The refund that waits for approval, in minor units."""


_of_order = order_notes.c.order_id == bindparam("order_id", type_=PG_UUID(as_uuid=True))
# Without the files, which only their e-mails need.
_columns = [column for column in order_notes.c if column.name != "file"]
_LIST = statement(
    select(*_columns, operators.c.email.label("author_email"))
    .outerjoin(operators, operators.c.id == order_notes.c.author_id)
    .where(_of_order)
    .order_by(order_notes.c.created_at, order_notes.c.id),
    into(ListedNote),
)
_COUNT = statement(select(func.count()).select_from(order_notes).where(_of_order), lambda record: int(record[0]))
_requested_amount = (
    select(refund_requests.c.amount)
    .where(refund_requests.c.order_id == bindparam("order_id", type_=PG_UUID(as_uuid=True)), *IS_OPEN)
    .limit(literal_column("1"))
    .scalar_subquery()
)
_ATTENTION = statement(
    select(exists().where(_of_order).label("has_notes"), _requested_amount.label("requested_amount")),
    into(OrderAttention),
)
_FIND = statement(
    select(order_notes).where(order_notes.c.id == bindparam("note_id", type_=PG_UUID(as_uuid=True))), into(OrderNote)
)


async def list_notes(db: DatabaseSession, order_id: UUID) -> list[ListedNote]:
    """Returns the notes and messages of an order, oldest first."""
    return await db.all(_LIST, order_id=order_id)


async def find_attention(db: DatabaseSession, order_id: UUID) -> OrderAttention:
    return await db.one(_ATTENTION, order_id=order_id) or OrderAttention(has_notes=False, requested_amount=None)


async def count_notes(db: DatabaseSession, order_id: UUID) -> int:
    return await db.one(_COUNT, order_id=order_id) or 0


async def find_note(db: DatabaseSession, note_id: UUID) -> OrderNote | None:
    return await db.one(_FIND, note_id=note_id)
