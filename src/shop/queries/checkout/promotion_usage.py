"""Statements that count promotion uses: recorded when an order is completed and released when it is canceled.
Promotions without a limit need no exclusive lock.
"""

from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Text, bindparam, column, delete, exists, func, or_, select, true, update
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.ids import new_id
from shop.db.pool import DatabaseSession
from shop.db.statements import any_of, opaque_param, statement
from shop.models.cart.promotions import promotions
from shop.models.checkout.coupons import coupon_codes, order_promotions, promotion_uses

_ID = PG_UUID(as_uuid=True)
_ids = any_of("ids", _ID)
_order_id = bindparam("order_id", type_=_ID)
_is_limited = or_(promotions.c.usage_limit.is_not(None), promotions.c.customer_limit.is_not(None))


def _id(record: Any) -> UUID:
    return cast(UUID, record[0])


# A shared lock: setting a limit waits for running orders and counts them.
_SHARE = statement(
    select(promotions.c.id)
    .where(promotions.c.id == _ids, ~_is_limited)
    .order_by(promotions.c.id)
    .with_for_update(read=True),
    _id,
)
_unlimited_promotions = (
    select(promotions.c.id)
    .where(promotions.c.id == _ids, ~_is_limited)
    .order_by(promotions.c.id)
    .with_for_update(read=True)
    .cte("unlimited")
)
_new_uses = (
    func.unnest(opaque_param("use_ids", ARRAY(_ID)), opaque_param("ids", ARRAY(_ID)))
    .table_valued(column("id", _ID), column("promotion_id", _ID), name="uses")
    .render_derived()
)
_RECORD_UNLIMITED = statement(
    insert(promotion_uses)
    .from_select(
        ["id", "promotion_id", "order_id", "user_id", "email", "created_at"],
        select(
            _new_uses.c.id,
            _new_uses.c.promotion_id,
            _order_id,
            bindparam("user_id", type_=_ID),
            bindparam("email_key", type_=Text()),
            func.now(),
        ).where(
            select(func.count()).select_from(_unlimited_promotions).scalar_subquery()
            == func.cardinality(opaque_param("ids", ARRAY(_ID))),
            ~exists().where(
                order_promotions.c.order_id == _order_id,
                order_promotions.c.promotion_id == _ids,
                order_promotions.c.coupon_code_id.is_not(None),
            ),
        ),
    )
    .returning(promotion_uses.c.id),
    _id,
)
_limited_promotions = (
    select(promotions.c.id)
    .where(promotions.c.id == _ids, _is_limited)
    .order_by(promotions.c.id)
    .with_for_update()
    .cte("held")
)
_RECORD = statement(
    update(promotions)
    .where(
        promotions.c.id == _limited_promotions.c.id,
        func.coalesce(promotions.c.uses < promotions.c.usage_limit, true()),
    )
    .values(uses=promotions.c.uses + 1)
    .returning(promotions.c.id),
    _id,
)
_OVER = statement(
    select(promotions.c.id).where(
        promotions.c.id == _ids,
        promotions.c.customer_limit
        <= select(func.count())
        .where(
            promotion_uses.c.promotion_id == promotions.c.id,
            promotion_uses.c.order_id != _order_id,
            or_(
                promotion_uses.c.user_id == bindparam("user_id", type_=_ID),
                promotion_uses.c.email == bindparam("email_key", type_=Text()),
            ),
        )
        .correlate(promotions)
        .scalar_subquery(),
    ),
    _id,
)
_REDEEM_CODES = statement(
    update(coupon_codes)
    .where(coupon_codes.c.id == _ids, coupon_codes.c.order_id.is_(None))
    .values(order_id=_order_id, used_at=func.now())
    .returning(coupon_codes.c.id),
    _id,
)
_delete_uses = (
    delete(promotion_uses)
    .where(promotion_uses.c.order_id == _order_id)
    .returning(promotion_uses.c.promotion_id)
    .cte("gone")
)
_free = (
    update(coupon_codes)
    .where(coupon_codes.c.order_id == _order_id)
    .values(order_id=None, used_at=None)
    .returning(coupon_codes.c.id)
    .cte("free")
)
_locked_promotions = (
    select(promotions.c.id)
    .where(promotions.c.id.in_(select(_delete_uses.c.promotion_id)), _is_limited, promotions.c.uses > 0)
    .order_by(promotions.c.id)
    .with_for_update()
    .cte("theirs")
)
_RELEASE = statement(
    update(promotions)
    .where(promotions.c.id == _locked_promotions.c.id)
    .values(uses=promotions.c.uses - 1)
    .returning(promotions.c.id)
    .add_cte(_free),
    _id,
)
_RECOUNT = statement(
    update(promotions)
    .where(promotions.c.id == bindparam("promotion_id", type_=_ID))
    .values(
        uses=select(func.count())
        .where(promotion_uses.c.promotion_id == promotions.c.id)
        .correlate(promotions)
        .scalar_subquery()
    )
    .returning(promotions.c.uses),
    lambda record: cast(int, record[0]),
)
_IS_USED = statement(
    select(promotion_uses.c.id).where(promotion_uses.c.promotion_id == bindparam("promotion_id", type_=_ID)).limit(1),
    _id,
)

_IS_BATCH_USED = statement(
    select(promotion_uses.c.id)
    .join(coupon_codes, coupon_codes.c.id == promotion_uses.c.coupon_code_id)
    .where(coupon_codes.c.batch_id == bindparam("batch_id", type_=_ID))
    .limit(1),
    _id,
)


async def record_unlimited_uses(
    db: DatabaseSession, order_id: UUID, ids: Sequence[UUID], user_id: UUID | None, email_key: str | None
) -> bool:
    """Records a use of each promotion, unless one of them has a limit or a coupon code that is valid for one order."""
    use_ids = [new_id() for _ in ids]
    values = {"order_id": order_id, "user_id": user_id, "email_key": email_key}
    return bool(await db.all(_RECORD_UNLIMITED, ids=list(ids), use_ids=use_ids, **values))


async def record_uses(
    db: DatabaseSession, order_id: UUID, ids: Sequence[UUID], user_id: UUID | None, email_key: str | None
) -> set[UUID]:
    """Takes a use of each promotion; returns those that succeeded. Runs in a transaction; a rollback releases them."""
    promotion_ids = {*await db.all(_SHARE, ids=list(ids)), *await db.all(_RECORD, ids=list(ids))}
    over = await db.all(_OVER, ids=list(promotion_ids), order_id=order_id, user_id=user_id, email_key=email_key)
    return promotion_ids - set(over)


async def redeem_codes(db: DatabaseSession, order_id: UUID, ids: Sequence[UUID]) -> set[UUID]:
    """Marks coupon codes as used by an order; returns those that were unused."""
    return set(await db.all(_REDEEM_CODES, order_id=order_id, ids=list(ids))) if ids else set()


async def release_uses(db: DatabaseSession, order_id: UUID) -> None:
    await db.all(_RELEASE, order_id=order_id)


async def recount(db: DatabaseSession, promotion_id: UUID) -> int | None:
    return await db.one(_RECOUNT, promotion_id=promotion_id)


async def is_used(db: DatabaseSession, promotion_id: UUID) -> bool:
    return await db.one(_IS_USED, promotion_id=promotion_id) is not None


async def is_batch_used(db: DatabaseSession, batch_id: UUID) -> bool:
    return await db.one(_IS_BATCH_USED, batch_id=batch_id) is not None
