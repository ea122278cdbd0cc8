"""Bad input gets the right 4xx with an error body, never a 5xx, and changes nothing."""

import asyncio
import gzip
import json
from contextlib import closing
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.service import Service
from tests.shopper import Shopper

CART = "/api/v2/storefront/cart"
JSON = {"Content-Type": "application/json"}


def assert_error(response: httpx2.Response, status: int, code: str) -> None:
    assert response.status_code == status, response.text
    body = response.json()
    assert body["code"] == code
    assert body["error"].endswith(".")
    assert body["request_id"] == response.headers["x-request-id"]
    assert not {"traceback", "select", "insert", "asyncpg"} & set(body["error"].lower().split())


UNREADABLE = {
    "not JSON": b"{",
    "not an object": b"[]",
    "a bare word": b"cart",
    "duplicate keys": b'{"currency": "EUR", "currency": "USD"}',
    "duplicate keys, deep": b'{"a": [{"b": 1, "b": 2}]}',
    "NaN": b'{"a": NaN}',
    "Infinity": b'{"a": -Infinity}',
    "a number out of range": b'{"a": 1e999}',
    "NUL": b'{"a": "\\u0000"}',
    "half a surrogate": b'{"a": "\\ud800"}',
    "deep nesting": b'{"a":' * 40 + b"1" + b"}" * 40,
    "very deep nesting": b"[" * 100_000,
    "a huge integer": b'{"a": 9007199254740993}',
    "a long integer": b'{"a": ' + b"9" * 5000 + b"}",
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "a byte order mark": b'\xef\xbb\xbf{"a": 1}',
    "broken UTF-8": b'{"a": "\xff"}',
    "too many keys": json.dumps({f"k{number}": 1 for number in range(1001)}).encode(),
}


@pytest.mark.security("H-02")
@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE.keys())
async def test_an_unreadable_body_is_malformed_and_creates_no_cart(
    http: httpx2.AsyncClient, db: Any, body: bytes
) -> None:
    before = await db.fetchval("select count(*) from orders")

    response = await http.post(CART, content=body, headers=JSON)

    assert_error(response, 400, "malformed")
    assert await db.fetchval("select count(*) from orders") == before


@pytest.mark.security("H-03")
@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/xml"},
        {"Content-Type": "multipart/form-data; boundary=x"},
        {"Content-Type": "application/json; charset=utf-16"},
        {"Content-Type": ""},
        {"Content-Type": "application/json", "Content-Encoding": "br"},
    ],
)
async def test_a_body_of_an_unsupported_media_type_is_415(http: httpx2.AsyncClient, headers: dict[str, str]) -> None:
    assert_error(await http.post(CART, content=b"{}", headers=headers), 415, "unsupported_media_type")


@pytest.mark.security("H-01")
async def test_a_compressed_body_is_415_and_not_decompressed(http: httpx2.AsyncClient) -> None:
    bomb = gzip.compress(b'{"a":"' + b"a" * 10_000_000 + b'"}')

    response = await http.post(CART, content=bomb, headers={**JSON, "Content-Encoding": "gzip"})

    assert_error(response, 415, "unsupported_media_type")


async def test_the_media_type_is_checked_only_when_there_is_a_body(http: httpx2.AsyncClient) -> None:
    for media in ("text/plain", "application/vnd.api+json", "nonsense"):
        assert (await http.post(CART, headers={"Content-Type": media})).status_code == 201


@pytest.mark.parametrize(
    "media", ["application/json", "application/vnd.api+json", "text/x-json", "application/json; charset=UTF-8"]
)
async def test_every_json_media_type_is_accepted(http: httpx2.AsyncClient, media: str) -> None:
    response = await http.post(CART, content=b'{"currency": "EUR"}', headers={"Content-Type": media})

    assert response.json()["data"]["attributes"]["currency"] == "EUR"


async def test_a_form_is_read_like_json(http: httpx2.AsyncClient) -> None:
    response = await http.post(CART, data={"currency": "GBP", "fields[cart]": "currency"})

    assert response.json()["data"]["attributes"] == {"currency": "GBP"}


@pytest.mark.security("H-01")
async def test_a_body_of_ten_megabytes_is_refused_by_its_content_length(http: httpx2.AsyncClient) -> None:
    assert_error(await http.post(CART, content=b" " * 10_000_000, headers=JSON), 413, "too_large")


@pytest.mark.security("H-01")
async def test_a_chunked_body_of_ten_megabytes_is_refused_while_it_is_read(http: httpx2.AsyncClient) -> None:
    async def chunks() -> Any:
        for _ in range(160):
            yield b" " * 65536

    response = await http.post(CART, content=chunks(), headers=JSON)

    assert_error(response, 413, "too_large")


async def test_a_large_body_within_the_limit_is_read(http: httpx2.AsyncClient) -> None:
    body = json.dumps({"currency": "EUR", "note": "x" * 1_000_000}).encode()

    response = await http.post(CART, content=body, headers=JSON)

    assert response.status_code == 201


@pytest.mark.security("H-03")
@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "BREW"])
async def test_an_unsupported_method_is_405_with_the_allowed_ones(http: httpx2.AsyncClient, method: str) -> None:
    response = await http.request(method, CART)

    assert_error(response, 405, "method_not_allowed")
    assert response.headers["allow"] == "DELETE, GET, HEAD, POST"


@pytest.mark.security("H-03")
@pytest.mark.parametrize(("path", "allowed"), [("/cart", "GET, HEAD"), ("/admin/sign-out", "POST")])
async def test_an_unsupported_method_of_a_page_is_405_with_the_allowed_ones(
    http: httpx2.AsyncClient, path: str, allowed: str
) -> None:
    response = await http.put(path)

    assert (response.status_code, response.headers["allow"]) == (405, allowed)


async def test_head_has_the_headers_of_get_and_no_body(http: httpx2.AsyncClient) -> None:
    head = await http.head("/livez")
    get = await http.get("/livez")

    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == get.headers["content-length"]


@pytest.mark.parametrize(
    "path",
    ["/api", "/api/v2/storefront", "/api/v2/storefront/cart//", "/api/v2/storefront/carts"],
)
async def test_an_unknown_path_of_the_api_is_404(http: httpx2.AsyncClient, path: str) -> None:
    assert_error(await http.get(http.base_url.copy_with(raw_path=path.encode())), 404, "not_found")


@pytest.mark.parametrize("path", ["/%00", "/%ff%fe", "/..%2f..", "//", "/nowhere", "/nowhere/"])
async def test_any_other_unknown_path_is_a_404_page(http: httpx2.AsyncClient, path: str) -> None:
    response = await http.get(http.base_url.copy_with(raw_path=path.encode()))

    assert (response.status_code, response.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "We cannot find this page" in response.text


@pytest.mark.security("H-03")
async def test_a_path_that_is_too_long_is_refused(http: httpx2.AsyncClient) -> None:
    assert_error(await http.get("/api/" + "x" * 2100), 414, "uri_too_long")
    assert_error(await http.get(CART + "?a=" + "x" * 8200), 414, "uri_too_long")


@pytest.mark.security("H-03")
async def test_headers_that_are_too_large_are_refused(http: httpx2.AsyncClient) -> None:
    assert_error(await http.post(CART, headers={"X-Filler": "x" * 17_000}), 431, "headers_too_large")


@pytest.mark.parametrize(
    "query",
    [
        "%ff",
        "a=%ff",
        "a[=1",
        "a[b]c=1",
        "[a]=1",
        "a=1&a[b]=2",
        "a[b]=1&a[]=2",
        "a=%00",
        "&".join(f"k{n}=1" for n in range(201)),
    ],
)
async def test_unreadable_parameters_are_malformed(http: httpx2.AsyncClient, query: str) -> None:
    assert_error(await http.post(f"{CART}?{query}"), 400, "malformed")


JUNK = [
    b"\xff\xfe",
    b"'; drop table orders; --",
    b"${jndi:ldap://x}",
    b"\xc3\xa9",
    b"%00",
    b"a" * 4000,
    b"Bearer a, Bearer b",
    b"{}",
]
HEADERS = [
    "Accept",
    "Accept-Encoding",
    "Accept-Language",
    "Connection",
    "Content-Encoding",
    "Content-Type",
    "Cookie",
    "Expect",
    "Forwarded",
    "Host",
    "If-None-Match",
    "Idempotency-Key",
    "Origin",
    "Range",
    "Referer",
    "User-Agent",
    "X-Forwarded-For",
    "X-Request-Id",
    "X-Shop-Order-Token",
    "X-Spree-Order-Token",
]


@pytest.mark.security("T-04")
@pytest.mark.parametrize("name", HEADERS)
async def test_junk_in_a_header_never_causes_a_server_error(http: httpx2.AsyncClient, name: str) -> None:
    for junk in JUNK:
        response = await http.post(CART, headers=[(name.encode(), junk)])
        read = await http.get(CART, headers=[(name.encode(), junk)])

        assert response.status_code in {201, 400}, (junk, response.text)
        assert read.status_code in {400, 401, 404}, (junk, read.text)
        assert name != "Idempotency-Key" or response.status_code == 400
        for answer in (response, read):
            assert answer.status_code == 201 or "error" in answer.json()
            assert answer.status_code == 201 or answer.json()["request_id"] == answer.headers["x-request-id"]


@pytest.mark.security("T-04")
@pytest.mark.parametrize(
    "value", [b"Bearer \xff", b"Bearer \xc3\xa9", b"Bearer", b"BEARER x y", b"Bearer " + b"x" * 10_000]
)
async def test_a_malformed_bearer_token_is_401(http: httpx2.AsyncClient, value: bytes) -> None:
    assert_error(await http.post(CART, headers=[(b"Authorization", value)]), 401, "invalid_token")


@pytest.mark.security("T-04")
async def test_two_authorization_headers_are_malformed(http: httpx2.AsyncClient) -> None:
    headers = [(b"Authorization", b"Bearer a"), (b"Authorization", b"Bearer b")]

    assert_error(await http.post(CART, headers=headers), 400, "malformed")


RAW = {
    "two lengths": b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "a negative length": b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    "a length in words": b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: five\r\n\r\n",
    "a bad chunk": b"POST %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
    b"Content-Type: application/json\r\n\r\nzz\r\n\r\n",
    "a space before the colon": b"GET %s HTTP/1.1\r\nHost : x\r\n\r\n",
    "no version": b"GET %s\r\n\r\n",
    "a folded header": b"GET %s HTTP/1.1\r\nHost: x\r\nX-A: b\r\n c\r\n\r\n",
    "not HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 %s",
}


@pytest.mark.security("H-03")
@pytest.mark.parametrize("raw", RAW.values(), ids=RAW.keys())
async def test_invalid_http_is_refused_and_the_connection_closed(service: Service, db: Any, raw: bytes) -> None:
    before = await db.fetchval("select count(*) from orders")
    address = urlsplit(service.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    # The bytes that follow must not be read as a separate request.
    writer.write(raw.replace(b"%s", CART.encode()) + b"POST /api/v2/storefront/cart HTTP/1.1\r\nHost: x\r\n\r\n")
    answer = await asyncio.wait_for(reader.read(), 15)
    writer.close()

    assert answer.startswith(b"HTTP/1.1 400 "), answer
    assert answer.count(b"HTTP/1.1") == 1
    assert await db.fetchval("select count(*) from orders") == before


async def test_with_length_and_chunks_the_chunks_are_read_and_the_connection_is_closed(
    service: Service, db: Any
) -> None:
    """The server drops the length before the shop sees it; a proxy in front refuses both together."""
    before = await db.fetchval("select count(*) from orders")
    address = urlsplit(service.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    head = f"POST {CART} HTTP/1.1\r\nHost: x\r\n"
    writer.write(f"{head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{head}\r\n".encode())
    answer = await asyncio.wait_for(reader.read(), 15)
    writer.close()

    assert (answer.startswith(b"HTTP/1.1 201 "), answer.count(b"HTTP/1.1")) == (True, 1), answer
    assert await db.fetchval("select count(*) from orders") == before + 1


@pytest.mark.parametrize("coding", ["gzip, chunked", "chunked, identity", "identity"])
async def test_an_unsupported_transfer_encoding_is_refused(
    service: Service, http: httpx2.AsyncClient, coding: str
) -> None:
    address = urlsplit(service.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    writer.write(f"POST {CART} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: {coding}\r\n\r\n0\r\n\r\n".encode())
    answer = await asyncio.wait_for(reader.readline(), 15)
    writer.close()

    assert answer.startswith(b"HTTP/1.1 400 "), answer
    assert (await http.get("/livez")).status_code == 200


async def test_an_unused_body_must_be_valid_too(guest: Shopper, http: httpx2.AsyncClient) -> None:
    await guest.post("/cart")
    token = {"X-Shop-Order-Token": guest.order_token or ""}

    response = await http.request("DELETE", CART, content=b'{"a": 1, "a": NaN', headers={**JSON, **token})

    assert_error(response, 400, "malformed")
    assert (await guest.get("/cart")).status == 200


@pytest.mark.parametrize("size", [2, 10_000_000])
@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/livez", 200), ("GET", CART, 401), ("PUT", CART, 405), ("GET", "/x", 404)]
)
def test_an_unexpected_body_does_not_prevent_the_response(
    service: Service, method: str, path: str, status: int, size: int
) -> None:
    """The client reads the response only after it has sent the whole body."""
    with closing(HTTPConnection(urlsplit(service.url).netloc, timeout=15)) as client:
        client.request(method, path, body=b"x" * size)

        assert client.getresponse().status == status


async def test_a_body_shorter_than_its_content_length_causes_no_failure(
    service: Service, http: httpx2.AsyncClient
) -> None:
    address = urlsplit(service.url)
    _, writer = await asyncio.open_connection(address.hostname, address.port)
    writer.write(
        f"POST {CART} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{{".encode()
    )
    await writer.drain()
    writer.close()

    assert (await http.post(CART)).status_code == 201
