"""nginx with the shipped example in front of a real shop: it names the client and refuses ambiguous requests."""

import asyncio
import json
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from shop.base.crypto.secrets import OPERATOR_LINK, USER_ACCESS, new_bytes, secret_text
from shop.cli.server.serve import IDLE_SECONDS
from tests.cluster import Cluster
from tests.db.processes import accessible_dir
from tests.programs import find_program
from tests.sampling import first
from tests.service import KEYS, Service

EXAMPLE = Path(__file__).parents[2] / "docs" / "nginx.conf"
PREFIX = "/api/v2/storefront"
CART = PREFIX + "/cart"
CLIENT = "127.0.0.2"  # An address of this machine that the proxy does not use to call the shop.


class Proxy:
    """A running nginx and its logs."""

    def __init__(self, port: int, directory: Path) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self._directory = directory

    def http(self) -> httpx2.AsyncClient:
        transport = httpx2.AsyncHTTPTransport(local_address=CLIENT)
        return httpx2.AsyncClient(base_url=self.url, transport=transport, timeout=20)

    def errors(self) -> str:
        return (self._directory / "error.log").read_text()

    def access(self) -> str:
        return (self._directory / "access.log").read_text()

    async def send_raw(self, raw: bytes) -> bytes:
        """Sends the bytes; returns the response until the connection ends."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(CLIENT, 0))
        writer.write(raw)
        answer = await asyncio.wait_for(reader.read(), 20)
        writer.close()
        return answer


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def write_config(directory: Path, port: int, upstream: str) -> Path:
    """Writes the shipped file with other ports and paths, and returns its path."""
    text = EXAMPLE.read_text()
    for default, replacement in {
        "listen 80;": f"listen 127.0.0.1:{port};",
        "server 127.0.0.1:8000;": f"server {upstream};",
        "/var/log/nginx/": f"{directory}/",
        "/var/lib/nginx/": f"{directory}/",
        "/run/nginx.pid": f"{directory}/pid",
    }.items():
        assert default in text
        text = text.replace(default, replacement)
    # Directories of unused modules, which only root could create at their default paths.
    others = "".join(f"{name}_temp_path {directory}/{name}; " for name in ("fastcgi", "uwsgi", "scgi"))
    file = directory / "nginx.conf"
    file.write_text(text.replace("http {", f"http {{ {others}", 1))
    return file


@contextmanager
def run_nginx(upstream: str) -> Iterator[Proxy]:
    # As root the workers run under a separate account, which must be able to enter the directory.
    with accessible_dir() as directory:
        port = free_port()
        file = write_config(directory, port, upstream)
        log = str(directory / "error.log")
        command = [find_program("nginx"), "-c", str(file), "-p", str(directory), "-e", log, "-g", "daemon off;"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            wait_for_listener(process, port)
            yield Proxy(port, directory)
        finally:
            process.terminate()
            process.communicate(timeout=20)


def wait_for_listener(process: "subprocess.Popen[str]", port: int) -> None:
    end = time.monotonic() + 20
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 10).close()
        except ConnectionRefusedError:
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < end, "nginx does not listen"
        else:
            return


@pytest.fixture(scope="module")
def shop(cluster: Cluster, worker_name: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    service = Service(
        SHOP_DATA_DIR=str(tmp_path_factory.mktemp("data")),
        SHOP_DATABASE_URL=cluster.new_database(f"nginx_{worker_name}"),
        SHOP_SECRET_KEYS=KEYS,
        SHOP_MAILBOX="on",
        SHOP_METRICS="public",
        SHOP_DRAIN_SECONDS="0",
        SHOP_TRUSTED_PROXIES="127.0.0.1",
    )
    yield service
    service.stop()
    cluster.drop_database(f"nginx_{worker_name}")


@pytest.fixture(scope="module")
def proxy(shop: Service) -> Iterator[Proxy]:
    with run_nginx(urlsplit(shop.url).netloc) as proxy:
        yield proxy


async def test_a_cart_is_created_and_read_through_the_proxy(proxy: Proxy) -> None:
    async with proxy.http() as http:
        cart = await http.post(CART, json={"currency": "USD"})
        token = cart.json()["data"]["attributes"]["token"]
        read = await http.get(CART, headers={"X-Shop-Order-Token": token})

    assert (cart.status_code, read.status_code) == (201, 200)
    assert read.json()["data"]["id"] == cart.json()["data"]["id"]
    assert "nginx/" not in cart.headers["server"]


@pytest.mark.security("M-02")
async def test_the_source_is_the_clients_address_and_not_its_x_forwarded_for(proxy: Proxy, shop: Service) -> None:
    async with proxy.http() as http:
        answer = await http.post(CART, headers={"X-Forwarded-For": "198.51.100.7"})

    assert shop.request_line(answer.headers["x-request-id"])["source"] == CLIENT


async def test_a_request_has_one_id_in_both_logs(proxy: Proxy, shop: Service) -> None:
    async with proxy.http() as http:
        first = await http.post(CART, headers={"X-Request-Id": "through-the-proxy.1"})
        second = await http.post(CART, headers={"X-Request-Id": "a b"})

    assert first.headers["x-request-id"] == "through-the-proxy.1"
    assert re.fullmatch(r"[0-9a-f]{32}", second.headers["x-request-id"])
    for answer in (first, second):
        request_id = answer.headers["x-request-id"]
        assert shop.request_line(request_id)["status"] == 201
        (line,) = [line for line in map(json.loads, proxy.access().splitlines()) if line["request_id"] == request_id]
        assert (line["method"], line["path"], line["status"], line["source"]) == ("POST", CART, 201, CLIENT)


AMBIGUOUS_REQUESTS = {
    "two lengths": b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "one length twice": b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "length and chunks": b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two codings": b"POST %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
    b"Transfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "an unknown coding": b"POST %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "a bare LF and two lengths": b"POST %s HTTP/1.1\r\nHost: x\nContent-Length: 5\nContent-Length: 6\r\n\r\nhello!",
    "a bare LF between length and chunks": b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 5\n"
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a bare CR": b"GET %s HTTP/1.1\r\nHost: x\r\nX-Odd: a\rX-Shop-Order-Token: b\r\n\r\n",
    "a NUL": b"GET %s HTTP/1.1\r\nHost: x\r\nX-Odd: a\x00b\r\n\r\n",
    "a space in the name": b"GET %s HTTP/1.1\r\nHost : x\r\n\r\n",
    "two hosts": b"GET %s HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
    "no host": b"GET %s HTTP/1.1\r\n\r\n",
}


@pytest.mark.security("H-03")
@pytest.mark.parametrize("case", first(4, AMBIGUOUS_REQUESTS))
async def test_an_ambiguous_request_is_refused(proxy: Proxy, shop: Service, case: str) -> None:
    second_request = b"GET /smuggled HTTP/1.1\r\nHost: x\r\nX-Request-Id: smuggled\r\n\r\n"

    answer = await proxy.send_raw(AMBIGUOUS_REQUESTS[case].replace(b"%s", CART.encode()) + second_request)

    assert answer.split(b" ")[1] in {b"400", b"501"}, answer
    assert answer.count(b"HTTP/1.1 ") == 1
    async with proxy.http() as http:
        after = await http.post(CART)
    shop.request_line(after.headers["x-request-id"])
    assert not any('"smuggled"' in line for line in shop.lines)


BARE = {
    "heads": (b"POST /x HTTP/1.1\nHost: x\nContent-Length: 2\nConnection: close\n\n{}", b"{}"),
    "chunks": (
        b"POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\n{}\n0\n\n",
        b"{}",
    ),
}


@pytest.mark.security("H-03")
@pytest.mark.parametrize(("raw", "body"), BARE.values(), ids=BARE.keys())
async def test_a_bare_lf_never_reaches_the_shop(raw: bytes, body: bytes) -> None:
    chunks: list[bytes] = []

    async def record(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        chunks.append(await reader.readuntil(b"\r\n\r\n"))
        chunks.append(await reader.readexactly(len(body)))
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(record, "127.0.0.1", 0) as upstream:
        port = upstream.sockets[0].getsockname()[1]
        with run_nginx(f"127.0.0.1:{port}") as proxy:
            answer = await proxy.send_raw(raw)

    # Refused, or rewritten with CRLF and one length, which every program reads alike.
    if chunks:
        head, received_body = chunks
        assert b"\n" not in head.replace(b"\r\n", b"")
        assert (head.lower().count(b"content-length: 2\r\n"), b"transfer-encoding" in head.lower()) == (1, False)
        assert (received_body, answer.split(b" ")[1]) == (body, b"204")
    else:
        assert answer.split(b" ")[1] == b"400"


@pytest.mark.security("H-01")
async def test_bodies_over_the_limit_are_refused_by_the_proxy(proxy: Proxy) -> None:
    sizes = {CART: 1 << 20, PREFIX + "/auth": 64 << 10, "/api/v2/platform/images": 21 << 20}
    json_type = {"Content-Type": "application/json"}
    async with proxy.http() as http:
        over = [await http.post(path, content=b" " * (size + 1), headers=json_type) for path, size in sizes.items()]
        within = [await http.post(path, content=b" " * size, headers=json_type) for path, size in sizes.items()]

    assert [(answer.status_code, "x-request-id" in answer.headers) for answer in over] == [(413, False)] * 3
    assert all("x-request-id" in answer.headers for answer in within)


async def test_metrics_are_not_served_through_the_proxy(proxy: Proxy, shop: Service) -> None:
    async with proxy.http() as http:
        outside, inside = await http.get("/metrics"), await http.get(shop.url + "/metrics")

    assert (outside.status_code, inside.status_code) == (404, 200)


def spellings(token: str) -> list[str]:
    return [
        f"{PREFIX}/auth/{token}",
        f"{PREFIX}/%61uth/{token}",
        f"//api//v2/storefront/./auth/{token}",
        f"{PREFIX}/x/..%2Fauth/{token}",
        f"{PREFIX.upper()}/AUTH/{token}",
        f"/oops/{token}",
        f"{CART}?access_token={token}",
        f"{PREFIX}/auth/a%2F{token}",
    ]


@pytest.mark.security("A-01")
@pytest.mark.torture
async def test_no_token_is_in_a_log_of_the_proxy(proxy: Proxy, shop: Service) -> None:
    token = secret_text(USER_ACCESS, new_bytes())
    secret = token.partition("_")[2]
    async with proxy.http() as http:
        response = await http.delete(f"{PREFIX}/auth/{token}")
        for path in spellings(token):
            await proxy.send_raw(f"DELETE {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())

    assert (response.status_code, response.json()) == (200, {})
    assert f'"path":"{PREFIX}/auth/-"' in proxy.access()
    assert secret not in proxy.access() + proxy.errors()
    shop.request_line(response.headers["x-request-id"])
    assert not any(secret in line for line in shop.lines)


@pytest.mark.security("A-01")
@pytest.mark.torture
async def test_no_token_and_no_link_is_in_the_logs_while_the_shop_is_down() -> None:
    token, link = secret_text(USER_ACCESS, new_bytes()), secret_text(OPERATOR_LINK, new_bytes())
    with run_nginx(f"127.0.0.1:{free_port()}") as proxy:
        async with proxy.http() as http:
            signing_out, cart = await http.delete(f"{PREFIX}/auth/{token}"), await http.post(CART)
            joining = await http.get(f"/admin/join/{link}")
        logs = proxy.access() + proxy.errors()

    assert (signing_out.status_code, cart.status_code, joining.status_code) == (502, 502, 502)
    assert CART in logs
    assert token not in logs
    assert link not in logs


class Relay:
    """Relays between nginx and the shop, and records which of them closes an idle connection."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self.closed_by: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        shop_reader, shop_writer = await asyncio.open_connection(*self._address)
        await asyncio.gather(self._copy("nginx", reader, shop_writer), self._copy("shop", shop_reader, writer))

    async def _copy(self, side: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            writer.write(data)
        if not self.closed_by.done():
            self.closed_by.set_result(side)
        writer.close()


@pytest.mark.security("X-21")
@pytest.mark.torture
async def test_nginx_closes_an_idle_connection_before_the_shop_does(shop: Service) -> None:
    address = urlsplit(shop.url)
    relay = Relay(address.hostname or "", address.port or 0)
    async with await asyncio.start_server(relay, "127.0.0.1", 0) as upstream:
        with run_nginx(f"127.0.0.1:{upstream.sockets[0].getsockname()[1]}") as proxy:
            async with proxy.http() as http:
                response = await http.post(CART)

            closed_by = await asyncio.wait_for(relay.closed_by, 30)

    assert (response.status_code, closed_by) == (201, "nginx")


@pytest.mark.security("X-21")
def test_the_upstream_keep_alive_is_at_most_half_of_the_idle_time_out() -> None:
    upstream = re.search(r"upstream shop \{.*?\}", EXAMPLE.read_text(), re.DOTALL)
    assert upstream
    (seconds,) = re.findall(r"^ *keepalive_timeout (\d+)s;", upstream[0], re.MULTILINE)

    assert int(seconds) * 2 <= IDLE_SECONDS


async def test_only_reads_are_retried_at_the_next_upstream(shop: Service) -> None:
    methods: list[str] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        methods.append(head.split()[0].decode())
        writer.write(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as upstream:
        port = upstream.sockets[0].getsockname()[1]
        # Nine of ten requests go first to the server that refuses them.
        servers = f"127.0.0.1:{port} weight=9 max_fails=0; server {urlsplit(shop.url).netloc} max_fails=0"
        with run_nginx(servers) as proxy:
            async with proxy.http() as http:
                reads = [await http.get(f"{PREFIX}/countries") for _ in range(4)]
                writes = [await http.delete(CART) for _ in range(10)]

    assert [answer.status_code for answer in reads] == [200] * 4
    assert methods.count("DELETE") == sum(answer.status_code == 503 for answer in writes) > 0
    assert {"GET", "DELETE"} == set(methods)
