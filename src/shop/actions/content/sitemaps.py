"""Sitemaps: files of a bounded size, and their records, read in batches."""

from collections.abc import AsyncGenerator
from uuid import UUID

from shop.actions.context import Context
from shop.models.content.public_urls import SITEMAP_KINDS, SitemapEntry, SitemapFile, SitemapKind
from shop.queries.content import sitemaps

FILE_SIZE = 5_000
"""The maximum number of records of a file; the protocol allows 50,000."""
_BATCH = 1_000
_START = UUID(int=0)


async def list_files(ctx: Context) -> AsyncGenerator[SitemapFile]:
    """Yields the files of all kinds, with one statement each. The file of pages always exists: it has the home page."""
    for kind in SITEMAP_KINDS:
        after: UUID | None = None
        while part := await sitemaps.find_part_after(ctx.db, kind, after or _START, FILE_SIZE):
            yield SitemapFile(kind, after, part.updated_at)
            after = part.last_id
            if part.size < FILE_SIZE:
                break
        if kind == "pages" and after is None:
            yield SitemapFile(kind, None, None)


async def list_entries(ctx: Context, kind: SitemapKind, after: UUID | None) -> AsyncGenerator[list[SitemapEntry]]:
    """Yields the records of one file in batches, with one statement each."""
    last_id, remaining = after or _START, FILE_SIZE
    while remaining:
        entries = await sitemaps.list_entries_after(ctx.db, kind, last_id, min(_BATCH, remaining))
        if not entries:
            return
        yield entries
        last_id, remaining = entries[-1].id, remaining - len(entries)
