"""Pages and policies: written as Markdown by operators and machines, shown as HTML to shoppers.

What changes something runs inside the caller's transaction.
"""

import asyncio
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from shop.actions.context import Context
from shop.base.errors import Invalid, Lost, NotFound
from shop.base.ids import new_id
from shop.base.listing import Keyset, ListedRows, Page
from shop.base.texts import slug_of
from shop.db.pool import Refused
from shop.models.content.pages import ShownPage, ShownPolicy, cms_pages, policies
from shop.queries import writes
from shop.queries.content import pages as queries
from shop.rules.catalog.products import free_slug
from shop.rules.content.markdown import Rendered, TooMuchHtml, render_markdown
from shop.rules.content.pages import TOO_MUCH_HTML, page_errors, page_type

Values = Mapping[str, Any]


async def create_page(ctx: Context, values: Values) -> UUID:
    fields = {"locale": ctx.shared.shop.default_locale, **await _page_fields(values)}
    return await _insert(ctx, cms_pages, fields, values["title"])


async def update_page(ctx: Context, page_id: UUID, values: Values) -> None:
    await _update(ctx, cms_pages, page_id, await _page_fields(values), "title")


async def create_policy(ctx: Context, values: Values) -> UUID:
    return await _insert(ctx, policies, await _policy_fields(values), values["name"])


async def update_policy(ctx: Context, policy_id: UUID, values: Values) -> None:
    await _update(ctx, policies, policy_id, await _policy_fields(values), "name")


async def list_pages(ctx: Context, filters: Values, page: Page | Keyset) -> ListedRows:
    return await queries.list_public(ctx.db, queries.PAGES, filters, page)


async def get_page(ctx: Context, key: UUID | str) -> ShownPage:
    found: ShownPage | None = await queries.find_public(ctx.db, queries.PAGES, key)
    if found is None:
        raise NotFound()
    return found


async def list_policies(ctx: Context, filters: Values, page: Page | Keyset) -> ListedRows:
    return await queries.list_public(ctx.db, queries.POLICIES, filters, page)


async def get_policy(ctx: Context, key: UUID | str) -> ShownPolicy:
    found: ShownPolicy | None = await queries.find_public(ctx.db, queries.POLICIES, key)
    if found is None:
        raise NotFound()
    return found


async def _page_fields(values: Values) -> dict[str, Any]:
    check_fields(values)
    fields = dict(values)
    if "type" in values:
        fields["type"] = page_type(values["type"])
    if "content" in values:
        fields["content_html"] = (await _render("content", values["content"])).html
    return fields


async def _policy_fields(values: Values) -> dict[str, Any]:
    check_fields(values)
    fields = dict(values)
    if "body" in values:
        rendered = await _render("body", values["body"])
        fields |= {"body_html": rendered.html, "body_text": rendered.text}
    return fields


def check_fields(values: Values) -> None:
    errors = page_errors(values)
    if errors:
        raise Invalid(errors)


async def _render(name: str, markdown: str | None) -> Rendered:
    """In a thread: a long text takes longer than other requests should wait."""
    try:
        return await asyncio.to_thread(render_markdown, markdown or "")
    except TooMuchHtml:
        raise Invalid({name: [TOO_MUCH_HTML]}) from None


async def _insert(ctx: Context, table: Any, fields: dict[str, Any], title: str) -> UUID:
    record_id = new_id()
    slug = _slug(fields["slug"]) if fields.get("slug") else None
    try:
        made = slug or await _free_slug(ctx, table, title, record_id)
        await writes.insert_record(ctx.db, table, record_id, {**fields, "slug": made})
    except Refused as refused:
        if slug or writes.columns_of(table, refused.constraint) != ("slug",):
            raise
        # Another record took the slug meanwhile; the transaction is repeated with the next one that is free.
        raise Lost() from refused
    return record_id


async def _update(ctx: Context, table: Any, record_id: UUID, fields: dict[str, Any], title: str) -> None:
    if fields.get("slug"):
        fields["slug"] = _slug(fields["slug"])
    elif "slug" in fields:
        name = fields.get(title) or await writes.find_value(ctx.db, table, record_id, title)
        fields["slug"] = await _free_slug(ctx, table, name, record_id)
    await writes.update_record(ctx.db, table, record_id, fields)


def _slug(text: str) -> str:
    slug = slug_of(text)
    if slug != text:
        raise Invalid({"slug": ["must be of a-z, 0-9 and -, at most 100 characters, like about-us"]})
    return slug


async def _free_slug(ctx: Context, table: Any, title: str, record_id: UUID) -> str:
    wanted = slug_of(title) or str(record_id)
    return free_slug(wanted, set(await queries.list_slugs(ctx.db, table, wanted)))
