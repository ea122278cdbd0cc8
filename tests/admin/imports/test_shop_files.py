"""Product files that Shopify and Spree export come in complete, or the page names what is left out."""

import csv
import io
from typing import Any

import pytest

from tests.admin.catalog_forms import image_data, new_location, redirect_path, unique_word
from tests.admin.dashboard import Dashboard
from tests.admin.imports.test_csv_imports import check, counts_of, mapping_of, run, upload
from tests.gateways.raw_server import Exchange, raw_server, response

SHOPIFY = [
    *("Handle", "Title", "Body (HTML)", "Vendor", "Product Category", "Type", "Tags", "Published"),
    *("Option1 Name", "Option1 Value", "Option1 Linked To", "Option2 Name", "Option2 Value", "Option2 Linked To"),
    *("Option3 Name", "Option3 Value", "Option3 Linked To", "Variant SKU", "Variant Grams"),
    *("Variant Inventory Tracker", "Variant Inventory Qty", "Variant Inventory Policy", "Variant Fulfillment Service"),
    *("Variant Price", "Variant Compare At Price", "Variant Requires Shipping", "Variant Taxable"),
    *("Unit Price Total Measure", "Unit Price Total Measure Unit", "Unit Price Base Measure"),
    *("Unit Price Base Measure Unit", "Variant Barcode", "Image Src", "Image Position", "Image Alt Text", "Gift Card"),
    *("SEO Title", "SEO Description", "Google Shopping / Google Product Category", "Google Shopping / Gender"),
    *("Color (product.metafields.shopify.color-pattern)", "Variant Image", "Variant Weight Unit", "Variant Tax Code"),
    *("Cost per item", "Included / United States", "Price / United States", "Compare At Price / United States"),
    "Status",
]
LEFT_OUT = {
    *("Option1 Linked To", "Option2 Linked To", "Option3 Linked To", "Variant Fulfillment Service"),
    *("Variant Requires Shipping", "Variant Taxable", "Unit Price Total Measure", "Unit Price Total Measure Unit"),
    *("Unit Price Base Measure", "Unit Price Base Measure Unit", "Gift Card", "Variant Weight Unit"),
    *("Google Shopping / Google Product Category", "Google Shopping / Gender", "Variant Tax Code"),
    *("Color (product.metafields.shopify.color-pattern)", "Included / United States", "Price / United States"),
    "Compare At Price / United States",
}
NEW_SHOPIFY = {
    "Handle": "URL handle",
    "Body (HTML)": "Description",
    "Product Category": "Product category",
    "Published": "Published on online store",
    "Variant SKU": "SKU",
    "Variant Grams": "Weight value (grams)",
    "Variant Inventory Tracker": "Inventory tracker",
    "Variant Inventory Qty": "Inventory quantity",
    "Variant Inventory Policy": "Continue selling when out of stock",
    "Variant Price": "Price",
    "Variant Compare At Price": "Compare-at price",
    "Variant Barcode": "Barcode",
    "Image Src": "Product image URL",
    "Image Position": "Image position",
    "Image Alt Text": "Image alt text",
    "Variant Image": "Variant image URL",
    "SEO Title": "SEO title",
}
"""The names that Shopify has given to columns since."""
VARIANTS = """select v.sku, v.is_master, p.amount, p.compare_at_amount, v.weight::float8, v.track_inventory,
    v.cost_price, s.count_on_hand, s.backorderable from variants v join products on products.id = v.product_id
    left join prices p on p.variant_id = v.id and p.currency = 'USD'
    left join stock_items s on s.variant_id = v.id and s.stock_location_id = $2
    where products.slug = $1 order by v.is_master desc, v.position"""
IMAGES = """select images.position, alt, sku from images join products on products.id = product_id
    left join variants on variants.id = images.variant_id where slug = $1 order by images.position"""
TAXONS = """select pretty_name from classifications join taxons on taxons.id = taxon_id
    join products on products.id = classifications.product_id where products.slug = $1 order by pretty_name"""


def write_rows(header: list[str], *rows: dict[str, str]) -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, header, restval="")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def shirt_rows(slug: str, category: str, image: str) -> list[dict[str, str]]:
    """A product with two colors in two sizes, three images, and an image for each color."""
    product = {
        "Title": "Linen shirt",
        "Body (HTML)": "<p>Light, for\nsummer.</p>",
        "Vendor": "Acme",
        "Product Category": f"{category} > Clothing > Shirts",
        "Type": "Shirt",
        "Tags": "linen, summer",
        "Published": "TRUE",
        "Option1 Name": "Color",
        "Option2 Name": "Size",
        "SEO Title": "Linen shirt online",
        "SEO Description": "A shirt.",
        "Gift Card": "FALSE",
        "Status": "active",
    }
    tracked = {"Variant Inventory Tracker": "shopify", "Variant Inventory Policy": "deny", "Variant Weight Unit": "kg"}
    variants = [
        {"Option1 Value": "Red", "Option2 Value": "S", "Variant Inventory Qty": "7", "Variant Image": f"{image}2.png"},
        {"Option1 Value": "Red", "Option2 Value": "M", "Variant Inventory Qty": "-2", "Variant Image": f"{image}2.png"},
        {"Option1 Value": "Blue", "Option2 Value": "S", "Variant Inventory Policy": "continue"},
        {"Option1 Value": "Blue", "Option2 Value": "M", "Variant Inventory Tracker": ""},
    ]
    prices = {"Variant Price": "20.00", "Variant Compare At Price": "25.00", "Cost per item": "8.50"}
    rows = [
        {"Variant SKU": f"{slug}-{number}", "Variant Grams": "250", **prices, **tracked, **variant}
        for number, variant in enumerate(variants)
    ]
    rows[0] |= {**product, "Image Src": f"{image}2.png", "Image Position": "2", "Image Alt Text": "Red"}
    rows[1] |= {"Image Src": f"{image}1.png", "Image Position": "1", "Image Alt Text": "Front"}
    rows.append({"Image Src": f"{image}3.png", "Image Position": "3"})
    return [{"Handle": slug, **row} for row in rows]


def card_row(slug: str) -> dict[str, str]:
    options = {"Option1 Name": "Title", "Option1 Value": "Default Title"}
    details = {"Title": "Card", "Published": "FALSE", "Status": "active", "Product Category": "Uncategorized"}
    return {"Handle": slug, **details, **options, "Variant SKU": f"{slug}-sku", "Variant Price": "3"}


@pytest.mark.torture
async def test_a_shopify_file_comes_in_complete(dashboard: Dashboard, db: Any) -> None:
    shirt, card, category, data = unique_word(), unique_word(), f"Apparel {unique_word()}", image_data()
    await new_location(dashboard, db)
    location = await db.fetchval('select id from stock_locations where active order by "default" desc, id limit 1')

    async def serve(exchange: Exchange) -> None:
        while await exchange.read_request():
            await exchange.write(response(body=data))

    async with raw_server(serve) as server:
        image = server.url("127.0.0.1", path="/")
        content = write_rows(SHOPIFY, *shirt_rows(shirt, category, image), card_row(card))
        page = (await dashboard.get(redirect_path(await upload(dashboard, content)))).text
        row = await run(dashboard, db, content)

    columns = [SHOPIFY[int(name[8:-1])] for name, target in mapping_of(page).items() if not target]
    assert set(columns) == LEFT_OUT
    assert "<strong>Not imported:</strong> Option1 Linked To, " in page
    assert (counts_of(row), row["errors"]) == ({"created": 2}, [])
    assert [tuple(each) for each in await db.fetch(VARIANTS, shirt, location)] == [
        ("", True, None, None, None, True, None, None, None),
        (f"{shirt}-0", False, 2000, 2500, 0.25, True, 850, 7, False),
        (f"{shirt}-1", False, 2000, 2500, 0.25, True, 850, 0, False),
        (f"{shirt}-2", False, 2000, 2500, 0.25, True, 850, 0, True),
        (f"{shirt}-3", False, 2000, 2500, 0.25, False, 850, 0, False),
    ]
    images = [tuple(each) for each in await db.fetch(IMAGES, shirt)]
    assert images == [(1, "Front", ""), (2, "Red", f"{shirt}-0"), (3, "Red", f"{shirt}-1"), (4, None, "")]
    assert [each[0] for each in await db.fetch(TAXONS, shirt)] == [f"{category} -> Clothing -> Shirts"]
    product = "select name, description, status, meta_title, tags from products where slug = $1"
    assert tuple(await db.fetchrow(product, shirt)) == (
        "Linen shirt",
        "<p>Light, for\nsummer.</p>",
        "active",
        "Linen shirt online",
        ["linen", "summer"],
    )
    assert tuple(await db.fetchrow("select status, tags from products where slug = $1", card)) == ("draft", [])
    assert (await db.fetch(TAXONS, card), await db.fetch(IMAGES, card)) == ([], [])
    _, row = await check(dashboard, db, content)
    assert counts_of(row) == {"unchanged": 2}


async def test_shopify_s_newer_columns_mean_the_same(dashboard: Dashboard, db: Any) -> None:
    slug = unique_word()
    rows = [{**card_row(slug), "Variant Inventory Policy": "TRUE", "Variant Grams": "1500", "Published": "TRUE"}]
    new_rows = [{NEW_SHOPIFY.get(name, name): text for name, text in row.items()} for row in rows]
    content = write_rows([NEW_SHOPIFY.get(name, name) for name in SHOPIFY], *new_rows)

    page = (await dashboard.get(redirect_path(await upload(dashboard, content)))).text
    row = await run(dashboard, db, content)

    assert [SHOPIFY[int(name[8:-1])] for name, target in mapping_of(page).items() if not target] == [
        name for name in SHOPIFY if name in LEFT_OUT
    ]
    assert (counts_of(row), row["errors"]) == ({"created": 1}, [])
    query = "select weight::float8 from variants join products on products.id = product_id where slug = $1"
    assert await db.fetchval(query, slug) == 1.5


@pytest.mark.torture
async def test_categories_of_a_spree_file_are_found_or_created(dashboard: Dashboard, db: Any) -> None:
    slug, other, root = unique_word(), unique_word(), f"Categories {unique_word()}"
    header = [
        *("product_id", "sku", "name", "slug", "status", "vendor_name", "price", "compare_at_price", "currency"),
        *("width", "dimensions_unit", "weight", "weight_unit", "available_on", "track_inventory", "inventory_count"),
        *("inventory_backorderable", "option1_name", "option1_value", "category1", "category2", "category3"),
    ]
    first = {"slug": slug, "name": "Denim shirt", "status": "draft", "vendor_name": "Acme", "currency": "USD"}
    first |= {"category1": f"{root} -> Women -> Tops", "category2": f"{root} -> New", "compare_at_price": "0.0"}
    first |= {"price": "62.99", "available_on": "2024-05-01 10:00:00", "weight": "8", "weight_unit": "oz"}
    first |= {"width": "10", "dimensions_unit": "in", "inventory_count": "∞", "track_inventory": "false"}
    variant = {"slug": slug, "sku": f"{slug}-s", "price": "60", "currency": "USD", "compare_at_price": "70.0"}
    variant |= {
        "option1_name": "Size",
        "option1_value": "S",
        "inventory_count": "100",
        "inventory_backorderable": "true",
    }

    row = await run(dashboard, db, write_rows(header, first, variant))
    again = write_rows(header, {"slug": slug, "category3": f"{root} -> Sale"}, {**first, "slug": other})
    row_again = await run(dashboard, db, again)

    assert (counts_of(row), row["errors"]) == ({"created": 1}, [])
    assert (counts_of(row_again), row_again["errors"]) == ({"created": 1, "updated": 1}, [])
    names = [each[0].removeprefix(f"{root} -> ") for each in await db.fetch(TAXONS, slug)]
    assert names == ["New", "Sale", "Women -> Tops"]
    assert await db.fetchval("select count(*) from taxons where pretty_name like $1", f"{root}%") == 5
    query = """select sku, amount, compare_at_amount, width::float8, weight::float8, track_inventory from variants
        join products on products.id = product_id join prices on prices.variant_id = variants.id
        where slug = $1 order by is_master desc"""
    assert [tuple(each) for each in await db.fetch(query, slug)] == [
        ("", 6299, None, 25.4, 0.2268, False),
        (f"{slug}-s", 6000, 7000, None, None, True),
    ]


async def test_a_category_that_is_not_a_path_is_an_error(dashboard: Dashboard, db: Any) -> None:
    slugs = [unique_word() for _ in range(4)]
    paths = ["Shop -> ", "x" * 91, " -> ".join("abcdefghijk"), "a\tb"]
    rows = "".join(f'{slug},Lamp,"{path}"\n' for slug, path in zip(slugs, paths, strict=True))

    _, row = await check(dashboard, db, f"slug,name,category1\n{rows}")

    assert counts_of(row) == {"failed": 4}
    assert all("category must be" in error for error in row["errors"])
