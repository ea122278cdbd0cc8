"""Validation of typed texts, and their folding for searches and slugs."""

import pytest

from shop.base.texts import fold_text, is_line, is_prose, slug_of

GOOD = [
    "",
    "Ada",
    "O\u2019Neill-\u0160ulc",
    "\u6771\u4eac\u90fd\u3000\u6e2f\u533a",
    "caf\u00e9\u00a0noir",
    "\u05d0\u200f\u05d1",
    "\U0001f469\u200d\U0001f373",
]
BAD = [
    "a\x00",
    "a\nb",
    "a\rb",
    "a\tb",
    "a\x0bb",
    "a\x1bb",
    "a\x85b",
    "a\u2028b",
    "a\u2029b",
    "\ud800",
    "a\u202eb",
    "a\u2066b",
    "\ue000",
]


@pytest.mark.parametrize("text", GOOD)
def test_a_line_may_contain_any_script_its_spaces_and_joiners(text: str) -> None:
    assert is_line(text)


@pytest.mark.parametrize("text", BAD)
def test_a_line_contains_no_line_breaks_or_control_characters(text: str) -> None:
    assert not is_line(text)


def test_prose_may_contain_common_line_breaks_and_tabs() -> None:
    assert is_prose("one\ntwo\r\nthree\rfour\tfive\n")
    assert not any(is_prose(f"one{letter}two") for letter in "\x00\x0b\x0c\x1c\x85\u2028\u202e")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Café  Crème, 250 g", "cafe creme 250 g"),
        ("Cafe\u0301", "cafe"),
        ("Straße Œuf Æble Łódź", "strasse oeuf aeble lodz"),
        ("\u0130stanbul \u0131", "istanbul i"),
        ("ΟΔΟΣ οδός", "οδοσ οδοσ"),
        ("X-200 3.5 node.js a_b", "x 200 3 5 node js a b"),
        ("“large”\u00a0\u2013\u3000「緑茶」、☕", "large 緑茶"),
        ("\uff2d\uff55\uff47", "mug"),
        ("한국어 ガラス कॉफी", "한국어 ガラス कॉफी"),
        (" .,;:!?'\"\\&|()<>*😀 ", ""),
    ],
)
def test_a_text_is_folded_to_lowercase_words_without_diacritics(text: str, expected: str) -> None:
    assert fold_text(text) == expected


def test_a_slug_has_lowercase_letters_digits_and_single_hyphens() -> None:
    assert slug_of("  Café Crème -- 250 g! ") == "cafe-creme-250-g"
    assert slug_of("日本語") == ""
    assert len(slug_of("x" * 500)) == 100
