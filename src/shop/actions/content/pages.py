"""Pages and policies: operators and API clients write Markdown, shoppers get HTML.

Changes run in the caller's transaction.
"""

import asyncio
from collections.abc import Mapping
from uuid import UUID

from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound, TransactionConflict
from shop.base.ids import new_id
from shop.base.listing import Keyset, ListedRows, Page
from shop.base.texts import slug_of
from shop.db.pool import ConstraintViolation
from shop.models.content.inputs import CmsPageInput, PolicyInput
from shop.models.content.pages import PublicPage, PublicPolicy
from shop.queries import writes
from shop.queries.content import pages as queries
from shop.rules.catalog.products import free_slug
from shop.rules.content.markdown import RenderedMarkdown, TooMuchHtml, render_markdown
from shop.rules.content.pages import TOO_MUCH_HTML, page_errors, page_type


async def create_page(ctx: Context, values: CmsPageInput) -> UUID:
    fields = {"locale": ctx.shared.shop.default_locale, **await _page_fields(values)}
    return await _insert(ctx, queries.PAGES, fields, values.get("slug"), values["title"])


async def update_page(ctx: Context, page_id: UUID, values: CmsPageInput) -> None:
    await _update(ctx, queries.PAGES, page_id, await _page_fields(values), values.get("slug"), "title")


async def create_policy(ctx: Context, values: PolicyInput) -> UUID:
    return await _insert(ctx, queries.POLICIES, await _policy_fields(values), values.get("slug"), values["name"])


async def update_policy(ctx: Context, policy_id: UUID, values: PolicyInput) -> None:
    await _update(ctx, queries.POLICIES, policy_id, await _policy_fields(values), values.get("slug"), "name")


async def list_pages(ctx: Context, filters: Mapping[str, object], page: Page | Keyset) -> ListedRows:
    return await queries.list_public(ctx.db, queries.PAGES, filters, page)


async def get_page(ctx: Context, key: UUID | str) -> PublicPage:
    page: PublicPage | None = await queries.find_public(ctx.db, queries.PAGES, key)
    if page is None:
        raise NotFound()
    return page


async def list_policies(ctx: Context, filters: Mapping[str, object], page: Page | Keyset) -> ListedRows:
    return await queries.list_public(ctx.db, queries.POLICIES, filters, page)


async def get_policy(ctx: Context, key: UUID | str) -> PublicPolicy:
    policy: PublicPolicy | None = await queries.find_public(ctx.db, queries.POLICIES, key)
    if policy is None:
        raise NotFound()
    return policy


async def _page_fields(values: CmsPageInput) -> dict[str, object]:
    check_fields(values)
    fields = dict(values)
    if "type" in values:
        fields["type"] = page_type(values["type"])
    if "content" in values:
        fields["content_html"] = (await _render("content", values["content"])).html
    return fields


async def _policy_fields(values: PolicyInput) -> dict[str, object]:
    check_fields(values)
    fields = dict(values)
    if "body" in values:
        document = await _render("body", values["body"])
        fields |= {"body_html": document.html, "body_text": document.text}
    return fields


def check_fields(values: Mapping[str, object]) -> None:
    errors = page_errors(values)
    if errors:
        raise Invalid(errors)


async def _render(name: str, markdown: str | None) -> RenderedMarkdown:
    """Renders Markdown in a thread, because a long text would block other requests."""
    try:
        return await asyncio.to_thread(render_markdown, markdown or "")
    except TooMuchHtml:
        raise Invalid({name: [TOO_MUCH_HTML]}) from None


async def _insert(
    ctx: Context, public: queries.PublicList, fields: Mapping[str, object], slug: str | None, title: str
) -> UUID:
    record_id = new_id()
    try:
        final_slug = _check_slug(slug) if slug else await _free_slug(ctx, public, title, record_id)
        await writes.insert_record(ctx.db, public.table, record_id, {**fields, "slug": final_slug})
    except ConstraintViolation as error:
        if slug or writes.columns_of(public.table, error.constraint) != ("slug",):
            raise
        # Another record took the slug in the meantime; the retry picks the next free one.
        raise TransactionConflict() from error
    return record_id


async def _update(
    ctx: Context,
    public: queries.PublicList,
    record_id: UUID,
    fields: dict[str, object],
    slug: str | None,
    title_name: str,
) -> None:
    if slug:
        fields["slug"] = _check_slug(slug)
    elif slug is not None:
        title = fields.get(title_name) or await writes.find_value(ctx.db, public.table, record_id, title_name)
        fields["slug"] = await _free_slug(ctx, public, str(title), record_id)
    await writes.update_record(ctx.db, public.table, record_id, fields)


def _check_slug(slug: str) -> str:
    if slug != slug_of(slug):
        raise Invalid({"slug": ["must be at most 100 characters of a-z, 0-9 and -, like about-us"]})
    return slug


async def _free_slug(ctx: Context, public: queries.PublicList, title: str, record_id: UUID) -> str:
    base_slug = slug_of(title) or str(record_id)
    return free_slug(base_slug, set(await queries.list_slugs(ctx.db, public.table, base_slug)))
