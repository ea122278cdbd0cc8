"""The grid of products: many cells in one form; a row that someone else changed is not saved, all others are."""

import asyncio
import html
import re
from typing import Any

from tests.admin.catalog_forms import field, id_of, new_location, new_product, new_variants, unique_word
from tests.admin.dashboard import Dashboard, events

GRID = "/admin/products/grid"


async def variant_ids(db: Any, product: str) -> list[str]:
    """The ids of the variants of a product that are for sale."""
    rows = await db.fetch(
        """select id, is_master from variants where product_id = $1 and deleted_at is null
        order by is_master, position""",
        id_of(product),
    )
    others = [str(row["id"]) for row in rows if not row["is_master"]]
    return others or [str(row["id"]) for row in rows]


def cells(owner: str, **values: tuple[str, str]) -> dict[str, str]:
    """The fields of a row: the value before and after by column; `_` is a hyphen."""
    form: dict[str, str] = {}
    for name, (before, after) in values.items():
        column = name.replace("__", "-")
        form |= {f"seen[{owner}][{column}]": before, f"cell[{owner}][{column}]": after}
    return form


async def price_of(db: Any, variant: str) -> tuple[int | None, int | None]:
    row = await db.fetchrow("select amount, compare_at_amount from prices where variant_id::text = $1", variant)
    return (row["amount"], row["compare_at_amount"]) if row else (None, None)


def problems(page: str) -> list[str]:
    match = re.search(r'<div class="summary".*?</div>', page, re.DOTALL)
    return [html.unescape(text) for text in re.findall(r"<li><a[^>]*>([^<]+)</a>", match[0])] if match else []


async def test_the_grid_shows_the_variants_of_the_found_products(dashboard: Dashboard, db: Any) -> None:
    word = unique_word()
    product = await new_product(dashboard, name=f"Grid {word}", price="24.00")
    (variant,) = await variant_ids(db, product)

    page = (await dashboard.get(f"{GRID}?q={word}")).text

    assert "1 product<" in page
    assert field(page, f"cell[{variant}][price-USD]") == "24.00"
    assert field(page, f"seen[{variant}][price-USD]") == "24.00"
    assert f'name="cell[{variant}][cost]"' not in page
    columns = (await dashboard.get(f"{GRID}?q={word}&columns[]=cost&columns[]=tax_category")).text
    assert f'name="cell[{variant}][cost]"' in columns
    assert f'name="cell[{id_of(product)}][tax_category]"' in columns
    assert f'name="cell[{variant}][price-USD]"' not in columns
    assert f"No product matches “{word}zzz”" in (await dashboard.get(f"{GRID}?q={word}zzz")).text


async def test_one_form_saves_changes_of_all_kinds(dashboard: Dashboard, db: Any) -> None:
    product, (red_sku, _) = await new_variants(dashboard, db)
    red, blue = await variant_ids(db, product)
    product_id, location, new_sku = str(id_of(product)), await new_location(dashboard, db), unique_word()
    form = {
        **cells(red, price__USD=("20.00", "18.5"), compare__USD=("", "20"), sku=(red_sku, new_sku), cost=("", "7")),
        **cells(red, **{f"stock__{location}": ("", "12")}),
        **cells(blue, price__USD=("20.00", "")),
        **cells(product_id, status=("active", "draft"), available_on=("", "2030-01-02T03:04")),
    }

    answer = await dashboard.post(f"{GRID}?q={new_sku}", **form, step="save")

    assert answer.status_code == 303, problems(answer.text)
    assert answer.headers["location"].endswith("saved=8")
    assert await price_of(db, red) == (1850, 2000)
    assert await price_of(db, blue) == (None, None)
    row = await db.fetchrow("select sku, cost_price, cost_currency from variants where id::text = $1", red)
    assert tuple(row) == (new_sku, 700, "USD")
    status = await db.fetchrow("select status, available_on from products where id = $1", id_of(product))
    assert (status["status"], status["available_on"].year) == ("draft", 2030)
    item = await db.fetchrow("select id, count_on_hand from stock_items where variant_id::text = $1", red)
    assert item["count_on_hand"] == 12
    movement = await db.fetchrow("select quantity, actor_id from stock_movements where stock_item_id = $1", item["id"])
    assert tuple(movement) == (12, dashboard.id)
    actions = {action for action, _ in await events(db, actor=dashboard.id)}
    assert {"price_changed", "variant_updated", "product_updated", "stock_item_changed"} <= actions

    counted = await dashboard.post(GRID, **cells(red, **{f"stock__{location}": ("12", "5")}), step="save")
    assert counted.status_code == 303
    total = await db.fetchval("select sum(quantity) from stock_movements where stock_item_id = $1", item["id"])
    assert total == 5


async def test_changes_are_reviewed_before_they_are_saved(dashboard: Dashboard, db: Any) -> None:
    product = await new_product(dashboard, price="24.00")
    (variant,) = await variant_ids(db, product)
    form = cells(variant, price__USD=("24.00", "25.00"), compare__USD=("", "x"))

    page = (await dashboard.post(GRID, **form, step="review")).text

    assert "2 changed values" in page
    assert "24.00" in page
    assert "<b>25.00</b>" in page
    assert "must be a number like 19.99" in page
    assert field(page, f"cell[{variant}][price-USD]") == "25.00"
    assert await price_of(db, variant) == (2400, None)
    word = await db.fetchval("select sku from variants where id::text = $1", variant)
    back = (await dashboard.post(f"{GRID}?q={word}", **form, step="edit")).text
    assert field(back, f"cell[{variant}][price-USD]") == "25.00"
    assert field(back, f"seen[{variant}][price-USD]") == "24.00"


async def test_a_row_that_someone_else_changed_is_reported_and_all_others_are_saved(
    dashboard: Dashboard, other_dashboard: Dashboard, db: Any
) -> None:
    product, (red_sku, _) = await new_variants(dashboard, db)
    red, blue = await variant_ids(db, product)
    first = cells(red, price__USD=("20.00", "21.00"))
    assert (await other_dashboard.post(GRID, **first, step="save")).status_code == 303

    second = {
        **cells(red, price__USD=("20.00", "19.00"), compare__USD=("", "30.00")),
        **cells(blue, price__USD=("20.00", "22.00")),
    }
    answer = await dashboard.post(f"{GRID}?q={red_sku}", **second, step="save")

    assert answer.status_code == 409
    (message,) = problems(answer.text)
    assert "Price (USD) was changed meanwhile from 20.00 to 21.00. You entered 19.00." in message
    assert await price_of(db, red) == (2100, None)
    assert await price_of(db, blue) == (2200, None)
    page = answer.text
    again = {name: field(page, name) for name in second if red in name}
    assert (again[f"seen[{red}][price-USD]"], again[f"cell[{red}][price-USD]"]) == ("21.00", "19.00")
    assert (await dashboard.post(GRID, **again, step="save")).status_code == 303
    assert await price_of(db, red) == (1900, 3000)


async def test_of_two_operators_at_the_same_time_one_is_told(
    dashboard: Dashboard, other_dashboard: Dashboard, db: Any
) -> None:
    product = await new_product(dashboard, price="24.00")
    (variant,) = await variant_ids(db, product)

    answers = await asyncio.gather(
        dashboard.post(GRID, **cells(variant, price__USD=("24.00", "25.00")), step="save"),
        other_dashboard.post(GRID, **cells(variant, price__USD=("24.00", "26.00")), step="save"),
    )

    assert sorted(answer.status_code for answer in answers) == [303, 409]


async def test_invalid_cells_are_refused_by_row(dashboard: Dashboard, db: Any) -> None:
    first, second = await new_product(dashboard, price="24.00"), await new_product(dashboard, price="24.00")
    (one,), (two,) = await variant_ids(db, first), await variant_ids(db, second)
    location, sku = (
        await new_location(dashboard, db),
        await db.fetchval("select sku from variants where id::text=$1", one),
    )
    two_sku = await db.fetchval("select sku from variants where id::text=$1", two)
    unknown = "00000000-0000-4000-8000-000000000000"
    refused: list[tuple[str, dict[str, str], str]] = [
        (two, cells(two, sku=(two_sku, sku)), "SKU is taken"),
        (two, cells(two, sku=(two_sku, "a\nb")), "SKU must be one line"),
        (two, cells(two, price__USD=("24.00", "9" * 60)), "must be a number"),
        (two, cells(two, price__USD=("24.00", ""), compare__USD=("", "5")), "needs a price"),
        (two, cells(two, **{f"stock__{location}": ("", "-1")}), "must be 0 or more"),
        (two, cells(two, **{f"stock__{location}": ("", "1000000000")}), "must be a whole number"),
        (two, cells(str(id_of(second)), tax_category=("", unknown)), "is not a valid choice"),
        (two, cells(str(id_of(second)), status=("active", "gone")), "must be one of"),
        (two, cells(str(id_of(second)), available_on=("", "0001-01-01T00:00")), "must be a date"),
        (two, cells(unknown, price__USD=("", "1.00")), "no longer exists"),
    ]
    for number, (_, form, message) in enumerate(refused):
        good = cells(one, price__USD=(f"{24 + number}.00", f"{25 + number}.00"))
        answer = await dashboard.post(GRID, **form, **good, step="save")
        assert answer.status_code == 422, (form, answer.status_code)
        assert any(message in text for text in problems(answer.text)), (message, problems(answer.text))
    assert await price_of(db, one) == (2400 + 100 * len(refused), None)
    assert await price_of(db, two) == (2400, None)


async def test_only_known_columns_and_texts_are_read(dashboard: Dashboard) -> None:
    form = {"cell[x][price-USD]": "1", "cell[00000000-0000-4000-8000-000000000000][nothing]": "1", "cell": "x"}
    del form["cell"]
    answer = await dashboard.post(GRID, **form, step="save")
    assert answer.status_code == 200
    assert "no value was changed" in answer.text


async def test_pages_of_the_grid_lead_to_each_other(dashboard: Dashboard, db: Any) -> None:
    word = unique_word()
    products = [await new_product(dashboard, name=f"Paged {word}") for _ in range(27)]
    first = (await dashboard.get(f"{GRID}?q={word}&columns[]=sku&columns[]=cost")).text
    link = re.search(r'href="([^"]+)" rel="next"', first)
    assert link
    assert "27 products" in first
    second = (await dashboard.get(html.unescape(link[1]))).text
    assert 'name="cell[' in second
    assert "[cost]" in second
    assert "[price-USD]" not in second
    assert str(id_of(products[0])) in second
    assert str(id_of(products[26])) in first
    back = re.search(r'href="([^"]+)" rel="prev"', second)
    assert back
    assert str(id_of(products[26])) in (await dashboard.get(html.unescape(back[1]))).text
