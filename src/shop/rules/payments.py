"""What becomes of payments and shipments, and what an order says of them.

payment     started          checkout, pending, completed, processing -> processing
            authorised       checkout, processing -> pending
            captured         processing, pending, checkout -> completed
            declined         pending, processing -> failed
            voided           pending, processing, completed, checkout -> void
            invalidated      checkout -> invalid
            undone           failed -> void
shipment    ready            pending -> ready
            pend             ready -> pending
            ship             ready, canceled -> shipped
            cancel           pending, ready -> canceled
            resume           canceled -> ready or pending
"""

from collections.abc import Collection, Sequence

import msgspec

PAYMENT_MOVES: dict[str, tuple[frozenset[str], str]] = {
    "started": (frozenset({"checkout", "pending", "completed", "processing"}), "processing"),
    "authorised": (frozenset({"checkout", "processing"}), "pending"),
    "captured": (frozenset({"processing", "pending", "checkout"}), "completed"),
    "declined": (frozenset({"pending", "processing"}), "failed"),
    "voided": (frozenset({"pending", "processing", "completed", "checkout"}), "void"),
    "invalidated": (frozenset({"checkout"}), "invalid"),
    "undone": (frozenset({"failed"}), "void"),
}
SHIPMENT_MOVES: dict[str, frozenset[str]] = {
    "ready": frozenset({"pending"}),
    "pend": frozenset({"ready"}),
    "ship": frozenset({"ready", "canceled"}),
    "cancel": frozenset({"pending", "ready"}),
    "resume": frozenset({"canceled"}),
}
NOT_VALID = frozenset({"failed", "invalid", "void"})


def after(event: str, state: str) -> str | None:
    """The state a payment is in afterwards; none when this cannot happen to it."""
    allowed, then = PAYMENT_MOVES[event]
    return then if state in allowed else None


class Paid(msgspec.Struct, frozen=True):
    """A payment as far as sums are concerned."""

    state: str
    amount: int
    captured: int
    refunded: int


def is_valid(payment: Paid) -> bool:
    return payment.state not in NOT_VALID


def covered(payments: Collection[Paid]) -> int:
    """What the payments that count come to, be they captured or not."""
    return sum(payment.amount - payment.refunded for payment in payments if is_valid(payment))


def is_covered(payments: Collection[Paid], total: int) -> bool:
    """Whether it may be sent: every payment that counts was taken, and they come to the total. What was given back
    since for a good reason does not hold up the rest.
    """
    counted = [payment for payment in payments if is_valid(payment) and not _is_undone(payment)]
    return (
        all(payment.state == "completed" for payment in counted)
        and sum(payment.captured for payment in counted) >= total
    )


def _is_undone(payment: Paid) -> bool:
    """All of it was given back, as when an order was canceled: it pays for nothing any more."""
    return 0 < payment.captured <= payment.refunded


def payment_total(payments: Collection[Paid]) -> int:
    """What was taken and not given back."""
    return sum(payment.captured - payment.refunded for payment in payments)


def payment_state(payments: Collection[Paid], total: int, *, is_canceled: bool) -> str:
    paid = payment_total(payments)
    # One that was only chosen, and then another instead, has not failed.
    tried = [payment for payment in payments if payment.state != "invalid"]
    if tried and not any(is_valid(payment) for payment in tried):
        return "failed"
    if is_canceled and paid == 0:
        return "void"
    outstanding = (0 if is_canceled else total) - paid
    if outstanding > 0:
        return "balance_due"
    return "credit_owed" if outstanding < 0 else "paid"


def shipment_state(states: Sequence[str], *, has_backordered: bool) -> str | None:
    """Of a completed order, by those of its shipments."""
    if has_backordered:
        return "backorder"
    distinct = set(states)
    if len(distinct) > 1:
        return "partial" if "shipped" in distinct else "pending" if "pending" in distinct else "ready"
    return next(iter(distinct), None)


def shipment_should_be(state: str, *, order_state: str, has_backordered: bool, is_paid: bool) -> str:
    """What a shipment is by the rest of its order."""
    if state == "canceled" or order_state == "canceled":
        return "canceled"
    if state == "shipped":
        return state
    if order_state not in {"complete", "resumed", "awaiting_return", "returned"} or has_backordered:
        return "pending"
    return "ready" if is_paid else "pending"
