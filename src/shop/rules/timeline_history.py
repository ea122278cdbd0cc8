"""Derives the timeline of orders and customers that are older than the timelines, from what their records say."""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from shop.models.access.users import User
from shop.models.cart.orders import Order
from shop.models.cart.timeline import TimelineRow
from shop.models.checkout.payments import Payment, PaymentAttempt, Refund
from shop.models.checkout.shipments import Shipment

_TYPES_BY_ACT = {
    "authorise": "payment.authorized",
    "purchase": "payment.captured",
    "capture": "payment.captured",
    "void": "payment.voided",
}
_NO_ID = UUID(int=0)


def derive_order_entries(
    order: Order,
    shipments: Sequence[Shipment],
    payments: Sequence[tuple[Payment, Sequence[PaymentAttempt], Sequence[Refund]]],
) -> list[TimelineRow]:
    """Returns the entries that follow from an order and its parts."""
    facts: dict[str, Any] = {"number": order.number, "total": order.total, "currency": order.currency}
    buyer = ("user", order.user_id) if order.user_id else ("guest", None)
    entries = [
        _entry("order.created", order.created_at),
        _entry("order.completed", order.completed_at, facts, *buyer),
        _entry("order.approved", order.approved_at, facts, "operator" if order.approver_id else "", order.approver_id),
        _entry("order.canceled", order.canceled_at, facts, "operator" if order.canceler_id else "", order.canceler_id),
    ]
    for shipment in shipments:
        shipment_facts = {"number": shipment.number, "tracking": shipment.tracking}
        entries.append(_entry("shipment.shipped", shipment.shipped_at, shipment_facts))
    for payment, attempts, refunds in payments:
        entries += _derive_payment(order, payment, attempts, refunds)
    return [entry for entry in entries if entry]


def derive_customer_entries(customer: User, orders: Sequence[Order]) -> list[TimelineRow]:
    """Returns the entries that follow from a customer and their orders."""
    entries = [_entry("customer.created", customer.created_at), _entry("customer.verified", customer.verified_at)]
    for order in orders:
        facts = {"number": order.number, "total": order.total, "currency": order.currency}
        entries.append(_entry("order.completed", order.completed_at, facts, "user", customer.id))
    return [entry for entry in entries if entry]


def merge_entries(rows: Sequence[TimelineRow], history: Sequence[TimelineRow]) -> list[TimelineRow]:
    """Adds to the rows of a timeline the older history that is not among them; newest first."""
    keys = {_key(entry) for entry in rows}
    first_at = min((entry.at for entry in rows), default=None)
    older = [entry for entry in history if _key(entry) not in keys and (first_at is None or entry.at < first_at)]
    # Reversed, because entries of the same time are in the order in which they happened.
    return [*rows, *sorted(older, key=lambda entry: entry.at)[::-1]]


def _derive_payment(
    order: Order, payment: Payment, attempts: Sequence[PaymentAttempt], refunds: Sequence[Refund]
) -> Iterator[TimelineRow | None]:
    source_type = "credit_card" if payment.source_id else None
    facts = {"number": payment.number, "currency": order.currency, "source_type": source_type}
    for attempt in attempts:
        type_ = _TYPES_BY_ACT.get(attempt.act) if attempt.outcome == "approved" else None
        if attempt.outcome == "declined" and attempt.act in {"authorise", "purchase"}:
            type_ = "payment.failed"
        if type_:
            more = {**facts, "amount": attempt.amount}
            yield _entry(type_, attempt.created_at, more, attempt.actor_kind, attempt.actor_id)
    is_charged = any(each.outcome == "approved" and each.act in {"purchase", "capture"} for each in attempts)
    if payment.captured_amount and not is_charged:
        yield _entry("payment.captured", payment.created_at, {**facts, "amount": payment.captured_amount})
    for refund in refunds:
        if refund.state == "completed":
            yield _entry("refund.created", refund.created_at, {"amount": refund.amount, "currency": order.currency})


def _entry(
    type_: str, at: Any, facts: dict[str, Any] | None = None, actor_kind: str = "", actor_id: UUID | None = None
) -> TimelineRow | None:
    if at is None:
        return None
    # Which of the two columns names the owner does not matter: the entry is not stored.
    return TimelineRow(id=_NO_ID, at=at, type=type_, actor_kind=actor_kind, actor_id=actor_id, facts=facts or {})


def _key(entry: TimelineRow) -> tuple[str, object]:
    return entry.type, entry.facts.get("number") or entry.facts.get("amount")
