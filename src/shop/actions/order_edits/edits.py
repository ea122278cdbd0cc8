"""Edits placed orders. A preview runs the same steps as the edit, in a transaction that is rolled back."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.audit import audit
from shop.actions.cart.locked_carts import get_pricing
from shop.actions.cart.orders import Checkout, build_payment_amounts, change_order, is_credit, load_checkout
from shop.actions.checkout.shipments import build_shipment_taxables
from shop.actions.context import Context
from shop.actions.event_subjects import PAYMENT
from shop.actions.events import note_change
from shop.actions.order_edits.allocations import (
    Reallocation,
    StockEffect,
    insert_shipments,
    reallocate,
    save_reallocation,
)
from shop.actions.order_edits.contacts import Contact, load_contact, save_contact
from shop.actions.order_edits.line_items import change_lines, load_quotes
from shop.actions.order_edits.notes import insert_note
from shop.actions.orders.operations import illegal_transition, lock_checkout, refuse_while_charging
from shop.actions.payments.settlement import save_adjustments, update_order_states
from shop.base.errors import Conflict, Invalid
from shop.models.cart.orders import CartLine, Order
from shop.models.cart.quotes import Quote
from shop.models.checkout.payments import payments
from shop.models.order_edits.edits import OrderEdit
from shop.queries import writes
from shop.queries.cart import line_items as line_queries
from shop.queries.cart.sales import add_sales
from shop.queries.checkout import adjustments
from shop.queries.checkout import shipments as shipment_queries
from shop.queries.payments import payments as payment_queries
from shop.queries.setup import taxes
from shop.rules.cart.line_items import MAX_CART_AMOUNT, taxable, with_amounts
from shop.rules.cart.totals import Rate, Totals, spread_manual, total_order
from shop.rules.checkout.payments import sum_covered_amount
from shop.rules.checkout.shipments import with_shipment_amounts
from shop.rules.form_values import fingerprint
from shop.rules.order_edits.edits import change_promotions, select_rates, sum_order_discounts
from shop.rules.order_edits.refunds import REASONS, find_reason_key

NOTHING_CHANGED = "Nothing was changed."
CHANGED_MEANWHILE = (
    "The order, a price or the stock changed since the preview. Nothing was saved: check the new preview."
)


class EditPreview(msgspec.Struct, frozen=True):
    """An order before and after an edit."""

    before: Checkout
    after: Checkout
    contact: Contact
    new_contact: Contact
    effects: Sequence[StockEffect]
    fingerprint: str
    """Changes with anything that the preview shows."""

    @property
    def difference(self) -> int:
        return self.after.order.total - self.before.order.total


class EditConflict(Conflict):
    """The edit would not do what its preview showed."""

    def __init__(self, preview: EditPreview) -> None:
        super().__init__(CHANGED_MEANWHILE)
        self.preview = preview


class _Rollback(Exception):
    """Ends the transaction of a preview."""

    def __init__(self, preview: EditPreview) -> None:
        self.preview = preview


async def preview_edit(ctx: Context, order_id: UUID, edit: OrderEdit) -> EditPreview:
    """Returns what an edit would do; saves nothing."""
    try:
        async with ctx.db.transaction():
            raise _Rollback(await _apply(ctx, order_id, edit))
    except _Rollback as rollback:
        return rollback.preview


async def save_edit(
    ctx: Context, order_id: UUID, edit: OrderEdit, preview_mark: str, *, reason: str | None = None
) -> EditPreview:
    """Applies an edit, if it still does what its preview with this fingerprint showed. With a reason, the edit cancels
    items; an explanation becomes a note of the order.
    """
    async with ctx.db.transaction():
        preview = await _apply(ctx, order_id, edit)
        if preview.fingerprint != preview_mark:
            raise EditConflict(preview)
        detail: dict[str, object] = {"total": preview.after.order.total, "difference": preview.difference}
        action = "order_edit"
        if reason is not None:
            action, detail = "order_cancel_items", {**detail, "reason": find_reason_key(reason)}
            if reason not in REASONS.values():
                await insert_note(ctx, preview.after.order, f"Items canceled. {reason}")
        await audit(ctx, action, "done", subject_id=order_id, detail=detail, record_id=order_id)
    return preview


def find_edit_refusal(order: Order) -> str | None:
    """Returns why an order cannot be edited, or None if it can."""
    if order.completed_at is None:
        return "Only a placed order can be edited."
    return "A canceled order cannot be edited." if order.canceled_at else None


async def lock_editable(ctx: Context, order_id: UUID) -> Checkout:
    """Locks a placed order that can be edited."""
    checkout = await lock_checkout(ctx, order_id)
    if refusal := find_edit_refusal(checkout.order):
        raise illegal_transition(refusal)
    refuse_while_charging(checkout.payments)
    return checkout


async def _apply(ctx: Context, order_id: UUID, edit: OrderEdit) -> EditPreview:
    before = await lock_editable(ctx, order_id)
    contact = await load_contact(ctx, before.order)
    order = await save_contact(ctx, before.order, edit)
    checkout = msgspec.structs.replace(before, order=order)
    quotes = await load_quotes(ctx, await get_pricing(ctx, order), before.lines, edit)
    lines = change_lines(before, edit, quotes)
    has_moved = await _has_moved(ctx, before.order, order)
    effects = await _save_parts(ctx, checkout, lines, quotes, edit.lost_line_ids, has_moved=has_moved)
    new_contact = await load_contact(ctx, order)
    after = await load_checkout(ctx, await _get_order(ctx, order_id))
    if not effects and new_contact == contact:
        raise Invalid({"base": [NOTHING_CHANGED]}, NOTHING_CHANGED)
    mark = _mark_preview(before, after, contact, new_contact, effects)
    return EditPreview(before, after, contact, new_contact, effects, mark)


async def _get_order(ctx: Context, order_id: UUID) -> Order:
    return (await lock_checkout(ctx, order_id)).order


async def _has_moved(ctx: Context, before: Order, after: Order) -> bool:
    """Returns whether the country or state of the shipping address changed, which decide about taxes."""
    if before.ship_address_id == after.ship_address_id:
        return False
    destinations = [
        await shipment_queries.find_destination(ctx.db, address_id) if address_id else None
        for address_id in (before.ship_address_id, after.ship_address_id)
    ]
    return destinations[0] != destinations[1]


async def _save_parts(
    ctx: Context,
    before: Checkout,
    lines: Sequence[CartLine],
    quotes: Mapping[UUID, Quote],
    lost_line_ids: frozenset[UUID],
    *,
    has_moved: bool,
) -> Sequence[StockEffect]:
    """Saves line items, shipments, stock, totals and payment states."""
    reallocation = await reallocate(ctx, before, lines, quotes, lost_line_ids)
    if not reallocation.effects and not has_moved:
        await update_order_states(ctx, before)
        return ()
    discounts = change_promotions(before.order.promoted, before.lines, lines, reallocation.merged_ids)
    rates = await _list_rates(ctx, before, has_moved=has_moved)
    draft = msgspec.structs.replace(
        before, lines=lines, shipments=reallocation.shipments, items=reallocation.items, rates=reallocation.rates
    )
    shares = _spread_manual(draft)
    totals = _calculate(draft, discounts, rates, shares)
    await insert_shipments(ctx, before, reallocation)
    order = await _save_lines(ctx, before, lines, totals, discounts)
    order = await change_order(ctx, order, manual_shares=shares) if shares != order.manual_shares else order
    shipments = [
        with_shipment_amounts(shipment, amounts)
        for shipment, amounts in zip(reallocation.shipments, totals.shipments, strict=True)
    ]
    new_reallocation: Reallocation = msgspec.structs.replace(reallocation, shipments=shipments)
    await save_reallocation(ctx, before, new_reallocation, quotes)
    await _save_steps(ctx, order, totals)
    earlier = {line.variant_id: line.quantity for line in before.lines}
    growth = {line.variant_id: line.quantity - earlier.get(line.variant_id, 0) for line in lines}
    await add_sales(ctx.db, {variant_id: count for variant_id, count in growth.items() if count > 0})
    await _resize_awaited_payment(ctx, await load_checkout(ctx, order))
    await update_order_states(ctx, await load_checkout(ctx, order))
    return reallocation.effects


async def _list_rates(ctx: Context, before: Checkout, *, has_moved: bool) -> list[Rate]:
    """Returns the tax rates of the purchase, or current ones at the address where it has none."""
    order = before.order
    current_rates = await taxes.list_rates(ctx.db, order.ship_address_id)
    if has_moved or order.explained is None:
        return current_rates
    taxables = [*map(taxable, before.lines), *build_shipment_taxables(before)]
    categories = {str(each.id): each.tax_category_id for each in taxables}
    return select_rates(order.explained["steps"], categories, current_rates)


def _spread_manual(draft: Checkout) -> dict[str, int]:
    """Divides the discounts that a draft had among the items that the order has now."""
    if not draft.order.manual_shares:
        return {}
    return spread_manual(draft.order.manual_total, list(map(taxable, draft.lines)), build_shipment_taxables(draft))


def _calculate(
    draft: Checkout, discounts: Mapping[str, Any], rates: Sequence[Rate], shares: Mapping[str, int]
) -> Totals:
    totals = total_order(
        [taxable(line) for line in draft.lines],
        build_shipment_taxables(draft),
        rates,
        order_promo_total=sum_order_discounts(discounts),
        manual_total=draft.order.manual_total,
        manual_shares=shares,
        applied_promotions=discounts,
    )
    if totals.item_total > MAX_CART_AMOUNT:
        raise Invalid({"base": ["exceeds the maximum order total"]}, "The order exceeds the maximum order total.")
    return totals


async def _save_lines(
    ctx: Context, before: Checkout, lines: Sequence[CartLine], totals: Totals, discounts: Mapping[str, Any]
) -> Order:
    old_lines = {line.id: line for line in before.lines}
    new_lines = [with_amounts(line, amounts) for line, amounts in zip(lines, totals.lines, strict=True)]
    line_ids = {line.id for line in new_lines}
    columns = {"promoted": discounts, "state": before.order.state, "currency": before.order.currency}
    return await line_queries.write_lines(
        ctx.db,
        before.order.id,
        put=[line for line in new_lines if old_lines.get(line.id) != line],
        removed_ids=[line_id for line_id in old_lines if line_id not in line_ids],
        unpacks=False,
        order={**totals.columns, **columns},
    )


async def _save_steps(ctx: Context, order: Order, totals: Totals) -> None:
    """Freezes the new calculation. An order without a frozen one, such as an imported order, gets none."""
    await adjustments.drop_calculated(ctx.db, order.id)
    await save_adjustments(ctx, order, totals.steps)
    if order.explained is not None:
        await change_order(ctx, order, explained={"steps": msgspec.to_builtins(totals.steps)})


async def _resize_awaited_payment(ctx: Context, checkout: Checkout) -> None:
    """Expects the new amount of a check or transfer that has not arrived."""
    methods = await payment_queries.list_methods_of(ctx.db, [each.payment_method_id for each in checkout.payments])
    awaited_payments = [
        each
        for each in checkout.payments
        if each.state == "pending"
        and not is_credit(each)
        and not ctx.providers[methods[each.payment_method_id].type].needs_source
    ]
    if len(awaited_payments) != 1:
        return
    others = [build_payment_amounts(each) for each in checkout.payments if each.id != awaited_payments[0].id]
    amount = checkout.order.total - sum_covered_amount(others)
    if amount > 0 and amount != awaited_payments[0].amount:
        note_change(ctx, PAYMENT, awaited_payments[0].id, awaited_payments[0])
        await writes.update_record(ctx.db, payments, awaited_payments[0].id, {"amount": amount})


def _mark_preview(
    before: Checkout, after: Checkout, contact: Contact, new_contact: Contact, effects: Sequence[StockEffect]
) -> str:
    """Returns a fingerprint of what the preview shows. New records have new ids each time and do not count."""
    old = {
        "lines": [(line.id, line.quantity, line.total) for line in before.lines],
        "shipments": [(each.id, each.state) for each in before.shipments],
        "paid": before.balance.payment_total,
        "contact": contact,
    }
    names = ("item_total", "promo_total", "ship_total", "adjustment_total", "included_tax_total", "total")
    new = {
        "lines": sorted((str(line.variant_id), line.quantity, line.price or 0, line.total) for line in after.lines),
        "effects": sorted(each.mark for each in effects),
        "totals": [getattr(after.order, name) for name in names],
        "balance": after.balance,
        "contact": new_contact,
    }
    builtins: dict[str, object] = msgspec.to_builtins({"old": old, "new": new})
    return fingerprint(builtins)
