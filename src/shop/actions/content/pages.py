"""Pages and policies: operators and API clients write Markdown, shoppers get HTML.

Changes run in the caller's transaction.
"""

import asyncio
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound, TransactionConflict
from shop.base.ids import new_id
from shop.base.listing import Keyset, ListedRows, Page
from shop.base.texts import slug_of
from shop.db.pool import ConstraintViolation
from shop.models.content.pages import ShownPage, ShownPolicy, cms_pages, policies
from shop.queries import writes
from shop.queries.content import pages as queries
from shop.rules.catalog.products import free_slug
from shop.rules.content.markdown import RenderedMarkdown, TooMuchHtml, render_markdown
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
    page: ShownPage | None = await queries.find_public(ctx.db, queries.PAGES, key)
    if page is None:
        raise NotFound()
    return page


async def list_policies(ctx: Context, filters: Values, page: Page | Keyset) -> ListedRows:
    return await queries.list_public(ctx.db, queries.POLICIES, filters, page)


async def get_policy(ctx: Context, key: UUID | str) -> ShownPolicy:
    policy: ShownPolicy | None = await queries.find_public(ctx.db, queries.POLICIES, key)
    if policy is None:
        raise NotFound()
    return policy


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
        document = await _render("body", values["body"])
        fields |= {"body_html": document.html, "body_text": document.text}
    return fields


def check_fields(values: Values) -> None:
    errors = page_errors(values)
    if errors:
        raise Invalid(errors)


async def _render(name: str, markdown: str | None) -> RenderedMarkdown:
    """Renders Markdown in a thread, because a long text would block other requests."""
    try:
        return await asyncio.to_thread(render_markdown, markdown or "")
    except TooMuchHtml:
        raise Invalid({name: [TOO_MUCH_HTML]}) from None


async def _insert(ctx: Context, table: Any, fields: dict[str, Any], title: str) -> UUID:
    record_id = new_id()
    slug = _slug(fields["slug"]) if fields.get("slug") else None
    try:
        final_slug = slug or await _free_slug(ctx, table, title, record_id)
        await writes.insert_record(ctx.db, table, record_id, {**fields, "slug": final_slug})
    except ConstraintViolation as error:
        if slug or writes.columns_of(table, error.constraint) != ("slug",):
            raise
        # Another record took the slug in the meantime; the retry picks the next free one.
        raise TransactionConflict() from error
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
    base_slug = slug_of(title) or str(record_id)
    return free_slug(base_slug, set(await queries.list_slugs(ctx.db, table, base_slug)))
