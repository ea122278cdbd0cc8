"""Checkouts read the shop's setup from memory; a change of it is visible to the next request in every process."""

import asyncio
import io
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from contextvars import ContextVar
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import httpx2
import pytest
from sqlalchemy import Table
from sqlalchemy.sql.visitors import iterate

from shop.actions.context import Context
from shop.app.routes import all_routes
from shop.db.pool import DatabaseSession
from shop.db.rows import metadata
from shop.db.statements import Statement
from shop.web.endpoint import EndpointContext
from shop.web.log import configure_logging
from shop.web.router import Router
from tests.checkout_builders import Buyer, CheckoutSetup, country_id, new_checkout_setup
from tests.http_client import NO_CERTIFICATES
from tests.platform.client import operator_context

TRIGGERS = "select tgrelid::regclass::text, tgtype from pg_trigger where tgname = 'setup_has_changed'"
_IS_READING = ContextVar("is_reading", default=False)
_VERSION = "select array_agg(version order by id) from setup_versions"


@asynccontextmanager
async def open_workers(database_url: str, count: int) -> AsyncIterator[list[httpx2.AsyncClient]]:
    """Processes of one shop, each with its own memory."""
    configure_logging("error", "json", io.TextIOWrapper(io.BytesIO()))
    async with AsyncExitStack() as stack:
        clients = []
        for _ in range(count):
            ctx = await stack.enter_async_context(operator_context(database_url))
            router = Router(EndpointContext(ctx.shared), all_routes((), partial(getattr, ctx, "shared")))
            client = httpx2.AsyncClient(
                transport=httpx2.ASGITransport(router), base_url="http://127.0.0.1", verify=NO_CERTIFICATES
            )
            clients.append(await stack.enter_async_context(client))
        yield clients


@contextmanager
def record_setup_reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Statement[Any]]]:
    """The statements that read what is then kept in memory."""
    statements: list[Statement[Any]] = []
    run, read_setup = DatabaseSession._run, Context.read_setup

    def record(session: DatabaseSession, method: str, statement: Statement[Any], values: Mapping[str, Any]) -> Any:
        statements.extend([statement] if _IS_READING.get() else [])
        return run(session, method, statement, values)

    async def mark(ctx: Context, query: Any, *arguments: Any, **values: Any) -> Any:
        token = _IS_READING.set(True)
        try:
            return await read_setup(ctx, query, *arguments, **values)
        finally:
            _IS_READING.reset(token)

    with monkeypatch.context() as patch:
        patch.setattr(DatabaseSession, "_run", record)
        patch.setattr(Context, "read_setup", mark)
        yield statements


async def buy(buyer: Buyer, product: Any) -> None:
    await buyer.add_items((product, 1))
    await buyer.enter_address()
    rates = await buyer.get("/checkout/shipping_rates", include="shipping_rates.shipping_method")
    assert rates.status == 200
    payment = await buyer.post("/checkout/create_payment", payment_method_id=buyer.checkout_setup.check)
    assert payment.status == 201, payment
    order = await buyer.complete()
    assert order.status == 200, order


async def test_every_table_of_the_setup_changes_its_version(
    database_url: str, checkout_setup: CheckoutSetup, db: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    product = await checkout_setup.product()
    async with open_workers(database_url, 1) as (http,):
        with record_setup_reads(monkeypatch) as statements:
            await buy(Buyer(http, checkout_setup), product)
            first_count = len(statements)
            await buy(Buyer(http, checkout_setup), product)

    assert first_count == len(statements) > 5
    clauses = [part for each in statements for part in iterate(each._clause)]
    tables = {part.name for part in clauses if isinstance(part, Table)} & set(metadata.tables)
    triggers = dict(await db.fetch(TRIGGERS))
    assert tables == triggers.keys()
    # After every INSERT, DELETE, UPDATE and TRUNCATE, once for each statement.
    assert set(triggers.values()) == {4 + 8 + 16 + 32}


async def test_the_next_request_in_every_process_sees_a_changed_setup(database_url: str, make: Any, db: Any) -> None:
    """The changes are made with SQL, as by an import or another program."""
    setup = await new_checkout_setup(make)
    product = await setup.product("10.00", tax_category_id=await new_tax_category(make))

    async def read(http: httpx2.AsyncClient) -> tuple[Any, ...]:
        buyer = Buyer(http, setup)
        await buyer.add_items((product, 1))
        checkout = await buyer.enter_address()
        rates = await buyer.get("/checkout/shipping_rates")
        names = [each["attributes"]["name"] for each in rates.json["included"] if each["type"] == "shipping_rate"]
        payment = await buyer.post(
            "/checkout/create_payment?include=payments.payment_method", payment_method_id=setup.check
        )
        methods = [each["attributes"]["name"] for each in payment.json.get("included", ()) if "method" in each["type"]]
        return checkout["ship_total"], sorted(names), checkout["tax_total"], payment.status, methods

    async with open_workers(database_url, 2) as workers:
        for http in workers * 2:
            assert await read(http) == ("5.0", ["Express", "Post"], "0.0", 201, ["Check"])

        for change, expected in (
            (
                "update shipping_method_amounts set amount = 700 where shipping_method_id = $1 and currency = 'USD'",
                ("7.0", ["Express", "Post"], "0.0", 201, ["Check"]),
            ),
            (
                "update shipping_methods set name = 'Mail' where id = $1",
                ("7.0", ["Express", "Mail"], "0.0", 201, ["Check"]),
            ),
            (
                "update shipping_methods set deleted_at = now() where id = $1",
                ("9.0", ["Express"], "0.0", 201, ["Check"]),
            ),
        ):
            await db.execute(change, UUID(setup.post))
            for http in workers:
                assert await read(http) == expected, change
        rate_id = await new_tax_rate(make, setup, product)
        for http in workers:
            assert await read(http) == ("9.0", ["Express"], "1.0", 201, ["Check"])
        await db.execute("update tax_rates set amount = $2 where id = $1", UUID(rate_id), Decimal("0.2"))
        await db.execute("update payment_methods set name = 'Cheque' where id = $1", UUID(setup.check))
        for http in workers:
            assert await read(http) == ("9.0", ["Express"], "2.0", 201, ["Cheque"])
        await db.execute("update payment_methods set active = false where id = $1", UUID(setup.check))
        for http in workers:
            assert await read(http) == ("9.0", ["Express"], "2.0", 422, [])


async def new_tax_category(make: Any) -> str:
    return str((await make.new("tax_categories", "tax_category", name=f"Goods {uuid4()}")).id)


async def new_tax_rate(make: Any, setup: CheckoutSetup, product: Any) -> str:
    record = await make.machine.get(f"/products/{product.id}")
    category = record.json["data"]["relationships"]["tax_category"]["data"]["id"]
    fields = {"name": "Tax", "amount": "0.1", "zone_id": setup.zone, "tax_category_id": category}
    return str((await make.new("tax_rates", "tax_rate", **fields)).id)


async def test_a_change_that_is_rolled_back_is_not_kept(database_url: str, make: Any) -> None:
    setup = await new_checkout_setup(make)
    product = await setup.product("10.00")
    first, second = await asyncpg.connect(database_url), await asyncpg.connect(database_url)
    try:
        async with open_workers(database_url, 1) as (http,):
            for amount in (300, 600):
                change = "update shipping_method_amounts set amount = $2 where shipping_method_id = $1"
                transaction = first.transaction()
                await transaction.start()
                await first.execute(change, UUID(setup.post), amount)
                version = await first.fetchval(_VERSION)
                await transaction.rollback()
                await second.execute(change, UUID(setup.post), amount + 100)
                assert await second.fetchval(_VERSION) != version
                buyer = Buyer(http, setup)
                await buyer.add_items((product, 1))
                assert (await buyer.enter_address())["ship_total"] == f"{(amount + 100) // 100}.0"
    finally:
        await first.close()
        await second.close()


async def test_transactions_that_change_the_setup_do_not_wait_for_each_other(database_url: str, make: Any) -> None:
    """More of them than the version has parts; each commit changes the version."""
    country = await country_id(make, "US")
    connections = [await asyncpg.connect(database_url) for _ in range(7)]
    try:
        transactions = []
        for number, connection in enumerate(connections):
            await connection.execute("set lock_timeout = '1s'")
            transactions.append(connection.transaction())
            await transactions[-1].start()
            zone = (
                "insert into zones (id, name, created_at, updated_at) "
                "values (gen_random_uuid(), gen_random_uuid()::text, now(), now()) returning id"
            )
            zone_id = await connection.fetchval(zone)
            if number % 2:
                member = (
                    "insert into zone_members (id, zone_id, country_id, created_at, updated_at) "
                    "values (gen_random_uuid(), $1, $2, now(), now())"
                )
                await connection.execute(member, zone_id, UUID(country))
        observer = await asyncpg.connect(database_url)
        try:
            versions = [await observer.fetchval(_VERSION)]
            for transaction in reversed(transactions):
                await transaction.commit()
                versions.append(await observer.fetchval(_VERSION))
            assert len({tuple(version) for version in versions}) == len(connections) + 1
        finally:
            await observer.close()
    finally:
        await asyncio.gather(*(connection.close() for connection in connections))
