"""Retries of webhooks, and what a response means."""

from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shop.rules.webhooks.schedule import ResponseMeaning, is_dead, read_response, read_retry_after, retry_delay

NOW = 1_800_000_000.0
MINUTE, HOUR, DAY = 60, 3600, 86400


def test_the_delays_are_those_of_the_specification() -> None:
    delays = [retry_delay(attempts, 0.5) for attempts in range(11)]

    assert delays == [
        0,
        5,
        5 * MINUTE,
        30 * MINUTE,
        *[hours * HOUR for hours in (2, 5, 10, 14, 20, 24)],
        None,
    ]


@given(attempts=st.integers(0, 9), share=st.floats(0, 1))
def test_a_delay_differs_by_at_most_a_fifth(attempts: int, share: float) -> None:
    middle, delay = retry_delay(attempts, 0.5), retry_delay(attempts, share)

    assert middle is not None
    assert delay == pytest.approx(middle, rel=0.2 + 1e-9)


def test_the_random_share_spans_the_whole_range() -> None:
    assert [retry_delay(1, share) for share in (0, 1)] == pytest.approx([4, 6])


def test_a_pause_of_the_endpoint_extends_a_shorter_delay() -> None:
    assert (retry_delay(1, 0.5, 60), retry_delay(3, 0.5, 60)) == (60, 30 * MINUTE)
    assert retry_delay(10, 0.5, 60) is None


@pytest.mark.parametrize(
    ("status", "retry_after", "meaning"),
    [
        (200, None, ResponseMeaning("success")),
        (204, None, ResponseMeaning("success")),
        (299, "60", ResponseMeaning("success")),
        (100, None, ResponseMeaning("failure")),
        (199, None, ResponseMeaning("failure")),
        (301, None, ResponseMeaning("failure")),
        (304, None, ResponseMeaning("failure")),
        (400, None, ResponseMeaning("failure")),
        (404, None, ResponseMeaning("failure")),
        (500, None, ResponseMeaning("failure")),
        (503, None, ResponseMeaning("failure")),
        (None, None, ResponseMeaning("failure")),
        (None, "60", ResponseMeaning("failure")),
        (410, None, ResponseMeaning("gone")),
        (410, "60", ResponseMeaning("gone")),
        (429, None, ResponseMeaning("failure", 5)),
        (502, None, ResponseMeaning("failure", 5)),
        (504, None, ResponseMeaning("failure", 5)),
        (429, "60", ResponseMeaning("failure", 60)),
        (429, "0", ResponseMeaning("failure", 0)),
        (429, "soon", ResponseMeaning("failure", 5)),
        (503, "60", ResponseMeaning("failure", 60)),
        (302, "60", ResponseMeaning("failure", 60)),
    ],
)
def test_the_meaning_of_a_response(status: int | None, retry_after: str | None, meaning: ResponseMeaning) -> None:
    assert read_response(status, retry_after, NOW) == meaning


def test_each_busy_response_doubles_the_pause_up_to_15_minutes() -> None:
    pauses = [read_response(429, None, NOW, count).pause for count in (0, 1, 2, 7, 8, 9, 10_000)]

    assert pauses == [5, 10, 20, 640, 900, 900, 900]
    assert read_response(429, "3", NOW, 9).pause == 3


@pytest.mark.security("E-06")
@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("120", 120),
        (" 120 ", 120),
        ("999999999", DAY),
        ("-5", None),
        ("1.5", None),
        ("1e3", None),
        ("١٢", None),
        ("9" * 5000, None),
        (formatdate(NOW + 90, usegmt=True), 90),
        (formatdate(NOW - 90, usegmt=True), 0),
        (formatdate(NOW + 9 * DAY, usegmt=True), DAY),
        ("Friday, 15-Jan-27 08:01:30 GMT", 90),
        ("Fri, 15 Jan 2027 08:01:30", None),
        ("Fri, 99 Jan 2027 08:01:30 GMT", None),
        ("Fri, 15 Jan 99999 08:01:30 GMT", None),
        (f"Fri, 15 Jan {'9' * 30} 08:01:30 GMT", None),
        ("tomorrow", None),
    ],
)
def test_the_seconds_of_a_retry_after_header(value: str | None, seconds: float | None) -> None:
    assert read_retry_after(value, NOW) == seconds


@given(st.text(st.sampled_from("0123456789:,+- JanFeGMTuSdryo()\x00é"), max_size=40) | st.text())
def test_no_retry_after_header_raises_an_error(value: str) -> None:
    seconds = read_retry_after(value, NOW)

    assert seconds is None or 0 <= seconds <= DAY


@pytest.mark.parametrize(
    ("failing_since", "result"),
    [(None, False), (NOW, False), (NOW - 5 * DAY + 1, False), (NOW - 5 * DAY, True), (NOW - 9 * DAY, True)],
)
def test_an_endpoint_that_fails_for_five_days_is_dead(failing_since: float | None, result: bool) -> None:
    assert is_dead(failing_since, NOW) is result
