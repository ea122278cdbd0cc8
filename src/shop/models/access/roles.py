"""Roles of operators: a name with permissions."""

from datetime import datetime
from decimal import Decimal
from uuid import UUID

from shop.db.rows import Row, key, table, unique


class Role(Row, frozen=True, kw_only=True):
    """A role. Those of built-in ones have a `code`, and their permissions are in `rules/access/permissions.py`."""

    id: UUID
    code: str | None = None
    name: str
    permissions: list[str] = []  # noqa: RUF012  msgspec copies it.
    refund_limit: Decimal | None = None
    """The highest amount of one refund, in the currency of its order; `None` is no limit."""
    created_at: datetime
    updated_at: datetime


roles = table("roles", Role, key("id"), unique("code"), unique("name"))
