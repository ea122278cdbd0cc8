"""What lists are found and sorted by; where goods are sent to is seen by everybody."""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

SENT_TO = ("zones", "zone_members", "shipping_methods", "shipping_method_zones")


def upgrade() -> None:
    op.drop_index("ix_orders_completed_at", table_name="orders")
    op.create_index("ix_orders_completed_at", "orders", ["completed_at", "id"])
    for name in ("payment_state", "shipment_state"):
        op.create_index(f"ix_orders_{name}", "orders", [name, "id"], postgresql_where=f"{name} is not null")
    op.create_index("ix_users_updated_at", "users", ["updated_at", "id"])
    op.create_index("ix_users_email", "users", ["email"])
    for name in SENT_TO:
        op.execute(
            f"create trigger catalog_has_changed after insert or update or delete on {name} "
            "for each statement execute function catalog_has_changed()"
        )
    # Looked at anew, one after another: which of their options can be asked for, and which variants are still sold.
    op.execute("update listings set next_look_at = now()")
