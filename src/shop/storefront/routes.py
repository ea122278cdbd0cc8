"""The storefront route table: method, path, handler, required credential and response type."""

from datetime import date
from typing import Any

import msgspec

from shop.actions.access.sessions import UserTokens
from shop.actions.checkout.coupons import REFUSALS
from shop.base.errors import InvalidCode, InvalidRefreshToken
from shop.jsonapi.deprecation import Deprecation
from shop.models.access.inputs import SignIn
from shop.models.cart.inputs import (
    CartCurrencyInput,
    CartInput,
    CartItemInput,
    CartItemsInput,
    CartQuantityInput,
    GuestCartInput,
)
from shop.models.catalog.filters import TaxonFilters
from shop.models.checkout.inputs import (
    CartCouponInput,
    CheckoutAdvanceInput,
    CheckoutConsent,
    CheckoutCreditInput,
    CheckoutInput,
    CheckoutPaymentInput,
    CheckoutValidationInput,
    ShippingMethodChoice,
)
from shop.models.content.filters import MenuFilters, PageFilters
from shop.models.setup.filters import CountryFilters
from shop.storefront import cart, catalog, checkout, discounts, pages, setup
from shop.storefront.caching import RenderHandler, cache_response
from shop.storefront.customers import login
from shop.storefront.customers.account_routes import ROUTES as ACCOUNT_ROUTES
from shop.storefront.customers.wishlist_routes import ROUTES as WISHLIST_ROUTES
from shop.storefront.inputs import CheckoutRequirements, EmptyBody, LoginNotice
from shop.storefront.product_filters import FILTERS
from shop.storefront.product_filters import SORTS as SORTS_OF_PRODUCTS
from shop.web.endpoint import Handler, Route
from shop.web.reply import JSON, JSON_API, EmptyObject

_BASE = "/api/v2/storefront"
_AUTH = f"{_BASE}/auth"
_CART = f"{_BASE}/cart"
_CHECKOUT = f"{_BASE}/checkout"
_CART_CREDENTIALS = "order token or user"
_SMALL = 64 * 1024
_CART_CODES = {
    409: ("payment_in_progress",),
    422: ("out_of_stock", "not_purchasable", "no_price_in_currency", "quantity_not_positive", "currency_not_supported"),
}
_CHECKOUT_CODES = {
    409: ("payment_in_progress",),
    422: (
        "cart_empty",
        "no_price_in_currency",
        "email_missing",
        "address_missing",
        "no_shipping_rate",
        "payment_missing",
        "payment_refused",
        "payment_method_not_found",
        "source_not_found",
        "shipment_not_found",
        "shipping_method_not_found",
        "out_of_stock",
        "not_payable",
        *REFUSALS,
        "no_store_credit",
    ),
}
_OWNER = {401: ("owner_required",)}
_READ = (400, 401)
_ONE = (400, 401, 404)
_WRITE = (400, 401, 409, 413, 415, 422, 429)
_DELETE_ERRORS = (400, 401, 404, 413, 415)
# There is one shop; Spree itself moved to `/store`.
_STORES_BY_CODE = Deprecation(date(2026, 11, 17), date(2027, 11, 17), "Use GET /api/v2/storefront/store.")
_PRICE_PARAMS = ("currency", "explain")


def _public(path: str, render: RenderHandler, summary: str, shows: str, **options: Any) -> Route:
    """Returns a public, cacheable GET route."""
    errors = _ONE if "{" in path else _READ
    handler, address = cache_response(render), f"{_BASE}/{path}"
    return Route("GET", address, handler, "anyone", summary, shows, errors=errors, is_cacheable=True, **options)


def _cart(method: str, path: str, handler: Handler, summary: str, takes: Any = None) -> Route:
    """Returns a route that changes the cart and returns the updated cart."""
    errors = (*_WRITE, 404)
    return Route(
        method,
        f"{_CART}/{path}",
        handler,
        _CART_CREDENTIALS,
        summary,
        "cart",
        200,
        errors,
        takes=takes,
        codes=_CART_CODES,
    )


def _coupon(method: str, path: str, handler: Handler, summary: str, takes: Any = None) -> Route:
    return msgspec.structs.replace(
        _cart(method, path, handler, summary, takes),
        codes={409: _CART_CODES[409], 422: REFUSALS, **(_OWNER if takes else {})},
    )


def _checkout(method: str, path: str, handler: Handler, summary: str, takes: Any = None, status: int = 200) -> Route:
    errors = (*_WRITE, 404)
    address = f"{_CHECKOUT}/{path}" if path else _CHECKOUT
    return Route(
        method, address, handler, _CART_CREDENTIALS, summary, "cart", status, errors, takes=takes, codes=_CHECKOUT_CODES
    )


def _paying(method: str, path: str, handler: Handler, summary: str, takes: Any = None, status: int = 200) -> Route:
    """Returns a checkout route that may use the account of the cart's owner."""
    route = _checkout(method, path, handler, summary, takes, status)
    return msgspec.structs.replace(route, codes={**_CHECKOUT_CODES, **_OWNER})


def _completing(route: Route) -> Route:
    codes = ("total_changed", "payment_in_progress", "payment_needs_action")
    return msgspec.structs.replace(route, codes={**route.codes, 409: codes})


def _checkout_read(
    path: str, handler: Handler, summary: str, shows: Any, *errors: int, media: bytes = JSON_API
) -> Route:
    statuses = (*_READ, 404, *errors)
    address = f"{_CHECKOUT}/{path}"
    options: dict[str, Any] = {"codes": _CHECKOUT_CODES, "is_paged": False}
    return Route("GET", address, handler, _CART_CREDENTIALS, summary, shows, 200, statuses, media, **options)


ROUTES = (
    Route(
        "POST",
        _AUTH,
        login.sign_in,
        "anyone",
        "Sign in: request a login code, exchange it for tokens, or refresh them",
        LoginNotice | UserTokens,
        200,
        (400, 401, 413, 415, 422, 429),
        JSON,
        _SMALL,
        reads_claim=False,
        takes=SignIn,
        fails=(InvalidCode, InvalidRefreshToken),
    ),
    Route(
        "DELETE",
        f"{_AUTH}/{{token*}}",
        login.sign_out,
        "anyone",
        "Sign out: end the session of a token",
        EmptyObject,
        200,
        (400, 413, 415),
        JSON,
        _SMALL,
        reads_claim=False,
    ),
    Route(
        "POST",
        _CART,
        cart.create,
        "anyone",
        "Create a cart, or return the user's cart",
        "cart",
        201,
        (*_WRITE, 404),
        takes=CartInput,
    ),
    Route("GET", _CART, cart.show, "order token or user", "Show the cart", "cart", 200, (*_READ, 404)),
    Route(
        "DELETE",
        _CART,
        cart.destroy,
        "order token or user",
        "Delete the cart",
        None,
        204,
        (*_DELETE_ERRORS, 422),
        codes={422: ("cart_has_payment",), **_OWNER},
    ),
    _cart("POST", "add_item", cart.add_item, "Add an item to the cart", CartItemInput),
    _cart("POST", "add_items", cart.add_items, "Add several items to the cart: all of them or none", CartItemsInput),
    _cart("PATCH", "set_quantity", cart.set_quantity, "Set the quantity of a line item", CartQuantityInput),
    _cart("DELETE", "remove_line_item/{id}", cart.remove_line_item, "Remove a line item from the cart"),
    _cart("PATCH", "empty", cart.empty, "Empty the cart", EmptyBody),
    _cart("PATCH", "change_currency", cart.change_currency, "Change the cart's currency", CartCurrencyInput),
    _coupon("PATCH", "apply_coupon_code", discounts.apply_code, "Apply a coupon code to the cart", CartCouponInput),
    _coupon("DELETE", "remove_coupon_code", discounts.remove_codes, "Remove all coupon codes from the cart"),
    _coupon("DELETE", "remove_coupon_code/{code}", discounts.remove_code, "Remove a coupon code from the cart"),
    Route(
        "GET",
        f"{_CART}/estimate_shipping_rates",
        cart.estimate_shipping_rates,
        _CART_CREDENTIALS,
        "Estimate shipping rates to a country",
        "shipping_rate_estimate[]",
        200,
        (*_READ, 404),
        asks=("country_iso",),
        is_paged=False,
    ),
    _paying("PATCH", "", checkout.update, "Update the checkout: e-mail, addresses, shipping, payment", CheckoutInput),
    _paying("PUT", "", checkout.update, "Update the checkout: e-mail, addresses, shipping, payment", CheckoutInput),
    _checkout("PATCH", "next", checkout.next_step, "Advance to the next checkout step", EmptyBody),
    _checkout("PATCH", "advance", checkout.advance, "Advance the checkout as far as possible", CheckoutAdvanceInput),
    _completing(
        _paying("PATCH", "complete", checkout.complete, "Complete the checkout: place the order", CheckoutConsent)
    ),
    _paying(
        "POST",
        "create_payment",
        checkout.create_payment,
        "Create a payment for the checkout",
        CheckoutPaymentInput,
        201,
    ),
    _checkout(
        "PATCH",
        "select_shipping_method",
        checkout.select_shipping_method,
        "Select a shipping method",
        ShippingMethodChoice,
    ),
    _paying("POST", "add_store_credit", discounts.add_credit, "Add store credit to the checkout", CheckoutCreditInput),
    _paying("POST", "remove_store_credit", discounts.remove_credit, "Remove store credit from the checkout", EmptyBody),
    _checkout(
        "POST",
        "validate_order_for_payment",
        checkout.validate_for_payment,
        "Validate the order for payment: remove unavailable items",
        CheckoutValidationInput,
    ),
    _checkout_read(
        "shipping_rates", checkout.shipping_rates, "List the shipping rates of the checkout", "shipment[]", 422
    ),
    _checkout_read(
        "payment_methods", checkout.payment_methods, "List the payment methods of the checkout", "payment_method[]"
    ),
    _checkout_read(
        "requirements",
        checkout.requirements,
        "Show the missing requirements of the checkout",
        CheckoutRequirements,
        media=JSON,
    ),
    Route(
        "GET",
        f"{_BASE}/order_status/{{number}}",
        checkout.order_status,
        _CART_CREDENTIALS,
        "Show a completed order by its token",
        "cart",
        200,
        (*_READ, 404),
    ),
    Route(
        "PATCH",
        f"{_CART}/associate",
        cart.associate,
        "user",
        "Associate a guest's cart with the user: merge carts",
        "cart",
        200,
        (*_WRITE, 404),
        takes=GuestCartInput,
    ),
    _public(
        "products",
        catalog.list_products,
        "List and search products",
        "product[]",
        sorts=SORTS_OF_PRODUCTS,
        filters=FILTERS,
        asks=(*_PRICE_PARAMS, "q", "sort_by"),
    ),
    _public("products/{slug}", catalog.show_product, "Show a product", "product", asks=_PRICE_PARAMS),
    _public(
        "products/{slug}/variants",
        catalog.list_variants,
        "List a product's variants",
        "variant[]",
        filters=("options",),
        asks=_PRICE_PARAMS,
    ),
    _public(
        "taxons", catalog.list_taxons, "List taxons (categories)", "taxon[]", filters=TaxonFilters.__struct_fields__
    ),
    _public(
        "taxons/{permalink*}", catalog.show_taxon, "Show a taxon (category)", "taxon_with_products", asks=("currency",)
    ),
    _public("countries", setup.list_countries, "List countries", "country[]", filters=CountryFilters.__struct_fields__),
    _public("countries/{iso}", setup.show_country, "Show a country", "country_with_states"),
    _public("store", setup.show_store, "Show the store", "store"),
    _public("stores/{code}", setup.show_store, "Show the store by its code", "store", deprecated=_STORES_BY_CODE),
    _public("cms_pages", pages.list_pages, "List pages", "cms_page[]", filters=PageFilters.__struct_fields__),
    _public("cms_pages/{slug}", pages.show_page, "Show one page", "cms_page"),
    _public("policies", pages.list_policies, "List policies", "policy[]"),
    _public("policies/{slug}", pages.show_policy, "Show one policy", "policy"),
    _public(
        "menus", pages.list_menus, "List menus", "menu[]", filters=MenuFilters.__struct_fields__, asks=("currency",)
    ),
    _public("menus/{id}", pages.show_menu, "Show one menu", "menu", asks=("currency",)),
    *ACCOUNT_ROUTES,
    *WISHLIST_ROUTES,
)
