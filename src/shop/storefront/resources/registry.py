"""The registry of storefront resources by type name."""

from shop.jsonapi.query import Resources
from shop.storefront.resources.catalog import (
    IMAGE,
    OPTION_TYPE,
    OPTION_VALUE,
    PRODUCT,
    PRODUCT_PROPERTY,
    TAXON,
    TAXON_WITH_PRODUCTS,
    TAXONOMY,
    VARIANT,
)
from shop.storefront.resources.orders import (
    CART,
    CREDIT_CARD,
    GIFT_CARD,
    LINE_ITEM,
    ORDER,
    PAYMENT,
    PAYMENT_METHOD,
    PROMOTION,
    SHIPMENT,
    SHIPPING_METHOD,
    SHIPPING_RATE,
    SHIPPING_RATE_ESTIMATE,
    STOCK_LOCATION,
    STORE_CREDIT,
)
from shop.storefront.resources.pages import CMS_PAGE, MENU, MENU_ITEM, POLICY
from shop.storefront.resources.setup import COUNTRY, COUNTRY_WITH_STATES, STATE, STORE
from shop.storefront.resources.users import ADDRESS, SESSION, USER
from shop.storefront.resources.wishlists import WISHED_ITEM, WISHLIST

_ALL = (
    CART,
    ORDER,
    LINE_ITEM,
    SHIPMENT,
    SHIPPING_RATE,
    SHIPPING_METHOD,
    STOCK_LOCATION,
    GIFT_CARD,
    PAYMENT,
    PAYMENT_METHOD,
    PROMOTION,
    CREDIT_CARD,
    STORE_CREDIT,
    USER,
    ADDRESS,
    SESSION,
    PRODUCT,
    VARIANT,
    OPTION_TYPE,
    OPTION_VALUE,
    PRODUCT_PROPERTY,
    TAXONOMY,
    TAXON,
    IMAGE,
    COUNTRY,
    STATE,
    STORE,
    WISHLIST,
    WISHED_ITEM,
    CMS_PAGE,
    POLICY,
    MENU,
    MENU_ITEM,
)
RESOURCES: Resources = {resource.type: resource for resource in _ALL}
DOCUMENTED_RESOURCES: Resources = {
    **RESOURCES,
    "taxon_with_products": TAXON_WITH_PRODUCTS,
    "country_with_states": COUNTRY_WITH_STATES,
    "shipping_rate_estimate": SHIPPING_RATE_ESTIMATE,
}
"""`RESOURCES` plus the variants with more relations and the shipping rate estimate, which is not stored."""
