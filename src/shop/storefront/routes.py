"""The storefront's table: method, address, handler, who may call, what is shown."""

from shop.storefront import cart
from shop.web.endpoint import Route

_CART = "/api/v2/storefront/cart"

ROUTES = (
    Route(
        "POST",
        _CART,
        cart.create,
        "anyone",
        "Open a cart, or return the one the order token opens",
        "cart",
        201,
        (400, 401, 413, 415, 422),
    ),
    Route("GET", _CART, cart.show, "order token", "Show the cart", "cart", 200, (400, 401, 404)),
    Route("DELETE", _CART, cart.destroy, "order token", "Abandon the cart", None, 204, (400, 401, 404, 413, 415)),
)
