"""The moment before which no credential is valid, as a condition of the statements that look credentials up."""

from typing import Any

from sqlalchemy import DateTime, func, literal_column, select

from shop.models.setup.shop import shops

_NEVER = literal_column("'-infinity'::timestamptz", DateTime(timezone=True))
# Evaluated once for each statement, not for each row.
_not_before = func.coalesce(select(shops.c.not_before).scalar_subquery(), _NEVER)


def is_not_void(created_at: Any) -> Any:
    """Whether a credential that was issued then is still valid, as far as `shop keys void-before` is concerned."""
    return created_at >= _not_before
