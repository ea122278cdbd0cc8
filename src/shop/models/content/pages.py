"""Pages and policies that the shop's operators write in Markdown."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from shop.db.rows import Row, check, index, key, table, unique

PAGE_TYPES = ("standard", "homepage", "feature")


class CmsPage(Row, frozen=True, kw_only=True):
    """A page of the shop. `content` is Markdown; `content_html` is rendered from it with every change."""

    id: UUID
    title: str
    slug: str
    locale: str
    type: str = "standard"
    visible: bool = True
    content: str | None = None
    content_html: str = ""
    meta_title: str | None = None
    meta_description: str | None = None
    public_metadata: dict[str, Any] = {}  # noqa: RUF012  msgspec copies it.
    private_metadata: dict[str, Any] = {}  # noqa: RUF012
    created_at: datetime
    updated_at: datetime


class Policy(Row, frozen=True, kw_only=True):
    """Terms, privacy, returns, shipping. `body` is Markdown; its HTML and its plain text are rendered from it."""

    id: UUID
    name: str
    slug: str
    body: str | None = None
    body_html: str = ""
    body_text: str = ""
    show_in_checkout_footer: bool = False
    public_metadata: dict[str, Any] = {}  # noqa: RUF012
    private_metadata: dict[str, Any] = {}  # noqa: RUF012
    created_at: datetime
    updated_at: datetime


class PublicPage(msgspec.Struct, frozen=True, kw_only=True):
    """A visible page as shoppers see it: `content` is HTML."""

    id: UUID
    title: str
    slug: str
    locale: str
    type: str
    content: str
    meta_title: str | None
    meta_description: str | None


class PublicPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """A policy as shoppers see it: `body` is plain text."""

    id: UUID
    name: str
    slug: str
    body: str
    body_html: str
    show_in_checkout_footer: bool
    created_at: datetime
    updated_at: datetime


cms_pages = table(
    "cms_pages",
    CmsPage,
    key("id"),
    unique("slug"),
    index("ix_cms_pages_visible", "id", where="visible"),
    check("type", "type in ('standard', 'homepage', 'feature')"),
)
policies = table("policies", Policy, key("id"), unique("slug"))
