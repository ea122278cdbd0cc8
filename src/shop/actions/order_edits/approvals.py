"""A second operator approves or declines refunds above the amount that the shop's settings name."""

from uuid import UUID

from shop.actions.audit import audit
from shop.actions.context import Context
from shop.actions.order_edits.refunds import (
    LineRefundInput,
    build_refundable,
    plan_refund,
    record_refund,
)
from shop.actions.orders.operations import check_refund, load_refund_limits, lock_checkout
from shop.actions.payments.attempts import execute_calls
from shop.base.errors import Conflict, NotFound
from shop.models.order_edits.approvals import MAX_AGE_DAYS, RefundRequest
from shop.queries.order_edits import approvals

OWN_REQUEST = "Another operator must approve a refund that you asked for."
OTHER_AMOUNT = "The order changed: the refund would have another amount now. Decline it and ask for a new one."


async def approve_refund(ctx: Context, request_id: UUID) -> None:
    """Makes a refund that another operator asked for, planned again on the current state of the order."""
    work = ctx.with_new_session()
    async with work.db.transaction():
        request = await _lock_open(work, request_id)
        if request.requester_id == ctx.actor.id:
            raise Conflict(OWN_REQUEST)
        checkout = await lock_checkout(work, request.order_id)
        refund = _read_refund(request)
        plan = plan_refund(await build_refundable(work, checkout), refund)
        if plan.amount != request.amount:
            raise Conflict(OTHER_AMOUNT)
        check_refund(await load_refund_limits(work), checkout.order, plan.amount, is_approved=True)
        calls = await record_refund(work, checkout, plan, refund, is_approved=True)
        await approvals.decide_request(work.db, request.id, "approved", ctx.actor.id)
        await audit(work, "refund_approved", "done", subject_id=request.order_id)
    await execute_calls(ctx, checkout.order, calls)


async def decline_refund(ctx: Context, request_id: UUID) -> None:
    """Declines a request; its author can withdraw it in the same way."""
    async with ctx.db.transaction():
        request = await _lock_open(ctx, request_id)
        await approvals.decide_request(ctx.db, request.id, "declined", ctx.actor.id)
        await audit(ctx, "refund_declined", "done", subject_id=request.order_id)


async def _lock_open(ctx: Context, request_id: UUID) -> RefundRequest:
    request = await approvals.lock_request(ctx.db, request_id)
    if request is None:
        raise NotFound()
    if request.state != "pending":
        raise Conflict(f"Another operator decided meanwhile: the refund was {request.state}.")
    if request.is_expired:
        raise Conflict(f"The request expired after {MAX_AGE_DAYS} days. Ask for a new refund.")
    return request


def _read_refund(request: RefundRequest) -> LineRefundInput:
    values = request.refund
    return LineRefundInput(
        {UUID(key): count for key, count in values["quantities"].items()},
        frozenset(map(UUID, values["restocked_ids"])),
        values["shipping_amount"],
        values["other_amount"],
        request.reason,
        values.get("is_to_credit", False),
    )
