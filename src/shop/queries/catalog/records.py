"""Catalog records as the Platform API and the event log read them."""

from uuid import UUID

from shop.models.catalog.images import Image, images
from shop.models.catalog.prices import Price, price_list_entries, prices
from shop.models.catalog.products import (
    OptionType,
    OptionValue,
    Property,
    option_types,
    option_values,
    products,
    properties,
    variants,
)
from shop.models.catalog.stock import StockItem, StockLocation, stock_items, stock_levels, stock_locations
from shop.models.catalog.storefront import PlatformPriceListEntry, PlatformProduct, PlatformVariant
from shop.models.catalog.taxons import Taxon, taxons
from shop.queries.catalog.columns import (
    MASTER_SKU,
    PRODUCT_COLUMNS,
    TAXON_IMAGE_ID,
    VARIANT_COLUMNS,
    entry_currency,
)
from shop.queries.lookups import Lookup
from shop.queries.records import Records


class TaxonWithImage(Taxon, frozen=True, kw_only=True):
    """A taxon with the id of its image."""

    image_id: UUID | None


_AMOUNTS = frozenset({"price", "compare_at_price"})
PRODUCTS = Records(
    table=products,
    row=PlatformProduct,
    extras=PRODUCT_COLUMNS,
    amounts=_AMOUNTS,
    lookups={"sku": MASTER_SKU},
    shown=products.c.deleted_at.is_(None),
)
VARIANTS = Records(
    table=variants, row=PlatformVariant, extras=VARIANT_COLUMNS, amounts=_AMOUNTS, shown=variants.c.deleted_at.is_(None)
)
PRICES = Records(table=prices, row=Price, amounts=frozenset({"amount", "compare_at_amount"}))
STOCK_ITEMS = Records(
    table=stock_items,
    row=StockItem,
    lookups={"count_on_hand": Lookup(stock_levels.c.stock_item_id, stock_levels.c.count_on_hand, is_complete=True)},
)
STOCK_LOCATIONS = Records(table=stock_locations, row=StockLocation)
# Images of the shop, such as its logo, are not part of the catalog.
IMAGES = Records(table=images, row=Image, shown=images.c.shop_id.is_(None))
TAXONS = Records(table=taxons, row=TaxonWithImage, extras={"image_id": TAXON_IMAGE_ID})
OPTION_TYPES = Records(table=option_types, row=OptionType)
OPTION_VALUES = Records(table=option_values, row=OptionValue)
PROPERTIES = Records(table=properties, row=Property)
PRICE_LIST_ENTRIES = Records(
    table=price_list_entries,
    row=PlatformPriceListEntry,
    extras={"currency": entry_currency(price_list_entries)},
    amounts=frozenset({"amount"}),
)
