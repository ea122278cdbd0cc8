"""Which statements keep the trees of taxons."""

from collections.abc import Mapping
from typing import Any, cast
from uuid import UUID

from sqlalchemy import BigInteger, Text, bindparam, column, func, or_, select, update
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import Session
from shop.db.statements import into, statement
from shop.models.taxons import Taxon, Taxonomy, classifications, taxonomies, taxons
from shop.rules.taxons import Place

_ID = PG_UUID(as_uuid=True)
_COLUMNS: dict[str, Any] = {
    "lft": BigInteger(),
    "rgt": BigInteger(),
    "depth": BigInteger(),
    "position": BigInteger(),
    "permalink": Text(),
    "pretty_name": Text(),
}
_LOCK_TAXONOMY = statement(
    select(taxonomies).where(taxonomies.c.id == bindparam("id", type_=_ID)).with_for_update(), into(Taxonomy)
)
_TREE = statement(select(taxons).where(taxons.c.taxonomy_id == bindparam("id", type_=_ID)), into(Taxon))
_TAXON = statement(select(taxons).where(taxons.c.id == bindparam("id", type_=_ID)), into(Taxon))
_ROOT = statement(
    select(taxons).where(taxons.c.taxonomy_id == bindparam("id", type_=_ID), taxons.c.parent_id.is_(None)), into(Taxon)
)
_given = (
    func.unnest(
        bindparam("ids", type_=ARRAY(_ID)),
        *(bindparam(f"{name}s", type_=ARRAY(kind)) for name, kind in _COLUMNS.items()),
    )
    .table_valued(column("id", _ID), *(column(name, kind) for name, kind in _COLUMNS.items()), name="given")
    .render_derived()
)
_PLACE = statement(
    update(taxons)
    .where(
        taxons.c.id == _given.c.id,
        or_(*(taxons.c[name].is_distinct_from(_given.c[name]) for name in _COLUMNS)),
    )
    .values({name: _given.c[name] for name in _COLUMNS} | {"updated_at": func.now()})
    .returning(taxons.c.id),
    lambda record: cast(UUID, record[0]),
)
_IN_TAXONOMY = statement(
    select(classifications.c.product_id)
    .join(taxons, taxons.c.id == classifications.c.taxon_id)
    .where(taxons.c.taxonomy_id == bindparam("id", type_=_ID))
    .distinct(),
    lambda record: cast(UUID, record[0]),
)


async def lock_taxonomy(db: Session, taxonomy_id: UUID) -> Taxonomy | None:
    """Of two who change a tree the later one sees what the earlier one left."""
    return await db.one(_LOCK_TAXONOMY, id=taxonomy_id)


async def list_tree(db: Session, taxonomy_id: UUID) -> list[Taxon]:
    return await db.all(_TREE, id=taxonomy_id)


async def find_taxon(db: Session, taxon_id: UUID) -> Taxon | None:
    return await db.one(_TAXON, id=taxon_id)


async def find_root(db: Session, taxonomy_id: UUID) -> Taxon | None:
    return await db.one(_ROOT, id=taxonomy_id)


async def place_taxons(db: Session, places: Mapping[UUID, Place]) -> list[UUID]:
    """Says which have moved."""
    columns = {f"{name}s": [getattr(place, name) for place in places.values()] for name in _COLUMNS}
    return await db.all(_PLACE, ids=list(places), **columns)


async def list_products_in(db: Session, taxonomy_id: UUID) -> list[UUID]:
    return await db.all(_IN_TAXONOMY, id=taxonomy_id)
