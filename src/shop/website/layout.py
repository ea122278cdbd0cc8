"""The frame of every page: header, footer and the values that templates share."""

from typing import Any, Protocol

from markupsafe import Markup

from shop.actions.catalog import storefront
from shop.actions.catalog.prices import resolve_pricing
from shop.actions.context import Context, Shared
from shop.base.caches.response_cache import CachedResponse
from shop.base.errors import ShopError
from shop.models.access.users import User
from shop.web.input.request import Request
from shop.web.reply import Reply, page_error_headers
from shop.website.navigation import load_navigation
from shop.website.pages import error_sentence, error_title, html_page, render

_SPLIT = "<!--page-->"


class PageVisitor(Protocol):
    """The shopper of a personal page; see `Visit`."""

    user: User | None


async def render_page(ctx: Context, request: Request, template: str, **values: Any) -> str:
    """Renders a page with header and footer. `title` and `description` are for search engines."""
    header, footer = await _load_frame(ctx)
    return render(
        ctx.shared,
        template,
        header=header,
        footer=footer,
        **{**page_values(ctx.shared, request), **values},
    )


def page_values(shared: Shared, request: Request) -> dict[str, Any]:
    """Returns the defaults of the values that the layout uses."""
    origin = request.origin(shared.settings.public_url)
    return {
        "origin": origin,
        "canonical": origin + str(request.scope["path"]),
        "description": shared.shop.website_settings.description,
        "is_indexed": False,
        "notice": None,
        "errors": {},
        "user": None,
        "structured_data": (),
        "social_image": None,
    }


async def show_page(
    ctx: Context, request: Request, visit: PageVisitor, template: str, status: int = 200, **values: Any
) -> Reply:
    """Replies with a personal page."""
    return html_page(request, await render_page(ctx, request, template, user=visit.user, **values), status)


async def _load_frame(ctx: Context) -> tuple[Markup, Markup]:
    """Returns header and footer, rendered once per version of the catalog and the settings."""
    pricing = await resolve_pricing(ctx, ctx.shared.shop.currencies[0])
    version, key = await storefront.find_version(ctx, pricing), _key(ctx.shared)
    entry = ctx.shared.response_cache.find(key, version)
    if entry is None:
        navigation = await load_navigation(ctx)
        text = render(ctx.shared, "header.html", navigation=navigation) + _SPLIT
        text += render(ctx.shared, "footer.html", navigation=navigation)
        entry = CachedResponse(version, text.encode(), b"")
        ctx.shared.response_cache.save(key, entry)
    return _split(entry)


def _key(shared: Shared) -> tuple[object, ...]:
    return "frame", shared.shop.version


def _split(entry: CachedResponse) -> tuple[Markup, Markup]:
    header, _, footer = entry.body.decode().partition(_SPLIT)
    return Markup(header), Markup(footer)  # noqa: S704  Rendered by templates that escape.


def render_error(shared: Shared, error: ShopError, request_id: str) -> Reply:
    """Renders an error page without the database; with the header and footer of the last page, if there was one."""
    stale = shared.response_cache.find_stale(_key(shared), shared.settings.catalog_stale_seconds)
    header, footer = _split(stale[0]) if stale else (Markup(""), Markup(""))
    body = render(
        shared,
        "error.html",
        header=header,
        footer=footer,
        title=error_title(error),
        error=error,
        sentence=error_sentence(error),
        request_id=request_id,
        origin="",
        canonical="",
        description="",
        is_indexed=False,
        notice=None,
        errors={},
        user=None,
        structured_data=(),
        social_image=None,
    )
    return html_page(None, body, error.status, *page_error_headers(error))
