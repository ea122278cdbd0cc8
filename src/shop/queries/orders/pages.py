"""Additional statements for the dashboard's order page."""

from typing import cast
from uuid import UUID

from sqlalchemy import bindparam, select
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.checkout.payments import Refund, refunds
from shop.models.checkout.shipments import shipping_methods, shipping_rates

_of_order = bindparam("order_id", type_=PG_UUID(as_uuid=True))
_REFUNDS = statement(select(refunds).where(refunds.c.order_id == _of_order).order_by(refunds.c.id), into(Refund))
_TRACKING = statement(
    select(shipping_rates.c.shipment_id, shipping_methods.c.tracking_url)
    .join(shipping_methods, shipping_methods.c.id == shipping_rates.c.shipping_method_id)
    .where(
        shipping_rates.c.order_id == _of_order,
        shipping_rates.c.is_selected,
        shipping_methods.c.tracking_url.is_not(None),
    ),
    lambda record: cast(tuple[UUID, str], tuple(record)),
)


async def list_refunds(db: DatabaseSession, order_id: UUID) -> list[Refund]:
    return await db.all(_REFUNDS, order_id=order_id)


async def list_tracking_urls(db: DatabaseSession, order_id: UUID) -> dict[UUID, str]:
    """Returns tracking URLs by shipment, of the selected shipping method, even if it is deleted."""
    return dict(await db.all(_TRACKING, order_id=order_id))
