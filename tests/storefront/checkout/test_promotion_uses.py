"""Uses of a promotion: each completed order reserves one, and a failed or canceled order releases it."""

import asyncio
from typing import Any

import httpx2
import pytest

from tests.accounts import Member, sign_in
from tests.checkout_builders import ADDRESS, Buyer, CheckoutSetup
from tests.promotion_builders import FREE_SHIPPING, TENTH, create_promotion, new_code
from tests.shopper import Answer


async def ready(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, product: Any, code: str, source: str = "approve"
) -> Buyer:
    buyer = Buyer(http, checkout_setup)
    await buyer.add_items((product, 1))
    cart = await buyer.patch("/cart/apply_coupon_code", coupon_code=code)
    assert cart.status == 200, cart
    await buyer.enter_address()
    await buyer.pay(source)
    return buyer


async def uses(db: Any, promotion: Answer) -> tuple[int, int]:
    """The counter of the promotion, and the number of its recorded uses."""
    count = await db.fetchval("select uses from promotions where id = $1", promotion.id)
    return count, await db.fetchval("select count(*) from promotion_uses where promotion_id = $1", promotion.id)


async def assert_uses_agree(db: Any, promotion: Answer) -> None:
    count, rows = await uses(db, promotion)
    assert count == rows


@pytest.mark.parametrize("buyers", [8, pytest.param(50, marks=pytest.mark.torture)])
async def test_the_last_use_is_given_to_one_of_many_concurrent_orders(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any, buyers: int
) -> None:
    product, code = await checkout_setup.product("10.00", on_hand=100), new_code()
    promotion = await create_promotion(checkout_setup.make, TENTH, code=code, usage_limit=1)
    all_buyers = [await ready(http, checkout_setup, product, code) for _ in range(buyers)]

    answers = await asyncio.gather(*(buyer.complete() for buyer in all_buyers))

    orders = [answer for answer in answers if answer.status == 200]
    conflicts = [(buyer, answer) for buyer, answer in zip(all_buyers, answers, strict=True) if answer.status != 200]
    assert [(answer["total"], answer["promo_total"]) for answer in orders] == [("14.0", "-1.0")]
    assert {(answer.status, answer.code) for _, answer in conflicts} == {(409, "total_changed")}
    for _, answer in conflicts:
        promotion_difference, total = answer.json["differences"]
        assert (promotion_difference["code"], promotion_difference["was"], promotion_difference["now"]) == (
            "promotion_lost",
            "-1.0",
            "0.0",
        )
        assert (total["code"], total["was"], total["now"]) == ("total_changed", "14.0", "15.0")
    assert await uses(db, promotion) == (1, 1)
    buyer, answer = conflicts[0]
    again = await buyer.complete(consent_token=answer.json["consent_token"])
    assert (again.status, again["total"], again["payment_state"]) == (200, "15.0", "paid")
    captured_amount = await db.fetchval("select captured_amount from payments where order_id = $1", again.id)
    assert captured_amount == 1_500
    assert await uses(db, promotion) == (1, 1)


async def test_a_use_is_released_when_the_payment_is_declined_and_when_the_order_is_canceled(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    product, code = await checkout_setup.product("10.00", on_hand=9), new_code()
    promotion = await create_promotion(checkout_setup.make, TENTH, code=code, usage_limit=1)
    buyer = await ready(http, checkout_setup, product, code, "decline")

    refusal = await buyer.complete()
    after_refusal = await uses(db, promotion)
    await buyer.pay("approve")
    order = await buyer.complete()
    after_buying = await uses(db, promotion)
    other = Buyer(http, checkout_setup)
    await other.add_items((product, 1))
    used_up = await other.patch("/cart/apply_coupon_code", coupon_code=code)
    cancellation = await checkout_setup.make.machine.patch(f"/orders/{order.id}/cancel", {})
    after_canceling = await uses(db, promotion)
    free_again = await other.patch("/cart/apply_coupon_code", coupon_code=code)

    assert (refusal.status, refusal.code, after_refusal) == (422, "payment_refused", (0, 0))
    assert (order.status, order["total"], after_buying) == (200, "14.0", (1, 1))
    assert (used_up.status, used_up.code) == (422, "coupon_used_up")
    assert (cancellation.status, after_canceling, free_again.status) == (200, (0, 0), 200)


async def test_a_resumed_order_reserves_its_use_again_if_one_is_left(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    product, code = await checkout_setup.product("10.00", on_hand=9), new_code()
    promotion = await create_promotion(checkout_setup.make, TENTH, code=code, usage_limit=1)
    machine = checkout_setup.make.machine
    first, second = await ready(http, checkout_setup, product, code), await ready(http, checkout_setup, product, code)
    await first.pay(method=checkout_setup.check)
    order = await first.complete()
    await machine.patch(f"/orders/{order.id}/cancel", {})

    response = await machine.patch(f"/orders/{order.id}/resume", {})
    use_counts = await uses(db, promotion)
    await machine.patch(f"/orders/{order.id}/cancel", {})
    assert (await second.complete()).status == 200
    too_late = await machine.patch(f"/orders/{order.id}/resume", {})

    assert (response.status, use_counts) == (200, (1, 1))
    assert (too_late.status, too_late.code) == (422, "coupon_used_up")


async def test_the_customer_limit_applies_to_each_customer(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    product, code = await checkout_setup.product("10.00", on_hand=9), new_code()
    promotion = await create_promotion(checkout_setup.make, TENTH, code=code, customer_limit=1)
    member, other = await sign_in(http), await sign_in(http)

    async def buy(who: Member) -> Answer:
        await who.post("/cart")
        await who.post("/cart/add_item", variant_id=product.variant_id)
        cart = await who.patch("/cart/apply_coupon_code", coupon_code=code)
        if cart.status != 200:
            return cart
        await who.patch("/checkout", order={"bill_address_attributes": ADDRESS, "use_billing": True})
        await who.post("/checkout/create_payment", payment_method_id=checkout_setup.check)
        return await who.patch("/checkout/complete")

    first, again, others = await buy(member), await buy(member), await buy(other)

    assert (first.status, others.status) == (200, 200), (first, others)
    assert (again.status, again.code, again.json["error"]) == (
        422,
        "coupon_used_up",
        "You have already used it the maximum number of times.",
    )
    await assert_uses_agree(db, promotion)


async def test_the_customer_limit_applies_to_concurrent_orders_of_one_customer(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    product, code = await checkout_setup.product("10.00", on_hand=9), new_code()
    promotion = await create_promotion(checkout_setup.make, TENTH, code=code, customer_limit=1)
    carts = [await ready(http, checkout_setup, product, code) for _ in range(4)]

    answers = await asyncio.gather(*(buyer.complete() for buyer in carts))

    assert sorted(answer.status for answer in answers) == [200, 409, 409, 409]
    assert await uses(db, promotion) == (1, 1)


async def test_codes_of_a_batch_are_valid_for_one_order_each(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    product, machine = await checkout_setup.product("10.00", on_hand=9), checkout_setup.make.machine
    promotion = await create_promotion(checkout_setup.make, TENTH, is_automatic=False)
    batch = await checkout_setup.make.new(
        "coupon_batches", "coupon_batch", promotion_id=promotion.id, name="Letters", prefix="HI-", codes_count=3
    )
    coupon_codes = await machine.get(f"/coupon_codes?filter[batch_id_eq]={batch.id}")
    code, other, _ = (each["attributes"]["code"] for each in coupon_codes.json["data"])
    both = [await ready(http, checkout_setup, product, code.upper()) for _ in range(2)]
    third = await ready(http, checkout_setup, product, other)

    answers = await asyncio.gather(*(buyer.complete() for buyer in both))
    order = next(answer for answer in answers if answer.status == 200)
    late = Buyer(http, checkout_setup)
    await late.add_items((product, 1))
    refusal = await late.patch("/cart/apply_coupon_code", coupon_code=code)
    deletion = await machine.delete(f"/coupon_batches/{batch.id}")
    await machine.patch(f"/orders/{order.id}/cancel", {})
    free = await late.patch("/cart/apply_coupon_code", coupon_code=code)

    assert all(each["attributes"]["code"].startswith("hi-") for each in coupon_codes.json["data"])
    assert sorted(answer.status for answer in answers) == [200, 409]
    assert (await third.complete()).status == 200
    assert (refusal.status, refusal.code) == (422, "coupon_used_up")
    assert (deletion.status, free.status) == (422, 200)
    await db.execute("select 1")


async def test_a_limit_set_later_counts_earlier_uses(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    product, code = await checkout_setup.product("10.00", on_hand=9), new_code()
    promotion = await create_promotion(checkout_setup.make, TENTH, code=code)
    assert (await (await ready(http, checkout_setup, product, code)).complete()).status == 200
    before_limit = await uses(db, promotion)

    await checkout_setup.make.change("promotions", promotion.id, "promotion", usage_limit=1)
    buyer = Buyer(http, checkout_setup)
    await buyer.add_items((product, 1))
    late = await buyer.patch("/cart/apply_coupon_code", coupon_code=code)

    assert (before_limit, await uses(db, promotion)) == ((0, 1), (1, 1))
    assert (late.status, late.code) == (422, "coupon_used_up")


async def test_a_promotion_that_ends_before_completion_requires_consent(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    product, code = await checkout_setup.product("10.00", on_hand=9), new_code()
    promotion = await create_promotion(checkout_setup.make, TENTH, code=code)
    buyer = await ready(http, checkout_setup, product, code)
    await db.execute("update promotions set expires_at = now() where id = $1", promotion.id)

    conflict = await buyer.complete()
    order = await buyer.complete(consent_token=conflict.json["consent_token"])

    assert (conflict.status, conflict.code) == (409, "total_changed")
    assert (order.status, order["total"]) == (200, "15.0")


async def test_deleting_a_used_promotion_is_refused_and_orders_keep_its_name(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    product, code = await checkout_setup.product("10.00", on_hand=9), new_code()
    promotion, unused_promotion = (
        await create_promotion(checkout_setup.make, TENTH, code=code, name="Kept"),
        await create_promotion(checkout_setup.make, TENTH, code=new_code()),
    )
    buyer = await ready(http, checkout_setup, product, code)
    order = await buyer.complete()
    machine = checkout_setup.make.machine

    refusal, unused_deletion = (
        await machine.delete(f"/promotions/{promotion.id}"),
        await machine.delete(f"/promotions/{unused_promotion.id}"),
    )
    await checkout_setup.make.change("promotions", promotion.id, "promotion", name="Renamed")
    order_status = await buyer.get(f"/order_status/{order['number']}", include="promotions")
    rows = await machine.get(f"/adjustments?filter[order_id_eq]={order.id}")

    assert (refusal.status, unused_deletion.status) == (422, 204)
    assert refusal.json["errors"] == {"base": ["was used by orders and cannot be deleted; end it instead"]}
    (included_promotion,) = [each for each in order_status.json["included"] if each["type"] == "promotion"]
    assert (
        included_promotion["id"],
        included_promotion["attributes"]["name"],
        included_promotion["attributes"]["amount"],
    ) == (
        promotion.id,
        "Kept",
        "-1.0",
    )
    (row,) = [each["attributes"] for each in rows.json["data"]]
    assert (row["source_type"], row["adjustable_type"], row["amount"], row["label"], row["state"]) == (
        "promotion",
        "line_item",
        "-1.0",
        "Kept",
        "closed",
    )


async def test_losing_the_last_use_of_a_free_order_requires_consent_and_a_payment(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    product, code = await checkout_setup.product("10.00", on_hand=9), new_code()
    free = ("percent_off_items", {"percent": "100"})
    await create_promotion(checkout_setup.make, free, FREE_SHIPPING, code=code, usage_limit=1)
    both = []
    for _ in range(2):
        buyer = Buyer(http, checkout_setup)
        await buyer.add_items((product, 1))
        assert (await buyer.patch("/cart/apply_coupon_code", coupon_code=code)).status == 200
        await buyer.enter_address()
        both.append(buyer)

    first, second = [await buyer.complete() for buyer in both]

    assert (first.status, first["total"]) == (200, "0.0")
    assert (second.status, second.code) == (409, "total_changed")
    response = await both[1].complete(consent_token=second.json["consent_token"])
    assert (response.status, response.code) == (422, "payment_missing")


@pytest.mark.torture
async def test_concurrent_declined_and_approved_orders_do_not_deadlock(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    product, code = await checkout_setup.product("10.00", on_hand=100), new_code()
    promotion = await create_promotion(checkout_setup.make, TENTH, code=code, usage_limit=100)
    before = await db.fetchval("select deadlocks from pg_stat_database where datname = current_database()")
    scripts = ["approve", "decline"] * 8
    buyers = [await ready(http, checkout_setup, product, code, script) for script in scripts]

    answers = await asyncio.gather(*(buyer.complete() for buyer in buyers))

    assert sorted(answer.status for answer in answers) == [200] * 8 + [422] * 8
    assert await uses(db, promotion) == (8, 8)
    await db.execute("select pg_stat_clear_snapshot()")
    assert await db.fetchval("select deadlocks from pg_stat_database where datname = current_database()") == before


async def test_a_cart_that_is_being_paid_cannot_be_deleted(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    """However close the requests are: a charged cart becomes an order, and an abandoned cart is not charged."""
    product, code = await checkout_setup.product("10.00", on_hand=100), new_code()
    promotion = await create_promotion(checkout_setup.make, TENTH, code=code, usage_limit=100)
    buyers = [await ready(http, checkout_setup, product, code) for _ in range(12)]

    async def complete_and_abandon(buyer: Buyer, seconds: float) -> tuple[Answer, Answer]:
        async def abandon_cart() -> Answer:
            await asyncio.sleep(seconds)  # Another delay for each buyer, to hit a race.
            return await buyer.delete("/cart")

        return await asyncio.gather(buyer.complete(), abandon_cart())

    pairs = [await complete_and_abandon(buyer, index * 0.002) for index, buyer in enumerate(buyers)]

    for completion, deletion in pairs:
        assert (completion.status, deletion.status) in {(200, 422), (200, 404), (404, 204)}, (completion, deletion)
    order_count = sum(completion.status == 200 for completion, _ in pairs)
    assert await uses(db, promotion) == (order_count, order_count)
