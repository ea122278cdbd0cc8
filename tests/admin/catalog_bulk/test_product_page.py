"""The page of a product: details and cells of all variants are saved together, by one of two operators at a time."""

import asyncio
import html
import re
from typing import Any
from uuid import UUID

import httpx2
import pytest

from tests.admin.catalog.test_products import details_form
from tests.admin.catalog_bulk.test_grid import cells, price_of, variant_ids
from tests.admin.catalog_forms import (
    error_messages,
    field,
    id_of,
    image_data,
    new_location,
    new_product,
    new_variants,
    redirect_path,
    saved_message,
    unique_word,
    upload,
)
from tests.admin.dashboard import Dashboard, events, new_dashboard, new_role


def current_values(page: str) -> dict[str, str]:
    """The values that the page shows because someone else saved them meanwhile."""
    return {
        html.unescape(name): html.unescape(text) for name, text in re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page)
    }


async def test_one_form_saves_details_prices_stock_sizes_and_images(dashboard: Dashboard, db: Any) -> None:
    product, (red_sku, _) = await new_variants(dashboard, db)
    red, blue = await variant_ids(db, product)
    location, new_sku = await new_location(dashboard, db), unique_word()
    page = (await dashboard.get(product)).text
    assert field(page, f"cell[{red}][price-USD]") == "20.00"
    assert field(page, f"cell[{red}][weight]") == ""
    form = {
        **details_form(page, name="All at once", meta_title="Buy it"),
        **cells(red, price__USD=("20.00", "18.5"), sku=(red_sku, new_sku), cost=("", "7"), weight=("", "0.40")),
        **cells(blue, height=("", "12"), **{f"stock__{location}": ("", "9")}),
    }
    parts = [
        ("files", ("a.png", image_data(), "image/png")),
        (f"variant_files[{blue}]", ("b.png", image_data(), "image/png")),
    ]

    answer = await dashboard.http.post(
        product,
        data={"csrf": await dashboard.csrf(), **form},
        files=parts,
        headers={**dashboard.cookie, "Sec-Fetch-Site": "same-origin"},
    )

    assert saved_message(answer) == "saved"
    assert await price_of(db, red) == (1850, None)
    row = await db.fetchrow("select sku, cost_price, weight from variants where id = $1", UUID(red))
    assert (row["sku"], row["cost_price"], str(row["weight"])) == (new_sku, 700, "0.4")
    assert await db.fetchval("select height from variants where id = $1", UUID(blue)) == 12
    assert await db.fetchval("select count_on_hand from stock_items where variant_id = $1", UUID(blue)) == 9
    assert await db.fetchval("select name from products where id = $1", id_of(product)) == "All at once"
    images = await db.fetch("select variant_id from images where product_id = $1 order by position", id_of(product))
    assert [str(each["variant_id"]) == blue for each in images] == [False, True]
    actions = {action for action, _ in await events(db, actor=dashboard.id)}
    assert {"price_changed", "variant_updated", "product_updated", "stock_item_changed"} <= actions
    page = (await dashboard.get(product)).text
    assert field(page, f"cell[{red}][weight]") == "0.4"
    assert f'href="/admin/orders?product={id_of(product)}"' in page
    assert (await dashboard.get(f"/admin/orders?product={id_of(product)}")).status_code == 200


@pytest.mark.parametrize(
    ("column", "text", "message"),
    [
        ("price__USD", "1.999", "Price (USD) has more decimals than USD allows (2)."),
        ("weight", "heavy", "Weight (kg) must be a number like 19.99."),
        ("weight", "1000000000", "Weight (kg) must be from 0 to 999999999."),
        ("depth", "-1", "Depth (cm) must be a number like 19.99."),
        ("sku", "a\nb", "SKU must be one line of at most 100 characters."),
    ],
)
async def test_a_refused_cell_saves_nothing_and_is_shown_again(
    dashboard: Dashboard, db: Any, column: str, text: str, message: str
) -> None:
    product = await new_product(dashboard)
    (variant,) = await variant_ids(db, product)
    page = (await dashboard.get(product)).text
    name = column.replace("__", "-")
    edit = cells(variant, **{column: (field(page, f"seen[{variant}][{name}]"), text)})

    answer = await dashboard.post(product, **details_form(page, name="Not saved", slug="No Slug"), **edit)

    assert answer.status_code == 422
    assert message in error_messages(answer)
    again = await dashboard.post(product, **details_form(page, name="Not saved"), **edit)
    assert (again.status_code, error_messages(again)) == (422, [message])
    assert field(again.text, f"cell[{variant}][{name}]") == text
    assert await db.fetchval("select name from products where id = $1", id_of(product)) != "Not saved"


async def test_a_sku_in_use_is_refused(dashboard: Dashboard, db: Any) -> None:
    product, (_, blue_sku) = await new_variants(dashboard, db)
    red, _ = await variant_ids(db, product)
    page = (await dashboard.get(product)).text

    edit = cells(red, sku=(field(page, f"seen[{red}][sku]"), blue_sku))
    answer = await dashboard.post(product, **details_form(page), **edit)

    (message,) = error_messages(answer)
    assert answer.status_code == 422
    assert message.startswith("SKU of Color")
    assert message.endswith(": Red is taken.")


async def test_both_conflicts_are_shown_and_saving_again_replaces_them(
    dashboard: Dashboard, other_dashboard: Dashboard, db: Any
) -> None:
    product = await new_product(dashboard, price="24.00")
    (variant,) = await variant_ids(db, product)
    page = (await dashboard.get(product)).text
    first = {**details_form(page, name="First"), **cells(variant, price__USD=("24.00", "25.00"))}
    assert saved_message(await other_dashboard.post(product, **first)) == "saved"

    second = {**details_form(page, name="Second"), **cells(variant, price__USD=("24.00", "26.00"))}
    answer = await dashboard.post(product, **second)

    assert answer.status_code == 409
    assert current_values(answer.text).items() >= {"Name": "First", "Price (USD)": "25.00"}.items()
    assert await price_of(db, variant) == (2500, None)
    assert field(answer.text, f"cell[{variant}][price-USD]") == "26.00"
    assert field(answer.text, f"seen[{variant}][price-USD]") == "25.00"
    again = {**details_form(answer.text), **cells(variant, price__USD=("25.00", "26.00"))}
    assert saved_message(await dashboard.post(product, **again)) == "saved"
    assert await price_of(db, variant) == (2600, None)


async def test_a_cell_that_someone_else_changed_is_a_conflict_and_no_error(dashboard: Dashboard, db: Any) -> None:
    product = await new_product(dashboard, price="24.00")
    (variant,) = await variant_ids(db, product)
    page = (await dashboard.get(product)).text

    answer = await dashboard.post(product, **details_form(page), **cells(variant, price__USD=("23.00", "26.00")))

    assert (answer.status_code, error_messages(answer)) == (409, [])
    assert current_values(answer.text)["Price (USD)"] == "24.00"
    assert await price_of(db, variant) == (2400, None)


async def test_a_change_of_another_cell_is_no_conflict_and_stays(
    dashboard: Dashboard, other_dashboard: Dashboard, db: Any
) -> None:
    product, _ = await new_variants(dashboard, db)
    red, blue = await variant_ids(db, product)
    page = (await dashboard.get(product)).text
    first = {**details_form(page), **cells(red, price__USD=("20.00", "21.00"))}
    assert saved_message(await other_dashboard.post(product, **first)) == "saved"

    second = {**cells(red, price__USD=("20.00", "20.00")), **cells(blue, price__USD=("20.00", "22.00"))}
    assert saved_message(await dashboard.post(product, **details_form(page), **second)) == "saved"

    assert [await price_of(db, each) for each in (red, blue)] == [(2100, None), (2200, None)]


async def test_of_two_operators_who_save_at_once_one_sees_what_changed(
    dashboard: Dashboard, other_dashboard: Dashboard, db: Any
) -> None:
    product = await new_product(dashboard, price="24.00")
    (variant,) = await variant_ids(db, product)
    page = (await dashboard.get(product)).text

    async def save(operator: Dashboard, name: str, price: str) -> httpx2.Response:
        edit = cells(variant, price__USD=("24.00", price))
        return await operator.post(product, **details_form(page, name=name), **edit)

    answers = await asyncio.gather(save(dashboard, "Mine", "25.00"), save(other_dashboard, "Yours", "26.00"))

    assert sorted(answer.status_code for answer in answers) == [303, 409]
    name, price = ("Mine", "25.00") if answers[0].status_code == 303 else ("Yours", "26.00")
    refused = next(answer for answer in answers if answer.status_code == 409)
    assert current_values(refused.text).items() >= {"Name": name, "Price (USD)": price}.items()
    assert await db.fetchval("select name from products where id = $1", id_of(product)) == name
    assert await price_of(db, variant) == (round(float(price) * 100), None)


async def test_a_variant_that_was_removed_meanwhile_is_named(dashboard: Dashboard, db: Any) -> None:
    product, _ = await new_variants(dashboard, db)
    red, _ = await variant_ids(db, product)
    page = (await dashboard.get(product)).text
    saved_message(await dashboard.post(f"{product}/variants/{red}/remove"))

    answer = await dashboard.post(product, **details_form(page), **cells(red, price__USD=("20.00", "21.00")))

    assert answer.status_code == 422
    assert error_messages(answer) == ["Price (USD) of a variant that you changed no longer exists."]


async def test_cells_of_another_product_are_not_saved(dashboard: Dashboard, db: Any) -> None:
    product, other = await new_product(dashboard), await new_product(dashboard, price="24.00")
    (variant,) = await variant_ids(db, other)
    page = (await dashboard.get(product)).text

    answer = await dashboard.post(product, **details_form(page), **cells(variant, price__USD=("24.00", "1.00")))

    assert answer.status_code == 404
    assert await price_of(db, variant) == (2400, None)


async def test_costs_and_stock_need_their_permissions(dashboard: Dashboard, db: Any) -> None:
    product, location = await new_product(dashboard), await new_location(dashboard, db)
    (variant,) = await variant_ids(db, product)
    role_id = await new_role(db, "products:read", "products:write")
    merchandiser = await new_dashboard(dashboard.http, db, role_id=role_id)
    page = (await merchandiser.get(product)).text
    assert f"[{variant}][price-USD]" in page
    assert f"[{variant}][cost]" not in page
    assert f"[{variant}][stock-" not in page
    assert "/admin/orders?product=" not in page

    edits = cells(variant, cost=("", "7"), **{f"stock__{location}": ("", "12")})
    assert saved_message(await merchandiser.post(product, **details_form(page), **edits)) == "saved"

    assert await db.fetchval("select cost_price from variants where id = $1", UUID(variant)) is None
    assert await db.fetchval("select count(*) from stock_items where variant_id = $1", UUID(variant)) == 0


async def test_a_file_that_is_no_image_is_reported_and_the_rest_is_saved(dashboard: Dashboard, db: Any) -> None:
    product = await new_product(dashboard)
    page = (await dashboard.get(product)).text

    answer = await upload(dashboard, product, b"no image", **details_form(page, name="With a file"))

    assert redirect_path(answer) == f"{product}/images"
    assert saved_message(answer) == "refused"
    assert await db.fetchval("select name from products where id = $1", id_of(product)) == "With a file"


async def test_the_history_names_what_changed_as_the_form_does(dashboard: Dashboard) -> None:
    product = await new_product(dashboard)
    before = (await dashboard.get(product)).text.partition(">History</h2>")[2].partition("</section>")[0]
    saved_message(await dashboard.post(product, **details_form((await dashboard.get(product)).text, meta_title="Buy")))

    history = (await dashboard.get(product)).text.partition(">History</h2>")[2].partition("</section>")[0]

    assert "Product created" in before
    assert "→" not in before
    assert "Title for search engines: empty → Buy" in history
    assert history.count("→") == 1


async def test_a_cost_in_another_currency_says_so(dashboard: Dashboard, db: Any) -> None:
    product = await new_product(dashboard)
    await db.execute(
        "update variants set cost_price = 700, cost_currency = 'EUR' where product_id = $1", id_of(product)
    )

    page = (await dashboard.get(product)).text

    assert ">Cost (USD)</th>" in page
    assert '<span class="hint">in EUR</span>' in page
