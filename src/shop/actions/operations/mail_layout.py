"""Renders the texts of an e-mail into the layout: HTML with the brand of the shop, and plain text."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import structlog
from jinja2 import BaseLoader, ChoiceLoader, Environment, FileSystemLoader, StrictUndefined

from shop.gateways.mail import Mail, MailFile
from shop.models.journal import OutboxMail
from shop.models.setup.mails import NO_MAIL_SETTINGS, MailSettings
from shop.models.setup.shop import Shop
from shop.rules.catalog.images import find_covering_style, styles_of
from shop.rules.mail.definitions import CODE, LONG_CODE_SUBJECT, MailDefinition
from shop.rules.mail.templates import render_line, render_text, split_paragraphs
from shop.rules.setup.website import FONT_FAMILIES

_FILES = FileSystemLoader(Path(__file__).parent / "mails")
_extension_folders: list[FileSystemLoader] = []


def _html_environment(loader: BaseLoader) -> Environment:
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def _plain_environment(loader: BaseLoader) -> Environment:
    # The text part of an e-mail is not HTML.
    return Environment(loader=loader, autoescape=False, undefined=StrictUndefined)  # noqa: S701


_html, _plain = _html_environment(_FILES), _plain_environment(_FILES)
MAX_LOGO_WIDTH, MAX_LOGO_HEIGHT = 160, 48
_log = structlog.get_logger("shop.mail")


class MailContent(msgspec.Struct, frozen=True, kw_only=True):
    """What an e-mail is about: the variables of its texts, its link, and a part such as the items of the order."""

    variables: Mapping[str, str]
    url: str | None = None
    part: str | None = None
    details: Mapping[str, Any] = {}
    """The values of the part."""
    code: str | None = None
    """The login code, which is not stored."""
    has_long_code: bool = False
    is_fresh: bool = True
    """Whether it is still of use."""
    files: Sequence[MailFile] = ()


class MailBlocks(msgspec.Struct, frozen=True, kw_only=True):
    """The rendered texts of an e-mail, all of them plain text."""

    subject: str
    heading: str
    body: str
    button: str = ""
    footer: str = ""


class _Brand(msgspec.Struct, frozen=True):
    accent: str
    radius: int
    button_radius: int
    font: str
    logo_url: str | None
    logo_width: int = 0
    logo_height: int = 0


def render_blocks(definition: MailDefinition, settings: MailSettings, content: MailContent) -> MailBlocks:
    """Renders the texts of an e-mail. An edited text that fails is replaced by the default: no e-mail is lost."""
    try:
        return _render_blocks(definition, settings, content)
    except Exception:
        _log.exception("the texts of an e-mail cannot be rendered; the defaults are used", kind=definition.kind)
        return _render_blocks(definition, NO_MAIL_SETTINGS, content)


def _render_blocks(definition: MailDefinition, settings: MailSettings, content: MailContent) -> MailBlocks:
    texts, values = definition.texts(settings), content.variables
    subject = LONG_CODE_SUBJECT if content.has_long_code else texts["subject"]
    return MailBlocks(
        subject=render_line(subject, values),
        heading=render_line(texts["heading"], values),
        body=render_text(texts["body"], values),
        button=render_line(texts["button"], values),
        footer=render_text(texts["footer"], values),
    )


def build_mail(
    shop: Shop,
    row: OutboxMail,
    blocks: MailBlocks,
    content: MailContent,
    base_url: str | None,
    sender: str | None = None,
) -> Mail:
    """Builds an e-mail; `base_url` is the address of the website, without which there is neither a logo nor a link."""
    html, text = render_layout(shop, blocks, content, base_url, sender)
    return Mail(
        mark=str(row.id),
        written_at=row.created_at,
        recipient=row.recipient,
        subject=blocks.subject,
        text=text,
        html=html,
        files=content.files,
    )


def render_layout(
    shop: Shop,
    blocks: MailBlocks,
    content: MailContent,
    base_url: str | None,
    sender: str | None = None,
    *,
    is_preview: bool = False,
) -> tuple[str, str]:
    """Returns the HTML and the text of an e-mail; the HTML of a preview shows the subject and the text too."""
    text = _render_plain(shop, blocks, content, sender)
    html = _render(
        _html,
        _html_environment,
        "layout.html",
        {
            **content.details,
            "preview": text if is_preview else None,
            "shop": shop.name,
            "sender": sender or shop.name,
            "title": blocks.subject,
            "brand": _load_brand(shop, base_url),
            "is_code": content.code is not None and blocks.heading == content.variables[CODE],
            "heading": blocks.heading,
            "body": split_paragraphs(blocks.body),
            "part": content.part and f"parts/{content.part}.html",
            "url": content.url,
            "button": blocks.button,
            "footer": split_paragraphs(blocks.footer),
            "site_url": base_url and base_url.rstrip("/"),
            "site_name": urlsplit(base_url).netloc if base_url else "",
        },
    )
    return html, text


def add_templates(folder: Path) -> None:
    """Adds the templates of an extension, which replace those of the shop."""
    _extension_folders.append(FileSystemLoader(folder))


def _render(
    own: Environment, make_environment: Callable[[BaseLoader], Environment], name: str, values: Mapping[str, Any]
) -> str:
    """Renders a template of an extension, or the shop's own if it fails: an e-mail must not wait for a correction. A
    part that only the extension has is left out then.
    """
    if _extension_folders:
        try:
            environment = make_environment(ChoiceLoader([*_extension_folders, _FILES]))
            return environment.get_template(name).render(values)
        except Exception:
            _log.exception("extension failed", part=f"e-mail template {name}")
            own_names = own.list_templates()
            if name not in own_names:
                return ""
            values = {**values, "part": values["part"] if values.get("part") in own_names else None}
    return own.get_template(name).render(values)


def _render_plain(shop: Shop, blocks: MailBlocks, content: MailContent, sender: str | None) -> str:
    sections = [
        blocks.heading,
        blocks.body,
        _render(_plain, _plain_environment, f"parts/{content.part}.txt", content.details).strip()
        if content.part
        else "",
        f"{blocks.button}: {content.url}" if content.url else "",
        blocks.footer,
        f"-- \n{sender or shop.name}",
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _load_brand(shop: Shop, base_url: str | None) -> _Brand:
    website = shop.website_settings
    font = FONT_FAMILIES[website.font].replace('"', "'")
    radius = website.radius
    if website.logo is None or base_url is None:
        return _Brand(website.accent, radius, min(radius, 24), font, None)
    logo = website.logo
    scale = min(MAX_LOGO_WIDTH / logo.width, MAX_LOGO_HEIGHT / logo.height, 1)
    width, height = max(1, round(logo.width * scale)), max(1, round(logo.height * scale))
    # Twice as wide, for screens with a high resolution.
    style = find_covering_style(styles_of(logo.width, logo.height), 2 * width, 1).name
    url = f"{base_url.rstrip('/')}/media/{logo.id}/{style}"
    return _Brand(website.accent, radius, min(radius, 24), font, url, width, height)
