"""Promotions over HTTP: coupon codes and reasons to refuse one, automatic promotions, and their effect on totals."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from shop.base.email import read_email
from shop.models.cart.orders import customer_of
from tests.accounts import sign_in
from tests.builders import Make
from tests.checkout_builders import ADDRESS, Buyer, CheckoutSetup, SignedInBuyer, new_checkout_setup
from tests.promotion_builders import FREE_SHIPPING, TENTH, create_promotion, for_products, new_code, promotions_of
from tests.service import Service
from tests.shopper import Answer


async def apply(buyer: Buyer, code: str) -> Answer:
    return await buyer.patch("/cart/apply_coupon_code?include=promotions", coupon_code=code)


def refusal(answer: Answer) -> tuple[int, str, str]:
    return answer.status, answer.code, answer.json["error"]


async def test_a_coupon_of_ten_percent_is_applied_and_removed(buyer: Buyer, make: Make) -> None:
    """The worked example of the contract: a line of 10.00, shipping of 100.00."""
    checkout_setup = buyer.checkout_setup = await new_checkout_setup(make)
    for method in (checkout_setup.post, checkout_setup.express):
        await checkout_setup.make.change("shipping_methods", method, "shipping_method", amounts={"USD": "100.00"})
    code, product = new_code(), await checkout_setup.product("10.00")
    await create_promotion(checkout_setup.make, TENTH, code=code.upper(), name="A tenth", description="Off everything")
    await buyer.add_items((product, 1))
    await buyer.enter_address()
    await buyer.get("/checkout/shipping_rates")

    discounted_cart = await apply(buyer, f"  {code.upper()} ")

    names = ("item_total", "ship_total", "promo_total", "adjustment_total", "total", "display_promo_total")
    assert [discounted_cart[name] for name in names] == ["10.0", "100.0", "-1.0", "-1.0", "109.0", "-$1.00"]
    assert promotions_of(discounted_cart) == {"A tenth": ("-1.0", code)}
    (promotion,) = [each for each in discounted_cart.json["included"] if each["type"] == "promotion"]
    assert promotion["attributes"] == {
        "name": "A tenth",
        "description": "Off everything",
        "code": code,
        "amount": "-1.0",
        "display_amount": "-$1.00",
        "public_metadata": {},
    }
    cart = await buyer.get("/cart", include="line_items")
    (line,) = cart.json["included"]
    assert (line["attributes"]["total"], line["attributes"]["discounted_amount"]) == ("9.0", "9.0")

    plain_cart = await buyer.delete(f"/cart/remove_coupon_code/{code}")

    assert (plain_cart.status, plain_cart["total"], plain_cart["promo_total"]) == (200, "110.0", "0.0")
    assert plain_cart.json["data"]["relationships"]["promotions"] == {"data": []}


async def test_free_shipping_discounts_the_shipping_cost(buyer: Buyer, checkout_setup: CheckoutSetup) -> None:
    code = new_code()
    await create_promotion(checkout_setup.make, FREE_SHIPPING, code=code)
    await buyer.add_items((await checkout_setup.product("10.00"), 1))

    early = await apply(buyer, code)
    await buyer.enter_address()
    rates = await buyer.get("/checkout/shipping_rates")
    cart = await buyer.get("/cart", include="promotions")

    assert (early.status, early["promo_total"]) == (200, "0.0")
    assert early.json["data"]["relationships"]["promotions"] == {"data": []}
    assert (cart["ship_total"], cart["promo_total"], cart["total"]) == ("5.0", "-5.0", "10.0")
    (shipment,) = [each for each in rates.json["data"] if each["type"] == "shipment"]
    assert (shipment["attributes"]["final_price"], shipment["attributes"]["free"]) == ("0.0", True)
    assert all(
        each["attributes"]["final_price"] == "0.0" and each["attributes"]["free"]
        for each in rates.json["included"]
        if each["type"] == "shipping_rate"
    )


async def test_every_refused_code_has_a_reason(buyer: Buyer, checkout_setup: CheckoutSetup, db: Any) -> None:
    make, product, other = (
        checkout_setup.make,
        await checkout_setup.product("10.00"),
        await checkout_setup.product("1.00"),
    )
    now = datetime.now(UTC)
    codes: dict[str, str] = {}

    async def create_coupon(name: str, *conditions: Any, benefit: Any = TENTH, **fields: Any) -> None:
        codes[name] = new_code()
        promotion = await create_promotion(make, benefit, conditions=conditions, code=codes[name], **fields)
        if name == "used_up":
            await db.execute("update promotions set uses = 1 where id = $1", promotion.id)

    group = (await make.new("customer_groups", "customer_group", name=new_code())).id
    await create_coupon("ended", expires_at=(now - timedelta(hours=1)).isoformat())
    await create_coupon("later", starts_at=(now + timedelta(hours=1)).isoformat())
    await create_coupon("used_up", usage_limit=1)
    await create_coupon("product", for_products(other))
    await create_coupon("group", ("customer_group", {"group_ids": [group]}))
    await create_coupon("minimum", ("item_total", {"amounts": {"USD": "10.01"}}))
    await create_coupon("euros", benefit=("amount_off_order", {"amounts": {"EUR": "1"}}))
    await create_coupon("good")
    await create_coupon("worse", benefit=("percent_off_items", {"percent": "5"}))
    empty = await buyer.post("/cart")
    assert empty.status == 201
    assert refusal(await apply(buyer, codes["good"])) == (
        422,
        "coupon_not_eligible",
        "Add an item to the cart first.",
    )
    await buyer.add_items((product, 1))

    refusals = {name: await apply(buyer, codes[name]) for name in codes if name not in {"good", "worse"}}
    good = await apply(buyer, codes["good"])
    again = await apply(buyer, codes["good"])
    worse = await apply(buyer, codes["worse"])

    assert {name: answer.code for name, answer in refusals.items()} == {
        "ended": "coupon_expired",
        "later": "coupon_not_eligible",
        "used_up": "coupon_used_up",
        "product": "coupon_not_eligible",
        "group": "coupon_not_eligible",
        "minimum": "coupon_not_eligible",
        "euros": "coupon_not_eligible",
    }
    sentences = {name: answer.json["error"] for name, answer in refusals.items()}
    assert sentences["product"] == "This code does not apply: the cart has none of its products."
    assert sentences["minimum"] == "This code does not apply: it requires an item total of at least 10.01 USD."
    assert sentences["group"] == "This code does not apply: it is limited to a customer group."
    assert sentences["euros"] == "This code gives no discount in USD."
    assert sentences["later"].startswith("It begins on ")
    assert all(answer.json["errors"] == {"coupon_code": [answer.json["error"]]} for answer in refusals.values())
    assert (good.status, good["total"]) == (200, "9.0")
    assert (again.status, again.code) == (422, "coupon_already_applied")
    assert (worse.status, worse.code) == (422, "coupon_worse_than_present")
    assert (await buyer.get("/cart"))["total"] == "9.0"


async def test_an_invalid_code_is_unknown(buyer: Buyer, checkout_setup: CheckoutSetup) -> None:
    await buyer.add_items((await checkout_setup.product("1.00"), 1))
    codes: list[Any] = ["", "no such code", "x" * 10_000, None, 7, ["a"]]

    answers = [await buyer.patch("/cart/apply_coupon_code", coupon_code=code) for code in codes]
    with_nul = await buyer.patch("/cart/apply_coupon_code", coupon_code="nul\0")

    assert [(answer.status, answer.code) for answer in answers] == [(422, "coupon_unknown")] * len(codes)
    assert (with_nul.status, with_nul.code) in {(422, "coupon_unknown"), (400, "malformed")}


async def test_codes_are_removed_one_by_one_or_all_together(buyer: Buyer, checkout_setup: CheckoutSetup) -> None:
    line, whole = new_code(), new_code()
    await create_promotion(checkout_setup.make, TENTH, code=line)
    await create_promotion(checkout_setup.make, ("amount_off_order", {"amounts": {"USD": "2"}}), code=whole)
    await buyer.add_items((await checkout_setup.product("10.00"), 1))
    assert (await apply(buyer, line))["total"] == "9.0"
    assert (await apply(buyer, whole))["total"] == "7.0"

    missing = await buyer.delete("/cart/remove_coupon_code/another")
    one = await buyer.delete(f"/cart/remove_coupon_code/{line.upper()}")
    both = await buyer.delete("/cart/remove_coupon_code")
    none = await buyer.delete("/cart/remove_coupon_code/")

    assert [(answer.status, answer.code) for answer in (missing, none)] == [(422, "coupon_unknown")] * 2
    assert (one["total"], both["total"]) == ("8.0", "10.0")


async def test_a_code_remains_while_its_conditions_fail_and_is_removed_with_all_items(
    buyer: Buyer, checkout_setup: CheckoutSetup
) -> None:
    code, product, other = new_code(), await checkout_setup.product("10.00"), await checkout_setup.product("1.00")
    await create_promotion(
        checkout_setup.make, TENTH, code=code, conditions=[("item_total", {"amounts": {"USD": "20"}})]
    )
    await buyer.add_items((product, 2))
    cart = await apply(buyer, code)
    lines = (await buyer.get("/cart", include="line_items")).json["included"]

    fewer = await buyer.patch("/cart/set_quantity", line_item_id=lines[0]["id"], quantity=1)
    more = await buyer.patch("/cart/set_quantity", line_item_id=lines[0]["id"], quantity=3)
    await buyer.patch("/cart/empty")
    refilled_cart = await buyer.add_items((product, 2), (other, 1))

    assert [answer["total"] for answer in (cart, fewer, more, refilled_cart)] == ["18.0", "10.0", "27.0", "21.0"]


async def test_automatic_promotions_need_no_code_and_the_best_wins(buyer: Buyer, checkout_setup: CheckoutSetup) -> None:
    make, product, other = (
        checkout_setup.make,
        await checkout_setup.product("10.00"),
        await checkout_setup.product("10.00"),
    )
    await create_promotion(make, TENTH, conditions=[for_products(product)], name="Tenth")
    fifth = await create_promotion(
        make, ("percent_off_items", {"percent": "20"}), conditions=[for_products(product)], name="Fifth"
    )

    cart = await buyer.add_items((product, 1), (other, 1))
    with_promotions = await buyer.get("/cart", include="promotions")
    await make.change("promotions", fifth.id, "promotion", expires_at=datetime.now(UTC).isoformat())
    later = await buyer.add_items((other, 1))

    assert (cart["total"], promotions_of(with_promotions)) == ("18.0", {"Fifth": ("-2.0", None)})
    assert later["total"] == "29.0"


async def test_a_code_entered_before_its_promotion_became_automatic_applies_once(
    buyer: Buyer, checkout_setup: CheckoutSetup
) -> None:
    code, product = new_code(), await checkout_setup.product("100.00")
    whole = ("percent_off_order", {"percent": "10"})
    promotion = await create_promotion(checkout_setup.make, whole, conditions=[for_products(product)], code=code)
    await buyer.add_items((product, 1))
    assert (await apply(buyer, code))["total"] == "90.0"

    await checkout_setup.make.change("promotions", promotion.id, "promotion", code=None, is_automatic=True)
    cart = await buyer.add_items((product, 1))

    assert cart["total"] == "180.0"


async def test_ancestor_taxons_match_and_non_promotionable_products_are_excluded(
    buyer: Buyer, checkout_setup: CheckoutSetup
) -> None:
    make = checkout_setup.make
    _, root = await make.taxonomy()
    below = await make.taxon("Below", root)
    inside = await checkout_setup.product("10.00", taxons=[below])
    outside, plain = (
        await checkout_setup.product("10.00"),
        await checkout_setup.product("10.00", taxons=[below], promotionable=False),
    )
    await create_promotion(make, TENTH, conditions=[("taxon", {"taxon_ids": [root]})])

    cart = await buyer.add_items((inside, 1), (outside, 1), (plain, 1))

    assert (cart["promo_total"], cart["total"]) == ("-1.0", "29.0")


async def test_customer_group_and_first_order_conditions_apply_to_users(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup
) -> None:
    make, product = checkout_setup.make, await checkout_setup.product("10.00", on_hand=9)
    member = await sign_in(http)
    user_id = str(await member.id())
    group = (await make.new("customer_groups", "customer_group", name=new_code())).id
    await create_promotion(make, TENTH, conditions=[for_products(product), ("customer_group", {"group_ids": [group]})])
    await create_promotion(
        make, ("amount_off_order", {"amounts": {"USD": "1"}}), conditions=[for_products(product), ("first_order", {})]
    )
    await member.post("/cart")

    async def add_item() -> Answer:
        return await member.post("/cart/add_item", variant_id=product.variant_id)

    first = await add_item()
    await make.new("customer_group_members", "customer_group_member", customer_group_id=group, user_id=user_id)
    as_member = await add_item()

    assert [answer["total"] for answer in (first, as_member)] == ["9.0", "17.0"]


@pytest.mark.security("C-16")
async def test_a_first_order_code_does_not_reveal_to_guests_whether_an_address_has_ordered(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup
) -> None:
    product, codes = await checkout_setup.product("10.00", on_hand=9), [new_code(), new_code()]
    known_email, unknown = f"{new_code()}@example.org", f"{new_code()}@example.org"
    only_first = [for_products(product), ("first_order", {})]
    await create_promotion(checkout_setup.make, TENTH, code=codes[0], conditions=only_first)
    await create_promotion(checkout_setup.make, TENTH, code=codes[1], customer_limit=1)
    await create_promotion(checkout_setup.make, ("amount_off_order", {"amounts": {"USD": "1"}}), conditions=only_first)
    first = Buyer(http, checkout_setup)
    await first.add_items((product, 1))
    await apply(first, codes[1])
    await first.update_checkout(email=known_email, bill_address_attributes=ADDRESS, use_billing=True)
    await first.pay()
    assert (await first.complete()).status == 200

    async def list_guest_outcomes(email: str) -> list[Any]:
        buyer = Buyer(http, checkout_setup)
        await buyer.add_items((product, 1))
        await buyer.update_checkout(email=email, bill_address_attributes=ADDRESS, use_billing=True)
        answers = [await apply(buyer, code) for code in codes]
        cart = await buyer.pay()
        return [*((answer.status, answer.code if answer.status != 200 else "") for answer in answers), cart["total"]]

    outcomes = [await list_guest_outcomes(email) for email in (known_email, unknown)]

    assert outcomes[0] == outcomes[1] == [(422, "coupon_not_eligible"), (200, ""), "14.0"]
    buyer = Buyer(http, checkout_setup)
    await buyer.add_items((product, 1))
    response = await apply(buyer, codes[0])
    sentence = "This code does not apply: it is limited to first orders; sign in to use it."
    assert response.json["error"] == sentence


@pytest.mark.security("C-16")
async def test_a_first_order_code_depends_on_the_account_and_not_on_the_entered_address(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup
) -> None:
    product, code = await checkout_setup.product("10.00", on_hand=9), new_code()
    await create_promotion(
        checkout_setup.make, TENTH, code=code, conditions=[for_products(product), ("first_order", {})]
    )
    victim = Buyer(http, checkout_setup)
    await victim.ready((product, 1))
    assert (await victim.complete()).status == 200
    member = await sign_in(http)
    await member.post("/cart")
    await member.post("/cart/add_item", variant_id=product.variant_id)

    cart = await member.patch("/checkout", order={"email": "ada@example.org", "coupon_code": code})

    assert (cart.status, cart["promo_total"]) == (200, "-1.0")


async def test_the_database_normalizes_addresses_like_the_application(db: Any) -> None:
    local = ("ann", "Ann.Lee", "a.n.n+x", "ann+x.y+z", "a+b.c", "ANN_1", "a-b")
    for address in [f"{name}@{domain}" for name in local for domain in ("example.org", "Mail.Example.co.uk")]:
        email = read_email(address)
        assert email
        assert await db.fetchval(f"select {customer_of('$1::text')}", address) == email.budget_key


@pytest.mark.parametrize("is_signed_in", [True, False])
async def test_a_first_order_promotion_applies_once_per_customer(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, is_signed_in: bool
) -> None:
    """An earlier order as a guest counts too, even with another spelling of the address."""
    product, name = await checkout_setup.product("10.00", on_hand=9), new_code()
    await create_promotion(checkout_setup.make, TENTH, conditions=[for_products(product), ("first_order", {})])
    member = await sign_in(http, f"{name}@example.org")
    buyer = SignedInBuyer(http, checkout_setup, member) if is_signed_in else Buyer(http, checkout_setup)
    await buyer.add_items((product, 1))
    address = f"{name[0]}.{name[1:].upper()}+again@Example.org"
    await buyer.update_checkout(email=address, bill_address_attributes=ADDRESS, use_billing=True)
    await buyer.pay()
    order = await buyer.complete()
    await member.post("/cart")

    again = await member.post("/cart/add_item", variant_id=product.variant_id)

    assert (order.status, order["promo_total"]) == (200, "-1.0" if is_signed_in else "0.0")
    assert again["promo_total"] == "0.0"


async def test_a_code_of_a_batch_cannot_be_the_code_of_a_promotion(checkout_setup: CheckoutSetup) -> None:
    promotion = await create_promotion(checkout_setup.make, TENTH, code=None, is_automatic=False)
    await checkout_setup.make.new(
        "coupon_batches", "coupon_batch", name="Spring", promotion_id=promotion.id, codes_count=1
    )
    codes = await checkout_setup.make.machine.get(f"/coupon_codes?filter[promotion_id_eq]={promotion.id}")
    code = codes.json["data"][0]["attributes"]["code"]

    own = await checkout_setup.make.machine.patch(f"/promotions/{promotion.id}", {"promotion": {"code": code}})
    others = await checkout_setup.make.machine.post(
        "/promotions", {"promotion": {"name": "Other", "code": code.upper()}}
    )

    assert [(each.status, each.json["errors"]) for each in (own, others)] == [(422, {"code": ["is taken"]})] * 2


async def test_a_code_can_be_applied_with_a_checkout_update(buyer: Buyer, checkout_setup: CheckoutSetup) -> None:
    code = new_code()
    await create_promotion(checkout_setup.make, TENTH, code=code)
    await buyer.add_items((await checkout_setup.product("10.00"), 1))

    cart = await buyer.update_checkout(coupon_code=code)
    unknown = await buyer.update_checkout(coupon_code="no such code")

    assert (cart.status, cart["total"]) == (200, "9.0")
    assert (unknown.status, unknown.code) == (422, "coupon_unknown")


async def test_explained_totals_name_the_promotion_the_line_items_and_the_rounding(
    buyer: Buyer, checkout_setup: CheckoutSetup
) -> None:
    code, one, other = new_code(), await checkout_setup.product("10.05"), await checkout_setup.product("3.33")
    promotion = await create_promotion(
        checkout_setup.make, TENTH, ("amount_off_order", {"amounts": {"USD": "2"}}), code=code, name="Both"
    )
    await buyer.add_items((one, 1), (other, 2))
    await apply(buyer, code)

    await buyer.enter_address()
    steps = (await buyer.get("/checkout/requirements")).json
    assert steps["state"] == "address"
    cart = await buyer.patch("/checkout?explain=totals")
    promotion_steps = [step for step in cart.json["meta"]["totals"] if step["step"] == "promotion"]

    common = {"promotion_id": promotion.id, "promotion": "Both", "code": code}
    assert [{name: step[name] for name in common} for step in promotion_steps] == [common] * 3
    assert sorted((step["on"], step["of"], step["amount"], step.get("exact")) for step in promotion_steps) == [
        ("line", "10.05", "-1.01", "-1.005"),
        ("line", "6.66", "-0.67", "-0.666"),
        ("order", "15.03", "-2.0", None),
    ]
    assert all(step["rounding"] == "half up" for step in promotion_steps[:2])
    assert [step["label"] for step in promotion_steps[:2]] == ["Mug", "Mug"]


async def test_the_number_of_statements_does_not_depend_on_promotions_or_line_items(
    buyer: Buyer, checkout_setup: CheckoutSetup, service: Service
) -> None:
    products = [await checkout_setup.product("1.00") for _ in range(6)]
    await buyer.add_items((products[0], 1))

    counts = []
    for number, product in enumerate(products[1:]):
        answer = await buyer.add_items((product, 1))
        counts.append(service.request_line(answer.request_id)["statements"])
        share = ("percent_off_items", {"percent": str(number + 1)})
        await create_promotion(checkout_setup.make, share, conditions=[for_products(*products)])
        # The first request after a change reads all promotions and caches them.
        await buyer.add_items((products[0], 1))

    assert len(set(counts)) == 1, counts
    assert (await buyer.get("/cart"))["promo_total"] == "-0.55"
