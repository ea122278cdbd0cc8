"""The API reference pages: a start page, and one page per section of the OpenAPI description."""

import asyncio
import html
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from shop.actions.context import Context
from shop.base.crypto.order_tokens import ORDER_TOKEN_PATTERN
from shop.base.crypto.secrets import KINDS
from shop.base.errors import NotFound
from shop.jsonapi.examples import ExampleGenerator
from shop.jsonapi.schema import reference
from shop.site.docs_entries import BASE, EXAMPLE_VALUES, Entry, Failure, entries, failures_of, pretty
from shop.site.reference import ApiDefinition, build_openapi
from shop.web.endpoint import Handler
from shop.web.input.request import Request
from shop.web.reply import HTML, JSON, Reply, fixed_page_policy
from shop.web.static_content import StaticContent, static_content, static_reply

SECRET_PATTERN = f"shp({'|'.join(kind[3:5] for kind in KINDS)})_[0-9A-Za-z]{{49}}"
_FIRST, _OPERATIONS = "", "operations.json"
_TEMPLATES = Path(__file__).parent / "templates"
_STYLE, _SCRIPT = ((_TEMPLATES / name).read_text() for name in ("docs.css", "docs.js"))
_POLICY = fixed_page_policy(_STYLE, _SCRIPT)
# Statuses that any URL may return, not tied to an operation.
_COMMON_FAILURES = {
    405: ("The path does not support this method; `Allow` lists the supported methods.", "method_not_allowed"),
    414: ("The URL is too long.", "uri_too_long"),
    431: ("The headers are too large.", "headers_too_large"),
    500: ("Internal error; the log has details under the request id.", "internal_error"),
}

_templates = Environment(
    loader=FileSystemLoader(_TEMPLATES),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


class Section(msgspec.Struct, frozen=True):
    """The operations of one tag, shown on one page."""

    id: str
    api: str
    name: str
    sentence: str
    entries: Sequence[Entry]
    webhooks: Sequence[tuple[str, str]] = ()
    """The types of webhooks, each with what causes it."""


def make_docs_handler(load_apis: Callable[[], Sequence[ApiDefinition]]) -> Handler:
    """Returns the handler of the pages, rendered in a thread on first use and cached per base URL."""

    @cache
    def render_pages() -> Mapping[str, str]:
        return _render(build_openapi(load_apis()))

    @lru_cache(maxsize=96)
    def content(name: str, base: str) -> StaticContent | None:
        page = render_pages().get(name)
        return None if page is None else static_content(page.replace(BASE, html.escape(base)).encode())

    async def answer(request: Request, ctx: Context) -> Reply:
        name = request.path_params.get("section", _FIRST)
        base = request.origin(ctx.shared.settings.public_url).rstrip("/")
        static_page = await asyncio.to_thread(content, name, "" if name == _OPERATIONS else base)
        if static_page is None:
            raise NotFound()
        return static_reply(request, static_page, JSON if name == _OPERATIONS else HTML, _POLICY)

    return answer


def _render(description: dict[str, Any]) -> Mapping[str, str]:
    """Renders every page, by the last segment of its path."""
    examples = ExampleGenerator(description["components"]["schemas"], EXAMPLE_VALUES)
    sections = sorted((_section(description, tag, examples) for tag in description["tags"]), key=_sort_key)
    apis: dict[str, list[Section]] = {}
    for section in sections:
        apis.setdefault(section.api, []).append(section)
    shared = {"apis": apis, "base": BASE, "prose": _prose, "style": _STYLE, "script": _SCRIPT}
    error = examples.brief(reference("ErrorBody"))
    first = _templates.get_template("docs_start.html").render(
        **shared,
        current=None,
        about=description["info"]["description"],
        codes=_all_codes(description),
        error=pretty({**error, "error": NotFound.sentence, "code": NotFound.code}),
        secret_pattern=SECRET_PATTERN,
        order_token_pattern=ORDER_TOKEN_PATTERN,
    )
    template = _templates.get_template("docs_section.html")
    others = {section.id: template.render(**shared, current=section) for section in sections}
    return {_FIRST: first, _OPERATIONS: _operations(sections), **others}


def _sort_key(section: Section) -> tuple[Any, ...]:
    """Sorts storefront sections in declaration order, platform sections by name, after Tokens."""
    return ("",) if section.api == "Storefront" else (section.api, section.name != "Tokens", section.name)


def _section(description: dict[str, Any], tag: Mapping[str, Any], examples: ExampleGenerator) -> Section:
    api, _, name = tag["name"].partition(": ")
    section_entries = list(entries(description, tag["name"], examples))
    webhooks = [
        (type_, methods["post"]["summary"])
        for type_, methods in description.get("webhooks", {}).items()
        if methods["post"]["tags"] == [tag["name"]]
    ]
    return Section(_slug(tag["name"]), api, name, tag["description"], section_entries, webhooks)


def _operations(sections: Iterable[Section]) -> str:
    """Returns the search index: each operation with its searchable words."""
    rows = [
        {
            "page": f"/docs/{section.id}#{entry.id}",
            "section": f"{section.api}: {section.name}",
            "method": entry.method,
            "path": entry.path,
            "summary": entry.summary,
            "id": entry.id,
        }
        for section in sections
        for entry in section.entries
    ]
    return msgspec.json.encode(rows).decode()


def _all_codes(description: dict[str, Any]) -> list[Failure]:
    """Lists every error status with its codes, including those that any URL may return."""
    codes: dict[int, dict[str, None]] = {status: {code: None} for status, (_, code) in _COMMON_FAILURES.items()}
    sentences = {status: sentence for status, (sentence, _) in _COMMON_FAILURES.items()}
    for operation in (row for methods in description["paths"].values() for row in methods.values()):
        for failure in failures_of(operation):
            codes.setdefault(failure.status, {}).update(dict.fromkeys(failure.codes))
            sentences[failure.status] = failure.sentence
    return [Failure(status, sentences[status], list(codes[status])) for status in sorted(codes)]


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower())


def _prose(text: str) -> Markup:
    """Renders backquoted words as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False)))  # noqa: S704
