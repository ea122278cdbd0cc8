"""Shoppers with an account, who sign in with the code of an e-mail."""

from typing import Any
from uuid import UUID, uuid4

import httpx2

from tests.shopper import PREFIX, Answer

AUTH = PREFIX + "/auth"


def new_email() -> str:
    return f"{uuid4().hex}@shoppers.example"


async def ask_for_code(http: httpx2.AsyncClient, email: str, **names: str) -> Answer:
    return Answer(await http.post(AUTH, json={"user": {"email": email, **names}}))


async def mailed_code(http: httpx2.AsyncClient, email: str) -> str:
    """The code in the newest mail to this address."""
    mails: list[dict[str, Any]] = (await http.get("/mailbox.json", params={"to": email})).json()
    return str(mails[0]["code"])


async def exchange_code(http: httpx2.AsyncClient, email: str, code: str) -> Answer:
    return Answer(await http.post(AUTH, json={"user": {"email": email, "code": code}}))


async def refresh(http: httpx2.AsyncClient, email: str, token: str) -> Answer:
    return Answer(await http.post(AUTH, json={"user": {"email": email, "refresh_token": token}}))


class Member:
    """One signed-in shopper: an address and the pair of tokens of one session."""

    def __init__(self, http: httpx2.AsyncClient, email: str, pair: dict[str, Any]) -> None:
        self.http = http
        self.email = email
        self.access_token: str = pair["access_token"]
        self.refresh_token: str = pair["refresh_token"]

    async def ask(self, method: str, path: str, *, headers: dict[str, str] | None = None, **options: Any) -> Answer:
        request_headers = {"Authorization": f"Bearer {self.access_token}", **(headers or {})}
        return Answer(await self.http.request(method, PREFIX + path, headers=request_headers, **options))

    async def get(self, path: str, *, headers: dict[str, str] | None = None) -> Answer:
        return await self.ask("GET", path, headers=headers)

    async def post(self, path: str, *, headers: dict[str, str] | None = None, **body: Any) -> Answer:
        return await self.ask("POST", path, headers=headers, **({"json": body} if body else {}))

    async def patch(self, path: str, *, headers: dict[str, str] | None = None, **body: Any) -> Answer:
        return await self.ask("PATCH", path, headers=headers, **({"json": body} if body else {}))

    async def delete(self, path: str, *, headers: dict[str, str] | None = None) -> Answer:
        return await self.ask("DELETE", path, headers=headers)

    async def refresh(self, token: str | None = None) -> Answer:
        """The response to a refresh with this token, or with the member's own; the member keeps its old pair."""
        return await refresh(self.http, self.email, token or self.refresh_token)

    async def renew(self) -> None:
        """Refreshes, and uses the new pair from then on."""
        pair = (await self.refresh()).json
        self.access_token, self.refresh_token = pair["access_token"], pair["refresh_token"]

    async def is_signed_in(self) -> bool:
        return (await self.get("/account")).status == 200

    async def id(self) -> UUID:
        return UUID((await self.get("/account")).id)


async def sign_in(http: httpx2.AsyncClient, email: str | None = None, **names: str) -> Member:
    """A new session of a new shopper, or of the shopper with this address."""
    address = email or new_email()
    await ask_for_code(http, address, **names)
    response = await exchange_code(http, address, await mailed_code(http, address))
    assert response.status == 200, response
    return Member(http, address, response.json)
