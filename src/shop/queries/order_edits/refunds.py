"""Statements that read the line items of refunds."""

from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, bindparam, func, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.checkout.payments import refunds
from shop.models.order_edits.refunds import refund_items


class RefundedUnits(msgspec.Struct, frozen=True):
    """The units of a line item that were refunded, and those of them that are back in stock."""

    line_item_id: UUID
    quantity: int
    restocked_count: int


_UNITS = statement(
    select(
        refund_items.c.line_item_id,
        sql_cast(func.sum(refund_items.c.quantity), BigInteger).label("quantity"),
        sql_cast(
            func.coalesce(func.sum(refund_items.c.quantity).filter(refund_items.c.is_restocked), 0), BigInteger
        ).label("restocked_count"),
    )
    .join(refunds, refunds.c.id == refund_items.c.refund_id)
    .where(
        refund_items.c.order_id == bindparam("order_id", type_=PG_UUID(as_uuid=True)),
        refund_items.c.line_item_id.is_not(None),
        refunds.c.state != "failed",
    )
    .group_by(refund_items.c.line_item_id),
    into(RefundedUnits),
)


async def list_refunded_units(db: DatabaseSession, order_id: UUID) -> dict[UUID, RefundedUnits]:
    """Returns the refunded units of an order by line item; refunds that failed do not count."""
    return {units.line_item_id: units for units in await db.all(_UNITS, order_id=order_id)}
