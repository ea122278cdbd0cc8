"""Bearer secrets: their format, their checksum, and the hash that is stored."""

import re
import string
import zlib
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shop.base.crypto.secrets import KINDS, USER_ACCESS, USER_REFRESH, is_secret, new_bytes, secret_hash, secret_text

SCANNER_PATTERN = re.compile(r"\bshp(at|rt|pt|pr|cs|os|ol)_[0-9A-Za-z]{49}\b")
ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
VALUE = bytes(range(32))


def number(text: str) -> int:
    """Decodes base 62 without the library."""
    total = 0
    for letter in text:
        total = total * 62 + ALPHABET.index(letter)
    return total


@pytest.mark.security("T-01", "T-02")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [bytes(32), b"\xff" * 32, VALUE, bytes(31) + b"\x01"])
def test_a_secret_is_its_prefix_43_base_62_characters_and_a_checksum(kind: str, value: bytes) -> None:
    text = secret_text(kind, value)

    assert SCANNER_PATTERN.fullmatch(text)
    assert text.startswith(kind)
    assert number(text[6:-6]) == int.from_bytes(value)
    assert number(text[-6:]) == zlib.crc32(text[:-6].encode())
    assert is_secret(kind, text)


def test_a_scanner_finds_a_secret_in_running_text() -> None:
    text = secret_text(USER_ACCESS, VALUE)

    for around in (f"Authorization: Bearer {text}", f'{{"access_token":"{text}"}}', f"/auth/{text}?x", f"{text}\n"):
        match = SCANNER_PATTERN.search(around)
        assert match
        assert match[0] == text


@pytest.mark.security("T-02")
def test_every_change_of_one_character_is_refused() -> None:
    text = secret_text(USER_REFRESH, VALUE)
    for position in range(len(text)):
        for letter in set(ALPHABET + "_-. \n") - {text[position]}:
            assert not is_secret(USER_REFRESH, text[:position] + letter + text[position + 1 :])


def test_a_lost_doubled_or_swapped_character_is_refused() -> None:
    text = secret_text(USER_ACCESS, VALUE)
    for position in range(len(text)):
        head, here, tail = text[:position], text[position], text[position + 1 :]
        assert not is_secret(USER_ACCESS, head + tail)
        assert not is_secret(USER_ACCESS, head + here + here + tail)
        typo = head + tail[:1] + here + tail[1:]
        assert typo == text or not is_secret(USER_ACCESS, typo)


@pytest.mark.security("T-11")
def test_a_secret_of_one_kind_is_not_accepted_as_another() -> None:
    access, refresh = secret_text(USER_ACCESS, VALUE), secret_text(USER_REFRESH, VALUE)

    assert (is_secret(USER_ACCESS, access), is_secret(USER_REFRESH, refresh)) == (True, True)
    assert (is_secret(USER_ACCESS, refresh), is_secret(USER_REFRESH, access)) == (False, False)
    assert not is_secret(USER_REFRESH, access.replace(USER_ACCESS, USER_REFRESH))
    assert access[-6:] != refresh[-6:]


@pytest.mark.parametrize(
    "text",
    ["", "shpat_", "x" * 55, "shpat_" + "0" * 49, "shpat_" + "é" * 49, "shpat_" + "\uff10" * 49, "a" * 100_000],
)
def test_text_that_is_no_secret_is_refused(text: str) -> None:
    assert not any(is_secret(kind, text) for kind in KINDS)


def test_whitespace_around_a_secret_is_refused() -> None:
    text = secret_text(USER_ACCESS, VALUE)

    for around in (f" {text}", f"{text} ", f"{text}\n", f"\n{text}", f"{text}\x00", text.upper(), text.lower()):
        assert not is_secret(USER_ACCESS, around)


@pytest.mark.security("T-04")
@given(text=st.text(max_size=80))
def test_the_check_raises_for_no_text(text: str) -> None:
    assert not is_secret(USER_ACCESS, text)


@pytest.mark.security("T-01")
def test_new_values_have_256_bits_and_are_unique() -> None:
    values = [new_bytes() for _ in range(10_000)]

    assert {len(value) for value in values} == {32}
    assert len(set(values)) == 10_000
    assert len(new_bytes(16)) == 16


@pytest.mark.security("T-03")
def test_the_stored_hash_is_the_sha_256_of_the_whole_text() -> None:
    text = secret_text(USER_ACCESS, VALUE)

    assert secret_hash(text) == sha256(text.encode()).digest()
    assert secret_hash(text) != secret_hash(secret_text(USER_REFRESH, VALUE))
