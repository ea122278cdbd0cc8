"""Bad input at the platform's door gets the right 4xx; never a 5xx, however oddly it is put."""

import base64
from typing import Any
from uuid import uuid4

import httpx
import pytest

from shop.base.secrets import CLIENT_SECRET, new_client_id, new_secret, secret_hash

PLATFORM = "/api/v2/platform"
TOKEN = "/shop_oauth/token"


class Machine:
    """An application that may write, and its way of asking."""

    def __init__(self, http: httpx.AsyncClient, client_id: str, secret: str) -> None:
        self.http = http
        self.client = {"client_id": client_id, "client_secret": secret}
        self._token: str | None = None

    async def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        if self._token is None:
            self._token = (await self.grant("admin write"))["access_token"]
        headers = {"Authorization": f"Bearer {self._token}"}
        return await self.http.request(method, PLATFORM + path, headers=headers, **more)

    async def grant(self, scope: str) -> dict[str, Any]:
        body = {"grant_type": "client_credentials", "scope": scope, **self.client}
        granted: dict[str, Any] = (await self.http.post(TOKEN, json=body)).raise_for_status().json()
        return granted


@pytest.fixture
async def machine(http: httpx.AsyncClient, db: Any) -> Machine:
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
async def test_a_nul_in_the_basic_header_cannot_be_read(http: httpx.AsyncClient, machine: Machine, name: str) -> None:
    for secret in ("wrong", machine.client["client_secret"]):
        basic = base64.b64encode(f"{name}:{secret}".encode()).decode()
        body = {"grant_type": "client_credentials", "scope": "read"}

        response = await http.post(TOKEN, data=body, headers={"Authorization": f"Basic {basic}"})

        assert response.status_code == 400, response.text
        assert response.json()["error"] == "invalid_request"
