"""`shop verify` finds no problem in a consistent shop, and names whatever a direct change of the database broke."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import httpx2
import pytest

from shop.queries.operations.verify import _CHECKS, NAMES
from tests.builders import Make
from tests.checkout_builders import Buyer, new_checkout_setup
from tests.cli.command import Command
from tests.platform.client import new_machine
from tests.promotion_builders import TENTH, create_promotion
from tests.service import KEYS, Service


class SampleShop:
    """A separate shop with one completed order and one canceled order."""

    def __init__(self, url: str, db: Any, order_id: UUID) -> None:
        self.url, self.db, self.order_id = url, db, order_id


@pytest.fixture
async def sample_shop(own_data_dir: Callable[[], tuple[Path, str]]) -> Any:
    data_dir, url = own_data_dir()
    service = Service(SHOP_DATA_DIR=str(data_dir), SHOP_SECRET_KEYS=KEYS, SHOP_DRAIN_SECONDS="0")
    db = await asyncpg.connect(url)
    try:
        async with service.client() as http:
            order_id = await buy(http, db)
        yield SampleShop(url, db, order_id)
    finally:
        await db.close()
        service.stop()


async def buy(http: httpx2.AsyncClient, db: Any) -> UUID:
    machine = await new_machine(http, db)
    checkout_setup = await new_checkout_setup(Make(machine))
    mug = await checkout_setup.product(on_hand=9)
    orders = []
    deal = await create_promotion(checkout_setup.make, TENTH, is_automatic=False, usage_limit=5)
    batch = {"promotion_id": deal.id, "name": "Letters", "codes_count": 2}
    await checkout_setup.make.new("coupon_batches", "coupon_batch", **batch)
    user = (await machine.post("/users", {"user": {"email": "ada@example.org"}})).id
    await checkout_setup.make.new(
        "store_credits", "store_credit", user_id=user, amount="9", currency="USD", memo="Sorry"
    )
    for (code,) in await db.fetch("select code from coupon_codes"):
        buyer = Buyer(http, checkout_setup)
        cart = await buyer.add_items((mug, 2))
        await db.execute("update orders set user_id = $1 where id = $2", user, cart.id)
        assert (await buyer.patch("/cart/apply_coupon_code", coupon_code=code)).status == 200
        await buyer.enter_address()
        credit_response = await machine.patch(f"/orders/{cart.id}/use_store_credit", {"amount": "3.00"})
        assert credit_response.status == 200, credit_response
        await buyer.pay()
        order = await machine.patch(f"/orders/{cart.id}/complete", {})
        assert order.status == 200, order
        orders.append(order)
    canceled_order = await machine.patch(f"/orders/{orders[1].id}/cancel", {})
    assert (canceled_order.status, canceled_order["state"], canceled_order["payment_state"]) == (
        200,
        "canceled",
        "void",
    ), canceled_order
    return UUID(orders[0].id)


def run_verify(shop: Command, sample_shop: SampleShop, tmp_path: Path) -> Any:
    return shop("verify", SHOP_DATA_DIR=str(tmp_path), SHOP_DATABASE_URL=sample_shop.url, SHOP_SECRET_KEYS=KEYS)


CORRUPTIONS = {
    "items of orders": "update line_items set price = price + 1 where order_id = $1",
    "shipping of orders": "update shipments set cost = cost + 1 where order_id = $1",
    "frozen totals": "update orders set item_total = item_total + 1, total = total + 1 where id = $1",
    "payments of orders": "update orders set payment_total = 0 where id = $1",
    "refunds of payments": "update payments set refunded_amount = 1 where order_id = $1",
    "paid orders": "update payments set state = 'failed' where order_id = $1",
    "payments without an order": "update orders set completed_at = null where id = $1",
    "stock counts": "update stock_items set count_on_hand = count_on_hand + 1 where $1::uuid is not null",
    "stock of orders": "update shipment_items set quantity = quantity + 1 where order_id = $1",
    "item counts of orders": "update orders set item_count = item_count + 1 where id = $1",
    "lines of shipments": "delete from shipment_items where order_id = $1",
    "invoice numbers": "insert into invoice_counters (series, last_number) select 'V', 1 where $1::uuid is not null",
    "adjustment_total of orders": "update line_items set adjustment_total = 1 where order_id = $1",
    "uses of promotions": "update promotions set uses = 2 where $1::uuid is not null",
    "promotions of orders": "delete from promotion_uses where order_id = $1",
    "coupon codes": "delete from promotion_uses where order_id = $1",
    "adjustments of orders": "update adjustments set amount = amount - 1 where order_id = $1",
    "store credit": "delete from store_credit_events where order_id = $1",
    "payments with store credit": "delete from store_credit_events where order_id = $1",
    "holds": "insert into stock_holds (id, order_id, stock_item_id, quantity, expires_at) "
    "select gen_random_uuid(), $1, id, 1, now() from stock_items limit 1",
    "lookups of orders": "update order_lookups set payment_state = 'failed' where order_id = $1",
    # Bypasses the trigger that would correct it.
    "hours of orders": "update orders set updated_hour = updated_hour - 1 "
    "where id = $1 and set_config('session_replication_role', 'replica', true) <> ''",
    "lookups of stock": "update stock_levels set count_on_hand = -1 where $1::uuid is not null",
    "lookups of sales": "update listing_sales set sold_count = 99 where $1::uuid is not null",
    "lookups of attempts": "insert into unsettled_attempts (attempt_id, payment_id) "
    "select id, payment_id from payment_attempts where order_id = $1 limit 1",
    "archived orders": "insert into archived_orders (id, number, currency, created_at, updated_at, completed_at,"
    " object_name, position, size, encryption_key, archived_at) select id, number, currency, created_at, updated_at,"
    " completed_at, 'orders-1', 0, 1, '', now() from orders where id = $1",
}


async def test_verify_reports_every_inconsistency_and_nothing_else(
    sample_shop: SampleShop, shop: Command, tmp_path: Path
) -> None:
    right = run_verify(shop, sample_shop, tmp_path)
    findings = {name: await findings_after(sample_shop, name) for name in CORRUPTIONS}
    await sample_shop.db.execute(CORRUPTIONS["stock counts"], sample_shop.order_id)
    await sample_shop.db.execute("update orders set payment_state = 'balance_due' where id = $1", sample_shop.order_id)
    wrong = run_verify(shop, sample_shop, tmp_path)

    assert (right.returncode, "No problems found." in right.stdout) == (0, True), right.stdout
    assert [name for name, (before, after) in findings.items() if before or not after] == []
    assert wrong.returncode == 1
    for words in (
        "FAIL  stock counts",
        "but the sum of its movements is",
        "FAIL  payment states of orders",
        "payment_state is balance_due, but its payments give paid",
        "2 problems found.",
    ):
        assert words in wrong.stdout


def test_every_check_has_a_corruption() -> None:
    # Discounts and taxes are summed as adjustments are.
    sums = {f"{each} of orders" for each in ("promo_total", "included_tax_total", "additional_tax_total")}
    assert set(NAMES) - sums == CORRUPTIONS.keys()


async def test_the_migration_corrects_stored_payment_states(sample_shop: SampleShop) -> None:
    migration = import_module("shop.migrations.versions.0011_payment_states")
    state = "select payment_state from orders where id = $1"
    states = []
    for is_captured, refunded_amount, payment in (
        (True, 1, "completed"),
        (True, 2300, "completed"),
        (False, 0, "void"),
    ):
        async with temporary_changes(sample_shop.db):
            await sample_shop.db.execute("delete from refunds where order_id = $1", sample_shop.order_id)
            await sample_shop.db.execute(
                """update payments set state = $3, refunded_amount = least(captured_amount, $2),
                captured_amount = case when $4 then captured_amount else 0 end where order_id = $1""",
                *(sample_shop.order_id, refunded_amount, payment, is_captured),
            )
            await sample_shop.db.execute(
                "update orders set payment_state = 'balance_due' where id = $1", sample_shop.order_id
            )
            await sample_shop.db.execute(migration.CORRECTION)
            states.append(await sample_shop.db.fetchval(state, sample_shop.order_id))

    assert states == ["paid", "void", "failed"]


async def findings_after(sample_shop: SampleShop, name: str) -> tuple[list[Any], list[Any]]:
    """The findings of a check before and after a corruption, which is then rolled back."""
    check = _CHECKS[name]
    async with temporary_changes(sample_shop.db):
        before = await sample_shop.db.fetch(check.sql, *check.arguments({}))
        await sample_shop.db.execute(CORRUPTIONS[name], sample_shop.order_id)
        return list(before), list(await sample_shop.db.fetch(check.sql, *check.arguments({})))


@asynccontextmanager
async def temporary_changes(db: Any) -> AsyncIterator[None]:
    transaction = db.transaction()
    await transaction.start()
    try:
        yield
    finally:
        await transaction.rollback()
