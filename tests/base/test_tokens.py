"""Order tokens: derived from the cart and the key, and from nothing else."""

import hmac
import re
import string
import zlib
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shop.base.keys import Keys
from shop.base.tokens import cart_of_order_token, is_current, order_token

CART = UUID("019a0000-0000-7000-8000-00000000beef")
OLD, NEW = b"\x5a" * 32, b"\xa5" * 32
KEYS = Keys({"k1": OLD})
TOKEN = order_token(KEYS, CART)
SCANNER = re.compile(r"shpot_[0-9a-z]{1,8}_[0-9a-f]{104}", re.ASCII)


def sealed(key_id: str, cart_id: UUID, key: bytes) -> str:
    """A token as anyone who knows the published form would make it with a key of their own."""
    text = f"shpot_{key_id}_{cart_id.hex}{hmac.digest(key, cart_id.bytes, 'sha256').hex()}"
    return f"{text}{zlib.crc32(text.encode()):08x}"


def test_a_cart_always_has_the_same_token() -> None:
    again = order_token(Keys({"k1": OLD}), UUID(str(CART)))

    assert again == TOKEN


def test_a_token_opens_the_cart_it_was_made_for() -> None:
    carts = [uuid4() for _ in range(100)]

    assert [cart_of_order_token(KEYS, order_token(KEYS, cart)) for cart in carts] == carts


@pytest.mark.security("T-05")
def test_carts_whose_ids_differ_by_one_have_tokens_that_share_nothing_secret() -> None:
    neighbour = order_token(KEYS, UUID(int=CART.int + 1))

    mac, other = TOKEN[-72:-8], neighbour[-72:-8]
    assert sum(a == b for a, b in zip(mac, other, strict=True)) < 20


@pytest.mark.security("T-02")
@pytest.mark.parametrize("key_id", ["a", "k1", "20260131"])
def test_the_published_scanner_pattern_finds_every_token(key_id: str) -> None:
    tokens = [order_token(Keys({key_id: OLD}), uuid4()) for _ in range(50)]

    assert all(SCANNER.fullmatch(token) for token in tokens)
    assert SCANNER.findall(f'{{"token":"{tokens[0]}"}}') == [tokens[0]]


def test_a_scanner_can_tell_a_token_from_noise_by_its_checksum() -> None:
    assert TOKEN[-8:] == f"{zlib.crc32(TOKEN[:-8].encode()):08x}"


@pytest.mark.security("T-05")
def test_a_token_is_nothing_under_another_key() -> None:
    assert cart_of_order_token(Keys({"k1": NEW}), TOKEN) is None
    assert cart_of_order_token(Keys({"k2": OLD}), TOKEN) is None


@pytest.mark.security("A-03")
def test_of_two_keys_the_first_signs_and_both_verify() -> None:
    rotated = Keys({"k2": NEW, "k1": OLD})

    fresh = order_token(rotated, CART)

    assert fresh.startswith("shpot_k2_")
    assert fresh == order_token(Keys({"k2": NEW}), CART)
    assert [cart_of_order_token(rotated, token) for token in (fresh, TOKEN)] == [CART, CART]


def test_a_token_says_whether_the_key_that_signs_today_made_it() -> None:
    rotated = Keys({"k2": NEW, "k1": OLD})

    assert [is_current(rotated, token) for token in (order_token(rotated, CART), TOKEN)] == [True, False]
    assert is_current(KEYS, TOKEN)


@pytest.mark.security("A-03")
def test_a_retired_key_opens_nothing_any_more() -> None:
    assert cart_of_order_token(Keys({"k2": NEW}), TOKEN) is None


def test_a_token_signed_with_the_raw_key_is_refused() -> None:
    derived = KEYS.derived("k1", "order token")

    assert derived not in {OLD, KEYS.derived("k1", "login code")}
    assert sealed("k1", CART, derived) == TOKEN
    assert cart_of_order_token(KEYS, sealed("k1", CART, OLD)) is None


def test_a_token_whose_key_id_is_swapped_is_refused() -> None:
    both = Keys({"k1": OLD, "k2": NEW})

    swapped = sealed("k2", CART, both.derived("k1", "order token"))

    assert cart_of_order_token(both, swapped) is None


@pytest.mark.security("T-02")
def test_every_change_of_one_character_is_refused() -> None:
    alphabet = string.hexdigits + "gzZ_ \x00é٣"
    changed = [
        TOKEN[:place] + char + TOKEN[place + 1 :]
        for place in range(len(TOKEN))
        for char in alphabet
        if char != TOKEN[place]
    ]

    assert len(changed) > 3000
    assert {cart_of_order_token(KEYS, token) for token in changed} == {None}


def test_a_changed_token_is_refused_even_with_a_checksum_that_fits() -> None:
    digits = "0123456789abcdef"
    bodies = [
        TOKEN[:place] + char + TOKEN[place + 1 : -8]
        for place in range(len(TOKEN) - 8)
        for char in digits
        if char != TOKEN[place]
    ]

    forged = [f"{body}{zlib.crc32(body.encode()):08x}" for body in bodies]

    assert {cart_of_order_token(KEYS, token) for token in forged} == {None}


def test_every_shorter_and_longer_form_is_refused() -> None:
    cut = [TOKEN[:end] for end in range(len(TOKEN))] + [TOKEN[start:] for start in range(1, len(TOKEN))]
    grown = [TOKEN + char for char in "0 \n\x00é"] + [char + TOKEN for char in "0s \n\x00é"]

    assert {cart_of_order_token(KEYS, token) for token in cut + grown} == {None}


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
        "shpot_k1_" + "f" * 10_240,
        "shpot_" + "k" * 10_240 + TOKEN[8:],
        "\x00" * 10_240,
        "é" * 10_240,
    ],
)
def test_whatever_is_not_exactly_a_token_is_none(token: str) -> None:
    assert cart_of_order_token(KEYS, token) is None


@given(st.text(max_size=300) | st.text("0123456789abcdef \t", max_size=110).map("shpot_k1_{}".format))
def test_no_text_is_a_token_and_none_breaks_anything(text: str) -> None:
    assert cart_of_order_token(KEYS, text) is None


@given(st.text(max_size=4), st.text(max_size=32), st.text(max_size=72))
def test_no_text_in_a_tokens_places_is_a_token(key_id: str, cart_id: str, rest: str) -> None:
    assert cart_of_order_token(KEYS, f"shpot_{key_id}_{cart_id:>32}{rest:>72}") is None
