"""Outside a try-out the test card is not offered and cannot pay."""

from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import UUID

import httpx2
import pytest

from tests.admin.dashboard import new_dashboard
from tests.builders import Make
from tests.checkout_builders import Buyer, CheckoutSetup, on_hand
from tests.platform.client import Machine
from tests.service import KEYS, Service
from tests.storefront.payments.test_test_card import choose, list_offered_ids, needs_action, path_of

pytestmark = pytest.mark.security("C-13")
PAYMENT_METHOD = {"payment_method": {"name": "Card", "type": "test_card"}}


@pytest.fixture(scope="module")
def external_service(service: Service, database_url: str) -> Iterator[Service]:
    """The same shop served with an external database: no try-out, whatever SHOP_MAILBOX says."""
    shop = Service(
        SHOP_DATA_DIR=service.environ["SHOP_DATA_DIR"],
        SHOP_DATABASE_URL=database_url,
        SHOP_SECRET_KEYS=KEYS,
        SHOP_MAILBOX="on",
        SHOP_DRAIN_SECONDS="0",
    )
    yield shop
    shop.stop()


@pytest.fixture
async def external_client(external_service: Service) -> AsyncIterator[httpx2.AsyncClient]:
    async with external_service.client() as http:
        yield http


async def test_outside_a_try_out_the_test_card_is_not_offered(
    buyer: Buyer, checkout_setup: CheckoutSetup, writer: Machine, db: Any, external_client: httpx2.AsyncClient
) -> None:
    await buyer.add_items((await checkout_setup.product(), 1))
    await buyer.enter_address()
    assert checkout_setup.card in await list_offered_ids(buyer)

    buyer.http = external_client
    choice = await choose(buyer, "approve")
    creation = await Machine(external_client, vars(writer)).post("/payment_methods", PAYMENT_METHOD)
    dashboard = await new_dashboard(external_client, db)
    form = (await dashboard.get("/admin/settings/payments/new")).text
    listing = (await dashboard.get("/admin/settings/payments")).text

    assert await list_offered_ids(buyer) & {checkout_setup.card, checkout_setup.check} == {checkout_setup.check}
    assert (choice.status, choice.code) == (422, "payment_method_not_found")
    assert (creation.status, list(creation.json["errors"])) == (422, ["type"])
    assert 'value="check"' in form
    assert "test_card" not in form
    assert "try-out only" in listing


async def test_outside_a_try_out_the_test_card_cannot_pay(
    buyer: Buyer,
    checkout_setup: CheckoutSetup,
    writer: Machine,
    make: Make,
    db: Any,
    external_client: httpx2.AsyncClient,
) -> None:
    mug = await checkout_setup.product(on_hand=3)
    method = await make.new("payment_methods", "payment_method", name="Card", type="test_card", auto_capture=False)
    await buyer.add_items((mug, 1))
    await buyer.enter_address()
    await buyer.pay(method=method.id)
    order = await buyer.complete()
    payment = await db.fetchval("select id from payments where order_id = $1", UUID(order.id))
    late_buyer, machine = Buyer(buyer.http, checkout_setup), Machine(external_client, vars(writer))
    cart = await late_buyer.ready((mug, 1))

    late_buyer.http = external_client
    completion = await late_buyer.complete()
    by_machine = await machine.patch(f"/orders/{cart.id}/complete", {})
    capture = await machine.patch(f"/payments/{payment}/capture", {})
    void = await machine.patch(f"/payments/{payment}/void", {})

    assert order.status == 200, order
    assert (completion.status, completion.code) == (422, "payment_refused")
    assert "only in a try-out" in completion.json["errors"]["payments"][0]
    assert by_machine.status == 422
    assert (capture.status, capture.code) == (422, "payment_refused")
    assert (void.status, void["state"]) == (200, "void")
    assert await on_hand(db, mug.variant_id) == 2


async def test_outside_a_try_out_there_is_no_page_to_confirm_a_payment(
    buyer: Buyer, checkout_setup: CheckoutSetup, external_client: httpx2.AsyncClient
) -> None:
    conflict, _ = await needs_action(buyer, checkout_setup)
    path = path_of(conflict, buyer)

    page = await external_client.get(path)
    decision = await external_client.post(path, json={"decision": "confirm"})

    assert (page.status_code, decision.status_code) == (404, 404)
    assert (await buyer.complete()).code == "payment_needs_action"
