"""Webhooks of the payment provider of an extension: verified, stored once, handled with retries."""

import asyncio
import hashlib
import hmac
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import httpx2
import pytest

from tests.admin.dashboard import Dashboard, events
from tests.checkout_builders import CheckoutSetup, SignedInBuyer
from tests.extensions.conftest import ExtendedShop
from tests.platform.client import Machine

PATH, PAGE = "/payment_notices/x_pay_later", "/admin/integrations/extensions"
FORM, JSON = "application/x-www-form-urlencoded", "application/json"
_ROW = "select * from extension_webhooks where reference = $1"


async def send(
    http: httpx2.AsyncClient, data: dict[str, Any], *, media: str = JSON, secret: str = "secret", path: str = PATH
) -> httpx2.Response:
    body = (json.dumps(data) if media == JSON else urlencode(data)).encode()
    signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return await http.post(path, content=body, headers={"content-type": media, "x-pay-signature": signature})


async def wait_for_row(db: Any, reference: str, condition: str) -> Any:
    for _ in range(600):
        if row := await db.fetchrow(f"{_ROW} and {condition}", reference):
            return row
        await asyncio.sleep(0.05)
    raise AssertionError(f"{reference} is not {condition}")


@pytest.fixture
def pay_switch(extended_shop: ExtendedShop) -> Iterator[Any]:
    """The file that ends the failures of the handler."""
    switch = Path(f"{extended_shop.switch}_pay")
    yield switch
    switch.unlink(missing_ok=True)


async def start_payment(customer: SignedInBuyer, setup: CheckoutSetup, machine: Machine, db: Any) -> tuple[Any, str]:
    """A cart whose payment the provider has not decided; returns the cart and the key of the call."""
    method = {"name": "Later", "type": "x_pay_later", "auto_capture": True}
    method_id = (await machine.post("/payment_methods", {"payment_method": method})).id
    customer.order_token = None
    await customer.add_items((await setup.product("10.00"), 1))
    await customer.enter_address()
    assert (await customer.post("/checkout/create_payment", payment_method_id=method_id)).status == 201
    pending = await customer.complete()
    cart = await customer.get("/cart")
    assert pending.status in {202, 409}, pending
    assert cart["state"] != "complete"
    key = await db.fetchval(
        "select a.id from payment_attempts a join orders o on o.id = a.order_id where o.number = $1", cart["number"]
    )
    return cart, str(key)


@pytest.mark.parametrize("media", [JSON, FORM])
async def test_a_signed_webhook_completes_the_order_once(
    media: str,
    customer: SignedInBuyer,
    setup: CheckoutSetup,
    machine: Machine,
    shop_http: httpx2.AsyncClient,
    shop_db: Any,
) -> None:
    cart, key = await start_payment(customer, setup, machine, shop_db)
    data = {"id": f"evt_{uuid4().hex}", "key": key, "outcome": "approved"}
    answers = await asyncio.gather(*(send(shop_http, data, media=media) for _ in range(3)))
    row = await wait_for_row(shop_db, data["id"], "handled_at is not null")
    answers.append(await send(shop_http, data, media=media))

    order = await customer.get(f"/account/orders/{cart['number']}")
    completions = await shop_db.fetchval(
        "select count(*) from audit_events where action = 'order_complete' and detail->>'number' = $1", cart["number"]
    )
    assert [answer.status_code for answer in answers] == [204] * 4
    assert len(await shop_db.fetch(_ROW, data["id"])) == 1
    assert (order["payment_state"], completions) == ("paid", 1)
    # Nothing about the customer remains.
    assert (row["data"], row["attempts"]) == ("{}", 1)


async def test_a_request_that_is_not_a_signed_webhook_is_not_stored(
    shop_http: httpx2.AsyncClient, shop_db: Any
) -> None:
    data = {"id": f"evt_{uuid4().hex}"}
    forged = await send(shop_http, data, secret="wrong")
    large = await send(shop_http, {**data, "text": "x" * (1024 * 1024)})
    other_media = await send(shop_http, data, media="text/xml")
    # Signed, but the extension fails: it has no id, or one that is too long.
    broken = [await send(shop_http, each) for each in ({}, {"id": ""}, {"id": "x" * 201})]
    ignored = await send(shop_http, {"id": "ignored"})
    absent = await send(shop_http, data, path="/payment_notices/x_loyalty_points")

    assert (forged.status_code, forged.json()["code"]) == (400, "bad_signature")
    assert (large.status_code, other_media.status_code, absent.status_code) == (413, 415, 404)
    assert [(each.status_code, each.json()["code"]) for each in broken] == [(500, "internal_error")] * 3
    assert ignored.status_code == 204
    assert [await shop_db.fetch(_ROW, each) for each in (data["id"], "", "x" * 201, "ignored")] == [[]] * 4


async def test_a_webhook_that_fails_is_repeated_and_delays_no_other(
    shop_http: httpx2.AsyncClient, shop_db: Any, operator: Dashboard, pay_switch: Any
) -> None:
    poison: dict[str, Any] = {"id": f"evt_{uuid4().hex}", "is_poison": True}
    other = {"id": f"evt_{uuid4().hex}"}
    answer = await send(shop_http, poison)
    failing = await wait_for_row(shop_db, poison["id"], "last_error is not null")
    await send(shop_http, other)
    await wait_for_row(shop_db, other["id"], "handled_at is not null")
    page = (await operator.get(PAGE)).text
    pay_switch.touch()
    path = f"{PAGE}/webhooks/{failing['id']}/retry"
    retried = await operator.post(path)
    row = await wait_for_row(shop_db, poison["id"], "handled_at is not null")
    again = await operator.post(path)

    assert answer.status_code == 204
    assert failing["last_error"] == "RuntimeError: cannot read this webhook"
    assert (poison["id"] in page, failing["last_error"] in page, other["id"] in page) == (True, True, False)
    assert retried.headers["location"] == f"{PAGE}?done=webhook"
    assert again.headers["location"] == f"{PAGE}?done=handled"
    assert (row["attempts"], row["data"]) == (2, "{}")
    assert ("extension_webhook_retried", "done") in await events(shop_db, actor=operator.id)


async def test_a_webhook_about_an_unknown_call_is_handled_without_effect(
    shop_http: httpx2.AsyncClient, shop_db: Any
) -> None:
    data = {"id": f"evt_{uuid4().hex}", "key": str(uuid4()), "outcome": "approved"}
    await send(shop_http, data)

    assert await wait_for_row(shop_db, data["id"], "handled_at is not null")
