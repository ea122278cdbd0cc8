"""Orders with documents, and what their PDF files say."""

import re
import zlib
from base64 import a85decode
from typing import Any
from uuid import UUID, uuid4

from tests.admin.dashboard import Dashboard
from tests.admin.order_builders import ORDERS, buy
from tests.checkout_builders import Buyer
from tests.shopper import Answer

SETTINGS = "/admin/settings/documents"
ADDRESS = {
    "legal_name": "Lantern & Loam GmbH",
    "address1": "Hauptstraße 5",
    "address2": "",
    "zipcode": "10115",
    "city": "Berlin",
    "country": "de",
    "email": "help@lantern.example",
    "tax_label_0": "VAT ID",
    "tax_number_0": "DE123456789",
    "invoice_prefix": "INV-{year}-",
    "credit_note_prefix": "CN-{year}-",
    "digits": "5",
}


def path_of(order: Answer) -> str:
    return f"{ORDERS}/{order['number']}"


async def save_settings(dashboard: Dashboard, **changes: str) -> Any:
    page = (await dashboard.get(SETTINGS)).text
    match = re.search(r'name="version" value="(\d+)"', page)
    assert match
    return await dashboard.post(SETTINGS, **{**ADDRESS, "version": match[1], **changes})


async def new_series(dashboard: Dashboard) -> str:
    """A prefix that no other test uses, for invoices and credit notes."""
    prefix = f"T{uuid4().hex[:10]}-"
    answer = await save_settings(dashboard, invoice_prefix=prefix, credit_note_prefix=f"C{prefix}", digits="1")
    assert answer.status_code == 303
    return prefix


async def buy_and_issue(dashboard: Dashboard, buyer: Buyer, **options: Any) -> Answer:
    order, _ = await buy(buyer, **options)
    answer = await dashboard.post(f"{path_of(order)}/invoice")
    assert answer.status_code == 303
    return order


async def numbers_of(db: Any, order: Answer, kind: str = "invoice") -> list[str]:
    rows = await db.fetch(
        "select number from invoices where order_id = $1 and kind = $2 order by issued_at", UUID(order.id), kind
    )
    return [row["number"] for row in rows]


async def find_gaps(db: Any) -> list[str]:
    """The series whose numbers are not 1 to n."""
    rows = await db.fetch(
        """select c.series from invoice_counters c left join invoices i using (series) group by c.series, c.last_number
        having array_agg(i.running_number order by i.running_number)
            <> array(select generate_series(1, c.last_number))"""
    )
    return [row["series"] for row in rows]


def pdf_text(data: bytes) -> str:
    """The text of a PDF in ASCII letters, line by line; other letters have codes of the font in the file."""
    assert data.startswith(b"%PDF-")
    assert data.rstrip().endswith(b"%%EOF")
    streams = re.findall(rb"stream\r?\n(.*?)endstream", data, re.DOTALL)
    texts = []
    for stream in streams:
        try:
            content = zlib.decompress(a85decode(stream.strip().removesuffix(b"~>")))
        except (ValueError, zlib.error):
            continue
        texts += [part.decode("latin-1") for part in re.findall(rb"\((.*?)(?<!\\)\) Tj", content)]
    return "\n".join(texts).replace("\\(", "(").replace("\\)", ")")


def page_count(data: bytes) -> int:
    return len(re.findall(rb"/Type /Page\b", data))
