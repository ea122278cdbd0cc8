"""Starting: each error is one helpful sentence, and the files that the shop creates are private.

Also commands that start beside a running shop, and share its database.
"""

import asyncio
import fcntl
import os
import re
import socket
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from shop.app.configuration import read_keys
from shop.base.config.settings import read_settings
from shop.base.errors import CannotStart
from shop.cli.prepare import ensure_keys
from shop.db.embedded import database_url as embedded_url
from shop.migrations.upgrade import newest_revision
from tests.cli.command import Command, external, sentence
from tests.cluster import Cluster, with_database
from tests.db.processes import fetch_value, running_pids, serving, until, wait_for_first_exit
from tests.forkserver import ForkedCommand
from tests.service import Service, clean_environ

OwnDatabase = Callable[..., str]


def test_a_port_in_use_by_another_program_is_refused(shop: Command, database_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])

        message = sentence(shop.serve("--port", port, **external(database_url)))

    reason = f"Port {port} is in use on 127.0.0.1"
    assert message == f"{reason}; stop the other process, or choose another --port or SHOP_PORT."


def test_the_port_of_the_settings_is_used_unless_an_option_replaces_it(shop: Command, database_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        ports = [str(listener.getsockname()[1]) for listener in (one, other)]
        setting = external(database_url, SHOP_PORT=ports[0])

        by_setting = sentence(shop("serve", **setting))
        by_option = sentence(shop("serve", "--port", ports[1], **setting))

    assert f"Port {ports[0]} is in use" in by_setting
    assert f"Port {ports[1]} is in use" in by_option


def test_the_host_of_the_settings_is_used_unless_an_option_replaces_it(shop: Command, database_url: str) -> None:
    setting = external(database_url, SHOP_HOST="192.0.2.1")

    assert sentence(shop.serve(**setting)).startswith("192.0.2.1 is not an address")
    assert sentence(shop.serve("--host", "198.51.100.7", **setting)).startswith("198.51.100.7 is not an address")


@pytest.mark.parametrize("port", ["65536", "-1", "http", "tcp://10.0.0.1:80"])
def test_an_invalid_port_is_refused(shop: Command, port: str) -> None:
    assert sentence(shop.serve(SHOP_PORT=port)).startswith("SHOP_PORT cannot be read: give a ")


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_port_in_use_by_another_shop_is_refused(
    shop: Command, embedded_shop: tuple[Service, Path], database_url: str, host: str
) -> None:
    port = str(urlsplit(embedded_shop[0].url).port)

    message = sentence(shop.serve("--host", host, "--port", port, **external(database_url)))

    assert message == f"Port {port} is in use on {host}; stop the other process, or choose another --port or SHOP_PORT."


def test_of_two_shops_starting_concurrently_on_one_port_one_is_refused(embedded_shop: tuple[Service, Path]) -> None:
    data_dir = embedded_shop[1]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
    with (data_dir / "postgres.control").open("r+") as control:
        # A process that found the port free waits for this lock: neither listens yet.
        fcntl.flock(control, fcntl.LOCK_EX)
        processes = [
            ForkedCommand(["serve", "--port", port], clean_environ(SHOP_DATA_DIR=str(data_dir))) for _ in range(2)
        ]
        first_index = wait_for_first_exit(*processes, seconds=20)
        for process in processes:
            process.kill()
            process.wait(10)
    messages = []
    for process in processes:
        with process.stderr:
            messages.append(process.stderr.read())

    assert first_index is not None
    assert messages[first_index].startswith(f"shop: Port {port} is in use on 127.0.0.1; ")


def test_a_host_that_is_not_of_this_machine_is_refused(shop: Command, database_url: str) -> None:
    message = sentence(shop.serve("--host", "192.0.2.1", **external(database_url)))

    assert message == "192.0.2.1 is not an address of this machine; give another --host or SHOP_HOST."


@pytest.fixture(scope="module")
def ahead_at_localhost(cluster: Cluster, worker_name: str) -> Iterator[Service]:
    """A shop that listens at a host name, on a database that a newer program has migrated."""
    with cluster.database(f"ahead_{worker_name}") as url:
        fetch_value(url, "update alembic_version set version_num = 'ffff' returning version_num")
        with serving("--host", "localhost", **external(url), SHOP_DRAIN_SECONDS="0") as service:
            yield service


def test_a_shop_can_listen_at_localhost(ahead_at_localhost: Service) -> None:
    assert urlsplit(ahead_at_localhost.url).hostname == "localhost"
    assert ahead_at_localhost.get("/livez").status_code == 200


def test_an_unknown_setting_is_refused_with_the_nearest_known_name(shop: Command) -> None:
    message = sentence(shop.serve(SHOP_DATABSE_URL="postgresql://shop@db/shop"))

    assert message == "SHOP_DATABSE_URL is not a known setting; did you mean SHOP_DATABASE_URL?"


@pytest.mark.parametrize("url", ["mysql://shop:hunter2@db/shop", "/run/postgresql"])
def test_a_database_url_of_another_scheme_is_refused(shop: Command, url: str) -> None:
    message = sentence(shop.serve(**external(url)))

    assert message == "SHOP_DATABASE_URL cannot be read: give a URL that begins with postgresql://."


def test_an_unreachable_database_is_reported_without_its_password(shop: Command) -> None:
    message = sentence(shop.serve(**external("postgresql://shop:hunter2@127.0.0.1:1/shop")))

    assert message.startswith("The database does not answer (")
    assert message.endswith("; check SHOP_DATABASE_URL and that it runs.")
    assert "hunter2" not in message


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://shop:hunter2/x@127.0.0.1/shop",
        "postgresql://shop:hunter2#x@127.0.0.1/shop",
        "postgresql://shop:hunter2@127.0.0.1:99999/shop",
    ],
)
def test_a_malformed_database_url_is_reported_without_its_password(shop: Command, url: str) -> None:
    message = sentence(shop.serve(**external(url)))

    assert "SHOP_DATABASE_URL" in message
    assert "hunter2" not in message


@pytest.mark.parametrize("command", [("serve", "--port", "0"), ("migrate",)])
def test_a_missing_root_certificate_is_reported_with_its_path(
    shop: Command, tmp_path: Path, command: tuple[str, ...]
) -> None:
    url = "postgresql://shop:hunter2@127.0.0.1:1/shop?sslmode=verify-full"

    message = sentence(shop(*command, **external(url, HOME=str(tmp_path))))

    assert message == (
        f'SHOP_DATABASE_URL cannot be used: root certificate file "{tmp_path}/.postgresql/root.crt" does not exist or '
        "cannot be accessed; put the certificate of the database's authority there, or name its file with "
        "sslrootcert=FILE in the URL."
    )


def test_an_invalid_parameter_of_the_database_url_is_named(shop: Command) -> None:
    message = sentence(shop.serve(**external("postgresql://shop:hunter2@127.0.0.1:1/shop?sslmode=certainly")))

    assert message.startswith("SHOP_DATABASE_URL cannot be used: `sslmode` parameter must be one of: ")
    assert message.endswith("; mend that parameter of the URL.")
    assert "hunter2" not in message


def test_an_unknown_database_is_named(shop: Command, database_url: str) -> None:
    message = sentence(shop.serve(**external(with_database(database_url, "no_such_shop"))))

    assert message == (
        'The database does not answer (database "no_such_shop" does not exist); '
        "check SHOP_DATABASE_URL and that it runs."
    )


async def is_locked(url: str) -> bool:
    try:
        connection = await asyncpg.connect(url)
    except asyncpg.InvalidPasswordError:
        return True
    await connection.close()
    return False


def test_a_wrong_database_password_is_reported_but_not_printed(
    shop: Command, embedded_shop: tuple[Service, Path]
) -> None:
    url = embedded_url(embedded_shop[1])
    rules = Path(fetch_value(url, "show hba_file"))
    rules.write_text("local all locked scram-sha-256\n" + rules.read_text())
    fetch_value(url, "create role locked login password 'right'", "select pg_reload_conf()")
    wrong = url.replace("user=shop", "user=locked&password=hunter2")
    asyncio.run(until(lambda: is_locked(wrong)))

    message = sentence(shop.serve(**external(wrong)))

    assert message == (
        'The database does not answer (password authentication failed for user "locked"); '
        "check SHOP_DATABASE_URL and that it runs."
    )


@pytest.mark.parametrize("command", [("serve", "--port", "0"), ("migrate",)])
def test_a_database_user_without_privileges_is_reported(
    shop: Command, embedded_shop: tuple[Service, Path], command: tuple[str, ...]
) -> None:
    url = embedded_url(embedded_shop[1])
    fetch_value(url, "drop role if exists unprivileged", "create role unprivileged login", "select 1")

    message = sentence(shop(*command, **external(url.replace("user=shop", "user=unprivileged"))))

    assert "permission denied" in message


@pytest.mark.parametrize("is_empty", [True, False])
def test_a_database_that_is_behind_is_refused(shop: Command, own_database: OwnDatabase, is_empty: bool) -> None:
    url = own_database(template="template0") if is_empty else own_database()
    if not is_empty:
        fetch_value(url, "update alembic_version set version_num = '0001'")

    message = sentence(shop.serve(**external(url)))

    assert message == "The database is behind this program; run `shop migrate` first."


def test_a_database_that_is_ahead_is_served(ahead_at_localhost: Service) -> None:
    ready = ahead_at_localhost.get("/readyz")
    cart = ahead_at_localhost.post("/api/v2/storefront/cart")

    assert (ready.status_code, cart.status_code) == (200, 201)


def test_an_enabled_mailbox_does_not_enable_the_metrics(ahead_at_localhost: Service) -> None:
    statuses = [ahead_at_localhost.get(path).status_code for path in ("/mailbox", "/metrics")]

    assert statuses == [200, 404]


@pytest.mark.security("A-03")
def test_an_external_database_needs_secret_keys(shop: Command, database_url: str, tmp_path: Path) -> None:
    message = sentence(shop.serve(SHOP_DATA_DIR=str(tmp_path), SHOP_DATABASE_URL=database_url))

    assert message.startswith("With SHOP_DATABASE_URL, set SHOP_SECRET_KEYS too, the same on every machine; ")
    command = re.fullmatch(r".*; generate one with: (.+)", message)
    assert command
    generated_key = subprocess.run(command[1], shell=True, capture_output=True, text=True, check=True).stdout.strip()
    assert re.fullmatch(r"k1:[0-9a-f]{64}", generated_key)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mailbox", ["off", None])
def test_an_external_database_needs_a_mail_server_or_the_mailbox(
    shop: Command, database_url: str, mailbox: str | None
) -> None:
    settings = {**external(database_url), "SHOP_MAILBOX": mailbox}

    message = sentence(shop.serve(**{name: value for name, value in settings.items() if value}))

    assert message == "E-mail is not configured: set SHOP_SMTP_URL, or SHOP_MAILBOX=on to read e-mails at /mailbox."


@pytest.mark.parametrize("keys", ["k1:" + "ab" * 31, "k1:" + "ab" * 32 + ",abababab", "ab" * 32])
def test_malformed_secret_keys_are_not_printed(shop: Command, database_url: str, keys: str) -> None:
    message = sentence(shop.serve(**external(database_url, SHOP_SECRET_KEYS=keys)))

    assert message.startswith("SHOP_SECRET_KEYS cannot be read: entry ")
    assert "abab" not in message


def test_an_external_database_does_not_use_the_key_file_of_the_data_directory(
    shop: Command, database_url: str, tmp_path: Path
) -> None:
    (tmp_path / "secret_keys").write_text(f"k1:{'ab' * 32}\n")

    message = sentence(shop.serve(SHOP_DATA_DIR=str(tmp_path), SHOP_DATABASE_URL=database_url))

    assert message.startswith("With SHOP_DATABASE_URL, set SHOP_SECRET_KEYS too")


def _data_dirs(tmp_path: Path) -> dict[str, Path]:
    (tmp_path / "file").touch()
    return {
        "a file": tmp_path / "file",
        "under a file": tmp_path / "file" / "var",
        "not creatable": Path("/proc/none"),
        "not writable": Path("/proc"),
    }


@pytest.mark.parametrize("case", ["a file", "under a file", "not creatable", "not writable"])
def test_a_data_directory_that_cannot_be_written_is_named(shop: Command, tmp_path: Path, case: str) -> None:
    path = _data_dirs(tmp_path)[case]

    message = sentence(shop.serve(SHOP_DATA_DIR=str(path)))

    assert message.startswith(f"{path} cannot be ")
    assert message.endswith("; choose another with SHOP_DATA_DIR.")


def mode(path: Path) -> str:
    return oct(path.stat().st_mode & 0o777)


def test_a_first_start_creates_a_private_database_and_private_keys(embedded_shop: tuple[Service, Path]) -> None:
    service, data_dir = embedded_shop

    assert service.get("/readyz").status_code == 200
    assert re.fullmatch(r"k1:[0-9a-f]{64}\n", (data_dir / "secret_keys").read_text())
    assert mode(data_dir / "secret_keys") == "0o600"
    assert {mode(data_dir / name) for name in ("postgres", "run")} == {"0o700"}
    assert int(mode(data_dir), 8) & 0o066 == 0
    assert {path.name for path in data_dir.iterdir() if path.name.startswith("secret")} == {"secret_keys"}


def test_commands_work_beside_a_running_shop(shop: Command, embedded_shop: tuple[Service, Path]) -> None:
    service, data_dir = embedded_shop

    migrate_result = shop("migrate", SHOP_DATA_DIR=str(data_dir))
    doctor_result = shop("doctor", SHOP_DATA_DIR=str(data_dir))

    assert (migrate_result.stdout, migrate_result.stderr) == (
        f"The database is up to date (revision {newest_revision()}).\n",
        "",
    )
    assert doctor_result.returncode == 0
    assert f"the embedded PostgreSQL responds and is at revision {newest_revision()}" in doctor_result.stdout
    assert service.get("/readyz").status_code == 200


def test_a_leftover_file_of_an_interrupted_first_start_does_not_prevent_the_next(
    tmp_path: Path, own_database: OwnDatabase
) -> None:
    settings = read_settings({"SHOP_DATA_DIR": str(tmp_path)})
    (tmp_path / f"secret_keys.{os.getpid()}").touch()  # Left by an earlier start with the same process id.

    ensure_keys(settings, own_database())

    assert re.fullmatch(r"k1:[0-9a-f]{64}\n", (tmp_path / "secret_keys").read_text())


@pytest.mark.security("A-03")
@pytest.mark.parametrize(
    "row",
    [
        "orders (id, number, currency, created_at, updated_at) values (gen_random_uuid(), 'R1', 'USD', now(), now())",
        "users (id, email, email_key, created_at, updated_at) "
        "values (gen_random_uuid(), 'a@b.example', 'a@b.example', now(), now())",
        "operators (id, email, email_key, created_at, updated_at) "
        "values (gen_random_uuid(), 'a@b.example', 'a@b.example', now(), now())",
    ],
    ids=lambda row: str(row).split()[0],
)
def test_lost_keys_are_not_replaced_if_the_database_has_data(
    tmp_path: Path, own_database: OwnDatabase, row: str
) -> None:
    url = own_database()
    fetch_value(url, f"insert into {row}")

    with pytest.raises(CannotStart, match="restore the file, or set SHOP_SECRET_KEYS") as exc_info:
        ensure_keys(read_settings({"SHOP_DATA_DIR": str(tmp_path)}), url)

    assert str(tmp_path / "secret_keys") in str(exc_info.value)
    assert list(tmp_path.iterdir()) == []


def test_concurrent_first_starts_create_one_key(tmp_path: Path, own_database: OwnDatabase) -> None:
    settings, url = read_settings({"SHOP_DATA_DIR": str(tmp_path)}), own_database()

    def start(_: int) -> bytes:
        ensure_keys(settings, url)
        return read_keys(settings).derived("k1", "test")

    with ThreadPoolExecutor(16) as starts:
        keys = set(starts.map(start, range(16)))

    assert len(keys) == 1
    assert [(path.name, mode(path)) for path in tmp_path.iterdir()] == [("secret_keys", "0o600")]


@pytest.mark.torture
def test_a_failed_start_leaves_no_files_or_processes(shop: Command, base_dir: Path) -> None:
    data_dir, temp = base_dir / "failed", base_dir / "tmp"
    temp.mkdir()

    # The database is made and started before the malformed key file is read.
    data_dir.mkdir(mode=0o711)
    (data_dir / "secret_keys").write_text("nonsense")
    message = sentence(shop.serve(SHOP_DATA_DIR=str(data_dir), TMPDIR=str(temp)))

    assert message.startswith(f"{data_dir}/secret_keys cannot be read")
    assert list(temp.iterdir()) == []
    assert running_pids(data_dir) == []


if os.geteuid() == 0:  # Only for root does the server run under a separate account.

    def test_a_data_directory_that_the_database_user_cannot_access_is_named(shop: Command, base_dir: Path) -> None:
        closed_dir = base_dir / "closed"
        closed_dir.mkdir(mode=0o700)

        message = sentence(shop.serve(SHOP_DATA_DIR=str(closed_dir / "shop" / "var")))

        assert message == (
            f"The embedded database runs as shop-postgres, which cannot access {closed_dir}; "
            "choose a SHOP_DATA_DIR that it can access, or run the shop as an ordinary user."
        )
