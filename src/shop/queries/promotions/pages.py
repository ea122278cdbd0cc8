"""Statements for the dashboard's promotion pages."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, ColumnElement, Table, Text, bindparam, case, func, literal_column, or_, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.listing import CursorPosition
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, any_of, dynamic_statement, into, statement
from shop.models.access.users import customer_groups, users
from shop.models.cart.orders import Order, orders
from shop.models.cart.promotions import (
    CouponBatch,
    Promotion,
    PromotionAction,
    PromotionRule,
    coupon_batches,
    promotion_actions,
    promotion_rules,
    promotions,
)
from shop.models.catalog.product_index import listings
from shop.models.catalog.products import products
from shop.models.catalog.taxons import taxons
from shop.models.checkout.coupons import coupon_codes, promotion_uses
from shop.queries.catalog_admin.products import matches_search
from shop.queries.dashboard import SortOrder, count_rows, like_prefix, load_page, paginate

_ID = PG_UUID(as_uuid=True)
_promotion_id = bindparam("promotion_id", type_=_ID)
_most = bindparam("most", type_=BigInteger())
NamedRecord = tuple[UUID, str]
SORTS: Mapping[str, SortOrder] = {
    "newest": SortOrder(promotions.c.created_at),
    "oldest": SortOrder(promotions.c.created_at, is_ascending=True),
    "name": SortOrder(promotions.c.name, is_ascending=True, ignores_case=True),
}
BATCH_SORTS: Mapping[str, SortOrder] = {
    "newest": SortOrder(coupon_batches.c.created_at),
    "oldest": SortOrder(coupon_batches.c.created_at, is_ascending=True),
    "name": SortOrder(coupon_batches.c.name, is_ascending=True, ignores_case=True),
}


class CountedPromotion(Promotion, frozen=True, kw_only=True):
    """A promotion with counts of its related rows, and whether it has begun and ended."""

    use_count: int
    condition_count: int
    benefit_count: int
    batch_count: int
    has_begun: bool
    has_ended: bool


class CountedBatch(CouponBatch, frozen=True, kw_only=True):
    """A coupon batch with its number of used codes."""

    used_count: int


class ExportedCode(msgspec.Struct, frozen=True):
    """A code of a batch and the order that used it."""

    code: str
    used_at: datetime | None
    order_number: str | None


class OpenCart(Order, frozen=True, kw_only=True):
    """An open cart with the e-mail address of its owner."""

    whose: str | None


def _count_of(table: Table) -> ColumnElement[Any]:
    clause = select(func.count()).select_from(table).where(table.c.promotion_id == promotions.c.id)
    return sql_cast(clause.correlate(promotions).scalar_subquery(), BigInteger)


_is_limited = or_(promotions.c.usage_limit.is_not(None), promotions.c.customer_limit.is_not(None))
_promotion_select = select(
    promotions,
    # `uses` is maintained only for promotions with a limit.
    case((_is_limited, promotions.c.uses), else_=_count_of(promotion_uses)).label("use_count"),
    _count_of(promotion_rules).label("condition_count"),
    _count_of(promotion_actions).label("benefit_count"),
    _count_of(coupon_batches).label("batch_count"),
    func.coalesce(promotions.c.starts_at <= func.now(), literal_column("true")).label("has_begun"),
    func.coalesce(promotions.c.expires_at <= func.now(), literal_column("false")).label("has_ended"),
)
_ONE = statement(_promotion_select.where(promotions.c.id == _promotion_id), into(CountedPromotion))


def _select_promotions(is_searched: bool) -> Any:
    """Searches names, prefixes of codes, and codes of batches."""
    if not is_searched:
        return _promotion_select
    code = bindparam("code", type_=Text())
    of_batch = select(coupon_codes.c.promotion_id).where(coupon_codes.c.code == code).scalar_subquery()
    within = func.strpos(func.lower(promotions.c.name), code) > 0
    begins = promotions.c.code.like(bindparam("pattern", type_=Text()))
    return _promotion_select.where(or_(within, begins, promotions.c.id == of_batch))


@lru_cache(maxsize=32)
def _list_statement(is_searched: bool, sort: str, side: str | None) -> Statement[CountedPromotion]:
    clause = paginate(_select_promotions(is_searched), SORTS[sort], promotions.c.id, side)
    return dynamic_statement(clause, into(CountedPromotion))


@lru_cache(maxsize=2)
def _count_statement(is_searched: bool) -> Statement[int]:
    return count_rows(_select_promotions(is_searched))


def _parts(table: Table, row: type[Any]) -> Statement[Any]:
    return statement(select(table).where(table.c.promotion_id == _promotion_id).order_by(table.c.id), into(row))


_CONDITIONS = _parts(promotion_rules, PromotionRule)
_BENEFITS = _parts(promotion_actions, PromotionAction)
_used_count = (
    select(func.count())
    .select_from(coupon_codes)
    .where(coupon_codes.c.batch_id == coupon_batches.c.id, coupon_codes.c.order_id.is_not(None))
    .correlate(coupon_batches)
    .scalar_subquery()
)
_batches = select(coupon_batches, sql_cast(_used_count, BigInteger).label("used_count")).where(
    coupon_batches.c.promotion_id == _promotion_id
)
_BATCH = statement(_batches.where(coupon_batches.c.id == bindparam("batch_id", type_=_ID)), into(CountedBatch))


@lru_cache(maxsize=16)
def _listed_batches(sort: str, side: str | None) -> Statement[CountedBatch]:
    return dynamic_statement(paginate(_batches, BATCH_SORTS[sort], coupon_batches.c.id, side), into(CountedBatch))


_EXPORT_CODES = statement(
    select(coupon_codes.c.code, coupon_codes.c.used_at, orders.c.number.label("order_number"))
    .select_from(coupon_codes.outerjoin(orders, orders.c.id == coupon_codes.c.order_id))
    .where(coupon_codes.c.batch_id == bindparam("batch_id", type_=_ID))
    .order_by(coupon_codes.c.code),
    into(ExportedCode),
)
_any_id = any_of("ids", _ID)
_NAMES = statement(
    select(products.c.id, products.c.name)
    .where(products.c.id == _any_id)
    .union_all(
        select(taxons.c.id, taxons.c.name).where(taxons.c.id == _any_id),
        select(customer_groups.c.id, customer_groups.c.name).where(customer_groups.c.id == _any_id),
    ),
    lambda record: cast(NamedRecord, tuple(record)),
)
_SEARCH_PRODUCTS = statement(
    select(products.c.id, products.c.name)
    .select_from(products.join(listings, listings.c.product_id == products.c.id))
    .where(products.c.deleted_at.is_(None), matches_search(bindparam("query", type_=Text())))
    # Matches in the name come before matches in other texts.
    .order_by(
        func.strpos(func.lower(products.c.name), bindparam("text", type_=Text())) == 0, products.c.name, products.c.id
    )
    .limit(_most),
    lambda record: cast(NamedRecord, tuple(record)),
)
_GROUPS = statement(
    select(customer_groups.c.id, customer_groups.c.name).order_by(customer_groups.c.name),
    lambda record: cast(NamedRecord, tuple(record)),
)
_CARTS = statement(
    select(orders, func.coalesce(orders.c.email, users.c.email).label("whose"))
    .select_from(orders.outerjoin(users, users.c.id == orders.c.user_id))
    .where(orders.c.completed_at.is_(None), orders.c.item_count > 0)
    .order_by(orders.c.updated_hour.desc(), orders.c.updated_at.desc(), orders.c.id.desc())
    .limit(_most),
    into(OpenCart),
)


async def list_promotions(
    db: DatabaseSession, search: str, cursor: CursorPosition | None, *, sort: str, most: int
) -> list[CountedPromotion]:
    page_statement = _list_statement(bool(search), sort, cursor.side if cursor else None)
    return await load_page(db, page_statement, cursor, **_search_values(search), most=most)


async def count_promotions(db: DatabaseSession, search: str) -> int:
    """Returns the number of promotions, at most one more than `COUNT_LIMIT`."""
    return await db.one(_count_statement(bool(search)), **_search_values(search)) or 0


def _search_values(search: str) -> dict[str, str]:
    return {"code": search.lower(), "pattern": like_prefix(search.lower())}


async def find_promotion(db: DatabaseSession, promotion_id: UUID) -> CountedPromotion | None:
    return await db.one(_ONE, promotion_id=promotion_id)


async def list_conditions(db: DatabaseSession, promotion_id: UUID) -> list[PromotionRule]:
    """Returns the rules of a promotion, oldest first."""
    return await db.all(_CONDITIONS, promotion_id=promotion_id)


async def list_benefits(db: DatabaseSession, promotion_id: UUID) -> list[PromotionAction]:
    return await db.all(_BENEFITS, promotion_id=promotion_id)


async def list_batches(
    db: DatabaseSession, promotion_id: UUID, cursor: CursorPosition | None, *, sort: str, most: int
) -> list[CountedBatch]:
    page_statement = _listed_batches(sort, cursor.side if cursor else None)
    return await load_page(db, page_statement, cursor, promotion_id=promotion_id, most=most)


async def find_batch(db: DatabaseSession, promotion_id: UUID, batch_id: UUID) -> CountedBatch | None:
    """Finds a batch of this promotion."""
    return await db.one(_BATCH, promotion_id=promotion_id, batch_id=batch_id)


async def list_export_codes(db: DatabaseSession, batch_id: UUID) -> list[ExportedCode]:
    return await db.all(_EXPORT_CODES, batch_id=batch_id)


async def find_names(db: DatabaseSession, ids: Iterable[UUID]) -> dict[UUID, str]:
    """Returns the names of products, taxons and customer groups; missing ones are left out."""
    id_list = list(ids)
    return dict(await db.all(_NAMES, ids=id_list)) if id_list else {}


async def search_products_by_name(db: DatabaseSession, query: str, text: str, *, most: int) -> list[NamedRecord]:
    """Searches products by a `tsquery`; `text` is the search it was built from."""
    return await db.all(_SEARCH_PRODUCTS, query=query, text=text.lower(), most=most)


async def list_groups(db: DatabaseSession) -> list[NamedRecord]:
    return await db.all(_GROUPS)


async def list_open_carts(db: DatabaseSession, *, most: int) -> list[OpenCart]:
    """Returns non-empty carts, the last updated first."""
    return await db.all(_CARTS, most=most)
