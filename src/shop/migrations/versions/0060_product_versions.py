"""Adds versions of products, of what many products share, and of the facet counts.

A cached part of a response is valid while its version is unchanged. A version grows by a random step: after a failover
that lost a change, the next change does not get the version of the lost one.
"""

import sqlalchemy as sa
from alembic import op

revision = "0060"
down_revision = "0059"
branch_labels = None
depends_on = None

_STEP = "1 + floor(random() * 4294967296)::bigint"
_EVENTS = {
    "insert": "new table as changed",
    "update": "old table as former new table as changed",
    "delete": "old table as changed",
}
_COLUMNS = {
    "products": "id",
    **dict.fromkeys(("variants", "product_properties", "product_option_types", "classifications"), "product_id"),
    **dict.fromkeys(("prices", "variant_option_values"), "variant_id"),
}
"""The column of each table that leads to the product that shows its rows."""
_SHARED_TABLES = ("option_types", "option_values", "properties", "taxonomies", "taxons", "stock_locations")
_FACET_TABLES = ("listing_facets", "product_properties")
_LISTING_COLUMNS = (
    "master_id, default_variant_id, variant_ids, option_type_ids, property_ids, taxon_ids, image_ids, sku, in_stock, "
    "backorderable, is_active, available_on, discontinue_on, next_look_at"
)
_STOCK_COLUMNS = "{0}.count_on_hand > 0, {0}.backorderable, {0}.variant_id, {0}.stock_location_id"


def upgrade() -> None:
    for name in ("shared", "facets"):
        op.add_column("catalog_versions", sa.Column(name, sa.BigInteger(), server_default=sa.text("0"), nullable=False))
    op.create_table(
        "product_versions",
        sa.Column("product_id", sa.UUID(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["product_id"], ["products.id"], name=op.f("fk_product_versions_product_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("product_id", name=op.f("pk_product_versions")),
        postgresql_with={"fillfactor": 50},
    )
    _create_catalog_functions()
    _create_product_functions()
    for table in _SHARED_TABLES:
        _create_triggers("shared_rows_have_changed", table, "catalog_rows_have_changed('shared')")
    for table in _FACET_TABLES:
        _create_triggers("facets_have_changed", table, "catalog_rows_have_changed('facets')")
    for table, column in _COLUMNS.items():
        _create_triggers("products_have_changed", table, f"products_have_changed('{column}')")
    _create_triggers("products_have_changed", "images", "images_have_changed()")
    _create_triggers("products_have_changed", "listings", "products_have_changed('product_id')", ["insert"])
    _create_triggers(
        "products_have_changed", "stock_items", "products_have_changed('variant_id')", ["insert", "delete"]
    )
    # A sale changes these rows too: the conditions are cheaper than a function.
    old, new = (", ".join(f"{row}.{name}" for name in _LISTING_COLUMNS.split(", ")) for row in ("old", "new"))
    op.execute(
        "create trigger product_has_changed after update on listings for each row "
        f"when (({old}) is distinct from ({new})) execute function listing_has_changed()"
    )
    op.execute(
        "create trigger product_has_changed after update on stock_items for each row "
        f"when (({_STOCK_COLUMNS.format('old')}) is distinct from ({_STOCK_COLUMNS.format('new')})) "
        "execute function stock_has_changed()"
    )


def _create_triggers(name: str, table: str, function: str, events: list[str] | None = None) -> None:
    call = function if function.endswith(")") else f"{function}()"
    for event in events or _EVENTS:
        op.execute(
            f"create trigger {name}_on_{event} after {event} on {table} referencing {_EVENTS[event]} "
            f"for each statement execute function {call}"
        )


def _create_catalog_functions() -> None:
    op.execute(
        f"""
        create function renew_catalog_version(part text) returns void language plpgsql as $$
        declare
            ours bigint := pg_current_xact_id()::text::bigint;
        begin
            if not exists (select from catalog_versions where version = ours) then
                update catalog_versions set version = ours where slot = (
                    select slot from catalog_versions order by slot limit 1 for update skip locked
                );
                if not found then
                    insert into catalog_versions (slot, version) values (-ours, ours);
                end if;
            end if;
            if part = 'shared' then
                update catalog_versions set shared = shared + {_STEP} where version = ours;
            elsif part = 'facets' then
                update catalog_versions set facets = facets + {_STEP} where version = ours;
            end if;
        end $$
        """
    )
    op.execute(
        """
        create function catalog_rows_have_changed() returns trigger language plpgsql as $$
        begin
            if exists (select from changed) then
                perform renew_catalog_version(tg_argv[0]);
            end if;
            return null;
        end $$
        """
    )


def _create_product_functions() -> None:
    # A writer never waits for another one: if a version is locked, all products get a new one.
    op.execute(
        f"""
        create function renew_product_versions(product_ids uuid[]) returns void language plpgsql as $$
        declare
            ids uuid[] := array(select distinct id from unnest(product_ids) id where id is not null);
            renewed bigint;
            added bigint;
        begin
            update product_versions set version = version + {_STEP} where product_id = any(
                array(select product_id from product_versions where product_id = any(ids) for update skip locked)
            );
            get diagnostics renewed = row_count;
            if renewed = cardinality(ids) then
                return;
            end if;
            insert into product_versions (product_id, version)
            select id, {_STEP} from products where id = any(ids)
            and not exists (select from product_versions where product_id = products.id)
            on conflict do nothing;
            get diagnostics added = row_count;
            if renewed + added < (select count(*) from products where id = any(ids)) then
                perform renew_catalog_version('shared');
            end if;
        end $$
        """
    )
    op.execute(
        """
        create function products_have_changed() returns trigger language plpgsql as $$
        declare
            ids uuid[];
        begin
            if tg_argv[0] = 'id' then
                ids := array(select id from changed);
            elsif tg_argv[0] = 'product_id' then
                ids := array(select distinct product_id from changed);
                if tg_op = 'UPDATE' then
                    ids := ids || array(select distinct product_id from former);
                end if;
            else
                ids := array(select distinct product_id from variants where id in (select variant_id from changed));
                if tg_op = 'UPDATE' then
                    ids := ids
                        || array(select distinct product_id from variants where id in (select variant_id from former));
                end if;
            end if;
            if cardinality(ids) > 0 then
                perform renew_product_versions(ids);
            end if;
            return null;
        end $$
        """
    )
    op.execute(
        """
        create function images_have_changed() returns trigger language plpgsql as $$
        declare
            ids uuid[] := array(
                select coalesce(changed.product_id, variants.product_id)
                from changed left join variants on variants.id = variant_id where taxon_id is null
            );
        begin
            if tg_op = 'UPDATE' then
                ids := ids || array(
                    select coalesce(former.product_id, variants.product_id)
                    from former left join variants on variants.id = variant_id where taxon_id is null
                );
            end if;
            if cardinality(ids) > 0 then
                perform renew_product_versions(ids);
            end if;
            if exists (select from changed where taxon_id is not null) then
                perform renew_catalog_version('shared');
            end if;
            return null;
        end $$
        """
    )
    op.execute(
        """
        create function listing_has_changed() returns trigger language plpgsql as $$
        begin
            perform renew_product_versions(array[new.product_id]);
            return null;
        end $$
        """
    )
    op.execute(
        """
        create function stock_has_changed() returns trigger language plpgsql as $$
        begin
            perform renew_product_versions(
                array(select product_id from variants where id in (old.variant_id, new.variant_id))
            );
            return null;
        end $$
        """
    )


def downgrade() -> None:
    for table in ("listings", "stock_items"):
        op.execute(f"drop trigger product_has_changed on {table}")
    for event in _EVENTS:
        for table in _SHARED_TABLES:
            op.execute(f"drop trigger shared_rows_have_changed_on_{event} on {table}")
        for table in _FACET_TABLES:
            op.execute(f"drop trigger facets_have_changed_on_{event} on {table}")
        for table in (*_COLUMNS, "images", "listings", "stock_items"):
            op.execute(f"drop trigger if exists products_have_changed_on_{event} on {table}")
    for name in ("stock_has_changed", "listing_has_changed", "images_have_changed", "products_have_changed"):
        op.execute(f"drop function {name}()")
    op.execute("drop function renew_product_versions(uuid[])")
    op.execute("drop function catalog_rows_have_changed()")
    op.execute("drop function renew_catalog_version(text)")
    op.drop_table("product_versions")
    for name in ("shared", "facets"):
        op.drop_column("catalog_versions", name)
