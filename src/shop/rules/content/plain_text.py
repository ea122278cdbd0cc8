"""Plain text from HTML, and excerpts for search engines and feeds."""

import html
import re

EXCERPT_LENGTH = 160
"""Search engines show about this many characters of a description."""
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_SPACE = re.compile(r"\s+")


def strip_tags(text: str) -> str:
    """Returns the text of HTML as one line; a plain text is returned as it is, except for its line breaks."""
    return _SPACE.sub(" ", html.unescape(_TAG.sub(" ", text))).strip()


def excerpt(text: str, length: int = EXCERPT_LENGTH) -> str:
    """Shortens one line of text at the end of a word."""
    if len(text) <= length:
        return text
    start = text[: length - 1]
    whole_words = start.rpartition(" ")[0] if text[length - 1] != " " else start
    return (whole_words or start).rstrip(" ,;:.-") + "…"
