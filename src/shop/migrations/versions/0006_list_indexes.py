"""Adds the indexes of lists of orders and users; shipping destinations become part of the catalog version."""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

DESTINATION_TABLES = ("zones", "zone_members", "shipping_methods", "shipping_method_zones")


def upgrade() -> None:
    op.drop_index("ix_orders_completed_at", table_name="orders")
    op.create_index("ix_orders_completed_at", "orders", ["completed_at", "id"])
    for name in ("payment_state", "shipment_state"):
        op.create_index(f"ix_orders_{name}", "orders", [name, "id"], postgresql_where=f"{name} is not null")
    op.create_index("ix_users_updated_at", "users", ["updated_at", "id"])
    op.create_index("ix_users_email", "users", ["email"])
    for name in DESTINATION_TABLES:
        op.execute(
            f"create trigger catalog_has_changed after insert or update or delete on {name} "
            "for each statement execute function catalog_has_changed()"
        )
    # Schedules a refresh of every listing: its available options, and its variants that are still sold.
    op.execute("update listings set next_look_at = now()")
