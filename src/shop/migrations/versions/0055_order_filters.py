"""Lists the orders of a country, currency, channel or state, and those of a tab, without reading all others."""

import sqlalchemy as sa
from alembic import op

from shop.migrations import online

revision = "0055"
down_revision = "0054"
branch_labels = None
depends_on = None

_TABLE = "order_listings"
_FILTERS = ["country", "currency", "channel", "payment_state", "shipment_state"]
_TABS = ["to_ship", "unpaid", "open"]


def upgrade() -> None:
    for name in _FILTERS:
        online.create_index(f"ix_order_listings_{name}", _TABLE, [name, "placed_at", "order_id"])
    for tab in _TABS:
        options = {"postgresql_where": sa.text(f"is_{tab}"), "postgresql_include": ["total", *_FILTERS]}
        online.create_index(f"ix_order_listings_{tab}_filters", _TABLE, ["placed_at", "order_id"], **options)
        online.drop_index(f"ix_order_listings_{tab}", _TABLE)


def downgrade() -> None:
    for tab in _TABS:
        where = sa.text(f"is_{tab}")
        op.create_index(f"ix_order_listings_{tab}", _TABLE, ["placed_at", "order_id"], postgresql_where=where)
        op.drop_index(f"ix_order_listings_{tab}_filters", _TABLE)
    for name in _FILTERS:
        op.drop_index(f"ix_order_listings_{name}", _TABLE)
