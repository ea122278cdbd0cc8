"""The registry of platform resources by wire type, linked by their relations."""

from shop.jsonapi.resource import Relation, Resource
from shop.models.access.users import customer_group_members
from shop.models.catalog.prices import price_list_groups, price_list_users
from shop.models.catalog.products import product_option_types, variant_option_values, variants
from shop.models.catalog.stock import stock_items
from shop.models.catalog.taxons import classifications
from shop.models.checkout.coupons import adjustments
from shop.models.checkout.shipments import shipment_items, shipping_method_categories, shipping_method_zones
from shop.models.setup.zones import zone_members
from shop.platform.collection import Collection
from shop.platform.events.webhooks import (
    SUBSCRIBER_EVENTS,
    SUBSCRIBERS,
    WEBHOOK_ATTEMPTS,
    WEBHOOK_DELIVERIES,
    WEBHOOK_ENDPOINTS,
)
from shop.platform.resources.access import APPLICATIONS, AUDIT_EVENTS
from shop.platform.resources.catalog import (
    OPTION_TYPES,
    OPTION_VALUES,
    PRODUCT_PROPERTIES,
    PRODUCTS,
    PROPERTIES,
    VARIANTS,
)
from shop.platform.resources.images import IMAGES
from shop.platform.resources.order_parts import LINE_ITEMS, PAYMENTS, REFUNDS, SHIPMENTS, SHIPPING_RATES
from shop.platform.resources.orders import ORDERS
from shop.platform.resources.pages import CMS_PAGES, MENU_ITEMS, MENUS, POLICIES
from shop.platform.resources.prices import (
    CUSTOMER_GROUP_MEMBERS,
    CUSTOMER_GROUPS,
    PRICE_LIST_ENTRIES,
    PRICE_LIST_GROUPS,
    PRICE_LIST_USERS,
    PRICE_LISTS,
    PRICES,
)
from shop.platform.resources.promotions import (
    ADJUSTMENTS,
    COUPON_BATCHES,
    COUPON_CODES,
    ORDER_PROMOTIONS,
    PROMOTION_ACTIONS,
    PROMOTION_CATEGORIES,
    PROMOTION_RULES,
    PROMOTIONS,
    STORE_CREDIT_CATEGORIES,
    STORE_CREDIT_EVENTS,
    STORE_CREDIT_TYPES,
    STORE_CREDITS,
)
from shop.platform.resources.related import (
    CALCULATORS,
    CAPTURE_EVENTS,
    CREDIT_CARDS,
    INVENTORY_UNITS,
    ZONE_MEMBERS,
)
from shop.platform.resources.setup import (
    PAYMENT_METHODS,
    SHIPPING_CATEGORIES,
    SHIPPING_METHODS,
    TAX_CATEGORIES,
    TAX_RATES,
    ZONES,
)
from shop.platform.resources.stock import STOCK_ITEMS, STOCK_LOCATIONS, STOCK_MOVEMENTS
from shop.platform.resources.taxons import CLASSIFICATIONS, TAXONOMIES, TAXONS
from shop.platform.resources.users import ADDRESSES, COUNTRIES, STATES, USERS
from shop.platform.resources.wishlists import WISHED_ITEMS, WISHLISTS
from shop.queries.records import Records, RelationLink

COST_ATTRIBUTES = frozenset({"cost_price", "display_cost_price", "cost_currency"})
"""Attributes that a token with permissions shows only with `costs:read`."""
_ALL = (
    ORDERS,
    USERS,
    ADDRESSES,
    COUNTRIES,
    STATES,
    PRODUCTS,
    VARIANTS,
    IMAGES,
    PRICES,
    OPTION_TYPES,
    OPTION_VALUES,
    PROPERTIES,
    PRODUCT_PROPERTIES,
    TAXONOMIES,
    TAXONS,
    CLASSIFICATIONS,
    STOCK_LOCATIONS,
    STOCK_ITEMS,
    STOCK_MOVEMENTS,
    PRICE_LISTS,
    PRICE_LIST_ENTRIES,
    PRICE_LIST_USERS,
    PRICE_LIST_GROUPS,
    CUSTOMER_GROUPS,
    CUSTOMER_GROUP_MEMBERS,
    WISHLISTS,
    WISHED_ITEMS,
    LINE_ITEMS,
    SHIPMENTS,
    SHIPPING_RATES,
    PAYMENTS,
    REFUNDS,
    ADJUSTMENTS,
    PROMOTIONS,
    PROMOTION_CATEGORIES,
    PROMOTION_RULES,
    PROMOTION_ACTIONS,
    COUPON_BATCHES,
    COUPON_CODES,
    ORDER_PROMOTIONS,
    STORE_CREDITS,
    STORE_CREDIT_EVENTS,
    STORE_CREDIT_CATEGORIES,
    STORE_CREDIT_TYPES,
    TAX_CATEGORIES,
    ZONES,
    TAX_RATES,
    SHIPPING_CATEGORIES,
    SHIPPING_METHODS,
    PAYMENT_METHODS,
    CMS_PAGES,
    POLICIES,
    MENUS,
    MENU_ITEMS,
    APPLICATIONS,
    AUDIT_EVENTS,
    WEBHOOK_ENDPOINTS,
    WEBHOOK_DELIVERIES,
    SUBSCRIBERS,
    SUBSCRIBER_EVENTS,
)
_RELATED = (INVENTORY_UNITS, CREDIT_CARDS, CAPTURE_EVENTS, ZONE_MEMBERS, CALCULATORS, WEBHOOK_ATTEMPTS)
"""Resources without routes, shown only as related records."""
_JOIN_TABLES = {
    ("product", "taxons"): classifications,
    ("taxon", "products"): classifications,
    ("product", "option_types"): product_option_types,
    ("variant", "option_values"): variant_option_values,
    ("variant", "stock_locations"): stock_items,
    ("price_list", "users"): price_list_users,
    ("price_list", "customer_groups"): price_list_groups,
    ("customer_group", "users"): customer_group_members,
    ("customer_group", "price_lists"): price_list_groups,
    ("zone", "countries"): zone_members,
    ("zone", "states"): zone_members,
    ("shipping_method", "zones"): shipping_method_zones,
    ("shipping_method", "shipping_categories"): shipping_method_categories,
    ("shipment", "line_items"): shipment_items,
}
"""Many-to-many relations with their join tables."""
_ONLY = {
    ("product", "variants"): ~variants.c.is_master,
    ("order", "adjustments"): adjustments.c.adjustable_type == "order",
    ("line_item", "adjustments"): adjustments.c.adjustable_type == "line_item",
    ("shipment", "adjustments"): adjustments.c.adjustable_type == "shipment",
}
"""Conditions that restrict a relation: a product's variants do not include its master."""
_BY = {("line_item", "adjustments"): "adjustable_id", ("shipment", "adjustments"): "adjustable_id"}
"""Polymorphic foreign key columns of the related table."""
_NAMED_BY = {("payment", "source", "store_credit"): "store_credit_id"}
"""Foreign key columns of polymorphic relations that are not named after the relation."""
_MAX_ROWS = {("shipping_method", "shipping_rates"): 100}
"""Row limits of relations that grow with every order."""
COLLECTIONS: dict[str, Collection] = {collection.resource.type: collection for collection in _ALL}
_BY_TYPE = {collection.resource.type: collection for collection in (*_ALL, *_RELATED)}
ACCESS: dict[str, str] = {name: collection.access for name, collection in _BY_TYPE.items()}
"""The resource of the permissions of each type."""
RESOURCES: dict[str, Resource] = {name: collection.resource for name, collection in _BY_TYPE.items()}


def _relation_for(type_: str, source: Records, relation: Relation) -> RelationLink | None:
    """Returns the link of a relation: a column of the source named after it, a foreign key of the target, or a join
    table. Returns None if no table stores it.
    """
    related = _BY_TYPE.get(relation.type)
    if related is None:
        return None
    target = related.actions.records
    if not relation.is_many:
        column = f"{relation.name}_id"
        if relation.others:
            types = {name: _BY_TYPE[name].actions.records for name in relation.types}
            by_type = {
                name: RelationLink(records, _NAMED_BY.get((type_, relation.name, name), column), is_many=False)
                for name, records in types.items()
            }
            return RelationLink(target, column, is_many=False, by_type=by_type, type_column=f"{relation.name}_type")
        return (
            RelationLink(target, column, is_many=False) if column in source.table.c or column in source.extras else None
        )
    between = _JOIN_TABLES.get((type_, relation.name))
    if between is not None:
        return RelationLink(target, f"{type_}_id", is_many=True, between=between, other=f"{relation.type}_id")
    relation_key = type_, relation.name
    columns = [_BY[relation_key]] if relation_key in _BY else _foreign_keys(source, target)
    return (
        RelationLink(target, columns[0], is_many=True, only=_ONLY.get(relation_key), most=_MAX_ROWS.get(relation_key))
        if columns
        else None
    )


def _foreign_keys(source: Records, target: Records) -> list[str]:
    return [column.name for column in target.table.c if column.references(source.table.c.id)]


def _join(collection: Collection) -> None:
    records = collection.actions.records
    for name, relation in collection.resource.relations.items():
        link = _relation_for(collection.resource.type, records, relation)
        if link:
            records.relation_links[name] = link
        else:
            records.nothing[name] = [] if relation.is_many else None


for _collection in _BY_TYPE.values():
    _join(_collection)


def add_collection(collection: Collection) -> None:
    """Adds the collection of an extension, which is loaded after those of the shop."""
    type_ = collection.resource.type
    COLLECTIONS[type_] = _BY_TYPE[type_] = collection
    ACCESS[type_] = collection.access
    RESOURCES[type_] = collection.resource
    _join(collection)
