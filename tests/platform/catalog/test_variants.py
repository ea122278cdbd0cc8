"""Variants: the master of every product, the others with their options, and prices."""

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
    run_concurrently,
)
from tests.platform.client import Machine
from tests.platform.invalid_values import assert_refused


async def option(machine: Machine, type_id: str | None = None) -> tuple[str, str]:
    """An option value with its type."""
    type_id = type_id or (await new(machine, "option_type")).id
    return type_id, (await new(machine, "option_value", option_type_id=type_id)).id


async def test_a_product_is_created_with_a_master_that_is_not_among_its_variants(writer: Machine) -> None:
    product = await new(writer, "product", sku=uuid4().hex, weight="1.5")
    other = await new(writer, "variant", product_id=product.id)

    product = await get_record(writer, "product", product.id)
    master = await get_record(writer, "variant", await master_of(writer, product.id))

    assert (master["is_master"], master["sku"], master["weight"]) == (True, product["sku"], "1.5")
    assert (links(product, "variants"), links(product, "default_variant")) == ([other.id], [other.id])


async def test_the_master_of_a_product_cannot_be_deleted(writer: Machine) -> None:
    product = await new(writer, "product")
    master_id = await master_of(writer, product.id)

    assert_refused(await delete_record(writer, "variant", master_id), "base")
    assert (await get_record(writer, "variant", master_id)).status == 200


async def test_a_deleted_variant_frees_its_sku_and_options(writer: Machine) -> None:
    product, (_, value_id) = await new(writer, "product"), await option(writer)
    fields: dict[str, Any] = {"product_id": product.id, "sku": uuid4().hex, "option_value_ids": [value_id]}
    variant = await new(writer, "variant", **fields)

    assert (await delete_record(writer, "variant", variant.id)).status == 204

    assert (await get_record(writer, "variant", variant.id)).status == 404
    assert (await new(writer, "variant", **fields)).status == 201


async def test_no_two_variants_of_a_product_have_the_same_options(writer: Machine) -> None:
    product, other = await new(writer, "product"), await new(writer, "product")
    (_, red), (_, large) = await option(writer), await option(writer)
    await new(writer, "variant", product_id=product.id, option_value_ids=[red, large])
    second = await new(writer, "variant", product_id=product.id, option_value_ids=[red])

    again = await post_record(writer, "variant", product_id=product.id, option_value_ids=[large, red])
    refusal = await patch_record(writer, "variant", second.id, option_value_ids=[red, large])
    elsewhere = await post_record(writer, "variant", product_id=other.id, option_value_ids=[red, large])

    assert_refused(again, "option_value_ids")
    assert_refused(refusal, "option_value_ids")
    assert elsewhere.status == 201


async def test_of_concurrent_variants_with_the_same_options_only_one_is_created(writer: Machine, db: Any) -> None:
    product, (_, value_id) = await new(writer, "product"), await option(writer)
    fields: dict[str, Any] = {"product_id": product.id, "option_value_ids": [value_id]}

    lock = "select id from products where id = any($1) for update"
    answers = await run_concurrently(
        db, lock, [product.id], *(post_record(writer, "variant", **fields) for _ in range(4))
    )

    assert sorted(answer.status for answer in answers) == [201, 422, 422, 422]


async def test_a_variant_has_at_most_one_value_per_option_type(writer: Machine) -> None:
    product, (type_id, red) = await new(writer, "product"), await option(writer)
    _, blue = await option(writer, type_id)

    for wrong in ([red, blue], [str(uuid4())]):
        assert_refused(
            await post_record(writer, "variant", product_id=product.id, option_value_ids=wrong), "option_value_ids"
        )


async def test_a_variant_adds_its_option_types_to_its_product(writer: Machine) -> None:
    product, (type_id, value_id) = await new(writer, "product"), await option(writer)

    await new(writer, "variant", product_id=product.id, option_value_ids=[value_id])

    assert links(await get_record(writer, "product", product.id), "option_types") == [type_id]
    assert_refused(await patch_record(writer, "product", product.id, option_type_ids=[]), "option_type_ids")


async def test_an_option_type_or_value_in_use_cannot_be_deleted(writer: Machine) -> None:
    product, (type_id, value_id) = await new(writer, "product"), await option(writer)
    await new(writer, "variant", product_id=product.id, option_value_ids=[value_id])
    free_type, free_value = await option(writer)

    for kind, record_id in {"option_type": type_id, "option_value": value_id}.items():
        refusal = await delete_record(writer, kind, record_id)
        assert_refused(refusal, "base")
        assert "in use" in refusal.json["errors"]["base"][0]
    assert (await delete_record(writer, "option_value", free_value)).status == 204
    assert (await delete_record(writer, "option_type", free_type)).status == 204


async def test_a_property_in_use_cannot_be_deleted(writer: Machine) -> None:
    material = await new(writer, "property")
    product_property = await new(
        writer, "product_property", product_id=(await new(writer, "product")).id, property_id=material.id, value="Wool"
    )

    assert_refused(await delete_record(writer, "property", material.id), "base")
    assert (await delete_record(writer, "product_property", product_property.id)).status == 204
    assert (await delete_record(writer, "property", material.id)).status == 204


async def test_a_variant_needs_an_existing_product(writer: Machine) -> None:
    product = await new(writer, "product")
    await delete_record(writer, "product", product.id)

    for product_id in (product.id, str(uuid4())):
        assert_refused(await post_record(writer, "variant", product_id=product_id), "product_id")


async def test_an_omitted_part_of_a_price_is_not_changed(writer: Machine) -> None:
    variant = await new(
        writer, "variant", product_id=(await new(writer, "product")).id, price="10.5", compare_at_price="12"
    )

    dearer = await change_record(writer, "variant", variant.id, price="11")
    before = await change_record(writer, "variant", variant.id, compare_at_price="13", price="11")
    none = await change_record(writer, "variant", variant.id, compare_at_price=None)

    assert [(answer["price"], answer["compare_at_price"]) for answer in (dearer, before, none)] == [
        ("11.0", "12.0"),
        ("11.0", "13.0"),
        ("11.0", None),
    ]


async def test_the_same_amount_in_another_currency_is_another_price(writer: Machine, db: Any) -> None:
    variant = await new(writer, "variant", product_id=(await new(writer, "product")).id, price="10.5")

    for _ in range(2):
        await change_record(writer, "variant", variant.id, price="10.5", currency="EUR")
    await change_record(writer, "variant", variant.id, currency="GBP")

    prices = await db.fetch("select currency, amount from prices where variant_id = $1 order by 1", variant.id)
    assert [tuple(row) for row in prices] == [("EUR", 1050), ("USD", 1050)]
    statement = "select detail from audit_events where subject_id = $1 and action = 'variant_updated'"
    assert len(await db.fetch(statement, variant.id)) == 1


async def test_sending_the_same_options_again_is_not_audited_as_a_change(writer: Machine, db: Any) -> None:
    product, (_, value_id) = await new(writer, "product"), await option(writer)
    variant = await new(writer, "variant", product_id=product.id, option_value_ids=[value_id])

    await change_record(writer, "variant", variant.id, option_value_ids=[value_id])
    await change_record(writer, "variant", variant.id, option_value_ids=[])

    statement = "select count(*) from audit_events where subject_id = $1 and action = 'variant_updated'"
    assert await db.fetchval(statement, variant.id) == 1


async def test_the_cost_price_of_a_variant_has_its_own_currency(writer: Machine) -> None:
    product = await new(writer, "product")
    variant = await new(writer, "variant", product_id=product.id, cost_price="300", cost_currency="JPY")

    dollars = await change_record(writer, "variant", variant.id, cost_price="300", cost_currency="USD")
    alone = await patch_record(writer, "variant", variant.id, cost_currency="JPY")
    digits = await patch_record(writer, "variant", variant.id, cost_price="1.5", cost_currency="JPY")

    assert (variant["cost_price"], variant["cost_currency"]) == ("300.0", "JPY")
    assert (dollars["cost_price"], dollars["cost_currency"]) == ("300.0", "USD")
    assert_refused(alone, "cost_price")
    assert_refused(await patch_record(writer, "variant", variant.id, cost_currency=None), "cost_price")
    assert_refused(await post_record(writer, "variant", product_id=product.id, cost_currency="XXQ"), "cost_currency")
    assert_refused(digits, "cost_price")


async def test_total_on_hand_is_a_number(writer: Machine) -> None:
    product = await new(writer, "product", status="active")
    master_id, location = await master_of(writer, product.id), await new(writer, "stock_location")
    await new(writer, "stock_item", variant_id=master_id, stock_location_id=location.id, count_on_hand=5)

    variant = await get_record(writer, "variant", master_id, include="stock_locations")

    assert (variant["total_on_hand"], variant["in_stock"], variant["purchasable"]) == (5, True, True)
    assert [item["id"] for item in variant.json["included"]] == [location.id]


@pytest.mark.parametrize("name", ["position", "weight", "discontinue_on", "track_inventory"])
async def test_an_invalid_value_is_refused_with_a_field_error(writer: Machine, name: str) -> None:
    product = await new(writer, "product")

    invalid_values: list[Any] = ["x", [], {}, "1e9"]
    for value in invalid_values:
        assert_refused(await post_record(writer, "variant", product_id=product.id, **{name: value}), name)
