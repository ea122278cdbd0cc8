"""Operation ids of the OpenAPI description: a verb and a noun, which name the functions of generated clients.

Ids are part of the contract and do not change once published. Most derive from the path; this module declares the rest.
"""

from shop.jsonapi.schema import class_name
from shop.web.endpoint import Route

_VERBS = {"GET": "show", "POST": "create", "PATCH": "update", "PUT": "put", "DELETE": "delete"}
_STOREFRONT, _PLATFORM = "/api/v2/storefront/", "/api/v2/platform/"
# Storefront-only nouns need no prefix to differ from the platform's.
_SHOPPERS = frozenset({"account", "cart", "checkout"})

OPERATION_IDS = {
    "POST /api/v2/storefront/auth": "signIn",
    "DELETE /api/v2/storefront/auth/{token}": "signOut",
    "POST /api/v2/storefront/cart/add_item": "addItemToCart",
    "POST /api/v2/storefront/cart/add_items": "addItemsToCart",
    "PATCH /api/v2/storefront/cart/set_quantity": "setLineItemQuantity",
    "DELETE /api/v2/storefront/cart/remove_line_item/{id}": "removeLineItemFromCart",
    "PATCH /api/v2/storefront/cart/empty": "emptyCart",
    "PATCH /api/v2/storefront/cart/change_currency": "changeCartCurrency",
    "PATCH /api/v2/storefront/cart/apply_coupon_code": "applyCouponCodeToCart",
    "DELETE /api/v2/storefront/cart/remove_coupon_code": "removeCouponCodesFromCart",
    "DELETE /api/v2/storefront/cart/remove_coupon_code/{code}": "removeCouponCodeFromCart",
    "GET /api/v2/storefront/cart/estimate_shipping_rates": "estimateShippingRates",
    "PATCH /api/v2/storefront/cart/associate": "associateCart",
    "PATCH /api/v2/storefront/checkout/next": "advanceCheckoutStep",
    "PATCH /api/v2/storefront/checkout/advance": "advanceCheckout",
    "PATCH /api/v2/storefront/checkout/complete": "completeCheckout",
    "POST /api/v2/storefront/checkout/create_payment": "createCheckoutPayment",
    "PATCH /api/v2/storefront/checkout/select_shipping_method": "selectShippingMethod",
    "POST /api/v2/storefront/checkout/add_store_credit": "addStoreCreditToCheckout",
    "POST /api/v2/storefront/checkout/remove_store_credit": "removeStoreCreditFromCheckout",
    "POST /api/v2/storefront/checkout/validate_order_for_payment": "validateOrderForPayment",
    "GET /api/v2/storefront/checkout/requirements": "showCheckoutRequirements",
    "GET /api/v2/storefront/order_status/{number}": "showOrderStatus",
    "GET /api/v2/storefront/store": "showStore",
    "GET /api/v2/storefront/stores/{code}": "showStoreByCode",
    "GET /api/v2/storefront/wishlists/default": "showDefaultWishlist",
    "POST /api/v2/storefront/wishlists/{wishlist_token}/add_item": "addItemToWishlist",
    "POST /api/v2/storefront/wishlists/{wishlist_token}/add_items": "addItemsToWishlist",
    "PATCH /api/v2/storefront/wishlists/{wishlist_token}/set_item_quantity/{item_id}": "setWishedItemQuantity",
    "DELETE /api/v2/storefront/wishlists/{wishlist_token}/remove_item/{item_id}": "removeItemFromWishlist",
    "DELETE /api/v2/storefront/wishlists/{wishlist_token}/remove_items": "removeItemsFromWishlist",
    "PATCH /api/v2/platform/orders/{id}/next": "advanceOrderStep",
    "PATCH /api/v2/platform/orders/{id}/apply_coupon_code": "applyCouponCodeToOrder",
    "PATCH /api/v2/platform/orders/{id}/use_store_credit": "applyStoreCreditToOrder",
    "PATCH /api/v2/platform/shipments/{id}/ready": "markShipmentReady",
    "PATCH /api/v2/platform/shipments/{id}/pend": "markShipmentPending",
    "PATCH /api/v2/platform/shipments/{id}/add_item": "addItemToShipment",
    "PATCH /api/v2/platform/shipments/{id}/remove_item": "removeItemFromShipment",
    "PATCH /api/v2/platform/shipments/{id}/transfer_to_location": "transferShipmentToLocation",
    "PATCH /api/v2/platform/shipments/{id}/transfer_to_shipment": "transferShipmentToShipment",
    "POST /api/v2/platform/imports/products": "importProducts",
    "POST /api/v2/platform/imports/prices": "importPrices",
    "GET /api/v2/platform/exports/products": "exportProducts",
    "GET /api/v2/platform/exports/prices": "exportPrices",
    "POST /api/v2/platform/webhook_endpoints/{id}/rotate_secret": "rotateWebhookSecret",
    "GET /api/v2/platform/events": "listEvents",
    "GET /api/v2/platform/event_types": "listEventTypes",
    "GET /api/v2/platform/events/stream": "streamEvents",
    "POST /shop_oauth/token": "issueToken",
    "POST /shop_oauth/revoke": "revokeToken",
    "POST /shop_oauth/introspect": "introspectToken",
    "POST /spree_oauth/token": "issueTokenByAlias",
    "POST /spree_oauth/revoke": "revokeTokenByAlias",
    "POST /spree_oauth/introspect": "introspectTokenByAlias",
    "GET /.well-known/oauth-authorization-server": "showAuthorizationServer",
}


def operation_id(route: Route) -> str:
    path = route.path.replace("*}", "}")
    return OPERATION_IDS.get(f"{route.method} {path}") or _derive_id(route, path)


def _derive_id(route: Route, path: str) -> str:
    """Derives an id. `GET /orders`: listOrders; `PATCH /orders/{id}`: updateOrder; `PATCH /orders/{id}/approve`:
    approveOrder.
    """
    segments = path.removeprefix(_STOREFRONT).removeprefix(_PLATFORM).strip("/").split("/")
    noun = [segment for segment in segments if not segment.startswith("{")]
    verb = _VERBS[route.method]
    is_list = isinstance(route.shows, str) and route.shows.endswith("[]")
    if route.method == "GET" and is_list:
        verb = "list"
    elif route.method != "GET" and len(noun) > 1 and segments[-2].startswith("{"):
        verb, noun = _lower(class_name(noun[-1])), noun[:-1]
    *before, last = noun
    about = [*map(_singular, before), last if verb == "list" else _singular(last)]
    is_shared = path.startswith(_STOREFRONT) and noun[0] not in _SHOPPERS
    return verb + ("Storefront" if is_shared else "") + "".join(map(class_name, about))


def _singular(noun: str) -> str:
    if noun.endswith("ies"):
        return noun[:-3] + "y"
    return noun.removesuffix("es") if noun.endswith(("sses", "ches")) else noun.removesuffix("s")


def _lower(name: str) -> str:
    return name[:1].lower() + name[1:]
