"""Adds the roles of operators and the permissions of applications; all existing operators are owners."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None

_BUILT_IN = {
    "owner": "Owner",
    "manager": "Manager",
    "fulfilment": "Fulfilment",
    "support": "Support",
    "merchandiser": "Merchandiser",
    "accountant": "Accountant",
    "read-only": "Read-only",
}
_INSERT = "insert into roles (id, code, name, created_at, updated_at) values (:id, :code, :name, now(), now())"


def _role_id(number: int) -> str:
    return f"00000000-0000-7000-8000-{number:012d}"


def upgrade() -> None:
    op.create_table(
        "roles",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("code", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("permissions", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("refund_limit", sa.Numeric(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_roles")),
        sa.UniqueConstraint("code", name=op.f("uq_roles_code")),
        sa.UniqueConstraint("name", name=op.f("uq_roles_name")),
    )
    for number, (code, name) in enumerate(_BUILT_IN.items(), 1):
        op.get_bind().execute(sa.text(_INSERT), {"id": _role_id(number), "code": code, "name": name})
    owner = sa.text(f"'{_role_id(1)}'")
    op.add_column("operators", sa.Column("role_id", sa.UUID(), server_default=owner, nullable=False))
    op.create_foreign_key(op.f("fk_operators_role_id"), "operators", "roles", ["role_id"], ["id"])
    op.create_index("ix_operators_role_id", "operators", ["role_id"])
    op.add_column("operator_links", sa.Column("id", sa.UUID(), nullable=True))
    op.add_column("operator_links", sa.Column("key_id", sa.Text(), nullable=True))
    op.create_unique_constraint(op.f("uq_operator_links_id"), "operator_links", ["id"])
    op.add_column(
        "applications",
        sa.Column("permissions", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
    )
