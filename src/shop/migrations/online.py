"""Changes of the schema that do not stop the shop: an index is built without blocking writes."""

from collections.abc import Sequence
from typing import Any

from alembic import op

LOCK_TIMEOUT = "100ms"
"""How long a statement waits for a lock; requests that need the table wait behind it."""


def create_index(name: str, table: str, columns: Sequence[Any], **options: Any) -> None:
    """Creates an index while the table is written. An interrupted build leaves an invalid index, which is dropped."""
    with op.get_context().autocommit_block():
        # Neither statement blocks writes while it waits for older transactions, which can take long.
        op.execute("set lock_timeout = 0")
        op.drop_index(name, table, if_exists=True, postgresql_concurrently=True)
        op.create_index(name, table, columns, postgresql_concurrently=True, **options)
        op.execute(f"set lock_timeout = '{LOCK_TIMEOUT}'")


def drop_index(name: str, table: str) -> None:
    """Drops an index while the table is written."""
    with op.get_context().autocommit_block():
        op.execute("set lock_timeout = 0")
        op.drop_index(name, table, if_exists=True, postgresql_concurrently=True)
        op.execute(f"set lock_timeout = '{LOCK_TIMEOUT}'")
