"""PDF files: their headers, any text, many lines, and when the library is loaded."""

import json
import subprocess
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shop.admin.orders.pdf_page import PdfColumn, PdfPages
from tests.admin.dashboard import Dashboard, new_dashboard
from tests.admin.documents.builders import buy_and_issue, new_series, page_count, path_of, pdf_text, save_settings
from tests.admin.order_builders import buy
from tests.checkout_builders import Buyer
from tests.service import KEYS, SHOP, Service

HOSTILE = "<img src=x onerror=alert(1)> <b>&amp;</b> ) Tj ET \\ \x07\x1b \u202e\u200d\ud83d{} \U0001f600".format(
    "W" * 3_000
)


def render(*texts: str, lines: int = 1) -> bytes:
    pages = PdfPages(texts[0], "a4", "en-US")
    pages.table([PdfColumn("A", 0.2), PdfColumn("B", 0.8, "right")], [[texts[0], texts[-1]]] * lines)
    return pages.finish()


async def test_a_pdf_has_the_headers_of_a_private_document(
    dashboard: Dashboard, http: httpx2.AsyncClient, buyer: Buyer
) -> None:
    series = await new_series(dashboard)
    order = await buy_and_issue(dashboard, buyer)
    path = f"{path_of(order)}/invoice.pdf"

    answer, stranger = await dashboard.get(path), await http.get(path)

    assert answer.headers["content-type"] == "application/pdf"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-disposition"] == f'inline; filename="{series}1.pdf"'
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert stranger.status_code == 401


async def test_the_pdf_of_an_invoice_says_what_its_page_says(dashboard: Dashboard, buyer: Buyer) -> None:
    series = await new_series(dashboard)
    order = await buy_and_issue(dashboard, buyer, name="Lamp")

    lines = pdf_text((await dashboard.get(f"{path_of(order)}/invoice.pdf")).content).split("\n")

    expected = {f"Invoice {series}1", "Lantern & Loam GmbH", "VAT ID: DE123456789", "Ada Lovelace", "Lamp", "$20.00"}
    assert expected <= set(lines)
    assert lines.count("$25.00") == 5
    assert any(line.startswith(f"Order {order['number']} of ") for line in lines)


@pytest.mark.torture
async def test_hostile_names_and_five_hundred_lines_make_a_pdf(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    await new_series(dashboard)
    order = await buy_and_issue(dashboard, buyer)
    name = HOSTILE.replace("\ud83d", "").replace("\x07", "").replace("\x1b", "")
    content = json.loads(await db.fetchval("select content from invoices where order_id = $1", UUID(order.id)))
    content["lines"] = [{**content["lines"][0], "name": name}] * 500
    query = "update invoices set content = $2 where order_id = $1"
    await db.execute(query, UUID(order.id), json.dumps(content))

    pdf = await dashboard.get(f"{path_of(order)}/invoice.pdf")
    page = await dashboard.get(f"{path_of(order)}/invoice")

    assert pdf.status_code == page.status_code == 200
    assert page_count(pdf.content) > 100
    assert len(pdf.content) < 3_000_000
    assert "<img src=x" in pdf_text(pdf.content)
    assert "&lt;img src=x" in page.text


async def test_the_paper_is_that_of_the_country(dashboard: Dashboard, buyer: Buyer) -> None:
    await new_series(dashboard)
    order = await buy_and_issue(dashboard, buyer)
    sizes = {}
    for country in ("de", "us"):
        await save_settings(dashboard, country=country)
        pdf = (await dashboard.get(f"{path_of(order)}/invoice.pdf")).content
        sizes[country] = b"/MediaBox [ 0 0 612 792 ]" in pdf

    assert sizes == {"de": False, "us": True}


@pytest.mark.parametrize(
    ("text", "fonts", "note"),
    [
        ("Straße Ω Łódź", {b"BitstreamVeraSans"}, None),
        ("Ελλάδα", {b"Symbol"}, None),
        ("東京", {b"HeiseiKakuGo-W5"}, "needs fonts of the program"),
        ("汉语", {b"STSong-Light"}, "needs fonts of the program"),
        ("한국어", {b"HYGothic-Medium"}, "needs fonts of the program"),
        ("Привет", {b"HeiseiKakuGo-W5"}, "needs fonts of the program"),
        ("ไทย", {b"BitstreamVeraSans"}, "are shown as ?"),
        ("\U0001f600", {b"BitstreamVeraSans"}, "are shown as ?"),
    ],
)
def test_other_scripts_are_written_or_a_note_says_that_they_are_not(
    text: str, fonts: set[bytes], note: str | None
) -> None:
    pdf = render(text)

    assert all(b"/BaseFont /" + font in pdf or b"+" + font in pdf for font in fonts)
    assert (note or "fonts") in pdf_text(pdf).replace("\n", " ") or note is None
    assert ("fonts" in pdf_text(pdf)) is (note is not None)


def test_letters_without_a_glyph_lose_their_accents() -> None:
    assert "Zazolc" in pdf_text(render("Zażolc"))


def test_the_same_text_is_always_the_same_file() -> None:
    assert render("Lamp", "東京", lines=100) == render("Lamp", "東京", lines=100)


def test_a_text_beyond_the_limit_is_cut_off() -> None:
    assert len(render("x" * 10**6)) < 50_000
    assert page_count(render("x " * 10**5)) == 1


@settings(max_examples=40, deadline=None)
@given(st.text(st.characters(), max_size=80), st.text(st.characters(), max_size=600))
@pytest.mark.torture
def test_any_text_makes_a_pdf(short: str, long: str) -> None:
    assert page_count(render(short, long, lines=3)) >= 1


def test_hostile_text_makes_a_pdf() -> None:
    assert "<img src=x" in pdf_text(render("A", HOSTILE))


class WatchedService(Service):
    """A shop that logs every module that it imports."""

    def _start(self, command: list[str]) -> "subprocess.Popen[str]":
        environ = {**self.environ, "PYTHONPROFILEIMPORTTIME": "1"}
        return subprocess.Popen(
            [str(SHOP), *command], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environ
        )


@pytest.mark.torture
async def test_shop_serve_loads_the_library_with_the_first_pdf(
    buyer: Buyer, db: Any, database_url: str, tmp_path: Path
) -> None:
    order, _ = await buy(buyer)
    service = WatchedService(
        SHOP_DATA_DIR=str(tmp_path),
        SHOP_DATABASE_URL=database_url,
        SHOP_SECRET_KEYS=KEYS,
        SHOP_MAILBOX="on",
        SHOP_DRAIN_SECONDS="0",
    )
    try:
        async with service.client() as client:
            dashboard = await new_dashboard(client, db)
            assert (await dashboard.get(path_of(order))).status_code == 200
            service.wait_for(lambda line: "shop.admin.orders.pdf_page" in line)
            assert not any("reportlab" in line for line in service.lines)
            assert (await dashboard.get(f"{path_of(order)}/packing-slip.pdf")).status_code == 200
        service.wait_for(lambda line: "reportlab" in line)
    finally:
        service.stop()
