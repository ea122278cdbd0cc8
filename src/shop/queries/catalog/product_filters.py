"""The filters of product lists: their conditions, and the facets that option and property filters name."""

from functools import partial
from typing import Any, cast
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Text,
    and_,
    bindparam,
    column,
    func,
    literal_column,
    or_,
    select,
    union_all,
)
from sqlalchemy import any_ as sql_any
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ARRAY, REGCONFIG, TSQUERY
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import statement
from shop.models.catalog.product_index import listings
from shop.models.catalog.product_query import MAX_PAIRS, ProductQuery
from shop.models.catalog.products import (
    option_types,
    option_values,
    product_properties,
    products,
    properties,
    variant_option_values,
    variants,
)
from shop.queries.catalog.priced_products import IS_LISTED_NOW

ID = PG_UUID(as_uuid=True)
_IDS = ARRAY(ID)
_TEXTS = ARRAY(Text())


def text_query(name: str) -> ColumnElement[Any]:
    return func.to_tsquery(
        sql_cast(literal_column("'simple'"), REGCONFIG), bindparam(name, type_=Text()), type_=TSQUERY()
    )


_marks = listings.c.within_taxon_ids.op("||")(listings.c.facet_ids)


def _has_all_options() -> ColumnElement[bool]:
    """Returns whether one variant has a requested value of every option type among the requested values."""
    value_ids = bindparam("option_value_ids", type_=_IDS)
    types = select(func.count(option_values.c.option_type_id.distinct())).where(
        option_values.c.id == sql_any(value_ids)
    )
    fitting = (
        select(variants.c.product_id)
        .join(variant_option_values, variant_option_values.c.variant_id == variants.c.id)
        .join(option_values, option_values.c.id == variant_option_values.c.option_value_id)
        .where(variants.c.deleted_at.is_(None), option_values.c.id == sql_any(value_ids))
        .group_by(variants.c.id)
        .having(func.count(option_values.c.option_type_id.distinct()) == types.scalar_subquery())
    )
    return listings.c.product_id.in_(fitting)


def ids_param(name: str) -> Any:
    return bindparam(name, type_=_IDS)


def _has_any(name: str) -> ColumnElement[bool]:
    return _marks.op("&&")(ids_param(name))


FILTERS: dict[str, Any] = {
    "ids": lambda: listings.c.product_id == sql_any(ids_param("ids")),
    "skus": lambda: listings.c.product_id.in_(
        select(variants.c.product_id).where(
            variants.c.sku == sql_any(bindparam("skus", type_=_TEXTS)), variants.c.deleted_at.is_(None)
        )
    ),
    "slug": lambda: products.c.slug == bindparam("slug", type_=Text()),
    "tags": lambda: products.c.tags.overlap(bindparam("tags", type_=_TEXTS)),
    "taxons": lambda: _marks.op("&&")(ids_param("taxons")),
    "concat_taxons": lambda: _marks.op("@>")(ids_param("concat_taxons")),
    "marks": lambda: _marks.op("@>")(ids_param("marks")),
    **{f"any_marks_{index}": partial(_has_any, f"any_marks_{index}") for index in range(MAX_PAIRS)},
    "name": lambda: listings.c.search.op("@@")(text_query("name")),
    "q": lambda: listings.c.search.op("@@")(text_query("q")),
    "option_value_ids": _has_all_options,
    "in_stock": lambda: listings.c.in_stock,
    "backorderable": lambda: listings.c.backorderable,
    "purchasable": lambda: and_(IS_LISTED_NOW, or_(listings.c.in_stock, listings.c.backorderable)),
}


def _name_pairs(name: str) -> Any:
    """Returns pairs of names as a table."""
    arrays = func.unnest(bindparam(f"{name}_owners", type_=_TEXTS), bindparam(f"{name}_values", type_=_TEXTS))
    return arrays.table_valued(column("owner", Text), column("value", Text), name=f"wanted_{name}").render_derived(
        name=f"wanted_{name}"
    )


_options, _properties = _name_pairs("options"), _name_pairs("properties")
_MARKS = statement(
    union_all(
        select(literal_column("'options'", Text), option_types.c.name, option_values.c.id)
        .join(option_types, option_types.c.id == option_values.c.option_type_id)
        .join(_options, and_(option_types.c.name == _options.c.owner, option_values.c.name == _options.c.value)),
        select(literal_column("'properties'", Text), properties.c.name, product_properties.c.facet_id)
        .select_from(product_properties)
        .join(properties, properties.c.id == product_properties.c.property_id)
        .join(
            _properties,
            and_(properties.c.name == _properties.c.owner, product_properties.c.filter_param == _properties.c.value),
        )
        .distinct(),
    ),
    lambda record: (cast(str, record[0]), cast(str, record[1]), cast(UUID, record[2])),
)
_PROPERTY_NAMES = statement(
    select(properties.c.name).order_by(properties.c.name).limit(literal_column("10000")),
    lambda record: cast(str, record[0]),
)


async def list_property_names(db: DatabaseSession) -> list[str]:
    return await db.all(_PROPERTY_NAMES)


async def find_marks(db: DatabaseSession, criteria: ProductQuery) -> list[tuple[UUID, ...]]:
    """Returns the facets of each option and property filter; an empty tuple matches no product."""
    pairs = {
        "options": criteria.options,
        "properties": [(name, value) for name, values in criteria.properties for value in values],
    }
    values = {
        f"{name}_{part}": [pair[index] for pair in filters]
        for name, filters in pairs.items()
        for index, part in enumerate(("owners", "values"))
    }
    rows = await db.all(_MARKS, **values)
    filters = [("options", name) for name, _ in criteria.options] + [
        ("properties", name) for name, _ in criteria.properties
    ]
    return [tuple(mark for kind, owner, mark in rows if (kind, owner) == each) for each in filters]
