"""Batches of changes to many products, with the values before and after, so that they can be undone."""

from datetime import datetime
from typing import Any
from uuid import UUID

from shop.db.rows import Row, check, index, key, refers, table

OPEN_STATES = ("running", "undoing")


class ProductBatch(Row, frozen=True, kw_only=True):
    """One bulk operation of an operator on the ticked products, or on all products of a filtered list."""

    id: UUID
    operator_id: UUID
    label: str
    """The operation in words."""
    operation: dict[str, Any]
    product_ids: list[UUID] = []  # noqa: RUF012
    """The ticked products; if there are none, the filter selects the products."""
    query: str | None = None
    status: str | None = None
    stock: str | None = None
    state: str = "running"
    position: UUID | None = None
    """The last product that is done; products are changed in the order of their ids."""
    product_count: int = 0
    done_count: int = 0
    change_count: int = 0
    """The changed values."""
    problem_count: int = 0
    """The values that could not be changed."""
    undone_count: int = 0
    skipped_count: int = 0
    """The values that someone else changed since, which undoing left alone."""
    finished_at: datetime | None = None
    created_at: datetime
    updated_at: datetime


class ProductBatchEdit(Row, frozen=True, kw_only=True):
    """A value that a batch changed, and did not undo yet."""

    id: UUID
    batch_id: UUID
    owner_id: UUID
    """The product or variant."""
    cell: str
    """The key of the column."""
    before: str
    after: str
    created_at: datetime


product_batches = table(
    "product_batches",
    ProductBatch,
    key("id"),
    index("ix_product_batches_created_at", "created_at", "id"),
    index("ix_product_batches_open", "created_at", where="state in ('running', 'undoing')"),
    check("state_is_known", "state in ('running', 'done', 'undoing', 'undone')"),
)
product_batch_edits = table(
    "product_batch_edits",
    ProductBatchEdit,
    key("id"),
    refers("batch_id", product_batches, on_delete="cascade"),
    index("ix_product_batch_edits_batch_id", "batch_id", "owner_id", "id"),
    index("ix_product_batch_edits_created_at", "created_at"),
)
