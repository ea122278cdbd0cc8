"""Loads the timeline of an order or a customer as sentences with their actors."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from shop.actions.context import Context
from shop.base.money import money_text
from shop.models.access.users import User
from shop.models.cart.orders import Order
from shop.models.cart.timeline import TimelineRow
from shop.models.checkout.payments import Payment, PaymentAttempt, Refund
from shop.models.checkout.shipments import Shipment
from shop.queries import logs, timeline
from shop.rules.timeline import describe
from shop.rules.timeline_history import derive_customer_entries, derive_order_entries, merge_entries

MAX_ENTRIES = 100


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
