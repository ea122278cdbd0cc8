"""Rows of the tables that no platform resource writes."""

from typing import Any

_STAMPS = "now(), now()"
ANSWERED_ROWS = (
    "insert into webhook_deliveries"
    " (id, endpoint_id, event_id, event_type, occurred_at, position, subject_id, state, created_at)"
    " select gen_random_uuid(), webhook_endpoints.id, gen_random_uuid(), 'order.updated', now(), 1, gen_random_uuid(),"
    " 'succeeded', now() from webhook_endpoints limit 1",
    "insert into webhook_attempts (id, delivery_id, number, status, milliseconds, response, created_at)"
    " select gen_random_uuid(), id, 1, 200, 12, 'ok', now() from webhook_deliveries limit 1",
)
"""Rows that the Platform API shows."""
_ORDER = "(select id from orders where completed_at is not null order by id limit 1)"
_CART = "(select id from orders where completed_at is null order by id limit 1)"
_USER = "(select id from users order by id limit 1)"
_VARIANT = "(select id from variants order by id limit 1)"
_OPERATOR = "(select id from operators limit 1)"
_TRICKY = r"""E'tab\t line\n quote" back\\slash \\N {a,b} \u00e9\U0001F600'"""
"""A text with every character that the format of the file or of the database treats in a special way."""
OTHER_ROWS = (
    "insert into operators (id, email, email_key, password_hash, totp_sealed, created_at, updated_at)"
    rf" values (gen_random_uuid(), 'o@example.org', 'o@example.org', 'hash', '\x00ff5c', {_STAMPS})",
    "insert into operator_passkeys (id, operator_id, name, credential_id, public_key, rp_id, created_at)"
    r" select gen_random_uuid(), id, 'Key', '\x01', '\x02', 'localhost', now() from operators limit 1",
    "insert into operator_recovery_codes (hash, operator_id, created_at)"
    r" select '\x03', id, now() from operators limit 1",
    f"insert into merged_addresses values (gen_random_uuid(), {_USER}, 'old@example.org', now())",
    "insert into customer_merges (id, duplicate_id, survivor_id, order_count, created_at)"
    f" values (gen_random_uuid(), {_USER}, {_USER}, 1, now())",
    "insert into erasures (id, user_id, order_count, created_at, ended_at)"
    f" values (gen_random_uuid(), {_USER}, 0, {_STAMPS})",
    "insert into archived_orders (id, number, currency, created_at, updated_at, completed_at, object_name, position,"
    r" size, encryption_key, archived_at)"
    rf" values (gen_random_uuid(), 'R0', 'USD', {_STAMPS}, now(), 'orders-1', 0, 9, '\x00ff', now())",
    "insert into frozen_days (day) values ('2020-01-01')",
    "insert into product_slugs (slug, product_id, created_at) select 'old-' || slug, id, now() from products limit 1",
    "insert into stock_thresholds (stock_item_id, low_at) select id, 3 from stock_items limit 1",
    "insert into stock_deliveries (id, reference, stock_location_id, expected_on, created_at, updated_at)"
    f" select gen_random_uuid(), {_TRICKY}, id, '2030-02-28', {_STAMPS} from stock_locations limit 1",
    "insert into stock_delivery_lines (id, delivery_id, variant_id, quantity, created_at, updated_at)"
    f" select gen_random_uuid(), id, {_VARIANT}, 2, {_STAMPS} from stock_deliveries limit 1",
    f"insert into restocked_variants (variant_id, created_at) values ({_VARIANT}, now())",
    "insert into csv_imports (id, kind, format, headers, operator_id, state, leased_until, created_at, updated_at)"
    f" values (gen_random_uuid(), 'stock', 'shop', array['sku', {_TRICKY}, ''], {_OPERATOR}, 'done', now(), {_STAMPS})",
    r"insert into csv_import_chunks (import_id, number, data) select id, 0, decode(repeat('00ff5c0a09', 99), 'hex')"
    " from csv_imports limit 1",
    "insert into product_batches (id, operator_id, label, operation, product_ids, state, created_at, updated_at)"
    f" values (gen_random_uuid(), {_OPERATOR}, 'x', jsonb_build_object('a', {_TRICKY}, 'n', 12345678901234567890.10),"
    f" array[gen_random_uuid(), gen_random_uuid()], 'done', {_STAMPS})",
    "insert into product_batch_edits (id, batch_id, owner_id, cell, before, after, created_at)"
    " select gen_random_uuid(), id, gen_random_uuid(), 'name', 'a', 'b', now() from product_batches limit 1",
    "insert into extension_listeners (id, extension, name, position, leased_until, created_at, updated_at)"
    f" values (gen_random_uuid(), 'gone', 'orders', 3, now(), {_STAMPS})",
    "insert into extension_webhooks"
    " (id, extension, provider_type, reference, data, next_at, leased_until, created_at, updated_at)"
    f" values (gen_random_uuid(), 'gone', 'x_gone_pay', 'evt_1', '{{\"a\": 1}}', now(), now(), {_STAMPS})",
    f"insert into abandoned_carts (order_id, created_at) values ({_CART}, now())",
    "insert into loose_addresses (address_id) values (gen_random_uuid())",
    "insert into payment_notices (id, payment_method_id, reference, created_at)"
    " select gen_random_uuid(), id, 'evt_1', now() from payment_methods limit 1",
    "insert into refund_items (id, order_id, refund_id, line_item_id, quantity, amount, created_at)"
    " select gen_random_uuid(), refunds.order_id, refunds.id, line_items.id, 1, 0, now() from refunds"
    " join line_items on line_items.order_id = refunds.order_id limit 1",
    "insert into refund_requests (id, order_id, requester_id, reason, amount, created_at, updated_at)"
    f" values (gen_random_uuid(), {_ORDER}, {_OPERATOR}, {_TRICKY}, 100, {_STAMPS})",
    "insert into invoice_counters (series, last_number) values ('2030', 1)",
    "insert into invoices (id, order_id, kind, series, running_number, number, currency, total, content, actor_kind,"
    f" issued_at) values (gen_random_uuid(), {_ORDER}, 'invoice', '2030', 1, '2030-1', 'USD', 100, '{{}}', 'user',"
    " now())",
    "insert into order_notes (id, order_id, author_id, kind, text, file, created_at, updated_at)"
    rf" values (gen_random_uuid(), {_ORDER}, {_OPERATOR}, 'note', {_TRICKY}, '\x255044', {_STAMPS})",
    f"insert into drafts (order_id, created_at) values ({_CART}, now())",
    "insert into draft_discounts (id, order_id, kind, value, reason, created_at)"
    f" values (gen_random_uuid(), {_CART}, 'percent', 10, 'loyal', now())",
    "insert into stock_holds (id, order_id, stock_item_id, quantity, expires_at)"
    f" select gen_random_uuid(), {_CART}, id, 1, now() + interval '1 hour' from stock_items limit 1",
)
"""Rows that the Platform API does not show, or that the worker would process."""


async def insert_rows(db: Any, statements: tuple[str, ...]) -> None:
    for statement in statements:
        assert (await db.execute(statement)).endswith("1"), statement


async def copy_rows(source: Any, target: Any, table: str) -> None:
    rows = [row[0] for row in await source.fetch(f"select row_to_json({table})::text from {table}")]
    for row in rows:
        await target.execute(f"insert into {table} select * from json_populate_record(null::{table}, $1)", row)
