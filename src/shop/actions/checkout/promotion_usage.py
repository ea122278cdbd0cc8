"""Promotion usage counts: recorded at completion, released if the order fails or is canceled."""

from collections.abc import Sequence
from uuid import UUID

from shop.actions.cart.orders import Checkout
from shop.actions.cart.promotions import customer_key
from shop.actions.checkout.shipments import recalculate
from shop.actions.context import Context
from shop.base.errors import Invalid
from shop.base.ids import new_id
from shop.models.cart.orders import Order
from shop.queries import bulk
from shop.queries.cart import promotions
from shop.queries.checkout import promotion_usage as queries
from shop.rules.cart.totals import Rate

USED_UP = "A promotion of this order has reached its usage limit."


class _PromotionsUsedUp(Exception):
    """Some promotions are used up; rolls back the uses recorded for the others."""

    def __init__(self, ids: set[UUID]) -> None:
        self.ids = ids


async def recalculate_with_uses(ctx: Context, checkout: Checkout, tax_rates: Sequence[Rate]) -> Checkout:
    """Recalculates the order and records a use of each of its promotions; a promotion that is used up gives no
    discount. The caller saves the state of the order. Requires a transaction; its rollback releases the uses.
    """
    without: frozenset[UUID] = frozenset()
    while True:
        checkout = await recalculate(ctx, checkout, tax_rates, without=without, defers_state=True)
        used_up_ids = await _record_uses(ctx, checkout.order)
        if not used_up_ids:
            return checkout
        without |= used_up_ids


async def record_uses_again(ctx: Context, order: Order) -> None:
    """Records the uses again for a resumed order, whose total does not change."""
    if await _record_uses(ctx, order):
        raise Invalid({"promotions": [USED_UP]}, USED_UP, code="coupon_used_up")


async def release_uses(ctx: Context, order: Order) -> None:
    if order.promoted:
        await queries.release_uses(ctx.db, order.id)


async def _record_uses(ctx: Context, order: Order) -> set[UUID]:
    """Records a use of each promotion; returns the ids of those that are used up."""
    ids = [UUID(key) for key in order.promoted]
    if not ids:
        return set()
    email = await customer_key(ctx, order)
    if await queries.record_unlimited_uses(ctx.db, order.id, ids, order.user_id, email):
        return set()
    try:
        async with ctx.db.savepoint():
            await _record_all_uses(ctx, order, ids, email)
    except _PromotionsUsedUp as error:
        return error.ids
    return set()


async def _record_all_uses(ctx: Context, order: Order, ids: list[UUID], email: str | None) -> None:
    recorded_ids = await queries.record_uses(ctx.db, order.id, ids, order.user_id, email)
    codes = {
        code.promotion_id: code.coupon_code_id
        for code in await promotions.list_codes(ctx.db, order.id)
        if code.coupon_code_id and code.promotion_id in ids
    }
    redeemed_code_ids = await queries.redeem_codes(ctx.db, order.id, [code_id for code_id in codes.values() if code_id])
    used_up_ids = {
        each for each in ids if each not in recorded_ids or (each in codes and codes[each] not in redeemed_code_ids)
    }
    if used_up_ids:
        raise _PromotionsUsedUp(used_up_ids)
    rows = [
        {
            "id": new_id(),
            "promotion_id": each,
            "order_id": order.id,
            "user_id": order.user_id,
            "email": email,
            "coupon_code_id": codes.get(each),
        }
        for each in ids
    ]
    await bulk.insert_rows(ctx.db, "promotion_uses", rows)
