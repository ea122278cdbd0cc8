"""The route table of the platform API: method, path, handler, access."""

from typing import Any

from shop.actions.access.oauth import PlatformTokens
from shop.actions.access.sessions import UserTokens
from shop.base.errors import InvalidClient, InvalidGrant, InvalidScope, Malformed, ShopError, UnsupportedGrant
from shop.models.catalog.inputs import TaxonPositionInput
from shop.models.content.inputs import MenuItemReposition
from shop.platform import bulk, images, oauth, order_operations, promotion_operations, tree_operations
from shop.platform.crud import build_routes
from shop.platform.events.feed import ROUTES as EVENT_ROUTES
from shop.platform.events.webhook_operations import ROUTES as WEBHOOK_ROUTES
from shop.platform.inputs import AuthorizationServer, TokenIntrospection, TokenRequest, TokenRevocation, TokenState
from shop.platform.permissions import with_permission
from shop.platform.resources.registry import COLLECTIONS
from shop.web.endpoint import Handler, Route
from shop.web.reply import JSON, EmptyObject, oauth_error_reply

_SMALL = 64 * 1024
_CLIENT_ERRORS = (400, 401, 413, 415, 429)
_GRANT_FAILS = (Malformed, InvalidClient, InvalidGrant, InvalidScope, UnsupportedGrant)


def _oauth(
    path: str,
    handler: Handler,
    summary: str,
    *,
    takes: Any,
    shows: Any,
    errors: tuple[int, ...],
    fails: tuple[type[ShopError], ...] = (),
) -> tuple[Route, ...]:
    """Returns a route for our prefix and Spree's. Bearer tokens are ignored: an expired one must not block a
    refresh.
    """
    return tuple(
        Route(
            "POST",
            f"/{prefix}/{path}",
            handler,
            "anyone",
            summary,
            shows,
            200,
            errors,
            JSON,
            _SMALL,
            reads_claim=False,
            render_error=oauth_error_reply,
            takes=takes,
            fails=fails,
        )
        for prefix in ("shop_oauth", "spree_oauth")
    )


_ALL = (
    *_oauth(
        "token",
        oauth.token,
        "Issue a platform token, or refresh a shopper's token",
        takes=TokenRequest,
        shows=PlatformTokens | UserTokens,
        errors=_CLIENT_ERRORS,
        fails=_GRANT_FAILS,
    ),
    *_oauth(
        "revoke",
        oauth.revoke,
        "Revoke a token: end its session",
        takes=TokenRevocation,
        shows=EmptyObject,
        errors=_CLIENT_ERRORS,
        fails=(InvalidClient,),
    ),
    *_oauth(
        "introspect",
        oauth.introspect,
        "Introspect a token of the application",
        takes=TokenIntrospection,
        shows=TokenState,
        errors=_CLIENT_ERRORS,
        fails=(InvalidClient,),
    ),
    Route(
        "GET",
        "/.well-known/oauth-authorization-server",
        oauth.metadata,
        "anyone",
        "Show the capabilities of the token endpoints (RFC 8414)",
        AuthorizationServer,
        media=JSON,
        reads_claim=False,
    ),
    Route(
        "PATCH",
        "/api/v2/platform/taxons/{id}/reposition",
        tree_operations.reposition,
        "application: write",
        "Reposition a taxon: move it within its tree",
        "taxon",
        200,
        (400, 401, 403, 404, 409, 413, 415, 422),
        takes=TaxonPositionInput,
    ),
    Route(
        "PATCH",
        "/api/v2/platform/menu_items/{id}/reposition",
        tree_operations.reposition_menu_item,
        "application: write",
        "Move a menu item within its menu",
        "menu_item",
        200,
        (400, 401, 403, 404, 409, 413, 415, 422),
        takes=MenuItemReposition,
    ),
    *order_operations.ROUTES,
    *promotion_operations.ROUTES,
    *bulk.ROUTES,
    *EVENT_ROUTES,
    *WEBHOOK_ROUTES,
    *(route for collection in COLLECTIONS.values() for route in build_routes(collection)),
    *images.ROUTES,
)

ROUTES = tuple(with_permission(route) for route in _ALL)
