"""Adds promotions with their codes and uses, adjustments, and store credit with its ledger."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "promotion_categories",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("code", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_promotion_categories")),
        sa.UniqueConstraint("name", name=op.f("uq_promotion_categories_name")),
    )
    op.create_table(
        "promotion_versions",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_promotion_versions")),
    )
    op.create_table(
        "promotions",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("code", sa.Text(), nullable=True),
        sa.Column("is_automatic", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("match_policy", sa.Text(), server_default=sa.text("'all'"), nullable=False),
        sa.Column("usage_limit", sa.BigInteger(), nullable=True),
        sa.Column("customer_limit", sa.BigInteger(), nullable=True),
        sa.Column("uses", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("advertise", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("path", sa.Text(), nullable=True),
        sa.Column("starts_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("promotion_category_id", sa.UUID(), nullable=True),
        sa.Column(
            "public_metadata",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column(
            "private_metadata",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("match_policy in ('all', 'any')", name=op.f("ck_promotions_match_policy_is_known")),
        sa.CheckConstraint("expires_at > starts_at", name=op.f("ck_promotions_ends_after_start")),
        sa.CheckConstraint("not is_automatic or code is null", name=op.f("ck_promotions_automatic_has_no_code")),
        sa.CheckConstraint("usage_limit > 0 and customer_limit > 0", name=op.f("ck_promotions_limits_are_positive")),
        sa.CheckConstraint("uses >= 0", name=op.f("ck_promotions_uses_fit")),
        sa.ForeignKeyConstraint(
            ["promotion_category_id"],
            ["promotion_categories.id"],
            name=op.f("fk_promotions_promotion_category_id"),
            ondelete="set null",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_promotions")),
    )
    op.create_index("ix_promotions_automatic", "promotions", ["id"], postgresql_where=sa.text("is_automatic"))
    op.create_index(
        "ix_promotions_promotion_category_id",
        "promotions",
        ["promotion_category_id"],
        postgresql_where=sa.text("promotion_category_id is not null"),
    )
    op.create_index(
        "uq_promotions_code", "promotions", ["code"], unique=True, postgresql_where=sa.text("code is not null")
    )
    for name, more in (
        ("store_credit_categories", ()),
        ("store_credit_types", (sa.Column("priority", sa.BigInteger(), server_default=sa.text("0"), nullable=False),)),
    ):
        op.create_table(
            name,
            sa.Column("id", sa.UUID(), nullable=False),
            sa.Column("name", sa.Text(), nullable=False),
            *more,
            sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
            sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
            sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{name}")),
        )
    op.create_table(
        "store_credits",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("user_id", sa.UUID(), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("amount_used", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("memo", sa.Text(), nullable=False),
        sa.Column("store_credit_category_id", sa.UUID(), nullable=True),
        sa.Column("store_credit_type_id", sa.UUID(), nullable=True),
        sa.Column("actor_kind", sa.Text(), nullable=False),
        sa.Column("actor_id", sa.UUID(), nullable=True),
        sa.Column(
            "public_metadata",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column(
            "private_metadata",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("currency ~ '^[A-Z]{3}$'", name=op.f("ck_store_credits_currency_is_a_code")),
        sa.CheckConstraint("amount > 0", name=op.f("ck_store_credits_amount_is_something")),
        sa.CheckConstraint("amount_used between 0 and amount", name=op.f("ck_store_credits_never_more_than_granted")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_store_credits_user_id"), ondelete="cascade"),
        sa.ForeignKeyConstraint(
            ["store_credit_category_id"],
            ["store_credit_categories.id"],
            name=op.f("fk_store_credits_store_credit_category_id"),
        ),
        sa.ForeignKeyConstraint(
            ["store_credit_type_id"], ["store_credit_types.id"], name=op.f("fk_store_credits_store_credit_type_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_store_credits")),
    )
    op.create_index("ix_store_credits_created_at", "store_credits", ["created_at", "id"])
    for name in ("category", "type"):
        op.create_index(
            f"ix_store_credits_{name}_id",
            "store_credits",
            [f"store_credit_{name}_id"],
            postgresql_where=sa.text(f"store_credit_{name}_id is not null"),
        )
    op.create_index("ix_store_credits_user_id", "store_credits", ["user_id", "currency", "id"])
    op.create_table(
        "coupon_batches",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("promotion_id", sa.UUID(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("prefix", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("codes_count", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("codes_count > 0", name=op.f("ck_coupon_batches_codes_are_some")),
        sa.ForeignKeyConstraint(
            ["promotion_id"], ["promotions.id"], name=op.f("fk_coupon_batches_promotion_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_coupon_batches")),
    )
    op.create_index("ix_coupon_batches_promotion_id", "coupon_batches", ["promotion_id", "id"])
    op.create_table(
        "promotion_actions",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("promotion_id", sa.UUID(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column(
            "preferences",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["promotion_id"], ["promotions.id"], name=op.f("fk_promotion_actions_promotion_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_promotion_actions")),
    )
    op.create_index("ix_promotion_actions_promotion_id", "promotion_actions", ["promotion_id", "id"])
    op.create_table(
        "promotion_rules",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("promotion_id", sa.UUID(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column(
            "preferences",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["promotion_id"], ["promotions.id"], name=op.f("fk_promotion_rules_promotion_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_promotion_rules")),
    )
    op.create_index("ix_promotion_rules_promotion_id", "promotion_rules", ["promotion_id", "id"])
    op.create_table(
        "adjustments",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("order_id", sa.UUID(), nullable=False),
        sa.Column("adjustable_type", sa.Text(), nullable=False),
        sa.Column("adjustable_id", sa.UUID(), nullable=False),
        sa.Column("source_type", sa.Text(), nullable=False),
        sa.Column("source_id", sa.UUID(), nullable=True),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("included", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("mandatory", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("eligible", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'closed'"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "adjustable_type in ('line_item', 'shipment', 'order')", name=op.f("ck_adjustments_adjustable_is_known")
        ),
        sa.CheckConstraint("source_type in ('promotion', 'tax_rate')", name=op.f("ck_adjustments_source_is_known")),
        sa.ForeignKeyConstraint(["order_id"], ["orders.id"], name=op.f("fk_adjustments_order_id"), ondelete="cascade"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_adjustments")),
    )
    op.create_index("ix_adjustments_created_at", "adjustments", ["created_at", "id"])
    op.create_index("ix_adjustments_order_id", "adjustments", ["order_id", "id"])
    op.create_table(
        "coupon_codes",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("batch_id", sa.UUID(), nullable=False),
        sa.Column("promotion_id", sa.UUID(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("order_id", sa.UUID(), nullable=True),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["batch_id"], ["coupon_batches.id"], name=op.f("fk_coupon_codes_batch_id"), ondelete="cascade"
        ),
        sa.ForeignKeyConstraint(
            ["order_id"], ["orders.id"], name=op.f("fk_coupon_codes_order_id"), ondelete="set null"
        ),
        sa.ForeignKeyConstraint(
            ["promotion_id"], ["promotions.id"], name=op.f("fk_coupon_codes_promotion_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_coupon_codes")),
        sa.UniqueConstraint("code", name=op.f("uq_coupon_codes_code")),
    )
    op.create_index("ix_coupon_codes_batch_id", "coupon_codes", ["batch_id", "id"])
    op.create_index(
        "ix_coupon_codes_order_id", "coupon_codes", ["order_id"], postgresql_where=sa.text("order_id is not null")
    )
    op.create_index("ix_coupon_codes_promotion_id", "coupon_codes", ["promotion_id"])
    op.create_table(
        "order_promotions",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("order_id", sa.UUID(), nullable=False),
        sa.Column("promotion_id", sa.UUID(), nullable=False),
        sa.Column("coupon_code_id", sa.UUID(), nullable=True),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["coupon_code_id"], ["coupon_codes.id"], name=op.f("fk_order_promotions_coupon_code_id"), ondelete="cascade"
        ),
        sa.ForeignKeyConstraint(
            ["order_id"], ["orders.id"], name=op.f("fk_order_promotions_order_id"), ondelete="cascade"
        ),
        sa.ForeignKeyConstraint(
            ["promotion_id"], ["promotions.id"], name=op.f("fk_order_promotions_promotion_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_order_promotions")),
        sa.UniqueConstraint("order_id", "promotion_id", name=op.f("uq_order_promotions_order_id_promotion_id")),
    )
    op.create_index(
        "ix_order_promotions_coupon_code_id",
        "order_promotions",
        ["coupon_code_id"],
        postgresql_where=sa.text("coupon_code_id is not null"),
    )
    op.create_index("ix_order_promotions_promotion_id", "order_promotions", ["promotion_id"])
    op.create_table(
        "promotion_uses",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("promotion_id", sa.UUID(), nullable=False),
        sa.Column("order_id", sa.UUID(), nullable=False),
        sa.Column("user_id", sa.UUID(), nullable=True),
        sa.Column("email", sa.Text(), nullable=True),
        sa.Column("coupon_code_id", sa.UUID(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["coupon_code_id"], ["coupon_codes.id"], name=op.f("fk_promotion_uses_coupon_code_id")),
        sa.ForeignKeyConstraint(
            ["order_id"], ["orders.id"], name=op.f("fk_promotion_uses_order_id"), ondelete="cascade"
        ),
        sa.ForeignKeyConstraint(["promotion_id"], ["promotions.id"], name=op.f("fk_promotion_uses_promotion_id")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_promotion_uses_user_id"), ondelete="set null"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_promotion_uses")),
        sa.UniqueConstraint("promotion_id", "order_id", name=op.f("uq_promotion_uses_promotion_id_order_id")),
    )
    op.create_index(
        "ix_promotion_uses_coupon_code_id",
        "promotion_uses",
        ["coupon_code_id"],
        postgresql_where=sa.text("coupon_code_id is not null"),
    )
    op.create_index(
        "ix_promotion_uses_email", "promotion_uses", ["email"], postgresql_where=sa.text("email is not null")
    )
    op.create_index("ix_promotion_uses_order_id", "promotion_uses", ["order_id"])
    op.create_index(
        "ix_promotion_uses_user_id", "promotion_uses", ["user_id"], postgresql_where=sa.text("user_id is not null")
    )
    op.create_table(
        "store_credit_events",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("store_credit_id", sa.UUID(), nullable=False),
        sa.Column("user_id", sa.UUID(), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("user_total_amount", sa.BigInteger(), nullable=False),
        sa.Column("order_id", sa.UUID(), nullable=True),
        sa.Column("payment_id", sa.UUID(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("actor_kind", sa.Text(), nullable=False),
        sa.Column("actor_id", sa.UUID(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "action in ('granted', 'spent', 'restored', 'withdrawn')",
            name=op.f("ck_store_credit_events_action_is_known"),
        ),
        sa.CheckConstraint("amount <> 0", name=op.f("ck_store_credit_events_amount_is_something")),
        sa.ForeignKeyConstraint(
            ["order_id"], ["orders.id"], name=op.f("fk_store_credit_events_order_id"), ondelete="set null"
        ),
        sa.ForeignKeyConstraint(
            ["payment_id"], ["payments.id"], name=op.f("fk_store_credit_events_payment_id"), ondelete="set null"
        ),
        sa.ForeignKeyConstraint(
            ["store_credit_id"],
            ["store_credits.id"],
            name=op.f("fk_store_credit_events_store_credit_id"),
            ondelete="cascade",
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_store_credit_events_user_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_store_credit_events")),
    )
    op.create_index(
        "ix_store_credit_events_order_id",
        "store_credit_events",
        ["order_id"],
        postgresql_where=sa.text("order_id is not null"),
    )
    op.create_index(
        "ix_store_credit_events_payment_id",
        "store_credit_events",
        ["payment_id"],
        postgresql_where=sa.text("payment_id is not null"),
    )
    op.create_index("ix_store_credit_events_store_credit_id", "store_credit_events", ["store_credit_id", "id"])
    op.create_index("ix_store_credit_events_user_id", "store_credit_events", ["user_id", "currency", "id"])
    op.add_column("line_items", sa.Column("promotion_id", sa.UUID(), nullable=True))
    op.create_index(
        "ix_line_items_promotion_id",
        "line_items",
        ["promotion_id"],
        postgresql_where=sa.text("promotion_id is not null"),
    )
    op.create_foreign_key(
        op.f("fk_line_items_promotion_id"), "line_items", "promotions", ["promotion_id"], ["id"], ondelete="set null"
    )
    op.add_column(
        "orders", sa.Column("order_promo_total", sa.BigInteger(), server_default=sa.text("0"), nullable=False)
    )
    op.add_column(
        "orders", sa.Column("store_credit_total", sa.BigInteger(), server_default=sa.text("0"), nullable=False)
    )
    op.add_column(
        "orders",
        sa.Column(
            "promoted", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'::jsonb"), nullable=False
        ),
    )
    op.add_column("shipments", sa.Column("promotion_id", sa.UUID(), nullable=True))
    op.create_index(
        "ix_shipments_promotion_id", "shipments", ["promotion_id"], postgresql_where=sa.text("promotion_id is not null")
    )
    op.create_foreign_key(
        op.f("fk_shipments_promotion_id"), "shipments", "promotions", ["promotion_id"], ["id"], ondelete="set null"
    )
    op.create_check_constraint("nothing_below_zero", "orders", "total >= 0 and order_promo_total <= 0")
    op.execute("insert into promotion_versions (id) values (1)")
    op.execute(
        """
        create function promotions_have_changed() returns trigger language plpgsql as $$
        begin
            update promotion_versions set version = version + 1 where id = 1;
            return null;
        end $$
        """
    )
    for name, when in (
        ("promotions", "insert or delete"),
        ("promotion_rules", "insert or update or delete"),
        ("promotion_actions", "insert or update or delete"),
    ):
        op.execute(
            f"create trigger promotions_have_changed after {when} on {name} "
            "for each statement execute function promotions_have_changed()"
        )
    # A use changes the offered promotions only if it is the last one, or if the last one is given back.
    op.execute(
        """
        create trigger promotion_is_changed after update on promotions for each row
        when (
            old.uses = new.uses
            or (old.uses >= old.usage_limit) is distinct from (new.uses >= new.usage_limit)
        )
        execute function promotions_have_changed()
        """
    )
    op.execute(
        "insert into payment_methods (id, name, type, display_on, position, created_at, updated_at) "
        "values ('5c000000-0000-7000-8000-000000000001', 'Store credit', 'store_credit', 'back_end', 1000, now(), now())"
    )
