"""Drafts: an operator prepares an order, which is no cart of its customer."""

from typing import Any
from uuid import uuid4

import httpx2

from tests.accounts import sign_in
from tests.admin.catalog_forms import error_messages
from tests.admin.dashboard import UNKNOWN_ID, Dashboard, events
from tests.admin.drafts.builders import DRAFTS, new_draft, new_ready_draft
from tests.admin.order_builders import text_of
from tests.checkout_builders import ADDRESS, CheckoutSetup, on_hand


async def test_a_draft_is_listed_with_customer_total_and_author(
    dashboard: Dashboard, other_dashboard: Dashboard, checkout_setup: CheckoutSetup
) -> None:
    email = f"{uuid4().hex}@shoppers.example"
    draft, _ = await new_ready_draft(dashboard, checkout_setup, email=email)

    page = text_of((await other_dashboard.get(f"{DRAFTS}?q={email[:12].upper()}")).text)
    by_number = text_of((await other_dashboard.get(f"{DRAFTS}?q={draft.number.lower()}")).text)
    by_author = text_of((await other_dashboard.get(f"{DRAFTS}?q={dashboard.email}")).text)

    for text in (page, by_number, by_author):
        assert "1 draft" in text
        assert f"{draft.number} Ada Lovelace {email} 2 $25.00 {dashboard.email}" in text
    assert "Nothing found" in (await dashboard.get(f"{DRAFTS}?q={uuid4().hex}")).text


async def test_a_draft_is_not_a_cart_of_its_customer(
    dashboard: Dashboard, http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    member = await sign_in(http)
    cart = await member.post("/cart")
    draft = await new_draft(dashboard)
    await draft.save("customer", user_id=str(await member.id()))
    await draft.add(await checkout_setup.product())

    assert (await member.get("/cart"))["number"] == cart["number"]
    assert draft.number not in (await dashboard.get("/admin/carts")).text
    assert (await draft.row(db))["user_id"] == await member.id()
    guest = await http.post("/api/v2/storefront/cart")
    token = guest.json()["data"]["attributes"]["token"]
    merged = await member.patch("/cart/associate", guest_order_token=token)
    assert merged.status == 200, merged
    assert (await draft.row(db))["item_count"] == 1


async def test_a_draft_has_its_customers_prices_and_addresses(
    dashboard: Dashboard, http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    member = await sign_in(http, first_name="Ada")
    await member.post("/account/addresses", address=ADDRESS)
    word = f"w{uuid4().hex}"
    product = await checkout_setup.product(name=f"Lamp {word}")
    price_list = await checkout_setup.make.price_list(users=[str(await member.id())])
    await checkout_setup.make.entry(price_list, product.variant_id, "7.50")
    draft = await new_draft(dashboard)

    before = text_of((await dashboard.get(f"{draft.path}?product={word}")).text)
    search_page = (await dashboard.get(f"{draft.path}?customer={member.email[:20]}")).text
    await draft.save("customer", user_id=str(await member.id()))
    after = text_of((await dashboard.get(f"{draft.path}?product={word}")).text)
    await draft.add(product, 2)

    assert "$10.00" in before
    assert f'value="{await member.id()}"' in search_page
    assert "$7.50" in after
    page = text_of(await draft.page())
    assert "Total $20.00" in page
    assert "1 Main Street" in page
    assert "Post $5.00" in page


async def test_a_customer_is_found_by_phone(
    dashboard: Dashboard, http: httpx2.AsyncClient, checkout_setup: CheckoutSetup
) -> None:
    member = await sign_in(http)
    digits = str(uuid4().int)[:12]
    await member.post("/account/addresses", address={**ADDRESS, "phone": f"+{digits[:3]} ({digits[3:6]}) {digits[6:]}"})
    draft = await new_draft(dashboard)

    page = await dashboard.http.get(draft.path, params={"customer": f"+{digits[:10]}"}, headers=dashboard.cookie)
    other_page = await dashboard.http.get(draft.path, params={"customer": digits[1:]}, headers=dashboard.cookie)

    assert member.email in page.text
    assert member.email not in other_page.text


async def test_an_address_of_an_account_chooses_it_and_an_account_is_created_only_if_ticked(
    dashboard: Dashboard, http: httpx2.AsyncClient, db: Any
) -> None:
    member = await sign_in(http)
    email, other_email = f"{uuid4().hex}@shoppers.example", f"{uuid4().hex}@shoppers.example"
    known, guest, new = [await new_draft(dashboard) for _ in range(3)]

    await known.save("email", email=member.email.upper())
    await guest.save("email", email=email)
    await new.save("email", email=other_email, creates_account="1")

    assert (await known.row(db))["user_id"] == await member.id()
    guest_row = await guest.row(db)
    assert (guest_row["user_id"], guest_row["email"]) == (None, email)
    assert await db.fetchval("select count(*) from users where email = $1", email) == 0
    user_id = await db.fetchval("select id from users where email = $1 and verified_at is not null", other_email)
    assert user_id is not None
    assert (await new.row(db))["user_id"] == user_id


async def test_a_guest_does_not_inherit_the_addresses_of_a_customer(
    dashboard: Dashboard, http: httpx2.AsyncClient, db: Any
) -> None:
    member = await sign_in(http)
    await member.post("/account/addresses", address=ADDRESS)
    draft = await new_draft(dashboard)
    await draft.save("customer", user_id=str(await member.id()))

    await draft.save("email", email=f"{uuid4().hex}@shoppers.example")

    row = await draft.row(db)
    assert (row["user_id"], row["ship_address_id"], row["bill_address_id"]) == (None, None, None)


async def test_an_address_of_the_address_book_can_be_used_to_ship_or_to_bill(
    dashboard: Dashboard, http: httpx2.AsyncClient, db: Any
) -> None:
    member, stranger = await sign_in(http), await sign_in(http)
    home = (await member.post("/account/addresses", address=ADDRESS)).id
    office = (await member.post("/account/addresses", address={**ADDRESS, "address1": "9 Side Street"})).id
    foreign = (await stranger.post("/account/addresses", address=ADDRESS)).id
    draft = await new_draft(dashboard)
    await draft.save("customer", user_id=str(await member.id()))

    await draft.save("address-book", address_id=office, use="ship")
    await draft.save("address-book", address_id=foreign, use="both")

    row = await draft.row(db)
    assert (str(row["ship_address_id"]), str(row["bill_address_id"])) == (office, home)


async def test_more_than_the_stock_is_refused(dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any) -> None:
    draft, product = await new_draft(dashboard), await checkout_setup.product(on_hand=3)

    too_many = await draft.send("items", variant_id=product.variant_id, quantity="4")
    await draft.add(product, 3)
    one_more = await draft.send("quantity", line_item_id=await draft.line_id(db, product), quantity="4")

    for answer in (too_many, one_more):
        assert answer.status_code == 422
        assert "Quantity is more than the available stock: 3." in error_messages(answer)
    assert await on_hand(db, product.variant_id) == 3
    assert "is more than" not in await draft.page()


async def test_quantities_change_and_items_are_removed(
    dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any
) -> None:
    draft, product = await new_ready_draft(dashboard, checkout_setup)
    line_id = await draft.line_id(db, product)

    await draft.save("quantity", line_item_id=line_id, quantity="5")
    total = (await draft.row(db))["total"]
    await draft.save("remove", line_item_id=line_id)
    again = await draft.send("remove", line_item_id=line_id)

    assert total == 5500
    assert (await draft.row(db))["item_count"] == 0
    assert again.status_code == 409
    assert "Another operator has changed the draft." in again.text


async def test_a_chosen_shipping_method_stays_while_items_change(
    dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any
) -> None:
    draft, product = await new_ready_draft(dashboard, checkout_setup)
    rate = await db.fetchrow(
        """select r.id, r.shipment_id from shipping_rates r join orders o on o.id = r.order_id
        where o.number = $1 and r.name = 'Express'""",
        draft.number,
    )

    await draft.save("shipping", **{f"rate[{rate['shipment_id']}]": str(rate["id"])})
    express_total = (await draft.row(db))["total"]
    await draft.save("quantity", line_item_id=await draft.line_id(db, product), quantity="3")

    assert express_total == 2000 + 2 * 900
    assert (await draft.row(db))["total"] == 3000 + 3 * 900
    late = await draft.send("shipping", **{f"rate[{rate['shipment_id']}]": str(rate["id"])})
    assert late.status_code == 409
    assert (await draft.send("shipping")).status_code == 422


async def test_hostile_input_is_refused(dashboard: Dashboard, checkout_setup: CheckoutSetup) -> None:
    draft, product = await new_draft(dashboard), await checkout_setup.product()
    long = "x" * 300

    for form, fields in {
        "email": [{"email": "nonsense"}, {"email": long}, {"email": ""}, {"email": "a@b.example\r\nBcc: c"}],
        "customer": [{"user_id": UNKNOWN_ID}, {"user_id": "1"}, {}],
        "address": [{**ADDRESS, "use": "both", "city": long}, {**ADDRESS, "use": "no"}, {"use": "both"}],
        "address-book": [{"use": "both"}, {"use": "both", "address_id": "x"}],
        "items": [
            {"variant_id": product.variant_id, "quantity": quantity} for quantity in ("0", "-1", "x", "9" * 30, "1.5")
        ]
        + [{"variant_id": "x", "quantity": "1"}],
        "discount": [
            {"kind": "percent", "value": "5", "reason": ""},
            {"kind": "percent", "value": "5", "reason": long},
            {"kind": "percent", "value": "101", "reason": "Why"},
            {"kind": "percent", "value": "0", "reason": "Why"},
            {"kind": "amount", "value": "-1", "reason": "Why"},
            {"kind": "amount", "value": "9" * 40, "reason": "Why"},
            {"kind": "other", "value": "1", "reason": "Why"},
            {"kind": "amount", "value": "1", "reason": "Two\nlines"},
        ],
        "coupon": [{"coupon_code": ""}, {"coupon_code": uuid4().hex}, {"coupon_code": long}],
        "shipping": [{}, {"rate[x]": "y"}],
    }.items():
        for each in fields:
            answer = await draft.send(form, **each)
            assert answer.status_code == 422, (form, each, answer.status_code, answer.headers.get("location"))
    assert (await draft.send("items", variant_id=UNKNOWN_ID, quantity="1")).status_code == 409
    assert (await dashboard.post(DRAFTS, currency="XXX")).status_code == 422


async def test_a_draft_is_deleted(
    dashboard: Dashboard, other_dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any
) -> None:
    draft, product = await new_ready_draft(dashboard, checkout_setup)
    order_id = (await draft.row(db))["id"]

    question = await other_dashboard.get(f"{draft.path}/delete")
    answer = await other_dashboard.post(f"{draft.path}/delete")

    assert f"Delete draft {draft.number}?" in question.text
    assert answer.headers["location"] == f"{DRAFTS}?done=deleted"
    assert await draft.row(db) is None
    assert (await dashboard.get(draft.path)).status_code == 404
    assert (await draft.send("items", variant_id=product.variant_id, quantity="1")).status_code == 404
    assert [action for action, _ in await events(db, subject=order_id)] == [
        "draft_create",
        "draft_customer",
        "draft_items",
        "draft_address",
        "draft_delete",
    ]


async def test_the_page_of_an_order_that_is_a_draft_is_that_of_the_draft(dashboard: Dashboard) -> None:
    draft = await new_draft(dashboard)

    answer = await dashboard.get(f"/admin/orders/{draft.number}")

    assert (answer.status_code, answer.headers["location"]) == (303, draft.path)
    assert "No items yet." in await draft.page()


async def test_a_cart_of_a_shopper_is_no_draft(dashboard: Dashboard, http: httpx2.AsyncClient) -> None:
    cart = (await http.post("/api/v2/storefront/cart")).json()["data"]["attributes"]["number"]

    assert (await dashboard.get(f"{DRAFTS}/{cart}")).status_code == 404
    assert (await dashboard.post(f"{DRAFTS}/{cart}/delete")).status_code == 404
