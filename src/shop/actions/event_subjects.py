"""The records that events are about, where no declared resource notes their changes."""

from decimal import Decimal
from uuid import UUID

import msgspec

from shop.actions.context import Context
from shop.actions.events import Subject, note_replacement
from shop.models.documents.invoices import InvoiceSummary, invoices
from shop.models.setup.shop import STORE_ID, Shop, shops
from shop.models.setup.taxes import TaxCategory, tax_categories
from shop.queries.access.records import APPLICATIONS, OPERATORS, ROLES
from shop.queries.catalog.records import (
    IMAGES,
    OPTION_TYPES,
    OPTION_VALUES,
    PRICE_LIST_ENTRIES,
    PRICES,
    PRODUCTS,
    PROPERTIES,
    STOCK_ITEMS,
    STOCK_LOCATIONS,
    TAXONS,
    VARIANTS,
)
from shop.queries.checkout.records import STORE_CREDITS
from shop.queries.content.records import MENU_ITEMS
from shop.queries.customers.records import ADDRESSES, WISHLISTS
from shop.queries.customers.users import CUSTOMERS
from shop.queries.customers.wishlists import WISHED_ITEM_RECORDS
from shop.queries.orders.records import ORDERS, PAYMENTS, REFUNDS, SHIPMENTS
from shop.queries.records import Records
from shop.queries.setup.records import ZONES


class StockCount(msgspec.Struct, frozen=True):
    """What is known of a stock item before its count changes."""

    count_on_hand: int


class ShopSettings(msgspec.Struct, frozen=True):
    """The settings of the shop that an event shows."""

    id: UUID
    name: str
    currencies: list[str]
    default_country: str
    default_locale: str
    time_zone: str
    website: dict[str, object]
    mails: dict[str, object] = {}
    documents: dict[str, object] = {}
    low_stock_threshold: int = 5
    order_prefix: str = "R"
    order_digits: int = 10
    weight_unit: str = "kg"
    dimension_unit: str = "cm"
    refund_approval_amount: Decimal | None = None


ORDER = Subject("order", ORDERS)
SHIPMENT = Subject("shipment", SHIPMENTS)
PAYMENT = Subject("payment", PAYMENTS)
REFUND = Subject("refund", REFUNDS)
INVOICE = Subject("invoice", Records(table=invoices, row=InvoiceSummary, amounts=frozenset({"total"})))
STORE_CREDIT = Subject("store_credit", STORE_CREDITS)
CUSTOMER = Subject("user", CUSTOMERS)
ADDRESS = Subject("address", ADDRESSES)
WISHLIST = Subject("wishlist", WISHLISTS)
WISHED_ITEM = Subject("wished_item", WISHED_ITEM_RECORDS)
PRODUCT = Subject("product", PRODUCTS)
VARIANT = Subject("variant", VARIANTS)
PRICE = Subject("price", PRICES)
PRICE_LIST_ENTRY = Subject("price_list_entry", PRICE_LIST_ENTRIES)
STOCK_ITEM = Subject("stock_item", STOCK_ITEMS)
STOCK_LOCATION = Subject("stock_location", STOCK_LOCATIONS)
IMAGE = Subject("image", IMAGES)
TAXON = Subject("taxon", TAXONS)
OPTION_TYPE = Subject("option_type", OPTION_TYPES)
OPTION_VALUE = Subject("option_value", OPTION_VALUES)
PROPERTY = Subject("property", PROPERTIES)
APPLICATION = Subject("application", APPLICATIONS)
OPERATOR = Subject("operator", OPERATORS)
ROLE = Subject("role", ROLES)
ZONE = Subject("zone", ZONES)
TAX_CATEGORY = Subject("tax_category", Records(table=tax_categories, row=TaxCategory))
MENU_ITEM = Subject("menu_item", MENU_ITEMS)
SHOP = Subject("shop", Records(table=shops, row=ShopSettings))


def note_settings(ctx: Context, before: Shop, after: Shop) -> None:
    """Notes that the transaction changes the settings of the shop."""
    note_replacement(ctx, SHOP, _settings_of(before), _settings_of(after))


def _settings_of(shop: Shop) -> ShopSettings:
    names = [name for name in ShopSettings.__struct_fields__ if name != "id"]
    return ShopSettings(STORE_ID, *(getattr(shop, name) for name in names))
