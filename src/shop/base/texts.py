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


def _plain_letters() -> dict[str, str]:
    """Small letters with marks on them, each with the one letter it is without: é is e. Up to U+0250 they are Latin."""
    letters = [chr(code) for code in range(0xDF, 0x250) if chr(code).islower()]
    plain = {letter: unicodedata.normalize("NFKD", letter)[0] for letter in letters}
    return {letter: base for letter, base in plain.items() if base.isascii()} | {"ø": "o", "ł": "l", "đ": "d"}


MARKED_LETTERS = _plain_letters()
"""The database folds what it searches by the same table, for it has none of its own."""
_FOLDING = str.maketrans(MARKED_LETTERS)
_NO_SLUG = re.compile(r"[^a-z0-9]+")
LONGEST_SLUG = 100


def folded(text: str) -> str:
    """As it is searched: small, and without marks on letters."""
    return text.lower().translate(_FOLDING)


def slug_of(text: str) -> str:
    """`Café Crème, 250 g` as `cafe-creme-250-g`; text without a Latin letter or digit has none."""
    words = folded(text).replace("ß", "ss").replace("æ", "ae").replace("œ", "oe")
    return _NO_SLUG.sub("-", words)[:LONGEST_SLUG].strip("-")
