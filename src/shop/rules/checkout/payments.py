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

The payment state of a completed order follows from what was captured and refunded of all its payments:

order       captured, refunded                         payment_state   amount due
canceled    all of it refunded, or nothing captured    void            0
canceled    some of it not refunded                    credit_owed     refunded - captured, below zero
not         captured < total, a payment counts         balance_due     total - captured
not         captured < total, all failed or void       failed          total - captured
not         captured >= total, all of it refunded      void            0
not         captured - refunded > total                credit_owed     total - captured + refunded, below zero
not         otherwise                                  paid            0

Authorised is not captured. To void a captured payment is to refund all of it. A refund is a concession: the customer
owes nothing because of it, so an order that was paid and refunded in part stays `paid`.
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


class Balance(msgspec.Struct, frozen=True):
    """What the payments of an order come to, in minor units of its currency."""

    state: str
    payment_total: int
    """Captured and not refunded."""
    refunded: int
    amount_due: int
    """What the customer still has to pay; below zero, what the shop has to refund."""

    @property
    def is_paid(self) -> bool:
        """Whether goods may be shipped."""
        return self.state in {"paid", "credit_owed"}


def balance_of(payments: Collection[Paid], total: int, *, is_canceled: bool) -> Balance:
    """The payment state of a completed order, by the table above; `payments` are all it ever had."""
    captured = sum(payment.captured for payment in payments)
    refunded = sum(payment.refunded for payment in payments)
    due = amount_due(total, captured, refunded, is_canceled=is_canceled)
    # A payment that was chosen and then replaced by another was never tried.
    tried = [payment for payment in payments if payment.state != "invalid"]
    if due > 0:
        state = "balance_due" if not tried or any(map(is_valid, tried)) else "failed"
    elif due < 0:
        state = "credit_owed"
    else:
        state = "void" if is_canceled or 0 < total <= captured == refunded else "paid"
    return Balance(state, captured - refunded, refunded, due)


def amount_due(total: int, captured: int, refunded: int, *, is_canceled: bool) -> int:
    """A refund first returns what was paid too much, and lowers what the order costs by the rest: it never makes the
    customer owe anything.
    """
    if is_canceled:
        return refunded - captured
    outstanding = total - captured
    return outstanding if outstanding > 0 else min(0, outstanding + refunded)


def refusal_of(act: str, payment: Paid, amount: int) -> tuple[str, str] | None:
    """Why a payment cannot be captured, voided or refunded: the field and the sentence; none when it can."""
    if act == "capture" and payment.state != "pending":
        return "base", f"A payment that is {payment.state} cannot be captured."
    if act == "void" and (payment.state not in {"pending", "completed"} or payment.refunded):
        return "base", f"A payment that is {payment.state} cannot be voided."
    if act == "refund" and (payment.state != "completed" or not 0 < amount <= payment.captured - payment.refunded):
        return "amount", "must be more than nothing, and at most what was taken and not given back"
    return None


def missing_payment(payments: Collection[Paid], total: int) -> int | None:
    """What must be promised again before a canceled order can be resumed; none when it cannot be, because money was
    refunded: that cannot be collected again.
    """
    if any(payment.refunded for payment in payments):
        return None
    return max(0, total - covered(payments))


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
