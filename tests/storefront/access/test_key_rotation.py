"""A restart changes the secret keys: credentials of the old key are valid while it is configured, and not after."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest

from tests.accounts import ask_for_code, exchange_code, mailed_code, new_email, refresh, sign_in
from tests.service import Service
from tests.shopper import PREFIX

OLD, NEW = "old:" + "0a" * 32, "new:" + "b1" * 32
CART = PREFIX + "/cart"


class Credentials(NamedTuple):
    """A client's credentials when the keys change: of a cart, of a login code, and of a session and its refresh."""

    order_token: str
    code_email: str
    code: str
    member_email: str
    parent: str
    pair: Any

    @property
    def headers(self) -> dict[str, str]:
        return {"X-Shop-Order-Token": self.order_token}


@asynccontextmanager
async def run_shop(url: str, data_dir: Path, keys: str) -> AsyncIterator[httpx2.AsyncClient]:
    """Runs the shop with these keys until the block ends."""
    service = Service(
        SHOP_DATA_DIR=str(data_dir),
        SHOP_DATABASE_URL=url,
        SHOP_SECRET_KEYS=keys,
        SHOP_MAILBOX="on",
        SHOP_DRAIN_SECONDS="0",
        SHOP_REFRESH_GRACE="60",
    )
    try:
        async with service.client() as http:
            yield http
    finally:
        service.stop()


async def create_credentials(http: httpx2.AsyncClient) -> Credentials:
    cart = await http.post(CART)
    email = new_email()
    await ask_for_code(http, email)
    member = await sign_in(http)
    pair = (await member.refresh()).json
    token = cart.json()["data"]["attributes"]["token"]
    return Credentials(token, email, await mailed_code(http, email), member.email, member.refresh_token, pair)


@pytest.mark.security("A-03")
@pytest.mark.torture
async def test_credentials_of_an_old_key_are_valid_until_that_key_is_removed(
    own_database: Callable[..., str], tmp_path: Path
) -> None:
    shop = own_database(), tmp_path
    async with run_shop(*shop, OLD) as http:
        first, second = await create_credentials(http), await create_credentials(http)

    async with run_shop(*shop, f"{NEW},{OLD}") as http:
        cart = await http.get(CART, headers=first.headers)
        response = await exchange_code(http, first.code_email, first.code)
        again = await refresh(http, first.member_email, first.parent)
        fresh = (await http.post(CART)).json()["data"]["attributes"]["token"]
    async with run_shop(*shop, NEW) as http:
        refusals = [
            (await http.get(CART, headers=second.headers)).status_code,
            (await exchange_code(http, second.code_email, second.code)).code,
            (await refresh(http, second.member_email, second.parent)).code,
        ]
        new_cart = await http.get(CART, headers={"X-Shop-Order-Token": fresh})
        session = await refresh(http, second.member_email, second.pair["refresh_token"])

    assert (cart.status_code, response.status, again.json) == (200, 200, first.pair)
    assert refusals == [404, "invalid_code", "invalid_refresh_token"]
    # Tokens signed with the new key outlive the old key, and so do refresh tokens, which no key derives.
    assert (new_cart.status_code, session.status) == (200, 200)
