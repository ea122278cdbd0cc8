"""Statements that read promotions for a cart: the customer, active promotions and promotable variants."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import (
    ColumnElement,
    FromClause,
    Table,
    Text,
    and_,
    bindparam,
    delete,
    exists,
    false,
    func,
    literal_column,
    or_,
    select,
    text,
    true,
)
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, any_of, into, opaque_param, statement
from shop.models.access.users import customer_group_members, users
from shop.models.cart.archived_orders import archived_orders
from shop.models.cart.orders import customer_of, order_lookups, orders
from shop.models.cart.promotions import Promotion, promotion_actions, promotion_rules, promotion_versions, promotions
from shop.models.catalog.products import products, variants
from shop.models.catalog.taxons import classifications, taxons
from shop.models.checkout.coupons import CouponCode, coupon_codes, order_promotions, promotion_uses

_ID = PG_UUID(as_uuid=True)


class Code(msgspec.Struct, frozen=True):
    """A coupon code on a cart."""

    promotion_id: UUID
    code: str
    coupon_code_id: UUID | None
    is_used: bool
    """Whether another order has used this code of a batch."""


class PromotionFacts(msgspec.Struct, frozen=True):
    """Facts about a cart and its owner that promotion rules use, besides its line items."""

    now: datetime
    version: int
    group_ids: list[UUID]
    has_ordered: bool
    """Whether the cart's owner has ordered before; unknown for guests."""
    uses: dict[UUID, int]
    """Number of other orders of the cart's owner by promotion they used."""
    codes: list[Code]


class PromotionWithParts(Promotion, frozen=True, kw_only=True):
    """A promotion with its rules and actions, each as type and preferences."""

    rules: list[tuple[str, dict[str, Any]]]
    actions: list[tuple[str, dict[str, Any]]]


class PromotableVariant(msgspec.Struct, frozen=True):
    """Facts about a variant that promotion rules use."""

    variant_id: UUID
    product_id: UUID
    is_promotionable: bool
    taxon_ids: Sequence[UUID] = ()


_order_id = opaque_param("order_id", _ID)
_user_id = opaque_param("user_id", _ID)
# The account's address, since a cart's address may belong to someone else.
_key = select(literal_column(customer_of("users.email"), Text())).where(users.c.id == _user_id).scalar_subquery()


def _aggregate(rows: FromClause, aggregate: Any, nothing: str) -> ColumnElement[Any]:
    value = func.coalesce(aggregate, text(nothing))
    return select(value).select_from(rows).scalar_subquery()


_uses = (
    select(promotion_uses.c.promotion_id, func.count().label("count"))
    .where(
        or_(promotion_uses.c.user_id == _user_id, promotion_uses.c.email == _key),
        promotion_uses.c.order_id != _order_id,
    )
    .group_by(promotion_uses.c.promotion_id)
    .subquery()
)
IS_USED_CODE = func.coalesce(coupon_codes.c.order_id != order_promotions.c.order_id, text("false")).label("is_used")
CODES = (
    select(
        order_promotions.c.promotion_id,
        order_promotions.c.code,
        order_promotions.c.coupon_code_id,
        IS_USED_CODE,
    )
    .select_from(order_promotions.outerjoin(coupon_codes, coupon_codes.c.id == order_promotions.c.coupon_code_id))
    .where(order_promotions.c.order_id == _order_id)
)
_codes = CODES.subquery("codes")


def _has_ordered(is_customers: ColumnElement[bool]) -> ColumnElement[bool]:
    is_valid_order = orders.c.completed_at.is_not(None) & orders.c.canceled_at.is_(None)
    return exists().where(is_valid_order, orders.c.id != _order_id, is_customers)


def _has_archived(is_customers: ColumnElement[bool]) -> ColumnElement[bool]:
    return exists().where(archived_orders.c.canceled_at.is_(None), is_customers)


_orders_of_customer = select(order_lookups.c.order_id).where(
    order_lookups.c.is_completed, literal_column(customer_of("order_lookups.email"), Text()) == _key
)
_groups = select(customer_group_members.c.customer_group_id).where(customer_group_members.c.user_id == _user_id)
_FACTS = statement(
    select(
        func.now().label("now"),
        select(promotion_versions.c.version).scalar_subquery().label("version"),
        func.array(_groups.scalar_subquery()).label("group_ids"),
        # Guests are not looked up. Two conditions so that each uses its index; combined, they scan all orders.
        and_(
            _user_id.is_not(None),
            or_(
                _has_ordered(orders.c.user_id == _user_id),
                _has_ordered(orders.c.id.in_(_orders_of_customer)),
                _has_archived(archived_orders.c.user_id == _user_id),
                _has_archived(literal_column(customer_of("archived_orders.email"), Text()) == _key),
            ),
        ).label("has_ordered"),
        _aggregate(_uses, func.jsonb_object_agg(_uses.c.promotion_id, _uses.c.count), "'{}'::jsonb").label("uses"),
        _aggregate(_codes, func.jsonb_agg(func.to_jsonb(_codes.table_valued())), "'[]'::jsonb").label("codes"),
    ),
    lambda record: msgspec.convert(dict(record), PromotionFacts, strict=False),
)


def _parts(table: Table) -> ColumnElement[Any]:
    of_kind = func.jsonb_agg(func.jsonb_build_array(table.c.type, table.c.preferences))
    return (
        select(func.coalesce(of_kind, text("'[]'::jsonb")))
        .where(table.c.promotion_id == promotions.c.id)
        .correlate(promotions)
        .scalar_subquery()
    )


def _read_offered(record: Any) -> PromotionWithParts:
    fields = dict(record)
    rules, actions = ([(kind, preferences) for kind, preferences in fields.pop(name)] for name in ("rules", "actions"))
    return PromotionWithParts(**fields, rules=rules, actions=actions)


_promotion_select = select(
    promotions, _parts(promotion_rules).label("rules"), _parts(promotion_actions).label("actions")
)
_AUTOMATIC = statement(
    _promotion_select.where(promotions.c.is_automatic, func.coalesce(promotions.c.expires_at > func.now(), true())),
    _read_offered,
)
_PROMOTIONS_OF = statement(_promotion_select.where(promotions.c.id == any_of("ids", _ID)), _read_offered)
_is_running = and_(
    func.coalesce(promotions.c.starts_at <= func.now(), true()),
    func.coalesce(promotions.c.expires_at > func.now(), true()),
    func.coalesce(promotions.c.uses < promotions.c.usage_limit, true()),
)
_is_featured = func.coalesce(promotions.c.id == bindparam("id", type_=_ID), false())
_ADVERTISED = statement(
    select(promotions)
    .where(_is_running, or_(_is_featured, promotions.c.advertise))
    .order_by(_is_featured.desc(), promotions.c.id)
    .limit(literal_column("1")),
    into(Promotion),
)
_OF_CODE = statement(
    select(promotions.c.id.label("promotion_id"), bindparam("none", None, type_=_ID).label("coupon_code_id"))
    .where(promotions.c.code == bindparam("code"))
    .union_all(select(coupon_codes.c.promotion_id, coupon_codes.c.id).where(coupon_codes.c.code == bindparam("code"))),
    lambda record: cast(tuple[UUID, UUID | None], (record["promotion_id"], record["coupon_code_id"])),
)
_ancestors = taxons.alias("above")
_taxons_and_ancestors = (
    select(_ancestors.c.id)
    .select_from(
        classifications.join(taxons, taxons.c.id == classifications.c.taxon_id).join(
            _ancestors,
            (_ancestors.c.taxonomy_id == taxons.c.taxonomy_id)
            & (_ancestors.c.lft <= taxons.c.lft)
            & (_ancestors.c.rgt >= taxons.c.rgt),
        )
    )
    .where(classifications.c.product_id == products.c.id)
    .correlate(products)
)


def _variant_statement(taxon_ids: Any) -> Statement[PromotableVariant]:
    return statement(
        select(
            variants.c.id.label("variant_id"),
            products.c.id.label("product_id"),
            products.c.promotionable.label("is_promotionable"),
            taxon_ids.label("taxon_ids"),
        )
        .select_from(variants.join(products, products.c.id == variants.c.product_id))
        .where(variants.c.id == any_of("ids", _ID)),
        lambda record: PromotableVariant(*record),
    )


_VARIANTS, _VARIANTS_WITH_TAXONS = (
    _variant_statement(literal_column("'{}'::uuid[]")),
    _variant_statement(func.array(_taxons_and_ancestors.scalar_subquery())),
)
_CODES = statement(CODES, lambda record: Code(*record))
_DROP_PARTS = {
    table.name: statement(
        delete(table).where(table.c.promotion_id == bindparam("promotion_id", type_=_ID)).returning(table.c.id),
        lambda record: cast(UUID, record[0]),
    )
    for table in (promotion_rules, promotion_actions)
}
_BATCH = statement(
    select(coupon_codes)
    .where(coupon_codes.c.batch_id == bindparam("batch_id", type_=_ID))
    .order_by(coupon_codes.c.code),
    into(CouponCode),
)
_DELETE_ORDER_CODES = statement(
    delete(order_promotions)
    .where(
        order_promotions.c.order_id == _order_id,
        func.coalesce(order_promotions.c.code == bindparam("code", type_=Text()), true()),
    )
    .returning(order_promotions.c.id),
    lambda record: cast(UUID, record[0]),
)


async def find_facts(db: DatabaseSession, order_id: UUID, user_id: UUID | None) -> PromotionFacts:
    facts = await db.one(_FACTS, order_id=order_id, user_id=user_id)
    if facts is None:
        raise AssertionError("a select without a table has one row")
    return facts


async def list_automatic(db: DatabaseSession) -> list[PromotionWithParts]:
    return await db.all(_AUTOMATIC)


async def list_promotions_with_parts(db: DatabaseSession, ids: Sequence[UUID]) -> list[PromotionWithParts]:
    return await db.all(_PROMOTIONS_OF, ids=list(ids))


async def find_advertised(db: DatabaseSession, promotion_id: UUID | None) -> Promotion | None:
    """Returns the promotion if it is running, or else the oldest running one that is advertised."""
    return await db.one(_ADVERTISED, id=promotion_id)


async def find_of_code(db: DatabaseSession, code: str) -> tuple[UUID, UUID | None] | None:
    """Returns the promotion of a code, and the code's id if it belongs to a batch."""
    return await db.one(_OF_CODE, code=code)


async def list_promotable_variants(
    db: DatabaseSession, variant_ids: Sequence[UUID], *, with_taxons: bool = True
) -> Mapping[UUID, PromotableVariant]:
    """Returns variants by id; reads their taxons only if `with_taxons`."""
    rows = await db.all(_VARIANTS_WITH_TAXONS if with_taxons else _VARIANTS, ids=list(variant_ids))
    return {variant.variant_id: variant for variant in rows}


async def list_codes(db: DatabaseSession, order_id: UUID) -> list[Code]:
    """Returns the coupon codes on a cart."""
    return await db.all(_CODES, order_id=order_id)


async def drop_parts(db: DatabaseSession, table: Table, promotion_id: UUID) -> None:
    """Deletes the rules or the actions of a promotion."""
    await db.all(_DROP_PARTS[table.name], promotion_id=promotion_id)


async def list_batch(db: DatabaseSession, batch_id: UUID) -> list[CouponCode]:
    return await db.all(_BATCH, batch_id=batch_id)


async def delete_order_codes(db: DatabaseSession, order_id: UUID, code: str | None = None) -> bool:
    """Removes one code or all codes from a cart; returns whether there were any."""
    return bool(await db.all(_DELETE_ORDER_CODES, order_id=order_id, code=code))
