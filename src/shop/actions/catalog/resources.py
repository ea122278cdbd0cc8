"""Catalog resources that operators and API clients change: audit name, readable columns and actions of each."""

from uuid import UUID

from shop.actions.catalog import images as image_actions
from shop.actions.catalog import prices as price_actions
from shop.actions.catalog import products as product_actions
from shop.actions.catalog import stock, taxons
from shop.actions.catalog.product_locks import (
    build_product_lock,
    get_current_product_values,
    get_current_variant_values,
)
from shop.actions.catalog.products import build_product_part_actions
from shop.actions.records import ResourceActions, default_actions
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
from shop.models.catalog.storefront import PlatformPriceListEntry, PlatformProduct, PlatformVariant
from shop.models.catalog.taxons import Classification, Taxon, Taxonomy, classifications, taxonomies
from shop.models.catalog.taxons import taxons as taxon_table
from shop.queries.cart.order_columns import ROOT
from shop.queries.catalog.columns import MASTER_SKU, PRODUCT_COLUMNS, TAXON_IMAGE_ID, VARIANT_COLUMNS, entry_currency
from shop.queries.lookups import Lookup
from shop.queries.records import Records

_AMOUNTS = frozenset({"price", "compare_at_price"})


class RootedTaxonomy(Taxonomy, frozen=True, kw_only=True):
    """A taxonomy with the id of its root taxon."""

    root_id: UUID | None


class TaxonWithImage(Taxon, frozen=True, kw_only=True):
    """A taxon with the id of its image."""

    image_id: UUID | None


def _plain(name: str, records: Records) -> ResourceActions:
    return ResourceActions(name, records, **default_actions(records))


def _link_resource(name: str, records: Records) -> ResourceActions:
    """Returns actions for a join record: create and delete, no update."""
    actions = default_actions(records)
    return ResourceActions(name, records, actions["create"], None, actions["delete"])


def _product_part(name: str, records: Records) -> ResourceActions:
    return ResourceActions(name, records, **build_product_part_actions(records))


PRODUCT = ResourceActions(
    "product",
    Records(
        table=products,
        row=PlatformProduct,
        extras=PRODUCT_COLUMNS,
        amounts=_AMOUNTS,
        lookups={"sku": MASTER_SKU},
        shown=products.c.deleted_at.is_(None),
    ),
    product_actions.create_product,
    product_actions.update_product,
    product_actions.delete_product,
    present=get_current_product_values,
)
_variant_records = Records(
    table=variants, row=PlatformVariant, extras=VARIANT_COLUMNS, amounts=_AMOUNTS, shown=variants.c.deleted_at.is_(None)
)
VARIANT = ResourceActions(
    "variant",
    _variant_records,
    product_actions.create_variant,
    product_actions.update_variant,
    product_actions.delete_variant,
    build_product_lock(_variant_records),
    get_current_variant_values,
)
_price_records = Records(table=prices, row=Price, amounts=frozenset({"amount", "compare_at_amount"}))
PRICE = ResourceActions(
    "price",
    _price_records,
    price_actions.create_price,
    price_actions.update_price,
    price_actions.delete_price,
    build_product_lock(_price_records),
)
# Images of the shop, such as its logo, are not part of the catalog.
_image_records = Records(table=images, row=Image, shown=images.c.shop_id.is_(None))
IMAGE = ResourceActions("image", _image_records, None, image_actions.change_image, lock_parent=image_actions.lock_owner)
OPTION_TYPE = _product_part("option_type", Records(table=option_types, row=OptionType))
OPTION_VALUE = _product_part("option_value", Records(table=option_values, row=OptionValue))
PROPERTY = _product_part("property", Records(table=properties, row=Property))
_property_records = Records(table=product_properties, row=ProductProperty)
PRODUCT_PROPERTY = ResourceActions(
    "product_property",
    _property_records,
    product_actions.create_property,
    product_actions.update_property,
    build_product_part_actions(_property_records)["delete"],
    build_product_lock(_property_records),
)
TAXONOMY = ResourceActions(
    "taxonomy",
    Records(table=taxonomies, row=RootedTaxonomy, extras={"root_id": ROOT}),
    taxons.create_taxonomy,
    taxons.update_taxonomy,
    taxons.delete_taxonomy,
)
TAXON = ResourceActions(
    "taxon",
    Records(table=taxon_table, row=TaxonWithImage, extras={"image_id": TAXON_IMAGE_ID}),
    taxons.create_taxon,
    taxons.update_taxon,
    taxons.delete_taxon,
    taxons.lock_taxon_tree,
)
_classification_records = Records(table=classifications, row=Classification)
_classification_actions = build_product_part_actions(_classification_records)
CLASSIFICATION = ResourceActions(
    "classification",
    _classification_records,
    product_actions.create_classification,
    _classification_actions["update"],
    _classification_actions["delete"],
    build_product_lock(_classification_records),
)
STOCK_LOCATION = ResourceActions(
    "stock_location",
    Records(table=stock_locations, row=StockLocation),
    stock.create_location,
    stock.update_location,
    stock.delete_location,
)
_levels = Lookup(stock_levels.c.stock_item_id, stock_levels.c.count_on_hand, is_complete=True)
_item_records = Records(table=stock_items, row=StockItem, lookups={"count_on_hand": _levels})
STOCK_ITEM = ResourceActions(
    "stock_item",
    _item_records,
    stock.create_item,
    stock.update_item,
    stock.delete_item,
    build_product_lock(_item_records),
)
STOCK_MOVEMENT = ResourceActions(
    "stock_movement", Records(table=stock_movements, row=StockMovement), stock.create_movement
)
_list_records = Records(table=price_lists, row=PriceList)
PRICE_LIST = ResourceActions(
    "price_list",
    _list_records,
    price_actions.create_list,
    price_actions.update_list,
    default_actions(_list_records)["delete"],
)
_entry_records = Records(
    table=price_list_entries,
    row=PlatformPriceListEntry,
    extras={"currency": entry_currency(price_list_entries)},
    amounts=frozenset({"amount"}),
)
PRICE_LIST_ENTRY = ResourceActions(
    "price_list_entry",
    _entry_records,
    price_actions.create_entry,
    price_actions.update_entry,
    default_actions(_entry_records)["delete"],
)
PRICE_LIST_USER = _link_resource("price_list_user", Records(table=price_list_users, row=PriceListUser))
PRICE_LIST_GROUP = _link_resource("price_list_group", Records(table=price_list_groups, row=PriceListGroup))
CUSTOMER_GROUP = _plain("customer_group", Records(table=customer_groups, row=CustomerGroup))
CUSTOMER_GROUP_MEMBER = _link_resource(
    "customer_group_member", Records(table=customer_group_members, row=CustomerGroupMember)
)
