"""Names and links of the records that use another one, for pages that delete or remove it."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from shop.admin.pages import PageContext, page
from shop.models.setup.shop import Shop
from shop.queries.setup.uses import COUNT_LIMIT, Use
from shop.web.reply import Reply

_ORDERS, _CARTS = "/admin/orders", "/admin/carts"
_PRODUCTS, _CUSTOMERS = "/admin/products", "/admin/customers"
_SHIPPING = "/admin/settings/shipping"
_USERS: Mapping[str, tuple[str, str | None]] = {
    "classifications": ("Placements of products", None),
    "customer_group_members": ("Members", None),
    "line_items": ("Lines of orders and carts", _ORDERS),
    "menu_items": ("Entries of menus", None),
    "operators": ("Operators", "/admin/settings/operators"),
    "orders": ("Open carts", _CARTS),
    "payment_notices": ("Messages of the provider", None),
    "payment_sources": ("Saved cards", _CUSTOMERS),
    "payments": ("Payments of orders and carts", _ORDERS),
    "price_list_entries": ("Prices", None),
    "price_list_groups": ("Customer groups", "/admin/customer-groups"),
    "price_list_users": ("Customers", None),
    "price_lists": ("Price lists", "/admin/price-lists"),
    "prices": ("Prices", _PRODUCTS),
    "products": ("Products, also deleted ones", _PRODUCTS),
    "promotion_rules": ("Promotions with it as a condition", "/admin/promotions"),
    "promotion_uses": ("Orders", _ORDERS),
    "shipments": ("Shipments", _ORDERS),
    "shipping_method_amounts": ("Costs of shipping methods", _SHIPPING),
    "shipping_method_categories": ("Shipping methods", _SHIPPING),
    "shipping_method_zones": ("Shipping methods", _SHIPPING),
    "shipping_methods": ("Shipping methods", _SHIPPING),
    "shipping_rates": ("Shipping rates of orders and carts", _ORDERS),
    "stock_delivery_lines": ("Lines of deliveries that are expected", "/admin/stock/deliveries"),
    "stock_items": ("Locations with stock", "/admin/stock"),
    "store_credits": ("Unspent store credits", _CUSTOMERS),
    "tax_rates": ("Tax rates", "/admin/settings/taxes"),
    "wished_items": ("Wishlists", None),
    "website": ("Home page of the website", "/admin/settings/website"),
    "variants": ("Variants, also deleted ones", _PRODUCTS),
}
"""What the rows of a table are called, and where they are listed."""

GOODS_USERS = {"price_list_entries": ("Prices in price lists", "/admin/price-lists")}
"""What else the rows are called that use a product or variant."""


class UseLink(msgspec.Struct, frozen=True):
    """Records that use another one: how many, what they are called, and the page that lists them."""

    count: str
    noun: str
    path: str | None


def list_website_uses(shop: Shop, *record_ids: UUID) -> list[Use]:
    """Returns whether the home page of the website shows a category, product or promotion."""
    settings = shop.website_settings
    ids = {settings.hero_taxon_id, settings.promotion_id, *settings.featured_taxon_ids, *settings.featured_product_ids}
    return [] if ids.isdisjoint(record_ids) else [Use("website", 1)]


def link_uses(uses: Sequence[Use], users: Mapping[str, tuple[str, str | None]] | None = None) -> list[UseLink]:
    """Returns the uses with names and links; `users` has those that differ from the usual ones."""
    names = {**_USERS, **(users or {})}
    links = []
    for use in uses:
        noun, path = names.get(use.table, (use.table.replace("_", " ").capitalize(), None))
        links.append(UseLink(str(use.count) if use.count <= COUNT_LIMIT else f"{COUNT_LIMIT}+", noun, path))
    return links


def in_use_page(
    page_context: PageContext,
    name: str,
    here: str,
    uses: Sequence[UseLink],
    sentence: str = "It cannot be deleted yet. Remove it from these records first:",
    status: int = 200,
) -> Reply:
    """Says what uses a record that therefore cannot be deleted; `here` is its page."""
    context = {"name": name, "here": here, "uses": uses, "sentence": sentence}
    return page("setup/in_use.html", page_context, status, **context)
