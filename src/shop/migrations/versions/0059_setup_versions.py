"""Adds the version of the setup, which every change of zones, taxes, shipping and payment methods replaces."""

import sqlalchemy as sa
from alembic import op

revision = "0059"
down_revision = "0058"
branch_labels = None
depends_on = None

_TABLES = (
    "countries",
    "states",
    "zones",
    "zone_members",
    "tax_rates",
    "stock_locations",
    "shipping_methods",
    "shipping_method_zones",
    "shipping_method_categories",
    "shipping_method_amounts",
    "payment_methods",
)


def upgrade() -> None:
    op.create_table(
        "setup_versions",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("version", sa.UUID(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_setup_versions")),
    )
    op.execute(
        "insert into setup_versions (id, version) select gen_random_uuid(), gen_random_uuid() from generate_series(1, 4)"
    )
    # Several rows, so that transactions that change the setup at the same time do not wait for each other. A random
    # value is never seen twice, not even after a rollback or a restored backup.
    op.execute(
        """
        create function setup_has_changed() returns trigger language plpgsql as $$
        begin
            update setup_versions set version = gen_random_uuid() where id = (
                select id from setup_versions order by id limit 1 for update skip locked
            );
            if not found then
                insert into setup_versions (id, version) values (gen_random_uuid(), gen_random_uuid());
            end if;
            return null;
        end $$
        """
    )
    for name in _TABLES:
        op.execute(
            f"create trigger setup_has_changed after insert or update or delete or truncate on {name} "
            "for each statement execute function setup_has_changed()"
        )


def downgrade() -> None:
    for name in _TABLES:
        op.execute(f"drop trigger setup_has_changed on {name}")
    op.execute("drop function setup_has_changed()")
    op.drop_table("setup_versions")
