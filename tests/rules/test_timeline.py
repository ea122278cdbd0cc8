"""The sentences of timelines, and the history of orders that are older than the timelines."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from shop.models.cart.orders import Order
from shop.models.cart.timeline import TimelineRow
from shop.rules.event_types import NAMED_TYPES
from shop.rules.timeline import collect_facts, describe
from shop.rules.timeline_history import derive_order_entries, merge_entries

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ORDER = Order(
    id=UUID(int=1),
    number="R1",
    currency="USD",
    total=2000,
    created_at=NOW,
    updated_at=NOW,
    completed_at=NOW + timedelta(hours=1),
    canceled_at=NOW + timedelta(hours=2),
)
CARD = {"number": "P1", "amount": 2000, "currency": "USD", "source_type": "credit_card"}


def money(amount: int, currency: str) -> str:
    return f"{amount / 100:.2f} {currency}"


@pytest.mark.parametrize(
    ("type_", "actor", "facts", "sentence"),
    [
        ("shipment.shipped", "operator", {"number": "H1", "tracking": "1Z"}, "+ shipped H1 with tracking 1Z"),
        ("shipment.shipped", "shop", {"number": "H1"}, "Shipment H1 was shipped"),
        ("payment.failed", "guest", CARD, "Card of 20.00 USD was declined"),
        ("payment.captured", "guest", CARD, "Card of 20.00 USD was captured"),
        ("payment.captured", "operator", CARD, "+ captured a card payment of 20.00 USD"),
        ("refund.created", "operator", {"amount": 500, "currency": "USD"}, "+ refunded 5.00 USD"),
        (
            "order.completed",
            "user",
            {"number": "R1", "total": 2000, "currency": "USD"},
            "+ placed order R1 for 20.00 USD",
        ),
        (
            "order.updated",
            "application",
            {"changed": ["email", "special_instructions", "updated_hour"]},
            "+ changed the e-mail address and instructions",
        ),
        ("customer.updated", "shop", {"changed": ["email_key"]}, "The details changed"),
        (
            "store_credit.updated",
            "user",
            {"amount": 900, "amount_used": 300, "amount_used_before": 100, "currency": "USD"},
            "+ used 2.00 USD of store credit",
        ),
        ("order.exploded", "operator", {}, "Order exploded"),
    ],
)
def test_an_entry_is_a_sentence(type_: str, actor: str, facts: dict[str, Any], sentence: str) -> None:
    described = describe(type_, facts, actor, money)

    assert f"{'+ ' if described.has_actor else ''}{described.text}" == sentence


@pytest.mark.parametrize("type_", [each.type for each in NAMED_TYPES])
def test_every_event_has_a_sentence_without_facts(type_: str) -> None:
    assert describe(type_, {}, "operator", money).text
    assert describe(type_, {}, "", money).text


@pytest.mark.parametrize(
    ("subject_type", "type_", "before", "types", "is_shown"),
    [
        ("order", "order.completed", {}, ["order.completed"], True),
        ("order", "order.paid", {}, ["order.paid"], False),
        ("order", "order.updated", {"payment_state": "balance_due"}, [], False),
        ("order", "order.updated", {"payment_state": "balance_due", "email": None}, [], True),
        ("shipment", "shipment.created", {}, ["order.completed", "shipment.created"], False),
        ("shipment", "shipment.created", {}, ["shipment.created"], True),
        ("product", "product.updated", {"name": "x"}, [], False),
    ],
)
def test_timelines_show_each_thing_once(
    subject_type: str, type_: str, before: dict[str, Any], types: list[str], is_shown: bool
) -> None:
    assert (collect_facts(subject_type, type_, {}, before, types) is not None) == is_shown


def test_an_old_order_has_the_history_that_its_record_tells() -> None:
    entries = merge_entries([], derive_order_entries(ORDER, [], []))

    assert [entry.type for entry in entries] == ["order.canceled", "order.completed", "order.created"]


def test_a_stored_entry_replaces_a_derived_one() -> None:
    stored = TimelineRow(
        id=UUID(int=2),
        at=NOW + timedelta(hours=2, seconds=1),
        type="order.canceled",
        actor_kind="operator",
        facts={"number": "R1"},
    )

    entries = merge_entries([stored], derive_order_entries(ORDER, [], []))

    assert [entry.type for entry in entries] == ["order.canceled", "order.completed", "order.created"]
    assert entries[0] is stored
