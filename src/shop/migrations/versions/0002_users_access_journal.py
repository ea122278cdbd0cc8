"""Adds users, sessions, the outbox, rate counts and audit events."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from shop.migrations.geography import country_rows, state_rows

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "audit_events",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor_kind", sa.Text(), nullable=False),
        sa.Column("actor_id", sa.UUID(), nullable=True),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=True),
        sa.Column("request_id", sa.Text(), nullable=True),
        sa.Column(
            "detail", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'::jsonb"), nullable=False
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_events")),
    )
    op.create_index("ix_audit_events_actor_id", "audit_events", ["actor_id", "at"], unique=False, postgresql_where=None)
    op.create_index("ix_audit_events_at", "audit_events", ["at"], unique=False, postgresql_where=None)
    op.create_table(
        "countries",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("iso", sa.Text(), nullable=False),
        sa.Column("iso3", sa.Text(), nullable=False),
        sa.Column("iso_name", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("numcode", sa.BigInteger(), nullable=False),
        sa.Column("states_required", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("zipcode_required", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_countries")),
        sa.UniqueConstraint("iso", name=op.f("uq_countries_iso")),
        sa.UniqueConstraint("iso3", name=op.f("uq_countries_iso3")),
    )
    op.create_table(
        "login_requests",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("email_key", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("nonce", sa.LargeBinary(), nullable=False),
        sa.Column("is_long", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("attempts", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("first_name", sa.Text(), nullable=True),
        sa.Column("last_name", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("consumed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("superseded_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("attempts >= 0", name=op.f("ck_login_requests_attempts_not_negative")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_login_requests")),
    )
    op.create_index(
        "ix_login_requests_expires_at", "login_requests", ["expires_at"], unique=False, postgresql_where=None
    )
    op.create_index(
        "uq_login_requests_live",
        "login_requests",
        ["email_key"],
        unique=True,
        postgresql_where=sa.text("consumed_at is null and superseded_at is null"),
    )
    op.create_table(
        "outbox_mails",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("recipient", sa.Text(), nullable=False),
        sa.Column("ref_id", sa.UUID(), nullable=False),
        sa.Column("not_after", sa.DateTime(timezone=True), nullable=False),
        sa.Column("attempts", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("locked_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("dead_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox_mails")),
    )
    op.create_index("ix_outbox_mails_created_at", "outbox_mails", ["created_at"], unique=False, postgresql_where=None)
    op.create_index(
        "ix_outbox_mails_due",
        "outbox_mails",
        ["next_at"],
        unique=False,
        postgresql_where=sa.text("sent_at is null and dead_at is null"),
    )
    op.create_table(
        "rate_counts",
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("seconds", sa.BigInteger(), nullable=False),
        sa.Column("window_start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", "seconds", "window_start", name=op.f("pk_rate_counts")),
    )
    op.create_index("ix_rate_counts_window_start", "rate_counts", ["window_start"], unique=False, postgresql_where=None)
    op.create_table(
        "users",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("email_key", sa.Text(), nullable=False),
        sa.Column("first_name", sa.Text(), nullable=True),
        sa.Column("last_name", sa.Text(), nullable=True),
        sa.Column("selected_locale", sa.Text(), nullable=True),
        sa.Column(
            "public_metadata",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("bill_address_id", sa.UUID(), nullable=True),
        sa.Column("ship_address_id", sa.UUID(), nullable=True),
        sa.Column("verified_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("disabled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("email_key", name=op.f("uq_users_email_key")),
    )
    op.create_index(
        "ix_users_unverified", "users", ["created_at"], unique=False, postgresql_where=sa.text("verified_at is null")
    )
    op.create_table(
        "sessions",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("user_id", sa.UUID(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("user_agent", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("refreshed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("idle_expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("absolute_expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoke_reason", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_sessions_user_id"), ondelete="cascade"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
    )
    op.create_index(
        "ix_sessions_absolute_expires_at", "sessions", ["absolute_expires_at"], unique=False, postgresql_where=None
    )
    op.create_index("ix_sessions_user_id", "sessions", ["user_id"], unique=False, postgresql_where=None)
    op.create_table(
        "states",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("country_id", sa.UUID(), nullable=False),
        sa.Column("abbr", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["country_id"], ["countries.id"], name=op.f("fk_states_country_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_states")),
        sa.UniqueConstraint("country_id", "abbr", name=op.f("uq_states_country_id_abbr")),
    )
    op.create_table(
        "access_tokens",
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("session_id", sa.UUID(), nullable=False),
        sa.Column("refresh_hash", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"], ["sessions.id"], name=op.f("fk_access_tokens_session_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_access_tokens")),
    )
    op.create_index("ix_access_tokens_expires_at", "access_tokens", ["expires_at"], unique=False, postgresql_where=None)
    op.create_index("ix_access_tokens_session_id", "access_tokens", ["session_id"], unique=False, postgresql_where=None)
    op.create_table(
        "addresses",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("user_id", sa.UUID(), nullable=True),
        sa.Column("firstname", sa.Text(), nullable=False),
        sa.Column("lastname", sa.Text(), nullable=False),
        sa.Column("company", sa.Text(), nullable=True),
        sa.Column("address1", sa.Text(), nullable=False),
        sa.Column("address2", sa.Text(), nullable=True),
        sa.Column("city", sa.Text(), nullable=True),
        sa.Column("zipcode", sa.Text(), nullable=True),
        sa.Column("state_id", sa.UUID(), nullable=True),
        sa.Column("state_name", sa.Text(), nullable=True),
        sa.Column("country_id", sa.UUID(), nullable=False),
        sa.Column("phone", sa.Text(), nullable=True),
        sa.Column("label", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["country_id"], ["countries.id"], name=op.f("fk_addresses_country_id")),
        sa.ForeignKeyConstraint(["state_id"], ["states.id"], name=op.f("fk_addresses_state_id")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_addresses_user_id"), ondelete="cascade"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_addresses")),
    )
    op.create_index(
        "ix_addresses_user_id",
        "addresses",
        ["user_id", "created_at"],
        unique=False,
        postgresql_where=sa.text("deleted_at is null"),
    )
    op.create_table(
        "refresh_tokens",
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("session_id", sa.UUID(), nullable=False),
        sa.Column("parent_hash", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("rotated_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("key_id", sa.Text(), nullable=True),
        sa.Column("nonce", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(
            ["session_id"], ["sessions.id"], name=op.f("fk_refresh_tokens_session_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_refresh_tokens")),
        sa.UniqueConstraint("parent_hash", name=op.f("uq_refresh_tokens_parent_hash")),
    )
    op.create_index(
        "ix_refresh_tokens_session_id", "refresh_tokens", ["session_id"], unique=False, postgresql_where=None
    )
    op.add_column("orders", sa.Column("user_id", sa.UUID(), nullable=True))
    op.add_column("orders", sa.Column("bill_address_id", sa.UUID(), nullable=True))
    op.add_column("orders", sa.Column("ship_address_id", sa.UUID(), nullable=True))
    op.create_index(
        "ix_orders_bill_address_id",
        "orders",
        ["bill_address_id"],
        unique=False,
        postgresql_where=sa.text("bill_address_id is not null"),
    )
    op.create_index(
        "ix_orders_ship_address_id",
        "orders",
        ["ship_address_id"],
        unique=False,
        postgresql_where=sa.text("ship_address_id is not null"),
    )
    op.create_index(
        "ix_orders_user_id",
        "orders",
        ["user_id", "created_at"],
        unique=False,
        postgresql_where=sa.text("user_id is not null"),
    )
    op.create_foreign_key(op.f("fk_orders_user_id"), "orders", "users", ["user_id"], ["id"])
    op.create_foreign_key(op.f("fk_orders_bill_address_id"), "orders", "addresses", ["bill_address_id"], ["id"])
    op.create_foreign_key(op.f("fk_orders_ship_address_id"), "orders", "addresses", ["ship_address_id"], ["id"])
    if op.get_context().as_sql:
        op.execute("/* inserts the countries and their states */")
    else:
        tables = sa.MetaData()
        tables.reflect(op.get_bind(), only=["countries", "states"])
        op.bulk_insert(tables.tables["countries"], country_rows())
        op.bulk_insert(tables.tables["states"], state_rows())
    op.execute(
        """
        create function audit_is_append_only() returns trigger language plpgsql as $$
        begin
            if tg_op = 'DELETE' and old.at < now() - interval '365 days' then
                return old;
            end if;
            raise exception 'audit events are kept as they are' using errcode = 'insufficient_privilege';
        end $$
        """
    )
    op.execute(
        "create trigger audit_is_append_only before update or delete on audit_events "
        "for each row execute function audit_is_append_only()"
    )
    op.execute(
        "create trigger audit_is_never_emptied before truncate on audit_events "
        "for each statement execute function audit_is_append_only()"
    )
