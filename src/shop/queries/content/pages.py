"""Statements for pages and policies: public lists, lookups by slug or id, and existing slugs."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, ColumnElement, Select, Table, Text, bindparam, func, or_, select
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.listing import Keyset, ListedRows, Page
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, any_of, dynamic_statement, into, statement
from shop.models.content.pages import PublicPage, PublicPolicy, cms_pages, policies

_ID = PG_UUID(as_uuid=True)


class PublicList(msgspec.Struct, frozen=True, eq=False):
    """A public list sorted by id: its rows, and its filters by name."""

    clause: Select[Any]
    table: Table
    row: Any
    filters: Mapping[str, ColumnElement[bool]]


def equals(column: Any, name: str) -> ColumnElement[bool]:
    return cast(ColumnElement[bool], column == bindparam(name, type_=column.type))


def contains(column: Any, name: str) -> ColumnElement[bool]:
    """Returns a case-insensitive substring match; the caller escapes wildcards in the parameter."""
    part = func.lower(bindparam(name, type_=Text()))
    return func.lower(column).contains(part, autoescape=False)


PAGES = PublicList(
    select(
        *(cms_pages.c[name] for name in ("id", "title", "slug", "locale", "type", "meta_title", "meta_description")),
        cms_pages.c.content_html.label("content"),
    ).where(cms_pages.c.visible),
    cms_pages,
    PublicPage,
    {
        "title": contains(cms_pages.c.title, "title"),
        "type": equals(cms_pages.c.type, "type"),
        "locale": equals(cms_pages.c.locale, "locale"),
    },
)
POLICIES = PublicList(
    select(
        *(policies.c[name] for name in ("id", "name", "slug", "body_html", "show_in_checkout_footer")),
        policies.c.body_text.label("body"),
        policies.c.created_at,
        policies.c.updated_at,
    ),
    policies,
    PublicPolicy,
    {},
)
_PAGES_OF = statement(PAGES.clause.where(cms_pages.c.id == any_of("ids", _ID)), into(PublicPage))
_slug = bindparam("slug", type_=Text())
_SLUGS = {
    table: statement(
        select(table.c.slug).where(or_(table.c.slug == _slug, table.c.slug.like(_slug + "-%"))),
        lambda record: cast(str, record[0]),
    )
    for table in (cms_pages, policies)
}


async def list_public(
    db: DatabaseSession, public: PublicList, filters: Mapping[str, Any], page: Page | Keyset
) -> ListedRows:
    """Returns one page with one statement, or two if the page is past the last."""
    names = frozenset(filters)
    if isinstance(page, Keyset):
        after = page.after[1] if page.after else UUID(int=0)
        following = await db.all(_following(public, names), **filters, after=after, most=page.size + 1)
        page_rows = following[: page.size]
        return ListedRows(page_rows, next_cursor=(0, page_rows[-1].id) if len(following) > page.size else None)
    rows = await db.all(_list_statement(public, names), **filters, most=page.size, skip=page.offset)
    if rows or page.number == 1:
        return ListedRows([row for row, _ in rows], rows[0][1] if rows else 0)
    return ListedRows([], await db.one(_count_statement(public, names), **filters) or 0)


async def find_public(db: DatabaseSession, public: PublicList, key: UUID | str) -> Any:
    """Finds a record by id or slug; a slug may look like an id."""
    if isinstance(key, UUID):
        return await db.one(_found_by_id(public), id=key, slug=str(key))
    return await db.one(_found_by_slug(public), slug=key)


async def list_pages_of(db: DatabaseSession, ids: Sequence[UUID]) -> list[PublicPage]:
    return await db.all(_PAGES_OF, ids=list(ids)) if ids else []


async def list_slugs(db: DatabaseSession, table: Table, slug: str) -> list[str]:
    """Returns the slugs that equal this one or extend it with `-`."""
    return await db.all(_SLUGS[table], slug=slug)


@lru_cache(maxsize=64)
def _list_statement(public: PublicList, names: frozenset[str]) -> Statement[tuple[Any, int]]:
    clause = public.clause.add_columns(func.count().over().label("total"))
    clause = clause.where(*(public.filters[name] for name in sorted(names))).order_by(public.table.c.id)
    most, skip = bindparam("most", type_=BigInteger), bindparam("skip", type_=BigInteger)
    return dynamic_statement(clause.limit(most).offset(skip), _with_total(public.row))


@lru_cache(maxsize=64)
def _following(public: PublicList, names: frozenset[str]) -> Statement[Any]:
    key = public.table.c.id
    clause = public.clause.where(key > bindparam("after", type_=_ID), *(public.filters[name] for name in sorted(names)))
    return dynamic_statement(clause.order_by(key).limit(bindparam("most", type_=BigInteger)), into(public.row))


@lru_cache(maxsize=64)
def _count_statement(public: PublicList, names: frozenset[str]) -> Statement[int]:
    matches = public.clause.where(*(public.filters[name] for name in sorted(names))).subquery()
    return dynamic_statement(select(func.count()).select_from(matches), lambda record: cast(int, record[0]))


@lru_cache(maxsize=4)
def _found_by_id(public: PublicList) -> Statement[Any]:
    has_id = equals(public.table.c.id, "id")
    slug = public.table.c.get("slug")
    fits = has_id if slug is None else or_(has_id, equals(slug, "slug"))
    # A matching id takes precedence over a slug that looks like it.
    return dynamic_statement(public.clause.where(fits).order_by(has_id.desc()).limit(1), into(public.row))


@lru_cache(maxsize=4)
def _found_by_slug(public: PublicList) -> Statement[Any]:
    return dynamic_statement(public.clause.where(equals(public.table.c.slug, "slug")), into(public.row))


def _with_total(row: Any) -> Callable[[Any], tuple[Any, int]]:
    names = row.__struct_fields__
    return lambda record: (row(**{name: record[name] for name in names}), record["total"])
