"""`shop restore` verifies a backup before it changes anything, and restores it completely or not at all."""

import asyncio
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest
from alembic import command

from shop.migrations.upgrade import alembic_config, newest_revision
from tests.backups.shops import (
    PASSPHRASE,
    SourceShop,
    external,
    is_empty,
    only_backup,
    read_manifest,
    shop_name,
)
from tests.cli.command import Command, sentence
from tests.cluster import execute
from tests.db.processes import fetch_value, kill, until
from tests.forkserver import ForkedCommand
from tests.s3_server import bucket_server
from tests.service import KEYS, clean_environ

OTHER_KEYS = "k9:" + "7b" * 32


def count_rows(url: str) -> dict[str, int]:
    async def count() -> dict[str, int]:
        connection = await asyncpg.connect(url)
        try:
            names = await connection.fetch("select tablename from pg_tables where schemaname = 'public'")
            return {name: await connection.fetchval(f'select count(*) from "{name}"') for (name,) in names}
        finally:
            await connection.close()

    return asyncio.run(count())


def test_everything_is_restored(
    shop: Command, source: SourceShop, saved_backup: Path, empty_database: str, tmp_path: Path
) -> None:
    result = shop("restore", str(saved_backup), **external(empty_database, tmp_path / "other"))
    again = shop("restore", str(saved_backup), **external(empty_database, tmp_path / "other"))

    assert result.returncode == 0, result.stderr
    assert "not configured here" not in result.stdout
    assert "shop keys void-before now" in result.stdout
    assert count_rows(empty_database) == {**count_rows(source.url), "backups": 0}
    assert shop_name(empty_database) == "Saved"
    restored_files = {path.name: path.read_bytes() for path in (tmp_path / "other" / "media").rglob("*.webp")}
    assert restored_files == {path.name: path.read_bytes() for path in source.image_dir.iterdir()}
    assert sentence(again).startswith("The database is not empty; ")


def damage_dump(backup: Path) -> None:
    content = bytearray((backup / "database.dump").read_bytes())
    content[len(content) // 2] ^= 1
    (backup / "database.dump").write_bytes(content)


def truncate_dump(backup: Path) -> None:
    content = (backup / "database.dump").read_bytes()
    (backup / "database.dump").write_bytes(content[:-100])


def remove_image(backup: Path) -> None:
    next(backup.rglob("160.webp")).unlink()


def damage_image(backup: Path) -> None:
    image = next(backup.rglob("160.webp"))
    image.write_bytes(image.read_bytes()[:-1] + b"x")


def remove_manifest(backup: Path) -> None:
    (backup / "manifest.json").unlink()


def damage_manifest(backup: Path) -> None:
    (backup / "manifest.json").write_text("{")


def leave_folder(backup: Path) -> None:
    """Lets the index name a file outside of the backup, with a right checksum in the manifest."""
    change_manifest(backup, files=[{"path": "../other", "size": 0, "sha256": ""}])


def make_newer_format(backup: Path) -> None:
    change_manifest(backup, format=2, shop_version="9.0.0")


def make_newer_revision(backup: Path) -> None:
    change_manifest(backup, revision="9999", shop_version="9.0.0")


def change_manifest(backup: Path, **values: object) -> None:
    (backup / "manifest.json").write_text(json.dumps({**read_manifest(backup), **values}))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (damage_dump, "database.dump of shop-"),
        (truncate_dump, " bytes instead of "),
        (remove_image, "160.webp of shop-"),
        (damage_image, "is damaged: its SHA-256 differs."),
        (remove_manifest, "is not a backup: it has no manifest.json"),
        (damage_manifest, "manifest.json of shop-"),
        (leave_folder, "it names the wrong files."),
        (make_newer_format, "has format 2 of shop 9.0.0"),
        (make_newer_revision, "was made by shop 9.0.0 with migration 9999, which is newer than this program"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_damaged_or_newer_backup_changes_nothing(
    damage: Callable[[Path], None], words: str, shop: Command, saved_backup: Path, empty_database: str, tmp_path: Path
) -> None:
    damage(saved_backup)

    result = shop("restore", str(saved_backup), **external(empty_database, tmp_path / "other"))

    assert words in sentence(result)
    assert is_empty(empty_database)
    assert not (tmp_path / "other" / "media").exists()


def test_a_database_is_replaced_only_on_request(
    shop: Command, source: SourceShop, saved_backup: Path, tmp_path: Path
) -> None:
    execute(
        source.url,
        "update shops set name = 'Changed'",
        "create table extra (id int)",
        "create function extra() returns int language sql as 'select 1'",
    )
    restore = ("restore", str(saved_backup), "--replace")

    unconfirmed = shop(*restore, **source.environ)
    name_before = shop_name(source.url)
    result = shop(*restore, "--yes", **source.environ)

    assert "add --yes" in sentence(unconfirmed)
    assert name_before == "Changed"
    assert result.returncode == 0, result.stderr
    assert shop_name(source.url) == "Saved"
    assert fetch_value(source.url, "select to_regclass('extra') is null") is True


async def test_a_database_in_use_is_not_replaced(shop: Command, source: SourceShop, saved_backup: Path) -> None:
    connection = await asyncpg.connect(source.url)
    try:
        result = await asyncio.to_thread(
            lambda: shop("restore", str(saved_backup), "--replace", "--yes", **source.environ)
        )
    finally:
        await connection.close()

    assert sentence(result).startswith("The database has 1 other connections; stop the shop")


@pytest.mark.torture
def test_an_older_backup_is_migrated(
    shop: Command, source: SourceShop, own_database: Callable[..., str], tmp_path: Path
) -> None:
    command.downgrade(alembic_config(source.url), "-1")
    target = own_database("template0")
    saved = shop("backup", str(tmp_path / "b"), **source.environ)
    backup = only_backup(tmp_path / "b")

    result = shop("restore", str(backup), **external(target, tmp_path / "other"))

    assert (saved.returncode, result.returncode) == (0, 0), saved.stderr + result.stderr
    assert read_manifest(backup)["revision"] != newest_revision()
    assert fetch_value(target, "select version_num from alembic_version") == newest_revision()


@pytest.mark.torture
def test_an_upgrade_is_rehearsed_with_the_newest_or_a_named_backup(
    shop: Command, source: SourceShop, tmp_path: Path
) -> None:
    command.downgrade(alembic_config(source.url), "-1")
    before = fetch_value(source.url, "select version_num from alembic_version")
    directory = tmp_path / "b"
    saved = shop("backup", str(directory), **source.environ)
    assert saved.returncode == 0, saved.stderr

    newest = shop("upgrade", "--rehearse", **source.environ, SHOP_BACKUP_URL=str(directory))
    named = shop("upgrade", "--rehearse", "--backup", str(only_backup(directory)), **source.environ)

    for result in (newest, named):
        assert (result.returncode, result.stdout.splitlines()[-1]) == (0, "The rehearsal succeeded."), result
        assert f"Restoring {only_backup(directory).name} " in result.stderr
        assert f"  {newest_revision()}  " in result.stdout
    assert fetch_value(source.url, "select version_num from alembic_version") == before


@pytest.mark.torture
def test_keys_are_restored_with_their_passphrase(
    shop: Command, source: SourceShop, own_database: Callable[..., str], tmp_path: Path
) -> None:
    right = {"SHOP_BACKUP_PASSPHRASE": PASSPHRASE}
    shop("backup", str(tmp_path / "b"), "--with-keys", **right, **source.environ)
    restore = ("restore", str(only_backup(tmp_path / "b")))
    target, key_file = own_database("template0"), tmp_path / "other" / "secret_keys"
    environ = {"SHOP_DATABASE_URL": target, "SHOP_DATA_DIR": str(tmp_path / "other")}

    wrong = shop(*restore, "--keys", **environ, SHOP_BACKUP_PASSPHRASE="wrong horse battery")
    other = shop(*restore, "--keys", **environ, **right, SHOP_SECRET_KEYS=OTHER_KEYS)
    is_unchanged = is_empty(target) and not key_file.exists()
    result = shop(*restore, "--keys", **environ, **right)
    served = shop("keys", "list", **environ, SHOP_SECRET_KEYS=key_file.read_text().strip())

    assert sentence(wrong) == ("The keys cannot be decrypted: the passphrase is wrong, or the file was changed.")
    assert sentence(other).startswith("SHOP_SECRET_KEYS differs from the keys of the backup; ")
    assert is_unchanged
    assert result.returncode == 0, result.stderr
    assert f"Set SHOP_SECRET_KEYS to the content of {key_file} on every machine." in result.stdout
    assert (key_file.read_text().strip(), stat.S_IMODE(key_file.stat().st_mode)) == (KEYS, 0o600)
    assert served.returncode == 0, served.stderr


def test_missing_keys_are_named(shop: Command, saved_backup: Path, empty_database: str, tmp_path: Path) -> None:
    environ = {**external(empty_database, tmp_path / "other"), "SHOP_SECRET_KEYS": OTHER_KEYS}

    with_keys = shop("restore", str(saved_backup), "--keys", **environ, SHOP_BACKUP_PASSPHRASE=PASSPHRASE)
    result = shop("restore", str(saved_backup), **environ)

    assert "does not contain the secret keys; restore it without --keys." in sentence(with_keys)
    assert result.returncode == 0
    assert "The secret keys t1 of this shop are not configured here." in result.stdout


def wait_for_clients(url: str, condition: str, count: int) -> None:
    """Waits until so many other connections are in a state."""
    activity = (
        "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() "
        f"and backend_type = 'client backend' and state {condition}"
    )

    async def wait() -> None:
        connection = await asyncpg.connect(url)

        async def has_come() -> bool:
            return bool(await connection.fetchval(activity) == count)

        try:
            await until(has_come)
        finally:
            await connection.close()

    asyncio.run(wait())


@pytest.mark.torture
def test_a_killed_restore_leaves_the_database_as_it_was(shop: Command, source: SourceShop) -> None:
    """The process is killed after the current tables are dropped in the transaction of the restore."""
    with bucket_server() as bucket:
        environ = {**source.environ, "SHOP_BACKUP_URL": bucket.backup_url}
        assert shop("backup", **environ).returncode == 0
        execute(source.url, "update shops set name = 'Changed'")
        restore = ("restore", "latest", "--replace", "--yes")
        # The first request is for the checksum.
        bucket.paused_get, bucket.unpaused_gets = "database.dump", 1
        process = ForkedCommand(restore, clean_environ(**environ), log=Path(os.devnull))
        assert bucket.get_requested.wait(30)
        wait_for_clients(source.url, "= 'idle in transaction'", 1)
        kill(process.pid)
        bucket.may_get.set()
        wait_for_clients(source.url, "is not null", 0)
        name_after_kill = shop_name(source.url)
        bucket.paused_get = "no object"
        repeated = shop(*restore, **environ)

    assert name_after_kill == "Changed"
    assert repeated.returncode == 0, repeated.stderr
    assert shop_name(source.url) == "Saved"
