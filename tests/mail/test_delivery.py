"""Mails are sent over real SMTP, after the transaction that queued them, at least once, and not after they expire."""

import asyncio
import os
import re
import signal
import statistics
import threading
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import asyncpg
import httpx2
import pytest

from shop.db.embedded import Embedded
from tests.cluster import Cluster, make_run_dir, remove_run_dir, with_database
from tests.db.processes import until
from tests.forkserver import ForkedCommand
from tests.mailserver import MailServer
from tests.service import KEYS, Service, clean_environ

AUTH = "/api/v2/storefront/auth"
CART = "/api/v2/storefront/cart"


def part(mail: Any, kind: str) -> str:
    return str(mail.get_body((kind,)).get_content())


def code_in(mail: Any) -> str:
    text = part(mail, "plain")
    match = re.search(r"^(\d{6})\r?$", text, re.MULTILINE)
    assert match, text
    return match[1]


def new_address() -> str:
    return f"{uuid.uuid4().hex[:12]}@example.com"


class MailingShop:
    """A shop that sends its mails to a server; it starts when it is first needed."""

    def __init__(self, smtp_url: str, **environ: str) -> None:
        self.environ = {"SHOP_SMTP_URL": smtp_url, "SHOP_MAIL_FROM": "Shop <shop@example.org>", **environ}
        self._service: Service | None = None

    def start(self) -> Service:
        self._service = Service(**self.environ, SHOP_DRAIN_SECONDS="0", SHOP_LOG_LEVEL="debug")
        return self._service

    @property
    def service(self) -> Service:
        return self._service or self.start()

    def ask_for_code(self, email: str, **names: str) -> httpx2.Response:
        return self.service.post(AUTH, {"user": {"email": email, **names}})

    def exchange_code(self, email: str, code: str) -> httpx2.Response:
        return self.service.post(AUTH, {"user": {"email": email, "code": code}})

    def ask_for_undelivered_code(self, email: str) -> None:
        """Asks for a code, and returns when its mail is delayed."""
        before = len(self.service.lines)
        assert self.ask_for_code(email).status_code == 200
        self.service.wait_for(lambda line: '"e-mail delayed"' in line, since=before)

    async def connect(self) -> Any:
        return await asyncpg.connect(self.environ["SHOP_DATABASE_URL"])

    def stop(self) -> None:
        if self._service:
            self._service.stop()
            self._service = None

    def kill(self) -> None:
        for pid in (self.service.process.pid, *self.service.worker_pids()):
            os.kill(pid, signal.SIGKILL)
        self.service.wait()
        self._service = None


def on_database(url: str, data_dir: Path) -> dict[str, str]:
    # A shop that is killed with its workers leaves its temporary files behind.
    directories = {"SHOP_DATA_DIR": str(data_dir), "TMPDIR": str(data_dir)}
    return {**directories, "SHOP_DATABASE_URL": url, "SHOP_SECRET_KEYS": KEYS}


class Pair(NamedTuple):
    """A shop and its mail server; a test that stops one of them starts it again."""

    shop: MailingShop
    server: MailServer


@pytest.fixture(scope="module")
def pair(cluster: Cluster, worker_name: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """The same for all tests; each test uses new addresses."""
    server, data_dir = MailServer().start(), tmp_path_factory.mktemp("data")
    with cluster.database(f"mail_{worker_name}") as url:
        shop = MailingShop(f"smtp://127.0.0.1:{server.port}", **on_database(url, data_dir))
        yield Pair(shop, server)
        shop.stop()
    server.stop()


@pytest.fixture
def shop(pair: Pair) -> MailingShop:
    return pair.shop


@pytest.fixture
def server(pair: Pair) -> MailServer:
    return pair.server


def test_a_code_sent_by_email_signs_in(shop: MailingShop, server: MailServer) -> None:
    email = new_address()

    assert shop.ask_for_code(email).status_code == 200
    (mail,) = server.received.wait(email)

    assert (mail["To"], mail["From"]) == (email, "Shop <shop@example.org>")
    assert mail["Auto-Submitted"] == "auto-generated"
    assert parsedate_to_datetime(mail["Date"]).tzinfo is not None
    assert mail["Message-ID"].endswith("@example.org>")
    code = code_in(mail)
    html = part(mail, "html")
    assert code in html
    assert "10 minutes" in html
    assert mail["Subject"] == f"{code} is your code for Shop"
    assert shop.exchange_code(email, code).status_code == 200


@pytest.mark.security("M-04", "M-05")
def test_email_is_sent_to_the_stored_address_and_contains_no_text_from_the_caller(
    shop: MailingShop, server: MailServer
) -> None:
    email = new_address()
    shop.ask_for_code(email)
    server.received.wait(email)

    shop.ask_for_code(email.upper(), first_name="visit evil.example", last_name="now")

    mail = server.received.wait(email, 2)[1]
    assert mail["To"] == email
    assert "evil" not in mail.as_string()


class TlsShop(NamedTuple):
    """A shop that logs in to its mail server over TLS, and the directory with the certificate that it trusts."""

    shop: MailingShop
    server: MailServer
    certificate_dir: Path


# aiosmtpd warns about the test server, which has TLS from the first byte and need not require STARTTLS.
IGNORE_AUTH_WARNING = pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")


@pytest.fixture(scope="module", params=[("starttls", "smtp"), ("tls", "smtps")], ids=["starttls", "tls"])
def tls_shop(
    request: pytest.FixtureRequest, cluster: Cluster, worker_name: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TlsShop]:
    (tls, scheme), directory = request.param, tmp_path_factory.mktemp("data")
    server = MailServer(tls=tls, directory=directory, login=("shop", "p@ss:word")).start()
    smtp_url = f"{scheme}://shop:p%40ss%3Aword@127.0.0.1:{server.port}"
    with cluster.database(f"private_{worker_name}") as url:
        certificate_environ = {"SSL_CERT_FILE": str(directory / "certificate.pem")}
        shop = MailingShop(smtp_url, **on_database(url, directory), **certificate_environ)
        yield TlsShop(shop, server, directory)
        shop.stop()
    server.stop()


@IGNORE_AUTH_WARNING
def test_email_is_sent_over_tls_with_a_login(tls_shop: TlsShop) -> None:
    (shop, server, certificate_dir), email = tls_shop, new_address()
    server.use_new_certificate(certificate_dir)

    shop.ask_for_code(email)

    server.received.wait(email)
    assert set(server.received.peers) == {True}
    assert server.logins >= 1
    assert "p@ss:word" not in "".join(shop.service.lines)


@IGNORE_AUTH_WARNING
def test_a_server_with_an_untrusted_certificate_gets_no_password(tls_shop: TlsShop, tmp_path: Path) -> None:
    shop, server, _ = tls_shop
    before = (len(server.received.mails), server.logins)
    server.use_new_certificate(tmp_path)

    shop.ask_for_undelivered_code(new_address())

    assert (len(server.received.mails), server.logins) == before


@pytest.mark.security("X-05")
async def test_while_the_mail_server_is_down_requests_succeed_and_emails_are_sent_later(
    shop: MailingShop, server: MailServer
) -> None:
    email = new_address()
    server.stop()
    shop.ask_for_undelivered_code(email)

    server.start()
    db = await shop.connect()
    await db.execute("update outbox_mails set next_at = now()")
    (mail,) = server.received.wait(email)

    assert shop.exchange_code(email, code_in(mail)).status_code == 200
    query = "select count(*) from outbox_mails where sent_at is not null and recipient = $1"
    assert await db.fetchval(query, email) == 1
    await db.close()


async def medians(shop: MailingShop, count: int = 60) -> dict[str, float]:
    """Median seconds of a request for a code and of a new cart, over one connection and with unknown addresses."""
    durations: dict[str, list[float]] = {AUTH: [], CART: []}
    async with shop.service.client() as http:
        for _ in range(count):
            for path, body in ((AUTH, {"user": {"email": new_address()}}), (CART, {})):
                start = time.perf_counter()
                answer = await http.post(path, json=body)
                durations[path].append(time.perf_counter() - start)
                assert answer.status_code in {200, 201}, answer.text
    return {path: statistics.median(each) for path, each in durations.items()}


@pytest.mark.security("X-05")
@pytest.mark.torture
async def test_while_the_mail_server_is_down_the_api_is_as_fast_as_before(
    shop: MailingShop, server: MailServer
) -> None:
    await medians(shop, 10)
    before = await medians(shop)
    server.stop()
    shop.ask_for_undelivered_code(new_address())

    while_down = await medians(shop)

    # These mails are dropped: those of the next test would be sent after them.
    db = await shop.connect()
    await db.execute("update outbox_mails set dead_at = now() where sent_at is null and dead_at is null")
    await db.close()
    server.start()
    assert all(while_down[path] < 2 * before[path] + 0.02 for path in before), (before, while_down)


@pytest.mark.security("X-05")
@pytest.mark.torture
async def test_a_valid_code_is_sent_within_a_minute_after_the_mail_server_returns(
    shop: MailingShop, server: MailServer
) -> None:
    tried_email, untried_email, db = new_address(), new_address(), await shop.connect()
    server.stop()
    shop.ask_for_undelivered_code(untried_email)
    shop.ask_for_undelivered_code(tried_email)
    query = (
        "select attempts, dead_at, extract(epoch from next_at - now()) as pause from outbox_mails where recipient = $1"
    )
    pauses = []
    for number in range(1, 9):

        async def is_tried(number: int = number) -> bool:
            row = await db.fetchrow(query, tried_email)
            return bool(row["attempts"] == number and row["pause"] > 0)

        await until(is_tried)
        row = await db.fetchrow(query, tried_email)
        assert row["dead_at"] is None
        pauses.append(float(row["pause"]))
        await db.execute("update outbox_mails set next_at = now() where recipient = $1", tried_email)

    server.start()

    # The poll for due mails takes up to a second more.
    assert max(pauses) <= 59, pauses
    (mail,) = server.received.wait(untried_email, seconds=60)
    server.received.wait(tried_email)
    assert shop.exchange_code(untried_email, code_in(mail)).status_code == 200
    await db.close()


@asynccontextmanager
async def unreachable_database(url: str) -> AsyncIterator[None]:
    """Ends all connections to a database and refuses new ones."""
    name = urlsplit(url).path.removeprefix("/")
    outside = await asyncpg.connect(with_database(url, "postgres"))
    await outside.execute(f"alter database {name} with allow_connections false")
    await outside.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", name)
    try:
        yield
    finally:
        await outside.execute(f"alter database {name} with allow_connections true")
        await outside.close()


@pytest.mark.security("X-05")
async def test_while_the_database_is_down_codes_are_503_and_the_service_keeps_running(
    shop: MailingShop, server: MailServer
) -> None:
    owner, other, later = new_address(), new_address(), new_address()
    shop.ask_for_code(owner)
    code = code_in(server.received.wait(owner)[0])

    async with unreachable_database(shop.environ["SHOP_DATABASE_URL"]):
        responses = [shop.ask_for_code(other), shop.exchange_code(owner, code)]
        alive = shop.service.get("/livez")

    assert [(answer.status_code, answer.json()["code"]) for answer in responses] == [
        (503, "temporarily_unavailable")
    ] * 2
    assert {answer.headers["retry-after"] for answer in responses} == {"5"}
    assert alive.status_code == 200
    assert shop.exchange_code(owner, code).status_code == 200
    assert shop.ask_for_code(later).status_code == 200
    server.received.wait(later)
    assert server.received.to(other) == []


@pytest.mark.security("X-05")
@pytest.mark.torture
async def test_while_rate_counts_are_locked_codes_are_503_and_the_catalog_is_served(
    shop: MailingShop, server: MailServer
) -> None:
    owner, other, later, db = new_address(), new_address(), new_address(), await shop.connect()
    shop.ask_for_code(owner)
    code = code_in(server.received.wait(owner)[0])

    async with db.transaction():
        await db.execute("lock table rate_counts in access exclusive mode")
        responses = [
            await asyncio.to_thread(shop.ask_for_code, other),
            await asyncio.to_thread(shop.exchange_code, owner, code),
        ]
        catalog = await asyncio.to_thread(shop.service.get, "/api/v2/storefront/products")

    assert [answer.status_code for answer in responses] == [503, 503]
    assert catalog.status_code == 200
    shop.ask_for_code(later)
    server.received.wait(later)
    assert server.received.to(other) == []
    assert shop.exchange_code(owner, code).status_code == 200
    await db.close()


@pytest.mark.security("X-04")
async def test_a_superseded_code_is_not_sent(shop: MailingShop, server: MailServer) -> None:
    email = new_address()
    server.stop()
    shop.ask_for_undelivered_code(email)
    shop.ask_for_undelivered_code(email)

    server.start()
    db = await shop.connect()
    await db.execute("update outbox_mails set next_at = now()")
    (mail,) = server.received.wait(email)

    assert shop.exchange_code(email, code_in(mail)).status_code == 200
    reasons = "select last_error from outbox_mails where dead_at is not null and recipient = $1"
    assert [row[0] for row in await db.fetch(reasons, email)] == ["no longer of use"]
    await db.close()


@pytest.mark.security("X-04")
async def test_an_expired_code_is_not_sent(shop: MailingShop, server: MailServer) -> None:
    """The code was neither used nor replaced; only its time has passed."""
    email, other, db = new_address(), new_address(), await shop.connect()
    server.stop()
    shop.ask_for_undelivered_code(email)
    await db.execute("update outbox_mails set not_after = now(), next_at = now() where recipient = $1", email)
    before = len(shop.service.lines)
    server.start()

    shop.ask_for_code(other)

    server.received.wait(other)
    shop.service.wait_for(lambda line: '"e-mail delivery abandoned"' in line, 10, since=before)
    reasons = "select last_error from outbox_mails where dead_at is not null and recipient = $1"
    assert [row[0] for row in await db.fetch(reasons, email)] == ["no longer of use"]
    assert server.received.to(email) == []
    await db.close()


@pytest.mark.security("X-04")
async def test_a_permanently_rejected_email_is_abandoned_and_delays_no_others(
    shop: MailingShop, server: MailServer
) -> None:
    bad_recipient, good_recipient, before = new_address(), new_address(), len(shop.service.lines)
    server.received.answer = "554 no such mailbox"
    shop.ask_for_code(bad_recipient)
    shop.service.wait_for(lambda line: '"e-mail delivery abandoned"' in line, since=before)
    server.received.answer = "250 OK"

    shop.ask_for_code(good_recipient)

    server.received.wait(good_recipient)
    db = await shop.connect()
    reasons = "select last_error from outbox_mails where dead_at is not null and recipient = $1"
    assert [row[0] for row in await db.fetch(reasons, bad_recipient)] == [
        "the mail server rejected the e-mail with 554"
    ]
    await db.close()


@pytest.mark.security("X-04")
@pytest.mark.torture
async def test_a_kill_after_sending_causes_one_duplicate_with_the_same_code(
    shop: MailingShop, server: MailServer
) -> None:
    """The service is killed before the mail server confirms the mail that it got; the next one finds a leased row."""
    inbox, email = server.received, new_address()
    inbox.hold = threading.Event()
    shop.ask_for_code(email)
    (first,) = inbox.wait(email)
    shop.kill()
    inbox.hold.set()
    inbox.hold = None

    db = await shop.connect()
    await db.execute("update outbox_mails set locked_until = now()")
    await db.close()
    shop.start()
    second = inbox.wait(email, 2)[1]

    assert shop.exchange_code(email, code_in(second)).status_code == 200
    assert len(inbox.to(email)) == 2
    assert second["Message-ID"] == first["Message-ID"]
    assert code_in(second) == code_in(first)


@pytest.mark.security("M-03", "X-04")
def test_a_refused_request_sends_no_email(shop: MailingShop, server: MailServer) -> None:
    before, email = len(server.received.mails), new_address()

    for address in ("nobody", "a@example.com, b@example.com", "a@example.com\r\nBcc: b@example.com", "ö@example.com"):
        assert shop.ask_for_code(address).status_code == 422
    shop.ask_for_code(email)

    server.received.wait(email)
    assert len(server.received.mails) == before + 1


@pytest.mark.torture
def test_a_separate_worker_delivers_queued_email(shop: MailingShop, server: MailServer) -> None:
    email = new_address()
    server.stop()
    shop.ask_for_undelivered_code(email)
    shop.stop()
    server.start()
    worker = ForkedCommand(["worker"], clean_environ(**shop.environ))
    try:
        assert len(server.received.wait(email)) == 1
    finally:
        worker.terminate()
        status = worker.wait(20)
        with worker.stderr:
            log = worker.stderr.read()
    assert status == 0, log


class ShopTraces:
    """The log, the rows and the files of a shop on an embedded database after the use of every kind of secret."""

    def __init__(self, directory: Path) -> None:
        self.email = new_address()
        server, database = MailServer().start(), Embedded(directory)
        shop = MailingShop(f"smtp://127.0.0.1:{server.port}", SHOP_DATA_DIR=str(directory))
        try:
            url = database.start()
            asyncio.run(self._log_statements(url))
            self.code, self.tokens = asyncio.run(self._use(shop, server))
            assert shop.service.stop() == 0
            self.log = "".join(shop.service.lines)
            self.dump = asyncio.run(self._dump(url))
        finally:
            shop.stop()
            database.stop()
            server.stop()
        self.files = {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}

    async def _log_statements(self, url: str) -> None:
        """The database writes every statement and its parameters into its log."""
        db = await asyncpg.connect(url)
        await db.execute("alter system set log_statement = 'all'")
        await db.execute("select pg_reload_conf()")
        await db.close()

    async def _use(self, shop: MailingShop, server: MailServer) -> tuple[str, list[str]]:
        shop.ask_for_code(self.email)
        code = code_in(server.received.wait(self.email)[0])
        pair = shop.exchange_code(self.email, code).json()
        async with shop.service.client() as http:
            refresh_body = {"user": {"email": self.email, "refresh_token": pair["refresh_token"]}}
            fresh = (await http.post(AUTH, json=refresh_body)).json()
            bearer = {"Authorization": f"Bearer {fresh['access_token']}"}
            carts = [await http.post(CART, headers=headers) for headers in (bearer, {})]
            await http.delete(f"{AUTH}/{fresh['access_token']}")
        tokens = [each[name] for each in (pair, fresh) for name in ("access_token", "refresh_token")]
        return code, tokens + [cart.json()["data"]["attributes"]["token"] for cart in carts]

    async def _dump(self, url: str) -> str:
        db = await asyncpg.connect(url)
        tables = await db.fetch("select tablename from pg_tables where schemaname = 'public'")
        rows = [row[0] for table in tables for row in await db.fetch(f"select t::text from {table[0]} t")]
        await db.close()
        return "".join(rows)


@pytest.fixture(scope="module")
def traces() -> Iterator[ShopTraces]:
    directory = make_run_dir()
    try:
        yield ShopTraces(directory)
    finally:
        remove_run_dir(directory)


@pytest.mark.security("A-01", "T-03")
@pytest.mark.torture
def test_with_a_mail_server_no_secret_is_in_any_log_or_in_the_database(traces: ShopTraces) -> None:
    assert traces.email in traces.dump
    assert traces.log.count('"request_id"') >= 6
    for secret in (traces.code, *traces.tokens):
        assert not re.search(rf"\b{secret}\b", traces.log)
        assert not re.search(rf"\b{secret}\b", traces.dump)


@pytest.mark.security("A-01")
@pytest.mark.torture
def test_no_secret_is_in_the_log_of_a_database_that_logs_every_statement(traces: ShopTraces) -> None:
    (log,) = [content.decode() for path, content in traces.files.items() if path.name == "postgres.log"]

    assert "arameters: $1" in log
    assert traces.email in log
    assert f"'{traces.code}'" not in log
    for token in traces.tokens:
        assert token[6:-6] not in log
        assert token[6:-6].encode().hex() not in log


@pytest.mark.security("T-03")
@pytest.mark.torture
def test_no_token_is_on_disk_outside_the_key_file(traces: ShopTraces) -> None:
    """All files of the data directory, with those of the embedded database and its write-ahead log."""
    contents = b"".join(traces.files.values())

    assert any("pg_wal" in str(path) for path in traces.files)
    assert traces.email.encode() in contents
    for token in traces.tokens:
        # The secret itself, without prefix and checksum.
        assert token[6:-6].encode() not in contents
