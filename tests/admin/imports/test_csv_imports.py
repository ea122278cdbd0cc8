"""CSV files: upload, columns, check, import in the background, errors by line; an export imported again changes
nothing.
"""

import asyncio
import csv
import io
import re
from decimal import Decimal
from typing import Any

import httpx2
import pytest

from tests.admin.catalog_forms import error_messages, image_data, new_location, new_variants, redirect_path, unique_word
from tests.admin.dashboard import SAME_ORIGIN, UNKNOWN_ID, Dashboard, events
from tests.gateways.raw_server import Exchange, raw_server, response

IMPORTS = "/admin/imports"
COUNTS = ("created", "updated", "unchanged", "failed")


async def upload(dashboard: Dashboard, content: bytes | str, kind: str = "products") -> httpx2.Response:
    data = content.encode() if isinstance(content, str) else content
    form = {"csrf": await dashboard.csrf()}
    files = {"file": ("file.csv", data, "text/csv")}
    headers = {**dashboard.cookie, **SAME_ORIGIN}
    return await dashboard.http.post(f"{IMPORTS}/{kind}", data=form, files=files, headers=headers)


def mapping_of(page: str) -> dict[str, str]:
    """The suggested mapping on the page of an import."""
    fields = {}
    for number, options in re.findall(r'name="mapping\[(\d+)\]"[^>]*>(.*?)</select>', page, re.DOTALL):
        match = re.search(r'<option value="([^"]+)" selected>', options)
        fields[f"mapping[{number}]"] = match[1] if match else ""
    return fields


async def wait_for_end(db: Any, path: str) -> dict[str, Any]:
    """The row of the import once the worker has finished its check or run."""
    for _ in range(600):
        row = await db.fetchrow("select * from csv_imports where id::text = $1", path.rpartition("/")[2])
        if row["state"] not in {"checking", "running"}:
            return dict(row)
        await asyncio.sleep(0.05)
    raise AssertionError("the import does not end")


async def check(dashboard: Dashboard, db: Any, content: bytes | str, kind: str = "products") -> tuple[str, Any]:
    """Uploads and checks a file with the suggested mapping; returns the path of the import and its row."""
    path = redirect_path(await upload(dashboard, content, kind))
    mapping = mapping_of((await dashboard.get(path)).text)
    redirect_path(await dashboard.post(f"{path}/check", **mapping))
    return path, await wait_for_end(db, path)


async def run(dashboard: Dashboard, db: Any, content: bytes | str, kind: str = "products") -> dict[str, Any]:
    """Imports a file; returns the row of the import."""
    path, row = await check(dashboard, db, content, kind)
    assert row["state"] == "checked", row
    redirect_path(await dashboard.post(f"{path}/start"))
    return await wait_for_end(db, path)


def counts_of(row: Any) -> dict[str, int]:
    return {name: row[name] for name in COUNTS if row[name]}


async def variants_of(db: Any, slug: str) -> list[tuple[str, bool, int | None]]:
    """SKU, whether it is the master, and price in US cents."""
    rows = await db.fetch(
        """select sku, is_master, amount from variants join products on products.id = product_id
        left join prices on prices.variant_id = variants.id and currency = 'USD'
        where slug = $1 order by is_master desc, variants.position""",
        slug,
    )
    return [(row["sku"], row["is_master"], row["amount"]) for row in rows]


@pytest.mark.torture
async def test_a_file_is_checked_and_then_imported_in_the_background(dashboard: Dashboard, db: Any) -> None:
    slug, sku = unique_word(), unique_word()
    content = f'slug,name,sku,price,tags\n{slug},Lamp,{sku},19.99,"new, light"\n'

    path, row = await check(dashboard, db, content)
    assert (row["state"], counts_of(row)) == ("checked", {"created": 1})
    assert await variants_of(db, slug) == []
    redirect_path(await dashboard.post(f"{path}/start"))
    row = await wait_for_end(db, path)

    assert (row["state"], counts_of(row)) == ("done", {"created": 1})
    assert await db.fetchval("select count(*) from csv_import_chunks where import_id = $1", row["id"]) == 0
    assert await variants_of(db, slug) == [(sku, True, 1999)]
    assert await db.fetchval("select tags from products where slug = $1", slug) == ["new", "light"]
    actions = [action for action, _ in await events(db, actor=dashboard.id)]
    assert {"csv_import_created", "csv_import_started", "products_imported"} <= set(actions)
    assert "finished" in (await dashboard.get(f"{IMPORTS}/products")).text
    # The same file again changes nothing.
    assert counts_of(await run(dashboard, db, content.replace("Lamp", "Lamps"))) == {"updated": 1}
    _, row = await check(dashboard, db, content.replace("Lamp", "Lamps"))
    assert counts_of(row) == {"unchanged": 1}


async def test_an_export_that_is_imported_again_changes_nothing(dashboard: Dashboard, db: Any) -> None:
    product, _ = await new_variants(dashboard, db)
    name = f"=1+1 'quoted' {unique_word()}\n"
    await db.execute(
        "update products set name = $2, description = $3 where id::text = $1",
        product.rpartition("/")[2],
        name.strip(),
        "'=two lines,\nand <b>HTML</b>",
    )
    slug = await db.fetchval("select slug from products where id::text = $1", product.rpartition("/")[2])
    exported = (await dashboard.get("/admin/exports/products.csv")).text
    header, *rows = csv.reader(io.StringIO(exported))
    own_rows = [row for row in rows if row[0] == slug]
    assert own_rows[0][1].startswith("'=1+1")
    text = io.StringIO()
    csv.writer(text).writerows([header, *own_rows])

    _, row = await check(dashboard, db, text.getvalue())

    assert (len(own_rows), counts_of(row), row["errors"]) == (3, {"unchanged": 1}, [])


@pytest.mark.torture
async def test_a_shopify_file_becomes_products_with_variants(dashboard: Dashboard, db: Any) -> None:
    shirt, card = unique_word(), unique_word()
    # Stock without a location goes to the default one, or else to the oldest.
    await new_location(dashboard, db)
    header = (
        "Handle,Title,Body (HTML),Vendor,Tags,Published,Option1 Name,Option1 Value,Option2 Name,Option2 Value,"
        "Variant SKU,Variant Grams,Variant Inventory Qty,Variant Price,Variant Compare At Price,Image Src,SEO Title,"
        "Status"
    )
    content = f"""{header}
{shirt},Shirt,<p>Soft,Acme,"cotton, summer",TRUE,Size,S,Color,Red,{shirt}-1,200,7,20.00,25.00,,Buy,active
{shirt},,,,,,,M,,Red,,210,3,21.00,,,,
{shirt},,,,,,,,,,,,,,,,,
{card},Gift card,,Acme,,TRUE,Title,Default Title,,,{card}-sku,0,,10.00,,,,draft
"""
    path = redirect_path(await upload(dashboard, content))
    assert "Shopify" in (await dashboard.get(path)).text

    row = await run(dashboard, db, content)

    assert (counts_of(row), row["errors"]) == ({"created": 2}, [])
    assert await variants_of(db, shirt) == [
        ("", True, None),
        (f"{shirt}-1", False, 2000),
        (f"{shirt.upper()}-M-RED", False, 2100),
    ]
    assert await variants_of(db, card) == [(f"{card}-sku", True, 1000)]
    query = "select count_on_hand from stock_items join variants on variants.id = variant_id where sku = $1"
    assert await db.fetchval(query, f"{shirt}-1") == 7
    # The file has grams, the shop kilograms.
    assert await db.fetchval("select weight from variants where sku = $1", f"{shirt}-1") == Decimal("0.2")
    assert await db.fetchval("select status from products where slug = $1", card) == "draft"
    await run(dashboard, db, f"slug,type\n{shirt},Clothing\n")
    query = """select properties.name, value from product_properties join properties on properties.id = property_id
        join products on products.id = product_id where slug = $1 order by product_properties.position"""
    assert [tuple(each) for each in await db.fetch(query, shirt)] == [("Vendor", "Acme"), ("Type", "Clothing")]
    columns, *rows = csv.reader(io.StringIO((await dashboard.get("/admin/exports/products.csv")).text))
    text = io.StringIO()
    csv.writer(text).writerows([columns, *(each for each in rows if each[0] == shirt)])
    assert "Acme,Clothing" in text.getvalue()
    assert counts_of((await check(dashboard, db, text.getvalue()))[1]) == {"unchanged": 1}


async def test_weights_and_dimensions_are_converted_from_the_units_of_their_row(dashboard: Dashboard, db: Any) -> None:
    slug = unique_word()
    header = "slug,name,sku,weight,weight_unit,height,width,dimension_unit"
    row = await run(dashboard, db, f"{header}\n{slug},Box,{slug}-s,2,LB,1.5,2,m\n{slug}-2,Bag,{slug}-t,3,,4,,\n")

    assert (counts_of(row), row["errors"]) == ({"created": 2}, [])
    query = "select weight, height, width from variants where sku = $1"
    sizes = [tuple(await db.fetchrow(query, f"{slug}-{letter}")) for letter in "st"]
    assert sizes == [(Decimal("0.9072"), 150, 200), (3, 4, None)]
    columns, *rows = csv.reader(io.StringIO((await dashboard.get("/admin/exports/products.csv")).text))
    cells = dict(zip(columns, next(each for each in rows if each[0] == slug), strict=True))
    assert (cells["weight"], cells["weight_unit"], cells["dimension_unit"]) == ("0.9072", "kg", "cm")


async def test_an_unknown_unit_is_an_error_of_its_line(dashboard: Dashboard, db: Any) -> None:
    slug = unique_word()

    _, row = await check(dashboard, db, f"slug,name,weight,weight_unit\n{slug},Box,2,stone\n")

    assert "weight must be a decimal number" in str(row["errors"])


async def test_a_spree_file_with_semicolons_in_windows_1252_is_read(dashboard: Dashboard, db: Any) -> None:
    slug = unique_word()
    content = f"slug;sku;name;status;price;currency;inventory_count\n{slug};{slug}-s;Caf\u00e9;active;9.50;USD;\n"

    path = redirect_path(await upload(dashboard, content.encode("cp1252")))
    assert "Spree" in (await dashboard.get(path)).text
    row = await run(dashboard, db, content.encode("cp1252"))

    assert counts_of(row) == {"created": 1}
    assert await db.fetchval("select name from products where slug = $1", slug) == "Caf\u00e9"
    assert await variants_of(db, slug) == [(f"{slug}-s", True, 950)]


@pytest.mark.torture
async def test_images_are_fetched_once_and_never_from_private_addresses(dashboard: Dashboard, db: Any) -> None:
    slug, data = unique_word(), image_data()

    async def serve(exchange: Exchange) -> None:
        while request := await exchange.read_request():
            await exchange.write(response(body=data) if b" /1.png " in request else response("404 Not Found"))

    async with raw_server(serve) as server:
        links = [server.url("127.0.0.1", path=f"/{name}") for name in ("1.png", "2.png")]
        links.append("https://169.254.169.254/latest/meta-data")
        rows = "".join(f"{slug},Lamp,{link},A lamp\n" for link in links)
        content = f"slug,name,image1_src,image1_alt\n{rows}"
        row = await run(dashboard, db, content)
        query = "select alt from images join products on products.id = product_id where slug = $1"
        assert [each["alt"] for each in await db.fetch(query, slug)] == ["A lamp"]
        assert counts_of(row) == {"created": 1}
        not_found, refused = row["errors"]
        assert "the server answered 404" in not_found
        assert "The address is not public (link-local)" in refused
        await run(dashboard, db, content.replace("Lamp", "Lamps"))

    assert len(await db.fetch(query, slug)) == 1


@pytest.mark.torture
async def test_prices_in_currencies_that_a_file_lacks_remain(dashboard: Dashboard, db: Any) -> None:
    slug = unique_word()
    await run(dashboard, db, f"slug,name,price_USD,price_EUR\n{slug},Lamp,20,18\n")

    await run(dashboard, db, f"slug,price_USD\n{slug},21\n")

    query = """select currency, amount from prices join variants on variants.id = variant_id
        join products on products.id = product_id where slug = $1 order by currency"""
    assert [tuple(row) for row in await db.fetch(query, slug)] == [("EUR", 1800), ("USD", 2100)]


async def test_errors_are_reported_by_line_and_the_other_lines_are_imported(dashboard: Dashboard, db: Any) -> None:
    good, bad = unique_word(), unique_word()
    content = f'slug,name,price,description\n{good},Lamp,20,"two\nlines"\n{bad},Lamp,cheap,\n,Nothing,1,\n'

    path, row = await check(dashboard, db, content)
    redirect_path(await dashboard.post(f"{path}/start"))
    row = await wait_for_end(db, path)

    assert counts_of(row) == {"created": 1, "failed": 2}
    lines = list(csv.reader(io.StringIO((await dashboard.get(f"{path}/errors")).text)))
    assert lines[0] == ["line", "key", "reason"]
    assert [line[:2] for line in lines[1:]] == [["4", bad], ["5", ""]]
    assert "amount" in lines[1][2]


@pytest.mark.torture
async def test_stock_is_imported_by_sku_and_location(dashboard: Dashboard, db: Any) -> None:
    (sku, other), location = (await new_variants(dashboard, db))[1], await new_location(dashboard, db)
    name = await db.fetchval("select name from stock_locations where id::text = $1", location)
    rows = ((sku, name, "12"), (other, "Nowhere", "1"), ("no-such-sku", name, "1"), (other, name, "-1"))
    content = "".join("\t".join(row) + "\n" for row in (("SKU", "location", "count_on_hand"), *rows))

    row = await run(dashboard, db, content, "stock")

    assert counts_of(row) == {"created": 1, "failed": 3}
    query = """select quantity, reason, actor_id from stock_movements join stock_items on stock_items.id = stock_item_id
        join variants on variants.id = variant_id where sku = $1 order by stock_movements.id"""
    assert [tuple(each) for each in await db.fetch(query, sku)] == [(12, "received", dashboard.id)]
    assert counts_of(await run(dashboard, db, content.replace("\t12\n", "\t9\n"), "stock")) == {
        "updated": 1,
        "failed": 3,
    }
    assert [each["quantity"] for each in await db.fetch(query, sku)] == [12, -3]
    exported = (await dashboard.get("/admin/exports/stock.csv")).text
    assert f"{sku},{name},9,false" in exported


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "The file is empty."),
        (b"slug,name\n", "The file must have a line with the names of its columns and at least one more line."),
        (b"slug,name\nx\x00,y\n", "The file is not a text file."),
        (b"a" * 201 + b"\n1\n", "The file must have at most 200 columns with names of at most 200 characters."),
        (b'slug\n"' + b"x" * 200_000, "The file cannot be read at line 2: field larger than field limit (131072)."),
    ],
)
async def test_a_file_that_cannot_be_read_is_refused(dashboard: Dashboard, content: bytes, message: str) -> None:
    answer = await upload(dashboard, content)

    assert (answer.status_code, error_messages(answer)) == (422, [message])


async def test_an_invalid_mapping_is_refused(dashboard: Dashboard) -> None:
    path = redirect_path(await upload(dashboard, "slug,name,title\nx,y,z\n"))

    for mapping, message in (
        ({"mapping[1]": "name"}, "The columns must have a column for slug, which identifies a record."),
        ({"mapping[0]": "slug", "mapping[1]": "password"}, "The columns is not a valid choice."),
        ({"mapping[0]": "slug", "mapping[9]": "name"}, "The columns is not a valid choice."),
    ):
        answer = await dashboard.post(f"{path}/check", **mapping)
        assert (answer.status_code, error_messages(answer)) == (422, [message])
    twice = {"mapping[0]": "slug", "mapping[1]": "name", "mapping[2]": "name"}
    assert len(error_messages(await dashboard.post(f"{path}/check", **twice))) == 2


async def test_an_import_begins_without_waiting_for_the_next_poll(dashboard: Dashboard, db: Any) -> None:
    async with db.transaction():
        # The statement that polls for all kinds of work waits for this lock.
        await db.execute("lock table customer_merges in access exclusive mode")

        row = await run(dashboard, db, f"slug,name\n{unique_word()},Box\n")

    assert row["state"] == "done"


async def test_an_import_is_started_once_and_only_after_its_check(
    dashboard: Dashboard, other_dashboard: Dashboard, db: Any
) -> None:
    slug = unique_word()
    content = f"slug,name\n{slug},Lamp\n"
    path = redirect_path(await upload(dashboard, content))
    assert (await dashboard.post(f"{path}/start")).status_code == 422
    path, _ = await check(dashboard, db, content)
    await other_dashboard.csrf()

    answers = await asyncio.gather(*(each.post(f"{path}/start") for each in (dashboard, other_dashboard)))

    assert sorted(answer.status_code for answer in answers) == [303, 422]
    await wait_for_end(db, path)
    assert redirect_path(await dashboard.post(f"{path}/delete")) == f"{IMPORTS}/products"
    assert (await dashboard.get(path)).status_code == 404
    assert (await dashboard.post(f"{IMPORTS}/products/{UNKNOWN_ID}/start")).status_code == 404
    assert (await dashboard.get("/admin/exports/secrets.csv")).status_code == 404


async def test_an_import_that_was_interrupted_continues_where_it_stopped(dashboard: Dashboard, db: Any) -> None:
    slugs = [unique_word() for _ in range(3)]
    rows = "".join(f"{slug},Lamp\n" for slug in slugs)
    path, _ = await check(dashboard, db, f"slug,name\n{rows}")

    # As after a crash: the first record is done, and the lease of the process has ended.
    await db.execute(
        """update csv_imports set state = 'running', position = 1, created = 1, updated = 0, unchanged = 0,
        leased_until = now() - interval '1 second' where id::text = $1""",
        path.rpartition("/")[2],
    )
    row = await wait_for_end(db, path)

    assert (row["position"], row["created"]) == (3, 3)
    assert await db.fetchval("select count(*) from products where slug = any($1)", slugs) == 2


async def new_files(db: Any, dashboard: Dashboard, state: str, count: int) -> None:
    """Stores so many files of stock, without content."""
    query = """insert into csv_imports (id, kind, format, headers, state, operator_id, created_at, updated_at)
        select gen_random_uuid(), 'stock', 'own', '{}', $1, $2, now(), now() from generate_series(1, $3)"""
    await db.execute(query, state, dashboard.id, count)


async def count_files(db: Any, state: str) -> int:
    return int(await db.fetchval("select count(*) from csv_imports where kind = 'stock' and state = $1", state))


async def test_an_upload_deletes_only_finished_files(dashboard: Dashboard, db: Any) -> None:
    await db.execute("delete from csv_imports where kind = 'stock'")
    await new_files(db, dashboard, "checked", 15)
    await new_files(db, dashboard, "done", 5)

    for _ in range(3):
        redirect_path(await upload(dashboard, "sku,count_on_hand\nlamp,1\n", "stock"))

    assert [await count_files(db, state) for state in ("checked", "done", "uploaded")] == [15, 2, 3]


async def test_an_upload_is_refused_while_too_many_files_wait(
    dashboard: Dashboard, other_dashboard: Dashboard, db: Any
) -> None:
    await db.execute("delete from csv_imports where kind = 'stock'")
    await new_files(db, other_dashboard, "checked", 19)

    answers = await asyncio.gather(*(upload(dashboard, "sku,count_on_hand\nlamp,1\n", "stock") for _ in range(4)))
    page = (await dashboard.get(f"{IMPORTS}/stock")).text

    sentence = "20 files of stock are not imported yet. Import or delete some of them before you upload another."
    assert sorted(answer.status_code for answer in answers) == [303, 422, 422, 422]
    assert all(sentence in answer.text for answer in answers if answer.status_code == 422)
    assert [await count_files(db, state) for state in ("checked", "uploaded")] == [19, 1]
    assert sentence in page
    assert 'type="file"' not in page
    redirect_path(await upload(dashboard, "slug,name\nlamp,Lamp\n", "products"))
    await db.execute("update csv_imports set state = 'done' where state = 'uploaded' and kind = 'stock'")
    redirect_path(await upload(dashboard, "sku,count_on_hand\nlamp,1\n", "stock"))
