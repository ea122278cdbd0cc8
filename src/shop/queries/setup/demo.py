"""Statements for the progress of filling a demo shop with historical orders."""

from sqlalchemy import BigInteger, Boolean, bindparam, case, func, literal_column, select, update
from sqlalchemy.dialects.postgresql import insert

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.setup.demo import DemoFill, demo_fills

_START = statement(
    insert(demo_fills).values(id=literal_column("1"), started_at=func.now()).returning(demo_fills), into(DemoFill)
)
_FIND = statement(select(demo_fills).where(demo_fills.c.ended_at.is_(None)), into(DemoFill))
# Another process that adds orders holds the lock until its batch is committed.
_LOCK = statement(
    select(demo_fills).where(demo_fills.c.ended_at.is_(None)).with_for_update(skip_locked=True), into(DemoFill)
)
_ADVANCE = statement(
    update(demo_fills)
    .values(
        order_count=bindparam("count", type_=BigInteger),
        ended_at=case((bindparam("has_ended", type_=Boolean), func.now()), else_=None),
    )
    .returning(demo_fills),
    into(DemoFill),
)


async def start_fill(db: DatabaseSession) -> None:
    await db.one(_START)


async def find_fill(db: DatabaseSession) -> DemoFill | None:
    """Returns the progress of an unfinished fill."""
    return await db.one(_FIND)


async def lock_fill(db: DatabaseSession) -> DemoFill | None:
    """Locks the progress of an unfinished fill; `None` if another process has locked it."""
    return await db.one(_LOCK)


async def advance_fill(db: DatabaseSession, *, count: int, has_ended: bool) -> None:
    await db.one(_ADVANCE, count=count, has_ended=has_ended)
