"""The form of a new product: options become a table of variants, and everything is saved together or not at all."""

import html
import re
from typing import Any
from uuid import UUID

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
from tests.admin.dashboard import SAME_ORIGIN, Dashboard

NEW = "/admin/products/new"


def options_form(word: str, **fields: str) -> dict[str, str]:
    sizes = {"option1_name": f"Size {word}", "option1_values": "S, M, L"}
    colors = {"option2_name": f"Color {word}", "option2_values": "red, blue"}
    return {"name": f"Shirt {word}", "status": "active", "sku": word, "price-USD": "20.00", **sizes, **colors, **fields}


def variant_fields(page: str) -> dict[str, str]:
    """The fields of the table of variants, by name."""
    names = re.findall(r'name="(variant\[[^"]+)"', page)
    return {name: field(page, name) for name in names}


async def test_options_become_a_table_of_variants_with_suggested_values(dashboard: Dashboard) -> None:
    word = unique_word()

    page = (await dashboard.post(NEW, **options_form(word), step="variants")).text

    rows = variant_fields(page)
    assert "6 variants" in page
    assert [text for name, text in rows.items() if name.endswith("[sku]")] == [
        f"{word}-{size}-{color}" for size in "SML" for color in ("RED", "BLUE")
    ]
    assert {text for name, text in rows.items() if name.endswith("[price-USD]")} == {"20.00"}
    assert field(page, "name") == f"Shirt {word}"


async def test_a_product_with_variants_prices_stock_and_images_is_created_at_once(
    dashboard: Dashboard, db: Any
) -> None:
    word, location = unique_word(), await new_location(dashboard, db)
    form = options_form(word, cost="7.50", weight="0.4", available_on="2030-01-02T03:04", meta_title="Buy it")
    page = (await dashboard.post(NEW, **form, step="variants")).text
    rows = variant_fields(page)
    keys = list(dict.fromkeys(name.split("[")[1].rstrip("]") for name in rows))
    rows[f"variant[{keys[0]}][price-USD]"] = "18.00"
    rows |= {f"variant[{key}][stock-{location}]": str(number) for number, key in enumerate(keys)}
    parts = [
        ("files", ("a.png", image_data(), "image/png")),
        ("files", ("b.png", image_data("#27395c"), "image/png")),
        (f"variant_files[{keys[0]}]", ("c.png", image_data("#ffffff"), "image/png")),
    ]
    fields = {**form, **rows, "shown_options": field(page, "shown_options"), "step": "create"}
    csrf = {"csrf": await dashboard.csrf()}
    headers = {**dashboard.cookie, **SAME_ORIGIN}

    answer = await dashboard.http.post(NEW, data={**csrf, **fields}, files=parts, headers=headers)

    product = id_of(redirect_path(answer))
    variants = await db.fetch(
        """select v.sku, v.cost_price, v.weight, p.amount, s.count_on_hand, v.id
        from variants v join prices p on p.variant_id = v.id and p.currency = 'USD'
        left join stock_items s on s.variant_id = v.id and s.stock_location_id = $2
        where v.product_id = $1 and not v.is_master order by v.position""",
        product,
        UUID(location),
    )
    assert [(row["sku"], row["amount"], row["count_on_hand"]) for row in variants] == [
        (f"{word}-{size}-{color}", 1800 if number == 0 else 2000, number)
        for number, (size, color) in enumerate((size, color) for size in "SML" for color in ("RED", "BLUE"))
    ]
    assert {(row["cost_price"], str(row["weight"])) for row in variants} == {(750, "0.4")}
    row = await db.fetchrow("select status, meta_title, available_on from products where id = $1", product)
    assert (row["status"], row["meta_title"], row["available_on"].year) == ("active", "Buy it", 2030)
    images = await db.fetch("select variant_id from images where product_id = $1 order by position", product)
    assert len(images) == 3
    assert images[2]["variant_id"] == variants[0]["id"]
    movements = await db.fetchval(
        """select count(*) from stock_movements m join stock_items s on s.id = m.stock_item_id
        where s.variant_id = any($1) and m.reason = 'received' and m.actor_id = $2""",
        [row["id"] for row in variants],
        dashboard.id,
    )
    assert movements == 5


async def test_a_refused_cell_saves_nothing_and_keeps_the_input(dashboard: Dashboard, db: Any) -> None:
    word, taken = unique_word(), unique_word()
    await new_product(dashboard, sku=taken)
    page = (await dashboard.post(NEW, **options_form(word), step="variants")).text
    rows = variant_fields(page)
    skus = [name for name in rows if name.endswith("[sku]")]
    prices = [name for name in rows if name.endswith("[price-USD]")]
    rows |= {skus[0]: taken, prices[1]: "1.999"}

    form = {**options_form(word), **rows, "shown_options": field(page, "shown_options")}
    answer = await dashboard.post(NEW, **form, step="create")

    assert answer.status_code == 422
    assert sorted(error_messages(answer)) == [
        "Price (USD) of S, blue has more decimals than USD allows (2).",
        "SKU of S, red is taken.",
    ]
    assert field(answer.text, skus[0]) == taken
    assert await db.fetchval("select count(*) from products where name = $1", f"Shirt {word}") == 0


async def test_options_that_changed_since_the_table_are_shown_first(dashboard: Dashboard, db: Any) -> None:
    word = unique_word()
    answer = await dashboard.post(NEW, **options_form(word), step="create")

    assert answer.status_code == 422
    assert error_messages(answer) == ["Options have changed; check the variants before you create the product."]
    assert "6 variants" in answer.text
    assert await db.fetchval("select count(*) from products where name = $1", f"Shirt {word}") == 0


async def test_invalid_options_are_refused(dashboard: Dashboard) -> None:
    word = unique_word()
    many = ",".join(f"v{number}" for number in range(30))
    cases = [
        ({"option1_name": "", "option1_values": "S"}, "Options must have a name and at least one value each."),
        ({"option1_name": "x" * 61}, "Options must have names and values of at most 60 characters."),
        ({"option2_name": f"size {word}"}, "Options must have different names."),
        ({"option1_values": many, "option2_values": many}, "Options would create 900 variants; create at most 100"),
    ]
    for fields, message in cases:
        answer = await dashboard.post(NEW, **{**options_form(word), **fields}, step="variants")
        assert answer.status_code == 422
        assert error_messages(answer)[0].startswith(message)


async def test_a_product_is_duplicated_as_a_draft_without_skus_and_stock(dashboard: Dashboard, db: Any) -> None:
    product, _ = await new_variants(dashboard, db)

    copy = id_of(redirect_path(await dashboard.post(f"{product}/duplicate")))

    row = await db.fetchrow(
        "select c.status, c.name, o.name as former, c.slug <> o.slug as has_own_slug "
        "from products c, products o where c.id = $1 and o.id = $2",
        copy,
        id_of(product),
    )
    assert (row["status"], row["name"], row["has_own_slug"]) == ("draft", f"Copy of {row['former']}", True)
    variants = await db.fetch(
        """select v.sku, p.amount,
        (select count(*) from variant_option_values o where o.variant_id = v.id) as options
        from variants v join prices p on p.variant_id = v.id where v.product_id = $1
        order by v.is_master, v.position""",
        copy,
    )
    assert [tuple(each) for each in variants] == [("", 2000, 1), ("", 2000, 1), ("", 2400, 0)]
    assert await db.fetchval("select cardinality(variant_ids) from listings where product_id = $1", copy) == 2


async def test_a_duplicate_has_its_own_copies_of_the_images(dashboard: Dashboard, db: Any) -> None:
    product, (red_sku, _) = await new_variants(dashboard, db)
    assert (
        await upload(dashboard, f"{product}/images", image_data(), image_data(), new_alt="A mug")
    ).status_code == 303
    first, second = await db.fetch("select id from images where product_id = $1 order by position", id_of(product))
    red = await db.fetchval("select id::text from variants where sku = $1", red_sku)
    saved_message(await dashboard.post(f"{product}/images/{second['id']}", alt="Red", variant_id=red))

    answer = await dashboard.post(f"{product}/duplicate")

    assert saved_message(answer) == "copied"
    copies = await db.fetch(
        """select i.id, i.alt, i.width, v.is_master, v.position from images i join variants v on v.id = i.variant_id
        where i.product_id = $1 and v.product_id = $1 order by i.position""",
        id_of(redirect_path(answer)),
    )
    assert [(each["alt"], each["width"], each["is_master"]) for each in copies] == [
        ("A mug", 640, True),
        ("Red", 640, False),
    ]
    saved_message(await dashboard.post(f"{product}/images/{first['id']}/remove"))
    page = (await dashboard.get(redirect_path(answer))).text
    (address,) = re.findall(rf'src="([^"]*{copies[0]["id"]}[^"]*)"', page)
    assert (await dashboard.get(html.unescape(address))).status_code == 200


async def test_the_categories_of_a_product_are_changed_with_its_details(dashboard: Dashboard, db: Any) -> None:
    product = await new_product(dashboard)
    category = str(await db.fetchval("select id from shipping_categories limit 1"))
    page = (await dashboard.get(product)).text
    names = ("name", "slug", "description", "seen_details", "tags", "meta_title", "meta_description", "meta_keywords")
    form = {**{name: field(page, name) for name in names}, "status": "active"}

    answer = await dashboard.post(product, **form, shipping_category_id=category)

    assert answer.status_code == 303, error_messages(answer)
    row = await db.fetchrow("select tax_category_id, shipping_category_id from products where id = $1", id_of(product))
    assert (row["tax_category_id"], row["shipping_category_id"]) == (None, UUID(category))
    assert (await dashboard.post(product, **form, shipping_category_id="")).status_code == 409
    for value in ("x", "00000000-0000-4000-8000-000000000000"):
        seen = field((await dashboard.get(product)).text, "seen_details")
        refused = await dashboard.post(product, **{**form, "seen_details": seen}, tax_category_id=value)
        assert refused.status_code == 422
        assert error_messages(refused)[0].startswith("Tax category")
