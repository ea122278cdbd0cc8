"""Statements for the line items and shipping costs of refunds."""

from collections.abc import Mapping
from typing import cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, bindparam, exists, func, or_, select, update
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import statement
from shop.models.cart.orders import line_items
from shop.models.catalog.products import variants
from shop.models.catalog.stock import stock_items
from shop.models.checkout.payments import refunds
from shop.models.order_edits.refunds import refund_items
from shop.queries.catalog.stock import OrderStock

_ID = PG_UUID(as_uuid=True)


class RefundedUnits(msgspec.Struct, frozen=True):
    """The units of a line item that were refunded, and those that are back in stock, by stock location."""

    quantity: int = 0
    restocked_counts: Mapping[UUID | None, int] = {}


_parts = refunds.alias("parts")
_group_id = func.coalesce(_parts.c.group_id, _parts.c.id)
# Parts of a refund may fail: what it returns counts unless all of them did.
_is_valid = exists().where(
    _parts.c.order_id == refund_items.c.order_id,
    _group_id == refund_items.c.refund_id,
    _parts.c.state != "failed",
)
_is_restocked = refund_items.c.is_restocked & or_(
    # Units without a location returned at once, even if the refund failed.
    _is_valid,
    refund_items.c.restocked_at.is_not(None),
    refund_items.c.stock_location_id.is_(None),
)
_UNITS = statement(
    select(
        refund_items.c.line_item_id,
        refund_items.c.stock_location_id,
        sql_cast(func.coalesce(func.sum(refund_items.c.quantity).filter(_is_valid), 0), BigInteger),
        sql_cast(func.coalesce(func.sum(refund_items.c.quantity).filter(_is_restocked), 0), BigInteger),
    )
    .where(refund_items.c.order_id == bindparam("order_id", type_=_ID), refund_items.c.line_item_id.is_not(None))
    .group_by(refund_items.c.line_item_id, refund_items.c.stock_location_id),
    lambda record: cast(tuple[UUID, UUID | None, int, int], tuple(record)),
)
_SHIPPING = statement(
    select(sql_cast(func.coalesce(func.sum(refunds.c.shipping_amount), 0), BigInteger)).where(
        refunds.c.order_id == bindparam("order_id", type_=_ID),
        exists().where(_parts.c.order_id == refunds.c.order_id, _group_id == refunds.c.id, _parts.c.state != "failed"),
    ),
    lambda record: cast(int, record[0]),
)
_CLAIM_RETURNS = statement(
    update(refund_items)
    .where(
        refund_items.c.refund_id
        == select(_group_id).where(_parts.c.id == bindparam("refund_id", type_=_ID)).scalar_subquery(),
        refund_items.c.is_restocked,
        refund_items.c.restocked_at.is_(None),
        line_items.c.id == refund_items.c.line_item_id,
        variants.c.id == line_items.c.variant_id,
        variants.c.track_inventory,
        stock_items.c.variant_id == variants.c.id,
        stock_items.c.stock_location_id == refund_items.c.stock_location_id,
    )
    .values(restocked_at=func.now())
    .returning(stock_items.c.id, refund_items.c.quantity, variants.c.product_id),
    lambda record: OrderStock(*record),
)


async def list_refunded_units(db: DatabaseSession, order_id: UUID) -> dict[UUID, RefundedUnits]:
    """Returns the refunded units of an order by line item; refunds that failed do not count."""
    units: dict[UUID, RefundedUnits] = {}
    for line_id, location_id, quantity, restocked_count in await db.all(_UNITS, order_id=order_id):
        former = units.get(line_id, RefundedUnits())
        restocked_counts = {**former.restocked_counts, location_id: restocked_count}
        units[line_id] = RefundedUnits(former.quantity + quantity, restocked_counts)
    return units


async def sum_refunded_shipping(db: DatabaseSession, order_id: UUID) -> int:
    """Returns the shipping costs of an order that were refunded; refunds that failed do not count."""
    return await db.one(_SHIPPING, order_id=order_id) or 0


async def claim_returns(db: DatabaseSession, refund_id: UUID) -> list[OrderStock]:
    """Marks the units of a refund and its group as restocked; returns those that were not yet."""
    return await db.all(_CLAIM_RETURNS, refund_id=refund_id)
