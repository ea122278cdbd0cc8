"""Texts of the OpenAPI description for sections and parameters."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

_STOREFRONT, _PLATFORM = "/api/v2/storefront/", "/api/v2/platform/"

_TOPICS: Mapping[str, tuple[str, str]] = {
    "/api/v2/storefront/auth": (
        "Signing in",
        "A one-time code by mail instead of a password, traded for an access token and a refresh token.",
    ),
    "/api/v2/storefront/cart": (
        "Cart",
        "A cart is opened by its order token, and by the user who opened or joined it. `associate` replaces the token; "
        "what uses the account of the cart's owner needs the owner's bearer token.",
    ),
    "/api/v2/storefront/checkout": (
        "Checkout",
        "From the cart to the order: addresses, shipping, payment, and completion.",
    ),
    "/api/v2/storefront/order_status": ("Order status", "A completed order, for whoever has its order token."),
    "/api/v2/storefront/account/addresses": ("Addresses", "Where the user lives and has things sent."),
    "/api/v2/storefront/account/orders": ("Orders", "What the user has bought."),
    "/api/v2/storefront/account/sessions": ("Sessions", "Where the user is signed in, and an end to it."),
    "/api/v2/storefront/account/credit_cards": ("Credit cards", "Cards that are saved for the user's next order."),
    "/api/v2/storefront/account": ("Account", "Who the user is."),
    "/api/v2/storefront/products": (
        "Products",
        "What is sold, for everybody to see; with a user's token at the prices that are theirs.",
    ),
    "/api/v2/storefront/taxons": ("Taxons", "Categories: the trees that products stand in."),
    "/api/v2/storefront/countries": ("Countries", "Countries and their states, as an address needs them."),
    "/api/v2/storefront/wishlists": (
        "Wishlists",
        "What the user wishes for. A public list can be seen by whoever was shown its token.",
    ),
    "/api/v2/storefront/cms_pages": (
        "Pages and menus",
        "Pages, policies and menus, as the shop's operators wrote them.",
    ),
    "/api/v2/storefront/policies": ("Pages and menus", ""),
    "/api/v2/storefront/menus": ("Pages and menus", ""),
    "/api/v2/storefront/store": ("Store", "The shop itself."),
    "/api/v2/platform/imports": (
        "Import and export",
        "Many products or prices at once, a line of JSON each. What is exported can be imported without a change.",
    ),
    "/api/v2/platform/exports": ("Import and export", ""),
    "/shop_oauth": ("Tokens", "The tokens of applications, in the words of OAuth 2."),
    "/spree_oauth": ("Tokens", ""),
    "/.well-known": ("Tokens", ""),
}
_PLATFORM_TOPICS: Mapping[str, str] = {
    "orders": "Carts and completed orders: create, change, complete, approve, cancel and resume them.",
    "users": "The shop's customers.",
    "addresses": "Addresses of customers and orders.",
    "countries": "Countries with their codes and rules for addresses.",
    "states": "States, provinces and regions of countries.",
    "products": "What is sold; each has a master variant and any number of others.",
    "variants": "What is bought: a product in one combination of option values, with its prices and stock.",
    "images": "Images of products, variants and taxons.",
    "prices": "What a variant costs in a currency.",
    "option_types": "By what variants differ: size, color.",
    "option_values": "The values of option types: small, red.",
    "properties": "Names of facts about products, like the material.",
    "product_properties": "The facts of a product: the value of a property.",
    "taxonomies": "Trees of categories.",
    "taxons": "Categories: the nodes of a taxonomy's tree.",
    "classifications": "Which product stands in which taxon, and at which position.",
    "stock_locations": "Where stock is kept and sent from.",
    "stock_items": "How many of a variant a stock location has.",
    "stock_movements": "Changes of stock, each with its reason.",
    "price_lists": "Prices for some customers or for a time.",
    "price_list_entries": "The prices of a price list, by variant and quantity.",
    "price_list_users": "Customers for whom a price list counts.",
    "price_list_groups": "Customer groups for which a price list counts.",
    "customer_groups": "Groups of customers, like wholesale.",
    "customer_group_members": "Which customer is in which group.",
    "wishlists": "Customers' wishlists.",
    "wished_items": "The items of wishlists.",
    "line_items": "The items of orders.",
    "shipments": "The parcels of orders: what is in them, how they are sent, and how far they are.",
    "shipping_rates": "What sending a shipment by each shipping method costs.",
    "payments": "The payments of orders: capture or void them.",
    "refunds": "Money that was given back of a payment.",
    "adjustments": "What changes an amount of an order: taxes, promotions, and adjustments made by hand.",
    "promotions": "Discounts: automatic, or by a coupon code.",
    "promotion_categories": "Groups of promotions, for reports.",
    "promotion_rules": "When a promotion applies.",
    "promotion_actions": "What a promotion gives.",
    "coupon_batches": "Many generated coupon codes of a promotion.",
    "coupon_codes": "The codes of promotions.",
    "order_promotions": "Which promotion took how much off which order.",
    "store_credits": "Money that the shop owes a customer, to pay orders with.",
    "store_credit_events": "The ledger of a store credit.",
    "store_credit_categories": "Reasons why store credit is granted.",
    "store_credit_types": "Kinds of store credit, by the order in which they are spent.",
    "tax_categories": "Groups of products and shipping methods that are taxed alike.",
    "zones": "Groups of countries or states, for taxes and shipping.",
    "tax_rates": "What is taxed at which rate, and where.",
    "shipping_categories": "Groups of products that are sent alike.",
    "shipping_methods": "How shipments are sent, where to, and at which price.",
    "payment_methods": "How orders are paid.",
    "applications": "The applications that may use this API.",
    "audit_events": "Who did what, and when.",
}
PARAMETERS = {
    "id": "The record's id.",
    "number": "The order's number.",
    "slug": "The slug of the product, page or policy, or its id. A product is also found by a slug that it once had.",
    "permalink": "The taxon's permalink with its slashes, or its id.",
    "iso": "The country's code of two or three letters in any case, its id, or `default`.",
    "code": "The shop's code, or `default`.",
    "wishlist_token": "The wishlist's token.",
    "item_id": "The wished item's id.",
    "token": "An access token or a refresh token.",
}
ASKS = {
    "currency": "In which currency prices are, in any case; the shop's own where it does not sell in this one.",
    "q": "Words to look for in names, numbers, tags, taxons, options and descriptions; each must begin one of theirs.",
    "sort_by": "An order by its name: default, manual, name-a-z, name-z-a, newest-first, oldest-first, "
    "price-high-to-low, price-low-to-high, best-selling.",
    "explain": "With `prices`, `meta.prices` says which price list decided, and why.",
    "is_variant_included": "The id of a variant; `variant_included` says whether it stands on the list.",
    "wished_items_ids": "Ids of items with commas between them; or a list of them in the body. Others are passed over.",
    "image_transformation[size]": "The size in which pictures are wanted, like 200x200.",
    "country_iso": "A country by its code of two or three letters; without one, the shop's own.",
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
    "machines of those who run it. Documents are JSON:API. Bodies are described as `application/json`; "
    "`application/vnd.api+json` and forms with bracketed names (`user[email]=…`) are read as well. Every error has one "
    "body with a `code` to decide by. An address that is there answers a method that it does not have with 405 and "
    "`Allow`; one that is too long is 414, headers that are too large 431."
)


def topic_of(path: str) -> tuple[str, str]:
    """Return the section of a path and its description."""
    section = next((topic for prefix, topic in _TOPICS.items() if path.startswith(prefix)), None)
    if section:
        return section
    name = path.removeprefix(_STOREFRONT).removeprefix(_PLATFORM).partition("/")[0]
    words = name.replace("_", " ")
    return words.capitalize(), _PLATFORM_TOPICS.get(name, f"The shop's {words}.")
