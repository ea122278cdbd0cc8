"""A backup taken while orders are placed verifies, and moves a shop between embedded and external databases."""

import asyncio
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import pytest

from shop.base.config.buckets import parse_bucket
from shop.db.embedded_account import server_account
from shop.gateways.backup_places import BucketPlace
from tests.backups.shops import PASSPHRASE, external, only_backup, read_manifest
from tests.builders import Make
from tests.checkout_builders import Buyer, CheckoutSetup, new_checkout_setup
from tests.cli.command import Command
from tests.db.processes import accessible_dir, fetch_value, serving_installed
from tests.on_postgres_15 import BINARIES
from tests.platform.client import new_machine
from tests.s3_server import bucket_server
from tests.service import KEYS, SHOP, Service, clean_environ

pytestmark = pytest.mark.torture
SECONDS = 300
ORDERS = "select count(*) from orders where completed_at is not null"


def run_shop(*arguments: str, **environ: str) -> str:
    """Runs the installed command, which may start an embedded database."""
    result = subprocess.run(
        [SHOP, *arguments], env=clean_environ(**environ), capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


async def back_up_while_buying(service: Service, url: str, place: Path, environ: dict[str, str]) -> int:
    """Places orders until a backup of the running shop is complete; returns their number."""
    db = await asyncpg.connect(url)
    async with service.client() as http:
        setup = await new_checkout_setup(Make(await new_machine(http, db)))
        mug = await setup.product(on_hand=10_000)
        backup = asyncio.create_task(
            asyncio.to_thread(
                run_shop, "backup", str(place), "--with-keys", SHOP_BACKUP_PASSPHRASE=PASSPHRASE, **environ
            )
        )
        counts = await asyncio.gather(*(keep_buying(Buyer(http, setup), setup, mug, backup) for _ in range(2)))
        await backup
    await db.close()
    return sum(counts)


async def keep_buying(buyer: Buyer, setup: CheckoutSetup, mug: object, backup: "asyncio.Task[str]") -> int:
    count = 0
    while not backup.done():
        await buyer.ready((mug, 1))  # type: ignore[arg-type]
        answer = await buyer.complete()
        assert answer.status == 200, answer
        buyer = Buyer(buyer.http, setup)
        count += 1
    return count


def test_a_backup_under_writes_verifies_and_moves_the_shop(
    own_data_dir: Callable[[], tuple[Path, str]], own_database: Callable[..., str], tmp_path: Path
) -> None:
    data_dir, url = own_data_dir()
    embedded = {"SHOP_DATA_DIR": str(data_dir), "SHOP_SECRET_KEYS": KEYS}
    service = Service(**embedded, SHOP_DRAIN_SECONDS="0")
    try:
        order_count = asyncio.run(back_up_while_buying(service, url, tmp_path / "first", embedded))
    finally:
        service.stop()
    first, target = only_backup(tmp_path / "first"), own_database("template0")

    verification = run_shop("backup", "--verify", str(first), **embedded)
    run_shop("restore", str(first), **external(target, tmp_path / "external"))
    saved_count = fetch_value(target, ORDERS)
    run_shop("backup", str(tmp_path / "second"), **external(target, tmp_path / "external"))
    with accessible_dir() as directory:
        back = {"SHOP_DATA_DIR": str(directory / "data"), "SHOP_BACKUP_PASSPHRASE": PASSPHRASE}
        run_shop("restore", str(only_backup(tmp_path / "second")), **back)
        without_keys = subprocess.run(
            [SHOP, "serve", "--port", "0"],
            env=clean_environ(**back),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        run_shop("restore", str(first), "--keys", "--replace", "--yes", **back)
        with serving_installed(**back, SHOP_DRAIN_SECONDS="0") as restored:
            ready = restored.get("/readyz").status_code
        count_text = run_shop("psql", "--", "-Atc", ORDERS, **back)

    assert "No problems found." in verification
    assert 0 < saved_count <= order_count
    assert without_keys.returncode == 1
    assert "are missing, and this shop's carts, sessions and authenticators depend on them" in without_keys.stderr
    assert ready == 200
    assert int(count_text) == saved_count


def test_a_backup_with_other_rows_than_its_manifest_fails_to_verify(
    shop: Command, own_database: Callable[..., str], tmp_path: Path
) -> None:
    environ = external(own_database(), tmp_path / "data")
    assert shop("backup", str(tmp_path / "b"), **environ).returncode == 0
    manifest = only_backup(tmp_path / "b") / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"countries": 249', '"countries": 248'))

    result = subprocess.run(
        [SHOP, "backup", "--verify", str(manifest.parent)],
        env=clean_environ(**environ),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )

    assert result.returncode == 1
    assert "countries has 249 rows instead of 248" in result.stdout
    assert "1 problem found." in result.stdout


def test_a_backup_of_the_bundled_postgresql_restores_into_the_oldest_supported_one(
    shop: Command, own_database: Callable[..., str], tmp_path: Path
) -> None:
    """Needs PostgreSQL 15; Debian has it as the package postgresql-15."""
    environ = external(own_database(), tmp_path / "data")
    assert shop("backup", str(tmp_path / "b"), **environ).returncode == 0
    with accessible_dir() as directory, old_server(directory) as url:
        run_shop("restore", str(only_backup(tmp_path / "b")), **external(url, tmp_path / "other"))
        count = fetch_value(url, "select count(*) from countries")
        run_shop("backup", str(tmp_path / "c"), **external(url, tmp_path / "other"))

    assert count == 249
    assert read_manifest(only_backup(tmp_path / "c"))["postgres_version"] == 15


@contextmanager
def old_server(directory: Path) -> Iterator[str]:
    """The URL of an empty database on PostgreSQL 15."""
    account, cluster = server_account(), directory / "cluster"
    if account:
        os.chown(directory, account.pw_uid, account.pw_gid)

    def run_program(name: str, *arguments: str) -> None:
        subprocess.run(
            [BINARIES / name, *arguments],
            check=True,
            cwd="/",
            stdout=subprocess.DEVNULL,
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            extra_groups=[] if account else None,
        )

    run_program("initdb", "-D", str(cluster), "-U", "shop", "--auth=trust", "--encoding=UTF8", "--locale=C")
    options = f"-c listen_addresses='' -k {directory}"
    run_program("pg_ctl", "start", "-w", "-D", str(cluster), "-l", str(directory / "log"), "-o", options)
    try:
        run_program("createdb", "-h", str(directory), "-U", "shop", "shop")
        yield f"postgresql:///shop?host={directory}&user=shop"
    finally:
        run_program("pg_ctl", "stop", "-m", "immediate", "-D", str(cluster))


def test_large_files_are_streamed_to_a_bucket_in_parts() -> None:
    chunks = [bytes([number]) * (1 << 20) for number in range(70)]
    with bucket_server() as bucket:
        place = BucketPlace(parse_bucket(bucket.backup_url))
        place.write("shop-20260101T000000Z", "database.dump", iter(chunks))
        content = b"".join(place.read("shop-20260101T000000Z", "database.dump"))
        folders = place.list_folders()
        place.remove_folder("shop-20260101T000000Z", "manifest.json")

        assert folders == ["shop-20260101T000000Z"]
        assert content == b"".join(chunks)
        assert bucket.uploads == {}
        assert list(bucket.objects) == []
