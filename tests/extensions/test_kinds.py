"""Shipping rates, promotion kinds and e-mail templates of an extension, in a purchase and in the dashboard."""

from typing import Any
from uuid import uuid4

import httpx2

from tests.admin.dashboard import Dashboard
from tests.checkout_builders import CheckoutSetup, SignedInBuyer, new_checkout_setup
from tests.platform.client import Machine


async def new_setup(machine: Machine, setup: CheckoutSetup) -> tuple[str, str]:
    """A courier and a promotion; returns the id of the method and the coupon code."""
    common = {"zone_ids": [setup.zone], "shipping_category_ids": [setup.category]}
    method = {"name": "Courier", "calculator": "x_pay_courier", "amounts": {"USD": "2.50"}, **common}
    answer = await machine.post("/shipping_methods", {"shipping_method": method})
    assert answer.status == 201, answer
    promotion = await machine.post("/promotions", {"promotion": {"name": "Pair", "code": uuid4().hex}})
    rule = {"promotion_id": promotion.id, "type": "x_pay_pair", "preferences": {"count": 2}}
    action = {"promotion_id": promotion.id, "type": "x_pay_gift", "preferences": {"amounts": {"USD": "1.25"}}}
    for path, body in (("promotion_rules", rule), ("promotion_actions", action)):
        part = await machine.post(f"/{path}", {path.removesuffix("s"): body})
        assert part.status == 201, part
    return str(answer.id), str(promotion["code"])


def included_attributes(answer: Any, kind: str) -> list[Any]:
    return [each["attributes"] for each in answer.json["included"] if each["type"] == kind]


async def test_a_purchase_uses_the_rate_and_the_promotion_of_an_extension(
    customer: SignedInBuyer, setup: CheckoutSetup, machine: Machine, shop_http: httpx2.AsyncClient
) -> None:
    # Its own zone and category: the courier is the cheapest, and no other test expects it.
    customer.checkout_setup = await new_checkout_setup(setup.make)
    method_id, code = await new_setup(machine, customer.checkout_setup)
    product = await customer.checkout_setup.product("10.00")
    await customer.add_items((product, 1))
    too_few = await customer.patch("/cart/apply_coupon_code", coupon_code=code)
    await customer.add_items((product, 1))
    applied = await customer.patch("/cart/apply_coupon_code", coupon_code=code)
    await customer.enter_address()
    # An address receives few e-mails an hour, and other tests write to Ada.
    await customer.update_checkout(email=customer.member.email)
    shipments = await customer.get("/checkout/shipping_rates")
    rates = {each["name"]: each for each in included_attributes(shipments, "shipping_rate")}
    chosen = await customer.patch("/checkout/select_shipping_method", shipping_method_id=method_id)
    await customer.pay()
    order = await customer.complete()

    assert (too_few.status, "it needs more items" in str(too_few.json)) == (422, True)
    assert applied.status == 200, applied
    assert rates["Courier"]["cost"] == "5.0"
    assert chosen.status == 200, chosen
    # 20.00 for the items and 5.00 for the courier, without 1.25.
    assert (order.status, order["total"]) == (200, "23.75")
    mails = (await shop_http.get("/mailbox.json", params={"to": customer.member.email})).json()
    texts = [mail["text"] for mail in mails if order["number"] in mail["subject"]]
    assert "Packed with care: $23.75" in "".join(texts)


async def test_operators_choose_the_kinds_of_an_extension(operator: Dashboard, machine: Machine) -> None:
    promotion: Any = await machine.post("/promotions", {"promotion": {"name": "Kinds"}})
    pages = [
        (await operator.get(path)).text
        for path in (
            "/admin/settings/shipping/methods/new",
            f"/admin/promotions/{promotion.id}/parts",
            "/admin/settings/payments/new",
        )
    ]

    assert "Courier" in pages[0]
    assert "Items together" in pages[1]
    assert "A gift" in pages[1]
    assert "Pay later" in pages[2]
