"""Every order is in the tables or in the archive, whenever the process that archives it is killed."""

import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest

from shop.actions.archive.contents import FILE
from tests.archive.conftest import ArchiveShop
from tests.service import clean_environ
from tests.shopper import Answer

KILLED_RUN = """
import os, signal, sys
from shop.actions.archive import archived_orders, contents
from shop.cli.main import main

def end(*_):
    os.kill(os.getpid(), signal.SIGKILL)

async def end_later(*_, **__):
    end()

match sys.argv.pop(1):
    case "before the object":
        archived_orders.write_object = end_later
    case "within the object":
        contents._chunks = lambda data: iter([data[:10]] + [end() for _ in "x"])
    case "after the object":
        archived_orders.queries.lock_finished = end_later
    case "within the transaction":
        archived_orders.audit = end_later
    case "after the transaction":
        archived_orders.queries.end_run = end_later
sys.argv[0] = "shop"
main()
"""
POINTS = (
    "before the object",
    "within the object",
    "after the object",
    "within the transaction",
    "after the transaction",
)


def start(program: str, *arguments: str, **settings: str) -> subprocess.Popen[str]:
    pipe, environ = subprocess.PIPE, clean_environ(**settings)
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.Popen(command, env=environ, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


async def read_everything(shop: ArchiveShop, orders: list[Answer]) -> list[object]:
    return [(await shop.machine.get(f"/orders/{order.id}?include=line_items,payments")).json for order in orders]


@pytest.mark.torture
async def test_a_killed_run_loses_and_duplicates_no_order(archive_shop: ArchiveShop) -> None:
    shop = archive_shop
    buyer = await shop.new_buyer()
    orders = [await shop.buy_and_ship(buyer) for _ in POINTS]
    await shop.age(*orders)
    answers = await read_everything(shop, orders)
    for point in POINTS:
        process = start(KILLED_RUN, point, "archive", "run", **shop.settings)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == -9, (point, errors)
        is_archived = [await shop.is_archived(order) for order in orders]
        assert is_archived == [point == "after the transaction"] * len(orders), point
        assert await read_everything(shop, orders) == answers
        assert "Another process archives orders" in shop.run("archive", "run").stderr
        await shop.db.execute("update archive_states set leased_until = now()")
    assert shop.run("archive", "run").returncode == 0
    assert await read_everything(shop, orders) == answers
    shop.verify()


@pytest.mark.torture
async def test_without_its_storage_an_archived_order_is_listed_but_not_shown(
    archive_shop: ArchiveShop, tmp_path: Path
) -> None:
    shop, dashboard = archive_shop, await archive_shop.dashboard()
    order, waiting = await shop.buy_and_ship(await shop.new_buyer()), await shop.buy_and_ship(await shop.new_buyer())
    await shop.archive(order)
    away = tmp_path / "away"
    shop.place.rename(away)
    shop.place.write_text("not a directory")
    try:
        answer = await shop.machine.get(f"/orders/{order.id}")
        assert (answer.status, answer.json["code"]) == (503, "temporarily_unavailable")
        page = await dashboard.get(f"/admin/archive/{order.id}")
        assert page.status_code == 200
        assert "temporarily unavailable" in page.text
        assert (await dashboard.post(f"/admin/archive/{order.id}/restore")).status_code == 503
        doctor = shop.run("doctor")
        assert "FAIL  archive" in doctor.stdout, doctor.stdout
        await shop.age(waiting)
        assert "temporarily unavailable" in shop.run("archive", "run").stderr
        assert not await shop.is_archived(waiting)
    finally:
        shop.place.unlink()
        away.rename(shop.place)
    assert (await shop.machine.get(f"/orders/{order.id}")).status == 200
    assert "ok    archive" in shop.run("doctor").stdout
    assert shop.run("archive", "run").returncode == 0
    assert await shop.is_archived(waiting)


@pytest.mark.torture
async def test_a_damaged_object_is_refused(archive_shop: ArchiveShop) -> None:
    shop = archive_shop
    order = await shop.buy_and_ship(await shop.new_buyer())
    await shop.archive(order)
    row = await shop.db.fetchrow("select object_name, position from archived_orders where id = $1", UUID(order.id))
    file = shop.place / row["object_name"] / FILE
    assert order["number"].encode() not in file.read_bytes()
    assert file.stat().st_mode & 0o077 == 0
    data = bytearray(file.read_bytes())
    data[row["position"] + 5] ^= 1
    file.write_bytes(data)
    result = shop.run("archive", "restore", order["number"])
    assert result.returncode == 1
    assert "differs from what was archived" in result.stderr
    assert await shop.is_archived(order)
    file.rename(file.with_suffix(".gone"))
    assert "lacks the object" in shop.run("archive", "show", order["number"]).stderr
    assert (await shop.machine.get(f"/orders/{order.id}")).status == 503


@pytest.mark.torture
async def test_commands_show_and_restore_an_archived_order(archive_shop: ArchiveShop) -> None:
    shop = archive_shop
    order = await shop.buy_and_ship(await shop.new_buyer())
    await shop.archive(order)
    shown = shop.run("archive", "show", order["number"])
    head, *lines = shown.stdout.splitlines()
    assert '"format":1' in head
    assert any(f'"number":"{order["number"]}"' in line and '"table":"orders"' in line for line in lines)
    restored = shop.run("archive", "restore", order["number"])
    assert restored.stdout == f"Order {order['number']} is restored.\n"
    assert not await shop.is_archived(order)
    again = shop.run("archive", "restore", order["number"])
    assert (again.returncode, "No archived order" in again.stderr) == (1, True)
    assert "SHOP_ARCHIVE_URL" in shop.run("archive", "run", SHOP_ARCHIVE_URL="").stderr
    result = shop.run("archive", "run")
    assert result.returncode == 0
    assert not await shop.is_archived(order), "a restored order is archived again after the whole time"


@pytest.mark.torture
async def test_an_order_that_changes_while_its_object_is_written_stays(archive_shop: ArchiveShop) -> None:
    shop = archive_shop
    order = await shop.buy_and_ship(await shop.new_buyer())
    await shop.age(order)
    changed_run = """
import subprocess, sys
from shop.actions.archive import archived_orders
from shop.cli.main import main
write = archived_orders.write_object

async def write_and_change(*arguments):
    await write(*arguments)
    print("written", flush=True)
    sys.stdin.readline()

archived_orders.write_object = write_and_change
sys.argv = ["shop", "archive", "run"]
main()
"""
    process = start(changed_run, **shop.settings)
    assert process.stdout
    assert process.stdout.read(7) == "written"
    await shop.db.execute("update payments set private_metadata = '{\"note\": 1}' where order_id = $1", UUID(order.id))
    process.communicate("\n", timeout=60)
    assert process.returncode == 0
    assert not await shop.is_archived(order)
    assert shop.run("archive", "run").returncode == 0
    assert await shop.is_archived(order)
