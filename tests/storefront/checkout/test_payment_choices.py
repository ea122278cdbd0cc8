"""Limits on the payments that can be chosen for a cart, and the removal of replaced ones."""

from typing import Any
from uuid import UUID

import pytest

from tests.checkout_builders import Buyer

INSERT_FAILED_PAYMENTS = """insert into payments
    (id, order_id, payment_method_id, number, amount, state, created_at, updated_at)
    select gen_random_uuid(), $1, $2, gen_random_uuid()::text, 1, 'failed', now(), now() from generate_series(1, $3)"""
COUNT_CARDS = "select count(*) from payment_sources where name = $1"


@pytest.mark.security("H-11")
async def test_a_replaced_payment_and_its_card_are_deleted(buyer: Buyer, db: Any) -> None:
    cart = await buyer.ready((await buyer.checkout_setup.product(), 1))
    attributes = {"gateway_payment_profile_id": "approve", "name": f"Card of {cart.id}"}

    for _ in range(3):
        response = await buyer.post(
            "/checkout/create_payment", payment_method_id=buyer.checkout_setup.card, source_attributes=attributes
        )
        assert response.status == 201

    assert await db.fetchval("select count(*) from payments where order_id = $1", UUID(cart.id)) == 1
    assert await db.fetchval(COUNT_CARDS, attributes["name"]) == 1
    assert (await buyer.complete()).status == 200


@pytest.mark.security("H-11")
async def test_one_request_can_choose_ten_payments_at_most(buyer: Buyer) -> None:
    await buyer.ready((await buyer.checkout_setup.product(), 1))
    choice = {"payment_method_id": buyer.checkout_setup.check}

    answers = [await buyer.update_checkout(payments_attributes=[choice] * count) for count in (10, 11)]

    assert [answer.status for answer in answers] == [200, 422]
    assert list(answers[1].json["errors"]) == ["payments_attributes"]


@pytest.mark.security("H-11")
async def test_a_cart_with_too_many_failed_payments_accepts_no_more(buyer: Buyer, db: Any) -> None:
    cart = await buyer.ready((await buyer.checkout_setup.product(), 1))
    await db.execute(INSERT_FAILED_PAYMENTS, UUID(cart.id), UUID(buyer.checkout_setup.check), 48)

    before = await buyer.post("/checkout/create_payment", payment_method_id=buyer.checkout_setup.check)
    await db.execute(INSERT_FAILED_PAYMENTS, UUID(cart.id), UUID(buyer.checkout_setup.check), 1)
    after = await buyer.post("/checkout/create_payment", payment_method_id=buyer.checkout_setup.check)

    assert (before.status, after.status) == (201, 422)
