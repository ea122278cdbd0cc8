"""A shop that was exported and imported answers as before."""

import stat
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from shop.models.shop_files.tables import EXPORT_TABLES, list_columns
from tests.cli.command import Command
from tests.platform.client import Machine
from tests.service import Service
from tests.shop_files.answers import list_differences, read_answers
from tests.shop_files.conftest import ExportedShop
from tests.shop_files.rows import copy_rows


@pytest.mark.torture
async def test_an_imported_shop_answers_as_the_exported_one(
    shop: Command, exported_shop: ExportedShop, empty_shop: dict[str, str]
) -> None:
    result = shop("import", "--all", str(exported_shop.file), **empty_shop)

    assert (result.returncode, result.stdout.splitlines()[-1]) == (0, "No problems found."), result
    source, target = [await asyncpg.connect(url) for url in (exported_shop.url, empty_shop["SHOP_DATABASE_URL"])]
    for table in EXPORT_TABLES:
        assert await list_rows(target, table) == await list_rows(source, table), table.name
    media = read_media(exported_shop.settings)
    assert media
    assert read_media(empty_shop) == media
    assert await target.fetchval("select count(*) from loose_files") == 0
    for name in ("sessions", "access_tokens"):
        await copy_rows(source, target, name)
    service = Service(**empty_shop, SHOP_DRAIN_SECONDS="0")
    try:
        async with service.client() as http:
            answers = await read_answers(Machine(http, exported_shop.token))
    finally:
        service.stop()
        await source.close()
        await target.close()
    assert list_differences(exported_shop.answers, answers) == []


def read_media(settings: dict[str, str]) -> dict[str, bytes]:
    root = Path(settings["SHOP_DATA_DIR"]) / "media"
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*.webp")}


async def list_rows(db: Any, table: Any) -> list[Any]:
    columns = ", ".join(f'"{name}"::text' for name in list_columns(table, has_secrets=True))
    return sorted(await db.fetch(f"select {columns} from {table.name}"), key=repr)


def test_the_exported_shop_has_rows_in_every_table(exported_shop: ExportedShop) -> None:
    assert [name for name, count in exported_shop.row_counts.items() if not count] == []


def test_only_its_owner_can_read_the_file(exported_shop: ExportedShop) -> None:
    assert stat.S_IMODE(exported_shop.file.stat().st_mode) == 0o600
