"""Try it: what a promotion would do to a cart and why not, told before anybody pays for it; nothing is changed."""

import json
from typing import Any
from uuid import UUID

import httpx

from tests.accounts import sign_in
from tests.admin.catalog_forms import done, id_of, mark, said
from tests.admin.dashboard import Desk
from tests.admin.order_builders import text_of
from tests.admin.promotion_forms import a_tenth, add, new_promotion, tried
from tests.builders import Make
from tests.checkout_builders import Buyer, SignedIn, Till
from tests.promotion_builders import about, new_code, new_deal


async def test_it_says_what_is_taken_off_which_line_and_the_total_before_and_after(
    desk: Desk, buyer: Buyer, till: Till
) -> None:
    promotion = await a_tenth(desk)
    await add(desk, promotion, "benefits", "amount_off_order", **{"amounts[USD]": "2"})
    cart = await buyer.put_in((await till.product("10.05", name="Cup"), 1), (await till.product("3.00", name="Jug"), 2))

    text = await tried(desk, promotion, cart["number"])

    assert text.startswith(f"On cart {cart['number']} cart takes $3.61 off")
    assert "Total without it $16.05 Total with it $12.44" in text
    for line in ("Cup $10.05 $1.01", "Jug $6.00 $0.60", "The whole order $14.44 $2.00"):
        assert line in text


async def test_nothing_is_changed_by_trying(desk: Desk, buyer: Buyer, till: Till, db: Any) -> None:
    promotion = await a_tenth(desk, usage_limit="1")
    cart = await buyer.put_in((await till.product("10.00"), 1))
    tables = {
        "orders": "id = $1",
        "line_items": "order_id = $1",
        "order_promotions": "order_id = $1",
        "promotion_uses": "promotion_id = $2",
        "promotions": "id = $2",
        "audit_events": "actor_id = $3",
    }

    async def everything() -> list[Any]:
        ids = (UUID(cart.id), id_of(promotion), desk.id)
        condition = "$1::uuid is not null and $2::uuid is not null and $3::uuid is not null"
        return [
            await db.fetch(
                f"select t::text, t.xmin::text from {table} t where {condition} and {which} order by 1", *ids
            )
            for table, which in tables.items()
        ]

    before = await everything()
    await tried(desk, promotion, cart["number"])

    assert await everything() == before
    assert [len(rows) for rows in before] == [1, 1, 0, 0, 1, 2]


async def test_each_condition_says_whether_it_holds(desk: Desk, buyer: Buyer, till: Till) -> None:
    cup, jug = await till.product("10.00", name="Cup"), await till.product("5.00", name="Jug")
    promotion = await a_tenth(desk)
    await add(desk, promotion, "conditions", "product", **{"product_ids[]": [cup.id]})
    await add(desk, promotion, "conditions", "item_total", **{"amounts[USD]": "50"})
    await add(desk, promotion, "conditions", "first_order")
    cart = await buyer.put_in((cup, 1), (jug, 1))

    text = await tried(desk, promotion, cart["number"])
    name = text_of((await desk.get(promotion)).text).partition(" · ")[0]
    done(await desk.post(promotion, name=name, way="batches", match_policy="any"))
    any_of_them = await tried(desk, promotion, cart["number"])

    assert "no discount It needs goods for at least 50.0 USD." in text
    assert "Total without it $15.00 Total with it $15.00" in text
    conditions = text.partition("All conditions must be met. ")[2]
    assert conditions == (
        "met Certain products : Cup not met Goods for at least : $50.00 It needs goods for at least 50.0 USD."
        " not met A customer's first order It is for a first order; sign in to use it."
    )
    # About the cup alone; the other line stays as it is.
    assert "takes $1.00 off" in any_of_them
    assert "Any condition is enough." in any_of_them


async def test_it_says_which_other_promotion_is_better_and_which_it_replaces(
    desk: Desk, make: Make, buyer: Buyer, till: Till
) -> None:
    cup, jug = await till.product("10.00", name="Cup"), await till.product("10.00", name="Jug")
    fifth, twentieth = f"Fifth {mark()}", f"Twentieth {mark()}"
    better = await new_deal(make, ("percent_off_items", {"percent": "20"}), conditions=[about(cup)], name=fifth)
    await new_deal(make, ("percent_off_items", {"percent": "5"}), conditions=[about(jug)], name=twentieth)
    promotion = await a_tenth(desk)
    cart = await buyer.put_in((cup, 1), (jug, 1))
    alone = await Buyer(buyer.http, till).put_in((cup, 1))

    text = await tried(desk, promotion, cart["number"])
    text_alone = await tried(desk, promotion, alone["number"])
    page = (await desk.get(f"{promotion}/try?order={cart['number']}")).text

    assert "takes $1.00 off On some items another promotion takes more off." in text
    assert f"Cup $10.00 $1.00 loses against {fifth} , which takes $2.00" in text
    assert f"Jug $10.00 $1.00 instead of {twentieth} with $0.50" in text
    assert "Total without it $17.50 Total with it $17.00" in text
    assert f'href="/admin/promotions/{better.id}"' in page
    assert "others are better" in text_alone
    assert "Total without it $8.00 Total with it $8.00" in text_alone


async def test_what_cannot_be_used_now_is_told_and_tried_as_if_it_could(
    desk: Desk, buyer: Buyer, till: Till, db: Any
) -> None:
    later = await a_tenth(desk, starts_at="2031-03-01T00:00")
    expired_promotion = await a_tenth(desk, expires_at="2020-03-01T00:00")
    used_up = await a_tenth(desk, usage_limit="1")
    await db.execute("update promotions set uses = 1 where id = $1", id_of(used_up))
    cart = await buyer.put_in((await till.product("10.00"), 1))

    texts = {name: await tried(desk, name, cart["number"]) for name in (later, expired_promotion, used_up)}

    assert "not now It begins on 2031-03-01 00:00 UTC. Once it can be used" in texts[later]
    assert "not now It ended on 2020-03-01 00:00 UTC." in texts[expired_promotion]
    assert "not now It has reached its usage limit." in texts[used_up]
    for text in texts.values():
        assert "would take $1.00 off" in text
        assert "Total without it $10.00 Total with it $9.00" in text


async def test_a_customer_over_their_limit_is_told_of_as_somebody_else(
    desk: Desk, till: Till, http: httpx.AsyncClient
) -> None:
    code, product = new_code(), await till.product("10.00")
    promotion = await a_tenth(desk, way="code", code=code, customer_limit="1")
    member = await sign_in(http)
    first, again = SignedIn(http, till, member), SignedIn(http, till, member)
    await first.ready((product, 1))
    assert (await first.patch("/cart/apply_coupon_code", coupon_code=code)).status == 200
    order = await first.complete()
    await again.put_in((product, 1))
    cart = await again.come_from()

    text = await tried(desk, promotion, cart["number"])
    of_the_order = await tried(desk, promotion, order["number"])

    assert "not now This customer has reached the usage limit." in text
    # Its own use does not stand in its own way.
    assert "not now" not in of_the_order
    assert "The order is completed and stays as it is; this is how it would be today." in of_the_order


async def test_free_shipping_waits_until_it_is_known_how_the_order_is_sent(
    desk: Desk, buyer: Buyer, till: Till
) -> None:
    promotion = await new_promotion(desk)
    await add(desk, promotion, "benefits", "free_shipping")
    cart = await buyer.put_in((await till.product("10.00"), 1))

    early = await tried(desk, promotion, cart["number"])
    await buyer.come_from()
    await buyer.get("/checkout/shipping_rates")
    late = await tried(desk, promotion, cart["number"])

    assert "applies The shipping discount is known once" in early
    assert "no discount" not in early
    assert "Shipping: Post $5.00 $5.00" in late
    assert "Total without it $15.00 Total with it $10.00" in late


async def test_a_promotion_by_code_says_whether_the_cart_has_it(desk: Desk, buyer: Buyer, till: Till) -> None:
    code = new_code()
    promotion = await a_tenth(desk, way="code", code=code)
    cart = await buyer.put_in((await till.product("10.00"), 1))

    without = await tried(desk, promotion, cart["number"])
    await buyer.patch("/cart/apply_coupon_code", coupon_code=code)
    within = await tried(desk, promotion, cart["number"])

    message = "Its code is not on the cart; this is how it would be with it."
    assert (message in without, message in within) == (True, False)
    # It counts once, whether it is on the cart already or not.
    assert ["Total without it $10.00 Total with it $9.00" in text for text in (without, within)] == [True, True]


async def test_what_gives_nothing_says_so(desk: Desk, buyer: Buyer, till: Till, http: httpx.AsyncClient) -> None:
    bare, pairs, euros = [await new_promotion(desk) for _ in range(3)]
    await add(desk, pairs, "benefits", "buy_some_get_some", buy="2", get="1", percent="100")
    await add(desk, euros, "benefits", "amount_off_order", **{"amounts[EUR]": "1"})
    cart = await buyer.put_in((await till.product("10.00"), 2))
    member = await sign_in(http)
    empty = await member.post("/cart")

    texts = [await tried(desk, each, cart["number"]) for each in (bare, pairs, euros)]
    texts.append(await tried(desk, pairs, empty["number"]))

    nothing = "no discount Its discount for these items is 0 in USD."
    assert "no discount It has no valid discount" in texts[0]
    assert [nothing in text for text in texts] == [False, True, True, False]
    assert "no discount The cart is empty." in texts[3]


async def test_a_spoiled_condition_is_told_and_nothing_is_given(desk: Desk, buyer: Buyer, till: Till, db: Any) -> None:
    promotion = await a_tenth(desk)
    await add(desk, promotion, "conditions", "item_total", **{"amounts[USD]": "1"})
    spoil = "update promotion_rules set preferences = $2 where promotion_id = $1"
    await db.execute(spoil, id_of(promotion), json.dumps({"amounts": "many"}))
    cart = await buyer.put_in((await till.product("10.00"), 1))

    text = await tried(desk, promotion, cart["number"])

    assert "no discount It has no valid discount" in text
    assert "not met Goods for at least" in text
    assert "It is invalid: set it again." in text


async def test_the_newest_carts_are_offered_and_any_order_is_found_by_its_number(
    desk: Desk, buyer: Buyer, till: Till, http: httpx.AsyncClient
) -> None:
    promotion, product = await a_tenth(desk), await till.product("10.00")
    member = await sign_in(http)
    number = (await member.post("/cart"))["number"]
    await member.post("/cart/add_item", variant_id=product.sold)

    page = (await desk.get(f"{promotion}/try")).text
    small = await desk.get(f"{promotion}/try?order=%20{number.lower()}%20")
    unknown = await desk.get(f"{promotion}/try?order=R1")

    assert f'href="{promotion}/try?order={number}"' in page
    assert member.email in page
    assert small.status_code == 200
    assert f"On cart {number}" in text_of(small.text)
    assert (unknown.status_code, said(unknown)) == (422, ["No cart or order has this number."])


async def test_as_many_statements_for_many_lines_and_conditions_as_for_few(
    desk: Desk, till: Till, http: httpx.AsyncClient, service: Any
) -> None:
    products = [await till.product("1.00") for _ in range(4)]
    promotion, other = await a_tenth(desk), await a_tenth(desk)
    for product in products:
        await add(desk, promotion, "conditions", "product", **{"product_ids[]": [product.id]})
    await add(desk, other, "conditions", "product", **{"product_ids[]": [products[0].id]})
    few, many = Buyer(http, till), Buyer(http, till)
    one = await few.put_in((products[0], 1))
    all_of_them = await many.put_in(*((each, 1) for each in products))

    counts = [
        service.request_line((await desk.get(f"{each}/try?order={cart['number']}")).headers["x-request-id"])[
            "statements"
        ]
        for each, cart in ((other, one), (promotion, all_of_them))
    ]

    assert counts[0] == counts[1], counts
