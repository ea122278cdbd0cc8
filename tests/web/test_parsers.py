"""Parsing of a request before its endpoint: JSON, parameters, source address and route."""

import asyncio
import io
import json
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shop.actions.context import Context, Shared
from shop.base.config.setting_parsers import Network
from shop.base.config.settings import read_settings
from shop.base.crypto.keys import parse_keys
from shop.base.errors import Malformed
from shop.db.pool import open_database
from shop.models.setup.shop import Shop
from shop.web.asgi import Message, Scope
from shop.web.endpoint import EndpointContext, Route
from shop.web.input.parameters import read_form
from shop.web.input.request import Request
from shop.web.input.strict_json import load_json
from shop.web.log import configure_logging
from shop.web.reply import Reply, json_reply
from shop.web.router import Router
from shop.web.source import source_address
from tests.http_client import NO_CERTIFICATES


def nested_lists(depth: int, inner: str = "") -> bytes:
    return ("[" * depth + inner + "]" * depth).encode()


def object_with_keys(count: int) -> bytes:
    return json.dumps({f"k{number}": 0 for number in range(count)}).encode()


UNREADABLE = {
    "nothing": b"",
    "blanks": b" \n",
    "half an object": b'{"a": 1',
    "two values": b"{} {}",
    "a comma too many": b"[1,]",
    "a comment": b"{} // so",
    "single quotes": b"{'a': 1}",
    "the same key twice": b'{"a": 1, "a": 1}',
    "the same key twice, once escaped": b'{"a": 1, "\\u0061": 2}',
    "the same key twice, within": b'{"x": [{"a": 1, "a": 2}]}',
    "NaN": b"[NaN]",
    "Infinity": b'{"a": Infinity}',
    "-Infinity": b"-Infinity",
    "1e400": b'{"a": 1e400}',
    "-1e400": b"-1e400",
    "NUL": b'"a\\u0000b"',
    "NUL in a key": b'{"a\\u0000": 1}',
    "a bare NUL": b'"a\x00b"',
    "a bare line feed": b'"a\nb"',
    "the first half of a pair": b'"\\ud83d"',
    "the second half of a pair": b'{"a": "\\ude00"}',
    "half a pair in a key": b'{"\\ud83d": 1}',
    "halves in the wrong order": b'"\\ude00\\ud83d"',
    "a surrogate in UTF-8": b'"\xed\xa0\xbd"',
    "an overlong form": b'"\xc0\x80"',
    "Latin-1": b'"caf\xe9"',
    "UTF-16 with a mark": '{"a": 1}'.encode("utf-16"),
    "UTF-16 without": '{"a": 1}'.encode("utf-16-le"),
    "UTF-32": '{"a": 1}'.encode("utf-32"),
    "a byte order mark": b'\xef\xbb\xbf{"a": 1}',
    "33 levels": nested_lists(33),
    "33 levels of objects": b'{"a":' * 33 + b"1" + b"}" * 33,
    "100,000 levels": nested_lists(100_000),
    "100,000 levels that never end": b'{"a":' * 100_000,
    "1001 keys": object_with_keys(1001),
    "1001 keys in two objects": b'{"a": ' + object_with_keys(500) + b', "b": ' + object_with_keys(499) + b"}",
    "2^53 + 1": b"9007199254740993",
    "-2^53 - 1": b"-9007199254740993",
    "an integer of 5000 digits": b"9" * 5000,
    "an integer of 4000 digits": b"[" + b"9" * 4000 + b"]",
}


@pytest.mark.security("H-02")
@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_ambiguous_or_invalid_json_is_malformed(body: bytes) -> None:
    with pytest.raises(Malformed) as excinfo:
        load_json(body)

    assert (excinfo.value.status, excinfo.value.code) == (400, "malformed")


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"{}", {}),
        (b" [1, -2, 1.5, true, false, null] ", [1, -2, 1.5, True, False, None]),
        (b'{"a": {"a": [{"a": 1}, {"a": 2}]}}', {"a": {"a": [{"a": 1}, {"a": 2}]}}),
        (b"9007199254740992", 2**53),
        (b"-9007199254740992", -(2**53)),
        (b"1e308", 1e308),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        ('{"näme": "日本"}'.encode(), {"näme": "日本"}),
        (b'"\\u001f\\n\\u007f"', "\x1f\n\x7f"),
    ],
)
def test_valid_json_is_read(body: bytes, value: Any) -> None:
    assert load_json(body) == value


def test_a_thousand_keys_are_read() -> None:
    assert len(load_json(object_with_keys(1000))) == 1000


@pytest.mark.parametrize("inner", ["", "1", '"a", null'])
def test_thirty_two_levels_of_nesting_are_read(inner: str) -> None:
    assert load_json(nested_lists(32, inner)) == json.loads(nested_lists(32, inner))


def test_an_error_does_not_quote_the_body() -> None:
    with pytest.raises(Malformed) as excinfo:
        load_json(b'{"code": "493817", }')

    assert "493817" not in excinfo.value.sentence


TEXTS = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=5)
PLAIN = (
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
)
VALUES = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3))


@given(VALUES, st.booleans())
def test_every_valid_value_is_read_unchanged(value: Any, ensure_ascii: bool) -> None:
    assert load_json(json.dumps(value, ensure_ascii=ensure_ascii).encode()) == value


JSONISH = st.lists(st.sampled_from([*'{}[]",:0123456789eE+-.', "\\u", "\\", "null", "NaN", '"a":', "d83d"]))


@pytest.mark.security("H-02")
@given(st.binary(max_size=80) | JSONISH.map("".join).map(str.encode))
def test_any_bytes_are_read_or_malformed(body: bytes) -> None:
    value = None
    try:
        value = load_json(body)
    except Malformed:
        return

    assert json.dumps(value, allow_nan=False) == json.dumps(json.loads(body))


FORMS: list[tuple[bytes, dict[str, Any]]] = [
    (b"", {}),
    (b"a=1&b[c]=2&d[]=3&d[]=4", {"a": "1", "b": {"c": "2"}, "d": ["3", "4"]}),
    (b"a=1&a=2", {"a": "2"}),
    (b"a&b=", {"a": "", "b": ""}),
    (b"fields[cart]=number,total&fields[user]=", {"fields": {"cart": "number,total", "user": ""}}),
    (b"filter[options][size]=s&filter[options][color]=red", {"filter": {"options": {"size": "s", "color": "red"}}}),
    (b"filter[ids][]=1&filter[ids][]=2", {"filter": {"ids": ["1", "2"]}}),
    (b"fields%5Bcart%5D=a%2Cb", {"fields": {"cart": "a,b"}}),
    (b"name=J%C3%BCrgen+M%2B", {"name": "Jürgen M+"}),
    (b"a=b=c;d", {"a": "b=c;d"}),
    (b"a[b]=1&a[b]=2", {"a": {"b": "2"}}),
    (b"a]=1", {"a]": "1"}),
]


@pytest.mark.parametrize(("form", "params"), FORMS)
def test_parameters_are_nested_by_their_brackets(form: bytes, params: dict[str, Any]) -> None:
    assert read_form(form) == params


UNBALANCED_BRACKETS = b"a[=1 a[b=1 a[b]c=1 a[b[c]]=1 a[b]]=1 [a]=1 []=1".split()
NOT_TEXT = [b"a=%FF", b"%FF=a", b"a=%ED%A0%80", b"a=\xc3\xa9", b"a=\xff", b"a=%00", b"a%00=1", b"a[%00]=1"]


@pytest.mark.parametrize("form", [*UNBALANCED_BRACKETS, *NOT_TEXT, b"&".join([b"a=1"] * 201)])
def test_unreadable_parameters_are_malformed(form: bytes) -> None:
    with pytest.raises(Malformed):
        read_form(form)


def test_two_hundred_parameters_are_read() -> None:
    assert len(read_form(b"&".join(b"a%d=1" % number for number in range(200)))) == 200


@pytest.mark.parametrize(
    "form",
    [b"a=1&a[b]=2", b"a[b]=2&a=1", b"a=1&a[]=2", b"a[]=2&a=1", b"a[b]=1&a[]=2", b"a[]=2&a[b]=1", b"a[b][c]=1&a[b]=2"],
)
def test_a_parameter_of_two_different_forms_is_malformed(form: bytes) -> None:
    with pytest.raises(Malformed):
        read_form(form)


@pytest.mark.parametrize(
    ("form", "params"),
    [
        (b"a[][b]=1", {"a": [{"b": "1"}]}),
        (b"a[][b]=1&a[][c]=2&a[][b]=3", {"a": [{"b": "1", "c": "2"}, {"b": "3"}]}),
        (b"a[b][][c]=1&a[b][][c]=2", {"a": {"b": [{"c": "1"}, {"c": "2"}]}}),
        (b"a[][b][c]=1&a[][b][d]=2&a[][b][c]=3", {"a": [{"b": {"c": "1", "d": "2"}}, {"b": {"c": "3"}}]}),
        (b"a[][b][]=1&a[][b][]=2", {"a": [{"b": ["1", "2"]}]}),
    ],
)
def test_a_list_of_objects_is_read_as_rails_reads_it(form: bytes, params: Any) -> None:
    assert read_form(form) == params


@pytest.mark.parametrize("form", [b"a[][]=1", b"a[]=1&a[][b]=2", b"a[][b]=1&a[]=2&a[][c]=3", b"a[][b]=1&a[b]=2"])
def test_a_list_of_both_objects_and_values_is_malformed(form: bytes) -> None:
    with pytest.raises(Malformed):
        read_form(form)


def test_parameters_nested_deeper_than_json_may_be_are_malformed() -> None:
    with pytest.raises(Malformed):
        read_form(b"a" + b"[b]" * 33 + b"=1")


@given(st.binary(max_size=60) | st.text("ab[]=&%0fF+", max_size=40).map(str.encode))
def test_any_parameters_are_read_as_a_mapping_or_malformed(form: bytes) -> None:
    params: Any = {}
    try:
        params = read_form(form)
    except Malformed:
        return

    assert isinstance(params, dict)
    assert "\x00" not in json.dumps(params, ensure_ascii=False)


TRUSTED_NETWORKS = read_settings({"SHOP_TRUSTED_PROXIES": "10.0.0.0/8, 2001:db8:1::/48"}).trusted_proxies


def source(peer: str | None, *addresses: str, trusted_networks: tuple[Network, ...] = TRUSTED_NETWORKS) -> str:
    headers = [(b"x-forwarded-for", value.encode("latin-1")) for value in addresses]
    scope: Scope = {"type": "http", "client": (peer, 4711) if peer else None, "headers": headers}
    return source_address(scope, trusted_networks)


@pytest.mark.security("M-02")
@pytest.mark.parametrize(
    ("peer", "forwarded_for"),
    [("203.0.113.9", "198.51.100.1"), ("11.0.0.1", "10.0.0.2"), ("2001:db8:2::1", "198.51.100.1"), ("unix", "1.1.1.1")],
)
def test_x_forwarded_for_of_an_untrusted_peer_is_ignored(peer: str, forwarded_for: str) -> None:
    assert source(peer, forwarded_for) == peer


@pytest.mark.security("M-02")
def test_without_trusted_proxies_x_forwarded_for_is_ignored() -> None:
    assert source("10.0.0.1", "198.51.100.1", trusted_networks=()) == "10.0.0.1"


def test_without_a_peer_the_source_is_unknown() -> None:
    assert source(None, "198.51.100.1") == "unknown"


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "address"),
    [
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", [""], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["6.6.6.6, 198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["6.6.6.6, 198.51.100.1, 10.0.0.3, 10.0.0.2"], "198.51.100.1"),
        ("10.0.0.1", ["6.6.6.6", "198.51.100.1", "10.0.0.2"], "198.51.100.1"),
        ("10.0.0.1", ["6.6.6.6,198.51.100.1 ,, 10.0.0.2 ,"], "198.51.100.1"),
        ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        ("2001:db8:1::1", ["2001:db8:9::7"], "2001:db8:9::7"),
        ("2001:db8:1::1", ["6.6.6.6, 2001:db8:9::7, 10.0.0.2"], "2001:db8:9::7"),
    ],
)
def test_the_source_is_the_last_address_that_is_not_a_trusted_proxy(
    peer: str, forwarded_for: list[str], address: str
) -> None:
    assert source(peer, *forwarded_for) == address


@pytest.mark.parametrize(
    "junk", ["unknown", "_hidden", "198.51.100.1:80", "[2001:db8::1]", "1", "198.51.100.256", "é", "<script>"]
)
def test_after_an_invalid_hop_the_source_is_the_proxy_that_added_it(junk: str) -> None:
    assert source("10.0.0.1", f"198.51.100.1, {junk}") == "10.0.0.1"
    assert source("10.0.0.1", f"198.51.100.1, {junk}, 10.0.0.2") == "10.0.0.2"


def test_a_trusted_proxy_is_recognized_on_a_dual_stack_socket() -> None:
    assert source("::ffff:10.0.0.1", "198.51.100.1") == "198.51.100.1"


def route(method: str, path: str) -> Route:
    async def endpoint(request: Request, _ctx: Context) -> Reply:
        return json_reply([f"{method} {path}", dict(request.path_params)])

    return Route(method, path, endpoint, "anyone", "Say which route answers", reads_claim=False)


def make_router(*lines: str) -> Router:
    """A router of routes written as `GET /path`; none of them uses the database."""
    configure_logging("error", "json", io.TextIOWrapper(io.BytesIO()))
    database = open_database("postgresql://nowhere.invalid/shop", size=1)
    shared = Shared(
        database, parse_keys("t1:" + "5a" * 32), Shop(currencies=["USD"]), read_settings({}), asyncio.Event()
    )
    return Router(EndpointContext(shared), [route(*line.split()) for line in lines])


async def send_request(router: Router, method: str, path: str) -> httpx2.Response:
    transport = httpx2.ASGITransport(router)
    async with httpx2.AsyncClient(transport=transport, base_url="http://shop", verify=NO_CERTIFICATES) as client:
        return await client.request(method, path)


async def call_route(router: Router, line: str) -> Any:
    response = await send_request(router, *line.split())
    return response.json() if response.status_code == 200 else response.status_code


async def test_each_of_150_routes_serves_its_own_path() -> None:
    forms = ("/shop/resource{0}", "/shop/resource{0}/{{id}}", "/shop/resource{0}/{{id}}/action{0}")
    paths = [form.format(number) for number in range(50) for form in forms]
    router = make_router(*(f"GET {path}" for path in paths))

    for path in paths:
        params = {"id": "a-7"} if "{id}" in path else {}
        assert await call_route(router, f"GET {path.replace('{id}', 'a-7')}") == [f"GET {path}", params]


async def test_path_parameters_are_read_by_name() -> None:
    router = make_router("GET /books/{book_id}/readers/{id}")

    assert (await call_route(router, "GET /books/7/readers/r%C3%A4"))[1] == {"book_id": "7", "id": "rä"}


@pytest.mark.parametrize(
    "path", ["/", "/book", "/books//", "/books//readers", "/books/7/8", "/books/7/readers//", "/Books"]
)
async def test_a_path_without_a_route_is_404(path: str) -> None:
    router = make_router("GET /books", "GET /books/{id}", "GET /books/{id}/readers")

    missing = await send_request(router, "GET", path)

    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize("path", ["/books/", "/books/7/", "/books/7/readers/"])
async def test_a_trailing_slash_is_accepted(path: str) -> None:
    router = make_router("GET /books", "GET /books/{id}", "GET /books/{id}/readers")

    assert (await send_request(router, "GET", path)).status_code == 200


async def test_a_literal_segment_has_precedence_over_a_parameter() -> None:
    router = make_router("GET /books/{id}", "GET /books/new", "GET /books/{id}/{part}", "GET /books/new/{part}")

    assert await call_route(router, "GET /books/new") == ["GET /books/new", {}]
    assert await call_route(router, "GET /books/7") == ["GET /books/{id}", {"id": "7"}]
    assert await call_route(router, "GET /books/new/cover") == ["GET /books/new/{part}", {"part": "cover"}]


async def test_a_literal_segment_without_a_route_does_not_hide_a_parameter() -> None:
    router = make_router("GET /books/{id}", "GET /books/new/{part}/large", "GET /books/{id}/cover")

    assert await call_route(router, "GET /books/new") == ["GET /books/{id}", {"id": "new"}]
    assert await call_route(router, "GET /books/new/cover") == ["GET /books/{id}/cover", {"id": "new"}]


async def test_a_literal_path_hides_the_parameter_for_every_method() -> None:
    router = make_router("GET /books/{id}", "DELETE /books/{id}", "POST /books/search")

    responses = [await send_request(router, method, "/books/search") for method in ("GET", "DELETE", "PUT")]

    assert [(each.status_code, each.headers["allow"]) for each in responses] == [(405, "POST")] * 3
    assert await call_route(router, "POST /books/search") == ["POST /books/search", {}]


@pytest.mark.parametrize("rest", ["t-shirts", "t-shirts/summer/blue", "/", "a//b", "7/cover/large", "new/7"])
async def test_a_rest_parameter_matches_paths_without_another_route(rest: str) -> None:
    router = make_router("GET /books/{way*}", "GET /books/{id}/cover", "GET /books/new/{part}/large")

    assert await call_route(router, f"GET /books/{rest}") == ["GET /books/{way*}", {"way": rest}]
    assert await call_route(router, f"GET /books/{rest.strip('/') or 'a'}/") == [
        "GET /books/{way*}",
        {"way": rest.strip("/") or "a"},
    ]


async def test_literals_and_parameters_have_precedence_over_a_nonempty_rest_parameter() -> None:
    router = make_router("GET /books/{way*}", "GET /books/{id}", "GET /books/new", "GET /books/new/{part}")

    assert await call_route(router, "GET /books/new") == ["GET /books/new", {}]
    assert await call_route(router, "GET /books/7") == ["GET /books/{id}", {"id": "7"}]
    assert await call_route(router, "GET /books/new/cover") == ["GET /books/new/{part}", {"part": "cover"}]
    assert await call_route(router, "GET /books/new/cover/x") == ["GET /books/{way*}", {"way": "new/cover/x"}]
    assert await call_route(router, "GET /books/") == 404


@pytest.mark.parametrize("path", ["/books", "/books/7"])
async def test_an_unsupported_method_is_405_with_the_allowed_ones(path: str) -> None:
    router = make_router("POST /books", "GET /books", "POST /books/{id}", "GET /books/{id}")

    response = await send_request(router, "DELETE", path)

    assert (response.status_code, response.json()["code"]) == (405, "method_not_allowed")
    assert response.headers["allow"] == "GET, HEAD, POST"


async def response_body(router: Router, method: str, path: str) -> bytes:
    """The body as it leaves the application: a client would hide one that follows HEAD."""
    messages: list[Message] = []

    async def send(message: Message) -> None:
        messages.append(message)

    async def receive() -> Message:
        return {"type": "http.request"}

    scope: Scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": [], "client": None}
    await router(scope, receive, send)
    return b"".join(message.get("body", b"") for message in messages)


async def test_head_has_the_headers_of_get_and_no_body() -> None:
    router = make_router("GET /books/{id}", "POST /books")

    head, get = await send_request(router, "HEAD", "/books/7"), await send_request(router, "GET", "/books/7")

    assert await response_body(router, "GET", "/books/7") == get.content
    assert await response_body(router, "HEAD", "/books/7") == await response_body(router, "HEAD", "/books") == b""
    assert head.status_code == 200
    assert head.headers["content-length"] == get.headers["content-length"] == str(len(get.content))
    assert (await send_request(router, "HEAD", "/books")).headers["allow"] == "POST"
    assert (await send_request(router, "HEAD", "/nothing")).status_code == 404


@pytest.mark.parametrize(
    "lines",
    [
        ("GET /books", "GET /books"),
        ("GET /books/{id}", "GET /books/{id}"),
        ("GET /a/{id}", "GET /a/{name}/b"),
        ("GET /books/{id*}", "GET /books/{id*}"),
        ("GET /a/{id*}", "GET /a/{name*}"),
        ("GET /a/{id*}/b",),
    ],
)
def test_contradictory_routes_are_refused(lines: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"is declared twice|is named id in another route|nothing can follow"):
        make_router(*lines)
