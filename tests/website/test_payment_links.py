"""The payment page of a completed order: its links, who may see and pay, and that everything is paid once."""

import asyncio
import re
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx2
import msgspec
import pytest

from shop.base.crypto.keys import parse_keys
from shop.base.crypto.order_tokens import order_token
from shop.gateways.test_card import TestCard as Card
from shop.rules.orders.links import sign_link
from tests.accounts import Member, sign_in
from tests.checkout_builders import CheckoutSetup, on_hand
from tests.db.processes import until
from tests.platform.client import Machine
from tests.service import KEYS, Service
from tests.storefront.payments.test_webhooks import send_webhook, webhook_body
from tests.website.full_account import payment_token
from tests.website.visitor import CART, ORDER, PAYMENT, VisitedPage, Visitor, signed_in_visitor
from tests.website.web_buyer import HOSTILE, WebBuyer, confirmation_mail, plain_text, signed_in_buyer

MONTH = 2_592_000


class DueOrder(msgspec.Struct, frozen=True):
    """An order of 15 dollars that waits for a check, and the holder of its payment link."""

    setup: CheckoutSetup
    db: Any
    number: str
    id: UUID
    variant_id: str
    buyer: WebBuyer
    payer: Visitor

    @property
    def path(self) -> str:
        return f"/orders/{self.number}/payment"

    async def pay(self, card: str = "approve", page: VisitedPage | None = None, **entries: str) -> VisitedPage:
        """Sends the form of the payment page, with the test card."""
        fields = {"method": f"method:{self.setup.card}", "test_card": card, **entries}
        return await self.payer.submit(page or await self.payer.get(self.path), "pay_order", **fields)

    async def payments(self) -> list[tuple[str, int, int]]:
        """State, amount and captured amount of each payment."""
        statement = "select state, amount, captured_amount from payments where order_id = $1 order by created_at, id"
        return [tuple(row) for row in await self.db.fetch(statement, self.id)]

    async def states(self) -> tuple[str, str, str, int]:
        """State, payment state, shipment state and the amount paid."""
        statement = "select state, payment_state, shipment_state, payment_total from orders where id = $1"
        return tuple(await self.db.fetchrow(statement, self.id))

    async def count_charges(self) -> int:
        """The number of calls that charge a card."""
        statement = "select count(*) from payment_attempts where order_id = $1 and act in ('purchase', 'authorise')"
        return int(await self.db.fetchval(statement, self.id)) - 1

    async def newest_payment(self) -> UUID:
        payment_id: UUID = await self.db.fetchval(
            "select id from payments where order_id = $1 order by created_at desc, id desc limit 1", self.id
        )
        return payment_id


async def new_due_order(buyer: WebBuyer, db: Any, **product_fields: Any) -> DueOrder:
    product = await buyer.checkout_setup.product("10.00", name="Lantern", **product_fields)
    number = await buyer.buy(product)
    order_id = await db.fetchval("select id from orders where number = $1", number)
    payer = Visitor(buyer.http, **{PAYMENT: await payment_token(db, number)})
    return DueOrder(buyer.checkout_setup, db, number, order_id, product.variant_id, buyer, payer)


@pytest.fixture
def buyer(http: httpx2.AsyncClient, checkout_setup: CheckoutSetup) -> WebBuyer:
    return WebBuyer(http, checkout_setup)


@pytest.fixture
async def due(buyer: WebBuyer, db: Any) -> DueOrder:
    return await new_due_order(buyer, db)


@pytest.fixture
def card(service: Service) -> Card:
    """The provider, with the secret that it shares with the shop."""
    return Card(Path(service.environ["SHOP_DATA_DIR"]) / "test_card")


# Links


async def test_the_mail_of_an_unpaid_order_opens_its_payment_at_an_address_without_a_token(
    due: DueOrder, http: httpx2.AsyncClient
) -> None:
    mail = await confirmation_mail(due.buyer, due.number)
    (path,) = re.findall(r"Or pay by card: http://[^/]*(/order-payment/\S+)", mail["text"])
    visitor = Visitor(http)

    page = await visitor.get(path)
    payment = await visitor.follow(page)

    assert f'{path}"' in mail["html"]
    assert page.location == due.path
    cookie = set(page.cookies[PAYMENT].split("; "))
    assert {"Path=/", "Secure", "HttpOnly", "SameSite=Lax", f"Max-Age={MONTH}"} <= cookie
    assert (payment.status, payment.headers["cache-control"]) == (200, "no-store")
    assert '<meta name="robots" content="noindex">' in payment.text
    text = plain_text(payment)
    assert f"Pay for order {due.number} Amount due: $15.00" in text
    assert "Lantern Quantity 1 $10.00" in text
    assert "Please pay $15.00 by Check" in text


async def test_the_mail_of_a_paid_order_has_no_payment_link(buyer: WebBuyer, checkout_setup: CheckoutSetup) -> None:
    number = await buyer.buy(await checkout_setup.product(), source="approve")

    mail = await confirmation_mail(buyer, number)

    assert "/order-status/" in mail["text"]
    assert "/order-payment/" not in mail["text"] + mail["html"]


async def test_a_payment_link_shows_no_contact_data(due: DueOrder) -> None:
    text = plain_text(await due.payer.get(due.path))

    assert f"{due.buyer.email[0]}***@shoppers.example" in text
    assert "Springfield, IL United States" in text
    hidden = [due.buyer.email, "Ada", "Lovelace", "1 Main Street", "62701", "555-0100"]
    assert [word for word in hidden if word in text] == []


async def test_a_link_for_one_purpose_does_not_open_the_page_of_the_other(
    due: DueOrder, http: httpx2.AsyncClient
) -> None:
    status_token, token = due.buyer.cookies[ORDER], due.payer.cookies[PAYMENT]
    statuses = [
        (await Visitor(http, **{PAYMENT: token}).get(f"/orders/{due.number}")).status,
        (await Visitor(http, **{ORDER: token}).get(f"/orders/{due.number}")).status,
        (await Visitor(http, **{ORDER: status_token}).get(due.path)).status,
        (await Visitor(http, **{PAYMENT: status_token}).get(due.path)).status,
        (await Visitor(http).get(f"/order-payment/{status_token}")).status,
        (await Visitor(http).get(f"/order-status/{token}")).status,
        (await Visitor(http, **{ORDER: status_token}).post(due.path, {"amount": "1500"})).status,
        (await Visitor(http, **{PAYMENT: token}).post(f"/orders/{due.number}/reorder")).status,
    ]

    assert statuses == [404, 410, 404, 410, 410, 410, 404, 404]


async def test_a_payment_link_opens_neither_the_cart_nor_the_account(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    buyer = signed_in_buyer(await sign_in(http), checkout_setup)
    due = await new_due_order(buyer, db)
    await buyer.add(await checkout_setup.product(name="Birthday present"))

    pages = [await due.payer.get(path) for path in (due.path, "/cart", "/checkout/address", "/account")]

    assert [page.status for page in pages] == [200, 200, 303, 303]
    assert not any("Birthday present" in page.text for page in pages)
    assert (pages[2].location, pages[3].location) == ("/cart", "/sign-in?next=/account")


async def test_a_payment_link_is_for_one_order(due: DueOrder, buyer: WebBuyer, db: Any) -> None:
    other = await new_due_order(buyer, db)

    pages = [await due.payer.get(other.path), await due.payer.post(other.path, {"amount": "1500", "payments": "1"})]

    assert [page.status for page in pages] == [404, 404]
    assert await other.payments() == [("pending", 1500, 0)]


@pytest.mark.parametrize("change", ["status", "altered", "expired", "order token", "text"])
async def test_a_payment_link_that_is_not_valid_says_so(due: DueOrder, http: httpx2.AsyncClient, change: str) -> None:
    keys, now = parse_keys(KEYS), int(time.time())
    token = {
        "status": sign_link(keys, "status", due.id, now + 60),
        "altered": sign_link(keys, "payment", due.id, now + 60)[:-1] + "x",
        "expired": sign_link(keys, "payment", due.id, now - 1),
        "order token": order_token(keys, due.id, 0),
        "text": "x",
    }[change]
    visitor = Visitor(http)

    page = await visitor.get(f"/order-payment/{token}")
    holder = Visitor(http, **{PAYMENT: token})
    answers = [await holder.get(due.path), await holder.post(due.path, {"amount": "1500", "payments": "1"})]

    assert (page.status, visitor.cookies) == (410, {})
    assert "This link is no longer valid" in page.text
    assert [answer.status for answer in answers] == [410, 410]
    assert (await Visitor(http, **{CART: token}).get(due.path)).status == 404


async def test_a_payment_link_expires_a_month_after_the_purchase(due: DueOrder) -> None:
    page = await due.payer.get(due.path)
    await due.db.execute("update orders set completed_at = now() - interval '31 days' where id = $1", due.id)

    answers = [await due.payer.get(due.path), await due.pay(page=page)]

    assert [answer.status for answer in answers] == [410, 410]
    assert await due.payments() == [("pending", 1500, 0)]


async def test_a_payment_link_to_a_cart_opens_nothing(buyer: WebBuyer, checkout_setup: CheckoutSetup, db: Any) -> None:
    product = await checkout_setup.product()
    await buyer.add(product)
    cart = await db.fetchrow(
        "select o.id, o.number from orders o join line_items l on l.order_id = o.id where l.variant_id = $1",
        UUID(product.variant_id),
    )
    link = sign_link(parse_keys(KEYS), "payment", cart["id"], int(time.time()) + 60)

    page = await buyer.get(f"/order-payment/{link}")
    buyer.cookies[PAYMENT] = link

    assert (page.status, (await buyer.get(f"/orders/{cart['number']}/payment")).status) == (410, 410)


async def test_no_log_contains_the_token_of_a_payment_link(
    due: DueOrder, http: httpx2.AsyncClient, service: Service
) -> None:
    token = due.payer.cookies[PAYMENT]
    path, visitor = f"/order-payment/{token}", Visitor(http)

    pages = [await visitor.get(path), await visitor.get(path + "x"), await visitor.get(f"{path}/more")]
    lines = [service.request_line(page.headers["x-request-id"]) for page in pages]

    assert [page.status for page in pages] == [303, 410, 404]
    assert [line["route"] for line in lines[:2]] == ["/order-payment/{token}"] * 2
    assert [line for line in service.lines if token in line or token.split(".")[1] in line] == []


async def test_a_form_of_another_site_pays_nothing(due: DueOrder) -> None:
    fields = {"amount": "1500", "payments": "1", "method": f"method:{due.setup.card}", "test_card": "approve"}

    page = await due.payer.post(due.path, fields, **{"Sec-Fetch-Site": "cross-site"})

    assert page.status == 403
    assert await due.payments() == [("pending", 1500, 0)]


# Payment


async def test_a_card_pays_the_amount_due_and_replaces_the_check(due: DueOrder) -> None:
    stock = await on_hand(due.db, due.variant_id)
    page = await due.pay()
    paid = await due.payer.follow(page)

    assert page.location == f"{due.path}?done=payment"
    assert "Thank you. We received your payment." in paid.text
    assert f"Order {due.number} is paid" in plain_text(paid)
    assert [form.tool for form in paid.forms if form.tool == "pay_order"] == []
    assert await due.payments() == [("void", 1500, 0), ("completed", 1500, 1500)]
    assert await due.states() == ("complete", "paid", "ready", 1500)
    assert await on_hand(due.db, due.variant_id) == stock
    assert await due.db.fetchval("select total from orders where id = $1", due.id) == 1500


async def test_what_was_paid_before_is_not_paid_again(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    member = await sign_in(http)
    credit = {"user_id": str(await member.id()), "amount": "5.00", "currency": "USD", "memo": "Sorry"}
    await checkout_setup.make.new("store_credits", "store_credit", **credit)
    buyer = signed_in_buyer(member, checkout_setup)
    product = await checkout_setup.product("10.00")
    await buyer.go_to_review(product)
    await buyer.post("/checkout/store-credit")
    number = (await buyer.pay(await buyer.get("/checkout/review"))).location.partition("?")[0].rpartition("/")[2]
    order_id = await db.fetchval("select id from orders where number = $1", number)
    payer = Visitor(http, **{PAYMENT: await payment_token(db, number)})
    due = DueOrder(checkout_setup, db, number, order_id, product.variant_id, buyer, payer)

    text = plain_text(await due.payer.get(due.path))
    await due.pay()

    assert "Already paid $5.00 Amount due $10.00" in text
    assert sorted(await due.payments()) == [("completed", 500, 500), ("completed", 1000, 1000), ("void", 1000, 0)]
    assert (await due.states())[1:] == ("paid", "ready", 1500)


async def test_two_concurrent_payments_charge_once(due: DueOrder) -> None:
    page = await due.payer.get(due.path)

    answers = await asyncio.gather(*(due.pay(page=page) for _ in range(6)))

    assert {answer.status for answer in answers} == {303}, answers
    assert await due.count_charges() == 1
    assert sorted(await due.payments()) == [("completed", 1500, 1500), ("void", 1500, 0)]


async def test_a_form_that_is_sent_again_charges_nothing(due: DueOrder) -> None:
    page = await due.payer.get(due.path)
    await due.pay(page=page)

    again = await due.pay(page=page)

    assert again.location == f"{due.path}?done=payment"
    assert await due.count_charges() == 1


@pytest.mark.parametrize(("name", "value"), [("amount", "1"), ("payments", "9"), ("amount", "-1500"), ("amount", "x")])
async def test_another_amount_than_the_one_due_is_not_charged(due: DueOrder, name: str, value: str) -> None:
    page = await due.pay("approve", None, **{name: value})

    assert page.status == 422
    assert "The order or its payments have changed." in plain_text(page)
    assert page.form("pay_order")["amount"] == "1500"
    assert await due.payments() == [("pending", 1500, 0)]


async def test_after_a_declined_card_another_one_pays(due: DueOrder) -> None:
    first = await due.payer.get(due.path)
    declined = await due.pay("decline", first)
    after = await due.states()
    stale = await due.pay(page=first)
    done = await due.pay(page=declined)

    assert (declined.status, "The card was declined." in plain_text(declined)) == (422, True)
    assert after == ("complete", "balance_due", "pending", 0)
    assert (stale.status, done.status) == (422, 303)
    assert await due.payments() == [("void", 1500, 0), ("failed", 1500, 0), ("completed", 1500, 1500)]
    assert await due.states() == ("complete", "paid", "ready", 1500)


async def test_a_declined_card_keeps_the_stock_and_the_order(buyer: WebBuyer, db: Any) -> None:
    due = await new_due_order(buyer, db, on_hand=5)

    await due.pay("decline")

    assert await on_hand(db, due.variant_id) == 4
    assert (await due.states())[0] == "complete"


async def test_nothing_chosen_is_no_payment(due: DueOrder) -> None:
    pages = [await due.pay(method=""), await due.pay(method="method:x"), await due.pay("nonsense")]

    assert [page.status for page in pages] == [422] * 3
    assert "Choose how to pay." in plain_text(pages[0])
    assert await due.payments() == [("pending", 1500, 0)]


async def test_the_holder_of_a_link_cannot_use_a_card_of_the_owner(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    owner, card_id = await new_owner_with_card(http, checkout_setup, db)
    due = await new_due_order(signed_in_buyer(owner, checkout_setup), db)

    page = await due.payer.get(due.path)
    answer = await due.payer.submit(page, "pay_order", method=f"card:{card_id}")

    assert ("4242" in page.text, card_id in page.text) == (False, False)
    assert answer.status == 401
    assert await due.payments() == [("pending", 1500, 0)]


async def new_owner_with_card(http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any) -> tuple[Member, str]:
    """A signed-in shopper who has paid by card before, and the id of the saved card."""
    member = await sign_in(http)
    await signed_in_buyer(member, checkout_setup).buy(await checkout_setup.product(), source="approve")
    statement = "select id from payment_sources where user_id = $1 and used_at is not null"
    return member, str(await db.fetchval(statement, await member.id()))


async def test_a_card_that_is_entered_with_a_link_is_not_saved_for_the_owner(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    member = await sign_in(http)
    due = await new_due_order(signed_in_buyer(member, checkout_setup), db)

    assert (await due.pay()).status == 303

    assert await db.fetchval("select count(*) from payment_sources where user_id = $1", await member.id()) == 0


# Confirmation


async def test_a_card_is_confirmed_at_the_bank(due: DueOrder) -> None:
    bank = await due.pay("confirm")
    waiting = await due.payer.get(due.path)
    early = await due.payer.submit(waiting, "finish_payment")
    return_url = f"{str(due.payer.http.base_url).rstrip('/')}{due.path}?confirmed=1"
    decision = await due.payer.post(bank.location, {"decision": "confirm", "return_url": return_url})
    back = await due.payer.get(decision.location)
    done = await due.payer.submit(back, "finish_payment")

    assert (bank.status, bank.location.endswith(f"?return_url={quote(return_url, safe='')}")) == (303, True)
    assert (waiting.status, waiting.headers["refresh"]) == (200, "4")
    assert "Your payment is being processed" in waiting.text
    assert early.location == bank.location
    assert ("Finish your payment" in back.text, "data-auto-submit" in back.text) == (True, True)
    assert done.location == f"{due.path}?done=payment"
    assert (await due.states())[1:] == ("paid", "ready", 1500)
    assert await due.count_charges() == 1


async def test_a_confirmation_that_is_declined_leads_back_to_the_payment(due: DueOrder) -> None:
    bank = await due.pay("confirm")
    back = await due.payer.get(f"{due.path}?confirmed=1")
    await due.payer.post(bank.location, {"decision": "decline"})

    page = await due.payer.submit(back, "finish_payment")
    later = await due.payer.get(f"{due.path}?confirmed=1")
    again = await due.payer.submit(back, "finish_payment")

    assert (page.status, again.status) == (422, 422)
    assert "The payment was not confirmed." in plain_text(page)
    assert "The payment did not succeed, and nothing was charged." in plain_text(later)
    assert (await due.pay(page=later)).status == 303
    assert (await due.states())[1] == "paid"


async def test_a_webhook_settles_a_payment_whose_shopper_never_returns(
    due: DueOrder, http: httpx2.AsyncClient, card: Card
) -> None:
    await due.pay("confirm")
    attempt = await due.db.fetchval(
        "select id from payment_attempts where order_id = $1 and outcome = 'unknown'", due.id
    )

    statuses = [await send_webhook(http, card, webhook_body(attempt)) for _ in range(2)]

    assert statuses == [204, 204]
    assert await due.payments() == [("void", 1500, 0), ("completed", 1500, 1500)]
    assert await due.states() == ("complete", "paid", "ready", 1500)


async def test_the_worker_settles_a_payment_that_nobody_asks_about(due: DueOrder) -> None:
    bank = await due.pay("confirm")
    await due.payer.post(bank.location, {"decision": "confirm"})
    statement = "update payment_attempts set created_at = now() - interval '2 minutes' where order_id = $1"
    await due.db.execute(statement, due.id)

    async def is_paid() -> bool:
        return (await due.states())[1] == "paid"

    await until(is_paid)
    assert await due.payments() == [("void", 1500, 0), ("completed", 1500, 1500)]


async def test_a_payment_whose_answer_was_lost_is_found_and_not_repeated(due: DueOrder) -> None:
    """The provider charges, but the shop gets no answer, as after a crash."""
    page = await due.payer.get(due.path)
    request = asyncio.create_task(due.pay("late", page))

    async def is_processing() -> bool:
        return ("processing", 1500, 0) in await due.payments()

    await until(is_processing)
    request.cancel()
    waiting = await due.payer.get(due.path)
    second = await due.pay(page=page)

    assert "Your payment is being processed" in waiting.text
    assert second.status == 303
    statement = "update payment_attempts set created_at = now() - interval '2 minutes' where order_id = $1"
    await due.db.execute(statement, due.id)

    async def is_paid() -> bool:
        return (await due.states())[1] == "paid"

    await until(is_paid)
    assert await due.count_charges() == 1


async def test_others_do_not_confirm_a_payment_with_a_card_of_the_owner(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    owner, card_id = await new_owner_with_card(http, checkout_setup, db)
    due = await new_due_order(signed_in_buyer(owner, checkout_setup), db)
    await db.execute("update payment_sources set reference = 'confirm' where id = $1", UUID(card_id))
    owner_visit = signed_in_visitor(owner)
    bank = await owner_visit.submit(await owner_visit.get(due.path), "pay_order", method=f"card:{card_id}")

    answer = await due.payer.submit(await due.payer.get(due.path), "finish_payment")

    assert "/test_card/" in bank.location
    assert (answer.status, answer.location) == (303, due.path)


# Operators


async def test_an_order_that_an_operator_marked_as_paid_is_not_charged(due: DueOrder, writer: Machine) -> None:
    page = await due.payer.get(due.path)
    assert (await writer.patch(f"/payments/{await due.newest_payment()}/capture", {})).status == 200

    answer = await due.pay(page=page)
    after = await due.payer.follow(answer)

    assert f"Order {due.number} is paid" in plain_text(after)
    assert await due.payments() == [("completed", 1500, 1500)]


async def test_while_a_card_is_charged_the_check_is_not_captured_and_the_order_not_canceled(
    due: DueOrder, writer: Machine
) -> None:
    check = await due.newest_payment()
    bank = await due.pay("confirm")

    capture = await writer.patch(f"/payments/{check}/capture", {})
    cancel = await writer.patch(f"/orders/{due.id}/cancel", {})
    await due.payer.post(bank.location, {"decision": "decline"})
    await due.payer.submit(await due.payer.get(due.path), "finish_payment")
    later = await writer.patch(f"/payments/{check}/capture", {})

    assert [(capture.status, capture.code), (cancel.status, cancel.code)] == [(409, "payment_in_progress")] * 2
    assert later.status == 200
    assert sorted(await due.payments()) == [("completed", 1500, 1500), ("failed", 1500, 0)]


async def test_while_a_check_is_captured_no_card_is_charged(due: DueOrder) -> None:
    page = await due.payer.get(due.path)
    statement = """insert into payment_attempts (id, order_id, payment_id, act, amount, created_at)
        values (gen_random_uuid(), $1, $2, 'capture', 1500, now())"""
    await due.db.execute(statement, due.id, await due.newest_payment())

    answer = await due.pay(page=page)

    assert answer.status == 409
    assert "Another payment of this order is being recorded" in plain_text(answer)
    assert await due.payments() == [("pending", 1500, 0)]
    # The worker asks for the outcome.
    await due.db.execute(
        "update payment_attempts set created_at = now() - interval '2 minutes' where order_id = $1", due.id
    )


async def test_a_capture_and_a_card_at_the_same_moment_pay_once(due: DueOrder, writer: Machine) -> None:
    page, check = await due.payer.get(due.path), await due.newest_payment()

    await asyncio.gather(due.pay(page=page), writer.patch(f"/payments/{check}/capture", {}))

    assert (await due.states())[1:] == ("paid", "ready", 1500)


async def test_a_refund_does_not_make_the_customer_owe_again(due: DueOrder, writer: Machine) -> None:
    await due.pay()
    body = {"payment_id": str(await due.newest_payment()), "amount": "4.00", "reason": "A scratch"}
    await writer.post("/refunds", {"refund": body})

    assert f"Order {due.number} is paid" in plain_text(await due.payer.get(due.path))


async def test_a_canceled_order_cannot_be_paid(due: DueOrder, writer: Machine) -> None:
    page = await due.payer.get(due.path)
    await writer.patch(f"/orders/{due.id}/cancel", {})

    answer = await due.pay(page=page)
    after = await due.payer.get(due.path)

    assert answer.status == 422
    assert f"Order {due.number} is canceled There is nothing to pay." in plain_text(after)
    assert [form.tool for form in after.forms if form.tool == "pay_order"] == []
    assert await due.payments() == [("void", 1500, 0)]


async def test_an_authorized_card_is_not_paid_again(
    buyer: WebBuyer, checkout_setup: CheckoutSetup, db: Any, writer: Machine
) -> None:
    fields = {"name": "Card, later", "type": "test_card", "auto_capture": False}
    manual = (await checkout_setup.make.new("payment_methods", "payment_method", **fields)).id
    due = await new_due_order(buyer, db)

    page = await due.payer.follow(await due.pay(method=f"method:{manual}"))
    again = await due.payer.post(due.path, {"amount": "1500", "payments": "2", "method": f"method:{manual}"})

    assert "is authorized" in plain_text(page)
    assert again.status == 303
    assert await due.payments() == [("void", 1500, 0), ("pending", 1500, 0)]
    await writer.patch(f"/payments/{await due.newest_payment()}/capture", {})
    assert (await due.states())[1:] == ("paid", "ready", 1500)


# Checks


async def test_a_check_shows_its_instructions_and_waits_for_the_money(
    due: DueOrder, checkout_setup: CheckoutSetup
) -> None:
    fields = {"name": "Transfer", "type": "check", "description": f"IBAN DE02 1203 {HOSTILE}"}
    transfer = (await checkout_setup.make.new("payment_methods", "payment_method", **fields)).id

    page = await due.payer.follow(await due.pay(method=f"method:{transfer}"))
    again = await due.payer.post(
        due.path, {"amount": "1500", "payments": "2", "method": f"method:{transfer}", "test_card": ""}
    )

    text = plain_text(page)
    assert "Please pay $15.00 by Transfer" in text
    assert ("IBAN DE02 1203" in text, HOSTILE in page.text) == (True, False)
    assert "We will wait for your payment." in text
    assert again.status == 303
    # Not paid, although the method captures automatically during checkout.
    assert await due.payments() == [("void", 1500, 0), ("pending", 1500, 0)]
    assert (await due.states())[1] == "balance_due"


async def test_an_order_without_a_valid_payment_can_be_paid(due: DueOrder, writer: Machine) -> None:
    await writer.patch(f"/payments/{await due.newest_payment()}/void", {})
    failed = (await due.states())[1]

    page = await due.pay()

    assert (failed, page.status) == ("failed", 303)
    assert (await due.states())[1] == "paid"


# The owner


async def test_the_owner_pays_from_the_status_page_with_a_saved_card(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    owner, card_id = await new_owner_with_card(http, checkout_setup, db)
    due = await new_due_order(signed_in_buyer(owner, checkout_setup), db)
    visitor = signed_in_visitor(owner)

    status = await visitor.get(f"/orders/{due.number}")
    page = await visitor.get(due.path)
    done = await visitor.follow(await visitor.submit(page, "pay_order", method=f"card:{card_id}"))

    assert f'<a class="button" href="{due.path}">Pay $15.00 now</a>' in status.text
    assert ("Visa ending in 4242" in plain_text(page), owner.email in plain_text(page)) == (True, True)
    assert f'href="/orders/{due.number}">View the status of your order</a>' in done.text
    assert (await due.states())[1] == "paid"
    assert "Pay $15.00 now" not in (await visitor.get(f"/orders/{due.number}")).text


async def test_the_holder_of_a_status_link_cannot_pay(due: DueOrder) -> None:
    page = await due.buyer.get(f"/orders/{due.number}")

    assert "Please pay $15.00 by Check" in plain_text(page)
    assert due.path not in page.text
    assert (await due.buyer.get(due.path)).status == 404


async def test_the_order_of_someone_else_is_not_found(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    due = await new_due_order(signed_in_buyer(await sign_in(http), checkout_setup), db)
    stranger = signed_in_visitor(await sign_in(http))

    assert [(await stranger.get(due.path)).status, (await stranger.post(due.path)).status] == [404, 404]


async def test_the_form_of_an_owner_survives_the_end_of_the_session(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    owner = await sign_in(http)
    due = await new_due_order(signed_in_buyer(owner, checkout_setup), db)
    visitor = signed_in_visitor(owner)
    page = await visitor.get(due.path)
    await db.execute("update sessions set revoked_at = now() where user_id = $1", await owner.id())

    answer = await visitor.submit(page, "pay_order", method=f"method:{checkout_setup.card}", test_card="approve")

    assert answer.status == 401
    assert dict(answer.form("request_sign_in_code").fields)["next"] == due.path
    assert await due.payments() == [("pending", 1500, 0)]
