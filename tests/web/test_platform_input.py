"""Hostile input to the platform API gets the right 4xx and never a 5xx, and shows or changes nothing."""

import base64
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from shop.base.crypto.secrets import CLIENT_SECRET, new_client_id, new_secret, secret_hash

PLATFORM = "/api/v2/platform"
TOKEN = "/shop_oauth/token"


class Machine:
    """An application that may write, and its requests."""

    scope = "admin write"

    def __init__(self, http: httpx2.AsyncClient, client_id: str, secret: str) -> None:
        self.http = http
        self.client = {"client_id": client_id, "client_secret": secret}
        self._token: str | None = None

    async def ask(self, method: str, path: str, **more: Any) -> httpx2.Response:
        if self._token is None:
            self._token = (await self.grant(self.scope))["access_token"]
        headers = {"Authorization": f"Bearer {self._token}"}
        return await self.http.request(method, PLATFORM + path, headers=headers, **more)

    async def grant(self, scope: str) -> dict[str, Any]:
        body = {"grant_type": "client_credentials", "scope": scope, **self.client}
        answer = await self.http.post(TOKEN, json=body)
        assert answer.status_code == 200, answer.text
        pair: dict[str, Any] = answer.json()
        return pair


@pytest.fixture
async def machine(http: httpx2.AsyncClient, db: Any) -> Machine:
    application_id, client_id, secret = uuid4(), new_client_id(), new_secret(CLIENT_SECRET)
    await db.execute(
        """insert into applications (id, client_id, name, access_level, created_at, updated_at)
        values ($1, $2, 'Machine', 'write', now(), now())""",
        application_id,
        client_id,
    )
    await db.execute(
        """insert into application_secrets (id, application_id, hash, hint, created_at)
        values ($1, $2, $3, 'hint', now())""",
        uuid4(),
        application_id,
        secret_hash(secret),
    )
    return Machine(http, client_id, secret)


@pytest.mark.parametrize("name", ["\0", "a%00b", "%00"])
async def test_a_nul_in_the_basic_header_is_an_invalid_request(
    http: httpx2.AsyncClient, machine: Machine, name: str
) -> None:
    for secret in ("wrong", machine.client["client_secret"]):
        basic = base64.b64encode(f"{name}:{secret}".encode()).decode()
        body = {"grant_type": "client_credentials", "scope": "read"}

        response = await http.post(TOKEN, data=body, headers={"Authorization": f"Basic {basic}"})

        assert response.status_code == 400, response.text
        assert response.json()["error"] == "invalid_request"


NOT_COMPARABLE = {
    "true of a text": ({"filter[email_true]": "1"}, "unknown_filter"),
    "false of a time": ({"filter[completed_at_false]": "1"}, "unknown_filter"),
    "true of an amount": ({"filter[total_true]": "0"}, "unknown_filter"),
    "a text or an id": ({"filter[email_or_id_eq]": "x"}, "unknown_filter"),
    "texts or ids": ({"filter[email_or_id_in]": "x,y"}, "unknown_filter"),
    "a part of a time": ({"filter[email_or_created_at_cont]": "1"}, "unknown_filter"),
    "before the first day": ({"filter[created_at_gt]": "0001-01-01T00:00:00+23:59"}, "bad_filter"),
    "after the last day": ({"filter[created_at_in]": "9999-12-31T23:59:59-23:59"}, "bad_filter"),
    "a million digits": ({"filter[total_eq]": "1e-999999"}, "bad_filter"),
    "zero with a huge exponent": ({"filter[total_eq]": "0e999999999"}, "bad_filter"),
    "more digits than are stored": ({"filter[total_in]": "1e-20000,2"}, "bad_filter"),
    "an object for a list": ({"filter[email_in][a]": "b"}, "bad_filter"),
    "an unknown name without a value": ({"filter[emial_eq]": ""}, "unknown_filter"),
}


@pytest.mark.parametrize(("params", "code"), NOT_COMPARABLE.values(), ids=NOT_COMPARABLE.keys())
async def test_an_invalid_comparison_in_a_filter_is_refused(
    machine: Machine, params: Mapping[str, str], code: str
) -> None:
    response = await machine.ask("GET", "/orders", params=params)

    assert response.status_code == 400, response.text
    assert response.json()["code"] == code


async def test_a_boolean_filter_accepts_only_booleans(machine: Machine) -> None:
    response = await machine.ask("GET", "/countries", params={"filter[states_required_eq]": "maybe"})
    countries = await machine.ask("GET", "/countries", params={"filter[states_required_true]": "1"})

    assert (response.status_code, response.json()["code"]) == (400, "bad_filter")
    assert {row["attributes"]["states_required"] for row in countries.json()["data"]} == {True}


async def test_an_empty_filter_is_ignored(machine: Machine) -> None:
    response = await machine.ask("GET", "/countries", params={"filter[name_cont]": ""})

    assert response.json()["meta"]["total_count"] > 200


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
async def test_a_cursor_outside_the_calendar_is_refused(machine: Machine, moment: str) -> None:
    after = base64.urlsafe_b64encode(f'["{moment}","{uuid4()}"]'.encode()).decode().rstrip("=")

    response = await machine.ask("GET", "/orders", params={"sort": "created_at", "page[after]": after})

    assert (response.status_code, response.json()["code"]) == (400, "bad_page")


NOT_A_NAME = {"two lines": "Ada\r\nBcc: everybody@example.com", "too long": "a" * 256}


@pytest.mark.parametrize("text", NOT_A_NAME.values(), ids=NOT_A_NAME.keys())
async def test_names_must_be_one_short_line(machine: Machine, text: str) -> None:
    names = {"first_name": text, "last_name": text, "selected_locale": text}

    response = await machine.ask("POST", "/users", json={"user": {"email": f"{uuid4().hex}@example.com", **names}})

    assert response.status_code == 422, response.text
    assert set(response.json()["errors"]) == set(names)


async def test_a_refresh_with_a_larger_scope_consumes_nothing_and_is_audited(
    http: httpx2.AsyncClient, machine: Machine, db: Any
) -> None:
    pair = await machine.grant("read")
    body = {"grant_type": "refresh_token", "refresh_token": pair["refresh_token"], **machine.client}

    response = await http.post(TOKEN, json={**body, "scope": "write"})

    assert (response.status_code, response.json()["error"]) == (400, "invalid_scope")
    event = await db.fetchrow(
        "select action, outcome, detail->>'reason' as reason from audit_events where request_id = $1",
        response.headers["x-request-id"],
    )
    assert tuple(event) == ("refresh", "refused", "scope")
    assert (await http.post(TOKEN, json=body)).json()["scope"] == "read"


@pytest.mark.security("P-04", "A-02")
async def test_an_insufficient_scope_is_403_and_audited_once_per_window(machine: Machine, db: Any) -> None:
    machine.scope = "read"
    before = await db.fetchval("select count(*) from orders")

    for _ in range(2):
        response = await machine.ask("POST", "/orders", json={"order": {}})
        assert (response.status_code, response.json()["code"]) == (403, "insufficient_scope")

    assert await db.fetchval("select count(*) from orders") == before
    query = """select outcome, detail->>'needed' as needed from audit_events
        where action = 'access' and actor_id = (select id from applications where client_id = $1)"""
    assert [tuple(row) for row in await db.fetch(query, machine.client["client_id"])] == [("refused", "write")]


async def test_a_deleted_address_is_not_shown_with_its_user(machine: Machine, db: Any) -> None:
    user = (await machine.ask("POST", "/users", json={"user": {"email": f"{uuid4().hex}@example.com"}})).json()["data"]
    city = uuid4().hex
    address = {"firstname": "Ada", "lastname": "Lovelace", "address1": "1 Main St", "zipcode": "10001", "phone": "1"}
    address |= {"city": city, "country_iso": "US", "state_code": "NY", "user_id": user["id"]}
    record = (await machine.ask("POST", "/addresses", json={"address": address})).json()["data"]
    await db.execute("update addresses set deleted_at = now() where id = $1", record["id"])

    user_document = (await machine.ask("GET", f"/users/{user['id']}", params={"include": "addresses"})).json()
    users = (await machine.ask("GET", "/users", params={"filter[addresses_city_eq]": city})).json()

    assert user_document["data"]["relationships"]["addresses"]["data"] == []
    assert user_document["included"] == []
    assert users["data"] == []
