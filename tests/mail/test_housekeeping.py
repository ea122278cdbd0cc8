"""Housekeeping deletes old rows while the shop runs, and no others."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import asyncpg
import pytest

from shop.actions.access.login import UserNames, request_code
from shop.actions.catalog.products import update_due_products
from shop.actions.context import Context, Shared
from shop.actions.operations.housekeeping import BATCH, run_housekeeping
from shop.actions.payments.settlement import settle_stale_attempts
from shop.base.config.settings import read_settings
from shop.base.crypto.keys import parse_keys
from shop.base.email import read_email
from shop.db.pool import Database, DatabaseSession, open_database
from shop.db.statements import Statement
from shop.gateways.mail import Mail
from shop.models.setup.shop import Shop
from shop.worker import work
from tests.db.processes import until
from tests.service import KEYS
from tests.wishlists import add_lists

R = TypeVar("R")
CART = """insert into orders (id, number, currency, created_at, updated_at, completed_at, user_id)
    values ($1, $2, 'USD', $3, $3, $4, $5)"""
USER = "insert into users (id, email, email_key, verified_at, created_at, updated_at) values ($1, $2, $2, $3, $4, $4)"


@pytest.fixture
async def housekeeping_setup(own_database: Callable[..., str]) -> AsyncIterator[tuple[Shared, Any]]:
    """A shop's database without another housekeeper, and a connection to it."""
    url = own_database()
    database = open_database(url, size=4)
    db = await asyncpg.connect(url)
    yield Shared(database, parse_keys(KEYS), Shop(currencies=["USD"]), read_settings({}), asyncio.Event()), db
    await db.close()
    await database.close()


async def ago(db: Any, days: float) -> Any:
    return await db.fetchval("select now() - interval '1 day' * $1", days)


@pytest.mark.security("C-05")
async def test_only_idle_guest_carts_are_deleted(housekeeping_setup: tuple[Shared, Any]) -> None:
    shared, db = housekeeping_setup
    old, new, user = await ago(db, 31), await ago(db, 29), uuid.uuid4()
    await db.execute(USER, user, "a@example.com", new, new)
    rows = {
        "idle": (old, None, None),
        "fresh": (new, None, None),
        "bought": (old, old, None),
        "owned": (old, None, user),
    }
    for name, row in {**rows, "draft": (old, None, None)}.items():
        await db.execute(CART, uuid.uuid4(), name, *row)
    await db.execute("update orders set author_id = $1 where number = 'draft'", uuid.uuid4())

    counts = (await run_housekeeping(shared)).removed

    assert counts == {"idle guest carts": 1}
    assert {row[0] for row in await db.fetch("select number from orders")} == {"fresh", "bought", "owned", "draft"}


async def test_unverified_users_are_deleted_after_a_week(housekeeping_setup: tuple[Shared, Any]) -> None:
    shared, db = housekeeping_setup
    for name, verified_days, days in (("stale", None, 8), ("young", None, 6), ("real", 8, 8)):
        user = uuid.uuid4()
        await db.execute(USER, user, name, verified_days and await ago(db, verified_days), await ago(db, days))
        await add_lists(db, user, 1)

    await run_housekeeping(shared)

    assert {row[0] for row in await db.fetch("select email from users")} == {"young", "real"}
    assert await db.fetchval("select count(*) from wishlists") == 2


async def test_disabled_users_and_users_with_orders_or_store_credit_are_retained(
    housekeeping_setup: tuple[Shared, Any],
) -> None:
    shared, db = housekeeping_setup
    old, buyer, creditor = await ago(db, 8), uuid.uuid4(), uuid.uuid4()
    for name, user in (("stale", uuid.uuid4()), ("disabled", uuid.uuid4()), ("buyer", buyer), ("owed", creditor)):
        await db.execute(USER, user, name, None, old)
    await db.execute(
        "insert into store_credits (id, user_id, currency, amount, memo, actor_kind, created_at, updated_at) "
        "values (gen_random_uuid(), $1, 'USD', 500, 'Late delivery', 'operator', now(), now())",
        creditor,
    )
    await db.execute("update users set disabled_at = now() where email = 'disabled'")
    await db.execute(CART, uuid.uuid4(), "R1", old, old, buyer)

    counts = (await run_housekeeping(shared)).removed

    assert counts == {"unverified users": 1}
    assert {row[0] for row in await db.fetch("select email from users")} == {"disabled", "buyer", "owed"}


class Aging(NamedTuple):
    """How to insert a row of one kind that ages from $1, and the days after which it is deleted."""

    table: str
    since: str
    days: float
    insert: str


AGING = {
    "login requests": Aging(
        "login_requests",
        "expires_at",
        1,
        """insert into login_requests (id, email_key, email, key_id, nonce, is_long, attempts, created_at, expires_at)
        values (gen_random_uuid(), gen_random_uuid()::text, 'a@b.example', 't1', '', false, 0, $1, $1)""",
    ),
    "access tokens": Aging(
        "access_tokens",
        "expires_at",
        1,
        """insert into access_tokens (hash, session_id, refresh_hash, created_at, expires_at)
        select uuid_send(gen_random_uuid()), id, '', $1, $1 from sessions""",
    ),
    "mails": Aging(
        "outbox_mails",
        "created_at",
        30,
        """insert into outbox_mails (id, kind, recipient, ref_id, not_after, attempts, next_at, created_at)
        values (gen_random_uuid(), 'login_code', 'a@b.example', gen_random_uuid(), $1, 0, $1, $1)""",
    ),
    "idempotency keys": Aging(
        "idempotency_keys",
        "expires_at",
        0,
        """insert into idempotency_keys (scope, key, fingerprint, created_at, expires_at)
        values ('', uuid_send(gen_random_uuid()), '', $1, $1)""",
    ),
    "counts": Aging(
        "rate_counts",
        "window_start",
        1.5,
        "insert into rate_counts values (uuid_send(gen_random_uuid()), 43200, $1, 1)",
    ),
}


@pytest.mark.parametrize("kind", AGING)
async def test_expired_rows_are_deleted_and_others_retained(housekeeping_setup: tuple[Shared, Any], kind: str) -> None:
    (shared, db), aging = housekeeping_setup, AGING[kind]
    user, fresh = uuid.uuid4(), await ago(db, 0)
    await db.execute(USER, user, "a@example.com", fresh, fresh)
    await db.execute(
        "insert into sessions values ($1, $2, '', null, $3, $3, $3, $4)", uuid.uuid4(), user, fresh, await ago(db, -90)
    )
    old, recent = await ago(db, aging.days + 0.1), await ago(db, aging.days - 0.1)
    for since in (old, recent):
        await db.execute(aging.insert, since)

    counts = (await run_housekeeping(shared)).removed

    assert counts == {kind: 1}
    assert [row[0] for row in await db.fetch(f"select {aging.since} from {aging.table}")] == [recent]


async def test_a_count_since_the_last_success_is_retained_at_any_age(housekeeping_setup: tuple[Shared, Any]) -> None:
    shared, db = housekeeping_setup
    await db.execute("insert into rate_counts values ('a', 0, 'epoch', 7)")

    await run_housekeeping(shared)

    assert await db.fetchval("select count from rate_counts") == 7


@pytest.mark.security("X-09")
async def test_a_session_is_deleted_with_its_tokens_at_its_absolute_expiry_and_not_before(
    housekeeping_setup: tuple[Shared, Any],
) -> None:
    shared, db = housekeeping_setup
    user = uuid.uuid4()
    await db.execute(USER, user, "a@example.com", await ago(db, 1), await ago(db, 100))
    session = "insert into sessions values ($1, $2, '', null, $3, $3, $3, $4, $5, null)"
    token = "insert into refresh_tokens values ($1, $2, null, $3, $3, null, null)"
    for name, ends in ((b"over", 0.1), (b"revoked", -10), (b"live", -10)):
        session_id = uuid.uuid4()
        await db.execute(session, session_id, user, await ago(db, 90), await ago(db, ends), await ago(db, 50))
        await db.execute(token, name, session_id, await ago(db, 90))

    await run_housekeeping(shared)

    # The rotated tokens of a revoked session remain, so that their reuse is still detected.
    assert {row[0] for row in await db.fetch("select hash from refresh_tokens")} == {b"revoked", b"live"}


@pytest.mark.security("A-02")
async def test_audit_events_are_deleted_after_a_year_and_not_before(housekeeping_setup: tuple[Shared, Any]) -> None:
    shared, db = housekeeping_setup
    event = "insert into audit_events (id, at, actor_kind, action, outcome) values ($1, $2, 'guest', $3, 'done')"
    await db.execute(event, uuid.uuid4(), await ago(db, 366), "old")
    await db.execute(event, uuid.uuid4(), await ago(db, 364), "kept")

    await run_housekeeping(shared)

    assert [row[0] for row in await db.fetch("select action from audit_events")] == ["kept"]


@pytest.mark.security("X-09")
async def test_more_rows_than_a_batch_are_deleted_in_several_batches(housekeeping_setup: tuple[Shared, Any]) -> None:
    shared, db = housekeeping_setup
    await db.execute(OLD_COUNTS, BATCH * 2 + 5)

    counts = (await run_housekeeping(shared)).removed

    assert counts == {"counts": BATCH * 2 + 5}


EXPIRED_KEYS = """insert into idempotency_keys (scope, key, fingerprint, created_at, expires_at)
    select 'a', n::text::bytea, '', now(), now() - interval '1 day' from generate_series(1, $1) n"""
OLD_COUNTS = """insert into rate_counts
    select decode(md5(n::text), 'hex'), 60, now() - interval '3 days', 1 from generate_series(1, $1) n"""


@pytest.mark.security("X-19")
async def test_a_run_is_limited_only_by_its_time_budget(housekeeping_setup: tuple[Shared, Any]) -> None:
    """A limit of 20 batches of 1,000 rows in 5 minutes is too low for a shop that counts 100 requests a second."""
    shared, db = housekeeping_setup
    await db.execute(OLD_COUNTS, 30 * BATCH)

    run = await run_housekeeping(shared, budget=300)

    assert (run.removed, run.unfinished) == ({"counts": 30 * BATCH}, [])


@pytest.mark.security("X-19", "X-20")
async def test_every_kind_gets_a_batch_and_the_backlog_is_recorded(housekeeping_setup: tuple[Shared, Any]) -> None:
    shared, db = housekeeping_setup
    backlog = "select backlog from housekeeping_runs"
    await db.execute(OLD_COUNTS, 3 * BATCH)
    await db.execute(EXPIRED_KEYS, 2 * BATCH + 5)

    run = await run_housekeeping(shared, budget=0)

    assert run.removed == {"idempotency keys": BATCH, "counts": BATCH}
    assert run.unfinished == ["idempotency keys", "counts"]
    assert json.loads(await db.fetchval(backlog)) == {"idempotency keys": BATCH + 5, "counts": 2 * BATCH}
    assert (await run_housekeeping(shared)).removed == {"idempotency keys": BATCH + 5, "counts": 2 * BATCH}
    assert json.loads(await db.fetchval(backlog)) == {}


@pytest.mark.security("X-19")
async def test_a_kind_that_cannot_be_deleted_does_not_block_the_others(
    housekeeping_setup: tuple[Shared, Any],
) -> None:
    shared, db = housekeeping_setup
    await db.execute(OLD_COUNTS, 5)
    await db.execute(EXPIRED_KEYS, 5)
    async with db.transaction():
        await db.execute("lock table idempotency_keys in share mode")
        counts = (await run_housekeeping(shared)).removed

    assert counts == {"counts": 5}
    backlog = json.loads(await db.fetchval("select backlog from housekeeping_runs"))
    assert backlog == {"idempotency keys": 5}


async def test_a_cart_with_an_unsettled_payment_is_retained(housekeeping_setup: tuple[Shared, Any]) -> None:
    shared, db = housekeeping_setup
    old, order, method, payment, attempt = await ago(db, 31), *(uuid.uuid4() for _ in range(4))
    await db.execute(CART, order, "being paid", old, None, None)
    await db.execute(
        "insert into payment_methods (id, type, name, created_at, updated_at) values ($1, 'check', 'Check', $2, $2)",
        method,
        old,
    )
    await db.execute(
        """insert into payments (id, order_id, payment_method_id, number, amount, created_at, updated_at)
        values ($1, $2, $3, 'P1', 1, $4, $4)""",
        *(payment, order, method, old),
    )
    await db.execute(
        """insert into payment_attempts (id, order_id, payment_id, act, amount, created_at)
        values ($1, $2, $3, 'purchase', 1, $4)""",
        *(attempt, order, payment, old),
    )

    assert (await run_housekeeping(shared)).removed == {}
    await db.execute("update payment_attempts set outcome = 'declined', ended_at = now() where id = $1", attempt)
    assert (await run_housekeeping(shared)).removed == {"idle guest carts": 1}


@pytest.mark.security("X-19")
async def test_the_worker_continues_while_a_backlog_is_left(housekeeping_setup: tuple[Shared, Any]) -> None:
    """Otherwise the next run would begin a minute later."""
    shared, db = housekeeping_setup
    await db.execute(OLD_COUNTS, 2 * BATCH + 5)
    loop = asyncio.create_task(work(shared, UncancellableMailer(), housekeeping_seconds=0))

    async def is_clean() -> bool:
        return bool(await db.fetchval("select count(*) from rate_counts") == 0)

    await until(is_clean, 30)
    loop.cancel()
    await asyncio.wait([loop], timeout=10)


async def test_only_one_housekeeping_runs_at_a_time(housekeeping_setup: tuple[Shared, Any]) -> None:
    shared, db = housekeeping_setup
    await db.execute(CART, uuid.uuid4(), "idle", await ago(db, 31), None, None)
    async with db.transaction():
        await db.execute("select pg_advisory_xact_lock(7426732)")

        assert (await run_housekeeping(shared)).removed == {}

    assert (await run_housekeeping(shared)).removed == {"idle guest carts": 1}


async def test_locked_rows_are_left_for_the_next_run(housekeeping_setup: tuple[Shared, Any]) -> None:
    shared, db = housekeeping_setup
    for name in ("held", "free"):
        await db.execute(CART, uuid.uuid4(), name, await ago(db, 31), None, None)
    async with db.transaction():
        await db.execute("select 1 from orders where number = 'held' for update")
        counts = (await run_housekeeping(shared)).removed

    assert counts == {"idle guest carts": 1}
    assert [row[0] for row in await db.fetch("select number from orders")] == ["held"]


class UncancellableMailer:
    """A mailer that ignores a cancellation while it sends."""

    def __init__(self) -> None:
        self.has_begun = asyncio.Event()

    async def send(self, _mail: Mail) -> None:
        self.has_begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()


class CountingDatabase(Database):
    """Counts the polls for a mail."""

    polls = 0

    def session(self) -> DatabaseSession:
        return _CountingSession(self)


class _CountingSession(DatabaseSession):
    async def one(self, statement: Statement[R], **values: Any) -> R | None:
        if isinstance(self._database, CountingDatabase) and statement.sql.startswith(
            "UPDATE outbox_mails SET attempts"
        ):
            self._database.polls += 1
        return await super().one(statement, **values)


async def test_one_email_causes_at_most_two_polls(
    housekeeping_setup: tuple[Shared, Any],
) -> None:
    shared, mailer = housekeeping_setup[0], UncancellableMailer()
    shared.database = database = CountingDatabase(shared.database.connections)
    email = read_email("ada@shoppers.example")
    assert email
    await request_code(Context(shared), email, UserNames())
    shared.mail_queued.clear()
    loop = asyncio.create_task(work(shared, mailer))

    await mailer.has_begun.wait()

    polls = database.polls
    loop.cancel()
    await asyncio.wait([loop], timeout=10)
    assert polls in {1, 2}


@pytest.mark.torture
async def test_the_loop_ends_even_if_its_cancellation_was_suppressed(
    housekeeping_setup: tuple[Shared, Any],
) -> None:
    shared, mailer = housekeeping_setup[0], UncancellableMailer()
    email = read_email("ada@shoppers.example")
    assert email
    await request_code(Context(shared), email, UserNames())
    loop = asyncio.create_task(work(shared, mailer))
    await mailer.has_begun.wait()

    loop.cancel()
    finished_tasks, _ = await asyncio.wait([loop], timeout=10)
    loop.cancel()

    assert finished_tasks == {loop}


async def test_operator_sessions_are_deleted_after_a_year_and_links_a_day_after_expiry(
    housekeeping_setup: tuple[Shared, Any],
) -> None:
    shared, db = housekeeping_setup
    operator, year_old = uuid.uuid4(), await ago(db, 366)
    await db.execute(
        "insert into operators (id, email, email_key, role_id, created_at, updated_at) "
        "select $1, 'a@b.example', 'a', id, $2, $2 from roles where code = 'owner'",
        operator,
        year_old,
    )
    for at in (year_old, await ago(db, 364)):
        await db.execute(
            """insert into operator_sessions (id, hash, operator_id, source, created_at, seen_at, authenticated_at)
            values (gen_random_uuid(), $1, $2, '', $3, $3, $3)""",
            str(at).encode(),
            operator,
            at,
        )
    for at in (await ago(db, 1.1), await ago(db, 0.9)):
        await db.execute(
            "insert into operator_links (hash, created_at, expires_at) values ($1, $2, $2)", str(at).encode(), at
        )

    counts = (await run_housekeeping(shared)).removed

    assert counts == {"operators' sessions": 1, "operators' links": 1}
    assert await db.fetchval("select count(*) from operators") == 1


async def test_periodic_tasks_without_work_do_not_change_the_catalog_version(
    housekeeping_setup: tuple[Shared, Any],
) -> None:
    shared, db = housekeeping_setup
    version = "select sum(version) from catalog_versions"
    before = await db.fetchval(version)

    assert await update_due_products(shared) == 0
    await settle_stale_attempts(shared)
    await run_housekeeping(shared)

    assert await db.fetchval(version) == before


async def test_unused_cart_addresses_are_deleted_and_those_of_users_and_orders_retained(
    housekeeping_setup: tuple[Shared, Any],
) -> None:
    shared, db = housekeeping_setup
    old, user, country = await ago(db, 31), uuid.uuid4(), await db.fetchval("select id from countries where iso = 'US'")
    await db.execute(USER, user, "a@example.com", old, old)
    names = ("of an idle cart", "replaced", "replaced and a user's", "replaced and of an order", "current")
    rows = {name: uuid.uuid4() for name in names}
    insert = """insert into addresses
        (id, user_id, firstname, lastname, address1, city, country_id, created_at, updated_at)
        values ($1, $2, 'Ada', 'L', 'Street', $3, $4, $5, $5)"""
    for name, address_id in rows.items():
        await db.execute(insert, address_id, user if name.endswith("user's") else None, name, country, old)
    ship = "update orders set ship_address_id = $2 where number = $1"
    await db.execute(CART, uuid.uuid4(), "idle", old, None, None)
    await db.execute(ship, "idle", rows["of an idle cart"])
    await db.execute(CART, uuid.uuid4(), "bought", old, old, None)
    await db.execute(ship, "bought", rows["replaced and of an order"])
    await db.execute(CART, uuid.uuid4(), "open", await ago(db, 1), None, None)
    for name in names[1:]:
        await db.execute(ship, "open", rows[name])

    counts = (await run_housekeeping(shared)).removed

    assert counts == {"idle guest carts": 1, "loose addresses": 4}
    cities = {row[0] for row in await db.fetch("select city from addresses")}
    assert cities == set(rows) - {"of an idle cart", "replaced"}
    assert await db.fetchval("select count(*) from loose_addresses") == 0


@pytest.mark.security("H-11")
async def test_cards_of_deleted_carts_are_deleted_and_those_saved_or_of_orders_retained(
    housekeeping_setup: tuple[Shared, Any],
) -> None:
    shared, db = housekeeping_setup
    old, user, method, order = await ago(db, 31), uuid.uuid4(), uuid.uuid4(), uuid.uuid4()
    await db.execute(USER, user, "a@example.com", old, old)
    await db.execute(CART, order, "bought", old, old, None)
    await db.execute(
        "insert into payment_methods (id, type, name, created_at, updated_at) values ($1, 'check', 'Check', $2, $2)",
        method,
        old,
    )
    rows = {name: uuid.uuid4() for name in ("loose", "saved", "an order's", "fresh")}
    insert = """insert into payment_sources (id, user_id, payment_method_id, name, used_at, created_at, updated_at)
        values ($1, $2, $3, $4, $5, $6, $6)"""
    for name, source_id in rows.items():
        owner = (user, old) if name == "saved" else (None, None)
        at = await ago(db, 0.5) if name == "fresh" else old
        await db.execute(insert, source_id, owner[0], method, name, owner[1], at)
    await db.execute(
        """insert into payments (id, order_id, payment_method_id, source_id, number, amount, created_at, updated_at)
        values (gen_random_uuid(), $1, $2, $3, 'P1', 1, $4, $4)""",
        order,
        method,
        rows["an order's"],
        old,
    )

    counts = (await run_housekeeping(shared)).removed

    assert counts == {"cards of deleted carts": 1}
    assert {row[0] for row in await db.fetch("select name from payment_sources")} == set(rows) - {"loose"}
