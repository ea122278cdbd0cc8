"""Clients of the Platform API: applications with a secret, and their tokens."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx2
import msgspec

from shop.actions.context import Context, Shared
from shop.base.config.settings import read_settings
from shop.base.crypto.secrets import CLIENT_SECRET, new_client_id, new_secret, secret_hash
from shop.base.ids import new_id
from shop.db.pool import open_database
from shop.queries.setup.shop import find_shop
from tests.secret_leaks import record_secret
from tests.service import KEYS
from tests.shopper import Answer

PREFIX = "/api/v2/platform"
TOKEN = "/shop_oauth/token"


class App(msgspec.Struct, frozen=True):
    """An application with its secret."""

    id: UUID
    client_id: str
    secret: str

    @property
    def in_body(self) -> dict[str, str]:
        return {"client_id": self.client_id, "client_secret": self.secret}

    @property
    def in_header(self) -> dict[str, str]:
        return basic(self.client_id, self.secret)


def basic(client_id: str, secret: str) -> dict[str, str]:
    return {"Authorization": "Basic " + b64encode(f"{client_id}:{secret}".encode()).decode()}


async def new_app(db: Any, level: str = "write") -> App:
    """Writes an application to the database as the dashboard does, with a digest of the secret."""
    app = App(new_id(), new_client_id(), record_secret(new_secret(CLIENT_SECRET)))
    await db.execute(
        "insert into applications (id, client_id, name, access_level, created_at, updated_at)"
        " values ($1, $2, $3, $4, now(), now())",
        app.id,
        app.client_id,
        f"Machine {uuid4().hex[:8]}",
        level,
    )
    await db.execute(
        "insert into application_secrets (id, application_id, hash, hint, created_at) values ($1, $2, $3, $4, now())",
        new_id(),
        app.id,
        secret_hash(app.secret),
        app.secret[-4:],
    )
    return app


@asynccontextmanager
async def operator_context(database_url: str, *, data_dir: Path = Path("/proc/none")) -> AsyncIterator[Context]:
    """The context of the actions of an operator, without a page; images only with a data directory."""
    environ = {"SHOP_DATABASE_URL": database_url, "SHOP_SECRET_KEYS": KEYS, "SHOP_DATA_DIR": str(data_dir)}
    settings = read_settings(environ)
    database = open_database(database_url, size=2)
    shop = await find_shop(database.session())
    assert shop
    assert settings.secret_keys
    try:
        yield Context(Shared(database, settings.secret_keys, shop, settings, asyncio.Event()))
    finally:
        await database.close()


async def revoke_app(db: Any, app: App) -> None:
    await db.execute("update applications set revoked_at = now() where id = $1", app.id)


async def ask_for_token(http: httpx2.AsyncClient, app: App, scope: str, **more: str) -> Answer:
    body = {"grant_type": "client_credentials", "scope": scope, **app.in_body, **more}
    return Answer(await http.post(TOKEN, json=body))


async def refresh(http: httpx2.AsyncClient, app: App, token: str, **more: str) -> Answer:
    body = {"grant_type": "refresh_token", "refresh_token": token, **app.in_body, **more}
    return Answer(await http.post(TOKEN, json=body))


class Machine:
    """One application with the pair of tokens of one grant."""

    def __init__(self, http: httpx2.AsyncClient, pair: Mapping[str, Any]) -> None:
        self.http = http
        self.access_token: str = pair["access_token"]
        self.refresh_token: str = pair["refresh_token"]

    async def ask(self, method: str, path: str, *, headers: dict[str, str] | None = None, **options: Any) -> Answer:
        request_headers = {"Authorization": f"Bearer {self.access_token}", **(headers or {})}
        return Answer(await self.http.request(method, PREFIX + path, headers=request_headers, **options))

    async def get(self, path: str, params: Mapping[str, Any] | None = None) -> Answer:
        return await self.ask("GET", path, params=params)

    async def post(self, path: str, body: Any, *, headers: dict[str, str] | None = None) -> Answer:
        return await self.ask("POST", path, headers=headers, json=body)

    async def patch(self, path: str, body: Any, *, headers: dict[str, str] | None = None) -> Answer:
        return await self.ask("PATCH", path, headers=headers, json=body)

    async def delete(self, path: str) -> Answer:
        return await self.ask("DELETE", path)

    async def may_read(self) -> bool:
        return (await self.get("/orders?page%5Bafter%5D=&per_page=1")).status == 200

    async def may_write(self) -> bool:
        answer = await self.post("/orders", {"order": {}})
        assert answer.status in {201, 401, 403}, answer
        return answer.status == 201


async def new_machine(http: httpx2.AsyncClient, db: Any, level: str = "write", scope: str | None = None) -> Machine:
    """A new application with a token for this scope, or for all that its level allows."""
    response = await ask_for_token(http, await new_app(db, level), scope or f"admin {level}")
    assert response.status == 200, response
    return Machine(http, response.json)
