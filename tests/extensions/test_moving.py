"""The tables of extensions in the file of a whole shop."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

from tests.cli.command import external
from tests.cluster import Cluster, execute
from tests.extensions.packages import install_loyalty, run_shop
from tests.shop_files.zip_files import rewrite

TABLES = ("x_loyalty_accounts", "x_loyalty_entries", "extension_listeners")
_ROWS = (
    "insert into x_loyalty_accounts"
    " values ('018f0000-0000-7000-8000-000000000001', gen_random_uuid(), 30, now(), now())",
    "insert into x_loyalty_entries (id, account_id, key, order_number, reason, points, created_at, updated_at) values"
    r" (gen_random_uuid(), '018f0000-0000-7000-8000-000000000001', E'tab\t\\', 'R1', 'earned', 30, now(), now())",
    "update event_counters set last_position = 7",
    "update extension_listeners set position = 5, last_error = 'failed once'",
)


class ExportedPoints(msgspec.Struct, frozen=True):
    """A shop with points: its packages, its database and its file."""

    packages: Path
    url: str
    file: Path
    """Exported with the extension."""


@pytest.fixture(scope="module")
def exported_points(
    cluster: Cluster, worker_name: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ExportedPoints]:
    packages, file = tmp_path_factory.mktemp("packages"), tmp_path_factory.mktemp("exported") / "shop.zip"
    install_loyalty(packages)
    with cluster.database(f"points_{worker_name}") as url:
        assert run_shop(packages, "migrate", **external(url)).returncode == 0
        for row in _ROWS:
            execute(url, row)
        result = run_shop(packages, "export", "--all", str(file), **external(url))
        assert result.returncode == 0, result.stderr
        yield ExportedPoints(packages, url, file)


async def read_rows(url: str) -> dict[str, list[Any]]:
    db = await asyncpg.connect(url)
    try:
        return {
            name: [row[0] for row in await db.fetch(f"select row_to_json({name})::text from {name} order by id")]
            for name in TABLES
            if await db.fetchval("select to_regclass($1)", name)
        }
    finally:
        await db.close()


@pytest.mark.torture
async def test_a_round_trip_moves_the_tables_of_extensions_and_the_progress_of_listeners(
    exported_points: ExportedPoints, own_database: Callable[..., str]
) -> None:
    packages, target_url = exported_points.packages, own_database()
    arguments = ("import", "--all", str(exported_points.file))
    behind = run_shop(packages, *arguments, **external(target_url))
    run_shop(packages, "migrate", **external(target_url))
    dry_run = run_shop(packages, *arguments, "--dry-run", **external(target_url))
    rows_after_dry_run = await read_rows(target_url)
    result = run_shop(packages, *arguments, **external(target_url))

    assert "The tables of the extension loyalty are behind" in behind.stderr
    assert dry_run.returncode == 0, dry_run.stderr
    assert rows_after_dry_run["x_loyalty_accounts"] == []
    assert (result.returncode, result.stdout.splitlines()[-1]) == (0, "No problems found."), result.stderr
    source_rows = await read_rows(exported_points.url)
    assert all(source_rows.values())
    assert await read_rows(target_url) == source_rows


@pytest.mark.torture
async def test_a_shop_without_the_extension_refuses_the_file_or_leaves_its_data_out(
    exported_points: ExportedPoints, own_database: Callable[..., str], tmp_path: Path
) -> None:
    target_url, arguments = own_database(), ("import", "--all", str(exported_points.file))
    refused = run_shop(tmp_path, *arguments, **external(target_url))
    result = run_shop(tmp_path, *arguments, "--skip-missing-extensions", **external(target_url))
    export = run_shop(tmp_path, "export", "--all", str(tmp_path / "shop.zip"), **external(exported_points.url))

    assert refused.returncode == 1
    assert "data of extensions that are not installed: loyalty 1.0.0. Install them" in refused.stderr
    assert result.returncode == 0, result.stderr
    assert "Left out the data of the extension loyalty" in result.stderr
    # Nothing of it is left that `shop extension list` would mention.
    assert await read_rows(target_url) == {"extension_listeners": []}
    assert (export.returncode, "The data of the extension loyalty is not in the file" in export.stderr) == (0, True)


def rename_revision(document: dict[str, Any]) -> None:
    document["extensions"][0] |= {"revision": "loyalty_0002", "version": "2.0.0"}


def rename_table(document: dict[str, Any]) -> None:
    document["extensions"][0]["tables"][0]["name"] = "users"


@pytest.mark.torture
async def test_a_newer_or_damaged_file_and_a_shop_that_is_not_empty_are_refused(
    exported_points: ExportedPoints, own_database: Callable[..., str], tmp_path: Path
) -> None:
    packages, target_url = exported_points.packages, own_database()
    run_shop(packages, "migrate", **external(target_url))
    refusals = []
    for change in (rename_revision, rename_table):
        file = rewrite(exported_points.file, tmp_path / f"{change.__name__}.zip", manifest=change)
        refusals.append(run_shop(packages, "import", "--all", str(file), **external(target_url)))
    execute(target_url, _ROWS[0])
    refusals.append(run_shop(packages, "import", "--all", str(exported_points.file), **external(target_url)))

    assert [each.returncode for each in refusals] == [1, 1, 1]
    assert "which is newer than the installed 1.0.0" in refusals[0].stderr
    assert "a table that this version does not know: 'users'" in refusals[1].stderr
    assert "the table x_loyalty_accounts has rows" in refusals[2].stderr
