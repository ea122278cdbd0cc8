"""State transitions of payments and shipments, and the order states that follow from them.

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

The payment state of a completed order follows from the captured and refunded totals of its payments:

order       captured, refunded                         payment_state   amount due
canceled    all of it refunded, or nothing captured    void            0
canceled    some of it not refunded                    credit_owed     refunded - captured, below zero
not         captured < total, a payment counts         balance_due     total - captured
not         captured < total, all failed or void       failed          total - captured
not         captured >= total, all of it refunded      void            0
not         captured - refunded > total                credit_owed     total - captured + refunded, below zero
not         otherwise                                  paid            0

Authorized does not mean captured. Voiding a captured payment refunds all of it. The customer never owes money
because of a refund, so an order that was paid and partly refunded stays `paid`.
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
INVALID_STATES = frozenset({"failed", "invalid", "void"})


def next_payment_state(event: str, state: str) -> str | None:
    """Returns the payment state after an event, or None if the event is not allowed."""
    from_states, then = PAYMENT_MOVES[event]
    return then if state in from_states else None


class PaymentAmounts(msgspec.Struct, frozen=True):
    """The state and amounts of a payment."""

    state: str
    amount: int
    captured: int
    refunded: int


def is_valid(payment: PaymentAmounts) -> bool:
    return payment.state not in INVALID_STATES


def sum_covered_amount(payments: Collection[PaymentAmounts]) -> int:
    """Returns the total of valid payments, captured or not, less refunds."""
    return sum(payment.amount - payment.refunded for payment in payments if is_valid(payment))


class Balance(msgspec.Struct, frozen=True):
    """The payment balance of an order, in minor units of its currency."""

    state: str
    payment_total: int
    """Captured less refunded."""
    refunded: int
    amount_due: int
    """The amount that the customer still owes; if negative, the amount that the shop must refund."""

    @property
    def is_paid(self) -> bool:
        """Whether goods may be shipped."""
        return self.state in {"paid", "credit_owed"}


def balance_of(payments: Collection[PaymentAmounts], total: int, *, is_canceled: bool) -> Balance:
    """Returns the balance of a completed order by the table above; `payments` includes failed and void payments."""
    captured_total = sum(payment.captured for payment in payments)
    refunded_total = sum(payment.refunded for payment in payments)
    due = amount_due(total, captured_total, refunded_total, is_canceled=is_canceled)
    # A payment that was replaced by another choice was never attempted.
    tried_payments = [payment for payment in payments if payment.state != "invalid"]
    if due > 0:
        state = "balance_due" if not tried_payments or any(map(is_valid, tried_payments)) else "failed"
    elif due < 0:
        state = "credit_owed"
    else:
        state = "void" if is_canceled or 0 < total <= captured_total == refunded_total else "paid"
    return Balance(state, captured_total - refunded_total, refunded_total, due)


def amount_due(total: int, captured_total: int, refunded_total: int, *, is_canceled: bool) -> int:
    """Returns the amount due. A refund first returns any overpayment, and then lowers the cost of the order; the
    customer never owes more because of a refund.
    """
    if is_canceled:
        return refunded_total - captured_total
    outstanding = total - captured_total
    return outstanding if outstanding > 0 else min(0, outstanding + refunded_total)


def find_refusal(act: str, payment: PaymentAmounts, amount: int) -> tuple[str, str] | None:
    """Returns the field and message if a payment cannot be captured, voided or refunded; None if it can."""
    if act == "capture" and payment.state != "pending":
        return "base", f"A payment that is {payment.state} cannot be captured."
    if act == "void" and (payment.state not in {"pending", "completed"} or payment.refunded):
        return "base", f"A payment that is {payment.state} cannot be voided."
    if act == "refund" and (payment.state != "completed" or not 0 < amount <= payment.captured - payment.refunded):
        return "amount", "must be greater than 0 and at most the captured amount not yet refunded"
    return None


def find_capture_amount(payment: PaymentAmounts, balance: Balance) -> int:
    """Returns what to capture of an authorized card: no more than what is due, also if the order has become cheaper.
    The provider releases the rest.
    """
    return min(payment.amount, max(balance.amount_due, 0))


def missing_payment(payments: Collection[PaymentAmounts], total: int) -> int | None:
    """Returns the amount that needs a new payment before a canceled order can be resumed, or None if money was
    refunded: such an order cannot be resumed, because a refund cannot be collected again.
    """
    if any(payment.refunded for payment in payments):
        return None
    return max(0, total - sum_covered_amount(payments))


def shipment_state(states: Sequence[str], *, has_backordered: bool) -> str | None:
    """Returns the shipment state of a completed order from the states of its shipments."""
    if has_backordered:
        return "backorder"
    distinct = set(states)
    if len(distinct) > 1:
        return "partial" if "shipped" in distinct else "pending" if "pending" in distinct else "ready"
    return next(iter(distinct), None)


def expected_shipment_state(state: str, *, order_state: str, has_backordered: bool, is_paid: bool) -> str:
    """Returns the state a shipment should have, given its order."""
    if state == "canceled" or order_state == "canceled":
        return "canceled"
    if state == "shipped":
        return state
    if order_state not in {"complete", "resumed", "awaiting_return", "returned"} or has_backordered:
        return "pending"
    return "ready" if is_paid else "pending"
