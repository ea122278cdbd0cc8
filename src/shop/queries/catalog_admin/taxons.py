"""Statements for the dashboard's taxon pages."""

from typing import cast
from uuid import UUID

from sqlalchemy import BigInteger, bindparam, func, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.catalog.taxons import Taxon, Taxonomy, classifications, taxonomies, taxons

_ID = PG_UUID(as_uuid=True)


class CountedTaxon(Taxon, frozen=True, kw_only=True):
    """A taxon with its number of products, without those of its descendants."""

    product_count: int


_count = (
    select(func.count())
    .select_from(classifications)
    .where(classifications.c.taxon_id == taxons.c.id)
    .correlate(taxons)
    .scalar_subquery()
)
_TAXONOMIES = statement(
    select(taxonomies).order_by(taxonomies.c.position, taxonomies.c.name, taxonomies.c.id), into(Taxonomy)
)
_TAXONS = statement(
    select(taxons, sql_cast(_count, BigInteger).label("product_count")).order_by(taxons.c.taxonomy_id, taxons.c.lft),
    into(CountedTaxon),
)
_OF_PRODUCT = statement(
    select(classifications.c.taxon_id)
    .where(classifications.c.product_id == bindparam("product_id", type_=_ID))
    .order_by(classifications.c.position, classifications.c.id),
    lambda record: cast(UUID, record[0]),
)


async def list_taxonomies(db: DatabaseSession) -> list[Taxonomy]:
    return await db.all(_TAXONOMIES)


async def list_taxons(db: DatabaseSession) -> list[CountedTaxon]:
    """Returns the taxons of all taxonomies in tree order."""
    return await db.all(_TAXONS)


async def list_taxon_ids_of(db: DatabaseSession, product_id: UUID) -> list[UUID]:
    return await db.all(_OF_PRODUCT, product_id=product_id)
