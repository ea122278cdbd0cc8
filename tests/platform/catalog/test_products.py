"""Products: a new one has a master and a slug, a removed one is hidden, and filters find them by related records."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from tests.platform.catalog_builders import (
    change_record,
    delete_record,
    get_record,
    links,
    master_of,
    new,
    patch_record,
    post_record,
)
from tests.platform.client import Machine
from tests.platform.invalid_values import INVALID_VALUES, assert_refused


async def test_a_slug_is_derived_from_the_name_without_accents(writer: Machine) -> None:
    word = uuid4().hex

    product = await new(writer, "product", name=f"Café Crème, 250 g — {word}")

    assert product["slug"] == f"cafe-creme-250-g-{word}"
    assert (await get_record(writer, "product", product["slug"])).json == product.json


async def test_products_with_the_same_name_get_numbered_slugs(writer: Machine) -> None:
    name = uuid4().hex

    slugs = [(await new(writer, "product", name=name))["slug"] for _ in range(3)]

    assert slugs == [name, f"{name}-2", f"{name}-3"]


async def test_a_name_without_latin_letters_gets_the_id_as_slug(writer: Machine) -> None:
    product = await new(writer, "product", name="茶碗")

    assert product["slug"] == product.id


@pytest.mark.parametrize("slug", ["With Capitals", "two--hyphens", "-edge", "a/b", "é", "x" * 101, 7, None])
async def test_an_invalid_slug_is_refused(writer: Machine, slug: Any) -> None:
    product = await new(writer, "product")

    assert_refused(await post_record(writer, "product", slug=slug), "slug")
    assert_refused(await patch_record(writer, "product", product.id, slug=slug), "slug")


async def test_a_slug_and_a_name_cannot_be_blank(writer: Machine) -> None:
    product = await new(writer, "product")

    assert_refused(await patch_record(writer, "product", product.id, slug=""), "slug")
    assert_refused(await patch_record(writer, "product", product.id, name="  "), "name")


async def test_an_old_slug_is_retained_until_another_product_uses_it(writer: Machine, db: Any) -> None:
    old, product = uuid4().hex, await new(writer, "product")
    await change_record(writer, "product", product.id, slug=old)
    await change_record(writer, "product", product.id, slug=uuid4().hex)
    statement = "select product_id::text from product_slugs where slug = $1"
    before = await db.fetchval(statement, old)

    await new(writer, "product", slug=old)

    assert before == product.id
    assert await db.fetchval(statement, old) is None


async def test_a_product_may_return_to_its_former_slug(writer: Machine, db: Any) -> None:
    product = await new(writer, "product")
    first, second = product["slug"], uuid4().hex
    await change_record(writer, "product", product.id, slug=second)

    await change_record(writer, "product", product.id, slug=first)

    slugs = await db.fetch("select slug from product_slugs where product_id = $1", product.id)
    assert [row["slug"] for row in slugs] == [second]


async def test_a_slug_or_sku_in_use_is_refused_with_a_field_error(writer: Machine) -> None:
    existing = await new(writer, "product", slug=uuid4().hex, sku=uuid4().hex)
    other = await new(writer, "product")

    for name in ("slug", "sku"):
        assert (await post_record(writer, "product", **{name: existing[name]})).json["errors"] == {name: ["is taken"]}
        assert (await patch_record(writer, "product", other.id, **{name: existing[name]})).json["errors"] == {
            name: ["is taken"]
        }


@pytest.mark.parametrize("name", ["slug", "sku"])
async def test_of_concurrent_products_with_one_slug_or_sku_only_one_is_created(writer: Machine, name: str) -> None:
    word = uuid4().hex

    answers = await asyncio.gather(*(post_record(writer, "product", **{name: word}) for _ in range(4)))

    assert sorted(answer.status for answer in answers) == [201, 422, 422, 422]
    assert all(answer.json["errors"] == {name: ["is taken"]} for answer in answers if answer.status == 422)


async def test_concurrent_products_with_one_name_get_distinct_slugs(writer: Machine) -> None:
    name = uuid4().hex

    answers = await asyncio.gather(*(post_record(writer, "product", name=name) for _ in range(4)))

    assert [answer.status for answer in answers] == [201] * 4
    assert {answer["slug"] for answer in answers} == {name, f"{name}-2", f"{name}-3", f"{name}-4"}


async def test_a_deleted_product_is_hidden_and_frees_its_slug_and_sku(writer: Machine, db: Any) -> None:
    words = {"slug": uuid4().hex, "sku": uuid4().hex}
    product = await new(writer, "product", **words)
    master_id = await master_of(writer, product.id)

    response = await delete_record(writer, "product", product.id)
    again = await new(writer, "product", **words)

    assert (response.status, again["slug"], again["sku"]) == (204, words["slug"], words["sku"])
    assert (await get_record(writer, "variant", master_id)).status == 404
    assert (await patch_record(writer, "product", product.id, name="x")).status == 404
    assert await db.fetchval("select deleted_at is not null from products where id = $1", product.id)


async def test_a_product_is_created_with_its_price_option_types_and_taxons(writer: Machine) -> None:
    types = [(await new(writer, "option_type")).id for _ in range(2)]
    taxon = await new(writer, "taxon", taxonomy_id=(await new(writer, "taxonomy")).id)

    product = await new(
        writer,
        "product",
        price="19.99",
        compare_at_price="25",
        currency="EUR",
        option_type_ids=types[::-1],
        taxon_ids=[taxon.id],
    )

    assert (links(product, "option_types"), links(product, "taxons")) == (types[::-1], [taxon.id])
    prices = await writer.get("/prices", {"filter[variant_id_eq]": await master_of(writer, product.id)})
    (price,) = [item["attributes"] for item in prices.json["data"]]
    assert (price["amount"], price["compare_at_amount"], price["currency"]) == ("19.99", "25.0", "EUR")


@pytest.mark.parametrize("field", ["option_type_ids", "taxon_ids", "tax_category_id"])
async def test_a_product_cannot_refer_to_unknown_records(writer: Machine, field: str) -> None:
    unknown = str(uuid4()) if field.endswith("_id") else [str(uuid4())]

    assert_refused(await post_record(writer, "product", **{field: unknown}), field)


async def test_sending_taxon_ids_again_does_not_change_the_position_in_a_taxon(writer: Machine) -> None:
    taxonomy = await new(writer, "taxonomy")
    taxons = [(await new(writer, "taxon", taxonomy_id=taxonomy.id)).id for _ in range(2)]
    product = await new(writer, "product")
    classification = await new(writer, "classification", product_id=product.id, taxon_id=taxons[0], position=7)

    await change_record(writer, "product", product.id, taxon_ids=taxons)

    assert (await get_record(writer, "classification", classification.id))["position"] == 7


async def test_discontinue_on_must_be_after_available_on(writer: Machine) -> None:
    early, late = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
    product = await new(writer, "product", available_on=late)

    assert_refused(await post_record(writer, "product", available_on=late, discontinue_on=early), "discontinue_on")
    assert_refused(await patch_record(writer, "product", product.id, discontinue_on=early), "discontinue_on")
    assert_refused(await post_record(writer, "product", status="gone"), "status")


@pytest.mark.parametrize(
    ("fields", "available"),
    [
        ({"status": "active"}, True),
        ({"status": "draft"}, False),
        ({"status": "archived"}, False),
        ({"status": "active", "available_on": "2999-01-01T00:00:00Z"}, False),
        ({"status": "active", "discontinue_on": "2001-01-01T00:00:00Z"}, False),
    ],
)
async def test_a_product_is_available_while_active_and_between_its_dates(
    writer: Machine, fields: dict[str, Any], available: bool
) -> None:
    product = await new(writer, "product", **fields)

    assert product["available"] is available
    assert (await get_record(writer, "variant", await master_of(writer, product.id)))["available"] is available


@pytest.mark.parametrize("name", ["name", "meta_title", "description", "sku"])
@pytest.mark.parametrize("value", INVALID_VALUES["text"])
async def test_an_invalid_text_is_refused_with_a_field_error(writer: Machine, name: str, value: Any) -> None:
    assert_refused(await post_record(writer, "product", **{name: value}), name)


LONG = "".join(f"{number:x}" for number in range(1800))


@pytest.mark.parametrize("kind", ["product", "option_type", "property", "taxonomy", "stock_location", "price_list"])
async def test_a_name_has_at_most_255_characters(writer: Machine, kind: str) -> None:
    more = {"currency": "EUR"} if kind in {"product", "price_list"} else {}
    assert_refused(await post_record(writer, kind, name=LONG[:5000], **more), "name")
    assert (await post_record(writer, kind, name=uuid4().hex + LONG[:223], **more)).status == 201


@pytest.mark.parametrize("value", ["-1", "1e3", "9" * 28, "x", True, [1]])
async def test_an_invalid_weight_is_refused_with_a_field_error(writer: Machine, value: Any) -> None:
    assert_refused(await post_record(writer, "product", weight=value), "weight")


@pytest.mark.parametrize("value", [7, {"a": 1}, ["x" * 101], [7], ["a"] * 201])
async def test_invalid_tags_are_refused(writer: Machine, value: Any) -> None:
    assert_refused(await post_record(writer, "product", tags=value), "tags")


async def test_products_are_filtered_by_variants_taxons_and_option_types(writer: Machine) -> None:
    taxon = await new(writer, "taxon", taxonomy_id=(await new(writer, "taxonomy")).id)
    kind = await new(writer, "option_type")
    product = await new(writer, "product", sku=uuid4().hex, taxon_ids=[taxon.id], option_type_ids=[kind.id])
    variant = await new(writer, "variant", product_id=product.id, sku=uuid4().hex)

    for name, value in {
        "variants_sku_eq": variant["sku"],
        "primary_variant_sku_eq": product["sku"],
        "taxons_name_cont": taxon["name"][3:],
        "option_types_name_eq": kind["name"],
    }.items():
        response = await writer.get("/products", {f"filter[{name}]": value})
        assert [item["id"] for item in response.json["data"]] == [product.id], name
