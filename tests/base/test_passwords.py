"""Password hashes: their format, and the work of verifying a password."""

import re

import pytest

from shop.base.crypto.passwords import DUMMY_HASH, hash_password, is_outdated, is_password


@pytest.mark.security("D-02")
def test_a_hash_is_argon2id_with_46_mebibytes_or_more_and_a_random_salt() -> None:
    first, second = hash_password("a good password"), hash_password("a good password")

    assert first != second
    memory, rounds, lanes = (int(text) for text in re.findall(r"[mtp]=([0-9]+)", first))
    assert first.startswith("$argon2id$")
    assert (memory >= 46 * 1024, rounds >= 1, lanes) == (True, True, 1)
    assert not is_outdated(first)


def test_only_the_right_password_is_accepted() -> None:
    password_hash = hash_password("a good passwörd")

    assert is_password(password_hash, "a good passwörd")
    assert is_password(password_hash, "a good passwo\u0308rd")
    assert not is_password(password_hash, "a good password")
    assert not is_password(None, "a good passwörd")
    assert not is_password("no hash at all", "a good passwörd")


def test_the_dummy_hash_costs_as_much_as_a_current_hash() -> None:
    assert not is_outdated(DUMMY_HASH)
