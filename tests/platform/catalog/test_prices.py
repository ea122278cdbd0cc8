"""Prices: one for each variant and currency, with no more digits than the currency has."""

from typing import Any
from uuid import uuid4

import pytest

from tests.platform.catalog_builders import (
    change_record,
    delete_record,
    get_record,
    master_of,
    new,
    patch_record,
    post_record,
)
from tests.platform.client import Machine
from tests.platform.invalid_values import assert_refused
from tests.sampling import first

INVALID_AMOUNTS: list[tuple[str, Any]] = [
    ("USD", "19.999"),
    ("USD", 19.999),
    ("JPY", "1.5"),
    ("KWD", "1.2345"),
    ("USD", "-0.01"),
    ("USD", -5),
    ("USD", "1e2"),
    ("USD", "1E400"),
    ("USD", "NaN"),
    ("USD", "\u0661"),
    ("USD", "Infinity"),
    ("USD", "9" * 5000),
    ("USD", "1." + "0" * 25 + "1"),
    ("USD", "1." + "0" * 27 + "1"),
    ("USD", "10000000000000.00"),
    ("USD", "1_000"),
    ("USD", "1,50"),
    ("USD", True),
    ("USD", [1]),
    ("USD", {"a": 1}),
    ("USD", None),
    ("USD", ""),
]


@pytest.mark.parametrize(("currency", "amount"), first(9, INVALID_AMOUNTS))
async def test_an_invalid_amount_for_its_currency_is_refused_with_a_field_error(
    writer: Machine, currency: str, amount: Any
) -> None:
    variant_id = await master_of(writer, (await new(writer, "product")).id)
    fields = {"variant_id": variant_id, "currency": currency}
    price = await new(writer, "price", **fields, amount="1")

    assert_refused(await post_record(writer, "price", **fields, amount=amount), "amount")
    assert_refused(await patch_record(writer, "price", price.id, amount=amount), "amount")
    assert_refused(await post_record(writer, "product", currency=currency, price=amount), "price")
    assert_refused(await patch_record(writer, "variant", variant_id, currency=currency, price=amount), "price")


async def test_every_invalid_amount_gets_a_field_error(writer: Machine) -> None:
    variant_id = await master_of(writer, (await new(writer, "product")).id)
    wrong = {"amount": "1.234", "compare_at_amount": "-1"}

    assert_refused(await post_record(writer, "price", variant_id=variant_id, currency="USD", **wrong), *wrong)
    assert_refused(
        await post_record(writer, "product", price="1.234", compare_at_price="-1"), "price", "compare_at_price"
    )


@pytest.mark.parametrize("currency", ["XXXX", "XXX", "XAU", "usd", "", "ABC", "US$", "\uff35\uff33\uff24", 7])
async def test_an_unknown_currency_is_refused(writer: Machine, currency: Any) -> None:
    variant_id = await master_of(writer, (await new(writer, "product")).id)

    assert_refused(await post_record(writer, "price", variant_id=variant_id, currency=currency, amount="1"), "currency")
    if currency:
        assert_refused(await post_record(writer, "product", currency=currency, price="1"), "currency")
        assert_refused(await patch_record(writer, "variant", variant_id, currency=currency, price="1"), "currency")


@pytest.mark.parametrize(
    ("currency", "amount", "expected"),
    [
        ("USD", "19.99", ("19.99", "$19.99")),
        ("USD", 5, ("5.0", "$5.00")),
        ("JPY", "1500.0", ("1500.0", "¥1,500")),
        ("KWD", "1.234", ("1.234", "KWD1.234")),
        ("USD", "9999999999999.99", ("9999999999999.99", "$9,999,999,999,999.99")),
        ("EUR", "0", ("0.0", "€0.00")),
    ],
)
async def test_an_amount_is_rendered_as_a_decimal_string_and_for_display(
    writer: Machine, currency: str, amount: Any, expected: tuple[str, str]
) -> None:
    variant_id = await master_of(writer, (await new(writer, "product")).id)

    price = await new(writer, "price", variant_id=variant_id, currency=currency, amount=amount)

    assert (price["amount"], price["display_amount"]) == expected
    assert (price["display_price"], price["display_compare_at_price"]) == (expected[1], None)


async def test_a_compare_at_amount_has_two_display_attributes(writer: Machine) -> None:
    variant_id = await master_of(writer, (await new(writer, "product")).id)

    fields = {"currency": "EUR", "amount": "5", "compare_at_amount": "7.5"}
    price = await new(writer, "price", variant_id=variant_id, **fields)

    assert price["display_compare_at_price"] == price["display_compare_at_amount"] == "€7.50"


async def test_a_variant_has_one_price_per_currency(writer: Machine) -> None:
    variant_id = await master_of(writer, (await new(writer, "product", price="5")).id)

    assert_refused(await post_record(writer, "price", variant_id=variant_id, currency="USD", amount="6"), "currency")
    assert (await post_record(writer, "price", variant_id=variant_id, currency="EUR", amount="6")).status == 201


async def test_the_variant_and_currency_of_a_price_cannot_be_changed(writer: Machine) -> None:
    variant_id = await master_of(writer, (await new(writer, "product")).id)
    price = await new(writer, "price", variant_id=variant_id, currency="EUR", amount="6")

    answer = await change_record(writer, "price", price.id, currency="EUR", variant_id=variant_id, amount="7")
    refusal = await patch_record(writer, "price", price.id, currency="USD", variant_id=str(uuid4()), amount="8")

    assert (answer["currency"], answer["amount"]) == ("EUR", "7.0")
    assert_refused(refusal, "currency", "variant_id")


async def test_a_price_needs_an_existing_variant(writer: Machine) -> None:
    product = await new(writer, "product")
    master_id = await master_of(writer, product.id)
    await delete_record(writer, "product", product.id)

    for variant_id in (master_id, str(uuid4())):
        assert_refused(
            await post_record(writer, "price", variant_id=variant_id, currency="EUR", amount="6"), "variant_id"
        )


async def test_a_compare_at_price_needs_a_price(writer: Machine) -> None:
    assert_refused(await post_record(writer, "product", compare_at_price="5"), "price")


async def test_deleting_the_price_of_a_product_leaves_it_without_one(writer: Machine) -> None:
    product = await new(writer, "product", price="5")
    response = await writer.get("/prices", {"filter[variant_id_eq]": await master_of(writer, product.id)})

    assert (await delete_record(writer, "price", response.json["data"][0]["id"])).status == 204

    bare = await get_record(writer, "product", product.id)
    assert (product["price"], bare["price"], bare["display_price"]) == ("5.0", None, None)
    assert bare["updated_at"] > product["updated_at"]
