"""The scopes that an application may request, and the access that a token allows."""

from itertools import combinations

import pytest

from shop.rules.access.permissions import SCOPES, is_grantable, is_within, may, scope_words

SUBSETS = [" ".join(words) for size in (1, 2, 3) for words in combinations(SCOPES, size)]


@pytest.mark.security("P-03")
@pytest.mark.parametrize("scope", SUBSETS)
def test_a_read_application_never_writes_whatever_its_token_says(scope: str) -> None:
    assert not may("write", scope, "read")
    assert is_grantable(scope, "read") == ("write" not in scope.split())


WRITES = [("admin", True), ("admin read", False), ("read", False), ("write", True)]


@pytest.mark.parametrize(("scope", "writes"), WRITES)
def test_writing_takes_the_word_write_or_a_bare_admin(scope: str, writes: bool) -> None:
    assert may("write", scope, "write") == writes
    assert may("read", scope, "write")


@pytest.mark.parametrize("granted_scope", SUBSETS)
@pytest.mark.parametrize("requested_scope", SUBSETS)
def test_a_refresh_never_grows_in_words_or_in_power(requested_scope: str, granted_scope: str) -> None:
    if is_within(requested_scope, granted_scope, "write"):
        assert scope_words(requested_scope) <= scope_words(granted_scope)
        assert may("write", granted_scope, "write") or not may("write", requested_scope, "write")


@pytest.mark.parametrize("scope", ["", " ", "admin  read", "root", "Admin", "admin,read", "admin " * 40 + "read"])
def test_what_is_no_scope_has_no_words_and_allows_nothing(scope: str) -> None:
    assert scope_words(scope) == frozenset()
    assert not is_grantable(scope, "write")
    assert not may("read", scope, "write")
