"""Creates orders for the dashboard's tests, and reads the paths and states of their parts."""

import html
import re
from typing import Any
from uuid import UUID

import httpx2

from tests.admin.catalog_forms import field
from tests.admin.dashboard import Dashboard
from tests.checkout_builders import Buyer
from tests.shopper import Answer

ORDERS = "/admin/orders"


async def buy(buyer: Buyer, *, pays: str = "card", quantity: int = 2, **product: Any) -> tuple[Answer, str]:
    """Buys a new product of ten dollars with a stock of ten; returns the order and the variant's id."""
    new_product = await buyer.checkout_setup.product(**product)
    await buyer.add_items((new_product, quantity))
    await buyer.enter_address()
    await buyer.pay(method=getattr(buyer.checkout_setup, pays))
    answer = await buyer.complete()
    assert answer.status == 200, answer
    return answer, new_product.variant_id


async def shipment_of(db: Any, order: Answer) -> str:
    shipment_id = await db.fetchval("select id from shipments where order_id = $1", UUID(order.id))
    return f"{ORDERS}/{order['number']}/shipments/{shipment_id}"


async def payment_of(db: Any, order: Answer) -> str:
    payment_id = await db.fetchval("select id from payments where order_id = $1", UUID(order.id))
    return f"{ORDERS}/{order['number']}/payments/{payment_id}"


async def states(db: Any, order: Answer) -> tuple[Any, ...]:
    """The states of the order, its payment and its shipment."""
    query = """select o.state, o.payment_state, o.shipment_state, p.state, s.state from orders o
        join payments p on p.order_id = o.id join shipments s on s.order_id = o.id where o.id = $1"""
    return tuple(await db.fetchrow(query, UUID(order.id)))


async def refund_payment(
    dashboard: Dashboard, payment: str, *, amount: str, reason: str = "Chipped"
) -> httpx2.Response:
    """Opens the form that refunds a payment, and submits it."""
    page = (await dashboard.get(f"{payment}/refund")).text
    return await dashboard.post(f"{payment}/refund", seen=field(page, "seen"), amount=amount, reason=reason)


def text_of(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())
