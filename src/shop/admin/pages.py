"""Page rendering: templates, template filters, redirects and error pages."""

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime, tzinfo
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PrefixLoader, StrictUndefined
from markupsafe import Markup, escape

from shop.admin.assets import ASSETS
from shop.admin.menu import find_current, list_groups
from shop.base.errors import ShopError
from shop.base.money import money_text
from shop.base.times import find_display_zone, format_day, format_time
from shop.models.catalog.images import Image
from shop.models.setup.shop import Shop
from shop.models.setup.website import WebsiteImage
from shop.queries.access.operators import SignedInOperator
from shop.queries.catalog_admin.products import ListedProduct
from shop.rules.access.permissions import SELF
from shop.rules.catalog.images import find_covering_style, styles_of
from shop.rules.documents.documents import recipient_lines
from shop.rules.event_types import title_type
from shop.rules.setup.names import label_currency
from shop.web.image_urls import MEDIA
from shop.web.input.request import Request
from shop.web.reply import DASHBOARD_HEADERS, NO_STORE, Header, Reply, html_reply, page_error_headers, page_policy

_TITLES = {
    400: "Bad request",
    401: "Sign in",
    403: "Not allowed",
    404: "Not found",
    409: "Conflict",
    405: "Not allowed",
    410: "This link is no longer valid",
    413: "Too large",
    422: "Invalid input",
    429: "Too many attempts",
    503: "Temporarily unavailable",
}
_NEVER = Markup('<span class="quiet">never</span>')
_BREAK = Markup("<wbr>")
_OPTION = Markup('<option value="{}"{}>{}</option>')
_SELECTION = Markup(" selected")
_UNITS = {"day": 86400, "hour": 3600, "minute": 60, "second": 1}


_zone: ContextVar[tzinfo] = ContextVar("zone", default=UTC)
"""The time zone of the page that is rendered; a variable of the page would not reach the macros of other files."""

PermissionFinder = Callable[[str, str], str]
"""Returns the permission of a route of the dashboard, by method and path."""


class PageContext(msgspec.Struct, frozen=True):
    """The context of one operator request: the operator and the values that every page shows."""

    operator_session: SignedInOperator
    permissions: frozenset[str]
    csrf: str
    shop: Shop
    origin: str
    """Scheme and host of the URL that the operator uses."""
    path: str
    has_mailbox: bool
    find_permission: PermissionFinder

    def can(self, permission: str) -> bool:
        """Returns whether the operator's role has the permission."""
        return permission == SELF or permission in self.permissions

    def can_open(self, method: str, path: str) -> bool:
        """Returns whether the operator may call a route of the dashboard; templates ask before they offer it."""
        return self.can(self.find_permission(method, path))


def moment(value: datetime) -> str:
    """Formats a time in the zone of the shop, like `15 Nov 2026, 07:52 CET`."""
    return format_time(value, _zone.get())


def time_element(value: datetime | None) -> Markup:
    """Returns the element of a time. Lists have many, and a macro of a template takes several times as long."""
    if value is None:
        return _NEVER
    zone = _zone.get()
    text = f'<time datetime="{value.astimezone(UTC).isoformat()}" title="{zone}">{format_time(value, zone)}</time>'
    return Markup(text)  # noqa: S704  Names of zones need no escaping.


def email_element(address: str) -> Markup:
    """Returns an e-mail address that may break before its host."""
    name, at, host = address.rpartition("@")
    return escape(name) + _BREAK + escape(at + host)


def options(choices: Iterable[tuple[object, str]], current: object) -> Markup:
    """Returns the options of a select; those of long lists are kept from page to page."""
    return _render_options(tuple((str(value), text) for value, text in choices), str(current))


@lru_cache(maxsize=128)
def _render_options(choices: tuple[tuple[str, str], ...], current: str) -> Markup:
    texts = (_OPTION.format(value, _SELECTION if value == current else "", text) for value, text in choices)
    return Markup("").join(texts)


def day_text(value: datetime, zone: str | None = None) -> str:
    """Formats a day in the zone of the shop, or in that of a document, like `15 Nov 2026`."""
    return format_day(value, find_display_zone(zone) if zone else _zone.get())


def zone_name() -> str:
    """Returns the name of the zone in which the page shows and reads times."""
    return str(_zone.get())


def duration(seconds: int) -> str:
    """Formats seconds like `2 hours`, `90 minutes`, `1 day`: in the largest unit that divides them."""
    size, unit = next((size, unit) for unit, size in _UNITS.items() if seconds % size == 0)
    count = seconds // size
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


def money(amount: int, currency: str, locale: str) -> str:
    return money_text(currency, locale)(amount)


def percent(value: Decimal) -> str:
    """Formats a percentage like `12.5%` or `20%`."""
    return f"{value.normalize():f}%"


def join_errors(sentences: Sequence[str], label: str) -> str:
    """Joins the errors of a field into sentences."""
    return " ".join(text if text.endswith(".") else f"{label} {text}." for text in sentences)


def sentence(text: str) -> str:
    """Capitalizes a rule's text and ends it with a period."""
    return f"{text[:1].upper()}{text[1:]}."


def picture(row: Image | WebsiteImage | ListedProduct, width: int) -> str | None:
    """Returns the URL of the smallest image size that covers `width`; None without an image."""
    if isinstance(row, Image | WebsiteImage):
        image_id, wide, high = row.id, row.width, row.height
    elif row.image_id and row.image_width and row.image_height:
        image_id, wide, high = row.image_id, row.image_width, row.image_height
    else:
        return None
    return f"{MEDIA}/{image_id}/{find_covering_style(styles_of(wide, high), width, 1).name}"


def json_text(value: object) -> str:
    """Formats a value as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


_extension_templates: dict[str, FileSystemLoader] = {}
_templates = Environment(
    loader=ChoiceLoader(
        [FileSystemLoader(Path(__file__).parent / "templates"), PrefixLoader(_extension_templates, delimiter=":")]
    ),
    autoescape=True,
    # A page has a dozen files; looking whether each of them changed takes time.
    auto_reload=False,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters |= {"duration": duration, "moment": moment, "money": money, "percent": percent}
_templates.filters |= {"picture": picture, "sentence": sentence, "error_text": join_errors}
_templates.filters |= {"json_text": json_text, "day": day_text}
_templates.filters |= {"currency_name": label_currency, "type_title": title_type, "address_lines": recipient_lines}
_templates.filters["iso"] = lambda value: value.astimezone(UTC).isoformat()
_templates.globals |= {"assets": {name: asset.path for name, asset in ASSETS.items()}, "zone_name": zone_name}
_templates.globals |= {"time_element": time_element, "email_element": email_element, "options": options}


def add_templates(name: str, folder: Path) -> None:
    """Adds the templates of an extension, as `<name>:<file>`."""
    _extension_templates[name] = FileSystemLoader(folder)


def compile_template(source: str) -> None:
    """Raises TemplateError for a template that cannot be compiled."""
    _templates.compile(source)


def render_part(template: str, page_context: PageContext, **values: Any) -> Markup:
    """Renders a part of a page."""
    text = _templates.get_template(template).render(shop=page_context.shop, page_context=page_context, **values)
    return Markup(text)  # noqa: S704  Escaped by the template.


def menu_entries(page_context: PageContext) -> Markup:
    """Returns the entries of the menu, which each page shows twice: beside it, and behind a button on a phone."""
    current = find_current(page_context.path)
    find_permission = page_context.find_permission
    return _render_menu(current, page_context.permissions, find_permission, has_mailbox=page_context.has_mailbox)


@lru_cache(maxsize=256)
def _render_menu(
    current: str | None,
    permissions: frozenset[str],
    find_permission: PermissionFinder,
    *,
    has_mailbox: bool,
) -> Markup:
    groups = list_groups(
        lambda method, path: find_permission(method, path) in permissions | {SELF}, has_mailbox=has_mailbox
    )
    return Markup(_templates.get_template("menu.html").render(groups=groups, current=current))  # noqa: S704  Escaped by the template.


_templates.globals["menu_entries"] = menu_entries


def page(template: str, page_context: PageContext, status: int = 200, **values: Any) -> Reply:
    """Renders a page with the menu."""
    values = {"errors": {}, "notice": None, **values}
    nonce, body = _render(template, shop=page_context.shop, page_context=page_context, **values)
    return _page_reply(body, nonce, status, ())


def confirmation_page(
    page_context: PageContext,
    status: int = 200,
    *,
    question: str,
    sentence: str,
    action: str,
    button: str,
    back: tuple[str, str],
    **more: Any,
) -> Reply:
    """Renders the page that asks before an action: its question, what it will do, and the button that sends it.

    `back` is the path and the name of the page to return to.
    """
    texts = {"question": question, "sentence": sentence, "button": button, "back": back[0], "back_name": back[1]}
    return page("confirmation.html", page_context, status, action=action, **texts, **more)


def bare_page(template: str, status: int = 200, headers: tuple[Header, ...] = (), **values: Any) -> Reply:
    """Renders a page without the menu, for visitors who are not signed in."""
    nonce, body = _render(template, **{"errors": {}, "notice": None, "shop": None, **values})
    return _page_reply(body, nonce, status, headers)


def _render(template: str, **values: Any) -> tuple[str, str]:
    """Returns the nonce of the page's scripts, and the page."""
    nonce, shop = secrets.token_urlsafe(16), values["shop"]
    _zone.set(shop.zone if shop else UTC)
    return nonce, _templates.get_template(template).render(nonce=nonce, **values)


def _page_reply(body: str, nonce: str, status: int, headers: tuple[Header, ...]) -> Reply:
    reply = html_reply(body, nonce, status, headers)
    return msgspec.structs.replace(reply, security=DASHBOARD_HEADERS, policy=page_policy(nonce, "'self'"))


def redirect(path: str, *headers: Header) -> Reply:
    """Redirects after a form with 303, so that the browser continues with GET and a reload repeats nothing."""
    return Reply(303, headers=((b"location", path.encode("ascii")), NO_STORE, *headers), security=DASHBOARD_HEADERS)


def notice_of(request: Request, notices: Mapping[str, str]) -> str | None:
    """Returns the notice named by `?done=`; only known notices are shown, never text from the URL."""
    word = request.params.get("done")
    return notices.get(word) if isinstance(word, str) else None


def error_page(error: ShopError, request_id: str, _media: bytes) -> Reply:
    title = _TITLES.get(error.status, "Something went wrong")
    headers = tuple(page_error_headers(error))
    return bare_page("error.html", error.status, headers, title=title, error=error, request_id=request_id)


def error_page_with_menu(error: ShopError, request_id: str, page_context: PageContext) -> Reply:
    title = _TITLES.get(error.status, "Something went wrong")
    more = {"title": title, "error": error, "request_id": request_id, "back": _find_list(page_context)}
    reply = page("error_with_menu.html", page_context, error.status, **more)
    return msgspec.structs.replace(reply, headers=(*reply.headers, *page_error_headers(error)))


def _find_list(page_context: PageContext) -> tuple[str, str]:
    """Returns the path and the name of the page of the menu above the current one; the overview if there is none."""
    groups = list_groups(page_context.can_open, has_mailbox=page_context.has_mailbox)
    entries = [entry for group in groups for entry in group.entries if entry.is_current(page_context.path)]
    entry = next((entry for entry in entries if entry.path != page_context.path), None)
    return (entry.path, entry.text) if entry else ("/admin", "the overview")
