"""Adds orders, the shop and idempotency keys."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "idempotency_keys",
        sa.Column("scope", sa.LargeBinary(), nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("fingerprint", sa.LargeBinary(), nullable=False),
        sa.Column("record_id", sa.UUID(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("scope", "key", name=op.f("pk_idempotency_keys")),
    )
    op.create_index(
        "ix_idempotency_keys_expires_at", "idempotency_keys", ["expires_at"], unique=False, postgresql_where=None
    )
    op.create_table(
        "orders",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("number", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'cart'"), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=True),
        sa.Column("special_instructions", sa.Text(), nullable=True),
        sa.Column("item_count", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("item_total", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("ship_total", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("adjustment_total", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("total", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("promo_total", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("included_tax_total", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("additional_tax_total", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("pre_tax_item_amount", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("pre_tax_total", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("shipment_state", sa.Text(), nullable=True),
        sa.Column("payment_state", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("currency ~ '^[A-Z]{3}$'", name=op.f("ck_orders_currency_is_a_code")),
        sa.CheckConstraint("item_count >= 0", name=op.f("ck_orders_item_count_not_negative")),
        sa.CheckConstraint(
            "item_total + ship_total + adjustment_total = total", name=op.f("ck_orders_total_is_the_sum")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_orders")),
        sa.UniqueConstraint("number", name=op.f("uq_orders_number")),
    )
    op.create_table(
        "shops",
        sa.Column("id", sa.BigInteger(), server_default=sa.text("1"), nullable=False),
        sa.Column("name", sa.Text(), server_default=sa.text("'Shop'"), nullable=False),
        sa.Column("currencies", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("default_country", sa.Text(), server_default=sa.text("'US'"), nullable=False),
        sa.Column("default_locale", sa.Text(), server_default=sa.text("'en-US'"), nullable=False),
        sa.CheckConstraint("cardinality(currencies) > 0", name=op.f("ck_shops_has_a_currency")),
        sa.CheckConstraint("id = 1", name=op.f("ck_shops_only_one")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shops")),
    )
    op.execute("insert into shops (currencies) values ('{USD}')")
