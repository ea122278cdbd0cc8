"""The types of events that follow from the rows before and after a change."""

from typing import Any

import msgspec
import pytest

from shop.rules.events import changed_fields, list_event_types


def row(**values: Any) -> Any:
    """A row with these columns."""
    struct = msgspec.defstruct("Row", [(name, Any) for name in values], frozen=True)
    return struct(**values)


def operator_row(**values: Any) -> Any:
    return row(**{"disabled_at": None, "role_id": 1, **values})


def order(**values: Any) -> Any:
    columns = ("completed_at", "approved_at", "canceled_at", "payment_state", "shipment_state", "email")
    return row(**{**dict.fromkeys(columns), **values})


def shipment(**values: Any) -> Any:
    return row(**{"state": "pending", "tracking": None, "cost": 5, "delivered_at": None, **values})


def user(**values: Any) -> Any:
    return row(**{"first_name": None, "verified_at": None, "disabled_at": None, **values})


NEW, OLD = row(name="Books", updated_at=1), row(name="Paper", updated_at=0)
DONE = order(completed_at=1)
SHIPMENT = shipment()
VERIFIED = user(verified_at=1)


@pytest.mark.parametrize(
    ("subject_type", "before", "after", "types"),
    [
        ("tax_category", None, NEW, ["tax_category.created"]),
        ("tax_category", OLD, NEW, ["tax_category.updated"]),
        ("tax_category", OLD, None, ["tax_category.deleted"]),
        ("tax_category", None, None, []),
        ("tax_category", OLD, row(name="Paper", updated_at=9), []),
        ("taxon", OLD, NEW, ["category.updated"]),
        ("taxon", row(name="a", lft=1, rgt=2), row(name="a", lft=3, rgt=4), []),
        ("shop", OLD, NEW, ["settings.updated"]),
        ("order", None, order(), []),
        ("order", order(), order(email="a@b.example"), []),
        ("order", order(), None, []),
        ("order", order(), DONE, ["order.completed"]),
        ("order", order(), order(completed_at=1, payment_state="paid"), ["order.completed", "order.paid"]),
        ("order", DONE, DONE, []),
        ("order", DONE, order(completed_at=1, email="a@b.example"), ["order.updated"]),
        ("order", DONE, order(completed_at=1, approved_at=2), ["order.approved"]),
        ("order", DONE, order(completed_at=1, canceled_at=2), ["order.canceled"]),
        ("order", order(completed_at=1, canceled_at=2), DONE, ["order.resumed"]),
        ("order", DONE, order(completed_at=1, shipment_state="shipped"), ["order.shipped"]),
        ("order", DONE, order(completed_at=1, shipment_state="partial"), ["order.updated"]),
        ("payment", row(state="checkout"), row(state="pending"), ["payment.authorized"]),
        ("payment", row(state="pending"), row(state="completed"), ["payment.captured"]),
        ("payment", row(state="pending"), row(state="failed"), ["payment.failed"]),
        ("payment", row(state="pending"), row(state="void"), ["payment.voided"]),
        ("payment", row(state="pending"), row(state="checkout"), []),
        ("payment", row(state="completed"), row(state="completed"), []),
        ("payment", None, row(state="pending"), ["payment.authorized"]),
        ("payment", row(state="void"), None, ["payment.deleted"]),
        ("refund", None, row(state="pending"), []),
        ("refund", None, row(state="completed"), ["refund.created"]),
        ("refund", row(state="pending"), row(state="completed"), ["refund.created"]),
        ("refund", row(state="completed"), row(state="completed"), []),
        ("shipment", None, SHIPMENT, ["shipment.created"]),
        ("shipment", SHIPMENT, None, ["shipment.deleted"]),
        ("shipment", SHIPMENT, SHIPMENT, []),
        ("shipment", SHIPMENT, shipment(state="ready"), ["shipment.ready"]),
        ("shipment", SHIPMENT, shipment(state="canceled"), ["shipment.canceled"]),
        (
            "shipment",
            SHIPMENT,
            shipment(state="shipped", tracking="1Z"),
            ["shipment.shipped", "shipment.tracking_changed"],
        ),
        ("shipment", shipment(state="ready"), SHIPMENT, ["shipment.updated"]),
        ("shipment", SHIPMENT, shipment(cost=6), ["shipment.updated"]),
        ("shipment", shipment(state="shipped"), shipment(state="shipped", delivered_at=1), ["shipment.delivered"]),
        ("user", None, user(), []),
        ("user", user(), user(first_name="Ada"), []),
        ("user", user(), None, []),
        ("user", None, VERIFIED, ["customer.created"]),
        ("user", user(), VERIFIED, ["customer.created", "customer.verified"]),
        ("user", VERIFIED, VERIFIED, []),
        ("user", VERIFIED, user(verified_at=1, first_name="Ada"), ["customer.updated"]),
        ("user", VERIFIED, user(verified_at=1, disabled_at=2), ["customer.disabled"]),
        ("user", user(verified_at=1, disabled_at=2), VERIFIED, ["customer.enabled"]),
        ("user", VERIFIED, None, ["customer.deleted"]),
        ("operator", None, row(disabled_at=None, password_hash=None), ["operator.created"]),
        ("operator", operator_row(password_hash="a"), operator_row(password_hash="b"), []),
        ("operator", operator_row(), operator_row(disabled_at=1), ["operator.disabled"]),
        ("operator", operator_row(disabled_at=1), operator_row(), ["operator.enabled"]),
        ("operator", operator_row(), operator_row(role_id=2), ["operator.updated"]),
        ("application", None, row(revoked_at=None), ["application.created"]),
        ("application", row(revoked_at=None), row(revoked_at=1), ["application.revoked"]),
        ("application", row(revoked_at=1), row(revoked_at=1), []),
        ("price", None, row(amount=1), ["price.changed"]),
        ("price", row(amount=1), row(amount=2), ["price.changed"]),
        ("price", row(amount=1), row(amount=1), []),
        ("price", row(amount=1), None, ["price.changed"]),
        ("stock_item", None, row(count_on_hand=0), ["stock.changed"]),
        ("stock_item", None, row(count_on_hand=3), ["stock.changed", "stock.back"]),
        ("stock_item", row(count_on_hand=3), row(count_on_hand=2), ["stock.changed"]),
        ("stock_item", row(count_on_hand=3), row(count_on_hand=3), []),
        ("stock_item", row(count_on_hand=3), row(count_on_hand=0), ["stock.changed", "stock.sold_out"]),
        ("stock_item", row(count_on_hand=0), row(count_on_hand=-1), ["stock.changed"]),
        ("stock_item", row(count_on_hand=-1), row(count_on_hand=1), ["stock.changed", "stock.back"]),
        ("stock_item", row(count_on_hand=1), None, ["stock.changed", "stock.sold_out"]),
    ],
)
def test_the_types_follow_from_the_rows(subject_type: str, before: Any, after: Any, types: list[str]) -> None:
    assert list_event_types(subject_type, before, after) == types


@pytest.mark.parametrize(
    ("subject_type", "before", "after", "types"),
    [
        ("product", OLD, OLD, ["product.updated"]),
        ("product", None, NEW, ["product.created"]),
        ("product", OLD, None, ["product.deleted"]),
        ("order", order(), order(), []),
    ],
)
def test_changes_beside_the_row_are_an_update_of_a_record_that_remains(
    subject_type: str, before: Any, after: Any, types: list[str]
) -> None:
    assert list_event_types(subject_type, before, after, has_other_changes=True) == types


def test_a_row_of_which_only_a_part_was_known_is_compared_in_that_part() -> None:
    after = row(count_on_hand=2, backorderable=True, updated_at=5)

    assert changed_fields(row(count_on_hand=3), after) == ["count_on_hand"]
    assert changed_fields(row(count_on_hand=2, updated_at=4), after) == []
