"""Order tokens: derived only from the cart, its version and the key."""

import hmac
import re
import string
import zlib
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shop.base.crypto.keys import Keys
from shop.base.crypto.order_tokens import ORDER_TOKEN_PATTERN, is_current, order_token, read_order_token

CART = UUID("019a0000-0000-7000-8000-00000000beef")
OLD, NEW = b"\x5a" * 32, b"\xa5" * 32
KEYS = Keys({"k1": OLD})
TOKEN = order_token(KEYS, CART, 0)
TOKEN_V7 = order_token(KEYS, CART, 7)
SCANNER = re.compile(ORDER_TOKEN_PATTERN, re.ASCII)
BOTH = pytest.mark.parametrize("token", [TOKEN, TOKEN_V7], ids=["version 0", "version 7"])


def make_token(key_id: str, message: bytes, key: bytes) -> str:
    """A token in the published format, signed with any key."""
    text = f"shpot_{key_id}_{message.hex()}{hmac.digest(key, message, 'sha256').hex()}"
    return f"{text}{zlib.crc32(text.encode()):08x}"


def test_a_cart_always_has_the_same_token() -> None:
    again = order_token(Keys({"k1": OLD}), UUID(str(CART)), 0)

    assert again == TOKEN


@pytest.mark.parametrize("version", [0, 1, 2, 255, 256, 2**32 - 1])
def test_a_token_is_read_as_its_cart_and_version(version: int) -> None:
    carts = [uuid4() for _ in range(100)]

    assert [read_order_token(KEYS, order_token(KEYS, cart, version)) for cart in carts] == [
        (cart, version) for cart in carts
    ]


@pytest.mark.security("T-02")
def test_version_0_has_the_format_without_a_version() -> None:
    """The format of the previous release: tokens of carts that were open then remain valid."""
    key = KEYS.derived("k1", "order token")
    text = f"shpot_k1_{CART.hex}{hmac.digest(key, CART.bytes, 'sha256').hex()}"

    assert f"{text}{zlib.crc32(text.encode()):08x}" == TOKEN
    assert len(TOKEN) == len("shpot_k1_") + 104


def test_every_version_of_a_cart_has_another_token() -> None:
    tokens = {order_token(KEYS, CART, version) for version in range(100)}

    assert len({token[-72:-8] for token in tokens}) == 100


def test_an_explicit_version_0_is_refused() -> None:
    """Otherwise one version would have two tokens."""
    use_key = KEYS.derived("k1", "order token")

    assert make_token("k1", CART.bytes + bytes([0, 0, 0, 7]), use_key) == TOKEN_V7
    assert read_order_token(KEYS, make_token("k1", CART.bytes + bytes(4), use_key)) is None


def test_a_token_with_a_forged_version_is_refused() -> None:
    position = len("shpot_k1_") + 32
    bodies = [f"{TOKEN_V7[:position]}{version:08x}{TOKEN_V7[position + 8 : -8]}" for version in (0, 1, 6, 8, 2**32 - 1)]
    bodies.append(TOKEN[:position] + "00000001" + TOKEN[position:-8])

    forgeries = [f"{body}{zlib.crc32(body.encode()):08x}" for body in bodies]

    assert {read_order_token(KEYS, token) for token in forgeries} == {None}


@pytest.mark.security("T-05")
def test_carts_with_adjacent_ids_have_unrelated_tokens() -> None:
    adjacent_token = order_token(KEYS, UUID(int=CART.int + 1), 0)

    mac, other = TOKEN[-72:-8], adjacent_token[-72:-8]
    assert sum(a == b for a, b in zip(mac, other, strict=True)) < 20


@pytest.mark.security("T-02")
@pytest.mark.parametrize("key_id", ["a", "k1", "20260131"])
def test_the_published_scanner_pattern_finds_every_token(key_id: str) -> None:
    tokens = [order_token(Keys({key_id: OLD}), uuid4(), version) for version in range(50)]

    assert all(SCANNER.fullmatch(token) for token in tokens)
    assert SCANNER.findall(f'{{"token":"{tokens[0]}","other":"{tokens[1]}"}}') == tokens[:2]


@BOTH
def test_a_token_ends_with_its_checksum(token: str) -> None:
    assert token[-8:] == f"{zlib.crc32(token[:-8].encode()):08x}"


@pytest.mark.security("T-05")
@BOTH
def test_a_token_is_refused_with_another_key(token: str) -> None:
    assert read_order_token(Keys({"k1": NEW}), token) is None
    assert read_order_token(Keys({"k2": OLD}), token) is None


@pytest.mark.security("A-03")
def test_of_two_keys_the_first_signs_and_both_verify() -> None:
    new_keys = Keys({"k2": NEW, "k1": OLD})

    fresh = order_token(new_keys, CART, 7)

    assert fresh.startswith("shpot_k2_")
    assert fresh == order_token(Keys({"k2": NEW}), CART, 7)
    assert [read_order_token(new_keys, token) for token in (fresh, TOKEN_V7, TOKEN)] == [
        (CART, 7),
        (CART, 7),
        (CART, 0),
    ]


def test_is_current_says_whether_a_token_is_signed_with_the_current_key() -> None:
    new_keys = Keys({"k2": NEW, "k1": OLD})

    assert [is_current(new_keys, token) for token in (order_token(new_keys, CART, 0), TOKEN, TOKEN_V7)] == [
        True,
        False,
        False,
    ]
    assert is_current(KEYS, TOKEN)
    assert is_current(KEYS, TOKEN_V7)


@pytest.mark.security("A-03")
def test_a_token_of_a_removed_key_is_refused() -> None:
    assert read_order_token(Keys({"k2": NEW}), TOKEN) is None


def test_a_token_signed_with_the_raw_key_is_refused() -> None:
    use_key = KEYS.derived("k1", "order token")

    assert use_key not in {OLD, KEYS.derived("k1", "login code")}
    assert make_token("k1", CART.bytes, use_key) == TOKEN
    assert read_order_token(KEYS, make_token("k1", CART.bytes, OLD)) is None


def test_a_token_whose_key_id_is_swapped_is_refused() -> None:
    both = Keys({"k1": OLD, "k2": NEW})

    forgery = make_token("k2", CART.bytes, both.derived("k1", "order token"))

    assert read_order_token(both, forgery) is None


@pytest.mark.security("T-02")
@BOTH
def test_every_change_of_one_character_is_refused(token: str) -> None:
    alphabet = string.hexdigits + "gzZ_ \x00é٣"
    variations = [
        token[:position] + char + token[position + 1 :]
        for position in range(len(token))
        for char in alphabet
        if char != token[position]
    ]

    assert len(variations) > 3000
    assert {read_order_token(KEYS, each) for each in variations} == {None}


@BOTH
def test_a_changed_token_is_refused_even_with_a_matching_checksum(token: str) -> None:
    digits = "0123456789abcdef"
    bodies = [
        token[:position] + char + token[position + 1 : -8]
        for position in range(len(token) - 8)
        for char in digits
        if char != token[position]
    ]

    forgeries = [f"{body}{zlib.crc32(body.encode()):08x}" for body in bodies]

    assert {read_order_token(KEYS, each) for each in forgeries} == {None}


@BOTH
def test_every_shorter_and_longer_form_is_refused(token: str) -> None:
    shorter = [token[:end] for end in range(len(token))] + [token[start:] for start in range(1, len(token))]
    longer = [token + char for char in "0 \n\x00é"] + [char + token for char in "0s \n\x00é"]

    assert {read_order_token(KEYS, each) for each in shorter + longer} == {None}


@pytest.mark.parametrize(
    "token",
    [
        "",
        " ",
        "shpot_",
        "shpot_k1_",
        TOKEN.upper(),
        TOKEN[:9] + TOKEN[9:].upper(),
        TOKEN[:9] + str(CART) + TOKEN[41:],
        TOKEN[:9] + " " * 32 + TOKEN[41:],
        TOKEN[:9] + TOKEN[9:39] + "  " + TOKEN[41:],
        TOKEN[:9] + "\t".join(TOKEN[9:25]) + " " + TOKEN[41:],
        TOKEN[:9] + "\uff10" * 32 + TOKEN[41:],
        TOKEN[:9] + "\ud800" * 32 + TOKEN[41:],
        TOKEN.replace("shpot", "sh\u00f6pt"),
        TOKEN + TOKEN,
        "shpot_k1_" + "0" * 104,
        "shpot_k1_" + "0" * 112,
        TOKEN_V7.upper(),
        TOKEN_V7[:9] + " " * 40 + TOKEN_V7[49:],
        TOKEN_V7[:9] + TOKEN_V7[9:39] + "  " + TOKEN_V7[41:],
        TOKEN_V7[:41] + "  " + TOKEN_V7[43:],
        "shpot_k1_" + "f" * 10_240,
        "shpot_" + "k" * 10_240 + TOKEN[8:],
        "\x00" * 10_240,
        "é" * 10_240,
    ],
)
def test_text_that_is_not_exactly_a_token_is_refused(token: str) -> None:
    assert read_order_token(KEYS, token) is None


@given(st.text(max_size=300) | st.text("0123456789abcdef \t", max_size=118).map("shpot_k1_{}".format))
def test_any_text_is_refused(text: str) -> None:
    assert read_order_token(KEYS, text) is None


@given(st.text(max_size=4), st.text(max_size=32), st.text(max_size=72))
def test_any_text_in_the_format_of_a_token_is_refused(key_id: str, cart_id: str, rest: str) -> None:
    assert read_order_token(KEYS, f"shpot_{key_id}_{cart_id:>32}{rest:>72}") is None
