"""Statements of a backup: exports a snapshot, and counts and lists what it contains."""

from collections.abc import Sequence
from datetime import datetime
from typing import cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Integer, Text, column, func, literal_column, select, table
from sqlalchemy import cast as sql_cast

from shop.db.pool import DatabaseSession
from shop.db.statements import dynamic_statement, into, statement
from shop.models.catalog.images import images

EXCLUDED_TABLE = "backups"
"""Its rows are not part of a backup: they describe the place of this shop, not of one restored from it."""


class SnapshotState(msgspec.Struct, frozen=True):
    """An exported snapshot: its id, time and migration, and the major version of the server."""

    id: str
    now: datetime
    revision: str
    postgres_version: int


class ListedImage(msgspec.Struct, frozen=True):
    """An image of the snapshot, with the size from which the names of its files follow."""

    id: UUID
    width: int
    height: int


_revisions = table("alembic_version", column("version_num", Text()))
_version_number = sql_cast(func.current_setting(literal_column("'server_version_num'")), Integer)
_STATE = statement(
    select(
        func.pg_export_snapshot().label("id"),
        func.now().label("now"),
        _revisions.c.version_num.label("revision"),
        sql_cast(func.div(_version_number, literal_column("10000")), Integer).label("postgres_version"),
    ),
    into(SnapshotState),
)
_REMOVE_LIMITS = statement(
    select(
        *(
            func.set_config(literal_column(f"'{name}'"), literal_column("'0'"), literal_column("true"))
            for name in ("statement_timeout", "idle_in_transaction_session_timeout")
        )
    ),
    bool,
)
_TIME = statement(select(func.clock_timestamp().label("now")), lambda record: cast(datetime, record["now"]))
_classes = table(
    "pg_class", *(column(name) for name in ("oid", "relname", "relkind", "relnamespace", "relispartition"))
)
_TABLES = statement(
    select(sql_cast(_classes.c.relname, Text()).label("name"))
    .where(
        _classes.c.relnamespace == literal_column("'public'::regnamespace"),
        _classes.c.relkind.in_([literal_column("'r'"), literal_column("'p'")]),
        ~_classes.c.relispartition,
        _classes.c.relname != literal_column(f"'{EXCLUDED_TABLE}'"),
    )
    .order_by(_classes.c.relname),
    lambda record: cast(str, record["name"]),
)
_IMAGES = statement(select(images.c.id, images.c.width, images.c.height).order_by(images.c.id), into(ListedImage))


async def remove_limits(db: DatabaseSession) -> None:
    """Removes the time limits of this transaction, which stays open as long as the database is dumped."""
    await db.one(_REMOVE_LIMITS)


async def find_state(db: DatabaseSession) -> SnapshotState | None:
    return await db.one(_STATE)


async def find_time(db: DatabaseSession) -> datetime:
    return cast(datetime, await db.one(_TIME))


async def count_rows(db: DatabaseSession) -> dict[str, int]:
    """Returns the number of rows of each table."""
    return {name: await _count_table(db, name) for name in await db.all(_TABLES)}


async def _count_table(db: DatabaseSession, name: str) -> int:
    count = dynamic_statement(
        select(sql_cast(func.count(), BigInteger).label("count")).select_from(table(name, schema="public")),
        lambda record: cast(int, record["count"]),
    )
    return await db.one(count) or 0


async def list_images(db: DatabaseSession) -> Sequence[ListedImage]:
    return await db.all(_IMAGES)
