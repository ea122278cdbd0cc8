"""Finds the facets that the option and property filters of a product list name."""

from typing import Any, cast
from uuid import UUID

from sqlalchemy import Text, and_, bindparam, column, func, literal_column, select, union_all
from sqlalchemy.dialects.postgresql import ARRAY

from shop.db.pool import DatabaseSession
from shop.db.statements import statement
from shop.models.catalog.product_query import ProductQuery
from shop.models.catalog.products import option_types, option_values, product_properties, properties

_TEXTS = ARRAY(Text())


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
