"""Counts the rows that refer to a record and prevent its deletion."""

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import ARRAY, BigInteger, ForeignKey, Table, Text, bindparam, func, literal_column, select, union_all

from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, any_of, dynamic_statement, into, statement
from shop.models.cart.orders import orders
from shop.models.cart.promotions import promotion_rules
from shop.models.catalog.prices import price_list_entries, price_lists, prices
from shop.models.catalog.stock import stock_items
from shop.models.checkout.shipments import shipping_method_amounts
from shop.models.checkout.store_credit import store_credits
from shop.models.customers.wishlists import wished_items
from shop.models.stock.deliveries import stock_deliveries, stock_delivery_lines

COUNT_LIMIT = 1000


class Use(msgspec.Struct, frozen=True):
    """A table that refers to a record, with the number of its rows, at most one more than COUNT_LIMIT."""

    table: str
    count: int


async def list_uses(db: DatabaseSession, table: Table, *record_ids: UUID) -> list[Use]:
    """Returns the tables whose rows refer to a record, without those that are deleted together with it."""
    columns = tuple(column for column, key in _list_references(table) if key.ondelete is None)
    return await _count_all(db, columns, record_ids)


async def list_losses(db: DatabaseSession, table: Table, names: Collection[str], *record_ids: UUID) -> list[Use]:
    """Returns those of the named tables whose rows are deleted together with a record, or lose it."""
    keys = [(column, key) for column, key in _list_references(table) if column.table.name in names]
    return await _count_all(db, tuple(column for column, key in keys if key.ondelete is not None), record_ids)


async def list_promotion_uses(db: DatabaseSession, setting: str, *record_ids: UUID) -> list[Use]:
    """Returns the number of promotions with a condition that names a record in this setting."""
    uses = await db.all(_PROMOTION_USES, setting=setting, texts=[str(each) for each in record_ids])
    return [each for each in uses if each.count]


async def _count_all(db: DatabaseSession, columns: tuple[Any, ...], record_ids: Sequence[UUID]) -> list[Use]:
    rows = await db.all(_uses_statement(columns), record_ids=list(record_ids)) if columns else []
    return [each for each in rows if each.count]


def _list_references(table: Table) -> list[tuple[Any, ForeignKey]]:
    return [
        (column, key)
        for other in sorted(table.metadata.tables.values(), key=lambda each: each.name)
        for column in other.c
        for key in column.foreign_keys
        if key.column is table.c.id
    ]


@lru_cache(maxsize=32)
def _uses_statement(columns: tuple[Any, ...]) -> Statement[Use]:
    counts = [_count(column.table, column) for column in columns]
    return dynamic_statement(union_all(*counts) if len(counts) > 1 else counts[0], into(Use))


def _count(table: Table, column: Any) -> Any:
    return _count_rows(table, column == any_of("record_ids", column.type))


def _count_rows(table: Table, *conditions: Any) -> Any:
    limit: Any = literal_column(str(COUNT_LIMIT + 1))
    rows: Any = select(literal_column("1")).select_from(table).where(*conditions).limit(limit)
    count: Any = func.count(type_=BigInteger).label("count")
    return select(literal_column(f"'{table.name}'").label("table"), count).select_from(rows.subquery())


def _has_currency(table: Table) -> Any:
    return table.c.currency == bindparam("currency", type_=Text())


_CURRENCY_USES = statement(
    union_all(
        _count_rows(prices, _has_currency(prices)),
        _count_rows(price_lists, _has_currency(price_lists)),
        _count_rows(shipping_method_amounts, _has_currency(shipping_method_amounts)),
        _count_rows(store_credits, _has_currency(store_credits), store_credits.c.amount > store_credits.c.amount_used),
        _count_rows(
            orders,
            _has_currency(orders),
            orders.c.completed_at.is_(None),
            orders.c.author_id.is_(None),
            orders.c.item_count > literal_column("0"),
        ),
    ),
    into(Use),
)


_names_record = func.jsonb_exists_any(
    promotion_rules.c.preferences[bindparam("setting", type_=Text())], bindparam("texts", type_=ARRAY(Text()))
)
_rule_count: Any = func.count(promotion_rules.c.promotion_id.distinct(), type_=BigInteger).label("count")
_PROMOTION_USES = statement(
    select(literal_column("'promotion_rules'").label("table"), _rule_count).where(_names_record), into(Use)
)


_goods_ids = any_of("variant_ids", prices.c.variant_id.type)
_GOODS_USES = statement(
    union_all(
        _count_rows(price_list_entries, price_list_entries.c.variant_id == _goods_ids),
        _count_rows(
            stock_items, stock_items.c.variant_id == _goods_ids, stock_items.c.count_on_hand != literal_column("0")
        ),
        _count_rows(
            stock_delivery_lines,
            stock_delivery_lines.c.variant_id == _goods_ids,
            stock_delivery_lines.c.received_quantity < stock_delivery_lines.c.quantity,
            stock_delivery_lines.c.delivery_id.in_(
                select(stock_deliveries.c.id).where(
                    stock_deliveries.c.state.in_([literal_column("'draft'"), literal_column("'open'")])
                )
            ),
        ),
        _count_rows(wished_items, wished_items.c.variant_id == _goods_ids),
    ),
    into(Use),
)


async def list_goods_uses(db: DatabaseSession, variant_ids: Sequence[UUID]) -> list[Use]:
    """Returns the tables that use variants: prices in lists, stock, expected deliveries and wishlists."""
    return [each for each in await db.all(_GOODS_USES, variant_ids=list(variant_ids)) if each.count]


async def list_currency_uses(db: DatabaseSession, currency: str) -> list[Use]:
    """Returns the tables with rows in a currency: prices, costs of shipping, unspent store credit and open carts."""
    return [each for each in await db.all(_CURRENCY_USES, currency=currency) if each.count]
