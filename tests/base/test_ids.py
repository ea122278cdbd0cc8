"""Ids that sort by time, and order numbers and tokens that cannot be predicted."""

import os
import re
import time
from collections import Counter
from uuid import RFC_4122, UUID

import pytest

from shop.base.ids import new_id, new_order_number, new_order_numbers, new_wishlist_token

# With nine degrees of freedom a uniform generator exceeds this once in about 10^11 runs; one with a digit that is
# a tenth too frequent always does.
TOO_UNEVEN = 70


def unevenness(digits: str) -> float:
    """The chi-square of decimal digits against an even spread."""
    expected = len(digits) / 10
    counts = Counter(digits)
    return sum((counts[digit] - expected) ** 2 / expected for digit in "0123456789")


def milliseconds(id_: UUID) -> int:
    return id_.int >> 80


def generate_in_child(count: int) -> list[str]:
    """The order numbers and ids that a forked child generates, alternating."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, " ".join(f"{new_order_number('R', 15)} {new_id()}" for _ in range(count)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        numbers = pipe.read().split()
    assert os.waitpid(child, 0)[1] == 0
    return numbers


def random_part(id_: str) -> int:
    return UUID(id_).int & ((1 << 62) - 1)


def test_an_id_is_a_uuid_of_version_7() -> None:
    ids = [new_id() for _ in range(1000)]

    assert {(id_.version, id_.variant) for id_ in ids} == {(7, RFC_4122)}
    assert all(
        re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", str(i)) for i in ids
    )


def test_an_id_begins_with_the_millisecond_of_its_creation() -> None:
    before = time.time_ns() // 1_000_000
    id_ = new_id()
    after = time.time_ns() // 1_000_000

    assert before <= milliseconds(id_) <= after


def test_ids_are_in_the_order_of_their_creation_within_a_millisecond_too() -> None:
    ids = [new_id()]
    while milliseconds(ids[-1]) < milliseconds(ids[0]) + 5 or len(ids) < 50:
        moment = time.perf_counter_ns() + 1000
        while time.perf_counter_ns() < moment:
            pass
        ids.append(new_id())

    assert [str(id_) for id_ in ids] == sorted(str(id_) for id_ in ids)
    assert len({milliseconds(id_) for id_ in ids}) < len(ids)


def test_a_hundred_thousand_ids_are_all_different() -> None:
    assert len({new_id() for _ in range(100_000)}) == 100_000


def test_every_random_bit_of_an_id_is_used() -> None:
    ids = [new_id().int for _ in range(2000)]

    set_in = [sum(id_ >> bit & 1 for id_ in ids) for bit in range(62)]
    # Ten standard deviations to either side of a half.
    assert 1000 - 224 < min(set_in) <= max(set_in) < 1000 + 224


@pytest.mark.parametrize("digits", [9, 10, 15])
def test_an_order_number_is_an_r_and_the_requested_number_of_digits(digits: int) -> None:
    numbers = [new_order_number("R", digits) for _ in range(1000)]

    assert all(re.fullmatch(rf"R[0-9]{{{digits}}}", number, re.ASCII) for number in numbers)
    assert any(number[1] == "0" for number in numbers)


@pytest.mark.parametrize("digits", [9, 10, 15])
def test_every_position_of_an_order_number_has_every_digit_equally_often(digits: int) -> None:
    numbers = [new_order_number("R", digits) for _ in range(20_000)]

    assert (
        max(unevenness("".join(number[position] for number in numbers)) for position in range(1, digits + 1))
        < TOO_UNEVEN
    )


def test_the_measure_of_unevenness_detects_a_missing_digit() -> None:
    assert unevenness("0123456789" * 2000) == 0
    assert unevenness("123456789" * 2222) > TOO_UNEVEN


@pytest.mark.parametrize(("digits", "lengths"), [(9, [9, 11, 15]), (10, [10, 12, 15]), (14, [14, 15, 15])])
def test_a_number_that_is_taken_gets_more_digits(digits: int, lengths: list[int]) -> None:
    numbers = list(new_order_numbers("SHOP-", digits))

    assert all(number.startswith("SHOP-") for number in numbers)
    assert [len(number) - len("SHOP-") for number in numbers] == lengths


def test_order_numbers_hardly_ever_repeat() -> None:
    short = {new_order_number("R", 9) for _ in range(20_000)}
    long = {new_order_number("R", 15) for _ in range(20_000)}

    # By the birthday problem 0.2 repetitions are expected among the short ones.
    assert len(short) > 19_990
    assert len(long) == 20_000


def test_every_position_of_a_wishlist_token_has_every_letter_of_its_alphabet() -> None:
    tokens = [new_wishlist_token() for _ in range(2_000)]

    assert len(set(tokens)) == 2_000
    # With a uniform generator a letter is missing at some position once in about 10^12 runs.
    assert [len({token[position] for token in tokens}) for position in range(24)] == [58] * 24
    assert not set("".join(tokens)) & set("0OIl")


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_generates_other_ids_and_numbers_than_its_parent() -> None:
    new_id()

    child, sibling = generate_in_child(50), generate_in_child(50)
    parent = " ".join(f"{new_order_number('R', 15)} {new_id()}" for _ in range(50)).split()

    for one, other in ((child, parent), (sibling, parent), (child, sibling)):
        assert not {*one[::2]} & {*other[::2]}
        assert not {*map(random_part, one[1::2])} & {*map(random_part, other[1::2])}
