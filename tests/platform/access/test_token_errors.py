"""Malformed token requests: each gets the error of RFC 6749, and none an internal error."""

from base64 import b64encode
from typing import Any

import httpx2
import pytest

from shop.base.crypto.secrets import CLIENT_SECRET, PLATFORM_REFRESH, new_secret
from tests.platform.client import TOKEN, App, basic, new_app

JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
BAD, CLIENT, SCOPE, GRANT, TYPE = (
    (400, "invalid_request"),
    (401, "invalid_client"),
    (400, "invalid_scope"),
    (400, "invalid_grant"),
    (400, "unsupported_grant_type"),
)
Call = dict[str, Any]


def token_request(app: App, /, **changes: Any) -> Call:
    """A valid request with these changes; None removes a field."""
    fields = {"grant_type": "client_credentials", "scope": "admin", **app.in_body, **changes}
    return {"json": {name: value for name, value in fields.items() if value is not None}}


def refresh_request(app: App, /, **changes: Any) -> Call:
    token = {"grant_type": "refresh_token", "refresh_token": new_secret(PLATFORM_REFRESH), "scope": None}
    return token_request(app, **{**token, **changes})


def form_request(app: App, extra: str = "") -> Call:
    body = f"grant_type=client_credentials&scope=admin&client_id={app.client_id}&client_secret={app.secret}{extra}"
    return {"content": body, "headers": FORM}


def header_request(app: App, authorization: str, **fields: Any) -> Call:
    body = {"grant_type": "client_credentials", "scope": "admin", **fields}
    return {"json": body, "headers": {"Authorization": authorization}}


def basic_header(text: str | bytes) -> str:
    return "Basic " + b64encode(text if isinstance(text, bytes) else text.encode()).decode()


MALFORMED: dict[str, tuple[Any, tuple[int, str]]] = {
    "no body": (lambda app: {}, BAD),
    "an empty body": (lambda app: {"json": {}}, BAD),
    "not JSON": (lambda app: {"content": b"{", "headers": JSON}, BAD),
    "a list": (lambda app: {"json": []}, BAD),
    "duplicate keys": (lambda app: {"content": b'{"scope": "admin", "scope": "read"}', "headers": JSON}, BAD),
    "NUL in a field": (lambda app: token_request(app, scope="admin\x00"), BAD),
    "an unpaired surrogate": (lambda app: {"content": b'{"scope": "\\ud800"}', "headers": JSON}, BAD),
    "deep nesting": (lambda app: {"content": b'{"a":' * 40 + b"1" + b"}" * 40, "headers": JSON}, BAD),
    "XML": (lambda app: {"content": b"<a/>", "headers": {"Content-Type": "text/xml"}}, (415, "invalid_request")),
    "an oversized body": (lambda app: token_request(app, more="x" * 70_000), (413, "invalid_request")),
    "broken percent-encoding": (lambda app: {"content": b"grant_type=%FF", "headers": FORM}, BAD),
    "a duplicate parameter": (lambda app: form_request(app, "&scope=read"), BAD),
    "a duplicate secret": (lambda app: form_request(app, f"&client_secret={app.secret}"), BAD),
    "brackets": (lambda app: form_request(app, "&a[b][]=c"), BAD),
    "a list of parameters": (lambda app: form_request(app, "&other[]=read"), BAD),
    "parameters in the query": (lambda app: {**token_request(app), "params": {"scope": "admin"}}, BAD),
    "the secret in the query": (
        lambda app: {"params": {**app.in_body, "grant_type": "client_credentials", "scope": "admin"}},
        BAD,
    ),
    "no grant_type": (lambda app: token_request(app, grant_type=None), BAD),
    "an empty grant_type": (lambda app: token_request(app, grant_type=""), BAD),
    "grant_type as a number": (lambda app: token_request(app, grant_type=1), BAD),
    "grant_type password": (lambda app: token_request(app, grant_type="password"), TYPE),
    "grant_type in capitals": (lambda app: token_request(app, grant_type="CLIENT_CREDENTIALS"), TYPE),
    "no scope": (lambda app: token_request(app, scope=None), SCOPE),
    "an empty scope": (lambda app: token_request(app, scope=""), SCOPE),
    "an unknown scope": (lambda app: token_request(app, scope="admin root"), SCOPE),
    "scope with a comma": (lambda app: token_request(app, scope="admin,read"), SCOPE),
    "scope in capitals": (lambda app: token_request(app, scope="ADMIN"), SCOPE),
    "scope with two spaces": (lambda app: token_request(app, scope="admin  read"), SCOPE),
    "scope as a list": (lambda app: token_request(app, scope=["admin"]), BAD),
    "scope as an object": (lambda app: token_request(app, scope={"admin": True}), BAD),
    "scope null": (lambda app: {"json": {**token_request(app)["json"], "scope": None}}, BAD),
    "client_id as a number": (lambda app: token_request(app, client_id=7), BAD),
    "no client": (lambda app: token_request(app, client_id=None, client_secret=None), CLIENT),
    "no secret": (lambda app: token_request(app, client_secret=None), CLIENT),
    "an empty secret": (lambda app: token_request(app, client_secret=""), CLIENT),
    "no client_id": (lambda app: token_request(app, client_id=None), CLIENT),
    "two authentication methods": (lambda app: {**token_request(app), "headers": app.in_header}, BAD),
    "two authentication methods, one secret wrong": (
        lambda app: {**token_request(app), "headers": basic(app.client_id, "x")},
        BAD,
    ),
    "two client ids": (lambda app: header_request(app, app.in_header["Authorization"], client_id="another"), BAD),
    "Basic without a colon": (lambda app: header_request(app, basic_header("abc")), BAD),
    "Basic that is not base64": (lambda app: header_request(app, "Basic !!!"), BAD),
    "Basic that is not UTF-8": (lambda app: header_request(app, basic_header(b"\xff:\xff")), BAD),
    "Basic with NUL": (lambda app: header_request(app, basic_header(f"a\x00:{app.secret}")), BAD),
    "Basic with an escaped NUL": (lambda app: header_request(app, basic_header(f"a%00:{app.secret}")), BAD),
    "Basic without credentials": (lambda app: header_request(app, "Basic"), BAD),
    "Basic with a wrong secret": (lambda app: header_request(app, basic_header(f"{app.client_id}:x")), CLIENT),
    "another scheme": (lambda app: header_request(app, "Digest x"), CLIENT),
    "a bearer token as client credentials": (
        lambda app: header_request(app, f"Bearer {new_secret(CLIENT_SECRET)}"),
        CLIENT,
    ),
    "no refresh_token": (lambda app: refresh_request(app, refresh_token=None), BAD),
    "an empty refresh_token": (lambda app: refresh_request(app, refresh_token=""), BAD),
    "refresh_token as a list": (lambda app: refresh_request(app, refresh_token=["x"]), BAD),
    "an unknown refresh_token": (refresh_request, GRANT),
    "an overlong refresh_token": (lambda app: refresh_request(app, refresh_token="é" * 5000), GRANT),
    "refreshing without a client": (lambda app: refresh_request(app, client_secret=None), CLIENT),
}


@pytest.mark.security("P-01")
@pytest.mark.parametrize("kind", MALFORMED)
async def test_a_malformed_token_request_gets_the_error_of_rfc_6749(
    http: httpx2.AsyncClient, db: Any, kind: str
) -> None:
    call, (status, error) = MALFORMED[kind]

    response = await http.post(TOKEN, **call(await new_app(db)))

    assert (response.status_code, response.json()["error"]) == (status, error), response.text
    assert set(response.json()) == {"error", "error_description"}
    assert response.headers["content-type"].startswith("application/json")
    assert response.headers["cache-control"] == "no-store"
    assert ("www-authenticate" in response.headers) == (status == 401)


@pytest.mark.security("P-01")
async def test_two_authorization_headers_are_refused(http: httpx2.AsyncClient, db: Any) -> None:
    app = await new_app(db)
    headers = [("Authorization", basic("x", "y")["Authorization"]), ("Authorization", app.in_header["Authorization"])]

    response = await http.post(TOKEN, json={"grant_type": "client_credentials", "scope": "admin"}, headers=headers)

    assert (response.status_code, response.json()["error"]) == (400, "invalid_request")


async def test_the_token_endpoint_accepts_only_post(http: httpx2.AsyncClient) -> None:
    for method in ("GET", "PUT", "DELETE"):
        response = await http.request(method, TOKEN)

        assert (response.status_code, response.headers["allow"]) == (405, "POST")
