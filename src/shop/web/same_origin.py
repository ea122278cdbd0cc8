"""Protects forms against cross-site requests by their headers."""

from shop.actions.context import Context
from shop.base.errors import Forbidden
from shop.web.input.request import Request


def check_same_origin(request: Request, ctx: Context) -> None:
    """Raises Forbidden unless the request headers prove that the form comes from our own origin."""
    site = request.headers.get(b"sec-fetch-site")
    if site is not None:
        is_ours = site == b"same-origin"
    else:
        own = request.origin(ctx.shared.settings.public_url).encode("latin-1")
        is_ours = request.headers.get(b"origin") == own
    if not is_ours:
        raise Forbidden("This form was not sent from this site; nothing was changed.")
