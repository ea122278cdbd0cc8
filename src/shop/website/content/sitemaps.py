"""Sitemaps: an index, and files of at most 5,000 addresses, with the time of the last change of each."""

import re
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import cast
from urllib.parse import quote
from uuid import UUID

from shop.actions.content import sitemaps
from shop.actions.context import Context
from shop.base.errors import NotFound
from shop.models.content.public_urls import SITEMAP_KINDS, SitemapEntry, SitemapFile, SitemapKind
from shop.web.input.request import Request
from shop.web.reply import Reply
from shop.website.content.xml import DECLARATION, stream_xml, xml_text

_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
_FILE = re.compile(rf"({'|'.join(SITEMAP_KINDS)})(?:-([0-9a-f]{{32}}))?\.xml", re.ASCII)
_PATHS: dict[SitemapKind, str] = {
    "pages": "/pages/",
    "policies": "/policies/",
    "categories": "/t/",
    "products": "/products/",
}


async def show_index(request: Request, ctx: Context) -> Reply:
    return await stream_xml(request, _index(ctx, request.origin(ctx.shared.settings.public_url)))


async def show_file(request: Request, ctx: Context) -> Reply:
    match = _FILE.fullmatch(request.path_params["name"])
    if match is None:
        raise NotFound()
    kind, after = cast(SitemapKind, match[1]), UUID(match[2]) if match[2] else None
    return await stream_xml(request, _file(ctx, kind, after, request.origin(ctx.shared.settings.public_url)))


async def _index(ctx: Context, origin: str) -> AsyncGenerator[str]:
    start = f'{DECLARATION}<sitemapindex xmlns="{_NAMESPACE}">\n'
    async for file in sitemaps.list_files(ctx):
        yield start + _element("sitemap", f"{origin}/sitemaps/{_file_name(file)}", file.updated_at)
        start = ""
    yield "</sitemapindex>\n"


async def _file(ctx: Context, kind: SitemapKind, after: UUID | None, origin: str) -> AsyncGenerator[str]:
    start = f'{DECLARATION}<urlset xmlns="{_NAMESPACE}">\n'
    has_home = kind == "pages" and after is None
    if has_home:
        start += _element("url", f"{origin}/", None)
    is_empty = True
    async for entries in sitemaps.list_entries(ctx, kind, after):
        yield start + "".join(_url(origin + _PATHS[kind], entry) for entry in entries)
        start, is_empty = "", False
    if is_empty and not has_home:
        raise NotFound()
    yield start + "</urlset>\n"


def _url(base: str, entry: SitemapEntry) -> str:
    return _element("url", base + quote(entry.slug), entry.updated_at)


def _element(name: str, address: str, updated_at: datetime | None) -> str:
    changed = f"<lastmod>{updated_at.astimezone(UTC).isoformat(timespec='seconds')}</lastmod>" if updated_at else ""
    return f"<{name}><loc>{xml_text(address)}</loc>{changed}</{name}>\n"


def _file_name(file: SitemapFile) -> str:
    return f"{file.kind}-{file.after.hex}.xml" if file.after else f"{file.kind}.xml"
