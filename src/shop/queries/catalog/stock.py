"""Statements that move stock; every change of a count is recorded with a stock movement."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, and_, bindparam, column, delete, exists, func, literal_column, or_, select, update
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.ids import new_id
from shop.db.pool import DatabaseSession
from shop.db.statements import any_of, into, opaque_param, seconds, statement
from shop.models.cart.orders import stock_holds
from shop.models.catalog.products import products, variants
from shop.models.catalog.stock import StockItem, StockLocation, stock_items, stock_locations, stock_movements
from shop.models.checkout.payments import payments

_ID = PG_UUID(as_uuid=True)


class OrderStock(msgspec.Struct, frozen=True):
    """A quantity of a stock item that is reserved or sold for an order."""

    stock_item_id: UUID
    quantity: int
    product_id: UUID


_change = bindparam("quantity", type_=BigInteger)
_has_stock = or_(stock_items.c.count_on_hand + _change >= 0, stock_items.c.backorderable)

_LOCK = statement(
    select(stock_items).where(stock_items.c.id == bindparam("id", type_=_ID)).with_for_update(), into(StockItem)
)
_FIND = statement(
    select(stock_items).where(
        stock_items.c.variant_id == bindparam("variant_id", type_=_ID),
        stock_items.c.stock_location_id == bindparam("location_id", type_=_ID),
    ),
    into(StockItem),
)
_CHANGE_COUNT = statement(
    update(stock_items)
    .where(and_(stock_items.c.id == bindparam("item_id", type_=_ID), _has_stock))
    .values(count_on_hand=stock_items.c.count_on_hand + _change, updated_at=func.now())
    .returning(stock_items),
    into(StockItem),
)
_moves = (
    func.unnest(
        opaque_param("ids", ARRAY(_ID)),
        opaque_param("quantities", ARRAY(BigInteger)),
        opaque_param("movement_ids", ARRAY(_ID)),
    )
    .table_valued(column("id", _ID), column("quantity", BigInteger), column("movement_id", _ID), name="moves")
    .render_derived()
)
# The common lock order: products first, in the order of ids, then stock items. An item that another transaction changes
# meanwhile is checked again with its new count.
_locked_products = (
    # FOR NO KEY UPDATE, so that inserts of rows that refer to the product, and lock it next, do not wait.
    select(products.c.id)
    .where(products.c.id == any_of("product_ids", _ID))
    .order_by(products.c.id)
    .with_for_update(key_share=True)
    .cte("locked_products")
)
_changed_items = (
    update(stock_items)
    .where(
        select(func.count()).select_from(_locked_products).scalar_subquery() >= 0,
        stock_items.c.id == _moves.c.id,
        or_(
            stock_items.c.count_on_hand + _moves.c.quantity >= 0,
            stock_items.c.backorderable,
            _moves.c.quantity > 0,
        ),
    )
    .values(count_on_hand=stock_items.c.count_on_hand + _moves.c.quantity, updated_at=func.now())
    .returning(stock_items.c.id, stock_items.c.count_on_hand, _moves.c.movement_id, _moves.c.quantity)
    .cte("changed_items")
)
_new_movements = (
    insert(stock_movements)
    .from_select(
        ["id", "stock_item_id", "quantity", "reason", "note", "actor_kind", "actor_id", "created_at"],
        select(
            _changed_items.c.movement_id,
            _changed_items.c.id,
            _changed_items.c.quantity,
            *(
                bindparam(name, type_=stock_movements.c[name].type)
                for name in ("reason", "note", "actor_kind", "actor_id")
            ),
            func.now(),
        ),
    )
    .cte("new_movements")
)
_MOVE = statement(
    select(_changed_items.c.id, _changed_items.c.count_on_hand).add_cte(_new_movements),
    lambda record: cast(tuple[UUID, int], tuple(record)),
)
_reservations = (
    func.unnest(
        bindparam("ids", type_=ARRAY(_ID)),
        bindparam("stock_item_ids", type_=ARRAY(_ID)),
        bindparam("quantities", type_=ARRAY(BigInteger)),
    )
    .table_valued(column("id", _ID), column("stock_item_id", _ID), column("quantity", BigInteger), name="reserved")
    .render_derived()
)
_RESERVE = statement(
    insert(stock_holds)
    .from_select(
        ["id", "order_id", "stock_item_id", "quantity", "expires_at"],
        select(
            _reservations.c.id,
            bindparam("order_id", type_=_ID),
            _reservations.c.stock_item_id,
            _reservations.c.quantity,
            func.now() + seconds("seconds"),
        ),
    )
    .returning(stock_holds.c.id),
    lambda record: cast(UUID, record[0]),
)
_END_RESERVATIONS = statement(
    delete(stock_holds)
    .where(
        stock_holds.c.order_id == bindparam("order_id", type_=_ID),
        stock_items.c.id == stock_holds.c.stock_item_id,
        variants.c.id == stock_items.c.variant_id,
    )
    .returning(stock_holds.c.stock_item_id, stock_holds.c.quantity, variants.c.product_id),
    lambda record: OrderStock(*record),
)
_LIST_EXPIRED = statement(
    select(stock_holds.c.order_id)
    .where(
        stock_holds.c.expires_at < func.now(),
        ~exists()
        .where(payments.c.order_id == stock_holds.c.order_id, payments.c.state == "processing")
        .correlate(stock_holds),
    )
    .distinct()
    .limit(literal_column("100")),
    lambda record: cast(UUID, record[0]),
)
_RESERVED_COUNTS = statement(
    select(stock_items.c.variant_id, sql_cast(func.sum(stock_holds.c.quantity), BigInteger))
    .join(stock_holds, stock_holds.c.stock_item_id == stock_items.c.id)
    .where(stock_holds.c.order_id == bindparam("order_id", type_=_ID))
    .group_by(stock_items.c.variant_id),
    lambda record: cast(tuple[UUID, int], tuple(record)),
)
_RESERVATION_EXPIRY = statement(
    select(stock_holds.c.expires_at)
    .where(stock_holds.c.order_id == bindparam("order_id", type_=_ID))
    .order_by(stock_holds.c.expires_at)
    .limit(literal_column("1")),
    lambda record: cast(datetime, record[0]),
)
_LIST_SOLD = statement(
    select(
        stock_movements.c.stock_item_id,
        sql_cast(-func.sum(stock_movements.c.quantity), BigInteger).label("quantity"),
        variants.c.product_id,
    )
    .join(stock_items, stock_items.c.id == stock_movements.c.stock_item_id)
    .join(variants, variants.c.id == stock_items.c.variant_id)
    .where(
        stock_movements.c.note == bindparam("note"),
        or_(stock_movements.c.reason == "sold", stock_movements.c.reason == "returned"),
    )
    .group_by(stock_movements.c.stock_item_id, variants.c.product_id)
    .having(func.sum(stock_movements.c.quantity) < 0),
    lambda record: OrderStock(*record),
)
_NOTE = statement(
    insert(stock_movements)
    .values(
        id=bindparam("id"),
        stock_item_id=bindparam("item_id"),
        quantity=bindparam("quantity"),
        reason=bindparam("reason"),
        note=bindparam("note"),
        actor_kind=bindparam("actor_kind"),
        actor_id=bindparam("actor_id"),
        created_at=func.now(),
    )
    .returning(stock_movements.c.id),
    lambda record: cast(UUID, record[0]),
)
_ON_HAND = statement(
    select(stock_items.c.variant_id, sql_cast(func.sum(stock_items.c.count_on_hand), BigInteger))
    .join(stock_locations, stock_locations.c.id == stock_items.c.stock_location_id)
    .where(stock_locations.c.active, stock_items.c.variant_id == any_of("ids", _ID))
    .group_by(stock_items.c.variant_id),
    lambda record: cast(tuple[UUID, int], tuple(record)),
)
_LOCATION = statement(
    select(stock_locations).where(stock_locations.c.id == bindparam("id", type_=_ID)), into(StockLocation)
)
_DEFAULT_LOCATION = statement(
    select(stock_locations)
    .where(stock_locations.c.active)
    .order_by(stock_locations.c.default.desc(), stock_locations.c.id)
    .limit(1),
    into(StockLocation),
)
_NO_DEFAULT = statement(
    update(stock_locations)
    .where(stock_locations.c.default, stock_locations.c.id.is_distinct_from(bindparam("but", type_=_ID)))
    .values(default=False, updated_at=func.now())
    .returning(stock_locations),
    into(StockLocation),
)
_DELETE_ITEMS = statement(
    delete(stock_items)
    .where(stock_items.c.stock_location_id == bindparam("location_id", type_=_ID))
    .returning(stock_items),
    into(StockItem),
)
_WRONG_COUNTS = statement(
    select(stock_items.c.id, stock_items.c.count_on_hand, func.coalesce(func.sum(stock_movements.c.quantity), 0))
    .outerjoin(stock_movements, stock_movements.c.stock_item_id == stock_items.c.id)
    .group_by(stock_items.c.id)
    .having(stock_items.c.count_on_hand != func.coalesce(func.sum(stock_movements.c.quantity), 0)),
    lambda record: cast(tuple[UUID, int, int], (record[0], record[1], int(record[2]))),
)


async def lock_item(db: DatabaseSession, item_id: UUID) -> StockItem | None:
    return await db.one(_LOCK, id=item_id)


async def find_item(db: DatabaseSession, variant_id: UUID, location_id: UUID) -> StockItem | None:
    return await db.one(_FIND, variant_id=variant_id, location_id=location_id)


async def change_count(db: DatabaseSession, item_id: UUID, quantity: int) -> StockItem | None:
    """Changes a count by a quantity; returns `None` if there is not enough and the item is not backorderable."""
    return await db.one(_CHANGE_COUNT, item_id=item_id, quantity=quantity)


async def move_stock(
    db: DatabaseSession, moves: Mapping[UUID, int], product_ids: Iterable[UUID], **movement: Any
) -> dict[UUID, int]:
    """Changes counts by quantities and records the movements; locks the products first. Returns the new counts, without
    items that have not enough stock. `movement` has the columns that all movements have in common.
    """
    values = {"ids": list(moves), "quantities": list(moves.values()), "movement_ids": [new_id() for _ in moves]}
    return dict(await db.all(_MOVE, product_ids=list(set(product_ids)), **values, **movement))


async def insert_reservations(
    db: DatabaseSession, order_id: UUID, quantities: Mapping[UUID, int], duration: int
) -> None:
    """Reserves stock items for an order for `duration` seconds, by the database's clock."""
    await db.all(
        _RESERVE,
        ids=[new_id() for _ in quantities],
        stock_item_ids=list(quantities),
        quantities=list(quantities.values()),
        order_id=order_id,
        seconds=duration,
    )


async def delete_reservations(db: DatabaseSession, order_id: UUID) -> list[OrderStock]:
    return await db.all(_END_RESERVATIONS, order_id=order_id)


async def list_expired_reservations(db: DatabaseSession) -> list[UUID]:
    """Returns up to 100 orders with expired stock reservations and no payment in progress."""
    return await db.all(_LIST_EXPIRED)


async def list_reserved_quantities(db: DatabaseSession, order_id: UUID) -> dict[UUID, int]:
    """Returns the quantities reserved for an order, by variant."""
    return dict(await db.all(_RESERVED_COUNTS, order_id=order_id))


async def find_reservation_expiry(db: DatabaseSession, order_id: UUID) -> datetime | None:
    return await db.one(_RESERVATION_EXPIRY, order_id=order_id)


async def list_sold_stock(db: DatabaseSession, order_number: str) -> list[OrderStock]:
    """Returns the stock sold for an order, less returns."""
    return await db.all(_LIST_SOLD, note=order_number)


async def insert_movement(db: DatabaseSession, **values: Any) -> None:
    await db.one(_NOTE, **values)


async def list_counts_on_hand(db: DatabaseSession, variant_ids: Sequence[UUID]) -> dict[UUID, int]:
    """Returns the stock at active locations, by variant."""
    return dict(await db.all(_ON_HAND, ids=list(variant_ids))) if variant_ids else {}


async def find_location(db: DatabaseSession, location_id: UUID) -> StockLocation | None:
    return await db.one(_LOCATION, id=location_id)


async def find_default_location(db: DatabaseSession) -> StockLocation | None:
    return await db.one(_DEFAULT_LOCATION)


async def unset_default(db: DatabaseSession, but: UUID | None) -> list[StockLocation]:
    """Returns the locations that are no longer the default."""
    return await db.all(_NO_DEFAULT, but=but)


async def delete_items(db: DatabaseSession, location_id: UUID) -> list[StockItem]:
    """Deletes the stock items of a location and returns them; fails if one has movements or reservations."""
    return await db.all(_DELETE_ITEMS, location_id=location_id)


async def list_wrong_counts(db: DatabaseSession) -> list[tuple[UUID, int, int]]:
    """Returns id, count and sum of stock items whose count is not the sum of their movements; normally none."""
    return await db.all(_WRONG_COUNTS)
