"""A client of the storefront: sends requests, remembers its order token, reads responses."""

from typing import Any
from urllib.parse import urlencode

import httpx2

PREFIX = "/api/v2/storefront"


class Answer:
    """A response; `answer["total"]` is an attribute of its record."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self.status = response.status_code
        self.headers = response.headers

    @property
    def request_id(self) -> str:
        return str(self.headers.get("x-request-id", ""))

    @property
    def json(self) -> Any:
        return self.response.json()

    @property
    def id(self) -> str:
        return str(self.json["data"]["id"])

    @property
    def code(self) -> Any:
        return self.json["code"]

    def __getitem__(self, attribute: str) -> Any:
        return self.json["data"]["attributes"][attribute]

    def __repr__(self) -> str:
        return f"<{self.status} {self.response.text[:500]}>"


class Shopper:
    """One visitor with at most one order token."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.http = http
        self.order_token: str | None = None

    async def ask(self, method: str, path: str, *, headers: dict[str, str] | None = None, **options: Any) -> Answer:
        token_header = {"X-Shop-Order-Token": self.order_token} if self.order_token else {}
        answer = Answer(
            await self.http.request(method, PREFIX + path, headers={**token_header, **(headers or {})}, **options)
        )
        if method == "POST" and path.partition("?")[0] == "/cart" and answer.status == 201:
            self.order_token = answer.json["data"]["attributes"].get("token", self.order_token)
        return answer

    async def get(self, path: str, *, headers: dict[str, str] | None = None, **params: str) -> Answer:
        return await self.ask("GET", f"{path}?{urlencode(params)}" if params else path, headers=headers)

    async def post(self, path: str, *, headers: dict[str, str] | None = None, **body: Any) -> Answer:
        return await self.ask("POST", path, headers=headers, **({"json": body} if body else {}))

    async def delete(self, path: str, *, headers: dict[str, str] | None = None) -> Answer:
        return await self.ask("DELETE", path, headers=headers)
