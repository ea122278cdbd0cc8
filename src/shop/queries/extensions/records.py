"""Statements with which extensions read orders, customers and variants: a few fields that do not change."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import Text, bindparam, func, select

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.access.users import users
from shop.models.cart.orders import line_items, orders
from shop.models.catalog.products import products, variants


class OrderSummary(msgspec.Struct, frozen=True, kw_only=True):
    """An order or cart. Amounts are in minor units of the currency."""

    id: UUID
    number: str
    state: str
    user_id: UUID | None
    email: str | None
    currency: str
    item_total: int
    total: int
    payment_state: str | None
    shipment_state: str | None
    completed_at: datetime | None
    canceled_at: datetime | None


class LineSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A line item of an order."""

    id: UUID
    variant_id: UUID
    sku: str
    name: str
    quantity: int
    price: int | None


class CustomerSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A customer."""

    id: UUID
    email: str
    first_name: str | None
    last_name: str | None
    verified_at: datetime | None
    disabled_at: datetime | None
    created_at: datetime


class VariantSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A variant with the name and slug of its product."""

    id: UUID
    product_id: UUID
    sku: str
    is_master: bool
    name: str
    slug: str


def _columns(table: Any, row: type[msgspec.Struct]) -> list[Any]:
    return [table.c[name] for name in row.__struct_fields__]


def _by(table: Any, name: str) -> Any:
    return table.c[name] == bindparam("value", type_=table.c[name].type)


_order = select(*_columns(orders, OrderSummary))
_ORDER_BY_ID = statement(_order.where(_by(orders, "id")), into(OrderSummary))
_ORDER_BY_NUMBER = statement(_order.where(_by(orders, "number")), into(OrderSummary))
_LINES = statement(
    select(*_columns(line_items, LineSummary))
    .where(line_items.c.order_id == bindparam("order_id", type_=line_items.c.order_id.type))
    .order_by(line_items.c.id),
    into(LineSummary),
)
_customer = select(*_columns(users, CustomerSummary))
_CUSTOMER_BY_ID = statement(_customer.where(_by(users, "id")), into(CustomerSummary))
_CUSTOMER_BY_EMAIL = statement(
    _customer.where(users.c.email_key == func.lower(bindparam("value", type_=Text))), into(CustomerSummary)
)
_variant = (
    select(variants.c.id, variants.c.product_id, variants.c.sku, variants.c.is_master, products.c.name, products.c.slug)
    .join(products, products.c.id == variants.c.product_id)
    .where(variants.c.deleted_at.is_(None))
)
_VARIANT_BY_ID = statement(_variant.where(_by(variants, "id")), into(VariantSummary))
_VARIANT_BY_SKU = statement(_variant.where(_by(variants, "sku")).order_by(variants.c.id).limit(1), into(VariantSummary))


async def find_order(db: DatabaseSession, key: UUID | str) -> OrderSummary | None:
    """Returns an order by its id or number."""
    return await db.one(_ORDER_BY_ID if isinstance(key, UUID) else _ORDER_BY_NUMBER, value=key)


async def list_lines(db: DatabaseSession, order_id: UUID) -> Sequence[LineSummary]:
    return await db.all(_LINES, order_id=order_id)


async def find_customer(db: DatabaseSession, key: UUID | str) -> CustomerSummary | None:
    """Returns a customer by id or e-mail address."""
    return await db.one(_CUSTOMER_BY_ID if isinstance(key, UUID) else _CUSTOMER_BY_EMAIL, value=key)


async def find_variant(db: DatabaseSession, key: UUID | str) -> VariantSummary | None:
    """Returns a variant by id or SKU."""
    return await db.one(_VARIANT_BY_ID if isinstance(key, UUID) else _VARIANT_BY_SKU, value=key)
