"""Statements that lease imports and save their progress."""

from typing import Any, cast
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Boolean,
    Integer,
    Text,
    bindparam,
    case,
    func,
    literal_column,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.imports.csv_imports import CsvImport, csv_imports

_ID = PG_UUID(as_uuid=True)
_LEASE: Any = literal_column("interval '5 minutes'")
_id = bindparam("id", type_=_ID)
_due = (
    select(csv_imports.c.id)
    .where(
        csv_imports.c.state.in_([literal_column("'checking'"), literal_column("'running'")]),
        or_(csv_imports.c.leased_until.is_(None), csv_imports.c.leased_until < func.now()),
    )
    .order_by(csv_imports.c.id)
    .limit(literal_column("1"))
    .with_for_update(skip_locked=True)
    .scalar_subquery()
)
_LEASE_NEXT = statement(
    update(csv_imports).where(csv_imports.c.id == _due).values(leased_until=func.now() + _LEASE).returning(csv_imports),
    into(CsvImport),
)
_errors = func.array_cat(csv_imports.c.errors, bindparam("more_errors", type_=ARRAY(Text())))
_most_errors = bindparam("most_errors", type_=Integer())
_number = {
    name: bindparam(f"more_{name}", type_=BigInteger()) for name in ("created", "updated", "unchanged", "failed")
}
_from_position = bindparam("from_position", type_=BigInteger())
_SAVE_PROGRESS = statement(
    update(csv_imports)
    .where(
        csv_imports.c.id == _id,
        csv_imports.c.position == func.coalesce(_from_position, csv_imports.c.position),
        csv_imports.c.state == bindparam("from_state", type_=Text()),
    )
    .values(
        position=csv_imports.c.position + bindparam("batch_size", type_=BigInteger()),
        total=bindparam("new_total", type_=BigInteger()),
        state=bindparam("new_state", type_=Text()),
        errors=func.trim_array(_errors, func.greatest(func.cardinality(_errors) - _most_errors, 0)),
        leased_until=case((bindparam("is_busy", type_=Boolean()), func.now() + _LEASE), else_=None),
        updated_at=func.now(),
        **{name: csv_imports.c[name] + number for name, number in _number.items()},
    )
    .returning(csv_imports.c.id),
    lambda record: cast(UUID, record[0]),
)
_START = statement(
    update(csv_imports)
    .where(csv_imports.c.id == _id)
    .values(
        state=bindparam("new_state", type_=Text()),
        mapping=bindparam("new_mapping", type_=JSONB()),
        operator_id=bindparam("new_operator_id", type_=_ID),
        position=literal_column("0"),
        total=literal_column("0"),
        errors=literal_column("'{}'"),
        leased_until=None,
        updated_at=func.now(),
        **dict.fromkeys(_number, literal_column("0")),
    )
    .returning(csv_imports.c.id),
    lambda record: cast(UUID, record[0]),
)
_EXTEND = statement(
    update(csv_imports)
    .where(csv_imports.c.id == _id)
    .values(leased_until=func.now() + _LEASE)
    .returning(csv_imports.c.id),
    lambda record: cast(UUID, record[0]),
)


async def lease_import(db: DatabaseSession) -> CsvImport | None:
    """Leases the first import that has work; a lease of a process that crashed ends after five minutes."""
    return await db.one(_LEASE_NEXT)


async def extend_lease(db: DatabaseSession, import_id: UUID) -> None:
    """Extends the lease of an import while its images are fetched."""
    await db.one(_EXTEND, id=import_id)


async def start_run(
    db: DatabaseSession, import_id: UUID, state: str, mapping: dict[str, Any], operator_id: UUID | None
) -> None:
    """Starts a check or a run from the beginning of the file."""
    await db.one(_START, id=import_id, new_state=state, new_mapping=mapping, new_operator_id=operator_id)


async def save_progress(
    db: DatabaseSession, row: CsvImport, from_position: int | None, *, state: str, total: int, size: int, **values: Any
) -> bool:
    """Saves the result of a batch; returns False if another process has saved it. The lease continues until the end.
    None is any position.
    """
    saved_id = await db.one(
        _SAVE_PROGRESS,
        id=row.id,
        from_position=from_position,
        from_state=row.state,
        new_state=state,
        new_total=total,
        batch_size=size,
        is_busy=state == row.state,
        **values,
    )
    return saved_id is not None
