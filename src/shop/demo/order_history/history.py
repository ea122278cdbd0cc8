"""Plans the historical orders of the demo shop with a seeded generator: who bought what and when, and its outcome."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import count
from random import Random
from typing import Literal

import msgspec

from shop.demo import shop
from shop.demo.order_history.people import NAMES, PLACES, Place
from shop.demo.products import combinations

SEED = 1847
ORDERS = 200
DAYS = 14
NEWEST = timedelta(minutes=20)
"""The least age of an order."""
_RECENT = timedelta(days=2)

Fate = Literal[
    "shipped", "ready", "unpaid", "partly shipped", "backordered", "refunded", "partly refunded", "canceled", "void"
]
"""What became of an order; `void` was canceled before it was paid."""

# The share of orders by hour of the day (UTC), and by day of the week from Monday.
_HOURS = (1, 1, 1, 1, 1, 2, 3, 5, 7, 8, 9, 9, 10, 9, 8, 8, 9, 10, 12, 14, 13, 9, 5, 2)
_WEEKDAYS = (10, 9, 9, 10, 12, 15, 17)
# The fates of orders in each dozen or so, so that every state occurs; recent orders are still on their way.
_OLD: tuple[Fate, ...] = (
    *("shipped",) * 14,
    *("partly refunded", "partly refunded", "refunded", "partly shipped", "canceled", "void"),
)
_NEW: tuple[Fate, ...] = (*("ready",) * 4, "unpaid", "unpaid", "shipped", "partly shipped", "backordered", "canceled")
_BY_CHECK: frozenset[Fate] = frozenset({"unpaid", "void"})
"""Fates of orders that were not paid at once."""
_POPULARITY = {"bestseller": 5, "gift": 2, "new": 2}


class PlannedOrder(msgspec.Struct, frozen=True, kw_only=True):
    """A historical order before it is priced."""

    at: datetime
    first_name: str
    last_name: str
    email: str
    is_customer: bool
    """Whether the e-mail address is that of a customer's account."""
    place: Place
    currency: str
    lines: Sequence[tuple[str, int]]
    """SKUs with their quantities."""
    code: str | None
    is_express: bool
    pays_by_check: bool
    fate: Fate


class StockedItem(msgspec.Struct, frozen=True):
    """A variant that an order can contain, with its weight in the draw."""

    sku: str
    category: str
    weight: int
    is_backordered: bool


def plan_orders(until: datetime, seed: int = SEED) -> list[PlannedOrder]:
    """Returns the orders of the two weeks before a time, oldest first; always the same for one time and seed."""
    random = Random(seed)  # noqa: S311  Not for secrets.
    items = list(_list_items())
    times = _draw_times(random, until)
    old_fates, new_fates = _shuffle_fates(random, _OLD), _shuffle_fates(random, _NEW)
    orders = []
    for at in times:
        fate = next(new_fates if until - at < _RECENT else old_fates)
        orders.append(_plan_order(random, items, at, fate))
    return orders


def _draw_times(random: Random, until: datetime) -> list[datetime]:
    """Draws times by the rhythm of days and weeks."""
    newest = until - NEWEST
    hours = [newest - timedelta(hours=number) for number in range(1, DAYS * 24 + 1)]
    weights = [_HOURS[hour.hour] * _WEEKDAYS[hour.weekday()] for hour in hours]
    return sorted(hour + timedelta(seconds=random.randrange(3600)) for hour in random.choices(hours, weights, k=ORDERS))


def _shuffle_fates(random: Random, fates: Sequence[Fate]) -> Iterator[Fate]:
    """Yields the fates in random order, then again in another order, without end."""
    for _ in count():
        yield from random.sample(fates, len(fates))


def _list_items() -> Iterator[StockedItem]:
    for category, product, sku in shop.products_with_skus():
        weight = 1 + max((_POPULARITY.get(tag, 0) for tag in product.tags), default=0)
        for values in combinations(product) or [()]:
            yield StockedItem(shop.variant_sku(sku, values), category, weight, product.stock == "to order")


def _plan_order(random: Random, items: Sequence[StockedItem], at: datetime, fate: Fate) -> PlannedOrder:
    person = random.choices([*shop.SHOPPERS, None], [4, 3, 3, 40])[0]
    place = random.choices(PLACES, [each.weight for each in PLACES])[0]
    first_name, last_name = random.choice(NAMES[0]), random.choice(NAMES[1])
    email = f"{first_name}.{last_name}{random.randrange(1, 100)}@example.{random.choice(('com', 'net', 'org'))}".lower()
    if person:
        first_name, last_name, email = person.first_name, person.last_name, person.email
        place = PLACES[shop.SHOPPERS.index(person)]
    return PlannedOrder(
        at=at,
        first_name=first_name,
        last_name=last_name,
        email=email,
        is_customer=person is not None,
        place=place,
        currency=place.currency,
        lines=_draw_lines(random, items, fate, is_gardener=person is shop.CONTRACT),
        code=shop.COUPON if random.random() < 0.2 else None,
        is_express=random.random() < 0.2,
        pays_by_check=fate in _BY_CHECK or random.random() < 0.12,
        fate=fate,
    )


def _draw_lines(
    random: Random, items: Sequence[StockedItem], fate: Fate, *, is_gardener: bool
) -> tuple[tuple[str, int], ...]:
    """Draws different variants; an order in two shipments has at least two."""
    size = max(random.choices((1, 2, 3, 4), (42, 31, 18, 9))[0], 2 if fate == "partly shipped" else 1)
    choices = [item for item in items if item.is_backordered == (fate == "backordered")]
    if is_gardener and fate != "backordered":
        choices = [item for item in choices if item.category in shop.CONTRACT_CATEGORIES]
    lines: dict[str, int] = {}
    while len(lines) < min(size, len(choices)):
        item = random.choices(choices, [each.weight for each in choices])[0]
        max_quantity = 15 if is_gardener else 3 if item.category in {"Seeds", "Candles", "Teas and Preserves"} else 1
        lines[item.sku] = random.randint(1, max_quantity) if random.random() < 0.4 else 1
    return tuple(lines.items())
