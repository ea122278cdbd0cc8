"""Small files that depend only on the settings: robots.txt, the icon and the web manifest."""

from collections.abc import Callable
from functools import wraps
from hashlib import blake2b

import msgspec

from shop.actions.context import Context
from shop.web.endpoint import Handler
from shop.web.input.request import Request
from shop.web.reply import Header, Reply
from shop.web.static_content import is_match
from shop.website.assets import PAGE_HEADERS
from shop.website.content.xml import xml_text

TEXT = b"text/plain; charset=utf-8"
SVG = b"image/svg+xml"
MANIFEST = b"application/manifest+json"
PRIVATE_PATHS = (
    "/cart",
    "/checkout",
    "/account",
    "/orders",
    "/order-status",
    "/order-payment",
    "/sign-in",
    "/search",
    "/suggest",
    "/api",
    "/admin",
)
"""Paths that search engines must not read."""
_CACHE: Header = (b"cache-control", b"public, max-age=3600")
_BACKGROUND = "#fcfbf8"


def settings_file(render: Callable[[Request, Context], str], media: bytes) -> Handler:
    """Builds a handler for a small file, which caches may store for an hour and then revalidate."""

    @wraps(render)
    async def answer(request: Request, ctx: Context) -> Reply:
        body = render(request, ctx).encode()
        tag = b'"' + blake2b(body, digest_size=16).hexdigest().encode() + b'"'
        headers: tuple[Header, ...] = (_CACHE, (b"etag", tag))
        if is_match(request.headers.get(b"if-none-match"), tag):
            return Reply(304, b"", headers, security=PAGE_HEADERS)
        return Reply(200, body, ((b"content-type", media), *headers), security=PAGE_HEADERS)

    return answer


def render_robots(request: Request, ctx: Context) -> str:
    lines = [
        "User-agent: *",
        *(f"Disallow: {path}" for path in PRIVATE_PATHS),
        "",
        f"Sitemap: {_origin(request, ctx)}/sitemap.xml",
    ]
    return "\n".join(lines) + "\n"


def render_favicon(_request: Request, ctx: Context) -> str:
    """Returns the shop's initial on its accent color."""
    shop = ctx.shared.shop
    accent = shop.website_settings.accent
    initial = shop.name.strip()[:1].upper() or "S"
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">'
        f'<rect width="64" height="64" rx="14" fill="{accent}"/>'
        f'<text x="32" y="34" fill="{ink_on(accent)}" font-family="system-ui, sans-serif" font-size="38" '
        f'font-weight="700" text-anchor="middle" dominant-baseline="central">{xml_text(initial)}</text></svg>'
    )


def render_manifest(_request: Request, ctx: Context) -> str:
    shop = ctx.shared.shop
    settings = shop.website_settings
    manifest = {
        "name": shop.name,
        "short_name": shop.name,
        **({"description": settings.description} if settings.description else {}),
        "lang": shop.default_locale,
        "id": "/",
        "start_url": "/",
        "scope": "/",
        "display": "minimal-ui",
        "background_color": _BACKGROUND,
        "theme_color": settings.accent,
        "icons": [{"src": "/favicon.svg", "sizes": "any", "type": "image/svg+xml", "purpose": "any"}],
    }
    return msgspec.json.encode(manifest).decode()


def ink_on(color: str) -> str:
    """Returns black or white, whichever has more contrast on a color like `#1d5c48` (WCAG 2)."""
    red, green, blue = (_linear(int(color[index : index + 2], 16) / 255) for index in (1, 3, 5))
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return "#000000" if (luminance + 0.05) ** 2 > 1.05 * 0.05 else "#ffffff"


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else float(((channel + 0.055) / 1.055) ** 2.4)


def _origin(request: Request, ctx: Context) -> str:
    return request.origin(ctx.shared.settings.public_url)
