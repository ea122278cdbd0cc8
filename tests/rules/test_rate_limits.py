"""Limits: when a count exceeds one, and the seconds to wait then."""

from shop.rules.rate_limits import Count, Limit, exceeded_limits, retry_after


def limit(count: int, seconds: int, key: bytes = b"a") -> Limit:
    return Limit("mails", key, count, seconds)


def test_a_limit_is_exceeded_by_a_count_above_it_and_not_by_an_equal_count() -> None:
    counts = [Count(b"a", 900, count, 60) for count in (1, 4, 5, 6, 100)]

    is_exceeded = [bool(exceeded_limits([limit(5, 900)], [count])) for count in counts]

    assert is_exceeded == [False, False, False, True, True]


def test_a_limit_of_zero_is_exceeded_by_the_first_event() -> None:
    assert exceeded_limits([limit(0, 900)], [Count(b"a", 900, 1, 60)]) != []


def test_a_limit_is_compared_with_the_count_of_its_own_key_and_window() -> None:
    counts = [Count(b"b", 900, 99, 60), Count(b"a", 3600, 99, 60), Count(b"a", 0, 99, 1)]

    assert exceeded_limits([limit(5, 900)], counts) == []
    assert exceeded_limits([limit(5, 900)], []) == []
    assert exceeded_limits([], counts) == []


def test_each_exceeded_limit_is_returned_with_its_count() -> None:
    short, long, other = limit(5, 900), limit(10, 3600), limit(5, 900, b"b")
    counts = [Count(b"a", 3600, 8, 1200), Count(b"a", 900, 8, 300), Count(b"b", 900, 6, 300)]

    assert exceeded_limits([short, long, other], counts) == [(short, counts[1]), (other, counts[2])]


def test_a_limit_without_a_window_works_like_any_other() -> None:
    since_success = limit(100, 0)

    assert exceeded_limits([since_success], [Count(b"a", 0, 100, 1)]) == []
    assert exceeded_limits([since_success], [Count(b"a", 0, 101, 1)]) == [(since_success, Count(b"a", 0, 101, 1))]


def test_retry_after_is_the_end_of_the_window_that_ends_last() -> None:
    limits_and_counts = [(limit(5, 900), Count(b"a", 900, 6, 300)), (limit(10, 3600), Count(b"a", 3600, 11, 1200))]

    assert retry_after(limits_and_counts) == 1200
    assert retry_after(limits_and_counts[:1]) == 300
    assert retry_after([]) == 1
