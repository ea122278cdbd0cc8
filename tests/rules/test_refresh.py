"""The outcome of a request with a refresh token."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shop.rules.access.refresh import Outcome, RefreshFacts, outcome

GRACE = 30
SECONDS_SINCE_ROTATION = st.one_of(st.none(), st.floats(min_value=-5, max_value=10**7))


@pytest.mark.security("R-03")
@pytest.mark.parametrize(
    ("seconds", "child_is_head", "expected"),
    [
        (None, False, "rotate"),
        (0.0, True, "repeat"),
        (30.0, True, "repeat"),
        (30.001, True, "reuse"),
        (0.0, False, "reuse"),
        (10**6, True, "reuse"),
        (-0.5, True, "repeat"),
    ],
)
def test_the_head_rotates_the_parent_repeats_within_the_grace_period_others_are_reuse(
    seconds: float | None, child_is_head: bool, expected: Outcome
) -> None:
    assert outcome(RefreshFacts(True, True, seconds, child_is_head), GRACE) == expected


@given(st.booleans(), SECONDS_SINCE_ROTATION, st.booleans())
def test_a_token_of_an_ended_session_is_refused(is_owners: bool, seconds: float | None, child_is_head: bool) -> None:
    assert outcome(RefreshFacts(False, is_owners, seconds, child_is_head), GRACE) == "refuse"


@given(st.booleans(), SECONDS_SINCE_ROTATION, st.booleans())
def test_a_token_with_another_users_address_is_refused_and_ends_no_session(
    is_live: bool, seconds: float | None, child_is_head: bool
) -> None:
    assert outcome(RefreshFacts(is_live, False, seconds, child_is_head), GRACE) == "refuse"


@given(st.floats(min_value=0.001, max_value=10**7))
def test_without_a_grace_period_every_repetition_is_reuse(seconds: float) -> None:
    assert outcome(RefreshFacts(True, True, seconds, True), 0) == "reuse"


@given(SECONDS_SINCE_ROTATION, st.booleans(), st.integers(0, 60))
def test_a_users_token_of_an_open_session_is_rotated_repeated_or_reuse(
    seconds: float | None, head: bool, grace: int
) -> None:
    assert outcome(RefreshFacts(True, True, seconds, head), grace) in {"rotate", "repeat", "reuse"}
