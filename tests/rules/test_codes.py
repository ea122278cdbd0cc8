"""Login codes: their format, their unpredictability, and the texts that are accepted for one."""

from collections import Counter
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shop.base.crypto.keys import Keys, parse_keys
from shop.models.access.inputs import normalize_login_code
from shop.rules.access.codes import login_code, matches, shown_code

KEYS = parse_keys("k1:" + "0123456789abcdef" * 4 + ",k2:" + "fedcba9876543210" * 4)
REQUEST = UUID("0190f5fe-7c00-7a00-8000-000000000001")
NONCE = bytes(range(16))
CROCKFORD = set("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
LONG = "0123456789ABCDEFGHJKMNPQRS"

NO_CODES = [
    "",
    " ",
    "-",
    " - - ",
    "١٢٣٤٥٦",
    "۱۲۳۴۵۶",
    "\uff11\uff12\uff13\uff14\uff15\uff16",
    "12345\uff16",
    "¹²³⁴⁵⁶",
    "①②③④⑤⑥",
    "123_456",
    "123456\n",
    "123456\n9",
    "\n123456",
    "123\t456",
    "123456\r",
    "123456\x00",
    "123\u00a0456",
    "123\u2013456",
    "123\u2009456",
    "+12345",
    "1.2345",
    "1e5",
    "0x1234",
    "12345a",
    "abcdef",
    LONG[:-1],
    LONG + "T",
    LONG[:-1] + "U",
    LONG[:-1] + "*",
    LONG[:-1] + "=",
    LONG[:-1] + "_",
    LONG[:-1] + "\n",
    LONG[:-1] + "\u017f",
    LONG[:-1] + "\u212a",
    LONG[:-1] + "\uff33",
]


def short(nonce: bytes, *, request: UUID = REQUEST, key_id: str = "k1", keys: Keys = KEYS) -> str:
    return login_code(keys, key_id, request, nonce, is_long=False)


def long(nonce: bytes, *, request: UUID = REQUEST, key_id: str = "k1", keys: Keys = KEYS) -> str:
    return login_code(keys, key_id, request, nonce, is_long=True)


def chi_square(counts: Counter[str], kinds: int) -> float:
    expected = counts.total() / kinds
    return sum((counts[kind] - expected) ** 2 / expected for kind in counts) + expected * (kinds - len(counts))


@pytest.fixture(scope="module")
def ten_thousand() -> list[str]:
    return [short(number.to_bytes(16)) for number in range(10_000)]


@pytest.mark.security("L-01")
def test_a_short_code_is_six_ascii_digits_and_keeps_its_leading_zeros(ten_thousand: list[str]) -> None:
    assert all(len(code) == 6 and code.isascii() and code.isdigit() for code in ten_thousand)
    assert 850 < sum(code.startswith("0") for code in ten_thousand) < 1150
    assert any(code.startswith("000") for code in ten_thousand)


@pytest.mark.security("L-01")
def test_every_digit_is_equally_likely_at_every_position(ten_thousand: list[str]) -> None:
    for position in range(6):
        # With 9 degrees of freedom 35 is exceeded once in 20,000 times; the nonces here are always the same.
        assert chi_square(Counter(code[position] for code in ten_thousand), 10) < 35
    pairs = Counter(code[:2] + code[4:] for code in ten_thousand)
    assert len(pairs) > 6000


def test_a_long_code_is_26_equally_likely_crockford_characters() -> None:
    codes = [long(number.to_bytes(16)) for number in range(2_000)]

    assert {len(code) for code in codes} == {26}
    assert len(set(codes)) == 2_000
    for position in range(26):
        counts = Counter(code[position] for code in codes)
        assert set(counts) == CROCKFORD
        assert chi_square(counts, 32) < 75


def test_the_same_request_always_has_the_same_code() -> None:
    again = parse_keys("k1:" + "0123456789abcdef" * 4)

    assert short(NONCE) == short(NONCE) == short(NONCE, keys=again)
    assert long(NONCE) == long(NONCE) == long(NONCE, keys=again)


def test_another_nonce_request_key_or_length_is_another_code() -> None:
    codes = [
        long(NONCE),
        long(bytes(16)),
        long(NONCE, request=UUID(int=REQUEST.int + 1)),
        long(NONCE, key_id="k2"),
        long(NONCE, keys=parse_keys("k1:" + "00" * 32)),
    ]

    assert len(set(codes)) == 5
    assert not long(NONCE).startswith(short(NONCE))


def test_a_flipped_bit_of_the_nonce_changes_the_short_code() -> None:
    nonces = [(int.from_bytes(NONCE) ^ (1 << bit)).to_bytes(16) for bit in range(128)]

    codes = {short(nonce) for nonce in nonces}

    assert short(NONCE) not in codes
    assert len(codes) > 125


def test_a_short_code_is_shown_as_it_is_and_a_long_one_in_groups_of_five() -> None:
    assert shown_code("001234") == "001234"
    assert shown_code(LONG) == "01234 56789 ABCDE FGHJK MNPQR S"


@pytest.mark.parametrize("text", ["001234", " 001234 ", "001 234", "001-234", "0-0-1-2-3-4", "- 001234 -"])
def test_spaces_and_dashes_between_digits_are_ignored(text: str) -> None:
    assert normalize_login_code(text) == "001234"


def test_digits_of_another_length_are_a_wrong_code() -> None:
    assert normalize_login_code("12345") == "12345"
    assert normalize_login_code("1234567") == "1234567"
    assert not matches("123456", "12345")
    assert not matches("012345", "12345")


@pytest.mark.security("L-11")
@pytest.mark.parametrize(
    "text",
    [
        LONG,
        LONG.lower(),
        LONG.swapcase(),
        shown_code(LONG),
        shown_code(LONG).lower().replace(" ", "-"),
        "-".join(LONG),
        LONG.replace("0", "O").replace("1", "I"),
        LONG.lower().replace("0", "o").replace("1", "l"),
        LONG.replace("1", "i"),
        LONG.replace("1", "L"),
        f"  {LONG}  ",
    ],
)
def test_a_long_code_is_accepted_in_any_case_and_grouping_and_with_confused_letters(text: str) -> None:
    assert normalize_login_code(text) == LONG


def test_a_long_code_of_digits_only_is_accepted() -> None:
    digits = "01234567890123456789012345"

    assert normalize_login_code(shown_code(digits)) == digits
    assert normalize_login_code(digits.replace("0", "o").replace("1", "l")) == digits


@pytest.mark.security("L-11")
@pytest.mark.parametrize("text", NO_CODES)
def test_text_that_cannot_be_a_code_is_none(text: str) -> None:
    assert normalize_login_code(text) is None


@pytest.mark.security("L-11")
@given(text=st.text(max_size=60) | st.text(alphabet="0123456789 -oOiIlLuU_\n", max_size=40))
def test_any_text_is_none_or_a_normalized_code(text: str) -> None:
    code = normalize_login_code(text)

    if code is not None:
        assert code.isascii()
        assert code.isdigit() or (len(code) == 26 and set(code) <= CROCKFORD)
        assert normalize_login_code(code) == code


@given(number=st.integers(0, 2**128 - 1), groups=st.lists(st.integers(0, 26), max_size=6), data=st.data())
def test_a_long_code_is_recognized_after_manual_transcription(
    number: int, groups: list[int], data: st.DataObject
) -> None:
    code = long(number.to_bytes(16))
    looks = {"0": "0Oo", "1": "1IiLl"}
    copy = "".join(data.draw(st.sampled_from(looks.get(letter, letter + letter.lower()))) for letter in code)
    for position in sorted(groups, reverse=True):
        copy = copy[:position] + data.draw(st.sampled_from(" -")) + copy[position:]

    assert matches(code, str(normalize_login_code(copy)))
