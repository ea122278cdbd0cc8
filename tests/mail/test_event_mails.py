"""E-mails that follow from events: each is sent once, to the right address, and says what its reader needs."""

import re
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from tests.accounts import ask_for_code, exchange_code, mailed_code, new_email, sign_in
from tests.builders import Make
from tests.checkout_builders import ADDRESS, Buyer, CheckoutSetup, SignedInBuyer
from tests.db.processes import until
from tests.platform.client import Machine
from tests.website.test_payment_links import new_due_order
from tests.website.visitor import signed_in_visitor
from tests.website.web_buyer import WebBuyer

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
NEWER_FIREFOX = FIREFOX.replace("140.0", "141.0")
SAFARI = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1 Version/18.0 Safari/604.1"


async def mails_to(http: httpx2.AsyncClient, email: str) -> list[dict[str, Any]]:
    """The mails to this address without codes, oldest first."""
    mails = (await http.get("/mailbox.json", params={"to": email})).json()
    return [mail for mail in reversed(mails) if mail["code"] is None]


async def subjects_to(http: httpx2.AsyncClient, email: str) -> list[str]:
    return [mail["subject"] for mail in await mails_to(http, email)]


async def buy(buyer: Buyer, *, method: str | None = None, **product: Any) -> tuple[str, str, str]:
    """Completes an order; returns its id, its number and its e-mail address."""
    email = f"{uuid4().hex}@example.org"
    await buyer.add_items((await buyer.checkout_setup.product("10.00", **product), 2))
    await buyer.update_checkout(email=email, bill_address_attributes=ADDRESS, use_billing=True)
    await buyer.pay(method=method or buyer.checkout_setup.card)
    order = await buyer.complete()
    assert order.status == 200, order
    return order.id, order["number"], email


async def shipment_of(db: Any, order_id: str) -> UUID:
    shipment_id: UUID = await db.fetchval("select id from shipments where order_id = $1", UUID(order_id))
    return shipment_id


async def payment_of(db: Any, order_id: str) -> UUID:
    payment_id: UUID = await db.fetchval("select id from payments where order_id = $1", UUID(order_id))
    return payment_id


async def test_a_shipment_is_announced_once_with_its_tracking_link(
    http: httpx2.AsyncClient, make: Make, buyer: Buyer, writer: Machine, db: Any
) -> None:
    url = "https://track.example/?id=:tracking"
    await make.change("shipping_methods", buyer.checkout_setup.post, "shipping_method", tracking_url=url)
    order_id, number, email = await buy(buyer, name="<b>Mug</b>")
    path = f"/shipments/{await shipment_of(db, order_id)}"
    await writer.patch(path, {"shipment": {"tracking": "1Z 5<i>"}})

    for _ in range(2):
        await writer.patch(f"{path}/ship", {}, headers={"Idempotency-Key": "ship" + number})
    await writer.patch(f"{path}/ship", {})

    _, mail = await mails_to(http, email)
    assert mail["subject"] == f"Your order {number} is on its way"
    assert "Track your parcel: https://track.example/?id=1Z%205%3Ci%3E" in mail["text"]
    assert "Tracking number: 1Z 5<i>" in mail["text"]
    assert "2 x <b>Mug</b>" in mail["text"]
    assert 'href="https://track.example/?id=1Z%205%3Ci%3E"' in mail["html"]
    assert "1Z 5&lt;i&gt;" in mail["html"]
    assert "&lt;b&gt;Mug&lt;/b&gt;" in mail["html"]
    await make.change("shipping_methods", buyer.checkout_setup.post, "shipping_method", tracking_url=None)


async def test_a_refund_is_announced_once_with_its_amount(
    http: httpx2.AsyncClient, buyer: Buyer, writer: Machine, db: Any
) -> None:
    order_id, number, email = await buy(buyer)
    refund = {"payment_id": str(await payment_of(db, order_id)), "amount": "2.50", "reason": "late"}

    assert (await writer.post("/refunds", {"refund": refund})).status == 201
    assert (await writer.post("/refunds", {"refund": {**refund, "amount": "99.00"}})).status == 422

    _, mail = await mails_to(http, email)
    assert mail["subject"].startswith("Your refund of $2.50 from ")
    assert f"We refunded $2.50 of your order {number}" in mail["text"]
    assert re.search(r"View your order: http://\S+/order-status/\S+", mail["text"])


async def test_a_cancellation_is_announced_once(http: httpx2.AsyncClient, buyer: Buyer, writer: Machine) -> None:
    order_id, number, email = await buy(buyer, method=buyer.checkout_setup.check)

    for _ in range(2):
        await writer.patch(f"/orders/{order_id}/cancel", {})

    assert (await subjects_to(http, email))[1:] == [f"Your order {number} is canceled"]


async def test_declined_payments_of_a_completed_order_send_one_mail_with_a_payment_link(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    due = await new_due_order(WebBuyer(http, checkout_setup), db)

    for _ in range(2):
        await due.pay("decline")

    email = await db.fetchval("select email from orders where id = $1", due.id)
    _, mail = await mails_to(http, email)
    assert mail["subject"] == f"Your order {due.number} is waiting for your payment"
    assert "We have not received $15.00 for your order" in mail["text"]
    (url,) = re.findall(r"Pay now: http://[^/]+(/order-payment/\S+)", mail["text"])
    assert (await http.get(url)).headers["location"] == due.path


async def test_a_resumed_order_that_owes_its_total_needs_attention(
    http: httpx2.AsyncClient, buyer: Buyer, writer: Machine
) -> None:
    order_id, number, email = await buy(buyer, method=buyer.checkout_setup.check)
    for verb in ("cancel", "resume"):
        assert (await writer.patch(f"/orders/{order_id}/{verb}", {})).status == 200

    assert f"Your order {number} is waiting for your payment" in await subjects_to(http, email)


async def test_a_declined_payment_of_a_cart_sends_nothing(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    buyer, email = Buyer(http, checkout_setup), f"{uuid4().hex}@example.org"
    await buyer.add_items((await checkout_setup.product("10.00"), 1))
    await buyer.update_checkout(email=email, bill_address_attributes=ADDRESS, use_billing=True)
    await buyer.pay("decline")

    assert (await buyer.complete()).status == 422
    assert await mails_to(http, email) == []


async def test_both_addresses_learn_of_a_new_address_and_neither_names_the_other(
    http: httpx2.AsyncClient, writer: Machine
) -> None:
    member, email = await sign_in(http), new_email()

    user_id = await member.id()
    for _ in range(2):
        await writer.patch(f"/users/{user_id}", {"user": {"email": email}})

    (old,), (new,) = await mails_to(http, member.email), await mails_to(http, email)
    assert old["subject"].startswith("The e-mail address of your account at ")
    assert new["subject"].startswith("This is now the e-mail address of your account at ")
    assert email not in old["text"] + old["html"]
    assert member.email not in new["text"] + new["html"]


async def sign_in_with(http: httpx2.AsyncClient, email: str, user_agent: str) -> None:
    headers = {"User-Agent": user_agent}
    await ask_for_code(http, email)
    body = {"user": {"email": email, "code": await mailed_code(http, email)}}
    assert (await http.post("/api/v2/storefront/auth", json=body, headers=headers)).status_code == 200


@pytest.mark.security("A-07")
async def test_only_a_new_kind_of_device_is_announced(http: httpx2.AsyncClient) -> None:
    email = new_email()
    for user_agent in (FIREFOX, NEWER_FIREFOX, FIREFOX, SAFARI, SAFARI):
        await sign_in_with(http, email, user_agent)

    (mail,) = await mails_to(http, email)

    assert mail["subject"].startswith("New sign-in to your account at ")
    assert "Safari on iPhone" in mail["text"]
    assert re.search(r"20\d\d, \d+:\d\d:\d\d\s[AP]M UTC", mail["text"])
    assert re.search(r"Review your sessions: http://\S+/account/sessions", mail["text"])


async def test_the_subject_of_the_sign_in_mail_has_a_short_code(http: httpx2.AsyncClient, db: Any) -> None:
    email = new_email()
    await ask_for_code(http, email)
    code = await mailed_code(http, email)

    (mail,) = (await http.get("/mailbox.json", params={"to": email})).json()
    assert mail["subject"].startswith(f"{code} is your code for ")
    assert code in mail["text"]

    await db.execute("update login_requests set is_long = true where email = $1", email)
    (mail,) = (await http.get("/mailbox.json", params={"to": email})).json()
    assert len(mail["code"]) == 26
    assert mail["subject"].startswith("Your code for ")
    assert mail["code"][:5] not in mail["subject"]
    assert mail["code"][:5] in mail["text"]
    assert (await exchange_code(http, email, mail["code"])).status == 200


async def test_owners_of_wishlists_are_told_once_that_a_product_is_back(
    http: httpx2.AsyncClient, make: Make, writer: Machine, db: Any
) -> None:
    product = await make.product("Copper lantern", price="5", on_hand=0)
    asking, silent = await sign_in(http), await sign_in(http)
    for member, notify in ((asking, True), (silent, False)):
        wishlist = await member.post("/wishlists", name="Wishes", is_private=True)
        body: dict[str, Any] = {"variant_id": product.variant_id, "notify_when_in_stock": notify}
        item = await member.post(f"/wishlists/{wishlist['token']}/add_item", **body)
        assert item["notify_when_in_stock"] is notify
    stock_id = await db.fetchval("select id from stock_items where variant_id = $1", UUID(product.variant_id))

    for count in (3, 0, 4):
        await writer.patch(f"/stock_items/{stock_id}", {"stock_item": {"count_on_hand": count}})

    async def is_told() -> bool:
        return bool(await mails_to(http, asking.email))

    async def is_handled() -> bool:
        return not await db.fetchval("select count(*) from restocked_variants")

    await until(is_told, 15)
    await until(is_handled, 15)
    (mail,) = await mails_to(http, asking.email)
    assert mail["subject"] == "Copper lantern is back in stock"
    assert re.search(rf"View the product: http://\S+/products/\S+\?variant={product.variant_id}", mail["text"])
    assert await mails_to(http, silent.email) == []
    flag = "select notify_when_in_stock from wished_items where variant_id = $1 and notify_when_in_stock"
    assert await db.fetchval(flag, UUID(product.variant_id)) is None


async def test_mails_of_the_shop_and_confirmations_to_their_owner_spend_no_budget(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, writer: Machine, db: Any
) -> None:
    guest_id, _, guest_email = await buy(Buyer(http, checkout_setup))
    member = await sign_in(http)
    buyer = SignedInBuyer(http, checkout_setup, member)
    await buyer.add_items((await checkout_setup.product("10.00"), 1))
    await buyer.update_checkout(bill_address_attributes=ADDRESS, use_billing=True)
    await buyer.pay(method=checkout_setup.card)
    assert (await buyer.complete()).status == 200
    await writer.patch(f"/shipments/{await shipment_of(db, guest_id)}/ship", {})
    refund = {"payment_id": str(await payment_of(db, guest_id)), "amount": "1.00", "reason": "late"}
    await writer.post("/refunds", {"refund": refund})

    # The source of a mail that spent the budget is deleted, so the counts are the proof.
    free = {row["kind"] for row in await db.fetch(BUDGET, [guest_email, member.email], False)}

    assert {"order_shipped", "order_refunded"} <= free
    assert await db.fetchval(KEPT_SOURCES, [member.email]) == 0


BUDGET = "select kind from outbox_mails where recipient = any($1) and awaits_budget = $2"
KEPT_SOURCES = "select count(*) from outbox_mails where recipient = any($1) and (awaits_budget or source is not null)"


async def test_a_mail_that_is_turned_off_is_not_queued(
    http: httpx2.AsyncClient, buyer: Buyer, writer: Machine, db: Any
) -> None:
    order_id, number, email = await buy(buyer)
    # Through the settings of the process, which follow the database within two seconds.
    await db.execute("""update shops set mails = '{"order_shipped": {"is_on": false}}', version = version + 1""")
    try:
        await until_settings(http, db)
        await writer.patch(f"/shipments/{await shipment_of(db, order_id)}/ship", {})
    finally:
        await db.execute("update shops set mails = '{}', version = version + 1")

    assert len(await mails_to(http, email)) == 1, number


async def until_settings(http: httpx2.AsyncClient, db: Any) -> None:
    """Waits until the shop has loaded its settings, as an e-mail with an edited text shows."""
    email, mark = new_email(), uuid4().hex
    await db.execute(
        """update shops set mails = mails || jsonb_build_object('login_code',
            jsonb_build_object('texts', jsonb_build_object('footer', $1::text))), version = version + 1""",
        mark,
    )
    await ask_for_code(http, email)

    async def is_loaded() -> bool:
        (mail,) = (await http.get("/mailbox.json", params={"to": email})).json()
        return mark in mail["text"]

    await until(is_loaded, 15)


async def test_a_customer_asks_for_the_mail_on_the_website_and_cancels_it(
    http: httpx2.AsyncClient, make: Make, db: Any
) -> None:
    product = await make.product("Lamp", price="5", on_hand=0)
    member, flag = await sign_in(http), "select notify_when_in_stock from wished_items where variant_id = $1"
    visitor = signed_in_visitor(member)
    page = await visitor.get(f"/products/{product.slug}")
    assert "Tell me when it is back" in page.text

    wishlist = await visitor.follow(await visitor.submit(page, "notify_when_in_stock"))
    assert "We will send you an e-mail when it is back in stock." in wishlist.text
    assert await db.fetchval(flag, UUID(product.variant_id)) is True

    again = await visitor.follow(await visitor.submit(wishlist, "notify_when_in_stock"))
    assert "We will not send you an e-mail about it." in again.text
    assert await db.fetchval(flag, UUID(product.variant_id)) is False
