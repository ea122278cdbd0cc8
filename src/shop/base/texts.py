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
