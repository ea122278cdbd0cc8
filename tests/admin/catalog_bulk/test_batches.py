"""Bulk operations: previewed, applied by the worker to ticked or found products, and undone for a day."""

import asyncio
import html
import json
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.admin.catalog_bulk.test_grid import price_of, variant_ids
from tests.admin.catalog_forms import error_messages, id_of, new_product, redirect_path, saved_message, unique_word
from tests.admin.dashboard import Dashboard, events

BULK, BATCHES = "/admin/products/bulk", "/admin/products/batches"
RAISE = {"kind": "price", "direction": "raise", "number": "5", "unit": "percent", "currency": "USD", "rounding": "95"}


async def wait_for_state(db: Any, batch: str, *states: str) -> Any:
    """Returns the batch once the worker has brought it to one of these states."""
    async with asyncio.timeout(60):
        while True:
            row = await db.fetchrow("select * from product_batches where id = $1", id_of(batch))
            if row["state"] in states:
                return row
            await asyncio.sleep(0.05)


async def apply(dashboard: Dashboard, db: Any, *products: str, **fields: Any) -> tuple[str, Any]:
    """Applies an operation to ticked products; returns the path of the batch, and its row once it is done."""
    form = {"scope": "ticked", "ids[]": [str(id_of(product)) for product in products], **fields, "step": "apply"}
    batch = redirect_path(await dashboard.post(BULK, **form))
    return batch, await wait_for_state(db, batch, "done")


async def undo(dashboard: Dashboard, db: Any, batch: str) -> Any:
    redirect_path(await dashboard.post(f"{batch}/undo"))
    return await wait_for_state(db, batch, "undone")


async def test_the_preview_shows_prices_before_and_after_and_changes_nothing(dashboard: Dashboard, db: Any) -> None:
    product = await new_product(dashboard, price="24.00")
    (variant,) = await variant_ids(db, product)
    page = await dashboard.get(f"{BULK}?scope=ticked&ids[]={id_of(product)}")
    assert "1 product." in page.text

    answer = await dashboard.post(BULK, scope="ticked", **{"ids[]": [str(id_of(product))]}, **RAISE)

    assert answer.status_code == 200
    text = html.unescape(answer.text)
    assert "Raise prices in USD by 5%, round to .95" in text
    assert "$24.00" in text
    assert "<b>$24.95</b>" in text
    assert await price_of(db, variant) == (2400, None)


async def test_ticked_products_are_changed_and_restored(dashboard: Dashboard, db: Any) -> None:
    product, other = await new_product(dashboard, price="24.00"), await new_product(dashboard, price="24.00")
    (variant,), (other_variant,) = await variant_ids(db, product), await variant_ids(db, other)

    batch, row = await apply(dashboard, db, product, **RAISE)

    assert (row["product_count"], row["done_count"], row["change_count"]) == (1, 1, 1)
    assert await price_of(db, variant) == (2495, None)
    assert await price_of(db, other_variant) == (2400, None)
    event = await db.fetchrow(
        "select actor_kind, actor_id from events where type = 'price.changed' and row ->> 'variant_id' = $1 "
        "order by occurred_at desc limit 1",
        variant,
    )
    assert tuple(event) == ("operator", dashboard.id)
    assert ("product_batch_created", "done") in await events(db, actor=dashboard.id)
    assert "Undo this change" in (await dashboard.get(batch)).text

    row = await undo(dashboard, db, batch)

    assert (row["undone_count"], row["skipped_count"]) == (1, 0)
    assert await price_of(db, variant) == (2400, None)
    page = (await dashboard.get(batch)).text
    assert "Undo this change" not in page
    assert (await dashboard.post(f"{batch}/undo")).status_code == 409


async def test_undo_leaves_alone_what_someone_changed_since(dashboard: Dashboard, db: Any) -> None:
    product, other = await new_product(dashboard, price="24.00"), await new_product(dashboard, price="10.00")
    (variant,), (other_variant,) = await variant_ids(db, product), await variant_ids(db, other)
    batch, _ = await apply(dashboard, db, product, other, **RAISE)
    form = {f"seen[{variant}][price-USD]": "24.95", f"cell[{variant}][price-USD]": "30.00"}
    assert (await dashboard.post("/admin/products/grid", **form, step="save")).status_code == 303

    row = await undo(dashboard, db, batch)

    assert (row["undone_count"], row["skipped_count"]) == (1, 1)
    assert await price_of(db, variant) == (3000, None)
    assert await price_of(db, other_variant) == (1000, None)
    assert "1, because someone changed them since" in (await dashboard.get(batch)).text


async def test_a_batch_of_yesterday_cannot_be_undone(dashboard: Dashboard, db: Any) -> None:
    product = await new_product(dashboard, price="24.00")
    (variant,) = await variant_ids(db, product)
    batch, _ = await apply(dashboard, db, product, **RAISE)
    await db.execute(
        "update product_batches set finished_at = finished_at - interval '25 hours' where id = $1", id_of(batch)
    )

    assert "Undo this change" not in (await dashboard.get(batch)).text
    assert (await dashboard.post(f"{batch}/undo")).status_code == 409
    assert await price_of(db, variant) == (2495, None)


@pytest.mark.torture
async def test_every_operation_changes_and_restores_its_value(dashboard: Dashboard, db: Any) -> None:
    product = await new_product(dashboard, price="24.00")
    (variant,), word = await variant_ids(db, product), unique_word()
    saved_message(await dashboard.post("/admin/taxons", tree_name=word))
    root = str(await db.fetchval("select id from taxons where name = $1", word))
    saved_message(await dashboard.post("/admin/taxons/add", taxon_name=f"Leaf {word}", parent_id=root))
    taxon = str(await db.fetchval("select id from taxons where name = $1", f"Leaf {word}"))
    shipping = str(await db.fetchval("select id from shipping_categories limit 1"))
    tax_id = uuid4()
    await db.execute(
        "insert into tax_categories (id, name, created_at, updated_at) values ($1, $2, now(), now())", tax_id, word
    )
    operations: list[tuple[dict[str, str], str, Any, Any]] = [
        ({"kind": "compare", "currency": "USD"}, "compare_at_amount", None, 2400),
        ({"kind": "status", "new_status": "archived"}, "status", "active", "archived"),
        ({"kind": "tax_category", "tax_category": str(tax_id)}, "tax_category_id", None, tax_id),
        ({"kind": "shipping_category", "shipping_category": shipping}, "shipping_category_id", None, UUID(shipping)),
        ({"kind": "add_taxon", "taxon": taxon}, "taxon_count", 0, 1),
    ]

    async def value_of(name: str) -> Any:
        return (
            await db.fetchrow(
                """select p.*, r.compare_at_amount,
                (select count(*) from classifications c where c.product_id = p.id) as taxon_count
                from products p, prices r where p.id = $1 and r.variant_id::text = $2""",
                id_of(product),
                variant,
            )
        )[name]

    for form, name, before, after in operations:
        assert await value_of(name) == before
        batch, row = await apply(dashboard, db, product, **form)
        assert (await value_of(name), row["change_count"]) == (after, 1)
        if name != "taxon_count":
            assert (await undo(dashboard, db, batch))["undone_count"] == 1
            assert await value_of(name) == before
    batch, _ = await apply(dashboard, db, product, kind="remove_taxon", taxon=taxon)
    assert await value_of("taxon_count") == 0
    await undo(dashboard, db, batch)
    assert await value_of("taxon_count") == 1


async def test_all_found_products_are_changed_in_several_transactions(dashboard: Dashboard, db: Any) -> None:
    word = unique_word()
    products = [await new_product(dashboard, name=f"Bulk {word}", status="draft") for _ in range(4)]
    other = await new_product(dashboard, name=f"Bulk {word}", status="active")
    form = {"scope": "all", "q": word, "status": "draft", "kind": "status", "new_status": "active"}
    assert "4 products" in (await dashboard.post(BULK, **form)).text

    batch = redirect_path(await dashboard.post(BULK, **form, step="apply"))
    row = await wait_for_state(db, batch, "done")

    assert (row["product_count"], row["done_count"], row["change_count"]) == (4, 4, 4)
    statuses = await db.fetch(
        "select status from products where id = any($1)", [id_of(product) for product in [*products, other]]
    )
    assert [status["status"] for status in statuses] == ["active"] * 5
    assert batch in (await dashboard.get(BATCHES)).text


async def test_a_batch_goes_on_where_a_crashed_process_stopped(dashboard: Dashboard, db: Any) -> None:
    products = sorted([await new_product(dashboard, price="24.00") for _ in range(3)], key=id_of)
    batch_id = uuid4()
    operation = {"kind": "price", "currency": "USD", "number": "10", "is_percent": True, "rounding": "none"}
    await db.execute(
        """insert into product_batches (id, operator_id, label, operation, product_ids, position, product_count,
        done_count, created_at, updated_at) values ($1, $2, 'Raise', $3, $4, $5, 3, 1, now(), now())""",
        batch_id,
        dashboard.id,
        json.dumps(operation),
        [id_of(product) for product in products],
        id_of(products[0]),
    )

    row = await wait_for_state(db, f"{BATCHES}/{batch_id}", "done")

    amounts = [await price_of(db, (await variant_ids(db, product))[0]) for product in products]
    assert amounts == [(2400, None), (2640, None), (2640, None)]
    assert (row["done_count"], row["change_count"]) == (3, 2)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"number": ""}, "Amount is required."),
        ({"number": "0"}, "Amount must not be zero."),
        ({"number": "100", "direction": "lower"}, "Amount must be less than 100"),
        ({"number": "1001"}, "Amount must be less than 100"),
        ({"number": "9" * 400}, "Amount must be a number like 19.99."),
        ({"number": "1.999", "unit": "amount"}, "Amount has more decimals than USD allows (2)."),
        ({"currency": "XXX"}, "Currency is not a valid choice."),
        ({"rounding": "7"}, "Rounding is not a valid choice."),
        ({"kind": "explode"}, "Change is not a valid choice."),
        ({"kind": "add_taxon", "taxon": "x"}, "Category is not a valid choice."),
        ({"ids[]": []}, "Tick at least one product in the list."),
        ({"ids[]": ["nonsense"]}, "Tick at least one product in the list."),
    ],
)
async def test_an_invalid_operation_is_refused(dashboard: Dashboard, fields: dict[str, Any], message: str) -> None:
    product = await new_product(dashboard, price="24.00")
    form = {"scope": "ticked", "ids[]": [str(id_of(product))], **RAISE, **fields, "step": "apply"}

    answer = await dashboard.post(BULK, **form)

    assert answer.status_code == 422
    assert any(text.startswith(message) for text in error_messages(answer)), error_messages(answer)


async def test_without_ticked_products_the_form_says_what_to_do(dashboard: Dashboard) -> None:
    page = (await dashboard.get(BULK)).text

    assert "<h2>No products ticked</h2>" in page
    assert "0 product" not in page
