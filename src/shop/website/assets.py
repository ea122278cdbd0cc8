"""Static files of the website, named by content hash so that browsers cache them forever.

A theme directory replaces files by name. The stylesheet ends with the brand settings of the shop.
"""

import gzip
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import msgspec

from shop.actions.context import Context, Shared
from shop.base.errors import NotFound
from shop.models.setup.shop import Shop
from shop.models.setup.website import WebsiteSettings
from shop.rules.setup.website import FONT_FAMILIES
from shop.web.input.request import Request
from shop.web.reply import SECURITY_HEADERS, Header, Reply
from shop.web.static_content import accepts_gzip

PATH = "/website"
STATIC = Path(__file__).parent / "static"
_MEDIA = {
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".json": b"application/json",
    ".svg": b"image/svg+xml",
    ".webp": b"image/webp",
    ".woff2": b"font/woff2",
}
"""The media type by suffix; other files of a theme are ignored."""
_URL = re.compile(r"""url\(["']?([A-Za-z0-9_.-]+)["']?\)""", re.ASCII)
_SPECULATION = "speculation.json"
_SPECULATION_MEDIA = b"application/speculationrules+json"
# With `no-referrer`, browsers send `Origin: null` with a form.
PAGE_HEADERS: tuple[Header, ...] = (
    *SECURITY_HEADERS[:-1],
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=(), browsing-topics=()"),
)
_FOREVER = (b"cache-control", b"public, max-age=31536000, immutable")
_VARY = (b"vary", b"Accept-Encoding")


class WebsiteAsset(msgspec.Struct, frozen=True):
    """One static file: its URL path, media type, and content, plain and compressed."""

    path: str
    media: bytes
    content: bytes
    compressed: bytes


class Assets(msgspec.Struct, frozen=True):
    """The static files of one version of the shop's settings, by file name."""

    shop_version: int
    by_name: dict[str, WebsiteAsset]

    def __getitem__(self, name: str) -> str:
        """Returns the URL path of a file, for templates."""
        return self.by_name[name].path

    def find(self, file_name: str) -> WebsiteAsset | None:
        return next((asset for asset in self.by_name.values() if asset.path == f"{PATH}/{file_name}"), None)


class AssetCache:
    """The static files of the current settings, read once per change of the settings."""

    def __init__(self) -> None:
        self._assets: Assets | None = None

    def get(self, shop: Shop, theme_dir: Path | None) -> Assets:
        if self._assets is None or self._assets.shop_version != shop.version:
            self._assets = Assets(shop.version, _read_files(shop.website_settings, theme_dir))
        return self._assets


_cache = AssetCache()


def assets_of(shared: Shared) -> Assets:
    return _cache.get(shared.shop, shared.settings.theme_dir)


def speculation_rules(shared: Shared) -> Header:
    """Returns the header that names the links which a browser may prefetch."""
    return b"speculation-rules", f'"{assets_of(shared)[_SPECULATION]}"'.encode()


async def show(request: Request, ctx: Context) -> Reply:
    asset = assets_of(ctx.shared).find(request.path_params["name"])
    if asset is None:
        raise NotFound()
    headers = ((b"content-type", asset.media), _FOREVER, _VARY)
    if accepts_gzip(request.headers.get(b"accept-encoding", b"")):
        return Reply(200, asset.compressed, (*headers, (b"content-encoding", b"gzip")), security=PAGE_HEADERS)
    return Reply(200, asset.content, headers, security=PAGE_HEADERS)


def _read_files(settings: WebsiteSettings, theme_dir: Path | None) -> dict[str, WebsiteAsset]:
    files = {file.name: file for file in sorted(STATIC.iterdir()) if file.suffix in _MEDIA}
    if theme_dir is not None and (theme_dir / "static").is_dir():
        files |= {file.name: file for file in sorted((theme_dir / "static").iterdir()) if file.suffix in _MEDIA}
    assets = {name: _build_asset(file, file.read_bytes()) for name, file in files.items() if file.suffix != ".css"}
    for name, file in files.items():
        if file.suffix == ".css":
            content = _URL.sub(lambda match: _asset_url(match, assets), file.read_text())
            brand = brand_css(settings) if name == "website.css" else ""
            assets[name] = _build_asset(file, (content + brand).encode())
    return assets


def _asset_url(match: re.Match[str], assets: Mapping[str, WebsiteAsset]) -> str:
    """Replaces the name of another static file by its URL path."""
    asset = assets.get(match[1])
    return f"url({asset.path})" if asset else match[0]


def _build_asset(file: Path, content: bytes) -> WebsiteAsset:
    name = f"{file.stem}.{sha256(content).hexdigest()[:16]}{file.suffix}"
    media = _SPECULATION_MEDIA if file.name == _SPECULATION else _MEDIA[file.suffix]
    return WebsiteAsset(f"{PATH}/{name}", media, content, gzip.compress(content, 9, mtime=0))


def brand_css(settings: WebsiteSettings) -> str:
    """Returns the custom properties that differ from the defaults, so that a theme can have its own defaults; the
    repeated selector has precedence over those of a theme. Dark colors mix the accent with white to keep its contrast.
    """
    defaults = WebsiteSettings()
    properties = {
        "--brand": settings.accent if settings.accent != defaults.accent else None,
        "--radius": f"{settings.radius}px" if settings.radius != defaults.radius else None,
        "--font": FONT_FAMILIES[settings.font] if settings.font != defaults.font else None,
    }
    text = ";".join(f"{name}:{value}" for name, value in properties.items() if value)
    return f":root:root{{{text}}}" if text else ""
