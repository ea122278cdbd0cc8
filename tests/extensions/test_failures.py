"""A part of an extension that fails, fails alone."""

import re
from collections.abc import Awaitable, Callable, Iterator
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.accounts import sign_in
from tests.admin.dashboard import Dashboard, events
from tests.checkout_builders import CheckoutSetup, SignedInBuyer
from tests.extensions.conftest import ExtendedShop
from tests.platform.client import Machine

Wait = Callable[[str], Awaitable[None]]
PAGE = "/admin/integrations/extensions"
_FAILING = "select * from extension_listeners where extension = 'faulty'"


@pytest.fixture
def switch(extended_shop: ExtendedShop) -> Iterator[Any]:
    """The file that ends the failures of the listener."""
    yield extended_shop.switch
    extended_shop.switch.unlink(missing_ok=True)


async def poison(machine: Machine) -> None:
    """Causes an event that the listener cannot handle."""
    answer = await machine.post("/taxonomies", {"taxonomy": {"name": f"Poison {uuid4().hex}"}})
    assert answer.status == 201, answer


async def test_an_endpoint_that_fails_tells_nothing_and_the_log_names_it(
    extended_shop: ExtendedShop, shop_http: httpx2.AsyncClient
) -> None:
    answer = await shop_http.get("/api/v2/storefront/x/faulty/fail")

    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    assert "secret internals" not in answer.text
    line = extended_shop.service.wait_for(lambda line: "extension failed" in line and "GET fail" in line)
    assert '"extension":"faulty"' in line.replace(" ", "")


async def test_the_body_of_an_endpoint_is_read_and_checked(shop_http: httpx2.AsyncClient) -> None:
    path = "/api/v2/storefront/x/faulty/notes"
    good, refused, absent = [await shop_http.post(path, json=body) for body in ({"text": "a"}, {"text": "refused"}, {})]

    assert (good.status_code, good.json()) == (200, {"text": "a"})
    assert (refused.status_code, refused.json()["errors"]) == (422, {"text": ["is refused"]})
    assert absent.status_code == 422


async def test_a_page_that_fails_keeps_the_menu(operator: Dashboard) -> None:
    answer = await operator.get("/admin/x/faulty")

    assert answer.status_code == 500
    assert "secret internals" not in answer.text
    assert "/admin/orders" in answer.text


@pytest.mark.torture
async def test_panels_that_fail_or_hang_are_replaced_by_a_sentence(
    customer: SignedInBuyer, setup: CheckoutSetup, operator: Dashboard
) -> None:
    order = await customer.buy(await setup.product("10.00"), "approve")

    answer = await operator.get(f"/admin/orders/{order['number']}")

    assert answer.status_code == 200
    assert answer.text.count("This panel cannot be shown now.") == 2
    assert "secret internals" not in answer.text


@pytest.mark.torture
async def test_a_listener_that_fails_stops_only_itself_and_can_be_retried(
    customer: SignedInBuyer,
    setup: CheckoutSetup,
    machine: Machine,
    operator: Dashboard,
    shop_db: Any,
    switch: Any,
    wait_for_listeners: Wait,
) -> None:
    await poison(machine)
    await wait_for_listeners("faulty")
    await customer.buy(await setup.product("10.00"), "approve")
    await wait_for_listeners("loyalty")
    state = await shop_db.fetchrow(_FAILING)
    page = (await operator.get(PAGE)).text
    switch.touch()
    answer = await operator.post(f"{PAGE}/{state['id']}/retry")
    await wait_for_listeners("*faulty")
    after = await shop_db.fetchrow(_FAILING)

    assert (await customer.get("/x/loyalty/points")).json["points"] == 30
    assert state["failure_count"] == 1
    assert "RuntimeError: cannot handle Poison" in page
    assert answer.headers["location"] == f"{PAGE}?done=retried"
    assert (after["failure_count"], after["position"] >= state["failed_position"]) == (0, True)
    assert ("extension_listener_retried", "done") in await events(shop_db, actor=operator.id)


async def test_an_event_that_cannot_be_handled_is_skipped_once(
    machine: Machine, operator: Dashboard, shop_db: Any, wait_for_listeners: Wait
) -> None:
    await poison(machine)
    await poison(machine)
    await wait_for_listeners("faulty")
    state = await shop_db.fetchrow(_FAILING)
    path, position = f"{PAGE}/{state['id']}/skip", str(state["failed_position"])

    question = (await operator.get(path)).text
    first = await operator.post(path, position=position)
    await wait_for_listeners("faulty")
    # The second one fails now; a repeated form does not skip that too.
    second = await operator.post(path, position=position)
    after = await shop_db.fetchrow(_FAILING)

    assert re.search(r"will never handle this event \([A-Z][a-z ]+, \d", question)
    assert [answer.headers["location"] for answer in (first, second)] == [
        f"{PAGE}?done=skipped",
        f"{PAGE}?done=running",
    ]
    assert after["failed_position"] > state["failed_position"]
    assert after["failure_count"] == 1
    await operator.post(path, position=str(after["failed_position"]))


async def test_promotions_and_rates_that_fail_offer_nothing(
    customer: SignedInBuyer, setup: CheckoutSetup, machine: Machine
) -> None:
    promotion = await machine.post("/promotions", {"promotion": {"name": "Faulty", "code": uuid4().hex}})
    rule = {"promotion_id": promotion.id, "type": "x_faulty_condition"}
    action = {"promotion_id": promotion.id, "type": "x_faulty_benefit"}
    assert (await machine.post("/promotion_rules", {"promotion_rule": rule})).status == 201
    assert (await machine.post("/promotion_actions", {"promotion_action": action})).status == 201
    method = {"name": "Faulty", "calculator": "x_faulty_cost", "amounts": {"USD": "1.00"}}
    method |= {"zone_ids": [setup.zone], "shipping_category_ids": [setup.category]}
    assert (await machine.post("/shipping_methods", {"shipping_method": method})).status == 201

    await customer.ready((await setup.product("10.00"), 1))
    coupon = await customer.patch("/cart/apply_coupon_code", coupon_code=promotion["code"])
    order = await customer.complete()

    assert coupon.status == 422
    assert "not available now" in str(coupon.json)
    assert (order.status, order["total"]) == (200, "15.0")


async def test_an_email_whose_template_fails_has_the_template_of_the_shop(
    extended_shop: ExtendedShop, shop_http: httpx2.AsyncClient
) -> None:
    """Signing in reads the code from the e-mail."""
    member = await sign_in(shop_http)

    assert await member.is_signed_in()
    extended_shop.service.wait_for(lambda line: "e-mail template layout.html" in line)


async def test_a_template_of_an_extension_replaces_one_of_the_website(shop_http: httpx2.AsyncClient) -> None:
    answer = await shop_http.get("/no/such/page")

    assert answer.status_code == 404
    assert "Error page of an extension" in answer.text
