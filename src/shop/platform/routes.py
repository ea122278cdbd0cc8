"""The platform's table: method, address, handler, who may call."""

from shop.platform import oauth
from shop.platform.crud import routes_of
from shop.platform.resources.known import COLLECTIONS
from shop.web.endpoint import Handler, Route
from shop.web.reply import JSON, oauth_error_reply

_SMALL = 64 * 1024


def _oauth(path: str, handler: Handler, summary: str, errors: tuple[int, ...]) -> tuple[Route, ...]:
    """Under our own name and the family's. No bearer is read: a client with a stale one must be able to get another."""
    return tuple(
        Route(
            "POST",
            f"/{prefix}/{path}",
            handler,
            "anyone",
            summary,
            None,
            200,
            errors,
            JSON,
            _SMALL,
            reads_claim=False,
            draw_error=oauth_error_reply,
        )
        for prefix in ("shop_oauth", "spree_oauth")
    )


ROUTES = (
    *_oauth("token", oauth.token, "Get a platform token", (400, 401, 413, 415, 429)),
    *_oauth("revoke", oauth.revoke, "End the session of a token", (400, 413, 415)),
    *_oauth("introspect", oauth.introspect, "What a token of mine still allows", (400, 401, 413, 415, 429)),
    Route(
        "GET",
        "/.well-known/oauth-authorization-server",
        oauth.metadata,
        "anyone",
        "What the token endpoints can do (RFC 8414)",
        media=JSON,
        reads_claim=False,
    ),
    *(route for collection in COLLECTIONS.values() for route in routes_of(collection)),
)
