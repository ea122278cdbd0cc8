"""Points as a payment: the shop charges, captures, voids and refunds them like a card."""

from uuid import UUID

from loyalty.points import PointsChange, change_balance, count_price
from loyalty.tables import FIND_ENTRY, LIST_ENTRIES
from shop.extension import UNKNOWN, Call, ExtensionContext, PaymentProvider, Result

SPENT, RESTORED = "spent", "restored"


async def execute(ctx: ExtensionContext, call: Call) -> Result:
    """Performs a call. The key of the first call is the reference of the payment."""
    order = await ctx.find_order(call.order_number)
    if order is None or order.user_id is None:
        return Result("declined", None, "Sign in to pay with points.")
    price = count_price(ctx.settings, call.amount, call.currency)
    reference = call.reference or str(call.key)
    if call.act in ("authorise", "purchase"):
        has_enough = await _change(ctx, order.user_id, call, SPENT, -price, reference)
        return Result("approved", reference) if has_enough else Result("declined", None, "There are not enough points.")
    entries = await ctx.all(LIST_ENTRIES, order_number=call.order_number)
    held_points = -sum(entry.points for entry in entries if entry.reference == reference)
    points = {"capture": held_points - price, "void": held_points, "refund": min(price, held_points)}[call.act]
    if points > 0:
        await _change(ctx, order.user_id, call, RESTORED, points, reference)
    return Result("approved", reference)


async def find(ctx: ExtensionContext, call: Call) -> Result:
    """Looks up a call. A capture of all points leaves no entry, and can be repeated."""
    if await ctx.one(FIND_ENTRY, key=str(call.key)):
        return Result("approved", call.reference or str(call.key))
    return await execute(ctx, call) if call.act == "capture" else UNKNOWN


async def _change(ctx: ExtensionContext, user_id: UUID, call: Call, reason: str, points: int, reference: str) -> bool:
    change = PointsChange(
        user_id=user_id,
        key=str(call.key),
        order_number=call.order_number,
        reason=reason,
        points=points,
        reference=reference,
        may_overdraw=False,
    )
    return await change_balance(ctx, change)


PROVIDER = PaymentProvider(type="x_loyalty_points", label="Loyalty points", execute=execute, find=find)
