"""Exports of products and prices: importing an export changes nothing, whatever the shop contains."""

import json
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.db.processes import until
from tests.platform.bulk import counts, export, import_rows, new_location, new_slug, new_taxon, post_import, to_ndjson
from tests.platform.client import PREFIX, Machine

TEXTS = st.one_of(
    st.sampled_from(
        ["", " ", "Ünïcødé ☕", "日本語", "two\nlines\tand a tab", '"quoted" \\ back', "👩‍👩‍👧", "a" * 5000]
    ),
    st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), max_size=20),
)
NAMES = st.sampled_from(["size", "colour", "Größe", "a b", "0", "x" * 100])
NUMBERS = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS.filter(lambda text: len(text) < 100),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab\u00e9 .", max_size=3), inner, max_size=3),
    max_leaves=6,
)
METADATA = st.dictionaries(st.text("abc", max_size=3), JSON, max_size=3)
MOMENTS = st.sampled_from([None, "2026-01-31T12:00:00Z", "2030-02-28T23:59:59.000001+02:00", "0001-01-02T00:00:00Z"])
DECIMALS = st.sampled_from([None, "0", "1.50", "0.001", "999999999", "0.12345678901234567890123"])
AMOUNTS = {"USD": ["0", "19.99", "9999999.9"], "JPY": ["0", "1900"], "KWD": ["1.234", "0.001"]}
PRICES = st.fixed_dictionaries(
    {},
    optional={
        code: st.sampled_from(amounts)
        | st.fixed_dictionaries({"amount": st.sampled_from(amounts), "compare_at": st.sampled_from([None, *amounts])})
        for code, amounts in AMOUNTS.items()
    },
)
VARIANT = {
    "barcode": st.none() | TEXTS,
    "weight": DECIMALS,
    "depth": DECIMALS,
    "track_inventory": st.booleans(),
    "discontinue_on": MOMENTS,
    "private_metadata": METADATA,
    "prices": PRICES,
    "position": st.integers(0, 3),
}
COSTS = st.sampled_from([{"cost_price": "7.25", "cost_currency": "EUR"}, {"cost_price": None}, {}])
STOCK = st.dictionaries(
    st.integers(0, 1),
    st.integers(0, 10**9)
    | st.fixed_dictionaries({"count_on_hand": st.integers(-5, 5), "backorderable": st.just(value=True)}),
    max_size=2,
)
PRODUCT = st.fixed_dictionaries(
    {"name": TEXTS.filter(str.strip)},
    optional={
        "description": st.none() | TEXTS,
        "status": st.sampled_from(["draft", "active", "archived"]),
        "make_active_at": MOMENTS,
        "discontinue_on": MOMENTS,
        "meta_title": st.none() | TEXTS,
        "promotionable": st.booleans(),
        "tags": st.lists(st.sampled_from(["new", "Ünï", "a b"]), max_size=3),
        "public_metadata": METADATA,
        "properties": st.dictionaries(NAMES, TEXTS, max_size=3),
        "option_types": st.lists(NAMES, max_size=3),
        "master": st.builds(dict.__or__, st.fixed_dictionaries({}, optional=VARIANT), COSTS),
        "variants": st.lists(
            st.fixed_dictionaries({"options": st.dictionaries(NAMES, NAMES)}, optional=VARIANT), max_size=3
        ),
    },
)


async def assert_import_of_export_changes_nothing(machine: Machine, db: Any) -> None:
    statement = "select (select max(updated_at) from products), (select max(updated_at) from variants), count(*)"
    # The worker activates drafts whose time has come.
    due = "select from products where status = 'draft' and make_active_at <= now() and deleted_at is null"
    await until(lambda: db.fetchval(f"select not exists ({due})"))
    for resource in ("products", "prices"):
        first, before = await export(machine, resource), await db.fetch(f"{statement} from stock_movements")

        report = (await post_import(machine, resource, first)).json

        # By line, so that a failure shows the one that the import changed.
        assert (await export(machine, resource)).split(b"\n") == first.split(b"\n"), report
        lines = first.count(b"\n")
        assert (report["lines"], report["unchanged"], report["errors"]) == (lines, lines, [])
        assert await db.fetch(f"{statement} from stock_movements") == before


@pytest.mark.torture
@settings(
    max_examples=10,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(product=PRODUCT, stock=STOCK)
@example(product={"name": "a", "public_metadata": {"n": [1e17, 1e300, 2**53, -0.0, 5e-324, True, 1]}}, stock={})
async def test_importing_an_export_changes_nothing(
    writer: Machine, db: Any, product: dict[str, Any], stock: dict[int, Any]
) -> None:
    slug, locations = new_slug(), [await new_location(writer) for _ in range(2)]
    # The same options twice are not two variants.
    variants_by_options = {json.dumps(sorted(item["options"].items())): item for item in product.get("variants", [])}
    variants = [{**item, "sku": uuid4().hex} for item in variants_by_options.values()]
    master = {**product.get("master", {}), "stock": {locations[location]: count for location, count in stock.items()}}
    line = {**product, "slug": slug, "master": master, "variants": variants}

    report = await import_rows(writer, "products", line)
    again = await import_rows(writer, "products", line)

    assert counts(report) == {"lines": 1, "created": 1}, report
    assert counts(again) == {"lines": 1, "unchanged": 1}, again
    await assert_import_of_export_changes_nothing(writer, db)
    await db.execute("update products set deleted_at = now() where slug = $1", slug)
    await db.execute(
        "update variants v set deleted_at = now() from products p where p.id = product_id and slug = $1", slug
    )


async def test_importing_an_export_of_records_made_over_the_api_changes_nothing(writer: Machine, db: Any) -> None:
    """Records that an import would not make."""
    category = await writer.post("/tax_categories", {"tax_category": {"name": f"category {uuid4().hex}"}})
    shipping = await writer.post("/shipping_categories", {"shipping_category": {"name": f"bulky {uuid4().hex}"}})
    product = await writer.post(
        "/products",
        {
            "product": {
                "name": "n" * 150,
                "description": "",
                "meta_title": "",
                "tags": [],
                "tax_category_id": category.id,
                "shipping_category_id": shipping.id,
                "public_metadata": {"big": 1e20, "deep": {"a": [{"b": [[]]}]}},
                "price": "10.10",
                "compare_at_price": "0",
            }
        },
    )
    twin = await writer.post("/products", {"product": {"name": "n" * 150}})
    bare = [await writer.post("/variants", {"variant": {"product_id": product.id}}) for _ in range(2)]
    kind = await writer.post("/option_types", {"option_type": {"name": f"kind {uuid4().hex}", "presentation": "Kind"}})
    value = await writer.post(
        "/option_values", {"option_value": {"option_type_id": kind.id, "name": "a, b", "presentation": "A"}}
    )
    await writer.patch(f"/variants/{bare[0].id}", {"variant": {"option_value_ids": [value.id]}})
    costs = ({"cost_price": "1.234", "cost_currency": "KWD"}, {"cost_currency": "JPY"})
    for variant, cost in zip(bare, costs, strict=True):
        assert (await writer.patch(f"/variants/{variant.id}", {"variant": cost})).status == 200
    # The product loses the option type of its variant.
    await writer.patch(f"/products/{product.id}", {"product": {"option_type_ids": []}})
    for where in ({}, {"active": False}, {"backorderable_default": True}):
        location = await writer.post("/stock_locations", {"stock_location": {"name": uuid4().hex, **where}})
        item = {"variant_id": bare[1].id, "stock_location_id": location.id, "count_on_hand": 3}
        assert (await writer.post("/stock_items", {"stock_item": item})).status == 201
    await writer.post("/prices", {"price": {"variant_id": bare[1].id, "currency": "JPY", "amount": "7"}})
    price_list = await writer.post("/price_lists", {"price_list": {"name": f"list {uuid4().hex}", "currency": "KWD"}})
    entry = {"price_list_id": price_list.id, "variant_id": bare[1].id, "amount": "1.234", "min_quantity": 12}
    assert (await writer.post("/price_list_entries", {"price_list_entry": entry})).status == 201
    deleted_product = await writer.post("/products", {"product": {"name": "gone", "sku": uuid4().hex}})
    await writer.delete(f"/products/{deleted_product.id}")
    assert twin["slug"] != product["slug"]

    await assert_import_of_export_changes_nothing(writer, db)

    slugs = [json.loads(line)["slug"] for line in (await export(writer, "products")).splitlines()]
    assert {product["slug"], twin["slug"]} <= set(slugs)
    assert deleted_product["slug"] not in slugs
    assert slugs == sorted(slugs)


async def test_importing_an_older_export_restores_its_values(writer: Machine, db: Any) -> None:
    slug, taxon, location = new_slug(), await new_taxon(writer), await new_location(writer)
    line = {
        "slug": slug,
        "name": "Mug",
        "taxons": [taxon],
        "properties": {"material": "clay"},
        "variants": [{"sku": slug, "options": {"size": "S"}, "prices": {"USD": 5}, "stock": {location: 2}}],
    }
    await import_rows(writer, "products", line)
    before = await export(writer, "products")
    change = {"slug": slug, "name": "Cup", "taxons": [], "properties": {"maker": "us"}, "tags": ["new"]}
    other = {"sku": slug, "options": {"size": "M"}, "prices": {"EUR": 1}, "stock": {location: 9}, "weight": 1}
    await import_rows(writer, "products", {**change, "option_types": [], "variants": [other]})
    assert await export(writer, "products") != before

    report = (await post_import(writer, "products", before)).json

    assert report["updated"] == 1
    assert await export(writer, "products") == before


async def test_an_export_of_several_batches_has_each_product_once(writer: Machine) -> None:
    slugs = [new_slug() for _ in range(230)]
    await import_rows(
        writer, "products", *({"slug": slug, "name": "Mug", "master": {"prices": {"USD": 1}}} for slug in slugs)
    )

    exported_slugs = [json.loads(line)["slug"] for line in (await export(writer, "products")).splitlines()]
    price_lines = (await export(writer, "prices")).splitlines()

    assert len(exported_slugs) == len(set(exported_slugs))
    assert set(slugs) <= set(exported_slugs)
    assert len(price_lines) == len(set(price_lines)) >= 230


async def test_an_export_needs_read_access(http: httpx2.AsyncClient, reader: Machine) -> None:
    for resource in ("products", "prices"):
        assert (await reader.get(f"/exports/{resource}")).status == 200
        assert (await http.get(f"{PREFIX}/exports/{resource}")).status_code == 401


async def test_an_edited_row_of_an_export_can_be_imported(writer: Machine) -> None:
    slug = new_slug()
    await import_rows(writer, "products", {"slug": slug, "name": "Mug"})
    lines = [json.loads(line) for line in (await export(writer, "products")).splitlines()]
    (mine,) = [line for line in lines if line["slug"] == slug]

    report = (await post_import(writer, "products", to_ndjson([{**mine, "status": "active"}]))).json

    assert counts(report) == {"lines": 1, "updated": 1}
