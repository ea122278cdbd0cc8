"""Adds the version of what decides which products match a search, or a choice of taxons, options and properties.

The matches of a query are cached while this version is unchanged. A price, a sale or an image does not change it.
"""

from itertools import product

import sqlalchemy as sa
from alembic import op

revision = "0061"
down_revision = "0060"
branch_labels = None
depends_on = None

_STEP = "1 + floor(random() * 4294967296)::bigint"
_TABLES = ("listings", "classifications")
_COLUMNS = ("search", "within_taxon_ids", "facet_ids", "currencies", "is_active", "available_on", "discontinue_on")


def upgrade() -> None:
    op.add_column(
        "catalog_versions", sa.Column("matches", sa.BigInteger(), server_default=sa.text("0"), nullable=False)
    )
    # Once for each transaction is enough: others see its first and its last change together.
    op.execute(
        f"""
        create function matches_have_changed() returns trigger language plpgsql as $$
        declare
            ours text := pg_current_xact_id()::text;
        begin
            if current_setting('shop.matches_changed_in', true) is distinct from ours then
                perform renew_catalog_version('matches');
                update catalog_versions set matches = matches + {_STEP} where version = ours::bigint;
                perform set_config('shop.matches_changed_in', ours, true);
            end if;
            return null;
        end $$
        """
    )
    old, new = (", ".join(f"{row}.{name}" for name in _COLUMNS) for row in ("old", "new"))
    op.execute(
        "create trigger matches_have_changed_on_update after update on listings for each row "
        f"when (({old}) is distinct from ({new})) execute function matches_have_changed()"
    )
    op.execute(
        "create trigger matches_have_changed_on_update after update on classifications for each row "
        "when ((old.taxon_id, old.position) is distinct from (new.taxon_id, new.position)) "
        "execute function matches_have_changed()"
    )
    for table, event in product(_TABLES, ("insert", "delete", "truncate")):
        op.execute(
            f"create trigger matches_have_changed_on_{event} after {event} on {table} "
            "for each statement execute function matches_have_changed()"
        )


def downgrade() -> None:
    for table, event in product(_TABLES, ("insert", "update", "delete", "truncate")):
        op.execute(f"drop trigger matches_have_changed_on_{event} on {table}")
    op.execute("drop function matches_have_changed()")
    op.drop_column("catalog_versions", "matches")
