"""The statement that finds categories by their paths."""

from collections.abc import Sequence

from sqlalchemy import Text, or_, select

from shop.db.pool import DatabaseSession
from shop.db.statements import any_of, into, statement
from shop.models.catalog.taxons import Taxon, taxons

_FIND = statement(
    select(taxons)
    .where(or_(taxons.c.pretty_name == any_of("names", Text()), taxons.c.permalink == any_of("permalinks", Text())))
    .order_by(taxons.c.id),
    into(Taxon),
)


async def find_categories(db: DatabaseSession, names: Sequence[str], permalinks: Sequence[str]) -> list[Taxon]:
    """Returns the categories with one of these full names or permalinks."""
    return await db.all(_FIND, names=list(names), permalinks=list(permalinks))
