"""The daily figures of reports agree with the orders, whatever happens to the processes that calculate them."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.admin.dashboard import new_dashboard
from tests.admin.drafts.builders import CASH, new_ready_draft
from tests.admin.operations.report_shop import ReportShop, locked_table
from tests.builders import Make
from tests.checkout_builders import new_checkout_setup
from tests.cli.command import Command
from tests.concurrency import wait_for_locks
from tests.db.processes import kill, serving, session_pids
from tests.platform.client import new_machine
from tests.service import KEYS

MANIPULATIONS = {
    "sales_days": "update sales_days set total = total + 1",
    "product_days": "delete from product_days",
    "adjustment_days": "insert into adjustment_days values (current_date - 1, 'USD', 'tax_rate', 'VAT', 'DE', 1, 1, 1)",
    "payment_days": "update payment_days set currency = 'EUR'",
    "refund_days": "insert into refund_days values (current_date, 'USD', gen_random_uuid(), 'x', false, 1, 1)",
}


def run_verify(shop: Command, url: str, tmp_path: Path) -> Any:
    return shop("verify", SHOP_DATA_DIR=str(tmp_path), SHOP_DATABASE_URL=url, SHOP_SECRET_KEYS=KEYS)


@pytest.mark.torture
async def test_two_processes_count_every_order_once(report_shop: ReportShop, shop: Command, tmp_path: Path) -> None:
    mug = await report_shop.setup.product(on_hand=100)
    orders = await asyncio.gather(*(report_shop.buy((mug, 1), email=f"{n}@example.org") for n in range(8)))
    await asyncio.gather(*(report_shop.machine.patch(f"/orders/{order.id}/cancel", {}) for order in orders[:2]))

    figures = await report_shop.figures(period="today")

    assert (figures["Orders"], figures["Revenue"], figures["New customers"]) == ("6", "$90.00", "6")
    result = run_verify(shop, report_shop.url, tmp_path)
    assert "ok    figures of reports" in result.stdout, result.stdout


@pytest.mark.torture
async def test_a_draft_counts_once_it_is_placed(report_shop: ReportShop, shop: Command, tmp_path: Path) -> None:
    await report_shop.buy((await report_shop.setup.product(), 1))
    draft, _ = await new_ready_draft(report_shop.dashboard, report_shop.setup)
    await draft.save("discount", kind="percent", value="10", reason="Loyal customer")
    await report_shop.rebuild()

    before = await report_shop.figures(period="today")
    placed = await draft.place(CASH)
    await report_shop.rebuild()
    after = await report_shop.figures(period="today")

    assert placed.status_code == 303, placed.text
    assert (before["Orders"], before["Conversion"]) == ("1", "100.0%")
    assert (after["Orders"], after["Conversion"], after["Revenue"]) == ("2", "100.0%", "$38.00")
    result = run_verify(shop, report_shop.url, tmp_path)
    assert result.returncode == 0, result.stdout


async def test_verify_finds_every_wrong_figure(report_shop: ReportShop, shop: Command, tmp_path: Path) -> None:
    mug = await report_shop.setup.product()
    await report_shop.buy((mug, 1))
    await report_shop.db.execute("update orders set created_at = created_at - interval '3 days'")
    await report_shop.rebuild()
    right = run_verify(shop, report_shop.url, tmp_path)
    for statement in MANIPULATIONS.values():
        await report_shop.db.execute(statement)

    wrong = run_verify(shop, report_shop.url, tmp_path)

    assert "ok    figures of reports" in right.stdout, right.stdout
    assert wrong.returncode == 1
    assert "FAIL  figures of reports" in wrong.stdout
    assert {name for name in MANIPULATIONS if f"{name} has" in wrong.stdout} == set(MANIPULATIONS), wrong.stdout


@pytest.mark.torture
async def test_verify_leaves_out_days_that_are_not_calculated_yet(
    report_shop: ReportShop, shop: Command, tmp_path: Path
) -> None:
    mug = await report_shop.setup.product()
    await report_shop.rebuild()
    async with locked_table(report_shop.url, "product_days"):
        await report_shop.buy((mug, 1))
        result = run_verify(shop, report_shop.url, tmp_path)
    await report_shop.catch_up()

    assert "ok    figures of reports" in result.stdout, result.stdout


@pytest.mark.torture
async def test_a_killed_process_loses_and_repeats_no_order(own_data_dir: Callable[[], tuple[Path, str]]) -> None:
    data_dir, url = own_data_dir()
    environ = {"SHOP_DATA_DIR": str(data_dir), "SHOP_SECRET_KEYS": KEYS, "SHOP_DRAIN_SECONDS": "0"}
    db = await asyncpg.connect(url)
    with serving(**environ) as service:
        async with service.client() as http:
            setup = await new_checkout_setup(Make(await new_machine(http, db)))
            report_shop = ReportShop(service, url, http, db, await new_dashboard(http, db), setup)
            mug = await setup.product()
            await report_shop.buy((mug, 1))
            await report_shop.catch_up()
            async with locked_table(url, "refund_days"):
                await report_shop.buy((mug, 2))
                # The worker has read the event and deleted rows of the day, and waits within its transaction.
                await wait_for_locks(db, 1)
                kill(*session_pids(service.process.pid))
    before = await db.fetchval("select sum(orders) from sales_days")
    with serving(**environ) as service:
        async with service.client() as http:
            report_shop = ReportShop(service, url, http, db, await new_dashboard(http, db), setup)
            figures = await report_shop.figures(period="today")
    await db.close()

    assert before == 1
    assert (figures["Orders"], figures["Revenue"]) == ("2", "$40.00")
