"""Sorts orders by date or total, and leaves out those of other filters, without reading the table.

The orders of a tab are searched in an index of their own.
"""

import sqlalchemy as sa
from alembic import op

from shop.migrations import online

revision = "0058"
down_revision = "0057"
branch_labels = None
depends_on = None

_TABLE = "order_listings"
_FILTERS = ["country", "currency", "channel", "payment_state", "shipment_state"]
_TABS = ["to_ship", "unpaid", "open"]
_COLUMNS = {"placed_at": ["total", *_FILTERS], "total": _FILTERS}


def upgrade() -> None:
    for name, extra in _COLUMNS.items():
        columns = [name, "order_id"]
        online.create_index(f"ix_order_listings_{name}_filters", _TABLE, columns, postgresql_include=extra)
        online.drop_index(f"ix_order_listings_{name}", _TABLE)
    for tab in _TABS:
        options = {"postgresql_where": sa.text(f"is_{tab}"), "postgresql_using": "gin"}
        online.create_index(f"ix_order_listings_{tab}_search", _TABLE, ["search"], **options)


def downgrade() -> None:
    for tab in _TABS:
        op.drop_index(f"ix_order_listings_{tab}_search", _TABLE)
    for name in _COLUMNS:
        op.create_index(f"ix_order_listings_{name}", _TABLE, [name, "order_id"])
        op.drop_index(f"ix_order_listings_{name}_filters", _TABLE)
