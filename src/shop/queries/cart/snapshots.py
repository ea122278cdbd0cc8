"""Carts with the stock of their variants, and a guest's cart as a shopper changes it: one statement without a lock.

The snapshot has the version of the cart's row, so that `write_lines` writes only if nothing has changed the cart since:
every change of its lines, codes or addresses updates the row.

Lines are read as JSON, which takes less than half of the time that the driver takes to read as many columns.
"""

from collections.abc import Sequence
from datetime import datetime
from types import GenericAlias
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Text, bindparam, column, func, select, true
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ARRAY, aggregate_order_by
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.actor import Claim
from shop.db.pool import DatabaseSession
from shop.db.statements import opaque_param, positional_type, statement
from shop.models.cart.orders import CartLine, LineItem, Order, line_items, orders
from shop.models.cart.promotions import promotion_versions
from shop.models.cart.quotes import AvailableStock, CatalogMoment
from shop.models.catalog.product_index import catalog_versions
from shop.models.checkout.coupons import coupon_codes, order_promotions
from shop.models.customers.addresses import addresses
from shop.queries.cart.line_items import ROW_VERSION
from shop.queries.cart.promotions import IS_USED_CODE, Code, PromotionFacts
from shop.queries.catalog.quotes import LOCATION_STOCK, select_stock
from shop.queries.setup.versions import SETUP_VERSION
from shop.rules.metadata import METADATA
from shop.rules.setup.shipping import LocationStock

_ID = PG_UUID(as_uuid=True)
_codes = (
    select(order_promotions.c.promotion_id, order_promotions.c.code, order_promotions.c.coupon_code_id, IS_USED_CODE)
    .select_from(order_promotions.outerjoin(coupon_codes, coupon_codes.c.id == order_promotions.c.coupon_code_id))
    .where(order_promotions.c.order_id == orders.c.id)
    .correlate(orders)
    .lateral("codes")
)
# As text: a JSON array of arrays, or null if there are none.
_codes_text = select(sql_cast(func.json_agg(func.json_build_array(*_codes.c)), Text)).select_from(_codes)
_destination_text = select(sql_cast(func.json_build_array(addresses.c.country_id, addresses.c.state_id), Text)).where(
    addresses.c.id == orders.c.ship_address_id
)
_read_codes = msgspec.json.Decoder(list[tuple[UUID, str, UUID | None, bool]]).decode
_read_destination = msgspec.json.Decoder(tuple[UUID, UUID | None]).decode
_fields = msgspec.structs.fields(LineItem)
# Metadata is not decoded: as Python objects it can be 25 times larger, and a cart only passes it on.
_types = tuple(msgspec.Raw if each.name in METADATA else each.type for each in _fields)
_values: Any = GenericAlias(tuple, _types)
_read_lines = msgspec.json.Decoder(list[tuple[_values, int, bool]]).decode
_stock_at: Any = list[tuple[UUID, UUID, UUID, int, bool]] | None
_read_lines_by_location = msgspec.json.Decoder(list[tuple[_values, int, bool, _stock_at]]).decode
_read_stocks = msgspec.json.Decoder(list[tuple[UUID, int, bool]]).decode
_build_line: Any = positional_type(CartLine)
_build_order = positional_type(Order)
_WIDTH = len(orders.c)
_VARIANT_AT = list(line_items.c.keys()).index("variant_id")


class StockedLines(msgspec.Struct, frozen=True):
    """The lines of a cart, and the stock of their variants."""

    lines: list[CartLine]
    stocks: Sequence[AvailableStock]
    catalog: CatalogMoment
    """The version that quotes must have."""
    location_stock: Sequence[LocationStock] = ()
    """The stock at each location, if it was read."""


class CartSnapshot(msgspec.Struct, frozen=True):
    """A cart with its lines, and what its totals depend on."""

    order: Order
    cart_lines: StockedLines
    row_version: str
    facts: PromotionFacts
    setup_version: str
    destination: tuple[UUID, UUID | None] | None
    """The country and the state of the shipping address."""


def _read_snapshot(record: Any) -> CartSnapshot:
    row_version, now, promotion_version, codes, setup_version, destination, lines, others, version = record[_WIDTH:]
    facts = PromotionFacts(
        now, promotion_version, [], False, {}, [Code(*code) for code in _read_codes(codes)] if codes else []
    )
    order = _build_order(*record[:_WIDTH])
    rows = _read_lines(lines) if lines else []
    stocks = [*_build_stocks(rows), *(AvailableStock(*each) for each in (_read_stocks(others) if others else ()))]
    return CartSnapshot(
        order,
        StockedLines(_build_lines(rows, order.currency), stocks, CatalogMoment(version, now)),
        row_version,
        facts,
        setup_version,
        _read_destination(destination) if destination else None,
    )


def _select_lines_text(order_id: Any, *details: Any) -> Any:
    """Selects the lines of an order as a JSON array: the columns of each, its stock, and details of the stock."""
    stock = select_stock(line_items.c.variant_id).add_columns(*details).correlate(line_items).lateral("stock")
    rows = func.json_build_array(func.json_build_array(*line_items.c), *stock.c)
    return (
        select(sql_cast(func.json_agg(aggregate_order_by(rows, line_items.c.created_at, line_items.c.id)), Text))
        .select_from(line_items.join(stock, true()))
        .where(line_items.c.order_id == order_id)
        .correlate(orders)
        .scalar_subquery()
        .label("lines")
    )


_items = func.unnest(opaque_param("ids", ARRAY(_ID))).table_valued(column("id", _ID), name="items").render_derived()
_items_stock = select_stock(_items.c.id).correlate(_items).lateral("stock")
_others_text = select(sql_cast(func.json_agg(func.json_build_array(_items.c.id, *_items_stock.c)), Text)).select_from(
    _items.join(_items_stock, true())
)
_CATALOG_VERSION = select(sql_cast(func.sum(catalog_versions.c.version), Text)).scalar_subquery().label("version")
_order_id = opaque_param("order_id", _ID)


def _build_lines(lines: Sequence[Any], currency: str) -> list[CartLine]:
    return [_build_line(*values, currency) for values, *_ in lines]


def _build_stocks(lines: Sequence[Any]) -> list[AvailableStock]:
    return [AvailableStock(values[_VARIANT_AT], *stock[:2]) for values, *stock in lines]


_FIND = statement(
    select(
        orders,
        ROW_VERSION.label("row_version"),
        func.now().label("now"),
        select(promotion_versions.c.version).scalar_subquery().label("promotion_version"),
        _codes_text.scalar_subquery().label("codes"),
        SETUP_VERSION.label("setup_version"),
        _destination_text.correlate(orders).scalar_subquery().label("destination"),
        _select_lines_text(orders.c.id),
        _others_text.scalar_subquery().label("others"),
        _CATALOG_VERSION,
    ).where(
        orders.c.id == opaque_param("cart_id", _ID),
        orders.c.token_version == bindparam("version", type_=BigInteger()),
        orders.c.completed_at.is_(None),
        orders.c.user_id.is_(None),
    ),
    _read_snapshot,
)


def _read_rows(record: Any) -> tuple[Sequence[Any], CatalogMoment]:
    lines, version, now = record
    return _read_lines(lines) if lines else (), CatalogMoment(version, now)


_LINES = statement(select(_select_lines_text(_order_id), _CATALOG_VERSION, func.now().label("now")), _read_rows)
LINES_BY_LOCATION = (_select_lines_text(_order_id, LOCATION_STOCK), _CATALOG_VERSION)
"""Columns of the lines of an order, which `read_lines_by_location` reads."""


async def find_snapshot(db: DatabaseSession, claim: Claim, added_ids: Sequence[UUID]) -> CartSnapshot | None:
    """Returns the open cart of the order token, with the stock of its variants and of those to be added, unless it has
    an owner: the prices of a customer depend on price lists, and promotions on earlier orders.
    """
    return await db.one(_FIND, cart_id=claim.cart_id, version=claim.token_version, ids=list(added_ids))


async def list_stocked_lines(db: DatabaseSession, order: Order) -> StockedLines:
    """Returns the lines of a cart, with the stock of their variants."""
    result = await db.one(_LINES, order_id=order.id)
    if result is None:
        raise AssertionError("a select without a table has one row")
    rows, catalog = result
    return StockedLines(_build_lines(rows, order.currency), _build_stocks(rows), catalog)


def read_lines_by_location(order: Order, text: str | None, version: str, now: datetime) -> StockedLines:
    """Returns the lines of an order, with the stock of their variants at each location."""
    rows = _read_lines_by_location(text) if text else []
    location_stock = [LocationStock(*each) for *_, stock in rows for each in stock or ()]
    return StockedLines(
        _build_lines(rows, order.currency), _build_stocks(rows), CatalogMoment(version, now), location_stock
    )
