"""Static files of the dashboard, read once and named by content hash, so that browsers cache them forever."""

from hashlib import sha256
from pathlib import Path

import msgspec

from shop.actions.context import Context
from shop.base.errors import NotFound
from shop.web.input.request import Request
from shop.web.reply import DASHBOARD_HEADERS, Reply

_MEDIA = {".css": b"text/css; charset=utf-8", ".js": b"text/javascript; charset=utf-8", ".svg": b"image/svg+xml"}


class Asset(msgspec.Struct, frozen=True):
    """One static file: its URL path and its response."""

    path: str
    reply: Reply


def _read(file: Path) -> Asset:
    content = file.read_bytes()
    name = f"{file.stem}.{sha256(content).hexdigest()[:16]}{file.suffix}"
    headers = ((b"content-type", _MEDIA[file.suffix]), (b"cache-control", b"public, max-age=31536000, immutable"))
    return Asset(f"/admin/static/{name}", Reply(200, content, headers, security=DASHBOARD_HEADERS))


ASSETS = {file.name: _read(file) for file in sorted((Path(__file__).parent / "static").iterdir())}
_BY_NAME = {asset.path.rpartition("/")[2]: asset.reply for asset in ASSETS.values()}


async def show(request: Request, _ctx: Context) -> Reply:
    reply = _BY_NAME.get(request.path_params["name"])
    if reply is None:
        raise NotFound()
    return reply
