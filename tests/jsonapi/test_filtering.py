"""Reads filters and cursors from query parameters: a valid one is a condition, every other one is malformed."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shop.base.errors import Malformed
from shop.base.input_types import split_kind
from shop.base.listing import Condition, Keyset
from shop.jsonapi.filtering import (
    MAX_CONDITIONS,
    MAX_VALUES,
    PREDICATES,
    TEXT_PREDICATES,
    UNARY,
    Filterable,
    read_conditions,
)
from shop.jsonapi.paging import cursor, read_keyset
from shop.jsonapi.resource import Money

KINDS: dict[str, Any] = {
    "id": UUID,
    "email": str | None,
    "number": str,
    "not_or": str,
    "item_count": int,
    "total": Money,
    "is_default": bool,
    "created_at": datetime | None,
}
FILTERABLE = {name: Filterable((name,), kind) for name, kind in KINDS.items()}
FILTERABLE["user_email"] = Filterable(("user", "email"), str)


def read(**filters: Any) -> tuple[Condition, ...]:
    return read_conditions({"filter": filters}, FILTERABLE)[0]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("email_eq", "a@b.example", Condition((("email",),), "eq", "a@b.example")),
        ("user_email_cont", "b.ex", Condition((("user", "email"),), "cont", "b.ex")),
        ("email_or_number_start", "R1", Condition((("email",), ("number",)), "start", "R1")),
        ("not_or_not_eq", "x", Condition((("not_or",),), "not_eq", "x")),
        ("item_count_in", "1,2", Condition((("item_count",),), "in", [1, 2])),
        ("item_count_not_in", ["3"], Condition((("item_count",),), "not_in", [3])),
        ("total_gteq", "12.50", Condition((("total",),), "gteq", Decimal("12.50"))),
        ("is_default_eq", "0", Condition((("is_default",),), "eq", False)),
        ("is_default_true", "0", Condition((("is_default",),), "false", None)),
        ("email_null", "true", Condition((("email",),), "null", None)),
        ("created_at_lt", "2026-01-31", Condition((("created_at",),), "lt", datetime(2026, 1, 31, tzinfo=UTC))),
    ],
)
def test_a_filter_is_read_as_field_predicate_and_value(name: str, value: Any, expected: Condition) -> None:
    assert read(**{name: value}) == (expected,)


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("nothing_eq", "1", "unknown_filter"),
        ("email", "1", "unknown_filter"),
        ("email_like", "1", "unknown_filter"),
        ("email_or_nothing_eq", "1", "unknown_filter"),
        # The database would raise an error for each of these.
        ("item_count_cont", "1", "unknown_filter"),
        ("email_or_item_count_cont", "1", "unknown_filter"),
        ("email_or_created_at_eq", "abc", "unknown_filter"),
        ("email_true", "1", "unknown_filter"),
        ("total_false", "1", "unknown_filter"),
        ("created_at_gt", "0001-01-01T00:00:00+14:00", "bad_filter"),
        ("created_at_gt", "9999-12-31T23:59:59-14:00", "bad_filter"),
        ("created_at_gt", "yesterday", "bad_filter"),
        ("item_count_eq", str(2**63), "bad_filter"),
        ("item_count_in", "1,two", "bad_filter"),
        ("total_eq", "NaN", "bad_filter"),
        ("total_eq", "1e400", "bad_filter"),
        ("is_default_eq", "perhaps", "bad_filter"),
        ("is_default_true", "perhaps", "bad_filter"),
        ("id_eq", "7", "bad_filter"),
        ("id_in", ",".join(["7"] * (MAX_VALUES + 1)), "bad_filter"),
        ("email_eq", {"a": "b"}, "bad_filter"),
        ("email_in", {"a": "b"}, "bad_filter"),
        ("email_null", ["1"], "bad_filter"),
        ("m", "xor", "bad_filter"),
        ("m", "OR", "bad_filter"),
        ("m", ["or"], "bad_filter"),
        ("m", {"or": "or"}, "bad_filter"),
    ],
)
def test_an_invalid_filter_is_malformed(name: str, value: Any, code: str) -> None:
    with pytest.raises(Malformed) as error:
        read(**{name: value})

    assert error.value.code == code


def test_an_unknown_filter_is_refused_with_the_known_fields_and_predicates() -> None:
    with pytest.raises(Malformed, match=r"email.*user_email.*not_eq"):
        read(emial_eq="x")


def test_too_many_filters_are_refused() -> None:
    with pytest.raises(Malformed):
        read(**{f"email_{number}_eq": "x" for number in range(MAX_CONDITIONS + 1)})


names = st.one_of(
    st.text(max_size=40),
    st.tuples(st.lists(st.sampled_from(sorted(FILTERABLE)), min_size=1, max_size=3), st.sampled_from(PREDICATES)).map(
        lambda parts: "_or_".join(parts[0]) + f"_{parts[1]}"
    ),
)
texts = st.one_of(
    st.text(max_size=30),
    st.integers().map(str),
    st.decimals().map(str),
    st.datetimes().map(str),
    st.uuids().map(str),
    st.sampled_from(["true", "0", "", "-0", "1e9999", "9999-12-31T23:59:59-23:59"]),
)
values = st.recursive(
    texts, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)


@given(st.dictionaries(names, values, max_size=4) | values)
def test_any_filter_is_read_or_malformed(filters: Any) -> None:
    try:
        conditions, _ = read_conditions({"filter": filters}, FILTERABLE)
    except Malformed:
        return

    for condition in conditions:
        kinds = {split_kind(FILTERABLE["_".join(path)].kind)[0] for path in condition.paths}
        assert condition.predicate in UNARY or len(kinds) == 1
        assert condition.predicate not in TEXT_PREDICATES or kinds == {str}


@given(st.sampled_from(sorted(KINDS)), st.text(max_size=80))
def test_an_invalid_cursor_is_malformed(name: str, text: str) -> None:
    with pytest.raises(Malformed):
        read_keyset({"page": {"after": f"x{text}"}}, KINDS[name])


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (UUID, uuid4()),
        (str | None, None),
        (str, "ä'\\"),
        (int, -7),
        (Money, 1250),
        (bool, True),
        (datetime, datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC)),
    ],
)
def test_a_cursor_is_read_back_as_its_position(kind: Any, value: Any) -> None:
    record_id = uuid4()

    assert read_keyset({"page": {"after": cursor(value, record_id)}}, kind) == Keyset(25, (value, record_id))


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_cursor_at_a_time_outside_utc_is_malformed(moment: str) -> None:
    with pytest.raises(Malformed):
        read_keyset({"page": {"after": cursor(moment, uuid4())}}, datetime)
