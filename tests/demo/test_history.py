"""The plan of the demo shop's historical orders."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest

from shop.demo.order_history.history import DAYS, NEWEST, ORDERS, Fate, plan_orders
from shop.demo.shop import SHOPPERS

UNTIL = datetime(2026, 11, 17, 15, 30, tzinfo=UTC)


def test_the_plan_is_the_same_for_one_time_and_one_seed() -> None:
    assert plan_orders(UNTIL) == plan_orders(UNTIL)
    assert plan_orders(UNTIL) != plan_orders(UNTIL, seed=2)


@pytest.mark.parametrize("hours", range(0, 7 * 24, 17))
def test_at_any_time_of_a_week_every_outcome_occurs_and_all_orders_are_of_the_last_two_weeks(hours: int) -> None:
    until = UNTIL + timedelta(hours=hours)

    orders = plan_orders(until)

    assert {order.fate for order in orders} == set(get_args(Fate))
    assert len(orders) == ORDERS
    times = [order.at for order in orders]
    assert times == sorted(times)
    assert until - timedelta(days=DAYS) - NEWEST <= times[0]
    assert times[-1] <= until - NEWEST
    assert len({time.date() for time in times}) >= DAYS


def test_more_is_ordered_in_the_evening_than_at_night() -> None:
    hours = Counter(order.at.hour // 6 for order in plan_orders(UNTIL))

    assert hours[3] > 4 * hours[0]


def test_guests_and_customers_order_in_four_currencies_with_and_without_a_code() -> None:
    orders = plan_orders(UNTIL)

    assert {order.email for order in orders if order.is_customer} == {person.email for person in SHOPPERS}
    assert sum(order.is_customer for order in orders) < ORDERS / 2
    assert {order.currency for order in orders} == {"USD", "EUR", "GBP", "JPY"}
    assert 10 < sum(order.code is not None for order in orders) < ORDERS / 2
    assert {order.pays_by_check for order in orders} == {True, False}


def test_only_addresses_of_reserved_domains_are_used() -> None:
    domains = {order.email.rpartition("@")[2] for order in plan_orders(UNTIL)}

    assert domains <= {"example.com", "example.net", "example.org"}
