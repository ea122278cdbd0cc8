"""`shop import --all` accepts a complete file of a known version for an empty shop, and saves all of it or nothing."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.cli.command import Command, external, sentence
from tests.cluster import Cluster, execute
from tests.sampling import first
from tests.shop_files.zip_files import damage, find_table, read_member, rewrite

USERS = "records/users.jsonl"


@pytest.fixture(scope="module")
def small_file(cluster: Cluster, worker_name: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The file of a shop with one customer."""
    with cluster.database(f"small_{worker_name}") as url:
        execute(
            url,
            "insert into users (id, email, email_key, created_at, updated_at)"
            " values (gen_random_uuid(), 'ada@example.org', 'ada@example.org', now(), now())",
        )
        file = tmp_path_factory.mktemp("small") / "shop.zip"
        result = Command()("export", "--all", str(file), **external(url))
        assert result.returncode == 0, result
        yield file


async def count_users(settings: dict[str, str]) -> int:
    db = await asyncpg.connect(settings["SHOP_DATABASE_URL"])
    try:
        count: int = await db.fetchval("select count(*) from users")
        return count
    finally:
        await db.close()


def change_line(file: Path, **values: Any) -> bytes:
    """The line of the customer with other values."""
    return json.dumps({**json.loads(read_member(file, USERS)), **values}).encode() + b"\n"


def set_value(table: str | None, name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        (find_table(document, table) if table else document)[name] = value

    return change


async def test_a_dry_run_saves_nothing(shop: Command, small_file: Path, empty_shop: dict[str, str]) -> None:
    dry_run = shop("import", "--all", str(small_file), "--dry-run", **empty_shop)
    user_count = await count_users(empty_shop)
    result = shop("import", "--all", str(small_file), **empty_shop)

    assert (dry_run.returncode, dry_run.stdout.startswith("The file is valid: ")) == (0, True), dry_run
    assert user_count == 0
    assert (result.returncode, await count_users(empty_shop)) == (0, 1), result


async def test_a_shop_that_is_not_empty_stays_as_it_is(
    shop: Command, small_file: Path, empty_shop: dict[str, str]
) -> None:
    shop("import", "--all", str(small_file), **empty_shop)

    assert "The shop is not empty: the table users has rows." in sentence(
        shop("import", "--all", str(small_file), **empty_shop)
    )
    assert await count_users(empty_shop) == 1


@pytest.mark.torture
async def test_of_two_concurrent_imports_one_succeeds(
    shop: Command, small_file: Path, empty_shop: dict[str, str]
) -> None:
    results = shop.run_concurrently(2, "import", "--all", str(small_file), **empty_shop)

    assert sorted(result.returncode for result in results) == [0, 1], results
    assert await count_users(empty_shop) == 1


def test_a_truncated_file_is_refused(
    shop: Command, small_file: Path, empty_shop: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "short.zip"
    file.write_bytes(small_file.read_bytes()[:-2000])

    assert "damaged or incomplete" in sentence(shop("import", "--all", str(file), **empty_shop))


async def test_a_damaged_member_is_refused(
    shop: Command, small_file: Path, empty_shop: dict[str, str], tmp_path: Path
) -> None:
    file = damage(small_file, tmp_path / "damaged.zip", USERS)

    assert "damaged or incomplete" in sentence(shop("import", "--all", str(file), **empty_shop))
    assert await count_users(empty_shop) == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    first(
        6,
        [
            ({"manifest": set_value(None, "format", 99)}, "this version reads up to 1. Install a newer one."),
            ({"manifest": set_value(None, "format", 0)}, "The file has format 0, which no version writes"),
            ({"manifest": set_value(None, "format", "1")}, "The manifest of the file cannot be read"),
            ({"manifest": set_value(None, "revision", "9999")}, "newer than this program"),
            ({"manifest": set_value(None, "tables", "all")}, "The manifest of the file cannot be read"),
            ({"manifest": set_value("users", "name", "people")}, "a table that this version does not know: 'people'"),
            ({"manifest": set_value("users", "columns", ["id", "shoe_size"])}, "does not know: users.shoe_size"),
            ({"manifest": set_value("users", "columns", ["id", "email"])}, "The file lacks the column users.email_key"),
            ({"manifest": set_value("users", "sha256", "0" * 64)}, "users.jsonl in the file differs from its checksum"),
            ({"manifest": set_value("users", "size", 10)}, "users.jsonl in the file is larger than its manifest says"),
            ({"manifest": set_value("users", "size", 1 << 40)}, "compressed too strongly to be genuine"),
            ({"manifest": set_value("users", "rows", 2)}, "The file has 1 rows of users, but its manifest says 2"),
            ({"members": {"../../etc/passwd": b""}}, "a member that is not part of an export: '../../etc/passwd'"),
            ({"members": {"media/../x/240.webp": b""}}, "a member that is not part of an export"),
            (
                {"members": {USERS: b"{}\n"}},
                "Line 1 of users in the file is not valid: Object missing required field `id`",
            ),
            ({"members": {USERS: b"no json\n"}}, "Line 1 of users in the file is not valid: JSON is malformed"),
        ],
    ),
)
async def test_a_file_that_differs_from_an_export_is_refused(
    shop: Command,
    small_file: Path,
    empty_shop: dict[str, str],
    tmp_path: Path,
    changes: dict[str, Any],
    message: str,
) -> None:
    file = rewrite(small_file, tmp_path / "changed.zip", **changes)

    assert message in sentence(shop("import", "--all", str(file), **empty_shop))
    assert await count_users(empty_shop) == 0


@pytest.mark.parametrize(
    ("values", "message"),
    first(
        2,
        [
            ({"email": "a\0b"}, "The rows of users in the file are not valid"),
            ({"created_at": "yesterday"}, "Invalid RFC3339 encoded datetime"),
            ({"created_at": "2030-01-01T00:00:00"}, "Line 1 of users in the file is not valid"),
            ({"shoe_size": 42}, "Object contains unknown field `shoe_size`"),
            ({"public_metadata": {"a": "\0"}}, "The rows of users in the file are not valid"),
            ({"email": None}, "Expected `str`, got `null` - at `$.email`"),
        ],
    ),
)
async def test_a_line_with_an_invalid_value_is_refused(
    shop: Command, small_file: Path, empty_shop: dict[str, str], tmp_path: Path, values: dict[str, Any], message: str
) -> None:
    file = rewrite(small_file, tmp_path / "changed.zip", members={USERS: change_line(small_file, **values)})

    assert message in sentence(shop("import", "--all", str(file), **empty_shop))
    assert await count_users(empty_shop) == 0


async def test_a_reference_to_a_missing_row_is_refused(
    shop: Command, small_file: Path, empty_shop: dict[str, str], tmp_path: Path
) -> None:
    file = rewrite(small_file, tmp_path / "changed.zip", members={"records/countries.jsonl": b""})

    assert "not valid: reference: fk_states_country_id" in sentence(shop("import", "--all", str(file), **empty_shop))
    assert await count_users(empty_shop) == 0


async def test_a_file_of_an_older_version_gets_the_defaults_of_new_columns(
    shop: Command, small_file: Path, empty_shop: dict[str, str], tmp_path: Path
) -> None:
    line = json.loads(read_member(small_file, USERS))
    del line["tags"]

    def leave_out(document: dict[str, Any]) -> None:
        find_table(document, "users")["columns"].remove("tags")
        document["revision"] = "0034"

    members = {USERS: json.dumps(line).encode() + b"\n"}
    file = rewrite(small_file, tmp_path / "older.zip", members=members, manifest=leave_out)
    result = shop("import", "--all", str(file), **empty_shop)

    assert result.returncode == 0, result
    assert await count_users(empty_shop) == 1


async def test_an_unknown_member_of_the_manifest_is_ignored(
    shop: Command, small_file: Path, empty_shop: dict[str, str], tmp_path: Path
) -> None:
    """So that a newer version can say more about a file that this one can read."""
    file = rewrite(small_file, tmp_path / "noted.zip", manifest=set_value(None, "note", "x"))

    assert shop("import", "--all", str(file), **empty_shop).returncode == 0
    assert await count_users(empty_shop) == 1


def test_secrets_need_the_keys_of_the_exported_shop(
    shop: Command, own_database: Callable[..., str], empty_shop: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "secrets.zip"
    exported = shop("export", "--all", str(file), "--with-secrets", **external(own_database()))
    keys = {"SHOP_SECRET_KEYS": "other:" + "6b" * 32}

    assert exported.returncode == 0, exported
    assert "need the server keys of the shop that was exported" in sentence(
        shop("import", "--all", str(file), **{**empty_shop, **keys})
    )


def test_an_export_replaces_no_file_and_contains_no_secrets_by_default(
    shop: Command, small_file: Path, empty_shop: dict[str, str]
) -> None:
    manifest = json.loads(read_member(small_file, "manifest.json"))

    assert "exists; name another file" in sentence(shop("export", "--all", str(small_file), **empty_shop))
    assert "application_secrets" not in [table["name"] for table in manifest["tables"]]
    assert not {"password_hash", "totp_sealed"} & set(find_table(manifest, "operators")["columns"])


def test_other_options_cannot_be_combined(shop: Command) -> None:
    for arguments in (
        ("export", "products", "--all", "x"),
        ("import", "x", "--all", "y"),
        ("export", "--with-secrets"),
    ):
        assert shop(*arguments).returncode == 2
