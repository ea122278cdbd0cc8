"""The platform's table: method, address, handler, who may call."""

from shop.platform import oauth
from shop.platform.inputs import Revocation
from shop.web.endpoint import Route
from shop.web.reply import JSON, Nothing, oauth_error_reply

_SMALL = 64 * 1024
_ERRORS = (400, 413, 415)

ROUTES = tuple(
    Route(
        "POST",
        f"/{prefix}/revoke",
        oauth.revoke,
        "anyone",
        "End the session of a token",
        Nothing,
        200,
        _ERRORS,
        JSON,
        _SMALL,
        reads_claim=False,
        draw_error=oauth_error_reply,
        takes=Revocation,
    )
    for prefix in ("shop_oauth", "spree_oauth")
)
