"""`shop migrate`, `shop doctor` and `shop routes`, and the help of every command."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from shop.cli.main import COMMANDS
from shop.cli.main import shop as commands
from shop.migrations.upgrade import list_revisions, newest_revision
from tests.cli.command import Command, external, sentence
from tests.cluster import execute
from tests.db.processes import fetch_value
from tests.service import KEYS, SHOP, clean_environ

OwnDatabase = Callable[..., str]


def steps_of(progress: str) -> list[str]:
    """The revisions that were printed, one on each line with its title."""
    return [line.split()[0] for line in progress.splitlines()]


@pytest.mark.torture
def test_a_second_migration_reports_an_up_to_date_database(shop: Command, own_database: OwnDatabase) -> None:
    settings = external(own_database(template="template0"))

    first, second = shop("migrate", **settings), shop("migrate", **settings)

    newest = newest_revision()
    assert (first.returncode, first.stdout) == (0, f"Migrated from an empty database to revision {newest}.\n")
    assert (second.returncode, second.stdout) == (0, f"The database is up to date (revision {newest}).\n")
    assert (steps_of(first.stderr), second.stderr) == (list_revisions(), "")


@pytest.mark.torture
def test_four_concurrent_migrations_all_succeed(shop: Command, own_database: OwnDatabase) -> None:
    url = own_database(template="template0")

    four = shop.run_concurrently(4, "migrate", **external(url))

    assert [result.returncode for result in four] == [0] * 4
    # One of them runs all migrations, and the others wait for it.
    assert sorted(steps_of(result.stderr) for result in four) == [[], [], [], list_revisions()]
    assert fetch_value(url, "select version_num from alembic_version") == newest_revision()
    assert fetch_value(url, "select count(*) from shops") == 1


@pytest.mark.torture
def test_a_migration_does_not_change_a_database_that_is_ahead(shop: Command, own_database: OwnDatabase) -> None:
    url = own_database()
    fetch_value(url, "update alembic_version set version_num = 'ffff' returning version_num")

    result = shop("migrate", **external(url))

    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "The database is up to date (revision ffff, ahead of this program).\n"


@pytest.mark.torture
def test_a_migration_of_an_unreachable_database_fails_with_a_message(shop: Command) -> None:
    message = sentence(shop("migrate", **external("postgresql://shop@127.0.0.1:1/shop")))

    assert message.startswith("The database does not answer (")


def test_the_doctor_reports_every_check_as_ok(shop: Command, own_database: OwnDatabase, tmp_path: Path) -> None:
    result = shop("doctor", **external(own_database(), SHOP_DATA_DIR=str(tmp_path)))

    assert (result.returncode, result.stderr) == (0, "")
    free_space = re.findall(r"disk: (.*) are free", result.stdout)[0]
    assert result.stdout.splitlines() == [
        "  ok    configuration: every SHOP_ variable is known and valid",
        f"  ok    data directory: {tmp_path} can be written",
        f"  ok    database: the configured PostgreSQL responds and is at revision {newest_revision()}",
        "  ok    pooler: none found between the shop and PostgreSQL",
        "  ok    replicas: none configured; the primary serves all reads",
        "  ok    secret keys: Keys(t1), the first signs",
        "  ok    mail: stored locally; anyone can read the login codes of all users at /mailbox",
        f"  ok    images: in {tmp_path / 'media'}",
        "  ok    payments: Stripe is not configured, and no payment method needs it",
        "  ok    test card: disabled, because this is not a try-out",
        "  ok    proxy: none configured; limits by source do not apply to callers from this machine",
        f"  ok    disk: {free_space} are free in {tmp_path}",
        "  ok    servers: the primary answers",
        "  ok    clock: differs by 0.0 s from that of the database",
        "  ok    certificates: none are used",
        "  ok    backups: none are scheduled; set SHOP_BACKUP_URL, or back up in another way (docs/backup.md)",
        "  ok    archive: no orders are archived; SHOP_ARCHIVE_URL is for many old ones (docs/scaling.md)",
        "  ok    extensions: none installed",
    ]


def test_the_doctor_reports_every_problem_with_advice(shop: Command, tmp_path: Path) -> None:
    result = shop(
        "doctor",
        SHOP_DATA_DIR=str(tmp_path),
        SHOP_DATABASE_URL="postgresql://shop:hunter2@127.0.0.1:1/shop",
        SHOP_PUBLIC_URL="https://shop.example",
    )

    assert (result.returncode, result.stderr) == (1, "")
    checks = [(line[2:6].strip(), line[8:].partition(":")[0]) for line in result.stdout.splitlines()]
    assert checks == [
        ("ok", "configuration"),
        ("ok", "data directory"),
        ("FAIL", "database"),
        ("ok", "pooler"),
        ("ok", "replicas"),
        ("FAIL", "secret keys"),
        ("FAIL", "mail"),
        ("ok", "images"),
        ("ok", "payments"),
        ("ok", "test card"),
        ("FAIL", "proxy"),
        ("ok", "disk"),
        ("FAIL", "servers"),
        ("FAIL", "clock"),
        ("ok", "certificates"),
        ("ok", "backups"),
        ("ok", "archive"),
        ("ok", "extensions"),
    ]
    for advice in (
        "check SHOP_DATABASE_URL",
        "set SHOP_SECRET_KEYS",
        "set SHOP_SMTP_URL",
        "set it to the proxy's address",
    ):
        assert advice in result.stdout
    assert "hunter2" not in result.stdout


@pytest.mark.security("C-13")
def test_the_doctor_reports_a_test_card_outside_a_try_out(
    shop: Command, own_data_dir: Callable[[], tuple[Path, str]]
) -> None:
    data_dir, url = own_data_dir()
    method = "insert into payment_methods (id, name, type, active, display_on, created_at, updated_at)"
    execute(url, f"{method} values (gen_random_uuid(), 'Card', 'test_card', true, 'back_end', now(), now())")

    def report(*arguments: str, **environ: str) -> tuple[int, str]:
        result = shop("doctor", *arguments, SHOP_DATA_DIR=str(data_dir), SHOP_SECRET_KEYS=KEYS, **environ)
        return result.returncode, next(line for line in result.stdout.splitlines() if " test card: " in line)

    inside = report()
    elsewhere = [
        report("--host", "0.0.0.0", SHOP_MAILBOX="on"),
        report(SHOP_DATABASE_URL=url, SHOP_MAILBOX="on"),
    ]
    execute(url, "update payment_methods set active = false where type = 'test_card'")
    switched_off = report("--host", "0.0.0.0", SHOP_MAILBOX="on")

    assert inside == (0, "  ok    test card: enabled, because this is a try-out; it takes no money")
    assert {code for code, _ in elsewhere} == {1}
    assert all(line.startswith("  FAIL  test card: ") and "Settings, Payments" in line for _, line in elsewhere)
    assert switched_off == (0, "  ok    test card: disabled, because this is not a try-out")


def test_the_doctor_reports_an_invalid_setting_like_a_start(shop: Command) -> None:
    message = sentence(shop("doctor", SHOP_DRAIN_SECONDS="soon"))

    assert message == "SHOP_DRAIN_SECONDS cannot be read: give a number of seconds."


def test_routes_lists_every_route_with_handler_and_access(shop: Command) -> None:
    result = shop("routes")

    rows = [re.split(r"\s{2,}", line.strip()) for line in result.stdout.splitlines()]
    assert rows[0] == ["method", "address", "handler", "who may call"]
    assert ["POST", "/api/v2/storefront/cart", "storefront.cart.create", "anyone"] in rows
    assert ["GET", "/api/v2/storefront/cart", "storefront.cart.show"] in [row[:3] for row in rows]
    assert ["GET", "/readyz", "site", "anyone"] in rows
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.torture
@pytest.mark.parametrize(
    "arguments",
    [["routes"], *(pytest.param(words, marks=pytest.mark.torture) for words in (["--help"], ["serve", "--help"]))],
)
def test_a_closed_output_pipe_prints_no_error(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    result = subprocess.run(
        [SHOP, *arguments], env=clean_environ(), stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)

    # The libraries that print exit with 1, which a pipe ignores.
    assert (result.stderr, result.returncode) == ("", 1)


@pytest.mark.torture
def test_the_output_of_routes_can_be_piped_to_head() -> None:
    result = subprocess.run(
        f"{SHOP} routes | head -1", shell=True, env=clean_environ(), capture_output=True, text=True, check=False
    )

    assert (result.stdout.split(), result.stderr) == (["method", "address", "handler", "who", "may", "call"], "")


def test_the_help_of_every_command_has_an_example() -> None:
    for name in COMMANDS:
        result = CliRunner().invoke(commands, [name, "--help"])

        assert result.exit_code == 0
        assert re.search(rf"\n  Example: .*\bshop {name}\b", result.output), name
    assert {"serve", "migrate", "routes", "doctor"} <= set(COMMANDS)
