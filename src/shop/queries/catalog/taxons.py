"""Statements for taxonomies and taxons."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Text,
    and_,
    bindparam,
    column,
    exists,
    func,
    literal_column,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.listing import Keyset, Page
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, any_of, dynamic_statement, into, statement
from shop.models.catalog.product_index import listing_facets, listings
from shop.models.catalog.taxons import StorefrontTaxon, Taxon, Taxonomy, classifications, taxonomies, taxons
from shop.queries.catalog.columns import TAXON_IMAGE_ID
from shop.rules.catalog.taxons import TreePosition

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
_placements = (
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
        taxons.c.id == _placements.c.id,
        or_(*(taxons.c[name].is_distinct_from(_placements.c[name]) for name in _COLUMNS)),
    )
    .values({name: _placements.c[name] for name in _COLUMNS} | {"updated_at": func.now()})
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


_below = taxons.alias("below")
_taxon_select = select(
    taxons,
    func.array(
        select(_below.c.id)
        .where(_below.c.parent_id == taxons.c.id)
        .order_by(_below.c.lft)
        .correlate(taxons)
        .scalar_subquery(),
        type_=ARRAY(_ID),
    ).label("child_ids"),
    # Counts include all descendants of a taxon, as its product list does.
    exists()
    .where(listing_facets.c.scope_id == taxons.c.id, listing_facets.c.product_count > 0)
    .correlate(taxons)
    .label("has_products"),
    TAXON_IMAGE_ID.label("image_id"),
)
_SHOWN_OF = statement(_taxon_select.where(taxons.c.id == any_of("ids", _ID)), into(StorefrontTaxon))
_SHOWN_BY_PERMALINK = statement(
    _taxon_select.where(taxons.c.permalink == bindparam("permalink", type_=Text())), into(StorefrontTaxon)
)
_permalink = bindparam("permalink", type_=Text())
_self = select(_below.c.id).where(_below.c.permalink == _permalink).limit(literal_column("1")).scalar_subquery()
_PATH = statement(
    _taxon_select.where(or_(taxons.c.permalink == any_of("permalinks", Text()), taxons.c.parent_id == _self)).order_by(
        taxons.c.lft
    ),
    into(StorefrontTaxon),
)
_is_above = and_(
    taxons.c.taxonomy_id == _below.c.taxonomy_id, taxons.c.lft <= _below.c.lft, taxons.c.rgt >= _below.c.rgt
)
_WITH_ANCESTORS = statement(
    _taxon_select.join(taxonomies, taxonomies.c.id == taxons.c.taxonomy_id)
    .where(exists().where(_below.c.id == any_of("ids", _ID), _is_above).correlate(taxons))
    .order_by(taxonomies.c.position, taxonomies.c.id, taxons.c.lft),
    into(StorefrontTaxon),
)
# Walks the index of classifications in each taxon of a subtree until a visible product has an image.
_first_image = (
    select(listings.c.image_ids[1].label("image_id"))
    .join(classifications, classifications.c.product_id == listings.c.product_id)
    .where(classifications.c.taxon_id == _below.c.id, listings.c.is_active, func.cardinality(listings.c.image_ids) > 0)
    .order_by(classifications.c.position, classifications.c.product_id)
    .limit(literal_column("1"))
    .correlate(_below)
    .lateral("first_image")
)
_first_image_within = (
    select(_first_image.c.image_id)
    .select_from(_below.join(_first_image, literal_column("true")))
    .where(_below.c.taxonomy_id == taxons.c.taxonomy_id, _below.c.lft >= taxons.c.lft, _below.c.rgt <= taxons.c.rgt)
    .order_by(_below.c.lft)
    .limit(literal_column("1"))
    .correlate(taxons)
    .scalar_subquery()
)
_FIRST_IMAGES = statement(
    select(taxons.c.id, _first_image_within).where(taxons.c.id == any_of("ids", _ID)),
    lambda record: cast(tuple[UUID, UUID | None], tuple(record)),
)
_FILTERS = {
    "depth": taxons.c.depth == bindparam("depth", type_=BigInteger),
    "ids": taxons.c.id == any_of("ids", _ID),
    "parent_id": taxons.c.parent_id == bindparam("parent_id", type_=_ID),
    "parent_permalink": taxons.c.parent_id.in_(
        select(_below.c.id).where(_below.c.permalink == bindparam("parent_permalink", type_=Text()))
    ),
    "taxonomy_id": taxons.c.taxonomy_id == bindparam("taxonomy_id", type_=_ID),
    "name": func.lower(taxons.c.name).contains(bindparam("name", type_=Text()), autoescape=False),
    "roots": taxons.c.parent_id.is_(None),
}


@lru_cache(maxsize=128)
def _list_statement(names: frozenset[str], *, is_after: bool) -> Statement[StorefrontTaxon]:
    clause = _taxon_select.join(taxonomies, taxonomies.c.id == taxons.c.taxonomy_id)
    clause = clause.where(*(_FILTERS[name] for name in sorted(names)))
    order = (taxonomies.c.position, taxonomies.c.id, taxons.c.lft)
    if is_after:
        last_tree, last_left = bindparam("last_tree", type_=_ID), bindparam("last_left", type_=BigInteger)
        trees = taxonomies.alias("last_trees")
        position = select(trees.c.position).where(trees.c.id == last_tree).scalar_subquery()
        clause = clause.where(tuple_(*order) > tuple_(position, last_tree, last_left))
    most, skip = bindparam("most", type_=BigInteger), bindparam("skip", type_=BigInteger)
    return dynamic_statement(clause.order_by(*order).limit(most).offset(skip), into(StorefrontTaxon))


@lru_cache(maxsize=128)
def _count_statement(names: frozenset[str]) -> Statement[int]:
    clause = select(func.count()).select_from(taxons).where(*(_FILTERS[name] for name in sorted(names)))
    return dynamic_statement(clause, lambda record: cast(int, record[0]))


async def list_taxons(db: DatabaseSession, filters: Mapping[str, Any], page: Page | Keyset) -> list[StorefrontTaxon]:
    """Returns one page in tree order; with a cursor, one taxon more than the page size to detect a next page."""
    names = frozenset(filters)
    if isinstance(page, Page):
        return await db.all(_list_statement(names, is_after=False), **filters, most=page.size, skip=page.offset)
    cursor_values: dict[str, Any] = {}
    if page.after:
        (cursor_values["last_tree"], cursor_values["last_left"]), _ = page.after
    return await db.all(
        _list_statement(names, is_after=bool(cursor_values)), **filters, **cursor_values, most=page.size + 1, skip=0
    )


async def count_taxons(db: DatabaseSession, filters: Mapping[str, Any]) -> int:
    return await db.one(_count_statement(frozenset(filters)), **filters) or 0


async def list_taxons_of(db: DatabaseSession, ids: Sequence[UUID]) -> list[StorefrontTaxon]:
    return await db.all(_SHOWN_OF, ids=list(ids)) if ids else []


async def find_taxon_by_permalink(db: DatabaseSession, permalink: str) -> StorefrontTaxon | None:
    return await db.one(_SHOWN_BY_PERMALINK, permalink=permalink)


async def list_path(db: DatabaseSession, permalink: str) -> list[StorefrontTaxon]:
    """Returns the taxon with this permalink, its ancestors and its children, in tree order."""
    names = permalink.split("/")
    permalinks = ["/".join(names[: count + 1]) for count in range(len(names))]
    return await db.all(_PATH, permalink=permalink, permalinks=permalinks)


async def list_with_ancestors(db: DatabaseSession, ids: Sequence[UUID]) -> list[StorefrontTaxon]:
    """Returns the taxons and all their ancestors, in tree order."""
    return await db.all(_WITH_ANCESTORS, ids=list(ids)) if ids else []


async def list_first_image_ids(db: DatabaseSession, ids: Sequence[UUID]) -> dict[UUID, UUID | None]:
    """Returns the id of the first image of the first visible product that has one, by taxon."""
    return dict(await db.all(_FIRST_IMAGES, ids=list(ids))) if ids else {}


async def lock_taxonomy(db: DatabaseSession, taxonomy_id: UUID) -> Taxonomy | None:
    """Locks a taxonomy, so that concurrent changes to one tree are serialized."""
    return await db.one(_LOCK_TAXONOMY, id=taxonomy_id)


async def list_tree(db: DatabaseSession, taxonomy_id: UUID) -> list[Taxon]:
    return await db.all(_TREE, id=taxonomy_id)


async def find_taxon(db: DatabaseSession, taxon_id: UUID) -> Taxon | None:
    return await db.one(_TAXON, id=taxon_id)


async def find_root(db: DatabaseSession, taxonomy_id: UUID) -> Taxon | None:
    return await db.one(_ROOT, id=taxonomy_id)


async def place_taxons(db: DatabaseSession, positions: Mapping[UUID, TreePosition]) -> list[UUID]:
    """Updates the positions of taxons; returns the ids of those that changed."""
    columns = {f"{name}s": [getattr(position, name) for position in positions.values()] for name in _COLUMNS}
    return await db.all(_PLACE, ids=list(positions), **columns)


async def list_products_in(db: DatabaseSession, taxonomy_id: UUID) -> list[UUID]:
    return await db.all(_IN_TAXONOMY, id=taxonomy_id)
