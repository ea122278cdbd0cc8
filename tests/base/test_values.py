"""One rule for each type of input, wherever a value comes from: JSON, a form, a query."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shop.base.values import (
    MAX_LINE_LENGTH,
    MAX_TEXT_LENGTH,
    NO_RECORD,
    NOT_BOOLEAN,
    NOT_DECIMAL,
    NOT_EMAIL,
    NOT_ID,
    NOT_INTEGER,
    NOT_TIME,
    read_boolean,
    read_decimal,
    read_email_address,
    read_id,
    read_integer,
    read_line,
    read_lookup_id,
    read_text,
    read_time,
)

ID = "0192f0c1-8b6e-7a51-9f3c-2b7d4f6a8e01"
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
ARABIC_ONE = "\u0661"
NOT_TEXT = (None, 5, True, ["text"], {"text": "text"})


def error_of(read: Callable[[Any], object], value: Any) -> str:
    with pytest.raises(ValueError) as error:  # noqa: PT011  The caller compares the whole message.
        read(value)
    return str(error.value)


@pytest.mark.parametrize("value", [True, 1, "1", "true", "True", "TRUE", "t", "T", "yes", "Yes", "on", "ON"])
def test_a_boolean_is_true_in_every_common_spelling(value: Any) -> None:
    assert read_boolean(value) is True


@pytest.mark.parametrize("value", [False, 0, "0", "false", "False", "FALSE", "f", "F", "no", "No", "off", "OFF"])
def test_a_boolean_is_false_in_every_common_spelling(value: Any) -> None:
    assert read_boolean(value) is False


@pytest.mark.parametrize("value", [None, "", " true", "y", "maybe", "null", 2, -1, 1.0, "1.0", ARABIC_ONE, [], [True]])
def test_an_invalid_boolean_is_refused(value: Any) -> None:
    assert error_of(read_boolean, value) == NOT_BOOLEAN


@pytest.mark.parametrize(
    ("value", "number"),
    [(0, 0), (-3, -3), ("5", 5), ("-3", -3), ("007", 7), (2**63 - 1, 2**63 - 1), ("9" * 18, int("9" * 18))],
)
def test_an_integer_is_a_number_or_its_digits(value: Any, number: int) -> None:
    assert read_integer(value) == number


@given(st.integers(-(10**18) + 1, 10**18 - 1))
def test_every_integer_of_eighteen_digits_is_read_from_its_text(number: int) -> None:
    assert read_integer(str(number)) == read_integer(number) == number


@pytest.mark.parametrize(
    "value",
    [None, "", " 1", "1 ", "1\n", "+1", "--1", "1.0", "1e3", "1_0", ARABIC_ONE, "9" * 19, 2**63, 1.0, True, False, [1]],
)
def test_an_invalid_integer_is_refused(value: Any) -> None:
    assert error_of(read_integer, value) == NOT_INTEGER


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("19.99", "19.99"),
        (" 19.99 ", "19.99"),
        ("+1", "1"),
        ("-1.50", "-1.50"),
        (".5", "0.5"),
        ("5.", "5"),
        (5, "5"),
        (0.1, "0.1"),
        ("1" * 28, "1" * 28),
        ("1" * 28 + ".0", "1" * 28),
    ],
)
def test_a_decimal_is_a_number_or_its_text(value: Any, number: str) -> None:
    assert read_decimal(value) == Decimal(number)


@given(st.decimals(-(10**15), 10**15, allow_nan=False, places=4))
def test_every_decimal_is_read_from_its_text_without_rounding(number: Decimal) -> None:
    assert read_decimal(f"{number:f}") == number


@pytest.mark.parametrize(
    "value",
    [None, "", ".", "1,5", "1 000", "1e3", 1e21, "NaN", "Infinity", float("nan"), ARABIC_ONE, "1" * 29, True, ["1"]],
)
def test_an_invalid_decimal_is_refused(value: Any) -> None:
    assert error_of(read_decimal, value) == NOT_DECIMAL


@pytest.mark.parametrize(
    "value",
    ["2026-01-31T12:00:00Z", "2026-01-31T14:00:00+02:00", "2026-01-31T12:00:00", "2026-01-31 12:00", "2026-01-31T12"],
)
def test_a_time_is_iso_8601_and_utc_without_a_zone(value: str) -> None:
    assert read_time(value) == NOON


@pytest.mark.parametrize("value", [None, "", "noon", "2026-02-30T12:00:00Z", "0001-01-01T00:00:00+23:59", 1769860800])
def test_an_invalid_time_is_refused(value: Any) -> None:
    assert error_of(read_time, value) == NOT_TIME


@pytest.mark.parametrize("value", [ID, ID.upper()])
def test_an_id_is_a_uuid_in_any_case(value: str) -> None:
    assert read_id(value) == read_lookup_id(value) == UUID(ID)


@pytest.mark.parametrize("value", [None, "", ID[:-1], ID.replace("-", ""), f"{{{ID}}}", "x" * 36, 5, UUID(ID), [ID]])
def test_an_invalid_id_is_refused_and_a_lookup_of_it_matches_no_record(value: Any) -> None:
    assert error_of(read_id, value) == NOT_ID
    assert read_lookup_id(value) == NO_RECORD


@pytest.mark.parametrize("value", ["", "Mug", " Mug ", "caf\u00e9", "a" * MAX_LINE_LENGTH])
def test_a_line_is_read_unchanged(value: str) -> None:
    assert read_line(value) == read_text(value) == value


@pytest.mark.parametrize("value", ["two\nlines", "two\r\nlines", "a\ttab", "a" * MAX_TEXT_LENGTH])
def test_text_may_have_several_lines(value: str) -> None:
    assert read_text(value) == value
    assert error_of(read_line, value) == f"must be one line of at most {MAX_LINE_LENGTH} characters"


@pytest.mark.parametrize("value", [*NOT_TEXT, "a" * (MAX_TEXT_LENGTH + 1), "a\x00", "a\x1b", "a\u2028b", "a\u202eb"])
def test_invalid_text_is_refused(value: Any) -> None:
    assert error_of(read_text, value) == f"must be text of at most {MAX_TEXT_LENGTH} characters"


def test_a_text_may_have_its_own_limit() -> None:
    assert read_line("abc", 3) == read_text("abc", 3) == "abc"
    assert error_of(lambda value: read_line(value, 3), "abcd") == "must be one line of at most 3 characters"
    assert error_of(lambda value: read_text(value, 3), "abcd") == "must be text of at most 3 characters"


@pytest.mark.parametrize("value", ["Grace@example.org", " Grace@EXAMPLE.org "])
def test_an_email_keeps_its_local_part_as_entered(value: str) -> None:
    assert read_email_address(value) == "Grace@example.org"


@pytest.mark.parametrize("value", [*NOT_TEXT, "", "grace", "grace@", "a@example.org, b@example.org"])
def test_an_invalid_email_is_refused(value: Any) -> None:
    assert error_of(read_email_address, value) == NOT_EMAIL
