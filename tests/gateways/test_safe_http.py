"""Requests to URLs from callers: which addresses they reach, and that no server can hold or flood the shop."""

import asyncio
import gzip
import itertools
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from ipaddress import IPv4Address, IPv6Address

import psutil
import pytest

from shop import __version__
from shop.gateways.checked_resolver import AddressError, Lookup, ThreadLookup
from shop.gateways.safe_http import MAX_REQUESTS, HttpResult, HttpTimeouts, SafeHttpClient, UrlError
from shop.rules.outgoing_urls import address_error, url_error
from tests.gateways.raw_server import Exchange, Handler, RawServer, answer, hang, raw_server, response

PATIENT = HttpTimeouts(connect=20, total=20)
"""No test waits for these; they only must not end a request on a slow computer."""
HASTY = HttpTimeouts(connect=20, total=1)
OK = response()


def allow_one_address(address: IPv4Address | IPv6Address) -> str | None:
    """127.0.0.1 stands for the public addresses, and the rest of loopback for the private ones."""
    return None if str(address) == "127.0.0.1" else "The address is not public."


class Names:
    """A name server: the addresses for each lookup, the last ones for all further lookups."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers: Iterator[Sequence[str]] = itertools.chain(answers, itertools.repeat(answers[-1]))
        self.lookups: list[str] = []

    async def __call__(self, host: str) -> Sequence[str]:
        self.lookups.append(host)
        return next(self._answers)


@asynccontextmanager
async def new_client(
    lookup: Lookup | None = None,
    timeouts: HttpTimeouts = PATIENT,
    url_error: UrlError = lambda _url: None,
    address_error: AddressError = allow_one_address,
) -> AsyncIterator[SafeHttpClient]:
    names = lookup or Names(["127.0.0.1"])
    client = SafeHttpClient(url_error, address_error, lookup=names, timeouts=timeouts)
    try:
        yield client
    finally:
        await client.close()


async def post_to(handler: Handler, timeouts: HttpTimeouts = PATIENT) -> tuple[HttpResult, RawServer]:
    """Sends one request to a server with this handler; the server has noticed the end of its connections."""
    async with raw_server(handler) as server, new_client(timeouts=timeouts) as client:
        result = await client.send("POST", server.url(), body=b"{}")
    return result, server


async def test_a_request_has_its_method_path_headers_and_body() -> None:
    async with (
        raw_server(answer(response(body=b"thanks", Content_Type="text/plain"))) as server,
        new_client() as client,
    ):
        headers = {"Content-Type": "application/json", "webhook-id": "evt_1"}
        result = await client.send("POST", server.url(), headers=headers, body=b'{"a":1}')

    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    line, *fields = head.decode().split("\r\n")
    assert (line, body) == ("POST /hooks?a=1 HTTP/1.1", b'{"a":1}')
    assert sorted(fields) == [
        "Accept-Encoding: identity",
        "Accept: */*",
        "Content-Length: 7",
        "Content-Type: application/json",
        f"Host: hooks.example:{server.port}",
        f"User-Agent: shop/{__version__}",
        "webhook-id: evt_1",
    ]
    assert result == HttpResult(
        result.milliseconds, status=200, body=b"thanks", is_complete=True, content_type="text/plain"
    )


async def test_a_get_request_returns_a_body_up_to_its_own_limit() -> None:
    picture = bytes(range(256)) * 1200
    async with raw_server(answer(response(body=picture, Content_Type="image/png"))) as server, new_client() as client:
        whole = await client.send("GET", server.url(), read_limit=len(picture), body_limit=len(picture))
        part = await client.send("GET", server.url(), read_limit=100_000, body_limit=100_000)

    assert server.requests[0].startswith(b"GET /hooks?a=1 HTTP/1.1\r\n")
    assert (whole.body, whole.is_complete, whole.content_type) == (picture, True, "image/png")
    assert (part.body, part.is_complete, part.error) == (picture[:100_000], False, None)


@pytest.mark.parametrize(
    ("status", "headers", "retry_after"),
    [
        ("204 No Content", {}, None),
        ("410 Gone", {"Retry_After": "60"}, "60"),
        ("429 Too Many Requests", {"Retry_After": "Fri, 15 Jan 2027 08:00:00 GMT"}, "Fri, 15 Jan 2027 08:00:00 GMT"),
        ("503 Service Unavailable", {"Retry_After": "5"}, "5"),
    ],
)
async def test_status_and_retry_after_are_returned(
    status: str, headers: dict[str, str], retry_after: str | None
) -> None:
    result, _ = await post_to(answer(response(status, b"", **headers)))

    assert (result.status, result.retry_after, result.body, result.error) == (int(status[:3]), retry_after, b"", None)


@pytest.mark.security("A-04")
async def test_a_redirect_is_not_followed() -> None:
    async with raw_server(answer(OK)) as other:
        location = f"http://127.0.0.1:{other.port}/"
        for target in ("http://169.254.169.254/latest/meta-data/", location):
            for status in ("301 Moved", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"):
                result, server = await post_to(answer(response(status, Location=target)))
                assert (result.status, len(server.requests)) == (int(status[:3]), 1)

    assert other.connections == 0


@pytest.mark.security("A-04")
async def test_a_name_is_resolved_once_and_checked_for_each_connection() -> None:
    """The name server first has a public address, and later a private one."""
    names = Names(["127.0.0.1"], ["127.0.0.2"])
    async with (
        raw_server(answer(response(Connection="close"))) as server,
        raw_server(answer(OK), address="127.0.0.2", port=server.port) as private,
        new_client(names) as client,
    ):
        first = await client.send("POST", server.url(), body=b"{}")
        lookups = list(names.lookups)
        second = await client.send("POST", server.url(), body=b"{}")

    assert (first.status, lookups) == (200, ["hooks.example"])
    assert (second.status, second.error, names.lookups) == (None, "The address is not public.", ["hooks.example"] * 2)
    assert (server.connections, private.connections) == (1, 0)


@pytest.mark.security("A-04")
@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.2"],
        ["127.0.0.1", "127.0.0.2"],
        ["127.0.0.2", "127.0.0.1"],
        ["127.0.0.1", "::ffff:127.0.0.1"],
        ["127.0.0.1", "fe80::1%lo"],
        ["127.0.0.1", "127.1"],
    ],
)
async def test_a_name_with_one_refused_address_is_refused(addresses: list[str]) -> None:
    async with raw_server(answer(OK)) as server, new_client(Names(addresses)) as client:
        result = await client.send("POST", server.url(), body=b"{}")

    assert result.error in {"The address is not public.", "The address is invalid."}
    assert (result.status, server.connections) == (None, 0)


@pytest.mark.security("A-04")
@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "017700000001",
        "127.1",
        "127.0.0.1.",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[::1]",
        "localhost",
        "localhost.",
        "\uff11\uff12\uff17.0.0.1",
        "user@127.0.0.1",
    ],
)
async def test_no_form_of_a_loopback_address_is_reached(host: str) -> None:
    """Even if the URL were not checked: the address of the connection is."""
    check = partial(address_error, is_try_out=False)
    async with raw_server(answer(OK)) as server, new_client(ThreadLookup(), address_error=check) as client:
        result = await client.send("POST", server.url(host), body=b"{}")

    assert (result.status, server.connections) == (None, 0)
    # It depends on the system whether it resolves the last forms.
    errors = r"The address is not public \(.*\)|The URL or a header is invalid|The host name cannot be resolved"
    assert re.fullmatch(rf"({errors})\.", result.error or "")


@pytest.mark.security("A-04")
@pytest.mark.parametrize("is_try_out", [True, False])
async def test_only_a_try_out_reaches_loopback(is_try_out: bool) -> None:
    checks = [partial(check, is_try_out=is_try_out) for check in (url_error, address_error)]
    async with raw_server(answer(OK)) as server, new_client(ThreadLookup(), PATIENT, *checks) as client:
        urls = [server.url("localhost"), server.url("127.0.0.1")]
        results = [await client.send("POST", url, body=b"{}") for url in urls]

    expected = (200, None) if is_try_out else (None, "The URL must use https.")
    assert [(result.status, result.error) for result in results] == [expected, expected]


@pytest.mark.security("A-04")
async def test_proxies_and_passwords_of_the_environment_are_ignored(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    netrc = tmp_path_factory.mktemp("home") / ".netrc"
    netrc.write_text("machine hooks.example login ada password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    async with raw_server(hang) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        result, server = await post_to(answer(OK))

    assert (result.status, proxy.connections) == (200, 0)
    assert b"authorization" not in server.requests[0].lower()


async def test_cookies_are_not_returned_to_a_server() -> None:
    async with raw_server(answer(response(Set_Cookie="a=1"))) as server, new_client() as client:
        for _ in range(2):
            await client.send("POST", server.url(), body=b"{}")

    assert [b"cookie" in request.lower() for request in server.requests] == [False, False]


async def test_a_server_that_never_answers_is_left_after_the_time_limit() -> None:
    result, server = await post_to(hang, HASTY)

    assert (result.status, result.error) == (None, "No complete response within 1 s.")
    assert result.milliseconds >= 990
    assert (server.connections, server.open) == (1, 0)


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"], ids=["head", "body"])
async def test_a_server_that_answers_byte_by_byte_is_left_after_the_time_limit(head: bytes) -> None:
    async def drip(exchange: Exchange) -> None:
        await exchange.read_request()
        await exchange.write(head)
        for byte in itertools.chain(b"HTTP/1.1 200 OK\r\nX-A: ", itertools.repeat(ord("a"))):
            await exchange.write(bytes([byte]))
            # The pace of this server; nothing waits for it.
            await asyncio.sleep(0.02)

    result, server = await post_to(drip, HASTY)

    assert (result.error, result.is_complete) == ("No complete response within 1 s.", False)
    assert result.status == (200 if head else None)
    assert result.body.startswith(b"HTTP" if head else b"")
    assert server.open == 0


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 10000000\r\n\r\n",
    ],
    ids=["10 MB", "endless", "compressed"],
)
async def test_only_the_beginning_of_a_large_response_is_read(head: bytes) -> None:
    async def flood(exchange: Exchange) -> None:
        await exchange.read_request()
        await exchange.write(head)
        while True:
            await exchange.write(b"x" * 8192)

    result, server = await post_to(flood)

    assert (result.status, result.body, result.is_complete, result.error) == (200, b"x" * 4096, False, None)
    # The rest is in the buffers of the system; the client has read 64 KiB.
    assert server.bytes_sent < 10_000_000
    assert server.open == 0


async def test_endless_chunks_are_read_up_to_the_limit() -> None:
    async def flood(exchange: Exchange) -> None:
        await exchange.read_request()
        await exchange.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            await exchange.write(b"400\r\n" + b"x" * 1024 + b"\r\n")

    result, server = await post_to(flood)

    assert (result.status, len(result.body), result.is_complete, server.open) == (200, 4096, False, 0)


async def test_a_compressed_body_is_not_decompressed() -> None:
    bomb = gzip.compress(b"\0" * 4_000_000)
    result, server = await post_to(answer(response(body=bomb, Content_Encoding="gzip")))

    assert (result.status, result.body, result.error) == (200, bomb[:4096], None)
    assert b"Accept-Encoding: identity\r\n" in server.requests[0]


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "The response is not valid HTTP."),
        (b"HTTP/1.1 200 OK\r\nX-A: " + b"a" * 20_000 + b"\r\n\r\n", "The response is not valid HTTP."),
        (b"HTTP/1.1 200 OK\r\n" + b"X-A: a\r\n" * 1000 + b"\r\n", "The response is not valid HTTP."),
        (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "The response is not valid HTTP."),
        (b"HTTP/1.1 200 OK\r\nX-A", "The server closed the connection without a response."),
        (b"", "The server closed the connection without a response."),
    ],
)
async def test_an_invalid_response_is_an_error(data: bytes, error: str) -> None:
    async def write_and_close(exchange: Exchange) -> None:
        await exchange.read_request()
        await exchange.write(data)

    result, _ = await post_to(write_and_close)

    assert (result.status, result.error) == (None, error)


async def test_a_response_that_breaks_off_is_an_error_with_its_beginning() -> None:
    async def break_off(exchange: Exchange) -> None:
        await exchange.read_request()
        await exchange.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegin")

    result, _ = await post_to(break_off)

    assert (result.status, result.body, result.is_complete) == (200, b"begin", False)
    assert result.error == "The server closed the connection before the end of the response."


async def test_a_reset_connection_is_an_error() -> None:
    async def reset(exchange: Exchange) -> None:
        await exchange.read_request()
        exchange.reset()

    result, server = await post_to(reset)

    assert result.error == "The server closed the connection without a response."
    # A new connection is not tried again: the caller has a schedule for that.
    assert server.connections == 1


async def test_a_refused_connection_is_an_error() -> None:
    async with raw_server(hang) as server:
        pass
    async with new_client() as client:
        result = await client.send("POST", server.url(), body=b"{}")

    assert (result.status, result.error) == (None, "The host refuses the connection or cannot be reached.")


async def test_the_next_address_is_tried_if_one_does_not_answer() -> None:
    names = Names(["127.0.0.2", "127.0.0.1"])
    async with raw_server(answer(OK)) as server, new_client(names, address_error=lambda _address: None) as client:
        result = await client.send("POST", server.url(), body=b"{}")

    assert (result.status, server.connections) == (200, 1)


async def test_an_unknown_or_slow_name_is_an_error() -> None:
    async def fail(_host: str) -> Sequence[str]:
        raise OSError("no such name")

    async def wait(_host: str) -> Sequence[str]:
        await asyncio.Event().wait()
        return []

    results = []
    for lookup in (fail, wait, Names([])):
        async with new_client(lookup, HttpTimeouts(connect=0.1, total=20)) as client:
            results.append(await client.send("POST", "http://hooks.example/"))

    assert [result.error for result in results] == [
        "The host name cannot be resolved.",
        "The host name was not resolved within 0.1 s.",
        "The host name cannot be resolved.",
    ]


INVALID = "The URL or a header is invalid."


@pytest.mark.parametrize(
    ("url", "headers", "error"),
    [
        ("http://hooks.example/", {"X-A": "a\r\nX-B: b"}, INVALID),
        ("http://hooks.example/", {"X-A\r\nX-B": "b"}, INVALID),
        ("http://hooks.example:99999/", {}, INVALID),
        ("http://[::1/", {}, INVALID),
        ("http:///", {}, INVALID),
        ("nothing", {}, INVALID),
        (f"http://{'a' * 64}.example/", {}, "The host name cannot be resolved."),
    ],
)
async def test_no_argument_raises_an_error(url: str, headers: dict[str, str], error: str) -> None:
    async with raw_server(answer(OK)) as server, new_client(ThreadLookup(encode_name)) as client:
        result = await client.send("POST", url.replace("example/", f"example:{server.port}/"), headers=headers)

    assert (result.status, result.error, server.requests) == (None, error, [])


def encode_name(host: str) -> list[str]:
    """As the standard library does before it asks the system."""
    host.encode("idna")
    return ["127.0.0.1"]


async def test_connections_are_reused() -> None:
    async with raw_server(answer(OK)) as server, new_client() as client:
        results = [await client.send("POST", server.url(), body=b"{}") for _ in range(50)]
        first_connections = server.connections
        await asyncio.gather(*[client.send("POST", server.url(), body=b"{}") for _ in range(8)])
        await asyncio.gather(*[client.send("POST", server.url(), body=b"{}") for _ in range(8)])

    assert {result.status for result in results} == {200}
    assert first_connections == 1
    assert server.connections <= 8


@pytest.mark.torture
async def test_a_thousand_requests_reuse_eight_connections() -> None:
    async with raw_server(answer(OK)) as server, new_client() as client:

        async def deliver() -> None:
            for _ in range(125):
                assert (await client.send("POST", server.url(), body=b"{}")).status == 200

        await asyncio.gather(*[deliver() for _ in range(8)])

    assert (len(server.requests), server.connections) == (1000, 8)


async def test_a_request_is_repeated_if_a_reused_connection_is_closed() -> None:
    """Else a delivery fails whenever the server closes an idle connection at that moment."""

    async def answer_once(exchange: Exchange) -> None:
        await exchange.read_request()
        await exchange.write(OK)
        await exchange.read_request()

    async with raw_server(answer_once) as server, new_client() as client:
        results = [await client.send("POST", server.url(), body=b"{}") for _ in range(2)]

    assert [result.status for result in results] == [200, 200]
    assert (len(server.requests), server.connections) == (3, 2)


async def test_a_canceled_request_closes_its_connection() -> None:
    async with raw_server(hang) as server, new_client() as client:
        task = asyncio.create_task(client.send("POST", server.url(), body=b"{}"))
        await server.wait_for_connections(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.wait_for_connections(0)

    assert server.connections == 1


async def test_a_request_canceled_while_it_reads_closes_its_connection() -> None:
    has_begun = asyncio.Event()

    async def begin(exchange: Exchange) -> None:
        await exchange.read_request()
        await exchange.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegin")
        has_begun.set()
        await exchange.wait_for_close()

    async with raw_server(begin) as server, new_client() as client:
        task = asyncio.create_task(client.send("POST", server.url(), body=b"{}"))
        await has_begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.wait_for_connections(0)


async def test_a_process_sends_a_limited_number_of_requests_at_once() -> None:
    async with raw_server(hang) as server, new_client(timeouts=HttpTimeouts(connect=20, total=20)) as client:
        sends = [asyncio.create_task(client.send("POST", server.url(), body=b"{}")) for _ in range(MAX_REQUESTS + 3)]
        await server.wait_for_connections(MAX_REQUESTS)
        for send in sends[: MAX_REQUESTS // 2]:
            send.cancel()
        await server.wait_for_total(MAX_REQUESTS + 3)
        for send in sends:
            send.cancel()
        await asyncio.wait(sends)

    assert (server.connections, server.most_open) == (MAX_REQUESTS + 3, MAX_REQUESTS)


@pytest.mark.torture
async def test_two_hundred_deliveries_leave_no_file_open() -> None:
    """Of every kind: reused and closed connections, resets, timeouts, large responses, refused addresses."""

    async def mix(exchange: Exchange) -> None:
        while request := await exchange.read_request():
            match request[6:7]:
                case b"0":
                    await exchange.write(OK)
                case b"1":
                    return exchange.reset()
                case b"2":
                    await exchange.write(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 100_000)
                    return await exchange.wait_for_close()
                case b"3":
                    return await exchange.wait_for_close()
                case _:
                    return await exchange.write(response(Connection="close"))
        return None

    async with raw_server(mix) as server, new_client(timeouts=HttpTimeouts(connect=20, total=0.05)) as client:
        await client.send("POST", server.url(path="/4"))
        await server.wait_for_connections(0)
        files = psutil.Process().num_fds()
        for number in range(200):
            await client.send("POST", server.url(path=f"/{number % 5}"), body=b"{}")
            await client.send("POST", server.url("127.0.0.2"))
        # The last response closes its connection, so that none waits for the next request.
        await server.wait_for_connections(0)
        assert psutil.Process().num_fds() <= files
