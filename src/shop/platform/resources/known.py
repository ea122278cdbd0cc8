"""Every platform resource by its wire type, joined to each other by their relations."""

from collections.abc import Mapping

from shop.jsonapi.query import Resources
from shop.jsonapi.resource import Relation
from shop.models.people import customer_group_members
from shop.models.prices import price_list_groups, price_list_users
from shop.models.products import product_option_types, variant_option_values
from shop.models.taxons import classifications
from shop.platform.collection import Collection
from shop.platform.resources.catalog import (
    CLASSIFICATIONS,
    OPTION_TYPES,
    OPTION_VALUES,
    PRODUCT_PROPERTIES,
    PRODUCTS,
    PROPERTIES,
    TAXONOMIES,
    TAXONS,
    VARIANTS,
)
from shop.platform.resources.media import IMAGES
from shop.platform.resources.people import ADDRESSES, COUNTRIES, STATES, USERS
from shop.platform.resources.pricing import (
    CUSTOMER_GROUP_MEMBERS,
    CUSTOMER_GROUPS,
    PRICE_LIST_ENTRIES,
    PRICE_LIST_GROUPS,
    PRICE_LIST_USERS,
    PRICE_LISTS,
    PRICES,
)
from shop.platform.resources.sales import ORDERS
from shop.platform.resources.setup import APPLICATIONS, AUDIT_EVENTS, TAX_CATEGORIES
from shop.platform.resources.stock import STOCK_ITEMS, STOCK_LOCATIONS, STOCK_MOVEMENTS
from shop.queries.records import Kin, Records

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
    TAX_CATEGORIES,
    APPLICATIONS,
    AUDIT_EVENTS,
)
_BETWEEN = {
    ("product", "taxons"): classifications,
    ("taxon", "products"): classifications,
    ("product", "option_types"): product_option_types,
    ("variant", "option_values"): variant_option_values,
    ("price_list", "users"): price_list_users,
    ("price_list", "customer_groups"): price_list_groups,
    ("customer_group", "users"): customer_group_members,
    ("customer_group", "price_lists"): price_list_groups,
}
"""Relations to many on both sides, by the table that joins them."""
COLLECTIONS: Mapping[str, Collection] = {collection.resource.type: collection for collection in _ALL}
RESOURCES: Resources = {name: collection.resource for name, collection in COLLECTIONS.items()}


def _kin(type_: str, ours: Records, relation: Relation) -> Kin | None:
    """By a column of ours called after the relation, or theirs that names our table, or a table between; none while
    nothing is kept.
    """
    related = COLLECTIONS.get(relation.type)
    if related is None:
        return None
    theirs = related.noun.records
    if not relation.is_many:
        column = f"{relation.name}_id"
        return Kin(theirs, column, is_many=False) if column in ours.table.c or column in ours.extras else None
    between = _BETWEEN.get((type_, relation.name))
    if between is not None:
        return Kin(theirs, f"{type_}_id", is_many=True, between=between, other=f"{relation.type}_id")
    named = [column.name for column in theirs.table.c if column.references(ours.table.c.id)]
    return Kin(theirs, named[0], is_many=True) if named else None


def _join(collection: Collection) -> None:
    records = collection.noun.records
    for name, relation in collection.resource.relations.items():
        kin = _kin(collection.resource.type, records, relation)
        if kin:
            records.kin[name] = kin
        else:
            records.nothing[name] = [] if relation.is_many else None


for _collection in _ALL:
    _join(_collection)
