"""Carts with the stock of their variants, and a guest's cart as a shopper changes it: one statement without a lock.

The snapshot has the version of the cart's row, so that `write_lines` writes only if nothing has changed the cart since:
every change of its lines, codes or addresses updates the row.

Lines are read as JSON, which takes less than half of the time that the driver takes to read as many columns. A line
that a request neither changes nor shows is read as a summary.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from types import GenericAlias
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Text, and_, func, literal_column, null, select, true
from sqlalchemy import any_ as sql_any
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ARRAY, aggregate_order_by
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.actor import Claim
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, opaque_param, parameter_rows, positional_type, statement
from shop.models.cart.orders import CartLine, LineItem, Order, PricedLine, SummarizedLine, line_items, orders
from shop.models.cart.promotions import promotion_versions
from shop.models.cart.quotes import NO_STOCK, CatalogMoment, Stocks
from shop.models.catalog.product_index import catalog_versions
from shop.models.checkout.coupons import coupon_codes, order_promotions
from shop.models.customers.addresses import addresses
from shop.queries.cart.line_items import ROW_VERSION
from shop.queries.cart.promotions import IS_USED_CODE, Code, PromotionFacts
from shop.queries.catalog.quotes import select_location_stock_text, select_stock_arrays
from shop.queries.setup.versions import SETUP_VERSION
from shop.rules.metadata import METADATA
from shop.rules.setup.shipping import LocationStock

_ID = PG_UUID(as_uuid=True)
_IDS = ARRAY(_ID)
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
_read_lines = msgspec.json.Decoder(list[_values]).decode
_read_summaries = msgspec.json.Decoder(list[SummarizedLine]).decode
_read_location_stock = msgspec.json.Decoder(list[tuple[UUID, UUID, UUID, int, bool]]).decode
_build_line: Any = positional_type(CartLine)
_build_order = positional_type(Order)
_WIDTH = len(orders.c)


class StockedLines(msgspec.Struct, frozen=True):
    """The lines of a cart, and the stock of their variants; a variant without stock items is missing."""

    lines: list[CartLine]
    """In a snapshot without details, those that stay as they are have none: each is a `SummarizedLine`."""
    stocks: Stocks
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
    order = _build_order(*record[:_WIDTH])
    row_version, now, promotion_version, codes, setup_version, destination, lines, version, *others = record[_WIDTH:]
    *stocks, _, summaries = others
    facts = PromotionFacts(
        now, promotion_version, [], False, {}, [Code(*code) for code in _read_codes(codes)] if codes else []
    )
    all_lines: Sequence[PricedLine] = _build_lines(lines, order.currency)
    if summaries:
        all_lines = _add_details(_build_summaries(summaries), all_lines)
    return CartSnapshot(
        order,
        StockedLines(cast("list[CartLine]", all_lines), _build_stocks(*stocks), CatalogMoment(version, now)),
        row_version,
        facts,
        setup_version,
        _read_destination(destination) if destination else None,
    )


def _build_summaries(text: str) -> list[SummarizedLine]:
    # Where there is no value, the text has nothing: two quotation marks, or two commas for the price, the only number
    # that may be missing.
    return _read_summaries(f"[{text}]".replace('""', "null").replace(",,", ",null,"))


def _add_details(summaries: Sequence[PricedLine], detailed_lines: Sequence[PricedLine]) -> list[PricedLine]:
    """Returns all lines, in their order, with the details of some."""
    # By integers, whose hash does not run Python code.
    detailed = {line.id.int: line for line in detailed_lines}
    return [detailed.get(line.id.int, line) for line in summaries]


_in_order = (line_items.c.created_at, line_items.c.id)


def _select_lines_text(order_id: Any, *conditions: Any) -> Any:
    """Selects the lines of an order as a JSON array: the columns of each."""
    rows = func.json_build_array(*line_items.c)
    return (
        select(sql_cast(func.json_agg(aggregate_order_by(rows, *_in_order)), Text))
        .where(line_items.c.order_id == order_id, *conditions)
        .correlate_except(line_items)
        .scalar_subquery()
        .label("lines")
    )


def _select_summaries_text() -> Any:
    """Selects the summaries of the lines of an order, as text that `_build_summaries` reads: what `json_build_array`
    returns would take PostgreSQL three times as long.
    """
    parts: list[Any] = []
    for field in msgspec.structs.fields(SummarizedLine):
        quote = '"' if isinstance(line_items.c[field.name].type, PG_UUID) else ""
        parts += [literal_column(f"'{',' if parts else '['}{quote}'"), line_items.c[field.name]]
        parts += [literal_column(f"'{quote}'")] if quote else []
    row = func.concat(*parts, literal_column("']'"))
    return (
        select(func.string_agg(row, aggregate_order_by(literal_column("','"), *_in_order)))
        .where(line_items.c.order_id == orders.c.id)
        .correlate(orders)
        .scalar_subquery()
        .label("summaries")
    )


def _select_variant_ids(order_id: Any) -> Any:
    """Selects the variants of an order as an array."""
    ids = select(line_items.c.variant_id).where(line_items.c.order_id == order_id)
    return func.array(ids.correlate(orders).scalar_subquery(), type_=_IDS)


_CATALOG_VERSION = select(sql_cast(func.sum(catalog_versions.c.version), Text)).scalar_subquery().label("version")
_order_id = opaque_param("order_id", _ID)


def _build_lines(text: str | None, currency: str) -> list[CartLine]:
    return [_build_line(*values, currency) for values in _read_lines(text)] if text else []


def _build_stocks(
    variant_ids: Sequence[UUID] | None, counts: Sequence[int], are_backorderable: Sequence[bool]
) -> Stocks:
    """Returns the stock of each variant from that at each location."""
    if not variant_ids:
        return {}
    keys = [variant_id.int for variant_id in variant_ids]
    stocks = dict(zip(keys, zip(counts, are_backorderable, strict=True), strict=True))
    return stocks if len(stocks) == len(keys) else _sum_stocks(zip(keys, counts, are_backorderable, strict=True))


def _sum_stocks(items: Iterable[tuple[int, int, bool]]) -> Stocks:
    """Returns the sums of the stock of each variant, which may be at several locations."""
    stocks: dict[int, tuple[int, bool]] = {}
    for key, on_hand, backorderable in items:
        others = stocks.get(key, NO_STOCK)
        stocks[key] = (others[0] + on_hand, others[1] or backorderable)
    return stocks


_callers = parameter_rows(id=_ID, version=BigInteger(), added_ids=Text())
_added_ids = sql_cast(func.string_to_array(_callers.c.added_ids, literal_column("','")), _IDS)
_stocked_ids = select(_select_variant_ids(orders.c.id) + _added_ids).correlate(orders, _callers).scalar_subquery()
_stocks = select_stock_arrays(sql_cast(_stocked_ids, _IDS)).correlate(orders, _callers).lateral("stocks")


def _select_snapshot(lines: Any, *others: Any) -> Statement[Any]:
    return statement(
        select(
            orders,
            ROW_VERSION.label("row_version"),
            func.now().label("now"),
            select(promotion_versions.c.version).scalar_subquery().label("promotion_version"),
            _codes_text.scalar_subquery().label("codes"),
            SETUP_VERSION.label("setup_version"),
            _destination_text.correlate(orders).scalar_subquery().label("destination"),
            lines,
            _CATALOG_VERSION,
            *_stocks.c,
            _callers.c.added_ids,
            *others,
        )
        .select_from(
            orders.join(
                _callers, and_(orders.c.id == _callers.c.id, orders.c.token_version == _callers.c.version)
            ).join(_stocks, true())
        )
        .where(orders.c.completed_at.is_(None), orders.c.user_id.is_(None)),
        lambda record: record,
    )


_FIND = _select_snapshot(_select_lines_text(orders.c.id), null().label("summaries"))
_FIND_WITHOUT_DETAILS = _select_snapshot(
    # A subquery, which is run once and not for each line.
    _select_lines_text(
        orders.c.id,
        line_items.c.variant_id == sql_any(sql_cast(select(_added_ids).correlate(_callers).scalar_subquery(), _IDS)),
    ),
    _select_summaries_text(),
)

_stocks_of_order = select_stock_arrays(_select_variant_ids(_order_id)).subquery("stocks")
_LINES = statement(
    select(_select_lines_text(_order_id), _CATALOG_VERSION, func.now().label("now"), *_stocks_of_order.c),
    tuple,
)
LINES_BY_LOCATION = (
    _select_lines_text(_order_id),
    select_location_stock_text(_select_variant_ids(_order_id)).scalar_subquery().label("location_stock"),
    _CATALOG_VERSION,
)
"""Columns of the lines of an order, which `read_lines_by_location` reads."""


async def find_snapshot(
    db: DatabaseSession, claim: Claim, added_ids: Sequence[UUID], *, with_details: bool
) -> CartSnapshot | None:
    """Returns the open cart of the order token, with the stock of its variants and of those to be added, unless it has
    an owner: the prices of a customer depend on price lists, and promotions on earlier orders. Without details, lines
    of other variants than those are summaries.
    """
    version, ids = claim.token_version, ",".join(map(str, added_ids))
    find = _FIND if with_details else _FIND_WITHOUT_DETAILS
    rows = await db.combined(find, id=claim.cart_id, version=version, added_ids=ids)
    # Each caller decodes its own cart only: the lines of a large one take milliseconds.
    for row in rows:
        if (row["id"], row["token_version"], row["added_ids"]) == (claim.cart_id, version, ids):
            return _read_snapshot(row)
    return None


async def list_stocked_lines(db: DatabaseSession, order: Order) -> StockedLines:
    """Returns the lines of a cart, with the stock of their variants."""
    result = await db.one(_LINES, order_id=order.id)
    if result is None:
        raise AssertionError("a select without a table has one row")
    lines, version, now, *stocks = result
    return StockedLines(_build_lines(lines, order.currency), _build_stocks(*stocks), CatalogMoment(version, now))


def read_lines_by_location(
    order: Order, lines: str | None, location_stock: str | None, version: str, now: datetime
) -> StockedLines:
    """Returns the lines of an order, with the stock of their variants at each location."""
    by_location = [LocationStock(*each) for each in _read_location_stock(location_stock)] if location_stock else []
    stocks = _sum_stocks((each.variant_id.int, each.on_hand, each.backorderable) for each in by_location)
    return StockedLines(_build_lines(lines, order.currency), stocks, CatalogMoment(version, now), by_location)
