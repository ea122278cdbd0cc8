"""Validation and folding of user text: any script, without control, line-breaking or direction-changing characters.

`str.isprintable` is too strict: it rejects the ideographic space of Japanese addresses and the joiners inside emoji.
"""

import re
import unicodedata

# Control, surrogate, unassigned and private-use characters, and line and paragraph separators.
_UNSAFE_CATEGORIES = frozenset({"Cc", "Cs", "Cn", "Co", "Zl", "Zp"})
_LINE_END = re.compile(r"\r\n|\r|\n")
# Bidirectional controls reorder the text that follows, so that it displays differently from its content.
_BIDI_CONTROLS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def is_line(text: str) -> bool:
    """Returns whether this is one line of text."""
    if text.isascii():
        return text.isprintable()
    return not any(letter in _BIDI_CONTROLS or unicodedata.category(letter) in _UNSAFE_CATEGORIES for letter in text)


def is_prose(text: str) -> bool:
    """Returns whether this is text of one or more lines."""
    return all(is_line(line.replace("\t", " ")) for line in _LINE_END.split(text))


# The database folds and splits text with these same tables: its own treat every character beyond ASCII as a letter.
MARKS = "[\u0300-\u036f]+"
"""Combining marks, which are separate characters after decomposition: é is e and one of these."""
SEPARATORS = (
    "[\u0001-/:-@\\[-`{-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u00d7\u00f7\u0589\u05be\u060c\u061b\u061f\u06d4"
    "\u0964\u0965\u2000-\u206f\u20a0-\u20cf\u2190-\u2bff\u2e00-\u2e7f\u3000-\u3004\u3008-\u3020\u3030\u30a0\u30fb"
    "\ufe30-\ufe6f\ufeff-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\U0001f000-\U0001faff]+"
)
"""Spaces, punctuation and pictographs of the common scripts."""
OTHER_LETTERS = {"ø": "o", "ł": "l", "đ": "d", "\u0131": "i", "\u03c2": "\u03c3"}
"""The last is the Greek final sigma."""
DOUBLE_LETTERS = {"ß": "ss", "æ": "ae", "œ": "oe"}
_FOLDING = str.maketrans(OTHER_LETTERS | DOUBLE_LETTERS)
_NO_SLUG = re.compile(r"[^a-z0-9]+")
MAX_SLUG_LENGTH = 100
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Base 32 without the letters that resemble digits."""
# Letters and digits that are confused when read aloud or copied by hand.
_ALIKE = str.maketrans("OIL", "011")


def fold_text(text: str) -> str:
    """Folds text for search: lowercase words without diacritics, separated by single spaces."""
    plain = re.sub(MARKS, "", unicodedata.normalize("NFKD", text))
    # Recomposed, because NFKD also decomposes Korean syllables and some Japanese letters.
    small = unicodedata.normalize("NFC", plain).lower().translate(_FOLDING)
    return re.sub(SEPARATORS, " ", small).strip()


def slug_of(text: str) -> str:
    """Converts `Café Crème, 250 g` to `cafe-creme-250-g`; empty if the text has no Latin letter or digit."""
    return _NO_SLUG.sub("-", fold_text(text))[:MAX_SLUG_LENGTH].strip("-")


def normalize_base32(text: str, length: int) -> str | None:
    """Normalizes typed Base 32 in any case and grouping; None if the length or a character is wrong."""
    plain = text.replace(" ", "").replace("-", "").upper().translate(_ALIKE)
    return plain if len(plain) == length and not set(plain) - set(CROCKFORD) else None
