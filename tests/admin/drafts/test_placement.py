"""Placing drafts: they become orders like those of shoppers, paid by check, cash or link."""

import asyncio
import re
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from shop.queries.operations.verify import _CHECKS
from tests.admin.catalog_forms import error_messages
from tests.admin.dashboard import Dashboard, events
from tests.admin.drafts.builders import CASH, LINK, DraftClient, new_draft, new_ready_draft
from tests.admin.order_builders import refund_payment, text_of
from tests.checkout_builders import CheckoutSetup, on_hand, set_stock
from tests.concurrency import wait_for_locks


async def find_problems(db: Any, draft: DraftClient) -> list[str]:
    """The names of the consistency checks that find this order."""
    row = await draft.row(db)
    names = []
    for name, check in _CHECKS.items():
        findings = await db.fetch(check.sql, *check.arguments({}))
        names += [name for each in findings if str(each[0]) in (draft.number, str(row["id"]))]
    return names


async def mails_to(http: httpx2.AsyncClient, email: str, count: int) -> list[str]:
    """The subjects of the newest mails to an address, once there are so many."""
    async with asyncio.timeout(30):
        while True:
            mails = (await http.get("/mailbox.json", params={"to": email})).json()
            if len(mails) >= count:
                return [mail["subject"] for mail in mails]
            await asyncio.sleep(0.05)


async def test_a_draft_paid_by_check_becomes_an_order_that_waits_for_it(
    dashboard: Dashboard, http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    email = f"{uuid4().hex}@shoppers.example"
    draft, product = await new_ready_draft(dashboard, checkout_setup, email=email)
    before = await on_hand(db, product.variant_id)

    answer = await draft.place(checkout_setup.check)

    assert answer.headers["location"] == f"/admin/orders/{draft.number}?done=placed"
    row = await draft.row(db)
    assert (row["state"], row["payment_state"], row["total"], row["channel"]) == (
        "complete",
        "balance_due",
        2500,
        "manual",
    )
    assert row["author_id"] == dashboard.id
    assert (before, await on_hand(db, product.variant_id)) == (10, 8)
    page = text_of((await dashboard.get(answer.headers["location"])).text)
    assert "Order placed." in page
    assert f"{dashboard.email} placed order {draft.number} for $25.00" in page
    assert await db.fetchval("select count(*) from drafts where order_id = $1", row["id"]) == 0
    assert ("order_complete", "done") in await events(db, actor=dashboard.id, subject=row["id"])
    assert await find_problems(db, draft) == []
    assert await mails_to(http, email, 1)


async def test_cash_is_captured_at_once_and_the_order_can_be_shipped(
    dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any
) -> None:
    draft, _ = await new_ready_draft(dashboard, checkout_setup)

    await draft.place(CASH)

    row = await draft.row(db)
    assert (row["payment_state"], row["payment_total"], row["shipment_state"]) == ("paid", 2500, "ready")
    assert await find_problems(db, draft) == []
    payment_id = await db.fetchval("select id from payments where order_id = $1", row["id"])
    path = f"/admin/orders/{draft.number}/payments/{payment_id}"
    refund = await refund_payment(dashboard, path, amount="5.00")
    assert refund.headers["location"].endswith("?done=refunded")


async def test_a_payment_link_is_mailed_and_its_payment_replaces_the_awaited_one(
    dashboard: Dashboard, http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    email = f"{uuid4().hex}@shoppers.example"
    draft, _ = await new_ready_draft(dashboard, checkout_setup, email=email)

    await draft.place(LINK)
    await mails_to(http, email, 2)

    row = await draft.row(db)
    assert (row["payment_state"], row["payment_total"]) == ("balance_due", 0)
    assert ("payment_link", "done") in await events(db, actor=dashboard.id, subject=row["id"])
    assert await find_problems(db, draft) == []
    mails = (await http.get("/mailbox.json", params={"to": email})).json()
    assert any(re.search(rf"\$25.00 for your order {draft.number}", mail["text"]) for mail in mails), mails


async def test_a_draft_without_a_price_needs_no_payment(
    dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any
) -> None:
    draft, _ = await new_ready_draft(dashboard, checkout_setup)
    await draft.save("discount", kind="amount", value="1000", reason="A gift")

    answer = await draft.send("place", version=await draft.version())

    assert answer.headers["location"].endswith("?done=placed")
    row = await draft.row(db)
    assert (row["total"], row["payment_state"]) == (0, "paid")
    adjustment = await db.fetchrow("select label, amount, state from adjustments where order_id = $1", row["id"])
    assert tuple(adjustment) == ("Discount: A gift", -2500, "closed")
    assert await find_problems(db, draft) == []


async def test_discounts_on_lines_and_on_the_order_are_adjustments_with_their_reason(
    dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any
) -> None:
    draft, product = await new_ready_draft(dashboard, checkout_setup)
    line_id = await draft.line_id(db, product)

    await draft.save("discount", kind="percent", value="12.5", reason="Scratched", line_item_id=line_id)
    await draft.save("discount", kind="percent", value="10", reason="Loyal customer")
    first_total = (await draft.row(db))["total"]
    # A percentage follows the quantity, and an amount never takes off more than the line.
    await draft.save("quantity", line_item_id=line_id, quantity="4")
    second_total = (await draft.row(db))["total"]
    await draft.save("discount", kind="amount", value="99", reason="Broken", line_item_id=line_id)
    await draft.save("discount/remove")
    await draft.place(CASH)

    assert first_total == 2500 - 250 - 175
    assert second_total == 4500 - 500 - 350
    row = await draft.row(db)
    assert row["total"] == 500
    labels = await db.fetch("select label, amount from adjustments where order_id = $1", row["id"])
    assert [tuple(each) for each in labels] == [("Mug: Broken", -4000)]
    assert "Mug: Broken -$40.00" in text_of((await dashboard.get(f"/admin/orders/{draft.number}")).text)
    assert await find_problems(db, draft) == []


async def test_a_removed_item_takes_its_discount_along(
    dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any
) -> None:
    draft, product = await new_ready_draft(dashboard, checkout_setup)
    other_product = await checkout_setup.product(price="3.00")
    await draft.add(other_product)
    line_id = await draft.line_id(db, product)
    await draft.save("discount", kind="amount", value="5", reason="Scratched", line_item_id=line_id)

    await draft.save("remove", line_item_id=line_id)

    row = await draft.row(db)
    assert (row["total"], row["manual_total"]) == (800, 0)
    assert await db.fetchval("select count(*) from adjustments where order_id = $1", row["id"]) == 0


async def test_a_draft_placed_twice_is_one_order(
    dashboard: Dashboard, other_dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any
) -> None:
    draft, product = await new_ready_draft(dashboard, checkout_setup)
    other_draft = DraftClient(other_dashboard, draft.number)
    version, order_id = await draft.version(), (await draft.row(db))["id"]
    await dashboard.csrf()
    await other_dashboard.csrf()

    async with db.transaction():
        await db.execute("select from orders where id = $1 for update", order_id)
        running = [asyncio.create_task(each.place(CASH, version)) for each in (draft, other_draft)]
        await wait_for_locks(db, 2)
    answers = await asyncio.gather(*running)
    late = await draft.place(CASH, version)

    path = f"/admin/orders/{draft.number}?done="
    locations = sorted(answer.headers["location"] for answer in answers)
    assert locations == [f"{path}placed", f"{path}placed-before"]
    assert late.headers["location"] == f"{path}placed-before"
    assert await db.fetchval("select count(*) from payments where order_id = $1", order_id) == 1
    assert await on_hand(db, product.variant_id) == 8
    assert "was placed as this order before" in (await dashboard.get(f"{path}placed-before")).text


async def test_a_draft_that_another_operator_changed_is_not_placed(
    dashboard: Dashboard, other_dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any
) -> None:
    draft, product = await new_ready_draft(dashboard, checkout_setup)
    version = await draft.version()
    await DraftClient(other_dashboard, draft.number).add(product, 3)

    answer = await draft.place(CASH, version)

    assert answer.status_code == 409
    assert "The draft has changed since this page was loaded." in error_messages(answer)[0]
    assert "Place order for $55.00" in text_of(answer.text)
    assert (await draft.row(db))["completed_at"] is None


async def test_a_changed_price_is_shown_before_the_draft_is_placed(
    dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any
) -> None:
    draft, product = await new_ready_draft(dashboard, checkout_setup)
    await db.execute("update prices set amount = 1200 where variant_id = $1", product.variant_id)

    warned = await draft.page()
    refusal = await draft.place(CASH)
    answer = await draft.place(CASH)

    assert "Its price has changed." in warned
    assert refusal.status_code == 409
    assert "Prices, taxes or stock have changed" in error_messages(refusal)[0]
    assert "Place order for $29.00" in text_of(refusal.text)
    assert answer.status_code == 303
    assert (await draft.row(db))["total"] == 2900


async def test_lost_stock_is_not_sold(dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any) -> None:
    draft, product = await new_ready_draft(dashboard, checkout_setup)
    await set_stock(db, product.variant_id, 1)

    refusal = await draft.place(CASH)
    page = text_of(await draft.page())
    await set_stock(db, product.variant_id, 0)
    sold_out = await draft.place(CASH)

    assert refusal.status_code == 409
    assert "Place order for $15.00" in page
    assert sold_out.status_code == 422
    assert (await draft.row(db))["completed_at"] is None
    assert await on_hand(db, product.variant_id) == 0


async def test_what_is_missing_is_named_and_nothing_is_placed(
    dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any
) -> None:
    draft = await new_draft(dashboard)
    await draft.add(await checkout_setup.product())

    empty = await (await new_draft(dashboard)).page()
    page = text_of(await draft.page())
    version = (await draft.row(db))["updated_at"].isoformat()
    answer = await draft.place(CASH, version)

    assert '<a href="#items">Add an item to the draft.</a>' in empty
    assert "Still missing Enter an e-mail address. Enter a billing address. Enter a shipping address." in page
    assert "Place order for" not in page
    assert answer.status_code == 422
    assert (await draft.row(db))["completed_at"] is None


async def test_an_unknown_payment_method_is_refused(
    dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any
) -> None:
    draft, _ = await new_ready_draft(dashboard, checkout_setup)

    for method in ("", "nonsense", checkout_setup.card, str(uuid4())):
        answer = await draft.place(method)
        assert answer.status_code == 422
        assert error_messages(answer) == ["Payment is not available; choose another one."]
    assert (await draft.row(db))["completed_at"] is None


async def test_a_coupon_code_applies_to_a_draft(dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any) -> None:
    code = f"c{uuid4().hex}"
    await checkout_setup.make.new(
        "promotions",
        "promotion",
        name=code,
        code=code,
        promotion_actions_attributes=[{"type": "percent_off_order", "preferences": {"percent": "10"}}],
    )
    draft, _ = await new_ready_draft(dashboard, checkout_setup)

    await draft.save("coupon", coupon_code=f" {code.upper()} ")
    discounted = (await draft.row(db))["total"]
    await draft.save("coupon/remove")

    assert discounted == 2300
    assert (await draft.row(db))["total"] == 2500


@pytest.mark.parametrize("method_id", [CASH, LINK])
async def test_shoppers_cannot_pay_with_what_only_operators_may_use(
    http: httpx2.AsyncClient, buyer: Any, method_id: str
) -> None:
    machine = buyer.checkout_setup.make.machine
    await buyer.add_items((await buyer.checkout_setup.product(), 1))
    await buyer.enter_address()

    methods = await buyer.get("/checkout/payment_methods")
    payment = await buyer.post("/checkout/create_payment", payment_method_id=method_id)
    offer = await machine.patch(f"/payment_methods/{method_id}", {"payment_method": {"display_on": "both"}})
    deletion = await machine.delete(f"/payment_methods/{method_id}")

    assert method_id not in [each["id"] for each in methods.json["data"]]
    assert payment.code == "payment_method_not_found"
    assert (offer.status, deletion.status) == (422, 422)
