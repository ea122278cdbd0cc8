"""`shop doctor` gives advice whatever is wrong, and never ends in a traceback."""

import socket
import socketserver
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.command import Command, Result, external
from tests.cluster import execute
from tests.db.processes import fetch_value
from tests.service import KEYS

WRONG_PASSWORD = b'SFATAL\0VFATAL\0C28P01\0Mpassword authentication failed for user "shop"\0\0'


class RefusingHandler(socketserver.BaseRequestHandler):
    """A PostgreSQL that refuses every password."""

    def handle(self) -> None:
        (length, code) = struct.unpack("!II", self.request.recv(8))
        if code == 80877103:  # A request for TLS.
            self.request.sendall(b"N")
            (length, code) = struct.unpack("!II", self.request.recv(8))
        self.request.recv(length - 8)
        self.request.sendall(b"E" + struct.pack("!I", len(WRONG_PASSWORD) + 4) + WRONG_PASSWORD)


@contextmanager
def refusing_server() -> Iterator[int]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), RefusingHandler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def line_of(result: Result, name: str) -> str:
    return next(line for line in result.stdout.splitlines() if line[8:].startswith(f"{name}: "))


def assert_all_checked(result: Result) -> None:
    assert result.returncode == 1
    assert "Traceback" not in result.stdout + result.stderr
    assert "this check itself failed" not in result.stdout
    assert line_of(result, "backups")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://shop:hunter2@127.0.0.1:1/shop",
        "postgresql://shop:hunter2@host.invalid/shop",
        "postgresql://shop:hunter2@127.0.0.1/shop?sslmode=nonsense",
        "postgresql://shop:hunter2@127.0.0.1:1,127.0.0.1:2/shop",
        "postgresql:///shop?host=/nowhere&password=hunter2",
        "postgresql://",
    ],
)
def test_a_wrong_database_url_is_explained(url: str, shop: Command, tmp_path: Path) -> None:
    result = shop("doctor", **external(url, SHOP_DATA_DIR=str(tmp_path)))

    assert_all_checked(result)
    assert line_of(result, "database").startswith("  FAIL")
    assert line_of(result, "servers").startswith("  FAIL")
    assert line_of(result, "secret keys").startswith("  ok")
    assert "hunter2" not in result.stdout + result.stderr


def test_a_wrong_password_is_explained(shop: Command, tmp_path: Path) -> None:
    with refusing_server() as port:
        url = f"postgresql://shop:hunter2@127.0.0.1:{port}/shop"
        result = shop("doctor", **external(url, SHOP_DATA_DIR=str(tmp_path)))

    assert_all_checked(result)
    assert "password authentication failed" in line_of(result, "database")
    assert "hunter2" not in result.stdout + result.stderr


@pytest.mark.torture
def test_servers_that_do_not_answer_cost_their_time_once(shop: Command, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port, start = silent.getsockname()[1], time.monotonic()
        url = f"postgresql://shop:hunter2@127.0.0.1:{port}/shop"
        settings = external(url, SHOP_DATA_DIR=str(tmp_path), SHOP_SMTP_URL=f"smtp://127.0.0.1:{port}")
        result = shop("doctor", **settings)

    assert_all_checked(result)
    # One of them after the other took more than a minute.
    assert time.monotonic() - start < 25
    for name in ("database", "servers", "mail"):
        assert line_of(result, name).startswith("  FAIL")
    for name in ("payments", "test card"):
        assert "payment methods were not checked" in line_of(result, name)


def test_a_directory_that_cannot_be_written_is_explained(shop: Command) -> None:
    result = shop("doctor", SHOP_DATA_DIR="/proc/nowhere")
    read_only = shop("doctor", SHOP_DATA_DIR="/proc")

    for each in (result, read_only):
        assert_all_checked(each)
        assert "choose another with SHOP_DATA_DIR." in line_of(each, "database")


def test_advice_on_keys_fits_the_database(shop: Command, own_database: Callable[..., str], tmp_path: Path) -> None:
    environ = {"SHOP_DATABASE_URL": own_database(), "SHOP_DATA_DIR": str(tmp_path), "SHOP_MAILBOX": "on"}

    without = shop("doctor", **environ)
    (tmp_path / "secret_keys").write_text(KEYS)
    with_file = shop("doctor", **environ)

    assert "set SHOP_SECRET_KEYS too, the same on every machine; generate one with" in line_of(without, "secret keys")
    assert f"its value is the content of {tmp_path}/secret_keys" in line_of(with_file, "secret keys")
    for result in (without, with_file):
        assert line_of(result, "secret keys").startswith("  FAIL")
        assert "shop serve` will create" not in result.stdout


def test_secrets_of_unknown_keys_are_reported(shop: Command, own_database: Callable[..., str], tmp_path: Path) -> None:
    url = own_database()
    role = fetch_value(url, "select id from roles limit 1")
    execute(
        url,
        "insert into operators (id, email, email_key, totp_sealed, role_id, created_at, updated_at) values "
        f"(gen_random_uuid(), 'a', 'a', convert_to('k9:' || repeat('x', 40), 'UTF8'), '{role}', now(), now())",
    )

    result = shop("doctor", **external(url, SHOP_DATA_DIR=str(tmp_path)))

    assert "encrypted with the keys k9, which are not configured" in line_of(result, "secret keys")


def test_backups_that_fail_or_are_old_are_reported(
    shop: Command, own_database: Callable[..., str], tmp_path: Path
) -> None:
    place, url = tmp_path / "backups", own_database()
    environ = {**external(url, SHOP_DATA_DIR=str(tmp_path)), "SHOP_BACKUP_URL": str(place)}
    row = "insert into backups (id, place, folder, state, started_at, ended_at, error) values"
    place.mkdir()

    first = shop("doctor", **environ)
    execute(url, f"{row} (gen_random_uuid(), '{place}', 'x', 'complete', now() - interval '3 days', now(), null)")
    old = shop("doctor", **environ)
    execute(url, f"{row} (gen_random_uuid(), '{place}', 'x', 'failed', now(), now(), 'the disk is full')")
    failed = shop("doctor", **environ)

    assert line_of(first, "backups").startswith(f"  ok    backups: none yet in {place}")
    assert line_of(old, "backups").startswith(f"  FAIL  backups: the newest in {place} is 72 hours old")
    assert line_of(failed, "backups") == "  FAIL  backups: 1 attempts failed since the newest one: the disk is full"
