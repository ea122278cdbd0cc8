"""The page of an order offers no action that would be refused: each one is tried, on an order of its own."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import UUID

import httpx2
import msgspec
import pytest

from tests.admin.catalog_forms import error_messages, saved_message
from tests.admin.dashboard import Dashboard, new_dashboard, new_role
from tests.admin.order_builders import ORDERS, buy, payment_of, shipment_of, text_of
from tests.admin.order_edits.forms import OrderEditor, line_ids
from tests.admin.order_edits.test_edits import buy_authorized
from tests.admin.order_edits.test_refunds import preview
from tests.admin.page_forms import PageForm, read_page
from tests.builders import Make
from tests.checkout_builders import Buyer, CheckoutSetup, set_stock
from tests.shopper import Answer

_RIGHTS = ("orders:read", "orders:write", "refunds:write")


class Shop(msgspec.Struct):
    """What builds orders, and the operator who looks at them."""

    http: httpx2.AsyncClient
    db: Any
    make: Make
    setup: CheckoutSetup
    owner: Dashboard

    async def buy(self, **options: Any) -> tuple[Answer, str]:
        return await buy(Buyer(self.http, self.setup), **options)

    async def post(self, path: str, **fields: str) -> None:
        saved_message(await self.owner.post(path, **fields))


async def buy_unpaid(shop: Shop) -> Answer:
    return (await shop.buy(pays="check"))[0]


async def buy_one_unpaid(shop: Shop) -> Answer:
    return (await shop.buy(pays="check", quantity=1))[0]


async def buy_paid(shop: Shop) -> Answer:
    return (await shop.buy())[0]


async def buy_one_paid(shop: Shop) -> Answer:
    return (await shop.buy(quantity=1))[0]


async def buy_backordered(shop: Shop) -> Answer:
    product = await shop.setup.product(on_hand=1)
    await shop.db.execute("update stock_items set backorderable = true where variant_id = $1", UUID(product.variant_id))
    buyer = Buyer(shop.http, shop.setup)
    await buyer.ready((product, 3))
    return await buyer.complete()


async def authorize(shop: Shop) -> Answer:
    return (await buy_authorized(shop.make, Buyer(shop.http, shop.setup), 2))[0]


async def ship_partly(shop: Shop) -> Answer:
    order, _ = await shop.buy(quantity=3)
    shipment = await shipment_of(shop.db, order)
    item = await shop.db.fetchval("select id from shipment_items where order_id = $1", UUID(order.id))
    await shop.post(f"{shipment}/divide", **{f"quantity[{item}]": "1", "do": "move"})
    await shop.post(f"{shipment}/ship")
    return order


async def ship(shop: Shop) -> Answer:
    order, _ = await shop.buy()
    await shop.post(f"{await shipment_of(shop.db, order)}/ship")
    return order


async def cancel_unpaid(shop: Shop) -> Answer:
    order = await buy_unpaid(shop)
    await shop.post(f"{ORDERS}/{order['number']}/cancel")
    return order


async def cancel_sold_out(shop: Shop) -> Answer:
    order, variant = await shop.buy(pays="check")
    await shop.post(f"{ORDERS}/{order['number']}/cancel")
    await set_stock(shop.db, variant, 1)
    return order


async def cancel_paid(shop: Shop) -> Answer:
    order = await buy_paid(shop)
    assert (await shop.owner.post(f"{ORDERS}/{order['number']}/invoice")).status_code == 303
    await shop.post(f"{ORDERS}/{order['number']}/cancel")
    return order


async def refund_partly(shop: Shop) -> Answer:
    order, _ = await shop.buy()
    path = f"{ORDERS}/{order['number']}"
    assert (await shop.owner.post(f"{path}/invoice")).status_code == 303
    _, form = await preview(shop.owner, f"{path}/refund", other="5.00")
    await shop.post(f"{path}/refund", **form, do="refund")
    return order


async def refund_all(shop: Shop) -> Answer:
    order = await buy_paid(shop)
    await shop.post(f"{await payment_of(shop.db, order)}/refund", amount="25.00", reason="Lost", seen="0")
    return order


async def change_quantity(shop: Shop, quantity: str) -> Answer:
    order, variant = await shop.buy()
    editor, line = OrderEditor(shop.owner, order), (await line_ids(shop.db, order))[variant]
    await editor.open()
    await editor.preview(**{f"quantity[{line}]": quantity})
    saved_message(await editor.save())
    return order


async def owe_customer(shop: Shop) -> Answer:
    return await change_quantity(shop, "1")


async def owe_shop(shop: Shop) -> Answer:
    return await change_quantity(shop, "4")


async def set_back(shop: Shop) -> Answer:
    """A paid shipment that an application marked as pending."""
    order = await buy_paid(shop)
    await shop.db.execute("update shipments set state = 'pending' where order_id = $1", UUID(order.id))
    return order


BUILDERS: dict[str, Callable[[Shop], Awaitable[Answer]]] = {
    "unpaid": buy_unpaid,
    "one unit, unpaid": buy_one_unpaid,
    "paid": buy_paid,
    "one unit, paid": buy_one_paid,
    "backordered": buy_backordered,
    "authorized": authorize,
    "partly shipped": ship_partly,
    "shipped": ship,
    "pending again": set_back,
    "canceled, unpaid": cancel_unpaid,
    "canceled, sold out": cancel_sold_out,
    "canceled, paid": cancel_paid,
    "partly refunded": refund_partly,
    "refunded": refund_all,
    "credit owed": owe_customer,
    "balance due": owe_shop,
}
CHEAP = {"one unit, unpaid"}


@pytest.fixture
async def shop(http: httpx2.AsyncClient, db: Any, make: Make, checkout_setup: CheckoutSetup) -> Shop:
    return Shop(http, db, make, checkout_setup, await new_dashboard(http, db))


@pytest.fixture
async def approval_amount(db: Any) -> AsyncIterator[None]:
    await db.execute("update shops set refund_approval_amount = 4, version = version + 1")
    yield
    await db.execute("update shops set refund_approval_amount = null, version = version + 1")


def list_offers(page: str, path: str) -> list[str | PageForm]:
    """Returns the links and forms that belong to the order."""
    links, forms = read_page(page)
    paths = [link for link in dict.fromkeys(links) if link.startswith(f"{path}/")]
    return [*paths, *(form for form in forms if form.action.startswith(f"{path}/"))]


def name_offer(offer: str | PageForm) -> str:
    return offer if isinstance(offer, str) else f"POST {offer.action}"


async def try_offer(dashboard: Dashboard, offer: str | PageForm, path: str) -> None:
    """Follows a link, and submits the form with the least input that it needs."""
    if isinstance(offer, PageForm):
        await submit(dashboard, offer)
        return
    answer = await dashboard.get(offer)
    assert answer.status_code == 200, (offer, answer.status_code, text_of(answer.text)[:400])
    if not answer.headers["content-type"].startswith("text/html"):
        return
    forms = [form for form in list_offers(answer.text, path) if isinstance(form, PageForm)]
    if forms:
        await submit(dashboard, forms[0])


async def submit(dashboard: Dashboard, form: PageForm) -> None:
    fields = {**form.fields, **dict.fromkeys(form.texts, "Text")}
    # A unit costs more than a small limit allows; an amount does not.
    is_refund = "other" in form.fields
    fields |= dict.fromkeys([] if is_refund else form.counts[:1], "1")
    if form.button and form.button[0]:
        fields[form.button[0]] = form.button[1]
    if "previewed" not in fields and form.action.endswith("/edit"):
        fields |= {"email": "changed@example.org", "do": "preview"}
    elif is_refund and "previewed" not in fields and not fields["other"]:
        fields["other"] = "1.00"
    answer = await dashboard.post(form.action, **{name: text for name, text in fields.items() if name != "csrf"})
    assert answer.status_code in {200, 303}, (form.action, error_messages(answer), fields)
    if answer.status_code == 200:
        _, forms = read_page(answer.text)
        (confirmation,) = [each for each in forms if "previewed" in each.fields]
        assert "previewed" not in form.fields, "A confirmed form must be saved."
        await submit(dashboard, confirmation)


async def try_all_offers(dashboard: Dashboard, shop: Shop, build: Callable[[Shop], Awaitable[Answer]]) -> list[str]:
    """Returns the ends of the paths of all offers, each of which was tried on a new order."""
    names: list[str] = []
    index = 0
    while True:
        order = await build(shop)
        path = f"{ORDERS}/{order['number']}"
        offers = list_offers((await dashboard.get(path)).text, path)
        # What changes nothing needs no order of its own.
        while index < len(offers) and name_offer(offers[index]).endswith((".pdf", "/packing-slip")):
            await try_offer(dashboard, offers[index], path)
            index += 1
        if index >= len(offers):
            return names
        names.append(name_offer(offers[index]).removeprefix("POST ").removeprefix(path))
        await try_offer(dashboard, offers[index], path)
        index += 1


@pytest.mark.parametrize(
    "state", [name if name in CHEAP else pytest.param(name, marks=pytest.mark.torture) for name in BUILDERS]
)
async def test_nothing_that_is_offered_is_refused(shop: Shop, state: str) -> None:
    offers = await try_all_offers(shop.owner, shop, BUILDERS[state])

    assert "/notes" in offers


@pytest.mark.torture
@pytest.mark.parametrize("limit", [0, 3, 100])
@pytest.mark.parametrize("state", ["paid", "authorized", "credit owed", "canceled, paid"])
async def test_an_operator_with_a_refund_limit_is_refused_nothing(shop: Shop, state: str, limit: int) -> None:
    role_id = await new_role(shop.db, *_RIGHTS, refund_limit=limit)
    operator = await new_dashboard(shop.http, shop.db, role_id=role_id)

    offers = await try_all_offers(operator, shop, BUILDERS[state])

    if state == "paid":
        assert ("/refund" in offers) is (limit > 0)
        assert ("/cancel" in offers) is (limit == 100)


@pytest.mark.torture
@pytest.mark.parametrize("state", ["paid", "authorized"])
async def test_refunds_that_need_an_approval_are_asked_for(shop: Shop, state: str, approval_amount: None) -> None:
    offers = await try_all_offers(shop.owner, shop, BUILDERS[state])

    assert ("/refund" in offers) is (state == "paid")
    assert ("/cancel" in offers) is (state == "authorized")


async def test_a_preview_refuses_a_refund_above_the_limit(shop: Shop) -> None:
    role_id = await new_role(shop.db, *_RIGHTS, refund_limit=3)
    operator = await new_dashboard(shop.http, shop.db, role_id=role_id)
    order = await buy_paid(shop)

    answer = await operator.post(
        f"{ORDERS}/{order['number']}/refund", other="3.01", reason="returned", reason_text="", do="preview"
    )

    sentence = "Your role allows refunds of at most 3 at once. Ask an operator with a higher limit."
    assert (answer.status_code, error_messages(answer)) == (422, [sentence])
    assert "previewed" not in answer.text


async def test_a_page_says_why_only_others_can_cancel(shop: Shop) -> None:
    role_id = await new_role(shop.db, *_RIGHTS, refund_limit=3)
    operator = await new_dashboard(shop.http, shop.db, role_id=role_id)
    order = await buy_paid(shop)
    path = f"{ORDERS}/{order['number']}"

    page, answer = await operator.get(path), await operator.post(f"{path}/cancel")

    sentence = "Your role allows refunds of at most 3 at once. Ask an operator with a higher limit."
    assert f"before its payment is refunded. {sentence}" in text_of(page.text)
    assert f"{path}/cancel" not in [offer for offer in list_offers(page.text, path) if isinstance(offer, str)]
    assert (answer.status_code, error_messages(answer)) == (422, [sentence])


async def test_voiding_a_captured_payment_obeys_the_refund_limit(shop: Shop) -> None:
    role_id = await new_role(shop.db, *_RIGHTS, refund_limit=3)
    operator = await new_dashboard(shop.http, shop.db, role_id=role_id)
    order = await buy_paid(shop)

    answer = await operator.post(f"{await payment_of(shop.db, order)}/void")

    sentence = "Your role allows refunds of at most 3 at once. Ask an operator with a higher limit."
    assert (answer.status_code, error_messages(answer)) == (422, [sentence])
    assert await shop.db.fetchval("select state from payments where order_id = $1", UUID(order.id)) == "completed"


async def test_a_refund_above_the_own_limit_cannot_be_approved(shop: Shop, approval_amount: None) -> None:
    order = await buy_paid(shop)
    path = f"{ORDERS}/{order['number']}/refund"
    _, form = await preview(shop.owner, path, other="20.00")
    assert saved_message(await shop.owner.post(path, **form, do="refund")) == "refund-requested"
    request_id = await shop.db.fetchval("select id from refund_requests where order_id = $1", UUID(order.id))
    pages = []
    for limit in (19, 20):
        role_id = await new_role(shop.db, *_RIGHTS, refund_limit=limit)
        operator = await new_dashboard(shop.http, shop.db, role_id=role_id)
        pages.append((await operator.get("/admin/approvals")).text)

    approve = f"/admin/approvals/{request_id}/approve"
    assert [approve in page for page in pages] == [False, True]
    assert "More than your role may refund." in pages[0]


@pytest.fixture
async def no_cards(db: Any) -> AsyncIterator[None]:
    """A shop whose website cannot charge cards now."""
    rows = await db.fetch("update payment_methods set active = false where active and type <> 'check' returning id")
    yield
    await db.execute("update payment_methods set active = true where id = any($1)", [row["id"] for row in rows])


async def test_a_payment_link_needs_a_way_to_pay_online(shop: Shop, no_cards: None) -> None:
    order = await buy_unpaid(shop)
    path = f"{ORDERS}/{order['number']}"

    page, answer = await shop.owner.get(path), await shop.owner.post(f"{path}/payment-link")

    assert f"{path}/payment-link" not in page.text
    sentence = "The website has no payment method for cards now: see Settings → Payment methods."
    assert (answer.status_code, error_messages(answer)) == (422, [sentence])
