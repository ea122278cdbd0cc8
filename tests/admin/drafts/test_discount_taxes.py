"""Taxes of drafts with discounts: those of the price that the customer pays."""

from typing import Any
from uuid import UUID, uuid4

from tests.admin.dashboard import Dashboard
from tests.admin.drafts.builders import CASH, DraftClient, new_ready_draft
from tests.admin.drafts.test_placement import find_problems
from tests.admin.order_builders import text_of
from tests.admin.order_edits.forms import read_forms
from tests.builders import ProductIds
from tests.checkout_builders import CheckoutSetup


async def new_taxed_product(checkout_setup: CheckoutSetup, rate: str, *, is_included: bool) -> ProductIds:
    """A product of ten dollars whose tax is part of the price or added to it."""
    make = checkout_setup.make
    category = await make.new("tax_categories", "tax_category", name=uuid4().hex)
    fields = {"name": "VAT", "zone_id": checkout_setup.zone, "tax_category_id": category.id, "amount": rate}
    await make.new("tax_rates", "tax_rate", **fields, included_in_price=is_included)
    return await checkout_setup.product(tax_category_id=category.id)


async def taxes_of(db: Any, draft: DraftClient) -> tuple[int, int, int]:
    row = await draft.row(db)
    return row["included_tax_total"], row["additional_tax_total"], row["total"]


async def test_a_discount_of_a_line_lowers_the_included_tax_of_this_line(
    dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any
) -> None:
    draft, untaxed_product = await new_ready_draft(dashboard, checkout_setup)
    product = await new_taxed_product(checkout_setup, "0.19", is_included=True)
    await draft.add(product, 2)
    # 2000 less 2000 / 1.19.
    assert await taxes_of(db, draft) == (319, 0, 4500)

    line_id = await draft.line_id(db, untaxed_product)
    await draft.save("discount", kind="amount", value="10", reason="Scratched", line_item_id=line_id)
    assert await taxes_of(db, draft) == (319, 0, 3500)
    line_id = await draft.line_id(db, product)
    await draft.save("discount", kind="percent", value="50", reason="Scratched", line_item_id=line_id)

    # 1000 less 1000 / 1.19.
    assert await taxes_of(db, draft) == (160, 0, 2500)
    await draft.save("quantity", line_item_id=line_id, quantity="4")
    assert await taxes_of(db, draft) == (319, 0, 3500)
    await draft.save("discount/remove", line_item_id=line_id)
    assert await taxes_of(db, draft) == (639, 0, 5500)


async def test_a_discount_of_the_order_lowers_the_taxes_of_all_items_in_proportion(
    dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any
) -> None:
    draft, _ = await new_ready_draft(dashboard, checkout_setup)
    await draft.add(await new_taxed_product(checkout_setup, "0.10", is_included=False), 2)
    assert await taxes_of(db, draft) == (0, 200, 4700)

    await draft.save("discount", kind="amount", value="10", reason="Loyal customer")

    # Half of the ten dollars is on the taxed items: 10 % of 15 dollars.
    assert await taxes_of(db, draft) == (0, 150, 3650)
    await draft.save("discount", kind="amount", value="1000", reason="A gift")
    assert await taxes_of(db, draft) == (0, 0, 0)
    await draft.save("discount", kind="percent", value="10", reason="Loyal customer")
    assert await taxes_of(db, draft) == (0, 180, 4280)


async def test_the_invoice_and_later_edits_keep_the_taxes_of_the_price_paid(
    dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any
) -> None:
    draft, _ = await new_ready_draft(dashboard, checkout_setup)
    product = await new_taxed_product(checkout_setup, "0.10", is_included=False)
    await draft.add(product, 2)
    await draft.save("discount", kind="amount", value="10", reason="Loyal customer")
    await draft.place(CASH)
    assert await taxes_of(db, draft) == (0, 150, 3650)
    assert await find_problems(db, draft) == []

    path = f"/admin/orders/{draft.number}"
    await dashboard.post(f"{path}/invoice")
    invoice = text_of((await dashboard.get(f"{path}/invoice")).text)
    assert "VAT 10% $15.00 $1.50 $16.50" in invoice
    assert "Discounts and adjustments of the order" not in invoice
    line_id = await draft.line_id(db, product)
    form = read_forms((await dashboard.get(f"{path}/edit")).text, f"{path}/edit")[-1]
    preview = await dashboard.post(f"{path}/edit", **{**form, f"quantity[{line_id}]": "1", "do": "preview"})
    form = read_forms(preview.text, f"{path}/edit")[0]
    assert (await dashboard.post(f"{path}/edit", **form, do="save")).status_code == 303

    # Ten dollars off three items of ten: 10 % of 6.67.
    assert await taxes_of(db, draft) == (0, 67, 2567)
    assert await find_problems(db, draft) == []


async def test_an_adjustment_of_an_application_changes_no_taxes(
    dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any
) -> None:
    draft, _ = await new_ready_draft(dashboard, checkout_setup)
    await draft.add(await new_taxed_product(checkout_setup, "0.10", is_included=False), 2)
    order_id: UUID = (await draft.row(db))["id"]
    fields = {"order_id": str(order_id), "adjustable_type": "order", "adjustable_id": str(order_id)}

    await checkout_setup.make.new("adjustments", "adjustment", **fields, label="Rounding", amount="-10.00")

    assert await taxes_of(db, draft) == (0, 200, 3700)
