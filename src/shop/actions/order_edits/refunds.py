"""Refunds line items, shipping costs and free amounts of an order, divided among its payments."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from shop.actions.audit import audit
from shop.actions.cart.orders import Checkout, build_payment_amounts, is_credit, load_checkout
from shop.actions.checkout.store_credit import refund_to_credit
from shop.actions.context import Context
from shop.actions.orders.operations import (
    check_refund,
    load_refund_limits,
    lock_checkout,
    record_attempt,
)
from shop.actions.payments.attempts import execute_calls
from shop.actions.payments.returns import restock_refund
from shop.actions.payments.settlement import update_order_states
from shop.actions.timeline import describe_refund_cause
from shop.base.errors import Conflict, Invalid, PaymentInProgress
from shop.base.ids import new_id
from shop.base.money import major_units
from shop.gateways.payments import Call
from shop.models.cart.orders import CartLine, Order
from shop.models.checkout.payments import Payment
from shop.models.order_edits.approvals import refund_requests
from shop.queries import bulk, writes
from shop.queries.customers import users
from shop.queries.order_edits.approvals import find_open_request
from shop.queries.order_edits.refunds import RefundedUnits, list_refunded_units, sum_refunded_shipping
from shop.queries.payments import payments as payment_queries
from shop.rules.checkout.payments import find_refusal
from shop.rules.form_values import fingerprint
from shop.rules.order_edits.refunds import (
    divide_refund,
    find_reason_key,
    price_units,
    share_lines,
    subtract_restocked,
)

REFUNDED_MEANWHILE = "The order was refunded or changed since the preview. Nothing was refunded: check the new preview."


class LineRefundInput(msgspec.Struct, frozen=True):
    """What an operator wants to refund. Amounts are in minor units."""

    quantities: Mapping[UUID, int]
    restocked_ids: frozenset[UUID]
    """The line items whose units return to the stock."""
    shipping_amount: int
    other_amount: int
    reason: str
    is_to_credit: bool = False
    """Whether the customer gets store credit instead of the money."""


class RefundableLine(msgspec.Struct, frozen=True):
    """A line item with its cost and the units that can still be refunded or restocked."""

    line: CartLine
    cost: int
    refunded_count: int
    restocked_count: int
    restockable_counts: Mapping[UUID, int]
    """The shipped units that are not back in stock, by the stock location that sent them."""

    @property
    def restockable_count(self) -> int:
        return sum(self.restockable_counts.values())

    @property
    def open_count(self) -> int:
        return max(self.line.quantity - self.refunded_count, 0)

    def price(self, count: int) -> int:
        return price_units(self.cost, self.line.quantity, self.refunded_count, count)


class RefundableOrder(msgspec.Struct, frozen=True):
    """What can be refunded of an order."""

    checkout: Checkout
    lines: Sequence[RefundableLine]
    payments: Sequence[Payment]
    method_names: Mapping[UUID, str]
    can_credit: bool
    """Whether the customer can get store credit instead of the money."""
    refunded_shipping: int
    """The shipping costs that were refunded before."""

    @property
    def amount(self) -> int:
        return sum(_refundable_amount(payment) for payment in self.payments)

    @property
    def shipping_amount(self) -> int:
        """The shipping costs that can still be refunded."""
        costs = sum(each.cost + each.adjustment_total for each in self.checkout.shipments)
        return max(costs - self.refunded_shipping, 0)


class RefundPlan(msgspec.Struct, frozen=True):
    """A refund: its amounts by line item and by payment."""

    lines: Sequence[tuple[RefundableLine, int, int]]
    """Each line item with its units and their amount."""
    payments: Sequence[tuple[Payment, int]]
    amount: int
    fingerprint: str


class RefundConflict(Conflict):
    """The refund would differ from its preview."""

    def __init__(self, plan: RefundPlan, cause: str) -> None:
        super().__init__(f"{REFUNDED_MEANWHILE} {cause}".strip())
        self.plan = plan


def _refundable_amount(payment: Payment) -> int:
    return payment.captured_amount - payment.refunded_amount


async def load_refundable(ctx: Context, order: Order) -> RefundableOrder:
    """Returns what can be refunded. Payments with store credit are refunded last."""
    checkout = await load_checkout(ctx, order)
    return await build_refundable(ctx, checkout)


async def build_refundable(ctx: Context, checkout: Checkout) -> RefundableOrder:
    """Returns what can be refunded of an order that the caller has loaded or locked."""
    order = checkout.order
    units = await list_refunded_units(ctx.db, order.id)
    parts_total = sum(line.total for line in checkout.lines)
    parts_total += sum(each.cost + each.adjustment_total for each in checkout.shipments)
    costs = share_lines(checkout.lines, order.total - parts_total)
    shipped_counts = {} if order.canceled_at else _count_shipped(checkout)
    lines = [
        _build_line(line, costs[line.id], units.get(line.id, RefundedUnits()), shipped_counts.get(line.id, {}))
        for line in checkout.lines
    ]
    payments = [
        each
        for each in sorted(checkout.payments, key=is_credit)
        if not find_refusal("refund", build_payment_amounts(each), _refundable_amount(each))
    ]
    methods = await payment_queries.list_methods_of(ctx.db, [each.payment_method_id for each in payments])
    names = {each.id: methods[each.payment_method_id].name for each in payments}
    can_credit = not all(map(is_credit, payments)) and await _can_have_credit(ctx, order)
    refunded_shipping = await sum_refunded_shipping(ctx.db, order.id)
    return RefundableOrder(checkout, lines, payments, names, can_credit, refunded_shipping)


async def _can_have_credit(ctx: Context, order: Order) -> bool:
    """Returns whether the order belongs to an account that can use credit in its currency."""
    user = await users.find_user(ctx.db, order.user_id) if order.user_id else None
    return user is not None and user.disabled_at is None and order.currency in ctx.shared.shop.currencies


def _count_shipped(checkout: Checkout) -> dict[UUID, dict[UUID, int]]:
    """Returns the shipped units by line item and stock location."""
    locations = {each.id: each.stock_location_id for each in checkout.shipments if each.state == "shipped"}
    counts: dict[UUID, dict[UUID, int]] = {}
    for item in checkout.items:
        if item.shipment_id in locations:
            by_location = counts.setdefault(item.line_item_id, {})
            location_id = locations[item.shipment_id]
            by_location[location_id] = by_location.get(location_id, 0) + item.quantity
    return counts


def _build_line(line: CartLine, cost: int, units: RefundedUnits, shipped_counts: Mapping[UUID, int]) -> RefundableLine:
    restockable_counts = subtract_restocked(shipped_counts, units.restocked_counts)
    return RefundableLine(line, cost, units.quantity, sum(units.restocked_counts.values()), restockable_counts)


def plan_refund(refundable: RefundableOrder, refund: LineRefundInput) -> RefundPlan:
    """Returns the amounts of a refund; raises Invalid if it is more than can be refunded."""
    lines = []
    by_id = {each.line.id: each for each in refundable.lines}
    for line_id, count in refund.quantities.items():
        line = by_id.get(line_id)
        if line is None or count > line.open_count:
            name, most = (line.line.name, line.open_count) if line else ("An item", 0)
            raise _error("quantity", f"{name}: at most {most} can be refunded.")
        if line_id in refund.restocked_ids and count > line.restockable_count:
            sentence = f"{line.line.name}: {line.restockable_count} shipped units can return to the stock."
            raise _error("quantity", f"{sentence} Cancel the others instead.")
        if count:
            lines.append((line, count, line.price(count)))
    if refund.is_to_credit and not refundable.can_credit:
        raise _error("destination", "Store credit needs a customer with an account, and a currency of the shop.")
    if refund.shipping_amount > refundable.shipping_amount:
        raise _error("shipping", "is more than the shipping costs that are not refunded yet")
    amount = sum(price for _, _, price in lines) + refund.shipping_amount + refund.other_amount
    if not amount:
        raise _error("base", "Enter what to refund.")
    refundable_amounts = {index: _refundable_amount(each) for index, each in enumerate(refundable.payments)}
    shares = divide_refund(amount, refundable_amounts)
    if shares is None:
        raise _error("base", "The refund is more than what was paid and not refunded yet.")
    payments = [(refundable.payments[index], part) for index, part in shares.items()]
    mark = fingerprint(
        {
            "lines": [(str(line.line.id), count, price, line.refunded_count) for line, count, price in lines],
            "payments": [(str(payment.id), payment.refunded_amount, part) for payment, part in payments],
            "order": [refundable.amount, refundable.checkout.order.total, refund.other_amount],
            "shipping": [refund.shipping_amount, refundable.refunded_shipping],
            "reason": refund.reason,
            "restocked": sorted(map(str, refund.restocked_ids)),
            "is_to_credit": refund.is_to_credit,
        }
    )
    return RefundPlan(lines, payments, amount, mark)


def _error(field: str, sentence: str) -> Invalid:
    return Invalid({field: [sentence]}, sentence)


async def refund_order(ctx: Context, order_id: UUID, refund: LineRefundInput, preview_mark: str) -> bool:
    """Makes a refund, if it still is what its preview showed; returns False if it waits for the approval of a second
    operator instead.
    """
    work = ctx.with_new_session()
    async with work.db.transaction():
        checkout = await lock_checkout(work, order_id)
        plan = plan_refund(await build_refundable(work, checkout), refund)
        if plan.fingerprint != preview_mark:
            raise RefundConflict(plan, await describe_refund_cause(work, checkout.order))
        # The sum: each payment has only a part of it.
        limits = await load_refund_limits(work)
        check_refund(limits, checkout.order, plan.amount, is_approved=True)
        is_waiting = limits.needs_approval(major_units(plan.amount, checkout.order.currency))
        if is_waiting:
            await _request_approval(work, checkout.order, refund, plan)
        calls = [] if is_waiting else await record_refund(work, checkout, plan, refund, is_approved=False)
    await execute_calls(ctx, checkout.order, calls)
    return not is_waiting


async def _request_approval(ctx: Context, order: Order, refund: LineRefundInput, plan: RefundPlan) -> None:
    """Saves the refund for a second operator; the caller holds the order's lock."""
    if await find_open_request(ctx.db, order.id):
        raise Conflict("A refund of this order waits for approval. Decline or withdraw it first.")
    values = {
        "order_id": order.id,
        "requester_id": ctx.actor.id,
        "refund": {
            "quantities": {str(line_id): count for line_id, count in refund.quantities.items()},
            "restocked_ids": sorted(map(str, refund.restocked_ids)),
            "shipping_amount": refund.shipping_amount,
            "other_amount": refund.other_amount,
            "is_to_credit": refund.is_to_credit,
        },
        "reason": refund.reason,
        "amount": plan.amount,
    }
    await writes.insert_record(ctx.db, refund_requests, new_id(), values)
    detail = {"amount": plan.amount, "currency": order.currency}
    await audit(ctx, "refund_requested", "done", subject_id=order.id, detail=detail)


async def record_refund(
    ctx: Context, checkout: Checkout, plan: RefundPlan, refund: LineRefundInput, *, is_approved: bool
) -> list[tuple[Payment, Call]]:
    """Records a refund with its units in the current transaction; returns the calls of the provider."""
    order, calls, credit_parts, refund_ids = checkout.order, [], [], [new_id() for _ in plan.payments]
    if refund.is_to_credit:
        await _refuse_while_refunding(ctx, order)
    for refund_id, (payment, amount) in zip(refund_ids, plan.payments, strict=True):
        if refund.is_to_credit and not is_credit(payment):
            credit_parts.append((refund_id, payment, amount))
            continue
        call = await record_attempt(
            ctx, order, payment, "refund", amount, refund=(refund_id, refund.reason), is_approved=is_approved
        )
        calls.append((payment, call))
    if credit_parts:
        await refund_to_credit(ctx, order, credit_parts, refund.reason)
    await _group_refunds(ctx, refund_ids, refund)
    await _save_items(ctx, order, plan, refund, refund_ids[0])
    if credit_parts:
        await restock_refund(ctx, order, refund_ids[0])
        await update_order_states(ctx, await lock_checkout(ctx, order.id))
    detail = {"amount": plan.amount, "currency": order.currency, "reason": find_reason_key(refund.reason)}
    detail |= {"store_credit": sum(amount for _, _, amount in credit_parts)} if credit_parts else {}
    await audit(ctx, "order_refund", "done", subject_id=order.id, detail=detail)
    return calls


async def _refuse_while_refunding(ctx: Context, order: Order) -> None:
    """Raises while a provider refunds a payment of the order, whose amount does not count yet."""
    if any(each.outcome == "unknown" for each in await payment_queries.list_attempts(ctx.db, order.id)):
        raise PaymentInProgress()


async def _group_refunds(ctx: Context, refund_ids: Sequence[UUID], refund: LineRefundInput) -> None:
    """Saves which refunds were made together, and the shipping costs that they return."""
    first_id = refund_ids[0]
    rows = [
        {"id": each, "group_id": first_id, "shipping_amount": refund.shipping_amount if each == first_id else 0}
        for each in refund_ids
    ]
    await bulk.update_rows(ctx.db, "refunds", rows)


async def _save_items(ctx: Context, order: Order, plan: RefundPlan, refund: LineRefundInput, refund_id: UUID) -> None:
    """Saves the units of a refund, with the stock location that each of them returns to."""
    rows = [
        {
            "id": new_id(),
            "order_id": order.id,
            "refund_id": refund_id,
            "line_item_id": line.line.id,
            "quantity": count,
            "amount": amount,
            "is_restocked": location_id is not None,
            "stock_location_id": location_id,
        }
        for line, total_count, _ in plan.lines
        for location_id, count, amount in _divide_units(line, total_count, refund)
    ]
    await bulk.insert_rows(ctx.db, "refund_items", rows)


def _divide_units(
    line: RefundableLine, total_count: int, refund: LineRefundInput
) -> list[tuple[UUID | None, int, int]]:
    """Returns the stock locations that units return to, with their numbers and amounts; None for no return."""
    if line.line.id not in refund.restocked_ids:
        return [(None, total_count, line.price(total_count))]
    parts: list[tuple[UUID | None, int, int]] = []
    former_count = 0
    for location_id, count in (divide_refund(total_count, line.restockable_counts) or {}).items():
        amount = line.price(former_count + count) - line.price(former_count)
        parts.append((location_id, count, amount))
        former_count += count
    return parts
