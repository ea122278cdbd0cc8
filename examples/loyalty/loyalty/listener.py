"""Gives points for completed orders, and takes them back when an order is refunded or canceled."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from loyalty.points import LoyaltySettings, PointsChange, change_balance, count_earned
from loyalty.tables import FIND_ENTRY, LIST_ENTRIES, PointsEntry
from shop.extension import EventListener, ExtensionContext, ListenedEvent, OrderSummary

EARNED, RETURNED = "earned", "returned"


async def handle_event(ctx: ExtensionContext, event: ListenedEvent) -> None:
    if event.subject_id is None:
        return
    if event.type == "refund.created":
        await _handle_refund(ctx, event.subject_id, event.record or {})
        return
    order = await ctx.find_order(event.subject_id)
    if order is None or order.user_id is None:
        return
    if event.type == "order.completed":
        points = await _count_order(ctx, order)
        await _change(ctx, order, f"completed:{order.id}", EARNED, points, has_mail=True)
    elif event.type == "order.canceled":
        await _change(ctx, order, f"canceled:{event.id}", RETURNED, -await _count_remaining(ctx, order))
    else:
        points = await _count_order(ctx, order) - await _count_remaining(ctx, order)
        await _change(ctx, order, f"resumed:{event.id}", EARNED, points)


async def _handle_refund(ctx: ExtensionContext, refund_id: UUID, refund: Mapping[str, Any]) -> None:
    # A refund of points has an entry of its own.
    if not refund:
        return
    points_entry = await ctx.one(FIND_ENTRY, key=str(refund["reference"]))
    if points_entry:
        return
    order = await ctx.find_order(UUID(str(refund["order_id"])))
    if order is None or order.user_id is None:
        return
    points = count_earned(ctx.settings, int(refund["amount"]), order.currency)
    points = min(points, await _count_remaining(ctx, order))
    await _change(ctx, order, f"refund:{refund_id}", RETURNED, -points)


async def _count_order(ctx: ExtensionContext, order: OrderSummary) -> int:
    """Returns the points for an order, without those for what was paid with points."""
    spent_points = -sum(entry.points for entry in await _list_entries(ctx, order) if entry.reference)
    settings: LoyaltySettings = ctx.settings
    unearned = spent_points * settings.points_per_unit // settings.points_per_paid_unit
    return max(0, count_earned(settings, order.total, order.currency) - unearned)


async def _count_remaining(ctx: ExtensionContext, order: OrderSummary) -> int:
    """Returns the points for the order that were not taken back."""
    return max(0, sum(entry.points for entry in await _list_entries(ctx, order) if not entry.reference))


async def _list_entries(ctx: ExtensionContext, order: OrderSummary) -> list[PointsEntry]:
    return await ctx.all(LIST_ENTRIES, order_number=order.number)


async def _change(
    ctx: ExtensionContext, order: OrderSummary, key: str, reason: str, points: int, has_mail: bool = False
) -> None:
    if points and order.user_id:
        change = PointsChange(
            user_id=order.user_id, key=key, order_number=order.number, reason=reason, points=points, has_mail=has_mail
        )
        await change_balance(ctx, change)


LISTENER = EventListener(
    name="orders",
    types=["order.completed", "order.canceled", "order.resumed", "refund.created"],
    handler=handle_event,
)
