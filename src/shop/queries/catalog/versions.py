"""Which version of the catalogue there is: another one after any change of what somebody can see."""

from typing import Any

from sqlalchemy import func, select

from shop.db.pool import Session
from shop.db.statements import statement
from shop.models.catalog.product_index import catalog_versions, listings

WRITTEN = select(func.sum(catalog_versions.c.version)).scalar_subquery().label("written")
DUE = select(func.count()).where(listings.c.next_look_at <= func.now()).scalar_subquery().label("due")
"""Those that were not yet looked at by whoever keeps the listings."""


def version_of(record: Any) -> tuple[Any, ...]:
    return record["written"], record["due"]


_VERSION = statement(select(WRITTEN, DUE), version_of)


async def find_version(db: Session) -> tuple[Any, ...] | None:
    return await db.one(_VERSION)
