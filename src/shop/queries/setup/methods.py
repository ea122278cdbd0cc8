"""Statements for the setup of zones and methods, and their additional columns."""

from functools import lru_cache
from typing import Any, cast
from uuid import UUID

from sqlalchemy import BigInteger, ColumnElement, Table, bindparam, delete, func, select, update
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, dynamic_statement, into, statement
from shop.models.cart.orders import orders
from shop.models.checkout.shipments import shipping_method_amounts, shipping_methods
from shop.models.setup.taxes import TaxCategory, tax_categories
from shop.models.setup.zones import Zone, zone_members, zones

_ID = PG_UUID(as_uuid=True)
MEMBERS: ColumnElement[Any] = (
    select(func.count(type_=BigInteger()))
    .select_from(zone_members)
    .where(zone_members.c.zone_id == zones.c.id)
    .correlate(zones)
    .scalar_subquery()
)
AMOUNTS: ColumnElement[Any] = (
    select(
        func.coalesce(
            func.jsonb_agg(
                func.jsonb_build_array(
                    shipping_method_amounts.c.currency,
                    shipping_method_amounts.c.from_weight,
                    shipping_method_amounts.c.amount,
                )
            ).aggregate_order_by(shipping_method_amounts.c.currency, shipping_method_amounts.c.from_weight),
            func.jsonb_build_array(),
            type_=JSONB(),
        )
    )
    .where(shipping_method_amounts.c.shipping_method_id == shipping_methods.c.id)
    .correlate(shipping_methods)
    .scalar_subquery()
)


def currency_of(table: Table) -> ColumnElement[Any]:
    """Returns the currency of a row's order."""
    return select(orders.c.currency).where(orders.c.id == table.c.order_id).correlate(table).scalar_subquery()


_UNSET_DEFAULT_TAX = statement(
    update(zones)
    .where(zones.c.default_tax, zones.c.id != bindparam("but", type_=_ID))
    .values(default_tax=False, updated_at=func.now())
    .returning(zones),
    into(Zone),
)
_UNSET_DEFAULT_CATEGORY = statement(
    update(tax_categories)
    .where(tax_categories.c.is_default, tax_categories.c.id != bindparam("but", type_=_ID))
    .values(is_default=False, updated_at=func.now())
    .returning(tax_categories),
    into(TaxCategory),
)
_REMOVE_AMOUNTS = statement(
    delete(shipping_method_amounts)
    .where(shipping_method_amounts.c.shipping_method_id == bindparam("method_id", type_=_ID))
    .returning(shipping_method_amounts.c.id),
    lambda record: cast(UUID, record[0]),
)


async def unset_default_tax(db: DatabaseSession, but: UUID) -> list[Zone]:
    """Returns the zones that are no longer the default for taxes."""
    return await db.all(_UNSET_DEFAULT_TAX, but=but)


async def unset_default_category(db: DatabaseSession, but: UUID) -> list[TaxCategory]:
    """Returns the tax categories that are no longer the default."""
    return await db.all(_UNSET_DEFAULT_CATEGORY, but=but)


async def remove_amounts(db: DatabaseSession, method_id: UUID) -> None:
    await db.all(_REMOVE_AMOUNTS, method_id=method_id)


@lru_cache(maxsize=8)
def _soft_delete(table: Table) -> Statement[UUID]:
    clause = (
        update(table)
        .where(table.c.id == bindparam("record_id", type_=_ID))
        .values(deleted_at=func.now(), updated_at=func.now())
        .returning(table.c.id)
    )
    return dynamic_statement(clause, lambda record: cast(UUID, record[0]))


async def soft_delete(db: DatabaseSession, table: Table, record_id: UUID) -> None:
    await db.one(_soft_delete(table), record_id=record_id)
