"""The merge of two carts when a guest signs in."""

from collections import Counter
from collections.abc import Sequence
from typing import get_args
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from shop.base.input_types import MAX_UNITS
from shop.models.cart.inputs import MAX_LINES, Strategy
from shop.rules.cart.cart_merge import MergeLine, merge_carts

A, B, C = (UUID(int=number) for number in (1, 2, 3))
VARIANTS = st.sampled_from([A, B, C])
LINES = st.dictionaries(VARIANTS, st.integers(1, 9)).map(lambda counts: [MergeLine(*item) for item in counts.items()])
STOCK = st.dictionaries(VARIANTS, st.integers(0, 12))


def quantities(lines: Sequence[MergeLine]) -> Counter[UUID]:
    return Counter({line.variant_id: line.quantity for line in lines})


def test_merging_moves_the_users_line_items_into_the_guest_cart() -> None:
    merge = merge_carts("merge", [MergeLine(A, 1), MergeLine(B, 2)], [MergeLine(B, 3), MergeLine(C, 4)], {})

    assert (merge.strategy, merge.survivor) == ("merge", "guest")
    assert list(merge.lines) == [MergeLine(A, 1), MergeLine(B, 5), MergeLine(C, 4)]
    assert (list(merge.moved), list(merge.capped)) == ([MergeLine(B, 3), MergeLine(C, 4)], [])


def test_quantities_beyond_the_stock_are_capped_and_reported() -> None:
    merge = merge_carts("merge", [MergeLine(A, 2)], [MergeLine(A, 5), MergeLine(B, 1)], {A: 4, B: 0})

    assert list(merge.lines) == [MergeLine(A, 4)]
    assert (list(merge.moved), list(merge.capped)) == ([MergeLine(A, 2)], [MergeLine(A, 3), MergeLine(B, 1)])


def test_a_merge_never_reduces_the_guests_own_line_items() -> None:
    merge = merge_carts("merge", [MergeLine(A, 9)], [MergeLine(A, 1)], {A: 3})

    assert list(merge.lines) == [MergeLine(A, 9)]
    assert (list(merge.moved), list(merge.capped)) == ([], [MergeLine(A, 1)])


def test_a_full_cart_accepts_more_of_its_items_and_no_new_ones() -> None:
    guest = [MergeLine(UUID(int=number), 1) for number in range(10, 10 + MAX_LINES - 1)]
    more = [MergeLine(guest[0].variant_id, MAX_UNITS), MergeLine(A, 2), MergeLine(B, 3)]

    merge = merge_carts("merge", guest, more, {})

    assert len(merge.lines) == MAX_LINES
    assert list(merge.moved) == [MergeLine(guest[0].variant_id, MAX_UNITS - 1), MergeLine(A, 2)]
    assert list(merge.capped) == [MergeLine(guest[0].variant_id, 1), MergeLine(B, 3)]


def test_keep_guest_keeps_only_the_guests_line_items() -> None:
    merge = merge_carts("keep_guest", [MergeLine(A, 1)], [MergeLine(B, 2)], {})

    assert (merge.survivor, list(merge.lines), list(merge.moved)) == ("guest", [MergeLine(A, 1)], [])


def test_keep_user_keeps_only_the_users_line_items() -> None:
    merge = merge_carts("keep_user", [MergeLine(A, 1)], [MergeLine(B, 2)], {})

    assert (merge.survivor, list(merge.lines), list(merge.moved)) == ("user", [MergeLine(B, 2)], [])


@given(st.sampled_from(get_args(Strategy)), LINES, STOCK)
def test_a_single_cart_survives_with_any_strategy(
    strategy: Strategy, guest: list[MergeLine], stock: dict[UUID, int]
) -> None:
    merge = merge_carts(strategy, guest, None, stock)

    assert (merge.strategy, merge.survivor, list(merge.lines)) == (strategy, "guest", guest)
    assert (list(merge.moved), list(merge.capped)) == ([], [])


@given(LINES, LINES, STOCK)
def test_a_merge_neither_loses_nor_adds_units(
    guest: list[MergeLine], user: list[MergeLine], stock: dict[UUID, int]
) -> None:
    merge = merge_carts("merge", guest, user, stock)

    moved_quantities, capped_quantities, after = (
        quantities(merge.moved),
        quantities(merge.capped),
        quantities(merge.lines),
    )
    assert moved_quantities + capped_quantities == quantities(user)
    assert after == quantities(guest) + moved_quantities
    for variant, available in stock.items():
        assert after[variant] <= max(available, quantities(guest)[variant])
