"""Consistency checks of promotions and store credit."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Select, Text, and_, exists, func, literal, or_, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import JSONB

from shop.db.statements import Statement, statement
from shop.models.cart.orders import orders
from shop.models.cart.promotions import promotions
from shop.models.checkout.coupons import adjustments, coupon_codes, promotion_uses
from shop.models.checkout.payments import STORE_CREDIT_METHOD, payments
from shop.models.checkout.store_credit import store_credit_events, store_credits

Finding = tuple[str, str]


def build_check(clause: Select[Any]) -> Statement[Finding]:
    """Builds a check whose rows are the name of a record and a message."""
    return statement(clause, lambda record: (str(record[0]), str(record[1])))


def _sum(column: Any, *where: Any) -> ColumnElement[int]:
    clause = select(sql_cast(func.coalesce(func.sum(column), 0), BigInteger)).where(*where)
    return clause.correlate(orders, payments, store_credits).scalar_subquery()


_uses = (
    select(func.count()).where(promotion_uses.c.promotion_id == promotions.c.id).correlate(promotions).scalar_subquery()
)
_is_limited = or_(promotions.c.usage_limit.is_not(None), promotions.c.customer_limit.is_not(None))
_own_uses = select(func.count()).where(promotion_uses.c.order_id == orders.c.id).correlate(orders).scalar_subquery()
_promotion_count = (
    select(func.count())
    .select_from(func.jsonb_object_keys(orders.c.promoted, type_=JSONB()).table_valued("key"))
    .correlate(orders)
    .scalar_subquery()
)
_is_taken, _is_reserved = payments.c.state == "completed", payments.c.state == "pending"
_is_credit = payments.c.payment_method_id == STORE_CREDIT_METHOD
_credit_spent = -_sum(store_credit_events.c.amount, store_credit_events.c.payment_id == payments.c.id)
_left = _sum(store_credit_events.c.amount, store_credit_events.c.store_credit_id == store_credits.c.id)

PROMOTION_CHECKS: Mapping[str, Statement[Finding]] = {
    "uses of promotions": build_check(
        select(
            promotions.c.name,
            literal("counts ", Text())
            + sql_cast(promotions.c.uses, Text())
            + " uses, but the number of its orders is "
            + sql_cast(_uses, Text()),
        ).where(
            _is_limited,
            promotions.c.uses != _uses,
        )
    ),
    "promotions of orders": build_check(
        select(orders.c.number, literal("its promotion uses do not match its discounts", Text())).where(
            orders.c.explained.is_not(None),
            or_(
                and_(orders.c.canceled_at.is_(None), _promotion_count != _own_uses),
                and_(orders.c.canceled_at.is_not(None), _own_uses != 0),
            ),
        )
    ),
    "coupon codes": build_check(
        select(coupon_codes.c.code, literal("is marked as used, but no order uses it", Text())).where(
            coupon_codes.c.order_id.is_not(None),
            ~exists()
            .where(
                promotion_uses.c.coupon_code_id == coupon_codes.c.id,
                promotion_uses.c.order_id == coupon_codes.c.order_id,
            )
            .correlate(coupon_codes),
        )
    ),
    "adjustments of orders": build_check(
        select(orders.c.number, literal("adjustment_total differs from the sum of its adjustments", Text())).where(
            orders.c.explained.is_not(None),
            exists().where(adjustments.c.order_id == orders.c.id).correlate(orders),
            orders.c.adjustment_total
            != _sum(adjustments.c.amount, adjustments.c.order_id == orders.c.id, ~adjustments.c.included),
        )
    ),
    "store credit": build_check(
        select(
            store_credits.c.id,
            literal("has ", Text())
            + sql_cast(store_credits.c.amount - store_credits.c.amount_used, Text())
            + " left, but the sum of its ledger is "
            + sql_cast(_left, Text()),
        ).where(store_credits.c.amount - store_credits.c.amount_used != _left)
    ),
    "payments with store credit": build_check(
        select(payments.c.number, literal("its amount differs from the amount spent in the ledger", Text())).where(
            _is_credit,
            or_(
                and_(_is_taken, payments.c.captured_amount - payments.c.refunded_amount != _credit_spent),
                and_(_is_reserved, payments.c.amount != _credit_spent),
                and_(~_is_taken, ~_is_reserved, _credit_spent != 0),
            ),
        )
    ),
}
