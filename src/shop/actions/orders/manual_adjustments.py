"""Amounts that whoever runs the shop adds to an open order, or takes off it, by hand. Each runs inside its caller's
transaction.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.cart.line_items import PACKED
from shop.actions.cart.order_state import Checkout, change_order
from shop.actions.checkout.shipments import retotal
from shop.actions.checkout.steps import hold_checkout
from shop.actions.checkout.store_credit import put_back
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound
from shop.base.ids import new_id
from shop.base.money import minor_units
from shop.base.texts import is_line
from shop.models.checkout.coupons import adjustments
from shop.queries import writes

Values = Mapping[str, Any]
LONGEST_LABEL = 255
CALCULATED = "is calculated from a tax or a promotion and cannot be changed"


async def create_adjustment(ctx: Context, values: Values) -> UUID:
    order_id, label = values["order_id"], values["label"]
    on_order = (values.get("adjustable_type", "order"), values.get("adjustable_id", order_id))
    if on_order != ("order", order_id):
        raise Invalid({"adjustable_id": ["must be the order: an adjustment by hand is of the whole order"]})
    _check_label(label)
    checkout = await _hold(ctx, order_id)
    amount = _minor(values["amount"], checkout)
    adjustment_id = new_id()
    fields = {"adjustable_type": "order", "adjustable_id": order_id, "mandatory": True, "state": "open"}
    row = {**fields, "order_id": order_id, "label": label, "amount": amount}
    await writes.insert_record(ctx.db, adjustments, adjustment_id, row)
    await _retotal(ctx, checkout, amount)
    return adjustment_id


async def update_adjustment(ctx: Context, adjustment_id: UUID, values: Values) -> None:
    checkout, present = await _hold_manual(ctx, adjustment_id)
    fields = dict(values)
    if "label" in values:
        _check_label(values["label"])
    if "amount" in values:
        fields["amount"] = _minor(values["amount"], checkout, present)
    await writes.update_record(ctx.db, adjustments, adjustment_id, fields)
    await _retotal(ctx, checkout, fields.get("amount", present) - present)


async def delete_adjustment(ctx: Context, adjustment_id: UUID) -> None:
    checkout, present = await _hold_manual(ctx, adjustment_id)
    await writes.delete_record(ctx.db, adjustments, adjustment_id)
    await _retotal(ctx, checkout, -present)


async def hold_order(ctx: Context, adjustment_id: UUID) -> None:
    """Locked before its adjustment, as everybody locks them."""
    await _hold_manual(ctx, adjustment_id)


async def _hold_manual(ctx: Context, adjustment_id: UUID) -> tuple[Checkout, int]:
    """Its order, and its amount."""
    order_id = await writes.find_value(ctx.db, adjustments, adjustment_id, "order_id")
    if order_id is None:
        raise NotFound()
    if await writes.find_value(ctx.db, adjustments, adjustment_id, "source_type") is not None:
        raise Invalid({"base": [CALCULATED]})
    checkout = await _hold(ctx, order_id)
    amount = await writes.find_value(ctx.db, adjustments, adjustment_id, "amount")
    if amount is None:
        raise NotFound()
    return checkout, amount


async def _hold(ctx: Context, order_id: UUID) -> Checkout:
    try:
        return await hold_checkout(ctx, order_id)
    except NotFound:
        raise Invalid({"order_id": ["is not an order that can still be changed"]}) from None


def _check_label(label: str) -> None:
    if len(label) > LONGEST_LABEL or not is_line(label):
        raise Invalid({"label": [f"must be one line of at most {LONGEST_LABEL} characters"]})


def _minor(amount: Decimal, checkout: Checkout, instead_of: int = 0) -> int:
    """In minor units, below zero for what is taken off."""
    order = checkout.order
    try:
        size = minor_units(abs(amount), order.currency)
    except ValueError as wrong:
        raise Invalid({"amount": [str(wrong)]}) from None
    minor = -size if amount < 0 else size
    if not minor:
        raise Invalid({"amount": ["must not be zero"]})
    if minor < instead_of and order.total + minor - instead_of < 0:
        raise Invalid({"amount": ["takes off more than the order comes to"]})
    return minor


async def _retotal(ctx: Context, checkout: Checkout, difference: int) -> None:
    """Store credit was set aside for another total, and a checkout beyond its delivery goes back there."""
    if not difference:
        return
    order = checkout.order
    if order.store_credit_total:
        checkout = await put_back(ctx, checkout)
    state = "delivery" if order.state in PACKED else order.state
    changed = await change_order(ctx, checkout.order, manual_total=order.manual_total + difference, state=state)
    await retotal(ctx, msgspec.structs.replace(checkout, order=changed))
