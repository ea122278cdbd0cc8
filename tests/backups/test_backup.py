"""`shop backup` writes the database, the images and the settings, and nothing secret in the clear."""

import json
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from shop.base.errors import BackupError
from shop.gateways.backup_places import DirectoryPlace
from shop.rules.backups.folders import is_folder
from tests.backups.shops import PASSPHRASE, SourceShop, is_empty, only_backup, read_manifest, shop_name
from tests.cli.command import Command, sentence
from tests.db.processes import fetch_value, kill, session_pids
from tests.forkserver import ForkedCommand
from tests.s3_server import bucket_server
from tests.service import KEYS, SHOP, clean_environ

OLD = "shop-20200101T000000Z"


def test_a_backup_describes_what_it_contains(saved_backup: Path, source: SourceShop) -> None:
    manifest = read_manifest(saved_backup)
    files = [path for path in saved_backup.rglob("*") if path.is_file()]

    assert {entry["path"] for entry in manifest["files"]} == {"database.dump", "media.jsonl", "settings.json"}
    assert (manifest["image_count"], manifest["row_counts"]["images"]) == (1, 1)
    assert manifest["revision"] == fetch_value(source.url, "select version_num from alembic_version")
    assert "backups" not in manifest["row_counts"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (saved_backup.parent, saved_backup)} == {0o700}
    assert fetch_value(source.url, "select array[state, folder] from backups") == ["complete", saved_backup.name]


def test_a_backup_contains_no_secret_in_the_clear(
    shop: Command, source: SourceShop, tmp_path: Path, saved_backup: Path
) -> None:
    secrets = [KEYS.partition(":")[2], "smtp-password", PASSPHRASE]
    result = shop("backup", str(tmp_path / "b"), "--with-keys", SHOP_BACKUP_PASSPHRASE=PASSPHRASE, **source.environ)
    with_keys = only_backup(tmp_path / "b")

    assert result.returncode == 0, result.stderr
    assert (with_keys / "keys.json").exists()
    assert not (saved_backup / "keys.json").exists()
    settings = json.loads((with_keys / "settings.json").read_text())
    assert settings["not_included"] == [
        "SHOP_DATABASE_URL",
        "SHOP_SECRET_KEYS",
        "SHOP_SMTP_URL",
        "SHOP_BACKUP_PASSPHRASE",
    ]
    assert settings["settings"]["SHOP_DATA_DIR"] == str(source.data_dir)
    for path in [*with_keys.rglob("*.json*"), *saved_backup.rglob("*.json*")]:
        assert [each for each in secrets if each in path.read_text()] == [], path
    assert not any(each in result.stdout + result.stderr for each in secrets)


def test_keys_require_a_passphrase_that_is_not_an_argument(shop: Command, source: SourceShop, tmp_path: Path) -> None:
    without = shop("backup", str(tmp_path / "b"), "--with-keys", **source.environ)
    short = shop("backup", str(tmp_path / "b"), "--with-keys", SHOP_BACKUP_PASSPHRASE="short", **source.environ)

    assert "set SHOP_BACKUP_PASSPHRASE" in sentence(without)
    assert sentence(short) == "SHOP_BACKUP_PASSPHRASE cannot be read: give at least 12 characters."
    assert not (tmp_path / "b").exists()


def test_an_image_without_files_is_reported(shop: Command, source: SourceShop, tmp_path: Path) -> None:
    (source.image_dir / "160.webp").unlink()

    result = shop("backup", str(tmp_path / "b"), **source.environ)

    name = f"{source.image_id}/160.webp"
    assert result.returncode == 0
    assert f"warning: the image store has no {name}; the images cannot be restored." in result.stderr
    assert read_manifest(only_backup(tmp_path / "b"))["missing_media"] == [name]


def test_a_place_that_cannot_be_written_is_an_error(shop: Command, source: SourceShop, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    result = shop("backup", str(tmp_path / "file" / "b"), **source.environ)
    nowhere = shop("backup", **source.environ)
    unknown = shop("backup", "ftp://host/b", **source.environ)

    assert sentence(result) == f"{tmp_path}/file/b cannot be written: Not a directory."
    assert sentence(nowhere) == "Give a directory or the URL of a bucket, or set SHOP_BACKUP_URL."
    assert sentence(unknown).startswith("The place of the backup cannot be read: give a directory, or s3://")


def test_a_backup_that_fails_leaves_nothing(shop: Command, source: SourceShop) -> None:
    with bucket_server() as bucket:
        bucket.fails_after = 2
        result = shop("backup", **source.environ, SHOP_BACKUP_URL=bucket.backup_url)

        assert "does not respond or rejects the request" in sentence(result)
        assert list(bucket.objects) == []


def test_a_database_without_a_shop_is_not_backed_up(
    shop: Command, source: SourceShop, empty_database: str, tmp_path: Path
) -> None:
    result = shop("backup", str(tmp_path / "b"), **{**source.environ, "SHOP_DATABASE_URL": empty_database})

    assert sentence(result) == "The database contains no shop; there is nothing to back up."


@pytest.mark.torture
def test_a_bucket_holds_backups_too(
    shop: Command, source: SourceShop, own_database: Callable[..., str], tmp_path: Path
) -> None:
    with bucket_server() as bucket:
        environ = {**source.environ, "SHOP_BACKUP_URL": bucket.backup_url}
        saved = shop("backup", **environ)
        target = own_database("template0")
        target_environ = {**environ, "SHOP_DATABASE_URL": target, "SHOP_DATA_DIR": str(tmp_path / "other")}
        restored = shop("restore", "latest", **target_environ)

        assert (saved.returncode, restored.returncode) == (0, 0), saved.stderr + restored.stderr
        assert shop_name(target) == "Saved"
        assert (tmp_path / "other" / "media" / str(source.image_id) / "200.webp").read_bytes() == b"image " * 200
        assert "secret" not in saved.stdout


def test_a_bucket_without_backups_has_no_latest_one(shop: Command, source: SourceShop, empty_database: str) -> None:
    with bucket_server() as bucket:
        environ = {**source.environ, "SHOP_DATABASE_URL": empty_database, "SHOP_BACKUP_URL": bucket.backup_url}
        result = shop("restore", "latest", **environ)

    assert sentence(result).startswith("There is no backup in pictures/backups at http://")
    assert is_empty(empty_database)


def test_a_killed_backup_is_not_a_backup(shop: Command, source: SourceShop, empty_database: str) -> None:
    with bucket_server() as bucket:
        environ = {**source.environ, "SHOP_BACKUP_URL": bucket.backup_url}
        bucket.paused_put = "settings.json"
        bucket.may_put.clear()
        process = ForkedCommand(["backup"], clean_environ(**environ), log=Path(os.devnull))
        assert bucket.put_requested.wait(30)
        kill(*session_pids(process.pid))
        bucket.may_put.set()
        (folder,) = {key.split("/")[1] for key in bucket.objects}
        target = {**environ, "SHOP_DATABASE_URL": empty_database}
        partial, latest = shop("restore", folder, **target), shop("restore", "latest", **target)
        bucket.paused_put = ""
        # Within the second of the killed one, its name is taken.
        while "try again" in (repeated := shop("backup", **environ)).stderr:
            pass

    assert "is not a backup: it has no manifest.json" in sentence(partial)
    assert sentence(latest).startswith("There is no backup in ")
    assert repeated.returncode == 0, repeated.stderr


def test_what_a_killed_backup_left_is_removed_by_the_next(
    shop: Command, source: SourceShop, empty_database: str, tmp_path: Path
) -> None:
    place = tmp_path / "b"
    with bucket_server() as bucket:
        environ = {**source.environ, "SHOP_BACKUP_URL": str(place), "SHOP_MEDIA_URL": bucket.url}
        bucket.objects[f"shop/media/{source.image_id}/160.webp"] = (b"image", "image/webp")
        bucket.paused_get = "160.webp"
        process = ForkedCommand(["backup"], clean_environ(**environ), log=Path(os.devnull))
        assert bucket.get_requested.wait(30)
        kill(*session_pids(process.pid))
        bucket.may_get.set()
        partial = only_backup(place)
        has_dump = (partial / "database.dump").exists()
        latest = shop("restore", "latest", **{**environ, "SHOP_DATABASE_URL": empty_database})
        repeated = shop("backup", **environ)

    assert (partial.suffix, has_dump) == (".partial", True)
    assert sentence(latest).startswith("There is no backup in ")
    assert repeated.returncode == 0, repeated.stderr
    assert is_folder(only_backup(place).name)
    assert {path.name for path in only_backup(place).iterdir()} >= {"manifest.json", "database.dump"}
    assert not (only_backup(place) / "writer.lock").exists()


def test_a_backup_that_is_being_written_is_not_removed(tmp_path: Path) -> None:
    writer, other = DirectoryPlace(tmp_path), DirectoryPlace(tmp_path)
    (tmp_path / "notes.partial").mkdir()
    partial = writer.create_folder(OLD)
    writer.write(partial, "file", [b"content"])

    while_writing = other.remove_abandoned(is_folder)
    writer.publish_folder(partial, OLD)

    assert (while_writing, other.remove_abandoned(is_folder)) == ([], [])
    assert {path.name for path in tmp_path.iterdir()} == {OLD, "notes.partial"}
    assert [path.name for path in (tmp_path / OLD).iterdir()] == ["file"]


@pytest.mark.torture
def test_a_file_that_cannot_be_written_leaves_nothing(source: SourceShop, tmp_path: Path) -> None:
    """A limit of 64 KB for each file stands for a full disk."""
    result = subprocess.run(
        ["bash", "-c", f"ulimit -f 64 && exec {SHOP} backup {tmp_path / 'b'}"],
        env=clean_environ(**source.environ),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert sentence(result) == f"{tmp_path / 'b'} cannot be written: File too large."
    assert list((tmp_path / "b").iterdir()) == []
    assert fetch_value(source.url, "select count(*) from backups") == 0


def test_old_backups_are_removed_on_request(shop: Command, source: SourceShop, tmp_path: Path) -> None:
    places = tmp_path / "a", tmp_path / "b"
    for place in places:
        for folder in (OLD, f"{OLD}.partial", "photos"):
            (place / folder).mkdir(parents=True)
        (place / OLD / "manifest.json").write_text("{}")

    without = shop("backup", str(places[0]), **source.environ)
    result = shop("backup", str(places[1]), "--remove-old", SHOP_BACKUP_KEEP="3", **source.environ)
    names = [
        {path.name for path in place.iterdir() if path.name in {OLD, f"{OLD}.partial", "photos"}} for place in places
    ]

    assert (without.returncode, result.returncode) == (0, 0), without.stderr + result.stderr
    assert names == [{OLD, "photos"}, {"photos"}]
    assert f"{places[1]}/{OLD}: removed.\n" in result.stdout


def test_two_backups_of_one_second_do_not_mix(tmp_path: Path) -> None:
    (tmp_path / OLD).mkdir()

    with pytest.raises(BackupError, match=f"{OLD} already exists in {tmp_path}; try again."):
        DirectoryPlace(tmp_path).create_folder(OLD)
