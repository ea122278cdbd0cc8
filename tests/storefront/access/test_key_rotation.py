"""Keys are changed by a restart: what was given under the old one is good while it is still told, and not after."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from tests.accounts import ask_for_code, mailed_code, new_email, refresh, sign_in, trade
from tests.service import Service
from tests.shopper import PREFIX

OLD, NEW = "old:" + "0a" * 32, "new:" + "b1" * 32
CART = PREFIX + "/cart"


class Given(NamedTuple):
    """What somebody holds when the keys change: a cart, a code, and a pair whose answer may not have arrived."""

    order_token: str
    asked: str
    code: str
    signed_in: str
    parent: str
    pair: Any

    @property
    def holding(self) -> dict[str, str]:
        return {"X-Shop-Order-Token": self.order_token}


@asynccontextmanager
async def served(url: str, data_dir: Path, keys: str) -> AsyncIterator[httpx.AsyncClient]:
    """The shop with these keys, until the block ends."""
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


async def given(http: httpx.AsyncClient) -> Given:
    cart = await http.post(CART)
    email = new_email()
    await ask_for_code(http, email)
    member = await sign_in(http)
    pair = (await member.refresh()).json
    token = cart.json()["data"]["attributes"]["token"]
    return Given(token, email, await mailed_code(http, email), member.email, member.refresh_token, pair)


@pytest.mark.security("A-03")
@pytest.mark.torture
async def test_with_a_new_key_in_front_all_that_was_given_is_good_and_without_the_old_one_it_is_not(
    own_database: Callable[..., str], tmp_path: Path
) -> None:
    shop = own_database(), tmp_path
    async with served(*shop, OLD) as http:
        first, second = await given(http), await given(http)

    async with served(*shop, f"{NEW},{OLD}") as http:
        cart = await http.get(CART, headers=first.holding)
        response = await trade(http, first.asked, first.code)
        again = await refresh(http, first.signed_in, first.parent)
        fresh = (await http.post(CART)).json()["data"]["attributes"]["token"]
    async with served(*shop, NEW) as http:
        refusals = [
            (await http.get(CART, headers=second.holding)).status_code,
            (await trade(http, second.asked, second.code)).code,
            (await refresh(http, second.signed_in, second.parent)).code,
        ]
        new_cart = await http.get(CART, headers={"X-Shop-Order-Token": fresh})
        session = await refresh(http, second.signed_in, second.pair["refresh_token"])

    assert (cart.status_code, response.status, again.json) == (200, 200, first.pair)
    assert refusals == [404, "invalid_code", "invalid_refresh_token"]
    # What is signed anew outlives the old key, and so does what was never derived from any.
    assert (new_cart.status_code, session.status) == (200, 200)
