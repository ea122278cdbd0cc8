"""Every platform resource by its wire type, joined to each other by their relations."""

from collections.abc import Mapping

from shop.jsonapi.query import Resources
from shop.jsonapi.resource import Relation
from shop.platform.collection import Collection
from shop.platform.resources.people import ADDRESSES, COUNTRIES, STATES, USERS
from shop.platform.resources.sales import ORDERS
from shop.platform.resources.setup import APPLICATIONS, AUDIT_EVENTS, TAX_CATEGORIES
from shop.queries.records import Kin, Records

_ALL = (ORDERS, USERS, ADDRESSES, COUNTRIES, STATES, TAX_CATEGORIES, APPLICATIONS, AUDIT_EVENTS)
COLLECTIONS: Mapping[str, Collection] = {collection.resource.type: collection for collection in _ALL}
RESOURCES: Resources = {name: collection.resource for name, collection in COLLECTIONS.items()}


def _kin(ours: Records, relation: Relation) -> Kin | None:
    """By a column of ours called after the relation, or theirs that names our table; none while nothing is kept."""
    related = COLLECTIONS.get(relation.type)
    if related is None:
        return None
    theirs = related.noun.records
    if not relation.is_many:
        column = f"{relation.name}_id"
        return Kin(theirs, column, is_many=False) if column in ours.table.c else None
    named = [column.name for column in theirs.table.c if column.references(ours.table.c.id)]
    return Kin(theirs, named[0], is_many=True) if named else None


def _join(collection: Collection) -> None:
    records = collection.noun.records
    for name, relation in collection.resource.relations.items():
        kin = _kin(records, relation)
        if kin:
            records.kin[name] = kin
        else:
            records.nothing[name] = [] if relation.is_many else None


for _collection in _ALL:
    _join(_collection)
