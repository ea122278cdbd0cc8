"""Page rendering: templates, template filters, redirects and error pages."""

import gzip
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
from jinja2 import ChoiceLoader, Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context as TemplateContext
from markupsafe import Markup

from shop.actions.context import Shared
from shop.base.errors import ShopError
from shop.base.money import money_text
from shop.base.times import in_zone
from shop.models.catalog.images import Image
from shop.rules.catalog.images import Style, find_covering_style, styles_of
from shop.web.image_urls import MEDIA
from shop.web.input.request import Request
from shop.web.reply import HTML, NO_STORE, Header, Reply
from shop.web.static_content import accepts_gzip
from shop.website.assets import PAGE_HEADERS, assets_of

TEMPLATES = Path(__file__).parent / "templates"
POLICY_PARTS = {
    "default-src": "'none'",
    "style-src": "'self'",
    "script-src": "'self'",
    "img-src": "'self' data:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "manifest-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "object-src": "'none'",
    "frame-ancestors": "'none'",
}
"""The Content-Security-Policy of every page; the payment page allows its provider in addition."""
_TITLES = {
    400: "That request was not understood",
    401: "Please sign in",
    403: "Not allowed",
    404: "We cannot find this page",
    405: "Not allowed",
    409: "Please try again",
    410: "This link is no longer valid",
    413: "That is too large",
    422: "Please check your input",
    429: "Too many requests",
    503: "We will be right back",
}
_SENTENCES = {
    404: "It may have moved, or the product is no longer sold. Try the search, or start at the home page.",
    405: "This address cannot be opened that way.",
    500: "We could not show this page. Please try again in a moment.",
    503: "The shop is being restarted. Please try again in a moment.",
}
"""Sentences for shoppers, where those of the errors are for developers."""
_PERSONAL_LEVEL = 1
"""The compression level of personal pages, which are compressed for every request."""


def page_policy(**additions: str) -> bytes:
    """Builds the Content-Security-Policy; an addition like `script_src="https://js.stripe.com"` extends a directive."""
    parts = dict(POLICY_PARTS)
    for name, sources in additions.items():
        directive = name.replace("_", "-")
        known = parts.get(directive)
        parts[directive] = f"{known} {sources}" if known and known != "'none'" else sources
    return "; ".join(f"{name} {sources}" for name, sources in parts.items()).encode()


PAGE_POLICY = page_policy()


@pass_context
def day(context: TemplateContext, value: datetime) -> str:
    """Formats a date like `15 November 2026`, in the shop's time zone."""
    shop = context.get("shop")  # A macro of a theme may not have it.
    at = in_zone(value, shop.zone if shop else UTC)
    return f"{at.day} {at:%B %Y}"


def money(amount: int, currency: str, locale: str) -> str:
    return money_text(currency, locale)(amount)


class ImageSource(msgspec.Struct, frozen=True):
    """The attributes of an `img` element."""

    src: str
    srcset: str
    width: int
    height: int


def image_source(image: Image, width: int) -> ImageSource:
    """Returns the attributes for an image shown about `width` pixels wide; `srcset` has all sizes up to three times
    that.
    """
    shown, useful = _source_styles(image.width, image.height, width)
    address = f"{MEDIA}/{image.id}/"
    srcset = ", ".join([f"{address}{style.name} {style.width}w" for style in useful])
    return ImageSource(address + shown.name, srcset, shown.width, shown.height)


@lru_cache(maxsize=4096)
def _source_styles(image_width: int, image_height: int, width: int) -> tuple[Style, Sequence[Style]]:
    """Returns the size to show, and those to choose from; many images of a shop have the same size."""
    styles = styles_of(image_width, image_height)
    shown = find_covering_style(styles, width, 1)
    most = max(3 * width, shown.width)
    return shown, [style for style in styles if 160 <= style.width <= most] or [shown]


def error_text(sentences: Sequence[str], label: str) -> str:
    """Joins the errors of a field into sentences."""
    return " ".join(text if text.endswith(".") else f"{label} {text}." for text in sentences)


_extension_folders: list[Path] = []


def add_templates(folder: Path) -> None:
    """Adds a folder of an extension; its templates replace the website's, and those of a theme replace them."""
    _extension_folders.append(folder)
    templates.cache_clear()


@lru_cache(maxsize=4)
def templates(theme_dir: Path | None) -> Environment:
    """Returns the environment; templates of the theme directory replace the website's, which they can still extend as
    `base/<name>`.
    """
    own = FileSystemLoader(TEMPLATES)
    folders = [*([theme_dir / "templates"] if theme_dir else []), *_extension_folders]
    environment = Environment(
        loader=ChoiceLoader([*map(FileSystemLoader, folders), own, _BaseLoader()]),
        autoescape=True,
        undefined=StrictUndefined,
        # To look for a newer file takes a file access for each template of each page.
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"day": day, "image_source": image_source, "error_text": error_text}
    environment.filters["iso"] = lambda value: value.astimezone(UTC).isoformat(timespec="seconds")
    environment.filters["json"] = json_for_script
    return environment


class _BaseLoader(FileSystemLoader):
    """Loads `base/<name>` from the website's own templates, so that a theme can extend what it replaces."""

    def __init__(self) -> None:
        super().__init__(TEMPLATES)

    def get_source(self, environment: Environment, template: str) -> Any:
        return super().get_source(environment, template.removeprefix("base/"))


def json_for_script(value: Any) -> Markup:
    """Encodes a value for a script element; no text in it can end the element."""
    text = msgspec.json.encode(value).decode()
    escaped = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Markup(escaped)  # noqa: S704  All markup characters are escaped above.


def render(shared: Shared, template: str, **values: Any) -> str:
    """Renders a template with the values that all templates use."""
    shop = shared.shop
    values = {
        "shop": shop,
        "site": shop.website_settings,
        "assets": assets_of(shared),
        # Before the shop is loaded, it has no currency; error pages show no amounts.
        "money": lambda amount, currency=None: money(amount, currency or shop.currencies[0], shop.default_locale),
        **values,
    }
    return templates(shared.settings.theme_dir).get_template(template).render(values)


def html_page(
    request: Request | None,
    body: str,
    status: int = 200,
    *headers: Header,
    policy: bytes = PAGE_POLICY,
    start: float = 0.0,
) -> Reply:
    """Replies with a personal page, which no cache may store."""
    data = body.encode()
    encoding: tuple[Header, ...] = ()
    if request and accepts_gzip(request.headers.get(b"accept-encoding", b"")):
        data, encoding = gzip.compress(data, _PERSONAL_LEVEL, mtime=0), ((b"content-encoding", b"gzip"),)
    timing = (b"server-timing", f"app;dur={(perf_counter() - start) * 1000:.1f}".encode()) if start else None
    all_headers = (
        (b"content-type", HTML),
        NO_STORE,
        (b"vary", b"Accept-Encoding, Cookie"),
        *encoding,
        *headers,
        *([timing] if timing else []),
    )
    return Reply(status, data, all_headers, policy, PAGE_HEADERS)


def redirect(path: str, *headers: Header) -> Reply:
    """Redirects after a form with 303, so that the browser continues with GET and a reload repeats nothing."""
    return Reply(303, headers=((b"location", path.encode("ascii")), NO_STORE, *headers), security=PAGE_HEADERS)


def notice_of(request: Request, notices: Mapping[str, str]) -> str | None:
    """Returns the notice named by `?done=`; only known notices are shown, never text from the URL."""
    word = request.query.get("done")
    return notices.get(word) if isinstance(word, str) else None


def error_title(error: ShopError) -> str:
    return _TITLES.get(error.status, "Something went wrong")


def error_sentence(error: ShopError) -> str:
    return _SENTENCES.get(error.status, error.sentence)
