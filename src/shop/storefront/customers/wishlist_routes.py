"""The wishlist routes of the storefront."""

from typing import Any

from shop.models.customers.inputs import (
    OwnWishedItemInput,
    OwnWishedItemsInput,
    OwnWishlistInput,
    OwnWishlistUpdateInput,
    WishedQuantityInput,
)
from shop.storefront.customers import wishlists
from shop.web.endpoint import Handler, Route

_BASE = "/api/v2/storefront/wishlists"
_ONE = f"{_BASE}/{{wishlist_token}}"
_READ = (400, 401)
_WRITE = (400, 401, 409, 413, 415, 422)
_DELETE_ERRORS = (400, 401, 404, 413, 415)
_ASKS = ("currency", "is_variant_included")
_CODES = {422: ("quantity_not_positive",)}


def _update(method: str) -> Route:
    """Returns the update route, for PATCH and PUT; some Spree clients send PUT."""
    errors = (*_WRITE, 404)
    options: dict[str, Any] = {"takes": OwnWishlistUpdateInput, "asks": _ASKS}
    return Route(method, _ONE, wishlists.update, "user", "Update a wishlist", "wishlist", 200, errors, **options)


def _item(method: str, path: str, handler: Handler, summary: str, takes: Any = None) -> Route:
    """Returns a route that acts on one item and returns it."""
    errors, codes = ((*_WRITE, 404), _CODES) if takes else (_DELETE_ERRORS, {})
    options: dict[str, Any] = {"takes": takes, "codes": codes, "asks": ("currency",)}
    return Route(method, f"{_ONE}/{path}", handler, "user", summary, "wished_item", 200, errors, **options)


ROUTES = (
    Route("GET", _BASE, wishlists.list_own, "user", "List the user's wishlists", "wishlist[]", 200, _READ, asks=_ASKS),
    Route(
        "POST",
        _BASE,
        wishlists.create,
        "user",
        "Create a wishlist",
        "wishlist",
        201,
        (*_WRITE, 404),
        takes=OwnWishlistInput,
        asks=_ASKS,
    ),
    Route(
        "GET",
        f"{_BASE}/default",
        wishlists.show_default,
        "user",
        "Show the default wishlist; create it if there is none",
        "wishlist",
        200,
        (*_READ, 422),
        asks=_ASKS,
    ),
    Route(
        "GET",
        _ONE,
        wishlists.show,
        "anyone",
        "Show a public wishlist, or one of the user's",
        "wishlist",
        200,
        (*_READ, 404),
        asks=_ASKS,
    ),
    _update("PATCH"),
    _update("PUT"),
    Route("DELETE", _ONE, wishlists.destroy, "user", "Delete a wishlist", None, 204, _DELETE_ERRORS),
    _item("POST", "add_item", wishlists.add_item, "Add an item to a wishlist", OwnWishedItemInput),
    _item(
        "PATCH",
        "set_item_quantity/{item_id}",
        wishlists.set_item_quantity,
        "Set the quantity of a wished item",
        WishedQuantityInput,
    ),
    _item("DELETE", "remove_item/{item_id}", wishlists.remove_item, "Remove an item from a wishlist"),
    Route(
        "POST",
        f"{_ONE}/add_items",
        wishlists.add_items,
        "user",
        "Add several items to a wishlist: all of them or none",
        "wishlist",
        200,
        (*_WRITE, 404),
        takes=OwnWishedItemsInput,
        codes=_CODES,
        asks=_ASKS,
    ),
    Route(
        "DELETE",
        f"{_ONE}/remove_items",
        wishlists.remove_items,
        "user",
        "Remove several items from a wishlist",
        "wishlist",
        200,
        (*_DELETE_ERRORS, 422),
        asks=(*_ASKS, "wished_items_ids"),
    ),
)
