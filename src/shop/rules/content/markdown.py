"""Renders Markdown as safe HTML.

Raw HTML is not parsed: it appears as text. Tags come only from the parser's own tokens, with the attributes listed
here. A link or an image with an address that is not allowed is replaced by its text.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from shop.base.lazy_modules import LazyModule

if TYPE_CHECKING:
    import markdown_it
    from markdown_it import token as token_module
    from markdown_it.token import Token
else:
    markdown_it, token_module = LazyModule("markdown_it"), LazyModule("markdown_it.token")

MAX_MARKDOWN_BYTES = 64 * 1024
"""Bytes of UTF-8."""
MAX_HTML_BYTES = 512 * 1024
_MAX_ADDRESS_LENGTH = 2_000
_MAX_TITLE_LENGTH = 200
# The parser percent-encodes spaces, control characters, backslashes and non-ASCII characters first.
_LINK = re.compile(r"https?://[!-~]+|mailto:[!-~]+|tel:[+0-9().-]+|/(?!/)[!-~]*|#[!-~]*", re.IGNORECASE)
_IMAGE = re.compile(r"https://[!-~]+|/media/(?!.*\.\.)[A-Za-z0-9._/-]+", re.IGNORECASE)
_REL = "noopener noreferrer"


class TooMuchHtml(ValueError):
    """The HTML would be too large, for example because a short text repeats links with long addresses."""


class RenderedMarkdown(msgspec.Struct, frozen=True):
    """A text as HTML and as plain text."""

    html: str
    text: str


@lru_cache(maxsize=1)
def _build_parser() -> "markdown_it.MarkdownIt":
    """Returns the parser. It accepts every address: for a rejected link, it would leave the markup in the text."""
    parser = markdown_it.MarkdownIt("js-default", {"html": False, "maxNesting": 20})
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    return parser


def render_markdown(markdown: str) -> RenderedMarkdown:
    """Renders Markdown; raises TooMuchHtml if the HTML would be larger than MAX_HTML_BYTES."""
    parser = _build_parser()
    tokens = _clean(parser.parse(markdown))
    if sum(map(_attribute_size, _walk(tokens))) > MAX_HTML_BYTES:
        raise TooMuchHtml
    html: str = parser.renderer.render(tokens, parser.options, {})
    if len(html) > MAX_HTML_BYTES:
        raise TooMuchHtml
    return RenderedMarkdown(html, "\n\n".join(filter(None, map(_text, tokens))))


def _clean(tokens: "Iterable[Token]") -> "list[Token]":
    """Returns the tokens that are safe to render, with only their allowed attributes."""
    safe_tokens: list[Token] = []
    open_links: list[bool] = []
    for token in tokens:
        if token.children is not None:
            token.children = _clean(token.children)
        if token.type == "link_open":
            open_links.append(_is_allowed(_LINK, token.attrs.get("href")))
        is_removed_link = token.tag == "a" and not open_links[-1]
        if token.type == "link_close":
            open_links.pop()
        if not is_removed_link:
            safe_tokens.append(_clean_token(token))
    return safe_tokens


def _clean_token(token: "Token") -> "Token":
    attributes = token.attrs
    titles = {"title": title} if (title := attributes.get("title")) and len(str(title)) <= _MAX_TITLE_LENGTH else {}
    token.attrs = {}
    match token.type:
        case "link_open":
            token.attrs = {"href": attributes["href"], **titles, "rel": _REL}
        case "image" if not _is_allowed(_IMAGE, attributes.get("src")):
            return token_module.Token("text", "", 0, content=token.content)
        case "image":
            token.attrs = {"src": attributes["src"], "alt": "", **titles}
        case "ordered_list_open" if "start" in attributes:
            token.attrs = {"start": attributes["start"]}
        case "fence":
            token.info = ""
        case "html_block" | "html_inline":
            return token_module.Token("text", "", 0, content=token.content)
    return token


def _is_allowed(pattern: re.Pattern[str], address: object) -> bool:
    text = str(address or "")
    return len(text) <= _MAX_ADDRESS_LENGTH and pattern.fullmatch(text) is not None


def _walk(tokens: "Iterable[Token]") -> "Iterable[Token]":
    for token in tokens:
        yield token
        yield from _walk(token.children or ())


def _attribute_size(token: "Token") -> int:
    return sum(len(str(value)) for value in token.attrs.values())


def _text(block: "Token") -> str:
    """Returns the text of a paragraph, heading, table cell or code block; empty for other blocks."""
    if block.type in {"fence", "code_block"}:
        return block.content.strip()
    return _inline_text(block.children or ())


def _inline_text(tokens: "Sequence[Token]") -> str:
    breaks = {"softbreak": "\n", "hardbreak": "\n"}
    return "".join(breaks.get(token.type, token.content) for token in tokens).strip()
