"""Scheduled backups: one process makes each, a failed one is retried, and old ones are removed."""

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import pytest

from tests.admin.dashboard import Dashboard, new_operator, new_session
from tests.backups.shops import PASSPHRASE, SourceShop, read_manifest
from tests.cli.command import Command, sentence
from tests.cluster import execute
from tests.db.processes import fetch_value, is_event, kill
from tests.s3_server import bucket_server
from tests.service import Service

OLD = "shop-20200101T000000Z"
PARTIAL = "shop-20200102T000000Z"


@contextmanager
def scheduled_shop(source: SourceShop, place: str, *arguments: str, **environ: str) -> Iterator[Service]:
    settings = {**source.environ, "SHOP_MAILBOX": "on", "SHOP_DRAIN_SECONDS": "0", "SHOP_METRICS": "public"}
    service = Service(*arguments, **{**settings, "SHOP_BACKUP_URL": place, **environ})
    try:
        yield service
    finally:
        service.stop()


def read_page(service: Service, url: str, path: str) -> str:
    """The text of a dashboard page, for a new operator."""
    return asyncio.run(_read_page(service, url, path))


async def _read_page(service: Service, url: str, path: str) -> str:
    db = await asyncpg.connect(url)
    try:
        operator_id, email = await new_operator(db)
        secret = await new_session(db, operator_id)
    finally:
        await db.close()
    async with service.client() as http:
        response = await Dashboard(http, operator_id, email, secret).get(path)
    assert response.status_code == 200
    # `notice` of a page is the feedback after an action.
    assert "BackupNotice(" not in response.text
    return response.text


@pytest.mark.torture
def test_one_of_several_processes_makes_a_backup_and_removes_old_ones(source: SourceShop, tmp_path: Path) -> None:
    place = tmp_path / "backups"
    for folder in (OLD, PARTIAL, "photos"):
        (place / folder).mkdir(parents=True)
    (place / OLD / "manifest.json").write_text("{}")

    with scheduled_shop(source, str(place), "--workers", "2", SHOP_BACKUP_PASSPHRASE=PASSPHRASE) as service:
        completed = json.loads(service.wait_for(is_event("backup completed")))
        removed = json.loads(service.wait_for(is_event("old backups removed")))
        page = read_page(service, source.url, "/admin/settings/backups")
        overview = read_page(service, source.url, "/admin")
        metrics = service.get("/metrics").text
        started = [line for line in service.lines if is_event("backup started")(line)]

    assert {entry.name for entry in place.iterdir()} == {completed["folder"], "photos"}
    assert removed["folders"] == [OLD, PARTIAL]
    assert len(started) == 1
    assert {entry["path"] for entry in read_manifest(place / completed["folder"])["files"]} > {"keys.json"}
    row = "select array[state, is_scheduled::text, has_keys::text, place] from backups"
    assert fetch_value(source.url, row) == ["complete", "true", "true", str(place)]
    assert completed["folder"] in page
    assert "encrypted" in page
    assert not any(words in page + overview for words in ("The last backup failed", "No backups are scheduled"))
    assert "shop_backup_failures 0.0" in metrics
    assert "shop_backup_interval_seconds 86400.0" in metrics


def test_a_failed_backup_is_reported(source: SourceShop, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    place = tmp_path / "file" / "backups"

    with scheduled_shop(source, str(place)) as service:
        line = json.loads(service.wait_for(is_event("backup failed")))
        page = read_page(service, source.url, "/admin/settings/backups")
        overview = read_page(service, source.url, "/admin")

    error = f"{place} cannot be written: Not a directory."
    assert line["reason"] == error
    assert fetch_value(source.url, "select array[state, error] from backups") == ["failed", error]
    assert all("The last backup failed." in text and error in text for text in (page, overview))


def test_an_interrupted_backup_is_repeated_and_its_folder_removed(source: SourceShop, tmp_path: Path) -> None:
    place = tmp_path / "backups"
    (place / PARTIAL).mkdir(parents=True)
    execute(
        source.url,
        "insert into backups (id, place, folder, is_scheduled, started_at, leased_until) values "
        f"(gen_random_uuid(), '{place}', '{PARTIAL}', true, now() - interval '5 minutes', now() - interval '1 second')",
    )

    with scheduled_shop(source, str(place)) as service:
        completed = json.loads(service.wait_for(is_event("backup completed")))

    assert [entry.name for entry in place.iterdir()] == [completed["folder"]]
    errors = "select array_agg(error order by started_at) from backups"
    assert fetch_value(source.url, errors) == ["The process that made it ended.", None]


def test_a_backup_of_another_process_is_not_repeated(source: SourceShop, tmp_path: Path) -> None:
    """A process that has the lease is still writing."""
    place = tmp_path / "backups"
    execute(
        source.url,
        "insert into backups (id, place, folder, is_scheduled, started_at, leased_until) values "
        f"(gen_random_uuid(), '{place}', '{PARTIAL}', true, now(), now() + interval '1 hour')",
    )

    with scheduled_shop(source, str(place)) as service:
        page = read_page(service, source.url, "/admin/settings/backups")
        lines = list(service.lines)

    assert "The first backup is being made." in page
    assert not any(map(is_event("backup started"), lines))


def test_an_old_backup_is_reported(source: SourceShop, tmp_path: Path) -> None:
    place = tmp_path / "backups"
    execute(
        source.url,
        "insert into backups (id, place, folder, state, started_at, ended_at) values "
        f"(gen_random_uuid(), '{place}', '{OLD}', 'complete', now() - interval '3 days', now())",
        "insert into backups (id, place, folder, is_scheduled, started_at, leased_until) values "
        f"(gen_random_uuid(), '{place}', '{PARTIAL}', true, now(), now() + interval '1 hour')",
    )

    with scheduled_shop(source, str(place)) as service:
        overview = read_page(service, source.url, "/admin")

    assert "The newest backup is 3 days old" in overview


def test_a_shop_without_a_schedule_gets_a_hint(source: SourceShop) -> None:
    with scheduled_shop(source, "") as service:
        overview = read_page(service, source.url, "/admin")
        page = read_page(service, source.url, "/admin/settings/backups")
        metrics = service.get("/metrics").text

    assert "No backups are scheduled." in overview
    assert "To schedule them, set <code>SHOP_BACKUP_URL</code>" in page
    assert "No backups yet" not in page
    assert "shop_backup_" not in metrics


@contextmanager
def small_disk(directory: Path) -> Iterator[Path]:
    """A file system for 256 KB, which a backup of an empty shop does not fit into. Needs root."""
    directory.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", directory], check=True)
    try:
        yield directory
    finally:
        subprocess.run(["umount", directory], check=True)


@pytest.mark.torture
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_is_reported_and_leaves_nothing(source: SourceShop, shop: Command, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as place:
        command = shop("backup", str(place), **source.environ)
        with scheduled_shop(source, str(place)) as service:
            line = json.loads(service.wait_for(is_event("backup failed")))
            overview = read_page(service, source.url, "/admin")
            metrics = service.get("/metrics").text
        names = list(place.iterdir())
        doctor = shop("doctor", **source.environ, SHOP_BACKUP_URL=str(place))

    error = f"{place} cannot be written: it is full."
    assert sentence(command) == line["reason"] == error
    assert "The last" in overview
    assert error in overview
    assert "shop_backup_failures 0.0" not in metrics
    assert names == []
    assert f"attempts failed since the newest one: {error}" in doctor.stdout


@pytest.mark.torture
def test_a_killed_service_repeats_its_backup(source: SourceShop) -> None:
    """Killed while it writes; the next process waits for the end of the lease, which is shortened here."""
    with bucket_server() as bucket:
        bucket.paused_put = "settings.json"
        bucket.may_put.clear()
        with scheduled_shop(source, bucket.backup_url) as service:
            assert bucket.put_requested.wait(60)
            kill(service.process.pid, *service.worker_pids())
        bucket.may_put.set()
        execute(source.url, "update backups set leased_until = now()")
        with scheduled_shop(source, bucket.backup_url) as service:
            completed = json.loads(service.wait_for(is_event("backup completed")))
        folders = {key.split("/")[1] for key in bucket.objects}

    assert folders == {completed["folder"]}
