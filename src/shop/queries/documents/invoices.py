"""Statements that number, insert and read invoices and credit notes."""

from datetime import datetime
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Text, bindparam, func, literal_column, select
from sqlalchemy.dialects.postgresql import UUID as PG_UUID
from sqlalchemy.dialects.postgresql import insert

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.documents.invoices import Invoice, invoice_counters, invoices

_first = insert(invoice_counters).values(series=bindparam("series", type_=Text()), last_number=literal_column("1"))
_NEXT_NUMBER = statement(
    _first.on_conflict_do_update(
        index_elements=["series"],
        set_={"last_number": invoice_counters.c.last_number + literal_column("1")},
    ).returning(invoice_counters.c.last_number),
    lambda record: cast(int, record[0]),
)
_NOW = statement(select(func.now()), lambda record: cast(datetime, record[0]))
_INSERT = statement(
    insert(invoices)
    .values({column.name: bindparam(f"new_{column.name}", type_=column.type) for column in invoices.c})
    .returning(invoices),
    into(Invoice),
)
_LIST = statement(
    select(invoices)
    .where(invoices.c.order_id == bindparam("order_id", type_=PG_UUID(as_uuid=True)))
    .order_by(invoices.c.issued_at, invoices.c.id),
    into(Invoice),
)


async def take_number(db: DatabaseSession, series: str) -> int:
    """Returns the next number of a series; until the transaction ends, others wait for it, so that a number is never
    left out.
    """
    return cast(int, await db.one(_NEXT_NUMBER, series=series))


async def get_time(db: DatabaseSession) -> datetime:
    """Returns the time of the transaction."""
    return cast(datetime, await db.one(_NOW))


async def insert_invoice(db: DatabaseSession, **values: Any) -> Invoice:
    return cast(Invoice, await db.one(_INSERT, **{f"new_{name}": value for name, value in values.items()}))


async def list_invoices(db: DatabaseSession, order_id: UUID) -> list[Invoice]:
    """Returns the invoice and the credit notes of an order, oldest first."""
    return await db.all(_LIST, order_id=order_id)
