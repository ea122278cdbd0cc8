"""How the uses of promotions are counted: taken when an order is completed, given back when it is not, or cancelled."""

from uuid import UUID

from shop.actions.cart.discounts import customer_key
from shop.actions.cart.order_state import Checkout
from shop.actions.checkout.shipments import retotal
from shop.actions.context import Context
from shop.base.errors import Invalid
from shop.base.ids import new_id
from shop.models.cart.orders import Order
from shop.queries import bulk
from shop.queries.cart import promotions
from shop.queries.checkout import promotion_usage as queries

USED_UP = "A promotion of this order was used up."


class _UsedUp(Exception):
    """Some were gone; what was taken of the others is given back with it."""

    def __init__(self, ids: set[UUID]) -> None:
        self.ids = ids


async def retotal_with_uses(ctx: Context, checkout: Checkout) -> Checkout:
    """What the order comes to, with a use taken of every promotion in it: one that others used up meanwhile takes
    nothing off any more. In a transaction, whose rollback gives them back.
    """
    without: frozenset[UUID] = frozenset()
    while True:
        checkout = await retotal(ctx, checkout, without=without)
        lost = await _take(ctx, checkout.order)
        if not lost:
            return checkout
        without |= lost


async def take_again(ctx: Context, order: Order) -> None:
    """For an order that is resumed, whose total stays what it was."""
    if await _take(ctx, order):
        raise Invalid({"promotions": [USED_UP]}, USED_UP, code="coupon_used_up")


async def give_back_uses(ctx: Context, order: Order) -> None:
    if order.promoted:
        await queries.give_back_uses(ctx.db, order.id)


async def _take(ctx: Context, order: Order) -> set[UUID]:
    """Those of which none was left."""
    ids = [UUID(key) for key in order.promoted]
    if not ids:
        return set()
    try:
        async with ctx.db.savepoint():
            await _take_all(ctx, order, ids)
    except _UsedUp as gone:
        return gone.ids
    return set()


async def _take_all(ctx: Context, order: Order, ids: list[UUID]) -> None:
    email = await customer_key(ctx, order)
    taken = await queries.take_uses(ctx.db, order.id, ids, order.user_id, email)
    codes = {
        code.promotion_id: code.coupon_code_id
        for code in await promotions.list_codes(ctx.db, order.id)
        if code.coupon_code_id and code.promotion_id in ids
    }
    spent = await queries.take_codes(ctx.db, order.id, [code_id for code_id in codes.values() if code_id])
    gone = {each for each in ids if each not in taken or (each in codes and codes[each] not in spent)}
    if gone:
        raise _UsedUp(gone)
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
