"""Estimates of shipping costs for carts without an address, and the check whether a cart can be paid."""

from typing import Any

import pytest

from tests.checkout_builders import Buyer, CheckoutSetup, set_stock
from tests.shopper import Shopper

ESTIMATE = "/cart/estimate_shipping_rates"


@pytest.mark.parametrize("country", [None, "US", "us", "USA", "DEU"])
async def test_shipping_rates_are_estimated_for_a_country_by_any_of_its_codes(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, country: str | None
) -> None:
    await buyer.add_items((await checkout_setup.product(), 2))

    rates = await buyer.get(ESTIMATE, country_iso=country or "")

    estimates = [
        (rate["id"], rate["attributes"]["name"], rate["attributes"]["cost"], rate["attributes"]["selected"])
        for rate in rates.json["data"]
    ]
    assert estimates == [(None, "Post", "5.0", True), (None, "Express", "18.0", False)]
    assert (await buyer.get("/cart"))["state"] == "cart"


async def test_an_empty_cart_or_a_country_without_shipping_has_no_estimates(
    buyer: Buyer, checkout_setup: CheckoutSetup
) -> None:
    await buyer.post("/cart")
    nothing = await buyer.get(ESTIMATE)
    await buyer.add_items((await checkout_setup.product(), 1))
    unreachable, unknown = await buyer.get(ESTIMATE, country_iso="JP"), await buyer.get(ESTIMATE, country_iso="XX")

    assert (nothing.status, nothing.json["data"], unreachable.status, unreachable.json["data"]) == (200, [], 200, [])
    assert unknown.status == 404


async def test_estimates_require_a_cart(guest: Shopper) -> None:
    assert (await guest.get(ESTIMATE)).status == 401


VALIDATE = "/checkout/validate_order_for_payment"


async def test_a_payable_cart_is_valid(buyer: Buyer, checkout_setup: CheckoutSetup) -> None:
    await buyer.ready((await checkout_setup.product(), 1))

    answer = await buyer.post(VALIDATE)

    assert (answer.status, answer["item_count"], "meta" in answer.json) == (200, 1, False)


async def test_unavailable_items_are_removed_and_reported_with_the_cart(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any
) -> None:
    mug, bowl, jar = [await checkout_setup.product(on_hand=5, name=name) for name in ("Mug", "Bowl", "Jar")]
    await buyer.ready((mug, 1), (bowl, 3), (jar, 1))
    await set_stock(db, mug.variant_id, 0)
    await set_stock(db, bowl.variant_id, 2)

    answer = await buyer.post(VALIDATE, skip_state=True)
    again = await buyer.post(VALIDATE, skip_state=True)

    assert (answer.status, answer["item_count"]) == (422, 4)
    assert answer.json["meta"]["messages"] == [
        "Mug is no longer available and was removed from the cart.",
        "Bowl: only 2 available.",
    ]
    assert again.json["meta"]["messages"] == ["Bowl: only 2 available."]
    # The response is an ordinary error that also contains the cart.
    assert (answer.code, answer.json["request_id"]) == ("not_payable", answer.request_id)


async def test_missing_requirements_are_reported_unless_the_state_is_skipped(
    buyer: Buyer, checkout_setup: CheckoutSetup
) -> None:
    await buyer.add_items((await checkout_setup.product(), 1))

    response, without_state = await buyer.post(VALIDATE), await buyer.post(VALIDATE, skip_state=True)

    assert (response.status, "Enter an e-mail address." in response.json["meta"]["messages"]) == (422, True)
    assert without_state.status == 200
