"""Fills the lookup tables, and drops the indexes that they replace.

Outside a transaction, in small steps that can be repeated: no statement keeps writers waiting, and a migration that was
interrupted is run again.
"""

from collections.abc import Sequence
from uuid import UUID

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

_BATCH = 5000
_LOOKUPS = "email, payment_state, shipment_state, bill_address_id, ship_address_id"
_REPLACED = (
    "ix_orders_updated_at",
    "ix_orders_payment_state",
    "ix_orders_shipment_state",
    "ix_orders_email",
    "ix_orders_customer",
    "ix_orders_bill_address_id",
    "ix_orders_ship_address_id",
    "ix_stock_items_count_on_hand",
    "ix_listings_sold_count",
    "ix_payment_attempts_open",
    "uq_payment_attempts_open",
)


def upgrade() -> None:
    with op.get_context().autocommit_block():
        hour = "(floor((date_part('epoch'::text, updated_at) / (3600)::double precision)))::bigint"
        _fill(
            "orders",
            "id",
            f"update orders set updated_hour = {hour} where id = any(:ids) and updated_hour <> {hour}",
        )
        _fill(
            "orders",
            "id",
            f"insert into order_lookups (order_id, {_LOOKUPS}, is_completed) select id, {_LOOKUPS}, completed_at "
            f"is not null from orders where num_nonnulls({_LOOKUPS}, completed_at) > 0 and id = any(:ids) on conflict do nothing",
        )
        _fill(
            "addresses",
            "id",
            """insert into loose_addresses (address_id) select id from addresses
            where user_id is null and id = any(:ids)
            and not exists (select from order_lookups where bill_address_id = addresses.id)
            and not exists (select from order_lookups where ship_address_id = addresses.id)
            on conflict do nothing""",
        )
        _fill(
            "stock_items",
            "id",
            "insert into stock_levels (stock_item_id, count_on_hand) "
            "select id, count_on_hand from stock_items where id = any(:ids) on conflict do nothing",
        )
        _fill(
            "listings",
            "product_id",
            "insert into listing_sales (product_id, sold_count) "
            "select product_id, sold_count from listings where product_id = any(:ids) on conflict do nothing",
        )
        op.execute(
            "insert into unsettled_attempts (attempt_id, payment_id) "
            "select id, payment_id from payment_attempts where outcome = 'unknown' on conflict do nothing"
        )
        for name in _REPLACED:
            op.execute(f"drop index concurrently if exists {name}")
        _create_index("ix_orders_updated_hour", "orders (updated_hour, id)")
        _create_index("ix_orders_guest_carts", "orders (updated_hour) where completed_at is null and user_id is null")
        for column in ("bill_address_id", "ship_address_id"):
            op.execute(f"alter table orders drop constraint if exists fk_orders_{column}")


def _fill(table: str, key: str, change: str) -> None:
    """Copies rows in batches. A copy that a trigger has written meanwhile is newer and stays."""
    if op.get_context().as_sql:
        op.execute(change.replace(":ids", "'{each batch of ids}'"))
        return
    last = UUID(int=0)
    while ids := _following(table, key, last):
        op.get_bind().execute(sa.text(change), {"ids": ids})
        last = ids[-1]


def _following(table: str, key: str, last: UUID) -> Sequence[UUID]:
    query = sa.text(f"select {key} from {table} where {key} > :last order by {key} limit {_BATCH}")
    return op.get_bind().execute(query, {"last": last}).scalars().all()


def _create_index(name: str, definition: str) -> None:
    # IF NOT EXISTS would skip an unfinished index, which is never used.
    op.execute(f"drop index concurrently if exists {name}")
    op.execute(f"create index concurrently {name} on {definition}")
