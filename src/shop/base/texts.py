"""Which texts people may type: any script, and nothing that would break a line, a page or a reader's eye.

`str.isprintable` is too strict for this: it refuses the space of Japanese addresses and the joiners inside emoji.
"""

import re
import string
import unicodedata

# Control characters, halves of pairs, unassigned ones, and separators of lines and paragraphs.
_BROKEN = frozenset({"Cc", "Cs", "Cn", "Co", "Zl", "Zp"})
_LINE_END = re.compile(r"\r\n|\r|\n")
# They turn the text that follows around, so that what is read is not what is there.
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def is_line(text: str) -> bool:
    """One line of text."""
    if text.isascii():
        return text.isprintable()
    return not any(letter in _TURNING or unicodedata.category(letter) in _BROKEN for letter in text)


def is_prose(text: str) -> bool:
    """Lines of text."""
    return all(is_line(line.replace("\t", " ")) for line in _LINE_END.split(text))


MARKS = "[\u0300-\u036f]+"
"""Accents and the like that stand alone once a text is taken apart: é is e and one of these."""
# A sigma that ends a Greek word has a small letter of its own.
OTHER_LETTERS = {"ø": "o", "ł": "l", "đ": "d", "\u0131": "i", "\u03c2": "\u03c3"}
OTHER_LETTERS |= dict.fromkeys(string.punctuation, " ")
DOUBLE_LETTERS = {"ß": "ss", "æ": "ae", "œ": "oe"}
"""The database folds what it searches by the same tables, for it has none of its own."""
_FOLDING = str.maketrans(OTHER_LETTERS | DOUBLE_LETTERS)
_NO_SLUG = re.compile(r"[^a-z0-9]+")
LONGEST_SLUG = 100


def folded(text: str) -> str:
    """As it is searched: small, without marks on letters, and without punctuation."""
    plain = re.sub(MARKS, "", unicodedata.normalize("NFD", text))
    # Put together again: the syllables of Korean and some letters of Japanese were taken apart as well.
    return unicodedata.normalize("NFC", plain).lower().translate(_FOLDING)


def slug_of(text: str) -> str:
    """`Café Crème, 250 g` as `cafe-creme-250-g`; text without a Latin letter or digit has none."""
    return _NO_SLUG.sub("-", folded(text))[:LONGEST_SLUG].strip("-")
