"""Which events an endpoint receives."""

import pytest

from shop.rules.webhooks.subscriptions import fields_error, is_subscribed, pattern_error, patterns_error

TYPES = {"order.completed", "order.updated", "shipment.shipped", "shipment.tracking_changed", "order_note.created"}


@pytest.mark.parametrize(
    ("patterns", "event_type", "result"),
    [
        (["order.completed"], "order.completed", True),
        (["order.completed"], "order.updated", False),
        (["order.completed"], "order.completed_again", False),
        (["order.*"], "order.completed", True),
        (["order.*"], "order_note.created", False),
        (["order.*"], "shipment.shipped", False),
        (["*"], "shipment.shipped", True),
        (["order.*", "shipment.shipped"], "shipment.shipped", True),
        ([], "order.completed", False),
    ],
)
def test_patterns_match_types(patterns: list[str], event_type: str, result: bool) -> None:
    assert is_subscribed(patterns, [], event_type, None) is result


@pytest.mark.parametrize(
    ("fields", "changes", "result"),
    [
        ([], None, True),
        ([], {"state": ["a", "b"]}, True),
        (["state"], {"state": ["a", "b"]}, True),
        (["tracking", "state"], {"cost": [1, 2], "state": ["a", "b"]}, True),
        (["tracking", "state"], {"cost": [1, 2]}, False),
        (["state"], {}, False),
        (["state"], None, False),
    ],
)
def test_a_filter_accepts_only_updates_of_its_attributes(
    fields: list[str], changes: dict[str, object] | None, result: bool
) -> None:
    assert is_subscribed(["order.*"], fields, "order.updated", changes) is result
    assert not is_subscribed(["shipment.*"], fields, "order.updated", changes)


@pytest.mark.parametrize("pattern", ["*", "order.*", "order.completed", "shipment.tracking_changed", "order_note.*"])
def test_a_pattern_of_known_types_is_valid(pattern: str) -> None:
    assert pattern_error(pattern, TYPES) is None


@pytest.mark.parametrize(
    ("pattern", "error"),
    [
        ("", "must be"),
        ("order", "must be"),
        ("order.", "must be"),
        (".*", "must be"),
        ("order.**", "must be"),
        ("*.completed", "must be"),
        ("order.comp*", "must be"),
        ("order.completed.*", "must be"),
        ("Order.completed", "must be"),
        ("order.completed\n", "must be"),
        ("**", "must be"),
        ("order.lost", "matches no"),
        ("planet.*", "matches no"),
    ],
)
def test_another_pattern_is_refused(pattern: str, error: str) -> None:
    assert (pattern_error(pattern, TYPES) or "").startswith(error)


def test_an_endpoint_has_1_to_100_patterns() -> None:
    assert patterns_error(["order.*", "*"], TYPES) is None
    assert patterns_error([], TYPES) == "must contain at least one event type"
    assert patterns_error(["*"] * 101, TYPES) == "must contain at most 100 event types"
    assert patterns_error(["*", "order.lost"], TYPES) == "'order.lost' matches no event type"


def test_a_filter_has_at_most_100_attribute_names() -> None:
    assert fields_error([]) is None
    assert fields_error(["state", "address_2"]) is None
    assert fields_error(["State"]) == "'State' is not the name of an attribute"
    assert fields_error(["state"] * 101) == "must contain at most 100 attributes"
