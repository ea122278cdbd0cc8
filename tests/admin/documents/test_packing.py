"""Packing slips and pick lists: what is to be packed, and nothing that is shipped or canceled."""

from typing import Any
from uuid import UUID

import httpx2

from tests.admin.catalog_forms import error_messages
from tests.admin.dashboard import Dashboard
from tests.admin.documents.builders import page_count, path_of, pdf_text, save_settings
from tests.admin.order_builders import buy, shipment_of, text_of
from tests.checkout_builders import Buyer, CheckoutSetup

PICK_LIST = "/admin/documents/pick-list"
SLIPS = "/admin/documents/packing-slips"


async def test_a_packing_slip_has_the_items_and_no_amounts(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    await save_settings(dashboard)
    order, _ = await buy(buyer, name="<b>Lamp</b>", sku="LAMP-7")
    await db.execute("update orders set special_instructions = 'Ring twice' where id = $1", UUID(order.id))
    number = await db.fetchval("select number from shipments where order_id = $1", UUID(order.id))

    page = (await dashboard.get(f"{path_of(order)}/packing-slip")).text
    pdf = pdf_text((await dashboard.get(f"{path_of(order)}/packing-slip.pdf")).content)

    assert "&lt;b&gt;Lamp&lt;/b&gt;" in page
    assert f"Packing slip {number} Order {order['number']} of" in text_of(page)
    assert "Instructions Ring twice" in text_of(page)
    assert "Ship to Ada Lovelace 1 Main Street" in text_of(page)
    assert "$" not in page
    assert {"<b>Lamp</b>", "LAMP-7", "2", "Ada Lovelace", "Instructions: Ring twice"} <= set(pdf.split("\n"))
    assert "$" not in pdf


async def test_a_shop_without_an_address_gets_a_hint(dashboard: Dashboard, buyer: Buyer) -> None:
    order, _ = await buy(buyer)
    paths = [f"{path_of(order)}/packing-slip", f"{path_of(order)}/invoice"]
    hint = 'href="/admin/settings/documents">Add it in the settings</a>'

    assert (await save_settings(dashboard, address1="")).status_code == 303
    without_address = [(await dashboard.get(path)).text for path in paths]
    await save_settings(dashboard)
    with_address = [(await dashboard.get(path)).text for path in paths]

    assert all(hint in page for page in without_address)
    assert not any(hint in page for page in with_address)


async def test_a_canceled_shipment_has_no_slip(dashboard: Dashboard, buyer: Buyer) -> None:
    order, _ = await buy(buyer)
    await dashboard.post(f"{path_of(order)}/cancel")

    page = (await dashboard.get(f"{path_of(order)}/packing-slip")).text

    assert "Nothing to pack" in page
    assert "Nothing to pack" in pdf_text((await dashboard.get(f"{path_of(order)}/packing-slip.pdf")).content)


async def new_orders(
    http: httpx2.AsyncClient, setup: CheckoutSetup, *quantities: tuple[int, ...]
) -> tuple[list[Any], list[str]]:
    """Orders of two products in these quantities; returns the orders and the SKUs."""
    products = [await setup.product(name=f"Lamp {number}", on_hand=50) for number in (1, 2)]
    orders = []
    for each in quantities:
        buyer = Buyer(http, setup)
        lines = [(product, quantity) for product, quantity in zip(products, each, strict=True) if quantity]
        await buyer.ready(*lines)
        orders.append(await buyer.complete())
    return orders, [str(product.variant_id) for product in products]


async def test_a_pick_list_adds_up_the_items_of_its_orders(
    dashboard: Dashboard, http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    orders, _ = await new_orders(http, checkout_setup, (1, 2), (3, 0), (0, 4), (5, 5), (7, 7))
    first, second, third, shipped, canceled = orders
    await dashboard.post(f"{await shipment_of(db, shipped)}/ship", tracking="")
    await dashboard.post(f"{path_of(canceled)}/cancel")
    numbers = [order["number"] for order in orders]

    page = await dashboard.get(f"{PICK_LIST}?numbers={','.join(numbers)}")
    pdf = await dashboard.get(f"{PICK_LIST}.pdf?numbers={'%20'.join(numbers)}")

    def quantities(*pairs: tuple[Any, int]) -> str:
        return ", ".join(f"{number} \u00d7 {count}" for number, count in sorted((o["number"], n) for o, n in pairs))

    text = " ".join(text_of(page.text).replace(" , ", ", ").split())
    assert page.status_code == 200
    assert f"4 Lamp 1 {quantities((first, 1), (second, 3))}" in text
    assert f"6 Lamp 2 {quantities((first, 2), (third, 4))}" in text
    assert shipped["number"] not in text.split("Quantity")[1]
    assert canceled["number"] not in text.split("Quantity")[1]
    lines = pdf_text(pdf.content).split("\n")
    assert lines[lines.index("Lamp 1") - 1] == "4"
    assert lines[lines.index("Lamp 2") - 1] == "6"


async def test_slips_of_several_orders_are_on_pages_of_their_own(
    dashboard: Dashboard, http: httpx2.AsyncClient, checkout_setup: CheckoutSetup
) -> None:
    orders, _ = await new_orders(http, checkout_setup, (1, 0), (2, 0), (3, 0))
    numbers = [order["number"] for order in orders]

    page = (await dashboard.get(f"{SLIPS}?numbers={','.join(numbers)}")).text
    pdf = await dashboard.get(f"{SLIPS}.pdf?numbers={','.join(numbers)}")

    assert page.count('<article class="sheet"') == 3
    assert [page.index(f"<dd>{number} of") for number in numbers] == sorted(
        page.index(f"<dd>{number} of") for number in numbers
    )
    assert page_count(pdf.content) == 3


async def test_wrong_numbers_are_named_and_can_be_corrected(dashboard: Dashboard, buyer: Buyer) -> None:
    order, _ = await buy(buyer)
    many = ",".join(f"R{number}" for number in range(201))
    for path in (PICK_LIST, f"{PICK_LIST}.pdf", SLIPS, f"{SLIPS}.pdf"):
        none = await dashboard.get(path)
        wrong = await dashboard.get(f"{path}?numbers={order['number']},<i>R0</i>")
        over = await dashboard.get(f"{path}?numbers={many}")
        listed = await dashboard.get(f"{path}?numbers[]={order['number']}")

        assert (none.status_code, listed.status_code) == (200, 200)
        assert 'name="numbers"' in none.text
        message = "Order numbers must be those of completed orders; <i>R0</i> is not."
        assert (wrong.status_code, error_messages(wrong)) == (422, [message])
        assert f"{order['number']},&lt;i&gt;R0&lt;/i&gt;</textarea>" in wrong.text
        assert error_messages(over) == ["Order numbers must be at most 200, not 201."]
