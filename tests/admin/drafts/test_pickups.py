"""Drafts whose customers pick up the goods: no address and no shipping, stock and taxes of the location."""

import re
from typing import Any
from uuid import UUID, uuid4

import httpx2
import msgspec
import pytest

from tests.admin.catalog_forms import error_messages
from tests.admin.dashboard import Dashboard, events
from tests.admin.documents.builders import pdf_text
from tests.admin.drafts.builders import CASH, LINK, DraftClient, new_draft, new_ready_draft
from tests.admin.drafts.test_placement import find_problems, mails_to
from tests.admin.order_builders import text_of
from tests.builders import ProductIds
from tests.checkout_builders import ADDRESS, CheckoutSetup, country_id
from tests.platform.client import Machine
from tests.website.visitor import Visitor


class Pickup(msgspec.Struct, frozen=True):
    """A draft of a guest without an address, for three items of ten dollars; the shop in Berlin has four."""

    draft: DraftClient
    product: ProductIds
    location_id: str
    name: str
    email: str

    async def count(self, db: Any) -> int:
        query = "select count_on_hand from stock_items where variant_id = $1 and stock_location_id = $2"
        return int(await db.fetchval(query, UUID(self.product.variant_id), UUID(self.location_id)))

    async def place(self, method: str = CASH, **fields: str) -> httpx2.Response:
        return await self.draft.send("place", method=method, version=await self.draft.version(), **fields)


@pytest.fixture
async def pickup(dashboard: Dashboard, checkout_setup: CheckoutSetup) -> Pickup:
    make, name = checkout_setup.make, f"Shop {uuid4().hex[:8]}"
    address = {"address1": "Unter den Linden 1", "city": "Berlin", "zipcode": "10117"}
    germany = await country_id(make, "DE")
    location = await make.new("stock_locations", "stock_location", name=name, country_id=germany, **address)
    zone = await make.new("zones", "zone", name=f"Zone {uuid4().hex}", country_ids=[germany])
    category = await make.new("tax_categories", "tax_category", name=uuid4().hex)
    rate = {"name": "VAT", "zone_id": zone.id, "tax_category_id": category.id, "amount": "0.19"}
    await make.new("tax_rates", "tax_rate", **rate, included_in_price=True)
    product = await checkout_setup.product(tax_category_id=category.id)
    stock = {"variant_id": product.variant_id, "stock_location_id": location.id, "count_on_hand": 4}
    await make.new("stock_items", "stock_item", **stock)
    draft, email = await new_draft(dashboard), f"{uuid4().hex}@shoppers.example"
    await draft.save("email", email=email)
    await draft.add(product, 3)
    await draft.save("pickup", location_id=location.id)
    return Pickup(draft, product, location.id, name, email)


async def test_a_counter_sale_needs_no_address_and_takes_the_stock_of_its_location(
    dashboard: Dashboard, http: httpx2.AsyncClient, pickup: Pickup, db: Any
) -> None:
    answer = await pickup.place(is_handed_over="1")

    assert answer.headers["location"].endswith("?done=placed"), answer.text
    row = await pickup.draft.row(db)
    assert (row["total"], row["ship_total"], row["payment_state"], row["shipment_state"]) == (
        3000,
        0,
        "paid",
        "shipped",
    )
    # 3000 less 3000 / 1.19: the taxes of Berlin.
    assert (row["bill_address_id"], row["included_tax_total"]) == (None, 479)
    assert await pickup.count(db) == 1
    delivered_at = await db.fetchval("select delivered_at from shipments where order_id = $1", row["id"])
    assert delivered_at
    logged = await events(db, actor=dashboard.id, subject=row["id"])
    assert {("order_complete", "done"), ("shipment_ship", "done"), ("draft_pickup", "done")} <= set(logged)
    assert await find_problems(db, pickup.draft) == []
    page = text_of((await dashboard.get(f"/admin/orders/{pickup.draft.number}")).text)
    assert f"Pickup at {pickup.name} Unter den Linden 1" in page
    assert "The order was delivered" in page
    subjects = await mails_to(http, pickup.email, 1)
    assert [subject for subject in subjects if "on its way" in subject] == []


async def test_goods_that_are_handed_over_later_cause_no_shipping_mail(
    dashboard: Dashboard, pickup: Pickup, db: Any
) -> None:
    await pickup.place()
    shipment_id = await db.fetchval("select id from shipments where order_id = $1", (await pickup.draft.row(db))["id"])

    await dashboard.post(f"/admin/orders/{pickup.draft.number}/shipments/{shipment_id}/ship")

    assert (await pickup.draft.row(db))["shipment_state"] == "shipped"
    rows = await db.fetch("select kind from outbox_mails where recipient = $1", pickup.email)
    assert [row["kind"] for row in rows] == ["order_confirmation"]


async def test_documents_mails_pages_and_apis_say_where_to_pick_up_the_goods(
    dashboard: Dashboard, http: httpx2.AsyncClient, pickup: Pickup, reader: Machine, db: Any
) -> None:
    number, place = pickup.draft.number, f"Pickup at {pickup.name}"
    assert place in (await dashboard.get(f"{pickup.draft.path}/quote")).text
    await pickup.place()

    order_id = (await pickup.draft.row(db))["id"]
    page = (await dashboard.get(f"/admin/orders/{number}")).text
    assert "Hand over 3 items" in text_of(page)
    await dashboard.post(f"/admin/orders/{number}/invoice")
    for path in ("packing-slip", "invoice"):
        document = await dashboard.get(f"/admin/orders/{number}/{path}")
        pdf = await dashboard.get(f"/admin/orders/{number}/{path}.pdf")
        assert place in document.text, path
        assert place in " ".join(pdf_text(pdf.content).split()), path
    invoice = text_of((await dashboard.get(f"/admin/orders/{number}/invoice")).text)
    assert "Bill to" not in invoice
    assert "No tax" not in invoice
    await mails_to(http, pickup.email, 1)
    mail = (await http.get("/mailbox.json", params={"to": pickup.email})).json()[0]
    assert f"PICKUP\n{place}" in mail["text"]
    assert "on its way" not in mail["text"]
    assert "Shipping" not in mail["text"]
    (status_path,) = re.findall(r"View your order: http://[^/]*(/order-status/\S+)", mail["text"])
    visitor = Visitor(http)
    status_page = await visitor.follow(await visitor.get(status_path))
    assert status_page.status == 200
    assert place in status_page.text
    includes = "shipments.shipping_rates.shipping_method,ship_address,bill_address"
    record = await reader.get(f"/orders/{order_id}?include={includes}")
    assert record.status == 200
    names = [each["attributes"].get("company") for each in record.json["included"] if each["type"] == "address"]
    assert names == [place]


async def test_unpaid_or_missing_goods_cannot_be_handed_over_and_nothing_is_placed(
    dashboard: Dashboard, checkout_setup: CheckoutSetup, pickup: Pickup, db: Any
) -> None:
    unpaid = await pickup.place(checkout_setup.check, is_handed_over="1")

    sent, _ = await new_ready_draft(dashboard, checkout_setup)
    with_shipping = await sent.send("place", method=CASH, version=await sent.version(), is_handed_over="1")
    for answer in (unpaid, with_shipping):
        assert answer.status_code == 422
        assert "cannot be handed over" in error_messages(answer)[0]
    assert (await pickup.draft.row(db))["completed_at"] is None
    assert await pickup.count(db) == 4


async def test_more_than_the_stock_of_the_location_is_not_placed(dashboard: Dashboard, pickup: Pickup, db: Any) -> None:
    """Other locations have the goods, but the customer is here."""
    line_id = await pickup.draft.line_id(db, pickup.product)

    await pickup.draft.save("quantity", line_item_id=line_id, quantity="5")

    page = text_of(await pickup.draft.page())
    assert "Choose a shipping method for every shipment." in page
    assert "Place order for" not in page


async def test_a_shipping_address_ends_the_pickup_and_a_billing_address_does_not(
    dashboard: Dashboard, pickup: Pickup, db: Any
) -> None:
    await pickup.draft.enter_address(use="bill")
    with_bill = await pickup.draft.row(db)
    await pickup.draft.enter_address(use="both")
    row = await pickup.draft.row(db)

    assert with_bill["pickup_location_id"] == UUID(pickup.location_id)
    assert with_bill["bill_address_id"] != with_bill["ship_address_id"]
    assert (row["pickup_location_id"], row["total"]) == (None, 3500)
    assert row["bill_address_id"] == row["ship_address_id"]
    await pickup.draft.save("pickup", location_id=pickup.location_id)
    await pickup.draft.save("pickup", location_id="")
    row = await pickup.draft.row(db)
    assert (row["pickup_location_id"], row["total"]) == (None, 3500)
    assert row["ship_address_id"] == row["bill_address_id"]


async def test_a_new_customer_keeps_the_pickup(dashboard: Dashboard, pickup: Pickup, db: Any) -> None:
    await pickup.draft.save("email", email=f"{uuid4().hex}@shoppers.example", creates_account="1")

    row = await pickup.draft.row(db)
    assert row["user_id"]
    assert row["pickup_location_id"] == UUID(pickup.location_id)
    assert (await pickup.place(is_handed_over="1")).headers["location"].endswith("?done=placed")


async def test_an_edit_of_a_pickup_keeps_its_place(dashboard: Dashboard, pickup: Pickup, db: Any) -> None:
    await pickup.place()
    number, ship_id = pickup.draft.number, (await pickup.draft.row(db))["ship_address_id"]
    line_id = await pickup.draft.line_id(db, pickup.product)
    form = {f"quantity[{line_id}]": "2", "email": pickup.email}

    preview = await dashboard.post(f"/admin/orders/{number}/edit", **form, do="preview")
    match = re.search(r'name="previewed" value="([^"]+)"', preview.text)
    assert match, preview.text
    answer = await dashboard.post(f"/admin/orders/{number}/edit", **form, previewed=match[1], do="save")

    assert answer.status_code == 303, answer.text
    row = await pickup.draft.row(db)
    assert (row["ship_address_id"], row["bill_address_id"], row["total"]) == (ship_id, None, 2000)
    assert await pickup.count(db) == 2


@pytest.mark.parametrize("location_id", ["x", CASH, "\x00", "9" * 400])
async def test_a_pickup_needs_an_active_location(dashboard: Dashboard, pickup: Pickup, location_id: str) -> None:
    answer = await pickup.draft.send("pickup", location_id=location_id)

    assert answer.status_code in {400, 422}


async def test_an_application_that_sets_a_shipping_address_ends_the_pickup(
    pickup: Pickup, checkout_setup: CheckoutSetup, db: Any
) -> None:
    order_id = (await pickup.draft.row(db))["id"]

    await checkout_setup.make.change("orders", str(order_id), "order", ship_address_attributes=ADDRESS)

    row = await pickup.draft.row(db)
    assert (row["pickup_location_id"], row["total"]) == (None, 3500)
    await pickup.draft.save("pickup", location_id=pickup.location_id)
    assert (await pickup.draft.row(db))["total"] == 3000
    await pickup.draft.enter_address(use="bill")
    address_id = (await pickup.draft.row(db))["bill_address_id"]
    await checkout_setup.make.change("orders", str(order_id), "order", ship_address_id=str(address_id))
    row = await pickup.draft.row(db)
    assert (row["pickup_location_id"], row["ship_address_id"]) == (None, address_id)


async def test_a_walk_in_customer_needs_no_email_address(
    dashboard: Dashboard, pickup: Pickup, reader: Machine, db: Any
) -> None:
    draft = await new_draft(dashboard)
    await draft.add(pickup.product, 1)
    before = text_of(await draft.page())
    await draft.save("pickup", location_id=pickup.location_id)
    page = await draft.page()
    refusal = await draft.send("place", method=LINK, version=await draft.version())

    answer = await draft.send("place", method=CASH, version=await draft.version(), is_handed_over="1")

    assert "Enter an e-mail address." in before
    assert "Without an e-mail address, the customer gets no confirmation" in text_of(page)
    assert LINK not in page
    assert (refusal.status_code, error_messages(refusal)) == (422, ["Payment is not available; choose another one."])
    assert answer.headers["location"].endswith("?done=placed"), answer.text
    row = await draft.row(db)
    assert (row["email"], row["state"], row["payment_state"], row["shipment_state"]) == (
        None,
        "complete",
        "paid",
        "shipped",
    )
    assert await db.fetchval("select count(*) from outbox_mails where ref_id = $1", row["id"]) == 0
    assert await find_problems(db, draft) == []
    order = f"/admin/orders/{draft.number}"
    for path in (order, f"{order}/invoice", f"{order}/packing-slip", f"{order}/edit", "/admin/orders"):
        assert (await dashboard.get(path)).status_code == 200, path
    assert (await reader.get(f"/orders/{row['id']}"))["email"] is None


async def test_an_order_that_is_shipped_needs_an_email_address(dashboard: Dashboard, pickup: Pickup) -> None:
    draft = await new_draft(dashboard)
    await draft.add(pickup.product, 1)
    await draft.save("pickup", location_id=pickup.location_id)
    version = await draft.version()
    await draft.save("pickup", location_id="")

    answer = await draft.send("place", method=CASH, version=version)

    assert "Enter an e-mail address." in text_of(await draft.page())
    assert answer.status_code in {409, 422}
