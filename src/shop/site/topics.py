"""Texts of the OpenAPI description for sections and parameters."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

_STOREFRONT, _PLATFORM = "/api/v2/storefront/", "/api/v2/platform/"
EVENTS = "Events"

_TOPICS: Mapping[str, tuple[str, str]] = {
    "/api/v2/storefront/auth": (
        "Signing in",
        "Exchange a one-time code, sent by e-mail, for an access token and a refresh token. There are no passwords.",
    ),
    "/api/v2/storefront/cart": (
        "Cart",
        "A cart is accessed with its order token or by its user. `associate` replaces the token; operations that use "
        "the account of the cart's owner require the owner's bearer token.",
    ),
    "/api/v2/storefront/checkout": (
        "Checkout",
        "From the cart to the order: addresses, shipping, payment, and completion.",
    ),
    "/api/v2/storefront/order_status": ("Order status", "Read a completed order with its order token."),
    "/api/v2/storefront/account/addresses": ("Addresses", "The user's billing and shipping addresses."),
    "/api/v2/storefront/account/orders": ("Orders", "The user's completed orders."),
    "/api/v2/storefront/account/sessions": ("Sessions", "List and end the user's sessions."),
    "/api/v2/storefront/account/credit_cards": ("Credit cards", "The user's saved cards."),
    "/api/v2/storefront/account": ("Account", "The user's profile."),
    "/api/v2/storefront/products": (
        "Products",
        "Public products; with a user's token, at the user's prices.",
    ),
    "/api/v2/storefront/taxons": ("Taxons", "The category trees of products."),
    "/api/v2/storefront/countries": ("Countries", "Countries and states for addresses."),
    "/api/v2/storefront/wishlists": (
        "Wishlists",
        "The user's wishlists. Anyone with the token can read a public wishlist.",
    ),
    "/api/v2/storefront/cms_pages": (
        "Pages and menus",
        "The shop's pages, policies and menus.",
    ),
    "/api/v2/storefront/policies": ("Pages and menus", ""),
    "/api/v2/storefront/menus": ("Pages and menus", ""),
    "/api/v2/storefront/store": ("Store", "Name, currencies and settings of the shop."),
    "/api/v2/platform/imports": (
        "Import and export",
        "Bulk import and export of products and prices as NDJSON. An export can be imported unchanged.",
    ),
    "/api/v2/platform/exports": ("Import and export", ""),
    "/api/v2/platform/webhooks/": (
        "Spree's webhooks",
        "Webhook endpoints and their requests under their names in Spree.",
    ),
    "/api/v2/platform/webhook_": (
        "Webhooks",
        "Endpoints that receive events, signed as Standard Webhooks describes, and the log of deliveries to them.",
    ),
    "/api/v2/platform/event": (
        EVENTS,
        "The log of all changes: a feed without gaps, a live stream, and the types of events. "
        "`event_types` shows an example of each type.",
    ),
    "/shop_oauth": ("Tokens", "OAuth 2 tokens of applications."),
    "/spree_oauth": ("Tokens", ""),
    "/.well-known": ("Tokens", ""),
}
_PLATFORM_TOPICS: Mapping[str, str] = {
    "orders": "Carts and completed orders: create, change, complete, approve, cancel and resume them.",
    "users": "The shop's customers.",
    "addresses": "Addresses of customers and orders.",
    "countries": "Countries with their codes and rules for addresses.",
    "states": "States, provinces and regions of countries.",
    "products": "Products; each has a master variant and any number of other variants.",
    "variants": "Variants: a product in one combination of option values, with its prices and stock.",
    "images": "Images of products, variants and taxons.",
    "prices": "Prices of variants by currency.",
    "option_types": "Characteristics that distinguish variants, such as size or color.",
    "option_values": "The values of option types, such as small or red.",
    "properties": "Properties that products can have, such as material.",
    "product_properties": "The values of a product's properties.",
    "taxonomies": "Trees of categories.",
    "taxons": "Categories: the nodes of a taxonomy's tree.",
    "classifications": "Products in taxons, with their positions.",
    "stock_locations": "Locations that store and ship stock.",
    "stock_items": "Stock of a variant at a stock location.",
    "stock_movements": "Stock changes with their reasons.",
    "price_lists": "Prices for certain customers or periods.",
    "price_list_entries": "The prices of a price list, by variant and quantity.",
    "price_list_users": "Customers to whom a price list applies.",
    "price_list_groups": "Customer groups to which a price list applies.",
    "customer_groups": "Groups of customers, such as wholesale.",
    "customer_group_members": "Members of customer groups.",
    "wishlists": "Customers' wishlists.",
    "wished_items": "The items of wishlists.",
    "line_items": "The items of orders.",
    "shipments": "Shipments of orders: their items, shipping method and state.",
    "shipping_rates": "The cost of each shipping method for a shipment.",
    "payments": "The payments of orders: capture or void them.",
    "refunds": "Refunds of payments.",
    "adjustments": "Changes to the total of an order: taxes, promotions and manual adjustments.",
    "promotions": "Discounts: automatic, or by a coupon code.",
    "promotion_categories": "Groups of promotions, for reports.",
    "promotion_rules": "Conditions under which a promotion applies.",
    "promotion_actions": "The discounts that a promotion gives.",
    "coupon_batches": "Generated coupon codes of a promotion.",
    "coupon_codes": "The codes of promotions.",
    "order_promotions": "Discounts of orders by promotion.",
    "store_credits": "Credit with which a customer can pay orders.",
    "store_credit_events": "The ledger of a store credit.",
    "store_credit_categories": "Reasons why store credit is granted.",
    "store_credit_types": "Types of store credit, with the order in which they are spent.",
    "tax_categories": "Groups of products and shipping methods that are taxed the same way.",
    "zones": "Groups of countries or states, for taxes and shipping.",
    "tax_rates": "Tax rates by zone and tax category.",
    "shipping_categories": "Groups of products that ship the same way.",
    "shipping_methods": "Ways to ship orders, with their zones and prices.",
    "payment_methods": "Ways to pay orders.",
    "applications": "Applications that can use this API.",
    "audit_events": "Audit log of changes.",
}
PARAMETERS = {
    "id": "The record's id.",
    "number": "The order's number.",
    "slug": "The slug of the product, page or policy, or its id. Previous slugs of a product also work.",
    "permalink": "The taxon's permalink, including slashes, or its id.",
    "iso": "The country's code of two or three letters in any case, its id, or `default`.",
    "code": "The shop's code, or `default`.",
    "wishlist_token": "The wishlist's token.",
    "item_id": "The wished item's id.",
    "token": "An access token or a refresh token.",
}
ASKS = {
    "currency": "Currency of prices, not case-sensitive; the default currency if the shop does not sell in it.",
    "q": "Search words, matched as prefixes in names, numbers, tags, taxons, options and descriptions; all must match.",
    "sort_by": "Sort order: default, manual, name-a-z, name-z-a, newest-first, oldest-first, "
    "price-high-to-low, price-low-to-high, best-selling.",
    "explain": "`prices` adds `meta.prices`, which explains the price list that applies.",
    "is_variant_included": "The id of a variant; `variant_included` is true if it is on the wishlist.",
    "wished_items_ids": "Comma-separated ids of items, or a list in the body. Unknown ids are ignored.",
    "image_transformation[size]": "The size of images, such as 200x200.",
    "page[after]": "The cursor of the last page, or `now` for the end of the log; empty or absent: from the beginning.",
    "page[size]": "The number of events, at most 100; 25 by default.",
    "filter[type_in]": "Types of events separated by commas, such as `order.completed` or `order.*`.",
    "wait": "Seconds to wait for an event if there is none, at most 30.",
    "consistency": "`eventual` lets a replica answer: it shows your own changes, but may lack those of others from the "
    "last second. `strong`, the default, reads the primary.",
    "country_iso": "A country's code of two or three letters; defaults to the shop's country.",
}
FILTERS: Mapping[str, Any] = {
    "ids": list[UUID],
    "skus": list[str],
    "taxons": list[UUID],
    "concat_taxons": list[UUID],
    "tags": list[str],
    "vendor_ids": list[str],
    "options": dict[str, str],
    "option_value_ids": list[UUID],
    "properties": dict[str, str],
    "show_deleted": bool,
    "show_discontinued": bool,
    "in_stock": bool,
    "backorderable": bool,
    "purchasable": bool,
    "parent_id": UUID,
    "taxonomy_id": UUID,
    "roots": bool,
    "shippable": bool,
    "payment_method_id": UUID,
}
"""Types of the storefront's filters by name; others are strings."""
ABOUT = (
    "Two APIs of one shop, compatible with the Spree API v2 (Storefront and Platform): one for shoppers, one for the "
    "merchant's applications. Documents are JSON:API. Bodies are described as `application/json`; "
    "`application/vnd.api+json` and forms with bracketed names (`user[email]=…`) are also accepted. Every error "
    "has a machine-readable `code`. A method that a path does not support is 405 with `Allow`; a URL that is too "
    "long is 414, and headers that are too large are 431."
)


def topic_of(path: str) -> tuple[str, str]:
    """Returns the section of a path and its description."""
    section = next((topic for prefix, topic in _TOPICS.items() if path.startswith(prefix)), None)
    if section:
        return section
    name = path.removeprefix(_STOREFRONT).removeprefix(_PLATFORM).partition("/")[0]
    words = name.replace("_", " ")
    return words.capitalize(), _PLATFORM_TOPICS.get(name, f"The shop's {words}.")
