"""Quotes of drafts, as a page and as PDF."""

from datetime import timedelta
from typing import Any

from shop.admin.pages import day_text
from tests.admin.dashboard import Dashboard
from tests.admin.documents.builders import pdf_text, save_settings
from tests.admin.drafts.builders import CASH, new_draft, new_ready_draft
from tests.admin.order_builders import text_of
from tests.checkout_builders import CheckoutSetup


async def test_a_quote_shows_amounts_reasons_and_how_long_it_is_valid(
    dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any
) -> None:
    await save_settings(dashboard)
    draft, product = await new_ready_draft(dashboard, checkout_setup)
    line_id = await draft.line_id(db, product)
    await draft.save("discount", kind="amount", value="2", reason="Scratched", line_item_id=line_id)
    await draft.save("discount", kind="percent", value="10", reason="Loyal customer")
    changed_at = (await draft.row(db))["updated_at"]

    page = text_of((await dashboard.get(f"{draft.path}/quote")).text)
    pdf = await dashboard.get(f"{draft.path}/quote.pdf")

    texts = (page, " ".join(pdf_text(pdf.content).split()))
    assert pdf.headers["content-disposition"] == f'inline; filename="quote-{draft.number}.pdf"'
    for text in texts:
        assert f"Quote {draft.number}" in text
        assert f"{day_text(changed_at + timedelta(days=30))}" in text
        assert "Mug: Scratched" in text
        assert "Discount: Loyal customer" in text
        assert "$21.20" in text
    assert "Lantern & Loam GmbH" in page
    assert "Ada Lovelace 1 Main Street" in page
    assert "Mug: Scratched -$2.00 Discount: Loyal customer -$1.80 Total $21.20" in page


async def test_a_quote_needs_no_customer_and_says_that_shipping_is_missing(
    dashboard: Dashboard, checkout_setup: CheckoutSetup
) -> None:
    draft = await new_draft(dashboard)
    await draft.add(await checkout_setup.product(), 3)

    page = text_of((await dashboard.get(f"{draft.path}/quote")).text)
    pdf = await dashboard.get(f"{draft.path}/quote.pdf")

    assert "Total $30.00" in page
    assert "Without shipping costs" in page
    assert "Without shipping costs" in pdf_text(pdf.content)


async def test_a_placed_draft_has_no_quote(dashboard: Dashboard, checkout_setup: CheckoutSetup) -> None:
    draft, _ = await new_ready_draft(dashboard, checkout_setup)
    await draft.place(CASH)

    for path in (f"{draft.path}/quote", f"{draft.path}/quote.pdf", draft.path, f"{draft.path}/delete"):
        answer = await dashboard.get(path)
        assert answer.headers["location"] == f"/admin/orders/{draft.number}?done=placed-before"
