"""Returns the units of refunds to the stock when the money is returned."""

from uuid import UUID

from shop.actions.catalog.reservations import restock
from shop.actions.context import Context
from shop.models.cart.orders import Order
from shop.queries.order_edits.refunds import claim_returns


async def restock_refund(ctx: Context, order: Order, refund_id: UUID) -> None:
    """Returns the units of a refund to the stock locations that sent them. They stay part of the order and its
    shipments. Of the refunds that were made together, the first that succeeds does it; the caller holds the order's
    lock.
    """
    returned_stock = await claim_returns(ctx.db, refund_id)
    if returned_stock:
        await restock(ctx, order, returned_stock, note=f"{order.number} returned")
