"""Content pages and policies."""

import re
from typing import Any

from shop.actions.content import pages
from shop.actions.context import Context
from shop.base.ids import as_uuid
from shop.rules.content.plain_text import excerpt, strip_tags
from shop.web.input.request import Request
from shop.website.catalog.structured_data import build_breadcrumbs
from shop.website.layout import render_page

_HEADING = re.compile(r"<(/?)h([1-5])>")


async def show_page(request: Request, ctx: Context) -> str:
    slug = request.path_params["slug"]
    page = await pages.get_page(ctx, as_uuid(slug) or slug)
    return await _render(
        request,
        ctx,
        f"/pages/{page.slug}",
        title=page.meta_title or page.title,
        heading=page.title,
        html=page.content,
        description=page.meta_description,
    )


async def show_policy(request: Request, ctx: Context) -> str:
    slug = request.path_params["slug"]
    policy = await pages.get_policy(ctx, as_uuid(slug) or slug)
    values: dict[str, Any] = {"title": policy.name, "heading": policy.name, "html": policy.body_html}
    return await _render(request, ctx, f"/policies/{policy.slug}", description=None, **values)


async def _render(request: Request, ctx: Context, path: str, *, heading: str, html: str, **values: Any) -> str:
    origin = request.origin(ctx.shared.settings.public_url)
    values["description"] = values["description"] or excerpt(strip_tags(html))
    return await render_page(
        ctx,
        request,
        "content/page.html",
        heading=heading,
        html=lower_headings(html),
        canonical=origin + path,
        is_indexed=True,
        structured_data=(build_breadcrumbs(origin, [(heading, path)]),),
        **values,
    )


def lower_headings(html: str) -> str:
    """Lowers all headings by one level if the text has an `h1`: the title of the page is its only one."""
    if "<h1>" not in html:
        return html
    return _HEADING.sub(lambda tag: f"<{tag[1]}h{int(tag[2]) + 1}>", html)
