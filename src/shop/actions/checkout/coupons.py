"""How a code is put on a cart and taken off it; a code that does not help says why."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import msgspec

from shop.actions import rate_limits
from shop.actions.cart.access import require_owner
from shop.actions.cart.discounts import basket_of, deal_of, why_not_now
from shop.actions.cart.order_state import Checkout
from shop.actions.checkout.shipments import retotal
from shop.actions.checkout.steps import hold_checkout
from shop.actions.context import Context
from shop.base.errors import Invalid
from shop.base.ids import new_id
from shop.models.checkout.coupons import order_promotions
from shop.queries import writes
from shop.queries.cart import promotions as queries
from shop.queries.cart.promotions import Facts, Offered
from shop.rules.cart.promotion_kinds import BENEFITS, CUSTOMER_CONDITIONS
from shop.rules.cart.promotions import named_goods, promote

LONGEST = 100
REFUSALS = (
    "coupon_unknown",
    "coupon_expired",
    "coupon_used_up",
    "coupon_not_eligible",
    "coupon_already_applied",
    "coupon_worse_than_present",
)
"""The words for why a code is not put on a cart."""


def read_code(text: object) -> str:
    """As codes are kept: what stands around it and how it is written does not matter."""
    return text.strip().lower() if isinstance(text, str) else ""


def _refused(code: str, sentence: str) -> Invalid:
    return Invalid({"coupon_code": [sentence]}, sentence, code=code)


@asynccontextmanager
async def counting_guesses(ctx: Context) -> AsyncIterator[None]:
    """Around the transaction: a guess costs a try even though nothing of the rest is kept."""
    rate_limits.refuse_guesses(ctx)
    try:
        yield
    except Invalid as wrong:
        if wrong.code == "coupon_unknown":
            await rate_limits.note_unknown_coupon(ctx)
        raise


async def apply_code(ctx: Context, text: object, order_id: UUID | None = None) -> Checkout:
    async with counting_guesses(ctx), ctx.transaction() as once:
        checkout = await hold_checkout(ctx, order_id)
        if not once.done:
            checkout = await put_on(ctx, checkout, read_code(text))
            once.made(checkout.order.id)
        return checkout


async def remove_code(ctx: Context, text: str | None) -> Checkout:
    """One, or all of them."""
    async with ctx.transaction() as once:
        checkout = await hold_checkout(ctx)
        if once.done:
            return checkout
        once.made(checkout.order.id)
        if not await queries.take_off(ctx.db, checkout.order.id, None if text is None else read_code(text)):
            raise _refused(
                "coupon_unknown", "This code is not on the cart." if text else "There is no code on the cart."
            )
        return await retotal(ctx, checkout)


async def put_on(ctx: Context, checkout: Checkout, code: str) -> Checkout:
    order = checkout.order
    found = await queries.find_of_code(ctx.db, code) if 0 < len(code) <= LONGEST and "\0" not in code else None
    if found is None:
        raise _refused("coupon_unknown", "There is no such code.")
    promotion_id, coupon_code_id = found
    facts = await queries.find_facts(ctx.db, order.id, order.user_id)
    if any(present.promotion_id == promotion_id for present in facts.codes):
        raise _refused("coupon_already_applied", "This code is on the cart already.")
    (promotion,) = await queries.list_offered(ctx.db, [promotion_id])
    if _depends_on_customer(promotion):
        # The answer would tell the holder of an order token what the owner has bought, or which groups they are in.
        require_owner(ctx, order)
    await _check(ctx, checkout, promotion, facts)
    fields = {
        "order_id": order.id,
        "promotion_id": promotion_id,
        "coupon_code_id": coupon_code_id,
        "code": code,
    }
    await writes.insert_record(ctx.db, order_promotions, new_id(), fields)
    if coupon_code_id and any(present.is_used for present in await queries.list_codes(ctx.db, order.id)):
        raise _refused("coupon_used_up", "This code was used already.")
    applied = await retotal(ctx, checkout)
    if str(promotion_id) not in applied.order.promoted and not _waits(promotion, applied):
        raise _refused("coupon_worse_than_present", "What the cart has already is better.")
    return applied


def _depends_on_customer(promotion: Offered) -> bool:
    return promotion.customer_limit is not None or any(kind in CUSTOMER_CONDITIONS for kind, _ in promotion.rules)


def _waits(promotion: Offered, checkout: Checkout) -> bool:
    """What is taken off shipping is seen once it is known how the order is sent."""
    kinds = {BENEFITS[kind].level for kind, _ in promotion.actions if kind in BENEFITS}
    return "shipment" in kinds and not checkout.shipments


async def _check(ctx: Context, checkout: Checkout, promotion: Offered, facts: Facts) -> None:
    """Each reason why it takes nothing off, the one that cannot be mended first."""
    why = why_not_now(promotion, facts)
    if why:
        raise _refused(*why)
    if not checkout.lines:
        raise _refused("coupon_not_eligible", "Put something into the cart first.")
    sold = await queries.list_sold(ctx.db, [line.variant_id for line in checkout.lines])
    basket = basket_of(checkout.order, checkout.lines, checkout.shipments, facts, sold)
    deal = deal_of(promotion)
    reason, _ = named_goods(deal, basket)
    if reason:
        raise _refused("coupon_not_eligible", f"This code does not count here: {reason}.")
    alone = promote(msgspec.structs.replace(basket, shipments=basket.shipments or [(promotion.id, 1)]), [deal])
    if not alone:
        raise _refused("coupon_not_eligible", f"This code takes nothing off in {checkout.order.currency}.")
