"""Adds pickup of orders with its shipping method, shares of discounts, mailed quotes and refunds as store credit."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("orders", sa.Column("pickup_location_id", sa.UUID(), nullable=True))
    op.add_column(
        "orders",
        sa.Column(
            "manual_shares",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
    )
    # Deleted from the start: nobody can offer, change or delete it, and orders show it like other deleted methods.
    op.execute(
        "insert into shipping_methods"
        " (id, name, display_on, calculator, created_at, updated_at, deleted_at) values"
        " ('5c000000-0000-7000-8000-000000000004', 'Pickup', 'back_end', 'flat', now(), now(), now())"
    )
    op.add_column("order_notes", sa.Column("file", sa.LargeBinary(), nullable=True))
    op.drop_constraint("ck_order_notes_kind_is_known", "order_notes")
    op.create_check_constraint(
        op.f("ck_order_notes_kind_is_known"), "order_notes", "kind in ('note', 'message', 'quote')"
    )
    op.add_column("refunds", sa.Column("store_credit_id", sa.UUID(), nullable=True))
