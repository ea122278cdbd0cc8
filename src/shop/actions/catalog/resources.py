"""The kinds of records of the catalogue that operators and machines change, each with its word in the audit, what is
read of it, and what can be done to it.
"""

from uuid import UUID

from shop.actions.catalog import images as media
from shop.actions.catalog import prices as pricing
from shop.actions.catalog import products as catalog
from shop.actions.catalog import stock, taxons
from shop.actions.catalog.product_locks import holding_products, present_product, present_variant
from shop.actions.catalog.products import shown_by_products
from shop.actions.records import Noun, plain
from shop.models.access.users import CustomerGroup, CustomerGroupMember, customer_group_members, customer_groups
from shop.models.catalog.images import Image, images
from shop.models.catalog.prices import (
    Price,
    PriceList,
    PriceListGroup,
    PriceListUser,
    price_list_entries,
    price_list_groups,
    price_list_users,
    price_lists,
    prices,
)
from shop.models.catalog.products import (
    OptionType,
    OptionValue,
    ProductProperty,
    Property,
    option_types,
    option_values,
    product_properties,
    products,
    properties,
    variants,
)
from shop.models.catalog.stock import (
    StockItem,
    StockLocation,
    StockMovement,
    stock_items,
    stock_levels,
    stock_locations,
    stock_movements,
)
from shop.models.catalog.storefront import ListedEntry, SoldProduct, SoldVariant
from shop.models.catalog.taxons import Classification, Taxon, Taxonomy, classifications, taxonomies
from shop.models.catalog.taxons import taxons as taxon_table
from shop.queries.cart.order_columns import ROOT
from shop.queries.catalog.columns import MASTER_SKU, PRODUCT_COLUMNS, TAXON_IMAGE_ID, VARIANT_COLUMNS, entry_currency
from shop.queries.lookups import Lookup
from shop.queries.records import Records

_AMOUNTS = frozenset({"price", "compare_at_price"})


class RootedTaxonomy(Taxonomy, frozen=True, kw_only=True):
    """With the taxon at its top."""

    root_id: UUID | None


class TaxonWithImage(Taxon, frozen=True, kw_only=True):
    """With the id of its image."""

    image_id: UUID | None


def _plain(name: str, records: Records) -> Noun:
    return Noun(name, records, **plain(records))


def _linked(name: str, records: Records) -> Noun:
    """What only links two others is made and removed, and never changed."""
    verbs = plain(records)
    return Noun(name, records, verbs["create"], None, verbs["delete"])


def _shown(name: str, records: Records) -> Noun:
    return Noun(name, records, **shown_by_products(records))


PRODUCT = Noun(
    "product",
    Records(
        table=products,
        row=SoldProduct,
        extras=PRODUCT_COLUMNS,
        amounts=_AMOUNTS,
        lookups={"sku": MASTER_SKU},
        shown=products.c.deleted_at.is_(None),
    ),
    catalog.create_product,
    catalog.update_product,
    catalog.delete_product,
    present=present_product,
)
_variant_records = Records(
    table=variants, row=SoldVariant, extras=VARIANT_COLUMNS, amounts=_AMOUNTS, shown=variants.c.deleted_at.is_(None)
)
VARIANT = Noun(
    "variant",
    _variant_records,
    catalog.create_variant,
    catalog.update_variant,
    catalog.delete_variant,
    holding_products(_variant_records),
    present_variant,
)
_price_records = Records(table=prices, row=Price, amounts=frozenset({"amount", "compare_at_amount"}))
PRICE = Noun(
    "price",
    _price_records,
    pricing.create_price,
    pricing.update_price,
    pricing.delete_price,
    holding_products(_price_records),
)
IMAGE = Noun("image", Records(table=images, row=Image), None, media.change_image, hold=media.lock_owner)
OPTION_TYPE = _shown("option_type", Records(table=option_types, row=OptionType))
OPTION_VALUE = _shown("option_value", Records(table=option_values, row=OptionValue))
PROPERTY = _shown("property", Records(table=properties, row=Property))
_property_records = Records(table=product_properties, row=ProductProperty)
PRODUCT_PROPERTY = Noun(
    "product_property",
    _property_records,
    catalog.create_property,
    catalog.update_property,
    shown_by_products(_property_records)["delete"],
    holding_products(_property_records),
)
TAXONOMY = Noun(
    "taxonomy",
    Records(table=taxonomies, row=RootedTaxonomy, extras={"root_id": ROOT}),
    taxons.create_taxonomy,
    taxons.update_taxonomy,
    taxons.delete_taxonomy,
)
TAXON = Noun(
    "taxon",
    Records(table=taxon_table, row=TaxonWithImage, extras={"image_id": TAXON_IMAGE_ID}),
    taxons.create_taxon,
    taxons.update_taxon,
    taxons.delete_taxon,
    taxons.hold_tree,
)
_classification_records = Records(table=classifications, row=Classification)
CLASSIFICATION = Noun(
    "classification",
    _classification_records,
    **shown_by_products(_classification_records),
    hold=holding_products(_classification_records),
)
STOCK_LOCATION = Noun(
    "stock_location",
    Records(table=stock_locations, row=StockLocation),
    stock.create_location,
    stock.update_location,
    stock.delete_location,
)
_levels = Lookup(stock_levels.c.stock_item_id, stock_levels.c.count_on_hand, is_whole=True)
_item_records = Records(table=stock_items, row=StockItem, lookups={"count_on_hand": _levels})
STOCK_ITEM = Noun(
    "stock_item",
    _item_records,
    stock.create_item,
    stock.update_item,
    stock.delete_item,
    holding_products(_item_records),
)
STOCK_MOVEMENT = Noun("stock_movement", Records(table=stock_movements, row=StockMovement), stock.create_movement)
_list_records = Records(table=price_lists, row=PriceList)
PRICE_LIST = Noun("price_list", _list_records, pricing.create_list, pricing.update_list, plain(_list_records)["delete"])
_entry_records = Records(
    table=price_list_entries,
    row=ListedEntry,
    extras={"currency": entry_currency(price_list_entries)},
    amounts=frozenset({"amount"}),
)
PRICE_LIST_ENTRY = Noun(
    "price_list_entry",
    _entry_records,
    pricing.create_entry,
    pricing.update_entry,
    plain(_entry_records)["delete"],
)
PRICE_LIST_USER = _linked("price_list_user", Records(table=price_list_users, row=PriceListUser))
PRICE_LIST_GROUP = _linked("price_list_group", Records(table=price_list_groups, row=PriceListGroup))
CUSTOMER_GROUP = _plain("customer_group", Records(table=customer_groups, row=CustomerGroup))
CUSTOMER_GROUP_MEMBER = _linked("customer_group_member", Records(table=customer_group_members, row=CustomerGroupMember))
