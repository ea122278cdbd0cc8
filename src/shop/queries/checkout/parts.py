"""Reads the parts of an order, with or without its lines, and what its checkout depends on."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Table, Text, bindparam, exists, false, func, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import UUID as PG_UUID
from sqlalchemy.dialects.postgresql import aggregate_order_by

from shop.base.actor import Claim
from shop.base.email import read_email
from shop.db.pool import DatabaseSession
from shop.db.statements import opaque_param, positional_type, statement
from shop.models.cart.orders import Order, orders, stock_holds
from shop.models.cart.promotions import promotion_versions
from shop.models.checkout.payments import Payment, payments
from shop.models.checkout.shipments import (
    Shipment,
    ShipmentItem,
    ShippingRate,
    shipment_items,
    shipments,
    shipping_rates,
)
from shop.models.customers.addresses import addresses
from shop.queries.cart.line_items import ROW_VERSION
from shop.queries.cart.promotions import CODES, Code
from shop.queries.cart.snapshots import LINES_BY_LOCATION, StockedLines, read_lines_by_location
from shop.queries.customers.customers import IS_BLOCKED
from shop.queries.setup.versions import SETUP_VERSION

_ID = PG_UUID(as_uuid=True)
_order_id = opaque_param("order_id", _ID)


class ShippingDestination(msgspec.Struct, frozen=True, array_like=True):
    """The country and the state of an address."""

    address_id: UUID
    country_id: UUID
    state_id: UUID | None


class CheckoutParts(msgspec.Struct, frozen=True):
    """The parts of an order, and the codes on it."""

    shipments: Sequence[Shipment]
    items: Sequence[ShipmentItem]
    rates: Sequence[ShippingRate]
    payments: Sequence[Payment]
    codes: list[Code]
    destination: ShippingDestination | None
    has_reservations: bool
    """Whether stock is reserved for the order."""
    is_blocked: bool
    """Whether an operator blocked its customer, or the account with its e-mail address."""
    promotion_version: int
    setup_version: str
    now: datetime


class OpenCheckout(msgspec.Struct, frozen=True):
    """An open cart with its lines and other parts, read without a lock."""

    order: Order
    cart_lines: StockedLines
    parts: CheckoutParts
    """Without whether the customer is blocked."""
    row_version: str


def _rows_of(table: Table, *order: Any) -> Any:
    """Returns the rows of an order as text, a JSON array of objects; null if there are none."""
    rows = func.json_agg(aggregate_order_by(func.row_to_json(table.table_valued()), *order))
    return select(sql_cast(rows, Text)).where(table.c.order_id == _order_id).scalar_subquery().label(table.name)


_codes = CODES.subquery("codes")


def _select_destination(address_id: Any) -> Any:
    """Selects the address with its country and state, as text: a JSON array, or null."""
    columns = func.json_build_array(addresses.c.id, addresses.c.country_id, addresses.c.state_id)
    destination = select(sql_cast(columns, Text)).where(addresses.c.id == address_id)
    return destination.correlate_except(addresses).scalar_subquery().label("destination")


_READERS = [
    msgspec.json.Decoder(kind).decode
    for kind in (
        list[Shipment],
        list[ShipmentItem],
        list[ShippingRate],
        list[Payment],
        list[Code],
        ShippingDestination | None,
    )
]
_NOTHING = ("[]", "[]", "[]", "[]", "[]", "null")


def _read_parts(record: Any) -> CheckoutParts:
    values: list[Any] = list(record)
    for index, (read, nothing) in enumerate(zip(_READERS, _NOTHING, strict=True)):
        values[index] = read(values[index] or nothing)
    return CheckoutParts(*values)


_ROWS = (
    _rows_of(shipments, shipments.c.created_at, shipments.c.id),
    _rows_of(shipment_items, shipment_items.c.id),
    _rows_of(
        shipping_rates,
        *(shipping_rates.c[name] for name in ("shipment_id", "cost", "name", "id")),
    ),
    _rows_of(payments, payments.c.created_at, payments.c.id),
    select(sql_cast(func.json_agg(func.row_to_json(_codes.table_valued())), Text)).scalar_subquery().label("codes"),
)
_HAS_RESERVATIONS = exists().where(stock_holds.c.order_id == _order_id).label("has_reservations")
_MOMENT = (
    select(promotion_versions.c.version).scalar_subquery().label("promotion_version"),
    SETUP_VERSION.label("setup_version"),
    func.now().label("now"),
)
_COLUMNS = (
    *_ROWS,
    _select_destination(opaque_param("address_id", _ID)),
    _HAS_RESERVATIONS,
    IS_BLOCKED.label("is_blocked"),
    *_MOMENT,
)
_PARTS = statement(select(*_COLUMNS), _read_parts)
_LINES_AND_PARTS = statement(
    select(*_COLUMNS, *LINES_BY_LOCATION), lambda record: (_read_parts(record[:-3]), *record[-3:])
)
_build_order = positional_type(Order)
_WIDTH = len(orders.c)


def _read_checkout(record: Any) -> OpenCheckout:
    order, row_version, parts = _build_order(*record[:_WIDTH]), record[_WIDTH], _read_parts(record[_WIDTH + 1 : -3])
    lines, location_stock, version = record[-3:]
    cart_lines = read_lines_by_location(order, lines, location_stock, version, parts.now)
    return OpenCheckout(order, cart_lines, parts, row_version)


_FIND_CHECKOUT = statement(
    select(
        orders,
        ROW_VERSION.label("row_version"),
        *_ROWS,
        _select_destination(orders.c.ship_address_id),
        _HAS_RESERVATIONS,
        false().label("is_blocked"),
        *_MOMENT,
        *LINES_BY_LOCATION,
    ).where(
        orders.c.id == _order_id,
        orders.c.token_version == bindparam("version", type_=BigInteger()),
        orders.c.completed_at.is_(None),
    ),
    _read_checkout,
)


async def list_lines_and_parts(db: DatabaseSession, order: Order) -> tuple[StockedLines, CheckoutParts]:
    """Returns the lines of an order, with their stock, and its other parts."""
    result = await db.one(_LINES_AND_PARTS, **_parameters(order))
    if result is None:
        raise AssertionError("a select without a table has one row")
    parts, lines, location_stock, version = result
    return read_lines_by_location(order, lines, location_stock, version, parts.now), parts


async def find_checkout(db: DatabaseSession, claim: Claim) -> OpenCheckout | None:
    """Returns the open cart of the order token with its parts, in one statement."""
    return await db.one(_FIND_CHECKOUT, order_id=claim.cart_id, version=claim.token_version)


async def find_parts(db: DatabaseSession, order: Order) -> CheckoutParts:
    parts = await db.one(_PARTS, **_parameters(order))
    if parts is None:
        raise AssertionError("a select without a table has one row")
    return parts


def _parameters(order: Order) -> dict[str, object]:
    email = read_email(order.email) if order.email else None
    return {
        "order_id": order.id,
        "address_id": order.ship_address_id,
        "user_id": order.user_id,
        "email_key": email.key if email else None,
    }
