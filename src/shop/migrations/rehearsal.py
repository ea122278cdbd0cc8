"""Migrates a copy of a database, and reports how long each revision took and which tables it locked."""

import time
from collections.abc import Callable, Collection
from typing import Any

import msgspec
from sqlalchemy import text

_LOCKS = text("""
    select distinct c.relname, l.mode from pg_locks l join pg_class c on c.oid = l.relation
    where l.pid = pg_backend_pid() and l.granted and c.relkind in ('r', 'p')
        and l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
    order by 1, 2
""")
"""The locks that block writes, or all requests."""


class Step(msgspec.Struct, frozen=True):
    """A revision that was run: its title, its time, and the locks that it held at its end."""

    revision: str
    title: str
    seconds: float
    locks: list[str]


def rehearse(tables: Collection[str], upgrade: Callable[..., object]) -> list[Step]:
    """Migrates a copy. Locks of other tables than these are of new ones, which nobody uses yet."""
    steps: list[Step] = []
    start = time.monotonic()

    def add_step(*, ctx: Any, step: Any, **_values: Any) -> None:
        nonlocal start
        rows = ctx.connection.execute(_LOCKS).all()
        locks = [f"{name} {mode.removesuffix('Lock')}" for name, mode in rows if name in tables]
        title = step.up_revision.doc.partition("\n")[0]
        steps.append(Step(step.up_revision_id, title, time.monotonic() - start, locks))
        start = time.monotonic()

    upgrade(on_step=add_step)
    return steps
