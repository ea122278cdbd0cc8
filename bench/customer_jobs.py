"""Erasing, exporting and merging customers with 10,000 orders, in a shop with 100,000 others, beside shoppers."""

import asyncio
import re
from collections.abc import Callable
from functools import partial

import asyncpg

from bench.catalog_data import fill_catalog
from bench.dashboard import create_operator, fill_orders, wait_until_filled
from bench.load_test import Server, run_sql
from bench.long_jobs import Job, JobFigures, OperatorClient, say_figures, watch
from bench.rounds import Bench, console

ORDERS = 10_000
"""Of a customer; the one that is merged has a tenth, which is the most that a merge moves."""
NAMES = ("erased", "survivor", "duplicate")
_CUSTOMERS = """
insert into users (id, email, email_key, verified_at, created_at, updated_at)
select uuidv7(), name || '@example.org', name || '@example.org', now(), now(), now()
from unnest(array['erased', 'survivor', 'duplicate']) name;
update orders set user_id = u.id, email = u.email, payment_state = 'paid', shipment_state = 'shipped'
from made join (select *, row_number() over (order by id) as place from users) u on u.place = 1 + made.n / {count}
where made.order_id = orders.id and made.n < 2 * {count} + {count} / 10;
insert into payment_methods (id, name, type, created_at, updated_at) values (uuidv7(), 'Check', 'check', now(), now());
insert into payments (id, order_id, payment_method_id, number, state, amount, captured_amount, created_at, updated_at)
select uuidv7(), o.id, (select id from payment_methods where name = 'Check'), 'P' || o.number, 'completed', total, total,
    completed_at, completed_at from orders o where user_id is not null;
insert into outbox_mails (id, kind, recipient, ref_id, not_after, next_at, created_at, sent_at)
select uuidv7(), 'order_confirmation', email, id, now(), now(), now(), now() from orders;
insert into events (id, type, occurred_at, actor_kind, subject_type, subject_id, row, links, position)
select uuidv7(), 'order.updated', now(), 'shop', 'order', o.id, to_jsonb(o), '{{}}', row_number() over ()
from orders o cross join generate_series(1, 3);
insert into events (id, type, occurred_at, actor_kind, subject_type, subject_id, row, links, position)
select uuidv7(), 'address.updated', now(), 'shop', 'address', a.id, to_jsonb(a), '{{}}',
    (select count(*) from events) + row_number() over () from addresses a;
update event_counters set last_position = (select max(position) from events);
update stock_items set count_on_hand = 1000000
"""


def customer_job_tables(bench: Bench, make_url: Callable[[str], str], count: int = ORDERS) -> None:
    url = make_url("shop_customer_jobs")
    with console.status(f"making {13 * count:,} orders"):
        fill_catalog(url, 200)
        fill_orders(url, 13 * count)
        run_sql(url, *_CUSTOMERS.format(count=count).split(";"), "vacuum analyze", "select 1")
    shop, secret = bench.shop(url, "customer_jobs"), create_operator(url)
    with console.status("indexing the orders"):
        wait_until_filled(url)
    say_figures(bench, asyncio.run(_run_jobs(shop, url, secret, count)))
    shop.stop()


async def _run_jobs(shop: Server, url: str, secret: str, count: int) -> dict[str, JobFigures]:
    connection = await asyncpg.connect(url)
    ids = {row["email"].partition("@")[0]: row["id"] for row in await connection.fetch("select id, email from users")}
    await connection.close()
    operator, rows = OperatorClient(shop, secret), {}
    paths = {name: f"/admin/customers/{ids[name]}" for name in NAMES}
    jobs: dict[str, Job] = {
        f"export of a customer with {count:,} orders": partial(operator.get, f"{paths['survivor']}/export"),
        f"merge of a customer with {count // 10:,} orders into this one": partial(_merge, operator, paths["survivor"]),
        f"erasure of a customer with {count:,} orders": partial(_erase, operator, url, paths["erased"]),
    }
    for name, job in jobs.items():
        with console.status(name):
            rows[name] = await watch(shop, url, job)
    await operator.close()
    return rows


async def _merge(operator: OperatorClient, path: str) -> None:
    fields = {"email": "duplicate@example.org"}
    preview = await operator.post(f"{path}/merge", fields)
    match = re.search(r'name="seen" value="([^"]+)"', preview.text)
    response = await operator.post(f"{path}/merge", {**fields, "seen": match[1] if match else ""})
    if response.status_code != 303:
        raise SystemExit("bench: the customers were not merged")


async def _erase(operator: OperatorClient, url: str, path: str) -> None:
    """Erases a customer, and waits until the worker has erased the last order."""
    await operator.post(f"{path}/erase", {"email": "erased@example.org"})
    connection = await asyncpg.connect(url)
    while await connection.fetchval("select count(*) from erasures, pg_sleep(0.05) where ended_at is null"):
        pass
    await connection.close()
