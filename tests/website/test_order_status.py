"""The status page of an order: its links, who may see what, its timeline, and reordering."""

import re
import time
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import httpx2
import pytest

from shop.base.crypto.keys import parse_keys
from shop.base.crypto.order_tokens import order_token
from shop.rules.orders.links import sign_link
from tests.accounts import sign_in
from tests.builders import Make
from tests.checkout_builders import CheckoutSetup, new_checkout_setup, set_stock
from tests.platform.client import Machine, new_machine
from tests.service import KEYS, Service
from tests.shopper import PREFIX
from tests.website.visitor import CART, COUNT, ORDER, Visitor
from tests.website.web_buyer import (
    HOSTILE,
    WebBuyer,
    address_fields,
    confirmation_mail,
    plain_text,
    signed_in_buyer,
)

MONTH = 2_592_000


@pytest.fixture
def buyer(http: httpx2.AsyncClient, checkout_setup: CheckoutSetup) -> WebBuyer:
    return WebBuyer(http, checkout_setup)


async def mailed_path(buyer: WebBuyer, number: str) -> str:
    """The path of the link in the confirmation of an order."""
    mail = await confirmation_mail(buyer, number)
    (path,) = re.findall(r"View your order: http://[^/]*(/order-status/\S+)", mail["text"])
    assert f'{path}"' in mail["html"]
    return str(path)


async def id_of(db: Any, number: str) -> UUID:
    order_id: UUID = await db.fetchval("select id from orders where number = $1", number)
    return order_id


@pytest.mark.security("W-08")
async def test_the_link_of_the_mail_opens_the_order_at_an_address_without_a_token(
    buyer: WebBuyer, checkout_setup: CheckoutSetup, http: httpx2.AsyncClient
) -> None:
    number = await buyer.buy(await checkout_setup.product(name="Lantern"))
    visitor = Visitor(http)

    page = await visitor.get(await mailed_path(buyer, number))
    order = await visitor.follow(page)

    assert page.location == f"/orders/{number}"
    assert {"Path=/", "Secure", "HttpOnly", "SameSite=Lax", f"Max-Age={MONTH}"} <= set(page.cookies[ORDER].split("; "))
    assert (order.status, order.headers["cache-control"]) == (200, "no-store")
    assert "Lantern" in plain_text(order)


@pytest.mark.security("W-09")
async def test_a_link_shows_no_contact_data(
    buyer: WebBuyer, checkout_setup: CheckoutSetup, http: httpx2.AsyncClient
) -> None:
    number = await buyer.buy(await checkout_setup.product(), source="approve")

    text = plain_text(await buyer.get(f"/orders/{number}"))

    assert f"{buyer.email[0]}***@shoppers.example" in text
    assert "Springfield, IL United States" in text
    hidden = [buyer.email, "Ada", "Lovelace", "1 Main Street", "62701", "555-0100", "4242"]
    assert [word for word in hidden if word in text] == []


@pytest.mark.security("W-09")
async def test_the_owner_sees_everything(http: httpx2.AsyncClient, checkout_setup: CheckoutSetup) -> None:
    member = await sign_in(http)
    buyer = signed_in_buyer(member, checkout_setup)
    number = await buyer.buy(await checkout_setup.product(), source="approve")
    del buyer.cookies[ORDER]

    text = plain_text(await buyer.get(f"/orders/{number}"))

    assert member.email in text
    assert "Ada Lovelace 1 Main Street Springfield, IL 62701 United States" in text
    assert "ending in 4242" in text
    assert "hidden" not in text


@pytest.mark.security("W-09")
async def test_a_link_opens_neither_the_cart_nor_the_account(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup
) -> None:
    buyer = signed_in_buyer(await sign_in(http), checkout_setup)
    number = await buyer.buy(await checkout_setup.product())
    await buyer.add(await checkout_setup.product(name="Birthday present"))
    visitor = Visitor(http, **{ORDER: buyer.cookies[ORDER]})

    pages = [await visitor.get(path) for path in (f"/orders/{number}", "/cart", "/checkout/address", "/account")]

    assert [page.status for page in pages] == [200, 200, 303, 303]
    assert "Your cart is empty." in pages[1].text
    assert not any("Birthday present" in page.text for page in pages)
    assert (pages[2].location, pages[3].location) == ("/cart", "/sign-in?next=/account")


@pytest.mark.security("W-08")
async def test_a_link_is_for_one_order(
    buyer: WebBuyer, checkout_setup: CheckoutSetup, http: httpx2.AsyncClient
) -> None:
    product = await checkout_setup.product()
    first, second = await buyer.buy(product), await buyer.buy(product)

    pages = [await buyer.get(f"/orders/{number}") for number in (first, second, "R0")]
    reorder = await buyer.post(f"/orders/{first}/reorder")

    assert [page.status for page in pages] == [404, 200, 404]
    assert "Open the link in your confirmation e-mail, or sign in to see your orders." in pages[0].text
    assert reorder.status == 404
    assert (await Visitor(http).get(f"/orders/{first}")).status == 404


@pytest.mark.security("C-01")
async def test_the_order_of_someone_else_is_not_found(http: httpx2.AsyncClient, checkout_setup: CheckoutSetup) -> None:
    owner, other = [signed_in_buyer(await sign_in(http), checkout_setup) for _ in range(2)]
    number = await owner.buy(await checkout_setup.product())

    assert (await other.get(f"/orders/{number}")).status == 404


@pytest.mark.parametrize("number", ["%00", "%FF", "R%27--", "%F0%9F%8F%AE", "x" * 1500])
async def test_any_other_text_is_no_order(http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, number: str) -> None:
    buyer = signed_in_buyer(await sign_in(http), checkout_setup)

    pages = [await buyer.get(f"/orders/{number}"), await buyer.get(f"/order-status/{number}")]

    assert [page.status in {400, 404, 410} for page in pages] == [True, True], pages


@pytest.mark.security("W-08", "T-11")
async def test_an_order_token_is_no_link_and_a_link_no_order_token(
    buyer: WebBuyer, checkout_setup: CheckoutSetup, http: httpx2.AsyncClient, db: Any
) -> None:
    number = await buyer.buy(await checkout_setup.product())
    token = order_token(parse_keys(KEYS), await id_of(db, number), 0)
    link = buyer.cookies[ORDER]

    as_link = await Visitor(http).get(f"/order-status/{token}")
    as_cookie = await Visitor(http, **{ORDER: token}).get(f"/orders/{number}")
    by_cart = await Visitor(http, **{CART: token}).get(f"/orders/{number}")
    status = await http.get(f"{PREFIX}/order_status/{number}", headers={"X-Shop-Order-Token": link})

    assert (as_link.status, as_cookie.status, by_cart.status) == (410, 410, 404)
    assert status.status_code in {401, 404}


@pytest.mark.security("W-08")
@pytest.mark.parametrize("change", ["payment", "altered", "expired", "text"])
async def test_a_link_that_is_not_valid_says_so(
    buyer: WebBuyer, checkout_setup: CheckoutSetup, http: httpx2.AsyncClient, db: Any, change: str
) -> None:
    number = await buyer.buy(await checkout_setup.product())
    keys, order_id, now = parse_keys(KEYS), await id_of(db, number), int(time.time())
    token = {
        "payment": sign_link(keys, "payment", order_id, now + 60),
        "altered": sign_link(keys, "status", order_id, now + 60)[:-1] + "x",
        "expired": sign_link(keys, "status", order_id, now - 1),
        "text": "x",
    }[change]
    visitor = Visitor(http)

    page = await visitor.get(f"/order-status/{token}")

    assert page.status == 410
    assert "This link is no longer valid" in page.text
    assert visitor.cookies == {}
    assert (await Visitor(http, **{ORDER: token}).get(f"/orders/{number}")).status == 410


@pytest.mark.security("W-08")
async def test_a_link_expires_a_month_after_the_purchase(
    buyer: WebBuyer, checkout_setup: CheckoutSetup, http: httpx2.AsyncClient, db: Any
) -> None:
    number = await buyer.buy(await checkout_setup.product())
    path = await mailed_path(buyer, number)
    await db.execute("update orders set completed_at = now() - interval '31 days' where number = $1", number)

    pages = [await Visitor(http).get(path), await buyer.get(f"/orders/{number}")]

    assert [page.status for page in pages] == [410, 410]


@pytest.mark.security("W-08")
async def test_a_link_to_a_cart_opens_nothing(
    buyer: WebBuyer, checkout_setup: CheckoutSetup, http: httpx2.AsyncClient, db: Any
) -> None:
    product = await checkout_setup.product()
    await buyer.add(product)
    cart_id = await db.fetchval("select order_id from line_items where variant_id = $1", product.variant_id)
    link = sign_link(parse_keys(KEYS), "status", cart_id, int(time.time()) + 60)

    assert (await Visitor(http).get(f"/order-status/{link}")).status == 410


@pytest.mark.security("W-08", "X-08")
async def test_links_older_than_a_voiding_are_void(tmp_path: Path, own_database: Any) -> None:
    url = own_database()
    environ = {"SHOP_DATA_DIR": str(tmp_path), "SHOP_DATABASE_URL": url, "SHOP_SECRET_KEYS": KEYS, "SHOP_MAILBOX": "on"}
    service = Service(**environ, SHOP_DRAIN_SECONDS="0")
    try:
        async with service.client() as http:
            await check_voiding(http, url)
    finally:
        service.stop()


async def check_voiding(http: httpx2.AsyncClient, url: str) -> None:
    own_db = await asyncpg.connect(url)
    try:
        setup = await new_checkout_setup(Make(await new_machine(http, own_db, "write")), card="none")
        product = await setup.product()
        first, second = WebBuyer(http, setup), WebBuyer(http, setup)
        old_number = await first.buy(product)
        await own_db.execute("update shops set not_before = now(), version = version + 1")
        new_number = await second.buy(product)

        pages = [await first.get(f"/orders/{old_number}"), await second.get(f"/orders/{new_number}")]
    finally:
        await own_db.close()

    assert [page.status for page in pages] == [410, 200]


@pytest.mark.security("W-08", "A-01")
async def test_no_log_contains_the_token_of_a_link(
    buyer: WebBuyer, checkout_setup: CheckoutSetup, http: httpx2.AsyncClient, service: Service
) -> None:
    number = await buyer.buy(await checkout_setup.product())
    path = await mailed_path(buyer, number)
    visitor = Visitor(http)

    pages = [await visitor.get(path), await visitor.get(path + "x"), await visitor.get(f"{path}/more")]
    lines = [service.request_line(page.headers["x-request-id"]) for page in pages]

    assert [page.status for page in pages] == [303, 410, 404]
    assert [line["route"] for line in lines[:2]] == ["/order-status/{token}"] * 2
    token = path.rpartition("/")[2]
    order_part = token.split(".")[1]
    assert [line for line in service.lines if token in line or order_part in line] == []


async def test_the_timeline_shows_payment_shipment_and_refund(
    buyer: WebBuyer, checkout_setup: CheckoutSetup, writer: Machine, db: Any
) -> None:
    number = await buyer.buy(await checkout_setup.product("10.00"), source="approve")
    before = plain_text(await buyer.get(f"/orders/{number}"))
    order_id = await id_of(db, number)
    await db.execute(
        "update shipping_methods set tracking_url = 'https://carrier.example/?id=:tracking' where id = $1",
        checkout_setup.post,
    )
    shipment = await db.fetchval("select id from shipments where order_id = $1", order_id)
    payment = await db.fetchval("select id from payments where order_id = $1", order_id)

    await writer.patch(f"/shipments/{shipment}/ship", {"shipment": {"tracking": f"1Z&{HOSTILE}"}})
    assert (await writer.patch(f"/shipments/{shipment}/deliver", {})).status == 200
    await writer.post("/refunds", {"refund": {"payment_id": str(payment), "amount": "4.00", "reason": "Late"}})
    page = await buyer.get(f"/orders/{number}")

    assert "Order placed" in before
    assert "Preparing your order" in before
    text = plain_text(page)
    assert text.index("Order placed") < text.index("Payment received") < text.index("Shipped") < text.index("Delivered")
    assert "Refunded $4.00" in text
    assert "Preparing your order" not in text
    assert 'href="https://carrier.example/?id=1Z%26' in page.text
    assert HOSTILE not in page.text


async def test_a_canceled_order_says_so(
    buyer: WebBuyer, checkout_setup: CheckoutSetup, writer: Machine, db: Any
) -> None:
    number = await buyer.buy(await checkout_setup.product())

    await writer.patch(f"/orders/{await id_of(db, number)}/cancel", {})
    text = plain_text(await buyer.get(f"/orders/{number}"))

    assert "Order canceled" in text
    assert ("Preparing" in text, "Please pay" in text) == (False, False)


async def test_the_items_of_an_order_are_ordered_again(buyer: WebBuyer, checkout_setup: CheckoutSetup) -> None:
    number = await buyer.buy(await checkout_setup.product("10.00", name="Lantern"), 2)

    page = await buyer.submit(await buyer.get(f"/orders/{number}"), "order_again")

    assert page.location == "/cart?done=reordered"
    assert "Lantern $10.00 each $20.00" in plain_text(await buyer.follow(page))
    assert buyer.cookies[COUNT] == "2"


async def test_only_what_is_still_sold_is_ordered_again(
    buyer: WebBuyer, http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    scarce, gone = await checkout_setup.product(name="Mug"), await checkout_setup.product(name="Jug")
    await buyer.add(gone)
    number = await buyer.buy(scarce, 3)
    await set_stock(db, scarce.variant_id, 1)
    await checkout_setup.make.change("products", gone.id, "product", status="archived")

    page = await buyer.submit(await buyer.get(f"/orders/{number}"), "order_again")
    text = plain_text(await buyer.follow(page))
    again = await buyer.submit(await buyer.get(f"/orders/{number}"), "order_again")

    assert page.location == "/cart?done=reordered-partly"
    assert ("Mug" in text, "Jug" in text, buyer.cookies[COUNT]) == (True, False, "1")
    assert again.status == 422
    assert "None of these products is for sale at the moment." in again.text


@pytest.mark.security("W-06")
async def test_names_and_addresses_are_text(http: httpx2.AsyncClient, checkout_setup: CheckoutSetup) -> None:
    buyer = signed_in_buyer(await sign_in(http), checkout_setup)
    await buyer.add(await checkout_setup.product(name=f"Mug {HOSTILE}", slug=f"mug-{time.time_ns()}"))
    await buyer.enter_address(**address_fields(firstname=f"Ada {HOSTILE}", city=f"Springfield{HOSTILE}"))
    await buyer.choose_payment()
    page = await buyer.follow(await buyer.pay(await buyer.get("/checkout/review")))

    assert "Ada &#34;&gt;&lt;script&gt;" in page.text
    assert HOSTILE not in page.text
