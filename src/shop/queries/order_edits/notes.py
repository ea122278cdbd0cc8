"""Statements that read the notes of orders."""

from uuid import UUID

from sqlalchemy import bindparam, func, select
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.access.operators import operators
from shop.models.order_edits.notes import ListedNote, OrderNote, order_notes

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
_FIND = statement(
    select(order_notes).where(order_notes.c.id == bindparam("note_id", type_=PG_UUID(as_uuid=True))), into(OrderNote)
)


async def list_notes(db: DatabaseSession, order_id: UUID) -> list[ListedNote]:
    """Returns the notes and messages of an order, oldest first."""
    return await db.all(_LIST, order_id=order_id)


async def count_notes(db: DatabaseSession, order_id: UUID) -> int:
    return await db.one(_COUNT, order_id=order_id) or 0


async def find_note(db: DatabaseSession, note_id: UUID) -> OrderNote | None:
    return await db.one(_FIND, note_id=note_id)
