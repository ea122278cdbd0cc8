"""Lists the tags of customers without reading all customers."""

import sqlalchemy as sa
from alembic import op

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_users_tagged", "users", ["created_at"], postgresql_where=sa.text("tags <> '{}'"))


def downgrade() -> None:
    op.drop_index("ix_users_tagged", "users")
