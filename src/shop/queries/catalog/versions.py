"""The catalog version, which changes with every visible change of the catalog."""

from typing import Any

from sqlalchemy import func, select

from shop.db.pool import DatabaseSession
from shop.db.statements import statement
from shop.models.catalog.product_index import catalog_versions, listings

CATALOG_CHANGE_SUM = select(func.sum(catalog_versions.c.version)).scalar_subquery().label("written")
DUE = select(func.count()).where(listings.c.next_look_at <= func.now()).scalar_subquery().label("due")
"""The number of listings that are due for a refresh."""


def version_of(record: Any) -> tuple[Any, ...]:
    return record["written"], record["due"]


_VERSION = statement(select(CATALOG_CHANGE_SUM, DUE), version_of)


async def find_version(db: DatabaseSession) -> tuple[Any, ...] | None:
    return await db.one(_VERSION)
