"""The SQL condition that rejects credentials issued before the shop's `not_before` time."""

from typing import Any

from sqlalchemy import DateTime, func, literal_column, select

from shop.models.setup.shop import shops

_NEVER = literal_column("'-infinity'::timestamptz", DateTime(timezone=True))
# Evaluated once per statement, not per row.
_not_before = func.coalesce(select(shops.c.not_before).scalar_subquery(), _NEVER)


def is_not_void(created_at: Any) -> Any:
    """Returns the condition that `shop keys void-before` has not voided a credential issued at this time."""
    return created_at >= _not_before
