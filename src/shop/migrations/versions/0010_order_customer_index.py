"""Adds the index that finds a customer's earlier orders by any spelling of the e-mail address."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_CUSTOMER = "lower(regexp_replace(email, '[.](?=.*@)|[+].*(?=@)'::text, ''::text, 'g'::text))"


def upgrade() -> None:
    op.create_index(
        "ix_orders_customer",
        "orders",
        [sa.text(_CUSTOMER)],
        postgresql_where=sa.text("completed_at is not null"),
    )
