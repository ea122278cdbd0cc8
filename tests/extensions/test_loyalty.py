"""The example in a served shop: points for orders, on pages and in both APIs, and as a payment."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.accounts import new_email
from tests.admin.dashboard import Dashboard, new_dashboard, new_role
from tests.checkout_builders import CheckoutSetup, SignedInBuyer
from tests.platform.client import Machine

Wait = Callable[[str], Awaitable[None]]


async def points_of(customer: SignedInBuyer) -> Any:
    answer = await customer.get("/x/loyalty/points")
    assert answer.status == 200, answer
    return answer.json["points"]


async def grant(operator: Dashboard, customer: SignedInBuyer, points: int) -> None:
    form = {"form_id": str(uuid4()), "email": customer.member.email, "points": str(points)}
    answer = await operator.post("/admin/x/loyalty/grant", **form)
    assert (answer.status_code, answer.headers["location"]) == (303, "/admin/x/loyalty?done=granted")


async def points_method(machine: Machine) -> str:
    values = {"name": "Points", "type": "x_loyalty_points", "auto_capture": True}
    answer = await machine.post("/payment_methods", {"payment_method": values})
    assert answer.status == 201, answer
    return str(answer.id)


async def choose_points(customer: SignedInBuyer, method: str, price: str) -> None:
    """Every step of a checkout but the last, with points as the payment."""
    customer.order_token = None
    await customer.add_items((await customer.checkout_setup.product(price), 1))
    await customer.enter_address()
    answer = await customer.post("/checkout/create_payment", payment_method_id=method)
    assert answer.status == 201, answer


@pytest.mark.torture
async def test_a_completed_order_earns_points_once(
    customer: SignedInBuyer, setup: CheckoutSetup, operator: Dashboard, shop_db: Any, wait_for_listeners: Wait
) -> None:
    order = await customer.buy(await setup.product("10.00"), "approve")
    await wait_for_listeners("loyalty")
    # The log is read again, as after a crash between the work and the progress.
    await shop_db.execute("update extension_listeners set position = 0 where extension = 'loyalty'")
    await wait_for_listeners("loyalty")

    panel = (await operator.get(f"/admin/orders/{order['number']}")).text
    # 10.00 and 5.00 for shipping, two points for each unit.
    assert await points_of(customer) == 30
    assert "+30 points earned" in panel


async def test_a_refund_takes_points_back(
    customer: SignedInBuyer, setup: CheckoutSetup, machine: Machine, wait_for_listeners: Wait
) -> None:
    order = await customer.buy(await setup.product("10.00"), "approve")
    payments = await machine.get("/payments", {"filter[order_id_eq]": order.id})
    refund = {"payment_id": payments.json["data"][0]["id"], "amount": "4.00", "reason": "late"}
    assert (await machine.post("/refunds", {"refund": refund})).status == 201
    await wait_for_listeners("loyalty")

    assert await points_of(customer) == 22


async def test_a_customer_pays_with_points_and_gets_them_back(
    customer: SignedInBuyer, operator: Dashboard, machine: Machine, wait_for_listeners: Wait
) -> None:
    await grant(operator, customer, 1000)
    await choose_points(customer, await points_method(machine), "1.00")

    order = await customer.complete()
    await wait_for_listeners("loyalty")
    balance = await points_of(customer)
    payment = (await machine.get("/payments", {"filter[order_id_eq]": order.id})).json["data"][0]
    refund = {"payment_id": payment["id"], "amount": "2.50", "reason": "late"}
    answer = await machine.post("/refunds", {"refund": refund})
    await wait_for_listeners("loyalty")

    assert (order.status, order["payment_state"], answer.status) == (200, "paid", 201)
    # 6.00 cost 600 points, and what is paid with points earns none.
    assert (balance, await points_of(customer)) == (400, 650)


async def test_a_payment_with_too_few_points_is_declined(
    customer: SignedInBuyer, operator: Dashboard, machine: Machine, shop_db: Any
) -> None:
    await grant(operator, customer, 599)
    await choose_points(customer, await points_method(machine), "1.00")

    answer = await customer.complete()

    assert (answer.status, answer.code) == (422, "payment_refused")
    assert "not enough points" in str(answer.json)
    assert await points_of(customer) == 599


async def test_a_canceled_order_gives_points_back_and_takes_earned_ones(
    customer: SignedInBuyer, operator: Dashboard, machine: Machine, setup: CheckoutSetup, wait_for_listeners: Wait
) -> None:
    order = await customer.buy(await setup.product("10.00"), "approve")
    await wait_for_listeners("loyalty")
    assert (await machine.patch(f"/orders/{order.id}/cancel", {})).status == 200
    await wait_for_listeners("loyalty")

    assert await points_of(customer) == 0


async def test_the_platform_api_lists_accounts_with_their_customers(
    customer: SignedInBuyer, operator: Dashboard, machine: Machine
) -> None:
    await grant(operator, customer, 7)
    user_id = str(await customer.member.id())

    answer = await machine.get("/points_accounts", {"filter[user_id_eq]": user_id, "include": "user"})
    events = await machine.get("/events", {"filter[type_in]": "points_account.*", "wait": "20"})
    refused = await machine.post("/points_accounts", {"points_account": {"user_id": user_id}})

    (account,) = answer.json["data"]
    assert account["attributes"]["balance"] == 7
    assert answer.json["included"][0]["attributes"]["email"] == customer.member.email
    assert events.json["data"][-1]["data"]["type"] == "points_account"
    assert refused.status == 405


async def test_an_operator_grants_points_once_for_each_form(
    customer: SignedInBuyer, operator: Dashboard, shop_db: Any
) -> None:
    form = {"form_id": str(uuid4()), "email": customer.member.email, "points": "25"}
    first, second = [await operator.post("/admin/x/loyalty/grant", **form) for _ in range(2)]
    page = (await operator.get("/admin/x/loyalty?done=granted")).text

    assert (first.status_code, second.status_code) == (303, 303)
    assert await points_of(customer) == 25
    assert "Points granted." in page
    assert 'aria-current="page"' in page
    assert customer.member.email in page


async def test_a_wrong_form_shows_its_errors(operator: Dashboard) -> None:
    answer = await operator.post("/admin/x/loyalty/grant", email=new_email(), points="9" * 40, form_id="x")

    assert answer.status_code == 422
    assert "is not the address of a customer" in answer.text
    assert "must be a whole number from 1 to 1,000,000" in answer.text


async def test_a_role_without_the_permission_sees_neither_page_nor_entry(
    shop_http: httpx2.AsyncClient, shop_db: Any
) -> None:
    other = await new_dashboard(shop_http, shop_db, role_id=await new_role(shop_db, "orders:read"))

    page, orders = await other.get("/admin/x/loyalty"), await other.get("/admin/orders")

    assert page.status_code == 403
    assert "/admin/x/loyalty" not in orders.text
    assert "/admin/x/faulty" in orders.text


async def test_a_guest_has_no_points(shop_http: httpx2.AsyncClient) -> None:
    assert (await shop_http.get("/api/v2/storefront/x/loyalty/points")).status_code == 401


async def test_the_description_has_the_paths_of_extensions(shop_http: httpx2.AsyncClient) -> None:
    paths = (await shop_http.get("/openapi.json")).json()["paths"]

    assert paths["/api/v2/storefront/x/loyalty/points"]["get"]["summary"] == "Show the points of the customer"
    assert set(paths["/api/v2/platform/points_accounts"]) == {"get"}
