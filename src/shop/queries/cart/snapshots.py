"""A guest's cart as a shopper changes it, read without a lock: two statements, and no transaction.

The first returns the version of the cart's row, so that `write_lines` can write on the condition that nothing has
changed the cart since: every change of its lines, codes or addresses updates the row. The second returns the lines with
the stock of their variants. One statement for both would take PostgreSQL longer, because it has to set up a plan of
twice the size.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Text, bindparam, column, func, literal_column, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.actor import Claim
from shop.db.pool import DatabaseSession
from shop.db.statements import opaque_param, positional_type, statement
from shop.models.cart.orders import CartLine, Order, line_items, orders
from shop.models.cart.promotions import promotion_versions
from shop.models.cart.quotes import AvailableStock, CatalogMoment
from shop.models.catalog.product_index import catalog_versions
from shop.models.checkout.coupons import coupon_codes, order_promotions
from shop.models.customers.addresses import addresses
from shop.queries.cart.line_items import LINE_COLUMNS, ROW_VERSION, read_line
from shop.queries.cart.promotions import IS_USED_CODE, Code, PromotionFacts
from shop.queries.catalog.quotes import LOCATION_STOCK, select_stock
from shop.queries.setup.versions import SETUP_VERSION
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
_read_stock = msgspec.json.Decoder(list[tuple[UUID, UUID, UUID, int, bool]]).decode
_build_order = positional_type(Order)


class CartSnapshot(msgspec.Struct, frozen=True):
    """A cart and what its totals depend on, besides its lines."""

    order: Order
    row_version: str
    facts: PromotionFacts
    setup_version: str
    destination: tuple[UUID, UUID | None] | None
    """The country and the state of the shipping address."""


class StockedLines(msgspec.Struct, frozen=True):
    """The lines of a cart, and the stock of their variants."""

    lines: list[CartLine]
    stocks: Sequence[AvailableStock]
    catalog: CatalogMoment | None
    """The version that quotes must have; None if there are neither lines nor other variants."""
    location_stock: Sequence[LocationStock] = ()
    """The stock at each location, if it was read."""


def _read_snapshot(record: Any) -> CartSnapshot:
    row_version, now, promotion_version, codes, setup_version, destination = record[len(orders.c) :]
    facts = PromotionFacts(
        now, promotion_version, [], False, {}, [Code(*code) for code in _read_codes(codes)] if codes else []
    )
    return CartSnapshot(
        _build_order(*record[: len(orders.c)]),
        row_version,
        facts,
        setup_version,
        _read_destination(destination) if destination else None,
    )


_FIND = statement(
    select(
        orders,
        ROW_VERSION.label("row_version"),
        func.now().label("now"),
        select(promotion_versions.c.version).scalar_subquery().label("promotion_version"),
        _codes_text.scalar_subquery().label("codes"),
        SETUP_VERSION.label("setup_version"),
        _destination_text.correlate(orders).scalar_subquery().label("destination"),
    ).where(
        orders.c.id == opaque_param("cart_id", _ID),
        orders.c.token_version == bindparam("version", type_=BigInteger()),
        orders.c.completed_at.is_(None),
        orders.c.user_id.is_(None),
    ),
    _read_snapshot,
)
_lines = select(*LINE_COLUMNS).where(line_items.c.order_id == opaque_param("order_id", _ID)).subquery("lines")
_items = func.unnest(opaque_param("ids", ARRAY(_ID))).table_valued(column("id", _ID), name="items").render_derived()
_variant_id = func.coalesce(_lines.c.variant_id, _items.c.id)
_catalog_version = select(sql_cast(func.sum(catalog_versions.c.version), Text)).scalar_subquery()
_WIDTH = len(line_items.c) + 1


def _select_stocked_lines(source: Any, variant_id: Any, *details: Any) -> Any:
    stock = select_stock(variant_id).add_columns(*details).lateral("stock")
    return (
        select(
            *_lines.c,
            bindparam("currency", type_=Text()).label("currency"),
            variant_id.label("stocked_id"),
            *stock.c,
            _catalog_version.label("catalog_version"),
            func.now().label("now"),
        )
        .select_from(source.join(stock, literal_column("true")))
        .order_by(_lines.c.created_at, _lines.c.id)
    )


def _read_row(record: Any) -> tuple[Any, ...]:
    line = None if record[0] is None else read_line(record[:_WIDTH])
    variant_id, on_hand, backorderable, *details = record[_WIDTH:]
    return line, AvailableStock(variant_id, on_hand, backorderable), *details


_LINES = statement(_select_stocked_lines(_lines, _lines.c.variant_id), _read_row)
_LINES_AND_OTHERS = statement(
    _select_stocked_lines(_lines.join(_items, _items.c.id == _lines.c.variant_id, full=True), _variant_id), _read_row
)
_LINES_BY_LOCATION = statement(_select_stocked_lines(_lines, _lines.c.variant_id, LOCATION_STOCK), _read_row)


async def find_snapshot(db: DatabaseSession, claim: Claim) -> CartSnapshot | None:
    """Returns the open cart of the order token, unless it has an owner: the prices of a customer depend on price lists,
    and promotions on earlier orders.
    """
    return await db.one(_FIND, cart_id=claim.cart_id, version=claim.token_version)


async def list_stocked_lines(db: DatabaseSession, order: Order, added_ids: Sequence[UUID] = ()) -> StockedLines:
    """Returns the lines of a cart, with the stock of their variants and of those to be added."""
    if added_ids:
        rows = await db.all(_LINES_AND_OTHERS, order_id=order.id, currency=order.currency, ids=list(added_ids))
    else:
        rows = await db.all(_LINES, order_id=order.id, currency=order.currency)
    return _build_lines(rows)


async def list_lines_by_location(db: DatabaseSession, order: Order) -> StockedLines:
    """Returns the lines of a cart, with the stock of their variants at each location."""
    rows = await db.all(_LINES_BY_LOCATION, order_id=order.id, currency=order.currency)
    location_stock = [LocationStock(*each) for row in rows if row[2] for each in _read_stock(row[2])]
    return _build_lines(rows, location_stock)


def _build_lines(rows: Sequence[tuple[Any, ...]], location_stock: Sequence[LocationStock] = ()) -> StockedLines:
    return StockedLines(
        [row[0] for row in rows if row[0] is not None],
        [row[1] for row in rows],
        CatalogMoment(*rows[0][-2:]) if rows else None,
        location_stock,
    )
