"""Mails leave over real SMTP, after the work that wanted them, at least once and never lost while they are of use."""

import os
import re
import signal
import subprocess
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from tests.cluster import make_run_dir, remove_run_dir
from tests.mailserver import MailServer
from tests.service import KEYS, SHOP, Service, clean_environ

AUTH = "/api/v2/storefront/auth"


def ask(url: str, email: str) -> httpx.Response:
    return httpx.post(url + AUTH, json={"user": {"email": email}}, timeout=10)


def trade(url: str, email: str, code: str) -> httpx.Response:
    return httpx.post(url + AUTH, json={"user": {"email": email, "code": code}}, timeout=10)


def part(mail: Any, kind: str) -> str:
    return str(mail.get_body((kind,)).get_content())


def code_in(mail: Any) -> str:
    text = part(mail, "plain")
    match = re.search(r"^ {4}(\d{6})\r?$", text, re.MULTILINE)
    assert match, text
    return match[1]


def someone() -> str:
    return f"{uuid.uuid4().hex[:12]}@example.com"


class Posted:
    """A shop with a mail server of its own."""

    def __init__(self, service: Service, server: MailServer, database_url: str) -> None:
        self.service, self.server, self.database_url = service, server, database_url
        self.url = service.url


@pytest.fixture
def start(own_database: Callable[..., str], tmp_path: Path) -> Iterator[Callable[..., Posted]]:
    running: list[Any] = []

    def make(server: MailServer, *, url: str = "smtp://127.0.0.1:{port}", **environ: str) -> Posted:
        server.start()
        running.append(server)
        database_url = own_database()
        service = Service(
            SHOP_DATA_DIR=str(tmp_path),
            SHOP_DATABASE_URL=database_url,
            SHOP_SECRET_KEYS=KEYS,
            SHOP_SMTP_URL=url.format(port=server.port),
            SHOP_MAIL_FROM="Shop <shop@example.org>",
            SHOP_DRAIN_SECONDS="0",
            SHOP_LOG_LEVEL="debug",
            **environ,
        )
        running.append(service)
        return Posted(service, server, database_url)

    yield make
    for item in reversed(running):
        item.stop()


def test_a_code_arrives_by_mail_and_signs_in(start: Callable[..., Posted]) -> None:
    shop, email = start(MailServer()), someone()

    assert ask(shop.url, email).status_code == 200
    (mail,) = shop.server.received.wait(1)

    assert (mail["To"], mail["From"]) == (email, "Shop <shop@example.org>")
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail["Message-ID"].endswith("@example.org>")
    code = code_in(mail)
    html = part(mail, "html")
    assert code in html
    assert "10 minutes" in html
    assert code not in mail["Subject"]
    assert trade(shop.url, email, code).status_code == 200


def test_mail_goes_to_the_stored_spelling_and_nothing_a_caller_supplied_is_in_it(start: Callable[..., Posted]) -> None:
    shop, email = start(MailServer()), someone()
    ask(shop.url, email)
    shop.server.received.wait(1)

    names = {"first_name": "visit evil.example", "last_name": "now"}
    httpx.post(shop.url + AUTH, json={"user": {"email": email.upper(), **names}})

    mail = shop.server.received.wait(2)[1]
    assert mail["To"] == email
    assert "evil" not in mail.as_string()


# The test's own server speaks of itself there: with TLS from the first byte it need not ask for TLS again.
@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
@pytest.mark.parametrize(("tls", "scheme"), [("starttls", "smtp"), ("tls", "smtps")])
def test_mail_goes_over_tls_with_a_login(start: Callable[..., Posted], tmp_path: Path, tls: str, scheme: str) -> None:
    server = MailServer(tls=tls, directory=tmp_path, login=("shop", "p@ss:word"))
    url = scheme + "://shop:p%40ss%3Aword@127.0.0.1:{port}"
    shop = start(server, url=url, SSL_CERT_FILE=str(tmp_path / "certificate.pem"))

    ask(shop.url, someone())

    server.received.wait(1)
    assert server.received.peers == [True]
    assert "p@ss:word" not in "".join(shop.service.lines)


def test_a_server_with_a_certificate_nobody_vouches_for_gets_no_password(
    start: Callable[..., Posted], tmp_path: Path
) -> None:
    server = MailServer(tls="starttls", directory=tmp_path, login=("shop", "secret"))
    shop = start(server, url="smtp://shop:secret@127.0.0.1:{port}")

    ask(shop.url, someone())

    shop.service.wait_for(lambda line: '"mail delayed"' in line)
    assert server.received.mails == []


async def test_while_the_mail_server_is_away_the_api_answers_and_mails_follow_when_it_is_back(
    start: Callable[..., Posted],
) -> None:
    shop, email = start(MailServer()), someone()
    shop.server.stop()
    assert ask(shop.url, email).status_code == 200
    shop.service.wait_for(lambda line: '"mail delayed"' in line)

    shop.server.start()
    db = await asyncpg.connect(shop.database_url)
    await db.execute("update outbox_mails set next_at = now()")
    (mail,) = shop.server.received.wait(1)

    assert trade(shop.url, email, code_in(mail)).status_code == 200
    assert await db.fetchval("select count(*) from outbox_mails where sent_at is not null") == 1
    await db.close()


async def test_a_code_that_is_no_longer_of_use_is_not_sent(start: Callable[..., Posted]) -> None:
    shop, email = start(MailServer()), someone()
    shop.server.stop()
    ask(shop.url, email)
    shop.service.wait_for(lambda line: '"mail delayed"' in line)
    ask(shop.url, email)
    shop.service.wait_for(lambda line: '"mail delayed"' in line, count=2)

    shop.server.start()
    db = await asyncpg.connect(shop.database_url)
    await db.execute("update outbox_mails set next_at = now()")
    (mail,) = shop.server.received.wait(1)

    assert trade(shop.url, email, code_in(mail)).status_code == 200
    reasons = await db.fetch("select last_error from outbox_mails where dead_at is not null")
    assert [row[0] for row in reasons] == ["no longer of use"]
    await db.close()


async def test_a_mail_refused_for_good_is_given_up_visibly_and_blocks_nobody(start: Callable[..., Posted]) -> None:
    shop = start(MailServer())
    shop.server.received.answer = "554 no such mailbox"
    ask(shop.url, someone())
    shop.service.wait_for(lambda line: '"mail given up"' in line)
    shop.server.received.answer = "250 OK"

    ask(shop.url, someone())

    shop.server.received.wait(1)
    db = await asyncpg.connect(shop.database_url)
    assert (
        await db.fetchval("select last_error from outbox_mails where dead_at is not null")
        == "the mail server answered 554"
    )
    await db.close()


async def test_a_kill_between_sending_and_marking_costs_one_duplicate_with_the_same_code(
    start: Callable[..., Posted], tmp_path: Path
) -> None:
    """The mail server has the mail but has not said so when the service is killed; the next one finds a leased row."""
    server, email = MailServer(), someone()
    server.received.hold = threading.Event()
    shop = start(server)
    ask(shop.url, email)
    (first,) = server.received.wait(1)
    for pid in (shop.service.process.pid, *shop.service.worker_pids()):
        os.kill(pid, signal.SIGKILL)
    server.received.hold.set()

    db = await asyncpg.connect(shop.database_url)
    await db.execute("update outbox_mails set locked_until = now()")
    environ = {"SHOP_DATA_DIR": str(tmp_path), "SHOP_DATABASE_URL": shop.database_url, "SHOP_SECRET_KEYS": KEYS}
    environ |= {"SHOP_SMTP_URL": f"smtp://127.0.0.1:{server.port}", "SHOP_MAIL_FROM": "Shop <shop@example.org>"}
    second = Service(**environ, SHOP_DRAIN_SECONDS="0")
    try:
        mails = server.received.wait(2)
        assert trade(second.url, email, code_in(mails[1])).status_code == 200
    finally:
        second.stop()
        await db.close()
    assert len(server.received.mails) == 2
    assert mails[1]["Message-ID"] == first["Message-ID"]
    assert code_in(mails[1]) == code_in(first)


def test_no_mail_leaves_for_a_request_that_was_refused(start: Callable[..., Posted]) -> None:
    shop = start(MailServer())

    for email in ("nobody", "a@example.com, b@example.com", "a@example.com\r\nBcc: b@example.com", "ö@example.com"):
        assert ask(shop.url, email).status_code == 422
    ask(shop.url, someone())

    assert len(shop.server.received.wait(1)) == 1


def test_a_worker_alone_delivers_what_others_queued(own_database: Callable[..., str], tmp_path: Path) -> None:
    url = own_database()
    environ = {"SHOP_DATA_DIR": str(tmp_path), "SHOP_DATABASE_URL": url, "SHOP_SECRET_KEYS": KEYS}
    away = MailServer()
    away.start()
    away.stop()
    service = Service(**environ, SHOP_SMTP_URL=f"smtp://127.0.0.1:{away.port}", SHOP_DRAIN_SECONDS="0")
    ask(service.url, someone())
    service.wait_for(lambda line: '"mail delayed"' in line)
    service.stop()
    server = away.start()
    alone = subprocess.Popen(
        [SHOP, "worker"],
        env=clean_environ(**environ, SHOP_SMTP_URL=f"smtp://127.0.0.1:{server.port}"),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert len(server.received.wait(1)) == 1
    finally:
        alone.terminate()
        _, log = alone.communicate(timeout=20)
        server.stop()
    assert alone.returncode == 0, log


def test_without_a_mail_server_or_mailbox_the_shop_does_not_start(
    own_database: Callable[..., str], tmp_path: Path
) -> None:
    environ = {"SHOP_DATA_DIR": str(tmp_path), "SHOP_DATABASE_URL": own_database(), "SHOP_SECRET_KEYS": KEYS}

    ended = subprocess.run(
        [SHOP, "serve", "--port", "0"],
        env=clean_environ(**environ),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert ended.returncode == 1
    assert "SHOP_SMTP_URL" in ended.stderr
    assert ended.stderr.count("\n") == 1


async def test_with_a_mail_server_no_secret_is_in_any_log_or_in_the_database(start: Callable[..., Posted]) -> None:
    shop, email = start(MailServer()), someone()
    ask(shop.url, email)
    code = code_in(shop.server.received.wait(1)[0])
    pair = trade(shop.url, email, code).json()
    async with httpx.AsyncClient(base_url=shop.url) as http:
        again = {"user": {"email": email, "refresh_token": pair["refresh_token"]}}
        fresh = (await http.post(AUTH, json=again)).json()
        bearer = {"Authorization": f"Bearer {fresh['access_token']}"}
        cart = await http.post("/api/v2/storefront/cart", headers=bearer)
        await http.delete(f"{AUTH}/{fresh['access_token']}")
    token = cart.json()["data"]["attributes"]["token"]
    secrets = [code, *(each[name] for each in (pair, fresh) for name in ("access_token", "refresh_token")), token]
    shop.service.stop()

    log = "".join(shop.service.lines)
    db = await asyncpg.connect(shop.database_url)
    tables = await db.fetch("select tablename from pg_tables where schemaname = 'public'")
    dump = "".join([row[0] for table in tables for row in await db.fetch(f"select t::text from {table[0]} t")])
    await db.close()
    for secret in secrets:
        assert not re.search(rf"\b{secret}\b", log)
        assert not re.search(rf"\b{secret}\b", dump)


def test_no_token_is_on_disk_outside_the_key_file() -> None:
    """With the embedded database: its files, its log of changes, and whatever else the data directory holds."""
    directory, server = make_run_dir(), MailServer().start()
    service = Service(
        SHOP_DATA_DIR=str(directory), SHOP_SMTP_URL=f"smtp://127.0.0.1:{server.port}", SHOP_DRAIN_SECONDS="0"
    )
    try:
        email = someone()
        ask(service.url, email)
        pair = trade(service.url, email, code_in(server.received.wait(1)[0])).json()
        cart = httpx.post(service.url + "/api/v2/storefront/cart").json()["data"]["attributes"]["token"]
        assert service.stop() == 0
        files = [path for path in directory.rglob("*") if path.is_file()]
        contents = b"".join(path.read_bytes() for path in files)
    finally:
        service.kill()
        server.stop()
        remove_run_dir(directory)

    assert any("pg_wal" in str(path) for path in files)
    assert email.encode() in contents
    for secret in (pair["access_token"], pair["refresh_token"], cart):
        # The digest alone, without prefix and checksum: that is the secret.
        assert secret[6:-6].encode() not in contents
