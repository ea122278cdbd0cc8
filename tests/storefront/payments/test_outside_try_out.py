"""Outside a try-out the test card is not offered and cannot pay."""

from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import UUID

import httpx
import pytest

from tests.admin.desk import new_desk
from tests.make import Make
from tests.platform.machine import Machine
from tests.service import KEYS, Service
from tests.storefront.payments.test_test_card import choose, ids_offered, needs_action, path_of
from tests.till import Buyer, Till, on_hand

pytestmark = pytest.mark.security("C-13")
PAYMENT_METHOD = {"payment_method": {"name": "Card", "type": "test_card"}}


@pytest.fixture(scope="module")
def outside(service: Service, database_url: str) -> Iterator[Service]:
    """The same shop served with an external database: no try-out, whatever SHOP_MAILBOX says."""
    served = Service(
        SHOP_DATA_DIR=service.environ["SHOP_DATA_DIR"],
        SHOP_DATABASE_URL=database_url,
        SHOP_SECRET_KEYS=KEYS,
        SHOP_MAILBOX="on",
        SHOP_DRAIN_SECONDS="0",
    )
    yield served
    served.stop()


@pytest.fixture
async def there(outside: Service) -> AsyncIterator[httpx.AsyncClient]:
    async with outside.client() as http:
        yield http


async def test_outside_a_try_out_the_test_card_is_not_offered(
    buyer: Buyer, till: Till, writer: Machine, db: Any, there: httpx.AsyncClient
) -> None:
    await buyer.put_in((await till.product(), 1))
    await buyer.come_from()
    assert till.card in await ids_offered(buyer)

    buyer.http = there
    chosen = await choose(buyer, "approve")
    made = await Machine(there, vars(writer)).post("/payment_methods", PAYMENT_METHOD)
    desk = await new_desk(there, db)
    form = (await desk.get("/admin/settings/payments/new")).text
    listing = (await desk.get("/admin/settings/payments")).text

    assert await ids_offered(buyer) & {till.card, till.check} == {till.check}
    assert (chosen.status, chosen.code) == (422, "payment_method_not_found")
    assert (made.status, list(made.json["errors"])) == (422, ["type"])
    assert 'value="check"' in form
    assert "test_card" not in form
    assert "try-out only" in listing


async def test_outside_a_try_out_the_test_card_cannot_pay(
    buyer: Buyer, till: Till, writer: Machine, make: Make, db: Any, there: httpx.AsyncClient
) -> None:
    mug = await till.product(on_hand=3)
    held = await make.new("payment_methods", "payment_method", name="Card", type="test_card", auto_capture=False)
    await buyer.put_in((mug, 1))
    await buyer.come_from()
    await buyer.pay(method=held.id)
    done = await buyer.complete()
    payment = await db.fetchval("select id from payments where order_id = $1", UUID(done.id))
    late, machine = Buyer(buyer.http, till), Machine(there, vars(writer))
    chosen = await late.ready((mug, 1))

    late.http = there
    completed = await late.complete()
    by_machine = await machine.patch(f"/orders/{chosen.id}/complete", {})
    captured = await machine.patch(f"/payments/{payment}/capture", {})
    voided = await machine.patch(f"/payments/{payment}/void", {})

    assert done.status == 200, done
    assert (completed.status, completed.code) == (422, "payment_refused")
    assert "only in a try-out" in completed.json["errors"]["payments"][0]
    assert by_machine.status == 422
    assert (captured.status, captured.code) == (422, "payment_refused")
    assert (voided.status, voided["state"]) == (200, "void")
    assert await on_hand(db, mug.sold) == 2


async def test_outside_a_try_out_there_is_no_page_to_confirm_a_payment(
    buyer: Buyer, till: Till, there: httpx.AsyncClient
) -> None:
    asked, _ = await needs_action(buyer, till)
    path = path_of(asked, buyer)

    shown = await there.get(path)
    decided = await there.post(path, json={"decision": "confirm"})

    assert (shown.status_code, decided.status_code) == (404, 404)
    assert (await buyer.complete()).code == "payment_needs_action"
