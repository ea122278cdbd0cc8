"""Additional statements for the dashboard's order page."""

from uuid import UUID

import msgspec
from sqlalchemy import bindparam, select
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.access.operators import operators
from shop.models.access.roles import roles
from shop.models.catalog.stock import stock_locations
from shop.models.checkout.payments import Refund, refunds
from shop.models.checkout.shipments import shipments, shipping_methods, shipping_rates
from shop.models.setup.shop import shops
from shop.rules.orders.refund_limits import RefundLimits


class ShipmentPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a shipment is sent from, and where it can be tracked."""

    id: UUID
    location_name: str
    tracking_url: str | None
    """With a placeholder for the tracking number, from the selected shipping method."""


_of_order = bindparam("order_id", type_=PG_UUID(as_uuid=True))
_REFUNDS = statement(select(refunds).where(refunds.c.order_id == _of_order).order_by(refunds.c.id), into(Refund))
_PLACES = statement(
    select(shipments.c.id, stock_locations.c.name.label("location_name"), shipping_methods.c.tracking_url)
    .join(stock_locations, stock_locations.c.id == shipments.c.stock_location_id)
    .outerjoin(shipping_rates, (shipping_rates.c.shipment_id == shipments.c.id) & shipping_rates.c.is_selected)
    .outerjoin(shipping_methods, shipping_methods.c.id == shipping_rates.c.shipping_method_id)
    .where(shipments.c.order_id == _of_order),
    into(ShipmentPlace),
)
_role_limit = (
    select(roles.c.refund_limit)
    .select_from(operators.join(roles))
    .where(
        operators.c.id == bindparam("operator_id", type_=PG_UUID(as_uuid=True)),
        operators.c.disabled_at.is_(None),
    )
    .scalar_subquery()
)
_LIMITS = statement(
    select(_role_limit.label("role_limit"), shops.c.refund_approval_amount.label("approval_amount")),
    into(RefundLimits),
)


async def list_refunds(db: DatabaseSession, order_id: UUID) -> list[Refund]:
    return await db.all(_REFUNDS, order_id=order_id)


async def list_places(db: DatabaseSession, order_id: UUID) -> dict[UUID, ShipmentPlace]:
    """Returns the stock location and the tracking URL of each shipment, even if the shipping method is deleted."""
    return {place.id: place for place in await db.all(_PLACES, order_id=order_id)}


async def find_refund_limits(db: DatabaseSession, operator_id: UUID) -> RefundLimits:
    """Returns what an operator may refund by the role, and the amount above which a second operator approves."""
    return await db.one(_LIMITS, operator_id=operator_id) or RefundLimits()
