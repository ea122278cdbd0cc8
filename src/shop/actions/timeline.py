"""Loads the timeline of an order or a customer as sentences with their actors."""

from collections.abc import Sequence
from datetime import datetime, tzinfo
from uuid import UUID

import msgspec

from shop.actions.context import Context
from shop.base.money import money_text
from shop.base.times import format_time
from shop.models.access.users import User
from shop.models.cart.orders import Order
from shop.models.cart.timeline import TimelineRow
from shop.models.checkout.payments import Payment, PaymentAttempt, Refund
from shop.models.checkout.shipments import Shipment
from shop.queries import logs, timeline
from shop.queries.payments import payments as payment_queries
from shop.rules.timeline import describe
from shop.rules.timeline_history import derive_customer_entries, derive_order_entries, merge_entries

MAX_ENTRIES = 100
_REFUND_CAUSES = frozenset({"refund.created", "payment.voided", "order.updated"})


class TimelineItem(msgspec.Struct, frozen=True):
    """A sentence of a timeline. `actor_name` is None if the sentence is complete without an actor."""

    at: datetime
    text: str
    actor_kind: str
    actor_id: UUID | None = None
    actor_name: str | None = None


async def list_order_timeline(
    ctx: Context,
    order: Order,
    shipments: Sequence[Shipment],
    payments: Sequence[tuple[Payment, Sequence[PaymentAttempt], Sequence[Refund]]],
) -> list[TimelineItem]:
    """Returns the timeline of an order, newest first."""
    rows = await timeline.list_of_order(ctx.db, order.id, most=MAX_ENTRIES)
    return await _describe_entries(ctx, merge_entries(rows, derive_order_entries(order, shipments, payments)))


async def list_customer_timeline(ctx: Context, customer: User, orders: Sequence[Order]) -> list[TimelineItem]:
    """Returns the timeline of a customer, newest first; `orders` are the newest ones."""
    rows = await timeline.list_of_customer(ctx.db, customer.id, most=MAX_ENTRIES)
    return await _describe_entries(ctx, merge_entries(rows, derive_customer_entries(customer, orders)))


async def describe_cause(ctx: Context, order_id: UUID, *types: str, number: str | None = None) -> str:
    """Returns who caused the newest event of these types, of the order or of its part with this number, and when; empty
    if it is not known. Only operators learn it.
    """
    entries = await timeline.list_of_order(ctx.db, order_id, most=MAX_ENTRIES)
    return await _describe_newest(
        ctx, [each for each in entries if each.type in types and number in {None, each.facts.get("number")}]
    )


async def describe_refund_cause(ctx: Context, order: Order) -> str:
    """Returns who last changed what can be refunded, and when; also a refund that the provider has not confirmed."""
    entries = await timeline.list_of_order(ctx.db, order.id, most=MAX_ENTRIES)
    open_refunds = [
        TimelineRow(
            id=attempt.id,
            at=attempt.created_at,
            type="refund.created",
            actor_kind=attempt.actor_kind,
            actor_id=attempt.actor_id,
            facts={"amount": attempt.amount, "currency": order.currency},
        )
        for attempt in await payment_queries.list_attempts(ctx.db, order.id)
        if attempt.act == "refund" and attempt.outcome == "unknown"
    ]
    return await _describe_newest(ctx, [*open_refunds, *(each for each in entries if each.type in _REFUND_CAUSES)])


async def _describe_newest(ctx: Context, entries: Sequence[TimelineRow]) -> str:
    newest = sorted(entries, key=lambda entry: entry.at)[-1:] if ctx.actor.kind == "operator" else []
    return " ".join(_say_with_time(item, ctx.shared.shop.zone) for item in await _describe_entries(ctx, newest))


def _say_with_time(item: TimelineItem, zone: tzinfo) -> str:
    return f"{item.actor_name or ''} {item.text} ({format_time(item.at, zone)}).".strip()


async def _describe_entries(ctx: Context, entries: Sequence[TimelineRow]) -> list[TimelineItem]:
    locale = ctx.shared.shop.default_locale
    names = await logs.name_actors(ctx.db, list({entry.actor_id for entry in entries if entry.actor_id}))

    def money(amount: int, currency: str) -> str:
        return money_text(currency, locale)(amount)

    items = []
    for entry in entries:
        sentence = describe(entry.type, entry.facts, entry.actor_kind, money)
        name = _name_actor(entry, names) if sentence.has_actor else None
        items.append(TimelineItem(entry.at, sentence.text, entry.actor_kind, entry.actor_id, name))
    return items


def _name_actor(entry: TimelineRow, names: dict[UUID, str]) -> str:
    name = names.get(entry.actor_id) if entry.actor_id else None
    return name or _UNKNOWN.get(entry.actor_kind, "Someone")


_UNKNOWN = {
    "operator": "An operator",
    "application": "An application",
    "user": "The customer",
    "guest": "A guest",
    "command line": "The command line",
}
