"""Quotes of drafts, as a page, as PDF and by e-mail."""

import re
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from shop.admin.pages import day_text
from tests.admin.catalog_forms import error_messages
from tests.admin.dashboard import Dashboard, events
from tests.admin.documents.builders import pdf_text, save_settings
from tests.admin.drafts.builders import CASH, DraftClient, new_draft, new_ready_draft
from tests.admin.drafts.test_placement import mails_to
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


async def shop_name(db: Any) -> str:
    return str(await db.fetchval("select name from shops"))


async def mail_form(draft: DraftClient) -> dict[str, str]:
    """The hidden fields of the form that mails the quote."""
    page = await draft.page()
    ids = re.findall(r'name="quote_id" value="([^"]+)"', page)
    assert len(ids) == 1, page
    return {"quote_id": ids[0], "version": await draft.version()}


async def test_a_quote_is_mailed_once_with_its_pdf_and_the_note(
    dashboard: Dashboard, http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    email = f"{uuid4().hex}@shoppers.example"
    draft, _ = await new_ready_draft(dashboard, checkout_setup, email=email)
    form = await mail_form(draft)

    for _ in range(2):
        await draft.save("quote", **form, quote_note="As discussed.\n\nCall me!")

    assert await mails_to(http, email, 1) == [f"Your quote {draft.number} from {await shop_name(db)}"]
    (mail,) = (await http.get("/mailbox.json", params={"to": email})).json()
    assert mail["files"] == [f"quote-{draft.number}.pdf"]
    assert "As discussed.\n\nCall me!" in mail["text"]
    assert "/order-" not in mail["text"], "a quote opens nothing"
    order_id = (await draft.row(db))["id"]
    note = await db.fetchrow("select * from order_notes where order_id = $1", order_id)
    assert (note["kind"], note["author_id"]) == ("quote", dashboard.id)
    assert f"Quote {draft.number}" in " ".join(pdf_text(note["file"]).split())
    assert await db.fetchval("select awaits_budget from outbox_mails where ref_id = $1", note["id"]) is False
    assert (await events(db, actor=dashboard.id, subject=order_id)).count(("draft_quote_mail", "done")) == 1
    assert f"Mailed by {dashboard.email} As discussed. Call me!" in text_of(await draft.page())
    await draft.place(CASH)
    page = text_of((await dashboard.get(f"/admin/orders/{draft.number}")).text)
    assert f"{dashboard.email} mailed a quote to the customer" in page
    assert f"{dashboard.email} quote to the customer As discussed. Call me!" in page


async def test_a_quote_that_another_operator_changed_is_not_mailed(
    dashboard: Dashboard, other_dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any
) -> None:
    draft, product = await new_ready_draft(dashboard, checkout_setup)
    form = await mail_form(draft)
    await DraftClient(other_dashboard, draft.number).add(product, 3)

    answer = await draft.send("quote", **form, quote_note="Soon")

    assert answer.status_code == 409
    assert "The draft has changed since this page was loaded." in error_messages(answer)[0]
    assert "Soon" in answer.text
    assert await db.fetchval("select count(*) from order_notes where order_id = $1", (await draft.row(db))["id"]) == 0


@pytest.mark.parametrize("note", ["x" * 2001, "\x1b[2J"])
async def test_a_note_that_cannot_be_mailed_is_refused(
    dashboard: Dashboard, checkout_setup: CheckoutSetup, note: str
) -> None:
    draft, _ = await new_ready_draft(dashboard, checkout_setup)

    answer = await draft.send("quote", **await mail_form(draft), quote_note=note)

    assert answer.status_code == 422
    assert error_messages(answer) == ["Note must be text of at most 2,000 characters."]


async def test_a_draft_without_items_or_a_customer_mails_no_quote(
    dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any
) -> None:
    draft = await new_draft(dashboard)
    version = (await draft.row(db))["updated_at"].isoformat()
    empty = await draft.send("quote", version=version)
    await draft.add(await checkout_setup.product())
    version = (await draft.row(db))["updated_at"].isoformat()
    nameless = await draft.send("quote", version=version)

    assert (empty.status_code, nameless.status_code) == (422, 422)
    assert "Choose the customer" in text_of(await draft.page())


async def test_the_number_of_mailed_quotes_is_limited(
    dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any
) -> None:
    draft, _ = await new_ready_draft(dashboard, checkout_setup)
    order_id = (await draft.row(db))["id"]
    await db.execute(
        """insert into order_notes (id, order_id, author_id, kind, text, created_at, updated_at)
        select gen_random_uuid(), $1, gen_random_uuid(), 'quote', '', now(), now() from generate_series(1, 20)""",
        order_id,
    )

    answer = await draft.send("quote", **await mail_form(draft))

    assert answer.status_code == 422
    assert "At most 20 quotes" in error_messages(answer)[0]
