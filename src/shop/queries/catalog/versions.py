"""The catalog version, which changes with every visible change of the catalog."""

from typing import Any

import msgspec
from sqlalchemy import BigInteger, func, select
from sqlalchemy import cast as sql_cast

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.catalog.product_index import catalog_versions, listings


class CatalogState(msgspec.Struct, frozen=True):
    """The version of the whole catalog, and those of its parts that many products show."""

    version: Any
    shared: Any
    facets: Any
    matches: Any
    due: int
    """The number of listings that are due for a refresh."""


def _sum(name: str) -> Any:
    # As an integer: a decimal number takes longer to read than all other columns of the statement.
    return sql_cast(func.sum(catalog_versions.c[name]), BigInteger).label(name)


_due = select(func.count()).where(listings.c.next_look_at <= func.now()).scalar_subquery()
catalog_state = select(*map(_sum, ("version", "shared", "facets", "matches")), _due.label("due"))
_STATE = statement(catalog_state, into(CatalogState))


async def find_state(db: DatabaseSession) -> CatalogState:
    return (await db.combined(_STATE))[0]
