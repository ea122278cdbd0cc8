"""Shoppers with an account: signed in as anyone would be, with the code of a mail."""

from typing import Any
from uuid import UUID, uuid4

import httpx

from tests.shopper import PREFIX, Answer

AUTH = PREFIX + "/auth"


def new_email() -> str:
    return f"{uuid4().hex}@shoppers.example"


async def ask_for_code(http: httpx.AsyncClient, email: str, **names: str) -> Answer:
    return Answer(await http.post(AUTH, json={"user": {"email": email, **names}}))


async def mailed_code(http: httpx.AsyncClient, email: str) -> str:
    """The code of the newest mail to this address."""
    mails: list[dict[str, Any]] = (await http.get("/mailbox.json", params={"to": email})).json()
    return str(mails[0]["code"])


async def trade(http: httpx.AsyncClient, email: str, code: str) -> Answer:
    return Answer(await http.post(AUTH, json={"user": {"email": email, "code": code}}))


async def refresh(http: httpx.AsyncClient, email: str, token: str) -> Answer:
    return Answer(await http.post(AUTH, json={"user": {"email": email, "refresh_token": token}}))


class Member:
    """One signed-in shopper: an address and the pair of tokens of one session."""

    def __init__(self, http: httpx.AsyncClient, email: str, pair: dict[str, Any]) -> None:
        self.http = http
        self.email = email
        self.access_token: str = pair["access_token"]
        self.refresh_token: str = pair["refresh_token"]

    async def ask(self, method: str, path: str, *, headers: dict[str, str] | None = None, **options: Any) -> Answer:
        sent = {"Authorization": f"Bearer {self.access_token}", **(headers or {})}
        return Answer(await self.http.request(method, PREFIX + path, headers=sent, **options))

    async def get(self, path: str, *, headers: dict[str, str] | None = None) -> Answer:
        return await self.ask("GET", path, headers=headers)

    async def post(self, path: str, *, headers: dict[str, str] | None = None, **body: Any) -> Answer:
        return await self.ask("POST", path, headers=headers, **({"json": body} if body else {}))

    async def patch(self, path: str, *, headers: dict[str, str] | None = None, **body: Any) -> Answer:
        return await self.ask("PATCH", path, headers=headers, **({"json": body} if body else {}))

    async def delete(self, path: str, *, headers: dict[str, str] | None = None) -> Answer:
        return await self.ask("DELETE", path, headers=headers)

    async def refresh(self, token: str | None = None) -> Answer:
        """What a refresh with the own token, or another one, is answered; the own pair stays as it is."""
        return await refresh(self.http, self.email, token or self.refresh_token)

    async def renew(self) -> None:
        """Refreshes, and goes on with the new pair."""
        pair = (await self.refresh()).json
        self.access_token, self.refresh_token = pair["access_token"], pair["refresh_token"]

    async def is_signed_in(self) -> bool:
        return (await self.get("/account")).status == 200

    async def id(self) -> UUID:
        return UUID((await self.get("/account")).id)


async def sign_in(http: httpx.AsyncClient, email: str | None = None, **names: str) -> Member:
    """A new session: of a new shopper, or of the one with this address."""
    address = email or new_email()
    await ask_for_code(http, address, **names)
    traded = await trade(http, address, await mailed_code(http, address))
    assert traded.status == 200, traded
    return Member(http, address, traded.json)
