"""The scopes that an application may request, and the access that a token allows."""

from itertools import combinations

import pytest

from shop.rules.access.permissions import SCOPES, is_allowed, is_grantable, is_within, scope_words

SUBSETS = [" ".join(words) for size in (1, 2, 3) for words in combinations(SCOPES, size)]


@pytest.mark.security("P-03")
@pytest.mark.parametrize("scope", SUBSETS)
def test_a_read_application_never_writes_with_any_scope(scope: str) -> None:
    assert not is_allowed("write", scope, "read")
    assert is_grantable(scope, "read") == ("write" not in scope.split())


WRITES = [("admin", True), ("admin read", False), ("read", False), ("write", True)]


@pytest.mark.parametrize(("scope", "writes"), WRITES)
def test_writing_requires_the_scope_write_or_admin_alone(scope: str, writes: bool) -> None:
    assert is_allowed("write", scope, "write") == writes
    assert is_allowed("read", scope, "write")


@pytest.mark.parametrize("granted_scope", SUBSETS)
@pytest.mark.parametrize("requested_scope", SUBSETS)
def test_a_refresh_never_extends_the_scope(requested_scope: str, granted_scope: str) -> None:
    if is_within(requested_scope, granted_scope, "write"):
        assert scope_words(requested_scope) <= scope_words(granted_scope)
        assert is_allowed("write", granted_scope, "write") or not is_allowed("write", requested_scope, "write")


@pytest.mark.parametrize("scope", ["", " ", "admin  read", "root", "Admin", "admin,read", "admin " * 40 + "read"])
def test_an_invalid_scope_allows_nothing(scope: str) -> None:
    assert scope_words(scope) == frozenset()
    assert not is_grantable(scope, "write")
    assert not is_allowed("read", scope, "write")
