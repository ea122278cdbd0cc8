"""The preview page of a promotion: its discount on a cart, or the reason for none; it changes nothing."""

import json
from typing import Any
from uuid import UUID

import httpx2

from tests.accounts import sign_in
from tests.admin.catalog_forms import error_messages, id_of, saved_message, unique_word
from tests.admin.dashboard import Dashboard
from tests.admin.order_builders import text_of
from tests.admin.promotion_forms import add_part, new_discount, new_promotion, preview_promotion
from tests.builders import Make
from tests.checkout_builders import Buyer, CheckoutSetup, SignedInBuyer
from tests.promotion_builders import create_promotion, for_products, new_code


async def test_the_preview_shows_the_discount_of_each_line_item_and_both_totals(
    dashboard: Dashboard, buyer: Buyer, checkout_setup: CheckoutSetup
) -> None:
    promotion = await new_discount(dashboard)
    await add_part(dashboard, promotion, "benefits", "amount_off_order", **{"amounts[USD]": "2"})
    cart = await buyer.add_items(
        (await checkout_setup.product("10.05", name="Cup"), 1), (await checkout_setup.product("3.00", name="Jug"), 2)
    )

    text = await preview_promotion(dashboard, promotion, cart["number"])

    assert text.startswith(f"On cart {cart['number']} cart takes $3.61 off")
    assert "Total without promotion $16.05 Total with promotion $12.44" in text
    for line in ("Cup $10.05 $1.01", "Jug $6.00 $0.60", "The whole order $14.44 $2.00"):
        assert line in text


async def test_the_preview_changes_nothing(
    dashboard: Dashboard, buyer: Buyer, checkout_setup: CheckoutSetup, db: Any
) -> None:
    promotion = await new_discount(dashboard, usage_limit="1")
    cart = await buyer.add_items((await checkout_setup.product("10.00"), 1))
    tables = {
        "orders": "id = $1",
        "line_items": "order_id = $1",
        "order_promotions": "order_id = $1",
        "promotion_uses": "promotion_id = $2",
        "promotions": "id = $2",
        "audit_events": "actor_id = $3",
    }

    async def snapshot() -> list[Any]:
        ids = (UUID(cart.id), id_of(promotion), dashboard.id)
        condition = "$1::uuid is not null and $2::uuid is not null and $3::uuid is not null"
        return [
            await db.fetch(
                f"select t::text, t.xmin::text from {table} t where {condition} and {which} order by 1", *ids
            )
            for table, which in tables.items()
        ]

    before = await snapshot()
    await preview_promotion(dashboard, promotion, cart["number"])

    assert await snapshot() == before
    assert [len(rows) for rows in before] == [1, 1, 0, 0, 1, 2]


async def test_the_preview_shows_whether_each_condition_is_met(
    dashboard: Dashboard, buyer: Buyer, checkout_setup: CheckoutSetup
) -> None:
    cup, jug = await checkout_setup.product("10.00", name="Cup"), await checkout_setup.product("5.00", name="Jug")
    promotion = await new_discount(dashboard)
    await add_part(dashboard, promotion, "conditions", "product", **{"product_ids[]": [cup.id]})
    await add_part(dashboard, promotion, "conditions", "item_total", **{"amounts[USD]": "50"})
    await add_part(dashboard, promotion, "conditions", "first_order")
    cart = await buyer.add_items((cup, 1), (jug, 1))

    text = await preview_promotion(dashboard, promotion, cart["number"])
    name = text_of((await dashboard.get(promotion)).text).partition(" · ")[0]
    saved_message(await dashboard.post(promotion, name=name, way="batches", match_policy="any"))
    any_text = await preview_promotion(dashboard, promotion, cart["number"])

    assert "no discount It requires an item total of at least 50.00 USD." in text
    assert "Total without promotion $15.00 Total with promotion $15.00" in text
    conditions = text.partition("All conditions must be met. ")[2]
    assert conditions == (
        "met Specific products : Cup not met Minimum item total : $50.00"
        " It requires an item total of at least 50.00 USD."
        " not met First order of a customer It is limited to first orders; sign in to use it."
    )
    # The discount applies to the cup alone.
    assert "takes $1.00 off" in any_text
    assert "Any condition is enough." in any_text


async def test_the_preview_names_better_and_replaced_promotions(
    dashboard: Dashboard, make: Make, buyer: Buyer, checkout_setup: CheckoutSetup
) -> None:
    cup, jug = await checkout_setup.product("10.00", name="Cup"), await checkout_setup.product("10.00", name="Jug")
    fifth, twentieth = f"Fifth {unique_word()}", f"Twentieth {unique_word()}"
    better = await create_promotion(
        make, ("percent_off_items", {"percent": "20"}), conditions=[for_products(cup)], name=fifth
    )
    await create_promotion(
        make, ("percent_off_items", {"percent": "5"}), conditions=[for_products(jug)], name=twentieth
    )
    promotion = await new_discount(dashboard)
    cart = await buyer.add_items((cup, 1), (jug, 1))
    single_item_cart = await Buyer(buyer.http, checkout_setup).add_items((cup, 1))

    text = await preview_promotion(dashboard, promotion, cart["number"])
    single_item_text = await preview_promotion(dashboard, promotion, single_item_cart["number"])
    page = (await dashboard.get(f"{promotion}/try?order={cart['number']}")).text

    assert "takes $1.00 off Another promotion gives a larger discount on some items." in text
    assert f"Cup $10.00 $1.00 {fifth} gives a larger discount: $2.00" in text
    assert f"Jug $10.00 $1.00 replaces {twentieth} : $0.50" in text
    assert "Total without promotion $17.50 Total with promotion $17.00" in text
    assert f'href="/admin/promotions/{better.id}"' in page
    assert "not the best discount" in single_item_text
    assert "Total without promotion $8.00 Total with promotion $8.00" in single_item_text


async def test_the_preview_of_an_unavailable_promotion_shows_its_discount_and_the_reason(
    dashboard: Dashboard, buyer: Buyer, checkout_setup: CheckoutSetup, db: Any
) -> None:
    later = await new_discount(dashboard, starts_at="2031-03-01T00:00")
    expired_promotion = await new_discount(dashboard, expires_at="2020-03-01T00:00")
    used_up = await new_discount(dashboard, usage_limit="1")
    await db.execute("update promotions set uses = 1 where id = $1", id_of(used_up))
    cart = await buyer.add_items((await checkout_setup.product("10.00"), 1))

    texts = {
        name: await preview_promotion(dashboard, name, cart["number"]) for name in (later, expired_promotion, used_up)
    }

    assert "not available It begins on 2031-03-01 00:00 UTC. Once it is available" in texts[later]
    assert "not available It ended on 2020-03-01 00:00 UTC." in texts[expired_promotion]
    assert "not available It has reached its usage limit." in texts[used_up]
    for text in texts.values():
        assert "would take $1.00 off" in text
        assert "Total without promotion $10.00 Total with promotion $9.00" in text


async def test_the_preview_reports_a_customer_over_the_usage_limit(
    dashboard: Dashboard, checkout_setup: CheckoutSetup, http: httpx2.AsyncClient
) -> None:
    code, product = new_code(), await checkout_setup.product("10.00")
    promotion = await new_discount(dashboard, way="code", code=code, customer_limit="1")
    member = await sign_in(http)
    first, again = SignedInBuyer(http, checkout_setup, member), SignedInBuyer(http, checkout_setup, member)
    await first.ready((product, 1))
    assert (await first.patch("/cart/apply_coupon_code", coupon_code=code)).status == 200
    order = await first.complete()
    await again.add_items((product, 1))
    cart = await again.enter_address()

    text = await preview_promotion(dashboard, promotion, cart["number"])
    order_text = await preview_promotion(dashboard, promotion, order["number"])

    assert "not available This customer has reached the usage limit." in text
    # The order's own use of the promotion does not count against it.
    assert "not available" not in order_text
    assert "The order is completed and does not change. The result shows the discount as of today." in order_text


async def test_free_shipping_is_calculated_once_a_shipping_rate_is_known(
    dashboard: Dashboard, buyer: Buyer, checkout_setup: CheckoutSetup
) -> None:
    promotion = await new_promotion(dashboard)
    await add_part(dashboard, promotion, "benefits", "free_shipping")
    cart = await buyer.add_items((await checkout_setup.product("10.00"), 1))

    early = await preview_promotion(dashboard, promotion, cart["number"])
    await buyer.enter_address()
    await buyer.get("/checkout/shipping_rates")
    late = await preview_promotion(dashboard, promotion, cart["number"])

    assert "applies The shipping discount is known once" in early
    assert "no discount" not in early
    assert "Shipping: Post $5.00 $5.00" in late
    assert "Total without promotion $15.00 Total with promotion $10.00" in late


async def test_the_preview_of_a_coupon_promotion_shows_whether_its_code_is_applied(
    dashboard: Dashboard, buyer: Buyer, checkout_setup: CheckoutSetup
) -> None:
    code = new_code()
    promotion = await new_discount(dashboard, way="code", code=code)
    cart = await buyer.add_items((await checkout_setup.product("10.00"), 1))

    without = await preview_promotion(dashboard, promotion, cart["number"])
    await buyer.patch("/cart/apply_coupon_code", coupon_code=code)
    within = await preview_promotion(dashboard, promotion, cart["number"])

    message = "The code is not applied to the cart. The result assumes that it is."
    assert (message in without, message in within) == (True, False)
    # The discount counts once, also if the code is on the cart already.
    assert ["Total without promotion $10.00 Total with promotion $9.00" in text for text in (without, within)] == [
        True,
        True,
    ]


async def test_the_preview_explains_a_missing_discount(
    dashboard: Dashboard, buyer: Buyer, checkout_setup: CheckoutSetup, http: httpx2.AsyncClient
) -> None:
    empty_promotion, pairs, euros = [await new_promotion(dashboard) for _ in range(3)]
    await add_part(dashboard, pairs, "benefits", "buy_some_get_some", buy="2", get="1", percent="100")
    await add_part(dashboard, euros, "benefits", "amount_off_order", **{"amounts[EUR]": "1"})
    cart = await buyer.add_items((await checkout_setup.product("10.00"), 2))
    member = await sign_in(http)
    empty_cart = await member.post("/cart")

    texts = [await preview_promotion(dashboard, each, cart["number"]) for each in (empty_promotion, pairs, euros)]
    texts.append(await preview_promotion(dashboard, pairs, empty_cart["number"]))

    nothing = "no discount Its discount for these items is 0 in USD."
    assert "no discount It has no valid discount" in texts[0]
    assert [nothing in text for text in texts] == [False, True, True, False]
    assert "no discount The cart is empty." in texts[3]


async def test_a_promotion_with_an_invalid_condition_gives_no_discount(
    dashboard: Dashboard, buyer: Buyer, checkout_setup: CheckoutSetup, db: Any
) -> None:
    promotion = await new_discount(dashboard)
    await add_part(dashboard, promotion, "conditions", "item_total", **{"amounts[USD]": "1"})
    statement = "update promotion_rules set preferences = $2 where promotion_id = $1"
    await db.execute(statement, id_of(promotion), json.dumps({"amounts": "many"}))
    cart = await buyer.add_items((await checkout_setup.product("10.00"), 1))

    text = await preview_promotion(dashboard, promotion, cart["number"])

    assert "no discount It has no valid discount" in text
    assert "not met Minimum item total" in text
    assert "It is invalid; edit it." in text


async def test_the_newest_carts_are_offered_and_any_order_is_found_by_number(
    dashboard: Dashboard, buyer: Buyer, checkout_setup: CheckoutSetup, http: httpx2.AsyncClient
) -> None:
    promotion, product = await new_discount(dashboard), await checkout_setup.product("10.00")
    member = await sign_in(http)
    number = (await member.post("/cart"))["number"]
    await member.post("/cart/add_item", variant_id=product.variant_id)

    page = (await dashboard.get(f"{promotion}/try")).text
    small = await dashboard.get(f"{promotion}/try?order=%20{number.lower()}%20")
    unknown = await dashboard.get(f"{promotion}/try?order=R1")

    assert f'href="{promotion}/try?order={number}"' in page
    assert member.email in page
    assert small.status_code == 200
    assert f"On cart {number}" in text_of(small.text)
    assert (unknown.status_code, error_messages(unknown)) == (422, ["No cart or order has this number."])


async def test_the_preview_needs_as_many_statements_for_many_line_items_as_for_few(
    dashboard: Dashboard, checkout_setup: CheckoutSetup, http: httpx2.AsyncClient, service: Any
) -> None:
    products = [await checkout_setup.product("1.00") for _ in range(4)]
    promotion, other = await new_discount(dashboard), await new_discount(dashboard)
    for product in products:
        await add_part(dashboard, promotion, "conditions", "product", **{"product_ids[]": [product.id]})
    await add_part(dashboard, other, "conditions", "product", **{"product_ids[]": [products[0].id]})
    few, many = Buyer(http, checkout_setup), Buyer(http, checkout_setup)
    small_cart = await few.add_items((products[0], 1))
    large_cart = await many.add_items(*((each, 1) for each in products))

    counts = [
        service.request_line((await dashboard.get(f"{each}/try?order={cart['number']}")).headers["x-request-id"])[
            "statements"
        ]
        for each, cart in ((other, small_cart), (promotion, large_cart))
    ]

    assert counts[0] == counts[1], counts
