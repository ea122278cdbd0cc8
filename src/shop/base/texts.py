"""Which texts people may type: any script, and nothing that would break a line, a page or a reader's eye.

`str.isprintable` is too strict for this: it refuses the space of Japanese addresses and the joiners inside emoji.
"""

import re
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


# The database folds and parts what it searches by the same tables: it has none of its own, and takes every sign beyond
# ASCII for a letter.
MARKS = "[\u0300-\u036f]+"
"""Accents and the like, which stand alone once a text is taken apart: é is e and one of these."""
SEPARATORS = (
    "[\u0001-/:-@\\[-`{-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u00d7\u00f7\u0589\u05be\u060c\u061b\u061f\u06d4"
    "\u0964\u0965\u2000-\u206f\u20a0-\u20cf\u2190-\u2bff\u2e00-\u2e7f\u3000-\u3004\u3008-\u3020\u3030\u30a0\u30fb"
    "\ufe30-\ufe6f\ufeff-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\U0001f000-\U0001faff]+"
)
"""Spaces, punctuation and pictures, in any script that is much written."""
OTHER_LETTERS = {"ø": "o", "ł": "l", "đ": "d", "\u0131": "i", "\u03c2": "\u03c3"}
"""The last is the sigma that ends a Greek word."""
DOUBLE_LETTERS = {"ß": "ss", "æ": "ae", "œ": "oe"}
_FOLDING = str.maketrans(OTHER_LETTERS | DOUBLE_LETTERS)
_NO_SLUG = re.compile(r"[^a-z0-9]+")
LONGEST_SLUG = 100


def folded(text: str) -> str:
    """As it is searched: small words without marks on their letters, a space between each two."""
    plain = re.sub(MARKS, "", unicodedata.normalize("NFKD", text))
    # Put together again: the syllables of Korean and some letters of Japanese were taken apart as well.
    small = unicodedata.normalize("NFC", plain).lower().translate(_FOLDING)
    return re.sub(SEPARATORS, " ", small).strip()


def slug_of(text: str) -> str:
    """`Café Crème, 250 g` as `cafe-creme-250-g`; text without a Latin letter or digit has none."""
    return _NO_SLUG.sub("-", folded(text))[:LONGEST_SLUG].strip("-")
