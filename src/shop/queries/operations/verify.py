"""Consistency checks of the database; each returns no rows if the data is consistent."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Select,
    Text,
    and_,
    bindparam,
    case,
    exists,
    func,
    literal,
    or_,
    select,
    text,
)
from sqlalchemy import cast as sql_cast

from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, statement
from shop.models.cart.orders import line_items, orders, stock_holds
from shop.models.catalog.products import variants
from shop.models.catalog.stock import stock_items, stock_movements
from shop.models.checkout.payments import payments, refunds
from shop.models.checkout.shipments import shipment_items, shipments
from shop.models.documents.invoices import invoice_counters, invoices
from shop.queries.operations.verify_copies import COPY_CHECKS
from shop.queries.operations.verify_promotions import PROMOTION_CHECKS, Finding, build_check
from shop.rules.checkout.payments import PaymentAmounts


def _sum(column: Any, *where: Any) -> ColumnElement[int]:
    clause = select(sql_cast(func.coalesce(func.sum(column), 0), BigInteger)).where(*where)
    return clause.correlate(orders, payments, stock_items).scalar_subquery()


def _differs(name: str, column: Any, expected: ColumnElement[int]) -> Select[Any]:
    message = (
        literal(f"{name} is ", Text())
        + sql_cast(column, Text())
        + ", but the sum of its parts is "
        + sql_cast(expected, Text())
    )
    return select(column.table.c.number, message).where(column != expected)


_of_lines = line_items.c.order_id == orders.c.id
_of_shipments = shipments.c.order_id == orders.c.id
_of_payments = payments.c.order_id == orders.c.id
_price = func.coalesce(line_items.c.price, 0)
_rest = orders.c.item_total + orders.c.ship_total + orders.c.promo_total + orders.c.additional_tax_total
_documents = (
    select(func.count())
    .where(invoices.c.series == invoice_counters.c.series)
    .correlate(invoice_counters)
    .scalar_subquery()
)
_by_hand = func.greatest(orders.c.manual_total, -_rest)
_CHECKS: Mapping[str, Statement[Finding]] = {
    "items of orders": build_check(
        _differs("item_total", orders.c.item_total, _sum(_price * line_items.c.quantity, _of_lines))
    ),
    "item counts of orders": build_check(
        _differs("item_count", orders.c.item_count, _sum(line_items.c.quantity, _of_lines))
    ),
    "shipping of orders": build_check(
        _differs("ship_total", orders.c.ship_total, _sum(shipments.c.cost, _of_shipments))
    ),
    **{
        f"{name} of orders": build_check(
            _differs(
                name,
                orders.c[name],
                _sum(line_items.c[name], _of_lines) + _sum(shipments.c[name], _of_shipments) + order_amount,
            )
        )
        for name, order_amount in {
            "adjustment_total": orders.c.order_promo_total + _by_hand,
            "promo_total": orders.c.order_promo_total,
            "included_tax_total": literal(0, BigInteger()),
            "additional_tax_total": literal(0, BigInteger()),
        }.items()
    },
    "frozen totals": build_check(
        select(orders.c.number, literal("its total differs from its stored calculation steps", Text())).where(
            orders.c.completed_at.is_not(None),
            orders.c.explained.is_not(None),
            sql_cast(orders.c.explained["steps"][-1]["amount"].astext, BigInteger) != orders.c.total,
        )
    ),
    "payments of orders": build_check(
        _differs(
            "payment_total",
            orders.c.payment_total,
            case(
                (orders.c.completed_at.is_(None), orders.c.payment_total),
                else_=_sum(payments.c.captured_amount - payments.c.refunded_amount, _of_payments),
            ),
        )
    ),
    "refunds of payments": build_check(
        _differs(
            "refunded_amount",
            payments.c.refunded_amount,
            # A payment voided after capture was returned in full without a refund row.
            case(
                (payments.c.state == "void", payments.c.captured_amount),
                else_=_sum(refunds.c.amount, refunds.c.payment_id == payments.c.id, refunds.c.state == "completed"),
            ),
        )
    ),
    "paid orders": build_check(
        select(orders.c.number, literal("is complete but has no valid payment", Text())).where(
            orders.c.completed_at.is_not(None),
            orders.c.explained.is_not(None),
            orders.c.canceled_at.is_(None),
            orders.c.total > 0,
            # An operator may have voided the payment since.
            ~exists()
            .where(
                _of_payments,
                or_(*(payments.c.state == state for state in ("pending", "completed", "processing", "void"))),
            )
            .correlate(orders),
        )
    ),
    "payments without an order": build_check(
        select(orders.c.number, literal("is paid but not complete", Text())).where(
            orders.c.completed_at.is_(None),
            exists().where(_of_payments, payments.c.state == "completed").correlate(orders),
        )
    ),
    "stock counts": build_check(
        select(
            stock_items.c.id,
            literal("count is ", Text())
            + sql_cast(stock_items.c.count_on_hand, Text())
            + ", but the sum of its movements is "
            + sql_cast(_sum(stock_movements.c.quantity, stock_movements.c.stock_item_id == stock_items.c.id), Text()),
        ).where(
            stock_items.c.count_on_hand
            != _sum(stock_movements.c.quantity, stock_movements.c.stock_item_id == stock_items.c.id)
        )
    ),
    "stock of orders": build_check(
        select(orders.c.number, literal("its stock movements do not match its shipments", Text())).where(
            orders.c.completed_at.is_not(None),
            orders.c.explained.is_not(None),
            orders.c.canceled_at.is_(None),
            -_sum(stock_movements.c.quantity, stock_movements.c.note == orders.c.number)
            != _sum(
                shipment_items.c.quantity,
                shipment_items.c.order_id == orders.c.id,
                variants.c.id == shipment_items.c.variant_id,
                variants.c.track_inventory,
            ),
        )
    ),
    "holds": build_check(
        select(orders.c.number, literal("has reserved stock but no payment in progress", Text())).where(
            exists()
            .where(
                stock_holds.c.order_id == orders.c.id,
                or_(orders.c.completed_at.is_not(None), stock_holds.c.expires_at < func.now() - timedelta(minutes=5)),
            )
            .correlate(orders),
            or_(
                orders.c.completed_at.is_not(None),
                ~exists().where(_of_payments, payments.c.state == "processing").correlate(orders),
            ),
        )
    ),
    "invoice numbers": build_check(
        select(
            invoice_counters.c.series,
            literal("counts ", Text())
            + sql_cast(invoice_counters.c.last_number, Text())
            + " numbers, but the number of its documents is "
            + sql_cast(_documents, Text()),
        ).where(invoice_counters.c.last_number != _documents)
    ),
    **PROMOTION_CHECKS,
    **COPY_CHECKS,
    "lines of shipments": build_check(
        select(orders.c.number, literal("its shipments do not match its line items", Text())).where(
            orders.c.completed_at.is_not(None),
            and_(
                orders.c.explained.is_not(None),
                orders.c.item_count != _sum(shipment_items.c.quantity, shipment_items.c.order_id == orders.c.id),
            ),
        )
    ),
}
NAMES = tuple(_CHECKS)


class StoredState(msgspec.Struct, frozen=True):
    """The stored payment state of a completed order, with the payments that determine it."""

    order_id: UUID
    number: str
    total: int
    is_canceled: bool
    payment_state: str | None
    payments: list[PaymentAmounts]


_ledger = (
    select(
        func.jsonb_agg(
            func.jsonb_build_object(
                *("state", payments.c.state, "amount", payments.c.amount),
                *("captured", payments.c.captured_amount, "refunded", payments.c.refunded_amount),
            )
        )
    )
    .where(_of_payments)
    .correlate(orders)
    .scalar_subquery()
)
_PAYMENT_STATES = statement(
    select(
        orders.c.id.label("order_id"),
        orders.c.number,
        orders.c.total,
        orders.c.canceled_at.is_not(None).label("is_canceled"),
        orders.c.payment_state,
        func.coalesce(_ledger, text("'[]'::jsonb")).label("payments"),
    )
    .where(orders.c.completed_at.is_not(None), orders.c.id > bindparam("after", type_=orders.c.id.type))
    .order_by(orders.c.id)
    .limit(bindparam("most", type_=BigInteger())),
    lambda record: msgspec.convert(dict(record), StoredState, strict=False),
)


async def list_payment_states(db: DatabaseSession, *, after: UUID, most: int) -> list[StoredState]:
    """Returns the payment states of completed orders after an id."""
    return await db.all(_PAYMENT_STATES, after=after, most=most)


async def list_findings(db: DatabaseSession, name: str) -> list[Finding]:
    """Runs the check of this name; returns the inconsistent records, each with a message."""
    return await db.all(_CHECKS[name])
