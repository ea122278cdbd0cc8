"""Imports of products and prices: which values change, which stay, and that an invalid row fails alone."""

import asyncio
import json
from functools import partial
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.db.processes import until
from tests.platform.bulk import (
    counts,
    export,
    export_product,
    import_rows,
    new_location,
    new_slug,
    new_taxon,
    post_import,
    to_ndjson,
)
from tests.platform.client import PREFIX, Machine
from tests.sampling import first
from tests.service import Service


def mug(slug: str, **more: Any) -> dict[str, Any]:
    variants = [
        {"sku": f"{slug}-{colour}", "options": {"colour": colour}, "prices": {"USD": "19.99", "EUR": "18.5"}}
        for colour in ("red", "blue")
    ]
    return {"slug": slug, "name": "Mug", "properties": {"material": "clay"}, "variants": variants, **more}


async def tables(db: Any) -> dict[str, Any]:
    """A checksum of every table that an import may change."""
    names = ("products", "variants", "option_types", "option_values", "properties", "product_properties", "prices")
    more = ("classifications", "variant_option_values", "stock_items", "stock_movements", "listings", "audit_events")
    every = (*names, *more, "product_option_types", "price_list_entries", "listing_facets", "product_slugs")
    return {
        name: await db.fetchval(f"select md5(string_agg(t::text, '' order by t::text)) from {name} t") for name in every
    }


async def test_a_new_product_has_every_value_of_its_row(writer: Machine) -> None:
    slug, sku, location, taxon = new_slug(), uuid4().hex, await new_location(writer), await new_taxon(writer)
    line = {
        "slug": slug,
        "name": "Mug",
        "description": "Holds tea.",
        "status": "active",
        "available_on": "2026-01-31T12:00:00.123456Z",
        "tags": ["new", "clay"],
        "taxons": [taxon],
        "properties": {"material": "clay", "maker": "us"},
        "public_metadata": {"n": [1, 1.5, None, {"deep": True}]},
        "master": {"sku": sku, "weight": "0.350", "prices": {"USD": {"amount": "19.99", "compare_at": "25"}}},
        "variants": [
            {"sku": f"{sku}-1", "options": {"size": "XL"}, "barcode": "4006381333931", "prices": {"JPY": 1900}},
            {"sku": f"{sku}-2", "options": {"size": "S"}, "stock": {location: 5}, "track_inventory": False},
        ],
    }

    report = await import_rows(writer, "products", line)

    assert counts(report) == {"lines": 1, "created": 1}
    record = await export_product(writer, slug)
    assert record
    assert {name: record[name] for name in line if name not in {"master", "variants"}} == {
        name: value for name, value in line.items() if name not in {"master", "variants"}
    }
    assert record["option_types"] == ["size"]
    assert record["master"]["weight"] == "0.35"
    assert record["master"]["prices"] == {"USD": {"amount": "19.99", "compare_at": "25.0"}}
    assert [variant["sku"] for variant in record["variants"]] == [f"{sku}-1", f"{sku}-2"]
    assert record["variants"][0]["prices"] == {"JPY": {"amount": "1900.0", "compare_at": None}}
    assert record["variants"][1]["stock"] == {location: {"count_on_hand": 5, "backorderable": False}}
    product = await writer.get(f"/products/{slug}")
    assert (product["sku"], product["in_stock"]) == (sku, True)


async def test_a_row_sets_the_shipping_category_and_cost_prices(writer: Machine) -> None:
    slug, name = new_slug(), f"Bulky {uuid4().hex}"
    category = await writer.post("/shipping_categories", {"shipping_category": {"name": name}})
    cost = {"cost_price": "7.5", "cost_currency": "EUR"}
    line = mug(slug, shipping_category=name, master={"sku": slug, **cost})
    line["variants"][0] |= {"cost_price": "800.0", "cost_currency": "JPY"}

    reports = [await import_rows(writer, "products", line) for _ in range(2)]
    report = await import_rows(
        writer, "products", {"slug": slug, "shipping_category": None, "master": {"cost_price": None}}
    )

    assert [counts(each) for each in reports] == [{"lines": 1, "created": 1}, {"lines": 1, "unchanged": 1}]
    assert counts(report) == {"lines": 1, "updated": 1}
    record = await export_product(writer, slug)
    assert record
    assert (record["shipping_category"], record["master"]["cost_price"]) == (None, None)
    assert [variant["cost_price"] for variant in record["variants"]] == ["800.0", None]
    await import_rows(writer, "products", line)
    product = await writer.get(f"/products/{slug}", {"include": "primary_variant"})
    assert product.json["data"]["relationships"]["shipping_category"]["data"]["id"] == category.id
    (master,) = product.json["included"]
    assert {field: master["attributes"][field] for field in cost} == cost


async def test_errors_are_listed_in_the_order_of_the_rows(writer: Machine) -> None:
    lines = [
        to_ndjson([{"slug": new_slug()}]),
        b"nonsense\n",
        to_ndjson([mug(new_slug())]),
        to_ndjson([{"slug": new_slug()}]),
        b"more\n",
    ]

    report = (await post_import(writer, "products", b"".join(lines))).json

    assert [error["line"] for error in report["errors"]] == [1, 2, 4, 5]


async def test_importing_the_same_row_again_changes_no_data_and_no_timestamp(writer: Machine, db: Any) -> None:
    line = mug(new_slug(), master={"prices": {"USD": "1"}, "stock": {await new_location(writer): 3}})
    await import_rows(writer, "products", line)
    before = await tables(db)

    report = await import_rows(writer, "products", line)

    assert counts(report) == {"lines": 1, "unchanged": 1}
    after = await tables(db)
    assert {name for name in before if before[name] != after[name]} == {"audit_events"}


async def test_absent_fields_are_not_changed_and_present_fields_replace(writer: Machine) -> None:
    slug = new_slug()
    await import_rows(writer, "products", mug(slug, tags=["a", "b"], description="Holds tea.", meta_title="A mug"))
    update = {"slug": slug, "tags": ["c"], "description": None, "properties": {"maker": "us"}}
    prices = {"sku": f"{slug}-red", "prices": {"USD": "5"}}

    report = await import_rows(writer, "products", {**update, "variants": [prices]})

    product = await export_product(writer, slug)
    assert product
    assert counts(report) == {"lines": 1, "updated": 1}
    assert {name: product[name] for name in update} == update
    assert (product["name"], product["meta_title"]) == ("Mug", "A mug")
    assert [(variant["sku"], list(variant["prices"])) for variant in product["variants"]] == [
        (f"{slug}-red", ["USD"]),
        (f"{slug}-blue", ["EUR", "USD"]),
    ]


async def test_missing_variants_are_deleted_only_with_variants_complete(writer: Machine) -> None:
    slug = new_slug()
    await import_rows(writer, "products", mug(slug))
    red = {"slug": slug, "variants": [{"sku": f"{slug}-red"}]}

    some = await import_rows(writer, "products", red)
    every = await import_rows(writer, "products", {**red, "variants_complete": True})

    product = await export_product(writer, slug)
    assert product
    assert (counts(some), counts(every)) == ({"lines": 1, "unchanged": 1}, {"lines": 1, "updated": 1})
    assert [variant["sku"] for variant in product["variants"]] == [f"{slug}-red"]
    again = await import_rows(writer, "products", mug(slug))
    assert counts(again) == {"lines": 1, "updated": 1}


async def test_a_count_creates_a_movement_of_the_difference_by_the_application(writer: Machine, db: Any) -> None:
    slug, location = new_slug(), await new_location(writer)

    for stock in (7, {"count_on_hand": 4}, {"backorderable": True}, -2, -2):
        await import_rows(writer, "products", {"slug": slug, "name": "Mug", "master": {"stock": {location: stock}}})

    movements = await db.fetch(
        "select quantity, reason, actor_kind from stock_movements m join stock_items i on i.id = m.stock_item_id"
        " join variants v on v.id = i.variant_id join products p on p.id = v.product_id"
        " where p.slug = $1 order by m.id",
        slug,
    )
    assert [tuple(row) for row in movements] == [
        (7, "received", "application"),
        (-3, "recounted", "application"),
        (-6, "recounted", "application"),
    ]


INVALID_ROWS = [
    (b"{", "base"),
    (b'{"slug": "a", "slug": "b"}', "base"),
    (b'{"slug": "\\ud800"}', "base"),
    (b'{"slug": "a\\u0000b", "name": "a"}', "base"),
    (b'{"slug": NaN}', "base"),
    (b"[" * 50 + b"]" * 50, "base"),
    (b"\xff\xfe", "base"),
    (b"7", "base"),
    (b"[]", "base"),
    (b"{}", "slug"),
    (b'{"slug": 7, "name": "a"}', "slug"),
    (b'{"slug": "Not A Slug", "name": "a"}', "slug"),
    (b'{"slug": "new-and-nameless"}', "name"),
    (b'{"slug": "a", "name": "a", "colour": 1}', "colour"),
    (b'{"slug": "a", "name": "a", "public_metadata": {"k": "%s"}}' % (b"x" * 16384), "public_metadata"),
    (b'{"slug": "a", "name": "a", "status": "sold"}', "status"),
    (b'{"slug": "a", "name": "  "}', "name"),
    (b'{"slug": "a", "name": "a\\u202eb"}', "name"),
    (b'{"slug": "a", "name": "a", "taxons": ["no/such"]}', "taxons"),
    (b'{"slug": "a", "name": "a", "taxons": "all"}', "taxons"),
    (b'{"slug": "a", "name": "a", "tax_category": "none"}', "tax_category"),
    (b'{"slug": "a", "name": "a", "shipping_category": "none"}', "shipping_category"),
    (b'{"slug": "a", "name": "a", "master": {"cost_price": "5"}}', "master.cost_currency"),
    (b'{"slug": "a", "name": "a", "master": {"cost_currency": "EUR"}}', "master.cost_currency"),
    (b'{"slug": "a", "name": "a", "master": {"cost_price": "5", "cost_currency": "XTS"}}', "master.cost_currency"),
    (b'{"slug": "a", "name": "a", "master": {"cost_price": "1.5", "cost_currency": "JPY"}}', "master.cost_price"),
    (b'{"slug": "a", "name": "a", "tags": [7]}', "tags"),
    (b'{"slug": "a", "name": "a", "properties": []}', "properties"),
    (b'{"slug": "a", "name": "a", "properties": {"a": 7}}', "properties.a"),
    (b'{"slug": "a", "name": "a", "properties": {"a\\u0007": "b"}}', "properties.a\x07"),
    (b'{"slug": "a", "name": "a", "properties": {" ": "b"}}', "base"),
    (b'{"slug": "a", "name": "a", "available_on": "soon"}', "available_on"),
    (b'{"slug": "a", "name": "a", "variants": {}}', "variants"),
    (b'{"slug": "a", "name": "a", "variants": [7]}', "variants"),
    (b'{"slug": "a", "name": "a", "variants": [{}]}', "variants.0.sku"),
    (b'{"slug": "a", "name": "a", "variants": [{"sku": "q", "id": "7"}]}', "variants.0.id"),
    (b'{"slug": "a", "name": "a", "variants": [{"sku": "q"}, {"sku": "q"}]}', "variants.1.sku"),
    (b'{"slug": "a", "name": "a", "master": {"sku": "q"}, "variants": [{"sku": "q"}]}', "variants.0.sku"),
    (b'{"slug": "a", "name": "a", "master": {"size": 1}}', "master.size"),
    (b'{"slug": "a", "name": "a", "master": {"weight": "1e9"}}', "master.weight"),
    (b'{"slug": "a", "name": "a", "master": {"prices": {"USD": "19.999"}}}', "master.prices.USD.amount"),
    (b'{"slug": "a", "name": "a", "master": {"prices": {"USD": "-1"}}}', "master.prices.USD.amount"),
    (b'{"slug": "a", "name": "a", "master": {"prices": {"USD": {}}}}', "master.prices.USD.amount"),
    (b'{"slug": "a", "name": "a", "master": {"prices": {"USD": {"amount": 1, "was": 2}}}}', "master.prices.USD.was"),
    (b'{"slug": "a", "name": "a", "master": {"prices": {"XXQ": 1}}}', "master.prices.XXQ"),
    (b'{"slug": "a", "name": "a", "master": {"prices": {"usd": 1}}}', "master.prices.usd"),
    (b'{"slug": "a", "name": "a", "master": {"stock": {"Nowhere": 1}}}', "master.stock"),
    (b'{"slug": "a", "name": "a", "master": {"stock": {"Nowhere": "many"}}}', "master.stock.Nowhere.count_on_hand"),
]


@pytest.mark.parametrize(("line", "field"), first(20, INVALID_ROWS), ids=lambda value: str(value)[:60])
async def test_an_invalid_row_fails_alone_with_a_field_error(writer: Machine, db: Any, line: bytes, field: str) -> None:
    first, last = mug(new_slug()), mug(new_slug())
    body = to_ndjson([first]) + line + b"\n\n" + to_ndjson([last])

    report = (await post_import(writer, "products", body)).json

    assert counts(report) == {"lines": 3, "created": 2, "failed": 1}
    (error,) = report["errors"]
    assert (error["line"], list(error["errors"])) == (2, [field])
    assert all(sentences for sentences in error["errors"].values())
    assert await db.fetchval("select count(*) from products where slug = 'a'") == 0


async def test_a_count_below_zero_is_refused_unless_backorderable(writer: Machine) -> None:
    slug, strict_location, backorder_location = (
        new_slug(),
        await new_location(writer),
        await new_location(writer, backorderable_default=True),
    )

    refusal = await import_rows(
        writer, "products", {"slug": slug, "name": "Mug", "master": {"stock": {strict_location: -1}}}
    )
    report = await import_rows(
        writer, "products", {"slug": slug, "name": "Mug", "master": {"stock": {backorder_location: -1}}}
    )
    second_refusal = await import_rows(
        writer, "products", {"slug": slug, "master": {"stock": {backorder_location: {"backorderable": False}}}}
    )

    assert list(refusal["errors"][0]["errors"]) == [f"master.stock.{strict_location}.count_on_hand"]
    assert counts(report) == {"lines": 1, "created": 1}
    assert list(second_refusal["errors"][0]["errors"]) == [f"master.stock.{backorder_location}.count_on_hand"]


async def test_a_sku_or_options_of_another_variant_are_refused(writer: Machine) -> None:
    slug, other = new_slug(), new_slug()
    await import_rows(writer, "products", mug(slug))
    other_product = {"slug": other, "name": "Cup", "variants": [{"sku": f"{slug}-red"}]}
    twins = {"slug": slug, "variants": [{"sku": f"{slug}-new", "options": {"colour": "red"}}]}
    # The import checks both rows before it writes either.
    claims = [{"slug": new_slug(), "name": "Cup", "master": {"sku": f"{slug}-x"}} for _ in range(2)]

    report = await import_rows(writer, "products", other_product, twins, *claims)

    assert counts(report) == {"lines": 4, "created": 1, "failed": 3}
    assert [(error["line"], list(error["errors"])) for error in report["errors"]] == [
        (1, ["variants.0.sku"]),
        (2, ["variants.0.options"]),
        (4, ["master.sku"]),
    ]


async def test_a_row_of_1_mib_is_read_and_a_longer_one_fails_alone(writer: Machine) -> None:
    first, long, last = new_slug(), new_slug(), new_slug()
    fits = json.dumps({"slug": first, "name": "Mug"}).encode()
    fits += b" " * (1024 * 1024 - len(fits))
    too_long = json.dumps({"slug": long, "name": "Mug"}).encode()
    too_long += b" " * (1024 * 1024 + 1 - len(too_long))

    report = (await post_import(writer, "products", b"\n".join([fits, too_long, to_ndjson([mug(last)])]))).json

    assert counts(report) == {"lines": 3, "created": 2, "failed": 1}
    assert report["errors"] == [
        {"line": 2, "key": None, "errors": {"base": ["The line is longer than 1,048,576 bytes."]}}
    ]


async def test_at_most_1000_errors_are_listed_and_the_rest_are_counted(writer: Machine) -> None:
    report = (await post_import(writer, "products", b'{"a": 1}\n' * 1500 + b'{"x%d": 1}\n' % 7)).json
    wide = await import_rows(writer, "products", {f"f{number}": 1 for number in range(100)})

    assert counts(report) == {"lines": 1501, "failed": 1501}
    assert (len(report["errors"]), report["errors_left_out"]) == (1000, 501)
    assert len(wide["errors"][0]["errors"]) == 21


@pytest.mark.torture
@pytest.mark.parametrize("count", [10_000, pytest.param(100_000, marks=pytest.mark.torture)])
async def test_an_import_of_100_000_small_rows_ends_in_time(writer: Machine, count: int) -> None:
    slug = new_slug()
    await import_rows(writer, "products", {"slug": slug, "name": "Mug", "master": {"sku": slug}})
    line = to_ndjson([{"sku": slug, "currency": "USD", "amount": "5"}])

    answer = await writer.ask(
        "POST",
        "/imports/prices",
        content=line * count,
        headers={"Content-Type": "application/jsonl; charset=utf-8"},
        timeout=120 * count / 100_000,
    )

    assert counts(answer.json) == {"lines": count, "created": 1, "unchanged": count - 1}


async def test_a_dry_run_reports_the_outcome_and_writes_nothing(writer: Machine, db: Any) -> None:
    slug, location = new_slug(), await new_location(writer)
    lines = [
        mug(slug, option_types=[f"made {slug}"], master={"stock": {location: 4}}),
        {"slug": slug, "name": "Again"},
        {"slug": new_slug(), "colour": 1},
    ]
    before = await tables(db)

    dry = await import_rows(writer, "products", *lines, dry_run="true")

    assert await tables(db) == before
    assert (dry["dry_run"], counts(dry)) == (True, {"lines": 3, "created": 2, "failed": 1})
    wet = await import_rows(writer, "products", *lines, dry_run="false")
    assert counts(wet) == {"lines": 3, "created": 1, "updated": 1, "failed": 1}
    assert (await post_import(writer, "products", b"", dry_run="maybe")).status == 400


async def test_an_import_writes_one_audit_event_with_the_changed_records(writer: Machine, db: Any) -> None:
    slugs = [new_slug() for _ in range(3)]
    await import_rows(writer, "products", *map(mug, slugs[:2]))

    answer = await post_import(writer, "products", to_ndjson([*map(mug, slugs), {"slug": "x y"}]))

    rows = await db.fetch(
        "select action, outcome, actor_kind, detail from audit_events where request_id = $1", answer.request_id
    )
    ((action, outcome, actor, detail),) = [tuple(row) for row in rows]
    assert (action, outcome, actor) == ("products_imported", "done", "application")
    assert json.loads(detail) == {
        "lines": 4,
        "created": 1,
        "updated": 0,
        "unchanged": 2,
        "failed": 1,
        "touched": slugs[2:],
        "touched_count": 1,
    }


@pytest.mark.torture
async def test_concurrent_imports_of_the_same_products_both_succeed(writer: Machine) -> None:
    slugs = [new_slug() for _ in range(250)]

    def lines(name: str, order: list[str]) -> list[dict[str, Any]]:
        return [mug(slug, name=name, properties={name: "yes"}) for slug in order]

    reports = await asyncio.gather(
        import_rows(writer, "products", *lines("one", slugs)),
        import_rows(writer, "products", *lines("two", slugs[::-1])),
    )

    assert [one["failed"] for one in reports] == [0, 0], reports
    assert reports[0]["created"] + reports[1]["created"] == 250
    exported_products = [json.loads(line) for line in (await export(writer, "products")).splitlines()]
    mine = [line for line in exported_products if line["slug"] in set(slugs)]
    assert {(line["name"], *line["properties"]) for line in mine} <= {("one", "one"), ("two", "two")}
    assert len(mine) == 250


WAITS = "select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"


async def test_a_product_created_during_its_import_is_updated(writer: Machine, db: Any) -> None:
    slug, taxon, product_id = new_slug(), await new_taxon(writer), uuid4()
    line = {"slug": slug, "name": "Mug", "taxons": [taxon], "master": {"sku": slug}}

    async with db.transaction():
        await db.execute("lock table taxons in access exclusive mode")
        await db.execute(
            "insert into products (id, name, slug, created_at, updated_at) values ($1, 'Cup', $2, now(), now())",
            product_id,
            slug,
        )
        await db.execute(
            "insert into variants (id, product_id, is_master, sku, created_at, updated_at)"
            " values (gen_random_uuid(), $1, true, $2, now(), now())",
            product_id,
            slug,
        )
        importing = asyncio.create_task(import_rows(writer, "products", line))
        await until(lambda: _is_waiting(db, expected=True))

    assert counts(await importing) == {"lines": 1, "updated": 1}


@pytest.mark.torture
async def test_an_import_waits_longer_for_a_locked_product_than_a_request(writer: Machine, db: Any) -> None:
    slug = new_slug()
    await import_rows(writer, "products", mug(slug))

    async with db.transaction():
        await db.execute("select 1 from products where slug = $1 for update", slug)
        importing = asyncio.create_task(import_rows(writer, "products", mug(slug, name="Cup")))
        for condition in (True, False, True):
            await until(partial(_is_waiting, db, expected=condition))

    assert counts(await importing) == {"lines": 1, "updated": 1}


async def test_a_sale_during_an_import_of_the_count_is_not_lost(writer: Machine, db: Any) -> None:
    slug, location = new_slug(), await new_location(writer)
    line = {"slug": slug, "name": "Mug", "master": {"sku": slug, "stock": {location: 5}}}
    await import_rows(writer, "products", line)
    item = "stock_items i join variants v on v.id = i.variant_id where v.sku = $1"
    item_id = await db.fetchval(f"select i.id from {item}", slug)

    async with db.transaction():
        await db.execute("update stock_items set count_on_hand = 4 where id = $1", item_id)
        await db.execute(
            "insert into stock_movements (id, stock_item_id, quantity, reason, actor_kind, created_at)"
            " values (gen_random_uuid(), $1, -1, 'sold', 'system', now())",
            item_id,
        )
        line["master"] = {"stock": {location: 9}}
        importing = asyncio.create_task(import_rows(writer, "products", line))
        await until(partial(_is_waiting, db, expected=True))

    assert counts(await importing) == {"lines": 1, "updated": 1}
    movements = await db.fetch(
        "select quantity from stock_movements where stock_item_id = $1 order by created_at", item_id
    )
    assert await db.fetchval(f"select i.count_on_hand from {item}", slug) == 9 == sum(row[0] for row in movements)


async def _is_waiting(db: Any, *, expected: bool) -> bool:
    # Within a transaction the view keeps its first content.
    await db.execute("select pg_stat_clear_snapshot()")
    return (await db.fetchval(WAITS) is not None) is expected


async def test_importing_a_price_lists_the_product_in_its_currency(writer: Machine, http: httpx2.AsyncClient) -> None:
    sku = uuid4().hex
    product = await writer.post("/products", {"product": {"name": "Mug", "status": "active", "sku": sku}})

    async def count_listed() -> int:
        params = {"filter[ids]": product.id, "currency": "EUR"}
        return len((await http.get("/api/v2/storefront/products", params=params)).json()["data"])

    before = await count_listed()
    await import_rows(writer, "prices", {"sku": sku, "currency": "EUR", "amount": "9.5"})
    after = await count_listed()
    await import_rows(writer, "prices", {"sku": sku, "currency": "EUR", "amount": None})

    assert (before, after, await count_listed()) == (0, 1, 0)


async def test_prices_are_created_updated_and_deleted_by_sku(writer: Machine) -> None:
    slug, name = new_slug(), f"list {uuid4().hex}"
    await import_rows(writer, "products", {"slug": slug, "name": "Mug", "master": {"sku": slug}})
    await writer.post("/price_lists", {"price_list": {"name": name, "currency": "EUR"}})

    first_report = await import_rows(
        writer,
        "prices",
        {"sku": slug, "currency": "USD", "amount": "5", "compare_at": "7"},
        {"sku": slug, "currency": "EUR", "amount": 4},
        {"sku": slug, "price_list": name, "amount": "3"},
        {"sku": slug, "price_list": name, "amount": "2.5", "min_quantity": 10, "currency": "EUR"},
    )
    second_report = await import_rows(
        writer,
        "prices",
        {"sku": slug, "currency": "USD", "amount": "6"},
        {"sku": slug, "currency": "EUR", "amount": None},
        {"sku": slug, "price_list": name, "amount": None},
        {"sku": slug, "price_list": name, "amount": None, "min_quantity": 99},
    )

    lines = [json.loads(line) for line in (await export(writer, "prices")).splitlines()]
    assert (counts(first_report), counts(second_report)) == (
        {"lines": 4, "created": 4},
        {"lines": 4, "updated": 3, "unchanged": 1},
    )
    assert [line for line in lines if line.get("sku") == slug] == [
        {"sku": slug, "currency": "USD", "amount": "6.0", "compare_at": "7.0"},
        {"sku": slug, "currency": "EUR", "amount": "2.5", "price_list": name, "min_quantity": 10},
    ]


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ({"currency": "USD", "amount": 1}, "sku"),
        ({"sku": "no such", "currency": "USD", "amount": 1}, "sku"),
        ({"sku": "", "currency": "USD", "amount": 1}, "sku"),
        ({"variant_id": str(uuid4()), "currency": "USD", "amount": 1}, "variant_id"),
        ({"currency": "USD"}, "amount"),
        ({"currency": "USD", "compare_at": 1}, "amount"),
        ({"amount": 1}, "currency"),
        ({"currency": "US", "amount": 1}, "currency"),
        ({"currency": "USD", "amount": "1.001"}, "amount"),
        ({"currency": "USD", "amount": -1}, "amount"),
        ({"currency": "USD", "amount": "1e3"}, "amount"),
        ({"currency": "USD", "amount": 1, "compare_at": "9" * 20}, "compare_at"),
        ({"currency": "USD", "amount": 1, "min_quantity": 2}, "min_quantity"),
        ({"price_list": "no such", "amount": 1}, "price_list"),
        ({"price_list": "no such", "amount": 1, "min_quantity": 0}, "min_quantity"),
        ({"currency": "USD", "amount": 1, "list": "x"}, "list"),
    ],
)
async def test_an_invalid_price_row_fails_alone(writer: Machine, line: dict[str, Any], field: str) -> None:
    slug = new_slug()
    await import_rows(writer, "products", {"slug": slug, "name": "Mug", "master": {"sku": slug}})
    is_known = "variant_id" in line or "sku" in line or field == "sku"

    report = await import_rows(
        writer, "prices", line if is_known else {"sku": slug, **line}, {"sku": slug, "currency": "USD", "amount": 1}
    )

    assert counts(report) == {"lines": 2, "created": 1, "failed": 1}
    assert field in report["errors"][0]["errors"], report


async def test_an_import_needs_write_access_and_an_ndjson_body(
    http: httpx2.AsyncClient, reader: Machine, writer: Machine, db: Any
) -> None:
    slug = new_slug()

    refusal = await post_import(reader, "products", to_ndjson([mug(slug)]))
    without_token = await http.post(f"{PREFIX}/imports/products", content=to_ndjson([mug(slug)]))
    json_body = await writer.post("/imports/products", mug(slug))
    gzip_response = await writer.ask(
        "POST",
        "/imports/products",
        content=b"x",
        headers={"Content-Type": "application/x-ndjson", "Content-Encoding": "gzip"},
    )
    nothing = await writer.ask("POST", "/imports/products")

    assert (refusal.status, refusal.code) == (403, "insufficient_scope")
    assert without_token.status_code == 401
    assert (json_body.status, gzip_response.status) == (415, 415)
    assert (nothing.status, counts(nothing.json)) == (200, {})
    assert await db.fetchval("select count(*) from products where slug = $1", slug) == 0


async def test_an_import_of_100_products_needs_few_statements(writer: Machine, service: Service) -> None:
    lines = [mug(new_slug()) for _ in range(100)]

    responses = [await post_import(writer, "products", to_ndjson(lines)) for _ in range(2)]

    creation_statements, same = [service.request_line(answer.request_id)["statements"] for answer in responses]
    assert creation_statements < 45
    assert same < 20
