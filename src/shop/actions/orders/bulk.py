"""Changes many orders at once, each in its own transaction: one that cannot be changed does not stop the others."""

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from shop.actions.cart.orders import load_checkout
from shop.actions.context import Context
from shop.actions.orders import operations
from shop.actions.orders.details import change_tags
from shop.base.errors import Conflict, Invalid, NotFound
from shop.models.cart.orders import Order
from shop.queries import dashboard

MAX_ORDERS = 100
Change = Callable[[Context, Order], Awaitable[bool]]
"""Changes an order; returns whether there was anything to change."""


class BulkResult(msgspec.Struct, frozen=True):
    """The numbers of the orders that were changed and that needed no change, and the reasons of refusals by number."""

    changed_numbers: Sequence[str]
    unchanged_numbers: Sequence[str]
    refusals: dict[str, str]


async def change_orders(ctx: Context, numbers: Sequence[str], change: Change) -> BulkResult:
    """Applies a change to each of the orders."""
    changed_numbers: list[str] = []
    unchanged_numbers: list[str] = []
    refusals: dict[str, str] = {}
    for number in numbers[:MAX_ORDERS]:
        order = await dashboard.find_order(ctx.db, number)
        try:
            if order is None:
                raise NotFound()
            (changed_numbers if await change(ctx, order) else unchanged_numbers).append(number)
        except (Conflict, Invalid, NotFound) as error:
            refusals[number] = error.sentence
    return BulkResult(changed_numbers, unchanged_numbers, refusals)


async def ship_order(ctx: Context, order: Order) -> bool:
    """Ships all shipments of an order that are ready."""
    return await _move_shipments(ctx, order, "ship", "ready")


async def mark_ready(ctx: Context, order: Order) -> bool:
    """Marks all pending shipments of an order as ready."""
    return await _move_shipments(ctx, order, "ready", "pending")


async def _move_shipments(ctx: Context, order: Order, event: str, state: str) -> bool:
    checkout = await load_checkout(ctx, order)
    shipment_ids = [shipment.id for shipment in checkout.shipments if shipment.state == state]
    for shipment_id in shipment_ids:
        await operations.move_shipment(ctx, shipment_id, event)
    return bool(shipment_ids)


def add_tag(tag: str) -> Change:
    return lambda ctx, order: change_tags(ctx, order.id, add=tag)


def remove_tag(tag: str) -> Change:
    return lambda ctx, order: change_tags(ctx, order.id, remove=tag)
