"""Discounts of drafts, saved as manual adjustments; in the caller's transaction."""

from decimal import Decimal
from uuid import UUID

import msgspec

from shop.actions.cart.orders import Checkout, change_order
from shop.actions.checkout.shipments import build_shipment_taxables, recalculate
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound
from shop.base.ids import new_id
from shop.base.money import minor_units
from shop.models.drafts.drafts import draft_discounts
from shop.queries import bulk, writes
from shop.queries.checkout import adjustments
from shop.queries.drafts import drafts
from shop.rules.cart.line_items import taxable
from shop.rules.drafts.discounts import MAX_PERCENT, DiscountAmount, calculate_discounts, share_discounts


class DiscountInput(msgspec.Struct, frozen=True):
    """A discount on a line item, or on the whole order."""

    line_item_id: UUID | None
    kind: str
    """`percent` or `amount`."""
    value: Decimal
    reason: str


async def save_discount(ctx: Context, checkout: Checkout, discount: DiscountInput) -> None:
    """Replaces the discount of the line item or of the whole order."""
    order = checkout.order
    if discount.line_item_id and all(line.id != discount.line_item_id for line in checkout.lines):
        raise NotFound()
    value = _to_whole_value(discount, order.currency)
    await drafts.delete_discount(ctx.db, order.id, discount.line_item_id)
    row = {"order_id": order.id, "line_item_id": discount.line_item_id, "kind": discount.kind}
    await writes.insert_record(ctx.db, draft_discounts, new_id(), {**row, "value": value, "reason": discount.reason})


def _to_whole_value(discount: DiscountInput, currency: str) -> int:
    """Returns hundredths of a percent, or minor units."""
    try:
        if discount.kind == "amount":
            value = minor_units(discount.value, currency)
        else:
            value = minor_units(discount.value, "USD")
    except ValueError as error:
        raise Invalid({"value": [str(error)]}) from None
    if not value:
        raise Invalid({"value": ["must be greater than 0"]})
    if discount.kind == "percent" and value > MAX_PERCENT * 100:
        raise Invalid({"value": [f"must be at most {MAX_PERCENT} percent"]})
    return value


async def apply_discounts(ctx: Context, checkout: Checkout) -> Checkout:
    """Calculates the discounts anew, saves their amounts as manual adjustments, and recalculates the totals."""
    order = checkout.order
    discounts = await drafts.list_discounts(ctx.db, order.id)
    if not discounts and not order.manual_total:
        return checkout
    await adjustments.drop_manual(ctx.db, order.id)
    plain_order = await change_order(ctx, order, manual_total=0, manual_shares={})
    checkout = await recalculate(ctx, msgspec.structs.replace(checkout, order=plain_order))
    line_amounts = {line.id: (line.name, line.discounted_amount) for line in checkout.lines}
    untaxed_total = checkout.order.total - checkout.order.additional_tax_total
    amounts = [each for each in calculate_discounts(discounts, line_amounts, untaxed_total) if each.amount]
    if not amounts:
        return checkout
    await bulk.insert_rows(ctx.db, "adjustments", [_to_row(order.id, each) for each in amounts])
    discounted_order = await change_order(
        ctx,
        checkout.order,
        manual_total=sum(each.amount for each in amounts),
        manual_shares=share_discounts(amounts, list(map(taxable, checkout.lines)), build_shipment_taxables(checkout)),
    )
    return await recalculate(ctx, msgspec.structs.replace(checkout, order=discounted_order))


def _to_row(order_id: UUID, discount: DiscountAmount) -> dict[str, object]:
    target = {"order_id": order_id, "adjustable_type": "order", "adjustable_id": order_id}
    return {
        "id": new_id(),
        **target,
        "label": discount.label,
        "amount": discount.amount,
        "mandatory": True,
        "state": "open",
    }
