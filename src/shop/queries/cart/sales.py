"""Updates `sold_count` of products, the sort column of best-seller lists."""

from collections.abc import Mapping
from typing import Any, cast
from uuid import UUID

from sqlalchemy import BigInteger, column, func, select, update
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import opaque_param, statement
from shop.models.catalog.product_index import listings
from shop.models.catalog.products import variants

_ID = PG_UUID(as_uuid=True)
_quantities = (
    func.unnest(opaque_param("sold_ids", ARRAY(_ID)), opaque_param("sold_quantities", ARRAY(BigInteger)))
    .table_valued(column("id", _ID), column("quantity", BigInteger), name="sold")
    .render_derived()
)
_sums = (
    select(variants.c.product_id, sql_cast(func.sum(_quantities.c.quantity), BigInteger).label("quantity"))
    .select_from(_quantities.join(variants, variants.c.id == _quantities.c.id))
    .group_by(variants.c.product_id)
    .subquery("sums")
)
ADD_SALES = (
    update(listings)
    .where(listings.c.product_id == _sums.c.product_id)
    .values(sold_count=listings.c.sold_count + _sums.c.quantity)
)
"""Adds the quantities sold, by variant, to their products; its parameters are those of `describe_sales`."""
_ADD = statement(ADD_SALES.returning(listings.c.product_id), lambda record: cast(UUID, record[0]))


async def add_sales(db: DatabaseSession, quantities: Mapping[UUID, int]) -> None:
    """Adds the quantities sold, by variant, to their products."""
    await db.all(_ADD, **describe_sales(quantities))


def describe_sales(quantities: Mapping[UUID, int]) -> dict[str, list[Any]]:
    return {"sold_ids": list(quantities), "sold_quantities": list(quantities.values())}
