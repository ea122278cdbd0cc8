"""Adds operators, applications and their tokens, and the indexes that sort lists."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "operators",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("email_key", sa.Text(), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=True),
        sa.Column("totp_sealed", sa.LargeBinary(), nullable=True),
        sa.Column("totp_step", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("disabled_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_operators")),
        sa.UniqueConstraint("email_key", name=op.f("uq_operators_email_key")),
    )
    op.create_table(
        "tax_categories",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("tax_code", sa.Text(), nullable=True),
        sa.Column("is_default", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tax_categories")),
        sa.UniqueConstraint("name", name=op.f("uq_tax_categories_name")),
    )
    op.create_index(
        "ix_tax_categories_created_at", "tax_categories", ["created_at", "id"], unique=False, postgresql_where=None
    )
    op.create_table(
        "applications",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("client_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("access_level", sa.Text(), nullable=False),
        sa.Column("created_by_id", sa.UUID(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("access_level in ('read', 'write')", name=op.f("ck_applications_level_is_known")),
        sa.ForeignKeyConstraint(
            ["created_by_id"], ["operators.id"], name=op.f("fk_applications_created_by_id"), ondelete="set null"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_applications")),
        sa.UniqueConstraint("client_id", name=op.f("uq_applications_client_id")),
    )
    op.create_index(
        "ix_applications_created_at", "applications", ["created_at", "id"], unique=False, postgresql_where=None
    )
    op.create_table(
        "operator_links",
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("operator_id", sa.UUID(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["operator_id"], ["operators.id"], name=op.f("fk_operator_links_operator_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_operator_links")),
    )
    op.create_index(
        "ix_operator_links_expires_at", "operator_links", ["expires_at"], unique=False, postgresql_where=None
    )
    op.create_index(
        "ix_operator_links_operator_id", "operator_links", ["operator_id"], unique=False, postgresql_where=None
    )
    op.create_table(
        "operator_sessions",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("operator_id", sa.UUID(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("user_agent", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("authenticated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["operator_id"], ["operators.id"], name=op.f("fk_operator_sessions_operator_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_operator_sessions")),
        sa.UniqueConstraint("hash", name=op.f("uq_operator_sessions_hash")),
    )
    op.create_index(
        "ix_operator_sessions_created_at", "operator_sessions", ["created_at"], unique=False, postgresql_where=None
    )
    op.create_index(
        "ix_operator_sessions_operator_id", "operator_sessions", ["operator_id"], unique=False, postgresql_where=None
    )
    op.create_table(
        "application_secrets",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("application_id", sa.UUID(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("hint", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["application_id"],
            ["applications.id"],
            name=op.f("fk_application_secrets_application_id"),
            ondelete="cascade",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_application_secrets")),
        sa.UniqueConstraint("hash", name=op.f("uq_application_secrets_hash")),
    )
    op.create_index(
        "ix_application_secrets_application_id",
        "application_secrets",
        ["application_id"],
        unique=False,
        postgresql_where=None,
    )
    op.add_column("addresses", sa.Column("alternative_phone", sa.Text(), nullable=True))
    op.add_column(
        "addresses",
        sa.Column(
            "public_metadata",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
    )
    op.add_column(
        "addresses",
        sa.Column(
            "private_metadata",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
    )
    op.create_index("ix_addresses_created_at", "addresses", ["created_at", "id"], unique=False, postgresql_where=None)
    op.add_column("audit_events", sa.Column("subject_id", sa.UUID(), nullable=True))
    op.drop_index(op.f("ix_audit_events_at"), table_name="audit_events")
    op.create_index("ix_audit_events_at", "audit_events", ["at", "id"], unique=False, postgresql_where=None)
    op.create_index(
        "ix_audit_events_subject_id",
        "audit_events",
        ["subject_id", "at"],
        unique=False,
        postgresql_where=sa.text("subject_id is not null"),
    )
    op.add_column(
        "countries", sa.Column("created_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now())
    )
    op.alter_column("countries", "created_at", server_default=None)
    op.add_column(
        "countries", sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now())
    )
    op.alter_column("countries", "updated_at", server_default=None)
    op.add_column("orders", sa.Column("payment_total", sa.BigInteger(), server_default=sa.text("0"), nullable=False))
    op.add_column("orders", sa.Column("approved_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("orders", sa.Column("canceled_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("orders", sa.Column("channel", sa.Text(), server_default=sa.text("'shop'"), nullable=False))
    op.add_column("orders", sa.Column("internal_note", sa.Text(), nullable=True))
    op.add_column(
        "orders",
        sa.Column(
            "public_metadata",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
    )
    op.add_column(
        "orders",
        sa.Column(
            "private_metadata",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
    )
    op.create_index(
        "ix_orders_completed_at",
        "orders",
        ["completed_at", "id"],
        unique=False,
        postgresql_where=sa.text("completed_at is not null"),
    )
    op.create_index("ix_orders_created_at", "orders", ["created_at", "id"], unique=False, postgresql_where=None)
    op.create_index("ix_orders_email", "orders", ["email"], unique=False, postgresql_where=sa.text("email is not null"))
    op.create_index("ix_orders_updated_at", "orders", ["updated_at", "id"], unique=False, postgresql_where=None)
    op.add_column("access_tokens", sa.Column("scope", sa.Text(), nullable=True))
    op.add_column("sessions", sa.Column("application_id", sa.UUID(), nullable=True))
    op.add_column("sessions", sa.Column("scope", sa.Text(), nullable=True))
    op.alter_column("sessions", "user_id", existing_type=sa.UUID(), nullable=True)
    op.create_index(
        "ix_sessions_application_id",
        "sessions",
        ["application_id"],
        unique=False,
        postgresql_where=sa.text("application_id is not null"),
    )
    op.drop_index("ix_sessions_user_id", table_name="sessions")
    op.create_index(
        "ix_sessions_user_id", "sessions", ["user_id"], unique=False, postgresql_where=sa.text("user_id is not null")
    )
    op.create_check_constraint(op.f("ck_sessions_one_owner"), "sessions", "num_nonnulls(user_id, application_id) = 1")
    op.create_foreign_key(
        op.f("fk_sessions_application_id"), "sessions", "applications", ["application_id"], ["id"], ondelete="cascade"
    )
    op.add_column("shops", sa.Column("version", sa.BigInteger(), server_default=sa.text("0"), nullable=False))
    op.add_column(
        "states", sa.Column("created_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now())
    )
    op.alter_column("states", "created_at", server_default=None)
    op.add_column(
        "states", sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now())
    )
    op.alter_column("states", "updated_at", server_default=None)
    op.add_column(
        "users",
        sa.Column(
            "private_metadata",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
    )
    op.create_index("ix_users_created_at", "users", ["created_at", "id"], unique=False, postgresql_where=None)
