"""Copies the database beside the live one, and reads the figures that a migration of the copy must not change."""

import asyncio

import msgspec

from shop.base.errors import BackupError
from shop.db.dumps import Interruption, load_dump, read_dump
from shop.db.pool import Database
from shop.queries.backups import snapshots
from shop.queries.backups.copies import list_totals

_STATEMENT_SECONDS = 3600.0


class CopyFigures(msgspec.Struct, frozen=True):
    """The number of rows of each table, and sums of money and stock."""

    row_counts: dict[str, int]
    totals: dict[str, str]


async def copy_database(database: Database, url: str, target_url: str, target_version: int) -> None:
    """Copies a consistent snapshot of the database, while it is used, into an empty one."""
    db = database.session()
    db.seconds = _STATEMENT_SECONDS
    async with db.transaction(is_snapshot=True):
        await snapshots.remove_limits(db)
        state = await snapshots.find_state(db)
        if state is None:
            raise BackupError("The database contains no shop; there is nothing to copy.")
        chunks = read_dump(url, state.id, state.postgres_version, snapshots.EXCLUDED_TABLE, Interruption())
        await asyncio.to_thread(load_dump, target_url, chunks, target_version, must_drop=False)


async def read_figures(database: Database) -> CopyFigures:
    db = database.session()
    db.seconds = _STATEMENT_SECONDS
    async with db.transaction(is_snapshot=True):
        await snapshots.remove_limits(db)
        return CopyFigures(await snapshots.count_rows(db), await list_totals(db))


def list_differences(before: CopyFigures, after: CopyFigures) -> list[str]:
    """Returns the totals that changed, and the tables that lost rows."""
    counts = [
        f"{name} has {after.row_counts.get(name, 0):,} rows instead of {count:,}"
        for name, count in before.row_counts.items()
        if after.row_counts.get(name, 0) < count
    ]
    return counts + [
        f"{name}: {after.totals.get(name, '0')} instead of {total}"
        for name, total in before.totals.items()
        if after.totals.get(name) != total
    ]


def list_additions(before: CopyFigures, after: CopyFigures) -> list[str]:
    """Returns the tables that got rows, such as a new payment method; a new table is left out."""
    return [
        f"{name} has {after.row_counts[name]:,} rows instead of {count:,}"
        for name, count in before.row_counts.items()
        if after.row_counts.get(name, 0) > count
    ]
