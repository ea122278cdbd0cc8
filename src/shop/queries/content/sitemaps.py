"""Statements for sitemaps: public records in the order of their ids, and where each file ends."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ColumnElement, Select, bindparam, exists, func, select
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, into, statement
from shop.models.catalog.product_index import listing_facets, listings
from shop.models.catalog.products import products
from shop.models.catalog.taxons import taxons
from shop.models.content.pages import cms_pages, policies
from shop.models.content.public_urls import SitemapEntry, SitemapKind, SitemapPart
from shop.queries.catalog.priced_products import IS_LISTED_NOW

_after = bindparam("after", type_=PG_UUID(as_uuid=True))
_most = bindparam("most", type_=BigInteger)


def _following(key: Any, slug: Any, updated_at: Any, source: Any, *conditions: ColumnElement[bool]) -> Select[Any]:
    """Selects the next public records after an id."""
    columns = key.label("id"), slug.label("slug"), updated_at.label("updated_at")
    return select(*columns).select_from(source).where(key > _after, *conditions).order_by(key).limit(_most)


_has_products = exists().where(listing_facets.c.scope_id == taxons.c.id, listing_facets.c.product_count > 0)
_FOLLOWING: Mapping[SitemapKind, Select[Any]] = {
    # A page of the type `homepage` has no address of its own.
    "pages": _following(
        cms_pages.c.id,
        cms_pages.c.slug,
        cms_pages.c.updated_at,
        cms_pages,
        cms_pages.c.visible,
        cms_pages.c.type != "homepage",
    ),
    "policies": _following(policies.c.id, policies.c.slug, policies.c.updated_at, policies),
    "categories": _following(
        taxons.c.id,
        taxons.c.permalink,
        taxons.c.updated_at,
        taxons,
        taxons.c.depth > 0,
        _has_products.correlate(taxons),
    ),
    "products": _following(
        listings.c.product_id,
        products.c.slug,
        products.c.updated_at,
        listings.join(products, products.c.id == listings.c.product_id),
        IS_LISTED_NOW,
    ),
}


def _part(clause: Select[Any]) -> Statement[SitemapPart]:
    # PostgreSQL has no maximum of UUIDs before version 18.
    rows = clause.subquery("part")
    return statement(
        select(
            rows.c.id.label("last_id"),
            func.count().over().label("size"),
            func.max(rows.c.updated_at).over().label("updated_at"),
        )
        .order_by(rows.c.id.desc())
        .limit(1),
        into(SitemapPart),
    )


_ENTRIES = {kind: statement(clause, into(SitemapEntry)) for kind, clause in _FOLLOWING.items()}
_PARTS = {kind: _part(clause) for kind, clause in _FOLLOWING.items()}


async def list_entries_after(db: DatabaseSession, kind: SitemapKind, after: UUID, most: int) -> list[SitemapEntry]:
    return await db.all(_ENTRIES[kind], after=after, most=most)


async def find_part_after(db: DatabaseSession, kind: SitemapKind, after: UUID, most: int) -> SitemapPart | None:
    """Returns the end of the file that begins after an id; None if no record follows."""
    return await db.one(_PARTS[kind], after=after, most=most)
