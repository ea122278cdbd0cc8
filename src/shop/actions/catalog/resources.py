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
from shop.models.catalog.prices import (
    PriceList,
    PriceListGroup,
    PriceListUser,
    price_list_groups,
    price_list_users,
    price_lists,
)
from shop.models.catalog.products import (
    ProductProperty,
    product_properties,
)
from shop.models.catalog.stock import (
    StockMovement,
    stock_movements,
)
from shop.models.catalog.taxons import Classification, Taxonomy, classifications, taxonomies
from shop.queries.cart.order_columns import ROOT
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
from shop.queries.records import Records

_AMOUNTS = frozenset({"price", "compare_at_price"})


class RootedTaxonomy(Taxonomy, frozen=True, kw_only=True):
    """A taxonomy with the id of its root taxon."""

    root_id: UUID | None


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
    PRODUCTS,
    product_actions.create_product,
    product_actions.update_product,
    product_actions.delete_product,
    present=get_current_product_values,
)
VARIANT = ResourceActions(
    "variant",
    VARIANTS,
    product_actions.create_variant,
    product_actions.update_variant,
    product_actions.delete_variant,
    build_product_lock(VARIANTS),
    get_current_variant_values,
)
PRICE = ResourceActions(
    "price",
    PRICES,
    price_actions.create_price,
    price_actions.update_price,
    price_actions.delete_price,
    build_product_lock(PRICES),
)
IMAGE = ResourceActions("image", IMAGES, None, image_actions.change_image, lock_parent=image_actions.lock_owner)
OPTION_TYPE = _product_part("option_type", OPTION_TYPES)
OPTION_VALUE = _product_part("option_value", OPTION_VALUES)
PROPERTY = _product_part("property", PROPERTIES)
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
    TAXONS,
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
    STOCK_LOCATIONS,
    stock.create_location,
    stock.update_location,
    stock.delete_location,
)
STOCK_ITEM = ResourceActions(
    "stock_item",
    STOCK_ITEMS,
    stock.create_item,
    stock.update_item,
    stock.delete_item,
    build_product_lock(STOCK_ITEMS),
)
# The event of a movement is `stock.changed`, also for sales, which applications do not create as movements.
STOCK_MOVEMENT = ResourceActions(
    "stock_movement", Records(table=stock_movements, row=StockMovement), stock.create_movement, has_events=False
)
_list_records = Records(table=price_lists, row=PriceList)
PRICE_LIST = ResourceActions(
    "price_list",
    _list_records,
    price_actions.create_list,
    price_actions.update_list,
    default_actions(_list_records)["delete"],
)
PRICE_LIST_ENTRY = ResourceActions(
    "price_list_entry",
    PRICE_LIST_ENTRIES,
    price_actions.create_entry,
    price_actions.update_entry,
    default_actions(PRICE_LIST_ENTRIES)["delete"],
)
PRICE_LIST_USER = _link_resource("price_list_user", Records(table=price_list_users, row=PriceListUser))
PRICE_LIST_GROUP = _link_resource("price_list_group", Records(table=price_list_groups, row=PriceListGroup))
CUSTOMER_GROUP = _plain("customer_group", Records(table=customer_groups, row=CustomerGroup))
CUSTOMER_GROUP_MEMBER = _link_resource(
    "customer_group_member", Records(table=customer_group_members, row=CustomerGroupMember)
)
