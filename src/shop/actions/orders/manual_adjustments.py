"""Manual adjustments of open orders, in the caller's transaction."""

from decimal import Decimal
from uuid import UUID

import msgspec

from shop.actions.cart.locked_carts import PACKED_STATES
from shop.actions.cart.orders import Checkout, change_order
from shop.actions.checkout.shipments import recalculate
from shop.actions.checkout.steps import lock_open_checkout
from shop.actions.checkout.store_credit import release_credit
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound
from shop.base.ids import new_id
from shop.base.money import minor_units
from shop.base.texts import is_line
from shop.models.checkout.coupons import adjustments
from shop.models.checkout.record_inputs import AdjustmentInput
from shop.queries import writes

MAX_LABEL_LENGTH = 255
CALCULATED_ERROR = "is calculated from a tax or a promotion and cannot be changed"


async def create_adjustment(ctx: Context, values: AdjustmentInput) -> UUID:
    order_id, label = values["order_id"], values["label"]
    on_order = (values.get("adjustable_type", "order"), values.get("adjustable_id", order_id))
    if on_order != ("order", order_id):
        raise Invalid({"adjustable_id": ["must be the order: manual adjustments apply to the whole order"]})
    _check_label(label)
    checkout = await _lock_open_checkout(ctx, order_id)
    amount = _to_minor_units(values["amount"], checkout)
    adjustment_id = new_id()
    fields = {"adjustable_type": "order", "adjustable_id": order_id, "mandatory": True, "state": "open"}
    row = {**fields, "order_id": order_id, "label": label, "amount": amount}
    await writes.insert_record(ctx.db, adjustments, adjustment_id, row)
    await _retotal(ctx, checkout, amount)
    return adjustment_id


async def update_adjustment(ctx: Context, adjustment_id: UUID, values: AdjustmentInput) -> None:
    checkout, present = await _lock_manual_adjustment(ctx, adjustment_id)
    if "label" in values:
        _check_label(values["label"])
    amount = _to_minor_units(values["amount"], checkout, present) if "amount" in values else present
    await writes.update_record(ctx.db, adjustments, adjustment_id, {**values, "amount": amount})
    await _retotal(ctx, checkout, amount - present)


async def delete_adjustment(ctx: Context, adjustment_id: UUID) -> None:
    checkout, present = await _lock_manual_adjustment(ctx, adjustment_id)
    await writes.delete_record(ctx.db, adjustments, adjustment_id)
    await _retotal(ctx, checkout, -present)


async def lock_order_of_adjustment(ctx: Context, adjustment_id: UUID) -> None:
    """Locks the order before its adjustment, in the common lock order."""
    await _lock_manual_adjustment(ctx, adjustment_id)


async def _lock_manual_adjustment(ctx: Context, adjustment_id: UUID) -> tuple[Checkout, int]:
    """Locks the order of a manual adjustment; returns the checkout and the amount."""
    order_id = await writes.find_value(ctx.db, adjustments, adjustment_id, "order_id")
    if order_id is None:
        raise NotFound()
    if await writes.find_value(ctx.db, adjustments, adjustment_id, "source_type") is not None:
        raise Invalid({"base": [CALCULATED_ERROR]})
    checkout = await _lock_open_checkout(ctx, order_id)
    amount = await writes.find_value(ctx.db, adjustments, adjustment_id, "amount")
    if amount is None:
        raise NotFound()
    return checkout, amount


async def _lock_open_checkout(ctx: Context, order_id: UUID) -> Checkout:
    try:
        return await lock_open_checkout(ctx, order_id)
    except NotFound:
        raise Invalid({"order_id": ["is not an order that can still be changed"]}) from None


def _check_label(label: str) -> None:
    if len(label) > MAX_LABEL_LENGTH or not is_line(label):
        raise Invalid({"label": [f"must be one line of at most {MAX_LABEL_LENGTH} characters"]})


def _to_minor_units(amount: Decimal, checkout: Checkout, previous: int = 0) -> int:
    """Returns a valid amount in minor units, negative for a discount; `previous` is the amount it replaces."""
    order = checkout.order
    try:
        size = minor_units(abs(amount), order.currency)
    except ValueError as wrong:
        raise Invalid({"amount": [str(wrong)]}) from None
    minor = -size if amount < 0 else size
    if not minor:
        raise Invalid({"amount": ["must not be zero"]})
    if minor < previous and order.total + minor - previous < 0:
        raise Invalid({"amount": ["reduces the order by more than its total"]})
    return minor


async def _retotal(ctx: Context, checkout: Checkout, difference: int) -> None:
    """Recalculates the totals; releases reserved store credit and returns a later checkout to the delivery step."""
    if not difference:
        return
    order = checkout.order
    if order.store_credit_total:
        checkout = await release_credit(ctx, checkout)
    state = "delivery" if order.state in PACKED_STATES else order.state
    updated_order = await change_order(ctx, checkout.order, manual_total=order.manual_total + difference, state=state)
    await recalculate(ctx, msgspec.structs.replace(checkout, order=updated_order))
