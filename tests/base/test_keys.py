"""Server keys: how the list is parsed, and that no message contains a key."""

import hmac
import pickle

import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given
from hypothesis import strategies as st

from shop.base.crypto.keys import Keys, parse_keys

ONE = "0123456789abcdef" * 4
TWO = "fedcba9876543210" * 4

UNREADABLE = [
    "",
    " ",
    ",",
    "k1",
    ONE,
    f":{ONE}",
    f"k1:{ONE[:-1]}",
    f"k1:{ONE}{TWO}0",
    f"k1:{ONE[:-1]}g",
    f"k1: {ONE}",
    f"k1 :{ONE}",
    f"k1={ONE}",
    f"k1;{ONE}",
    f"K1:{ONE}",
    f"k-1:{ONE}",
    f"\uff4b1:{ONE}",
    f"k1:{ONE[:-1]}\uff10",
    f"k23456789:{ONE}",
    f"{ONE}:k1",
    f"k1:{ONE},",
    f",k1:{ONE}",
    f"k1:{ONE},{TWO}",
    f"k1:{ONE};k2:{TWO}",
    f"k1:{ONE} k2:{TWO}",
    f"k1:{ONE}\nk2:{TWO}",
    f"k1:{ONE},k1:{TWO}",
    f"k1:{ONE[:10]} {ONE[10:]}",
]


def contains_key(message: str, secret: str) -> bool:
    """Whether a message contains six consecutive digits of a key."""
    return any(secret[start : start + 6] in message.lower() for start in range(len(secret) - 5))


@pytest.mark.security("A-03")
def test_the_first_key_of_the_list_signs_and_all_are_known() -> None:
    keys = parse_keys(f"k2:{TWO},k1:{ONE}")

    assert keys.current == "k2"
    assert [key_id in keys for key_id in ("k1", "k2", "k3", "")] == [True, True, False, False]


def test_spaces_around_entries_and_the_case_of_hex_digits_are_ignored() -> None:
    keys = parse_keys(f" k2:{TWO.upper()} ,\n k1:{ONE} \n")

    plain = parse_keys(f"k2:{TWO},k1:{ONE}")
    assert [keys.derived(key_id, "any") for key_id in ("k1", "k2")] == [
        plain.derived(key_id, "any") for key_id in ("k1", "k2")
    ]


@pytest.mark.parametrize("text", UNREADABLE)
def test_an_invalid_list_of_keys_is_refused_without_showing_a_key(text: str) -> None:
    with pytest.raises(ValueError, match=r"^(entry [12] is not `id:hex`|the key id k1 is used twice)") as excinfo:
        parse_keys(text)

    assert not contains_key(str(excinfo.value), ONE)
    assert not contains_key(str(excinfo.value), TWO)


def test_a_key_with_half_a_byte_is_refused_with_the_same_message() -> None:
    with pytest.raises(ValueError, match=r"^entry 2 is not `id:hex`"):
        parse_keys(f"k1:{ONE},k2:{TWO}0")


def test_an_invalid_entry_is_reported_by_its_position() -> None:
    with pytest.raises(ValueError, match=r"^entry 3 is not"):
        parse_keys(f"k1:{ONE},k2:{TWO},k3:{ONE[:-2]}")


@given(position=st.integers(0, 2 * 68), junk=st.text(alphabet="\x00 ,:;_gZ\n\uff10é0a", min_size=1, max_size=3))
def test_a_typo_anywhere_in_the_list_never_shows_a_key(position: int, junk: str) -> None:
    text = f"k1:{ONE},k2:{TWO}"
    try:
        keys = parse_keys(text[:position] + junk + text[position:])
    except ValueError as error:
        message = str(error)
    else:
        message = f"{keys} {keys!r}"

    assert not contains_key(message, ONE)
    assert not contains_key(message, TWO)


def test_keys_are_shown_by_their_ids_only() -> None:
    keys = parse_keys(f"k1:{ONE},k2:{TWO}")

    assert repr(keys) == str(keys) == "Keys(k1, k2)"


def test_an_empty_list_of_keys_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one key"):
        Keys({})


@pytest.mark.security("A-03")
def test_each_use_has_its_own_derived_key() -> None:
    keys = parse_keys(f"k1:{ONE},k2:{TWO}")

    use_keys = [keys.derived(key_id, use) for key_id in ("k1", "k2") for use in ("order token", "login code")]

    assert len({*use_keys, bytes.fromhex(ONE), bytes.fromhex(TWO)}) == 6
    assert {len(key) for key in use_keys} == {32}
    assert keys.derived("k1", "order token") == use_keys[0]


def test_a_derived_key_is_hkdf_sha256_without_salt() -> None:
    # Computed without the library, by RFC 5869: HMAC(HMAC(zeros, key), label + 0x01).
    prk = hmac.digest(bytes(32), bytes.fromhex(ONE), "sha256")
    okm = hmac.digest(prk, b"order token\x01", "sha256")

    assert parse_keys(f"k1:{ONE}").derived("k1", "order token") == okm


def test_a_message_is_authenticated_with_the_derived_key_of_its_use() -> None:
    keys = parse_keys(f"k1:{ONE},k2:{TWO}")

    macs = [keys.mac("k1", "order token", message) for message in (b"a", b"b", b"a", b"")]

    use_key = keys.derived("k1", "order token")
    assert macs == [hmac.digest(use_key, message, "sha256") for message in (b"a", b"b", b"a", b"")]
    assert len({macs[0], keys.mac("k2", "order token", b"a"), keys.mac("k1", "login code", b"a")}) == 3


def test_keys_can_be_pickled() -> None:
    keys = parse_keys(f"k2:{TWO},k1:{ONE}")
    mac = keys.mac("k1", "order token", b"a")

    copy = pickle.loads(pickle.dumps(keys))

    assert (copy.current, repr(copy)) == ("k2", "Keys(k2, k1)")
    assert copy.mac("k1", "order token", b"a") == mac


def test_deriving_from_an_unknown_key_raises() -> None:
    with pytest.raises(KeyError):
        parse_keys(f"k1:{ONE}").derived("k2", "order token")


def test_the_key_of_a_use_is_derived_by_hkdf() -> None:
    secret = bytes.fromhex("5a" * 32)

    for use in ("order token", "login code", ""):
        derived_key = HKDF(SHA256(), 32, salt=None, info=use.encode()).derive(secret)
        assert parse_keys("k1:" + secret.hex()).derived("k1", use) == derived_key
