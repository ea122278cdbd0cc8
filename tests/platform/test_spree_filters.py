"""Filters and sorts that clients of Spree use."""

from typing import Any
from uuid import uuid4

import pytest

from tests.checkout_builders import Buyer, CheckoutSetup
from tests.platform.client import Machine
from tests.platform.customers.test_users import new_user


async def find_ids(machine: Machine, path: str, **params: Any) -> list[str]:
    answer = await machine.get(f"/{path}", params)
    assert answer.status == 200, answer
    return [each["id"] for each in answer.json["data"]]


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("line_items_variant_sku_eq", "{sku}"),
        ("line_items_variant_product_name_cont", "{sku}"),
        ("bill_address_firstname_eq", "F{sku}"),
        ("bill_address_lastname_start", "L{sku}"),
        ("bill_address_full_name_eq", "F{sku} L{sku}"),
        ("bill_address_full_name_matches", "f{sku}%l{sku}"),
    ],
)
async def test_orders_are_filtered_by_sku_product_name_and_billing_name(
    writer: Machine, checkout_setup: CheckoutSetup, name: str, fits: str
) -> None:
    sku = uuid4().hex
    buyer = Buyer(writer.http, checkout_setup)
    cart = await buyer.add_items((await checkout_setup.product(name=f"Mug {sku}", sku=sku), 1))
    await buyer.enter_address(firstname=f"F{sku}", lastname=f"L{sku}")

    assert await find_ids(writer, "orders", **{f"filter[{name}]": fits.format(sku=sku)}) == [cart.id]
    assert await find_ids(writer, "orders", **{f"filter[{name}]": uuid4().hex}) == []


async def test_products_are_filtered_by_the_sku_of_their_master(writer: Machine, checkout_setup: CheckoutSetup) -> None:
    sku = uuid4().hex
    mug = await checkout_setup.product(sku=sku)
    await checkout_setup.make.variant(mug.id, {f"size {sku}": "large"}, sku=f"{sku}-L")

    assert await find_ids(writer, "products", **{"filter[sku_eq]": sku}) == [mug.id]
    assert await find_ids(writer, "products", **{"filter[sku_cont]": sku}) == [mug.id]
    assert await find_ids(writer, "products", **{"filter[sku_eq]": f"{sku}-L"}) == []


async def test_zones_are_filtered_by_description_and_store_credit_by_memo_and_creator(writer: Machine) -> None:
    word, user_id = uuid4().hex, await new_user(writer)
    zone = await writer.post("/zones", {"zone": {"name": word, "description": f"far {word}"}})
    body = {"user_id": user_id, "currency": "USD", "amount": 5, "memo": word}
    credit = await writer.post("/store_credits", {"store_credit": body})
    creator_id = credit.json["data"]["relationships"]["created_by"]["data"]["id"]

    assert await find_ids(writer, "zones", **{"filter[description_eq]": f"far {word}"}) == [zone.id]
    assert await find_ids(writer, "store_credits", **{"filter[memo_eq]": word}) == [credit.id]
    by_creator = {"filter[created_by_id_eq]": creator_id, "filter[user_id_eq]": user_id}
    assert await find_ids(writer, "store_credits", **by_creator) == [credit.id]


@pytest.mark.parametrize(
    ("pattern", "is_found"),
    [("A%_c{word}", True), ("a_c{word}", False), ("%{word}", True), ("a\\%bc{word}", True), ("a\\_bc{word}", False)],
)
async def test_a_matches_filter_accepts_wildcards(writer: Machine, pattern: str, is_found: bool) -> None:
    word = uuid4().hex
    zone = await writer.post("/zones", {"zone": {"name": f"a%bc{word}"}})
    filter_value = pattern.format(word=word)

    matching = await find_ids(writer, "zones", **{"filter[name_matches]": filter_value})
    others = await find_ids(writer, "zones", **{"filter[name_does_not_match]": filter_value, "filter[id_eq]": zone.id})

    assert (matching, others) == (([zone.id], []) if is_found else ([], [zone.id]))


@pytest.mark.parametrize("pattern", ["x" * 256, "%" * 11, "a\\"])
async def test_an_overlong_or_malformed_pattern_is_refused(writer: Machine, pattern: str) -> None:
    refusal = await writer.get("/zones", {"filter[name_matches]": pattern})

    assert (refusal.status, refusal.code) == (400, "bad_filter")


async def test_orders_are_sorted_by_shipment_total(writer: Machine, checkout_setup: CheckoutSetup) -> None:
    carts = []
    for _ in range(2):
        buyer = Buyer(writer.http, checkout_setup)
        carts.append((await buyer.add_items((await checkout_setup.product(), 1))).id)
    await buyer.enter_address()
    ids = {"filter[id_in]": ",".join(carts)}

    assert await find_ids(writer, "orders", **ids, sort="shipment_total") == carts
    assert await find_ids(writer, "orders", **ids, sort="-shipment_total", **{"page[after]": ""}) == carts[::-1]


async def test_products_are_sorted_by_number_and_position(writer: Machine, checkout_setup: CheckoutSetup) -> None:
    word, taxonomy = uuid4().hex, await writer.post("/taxonomies", {"taxonomy": {"name": uuid4().hex}})
    taxon = taxonomy.json["data"]["relationships"]["root"]["data"]["id"]
    product_ids = [(await checkout_setup.product(sku=f"{letter}{word}")).id for letter in "ba"]
    for position, product_id in enumerate(product_ids):
        fields = {"product_id": product_id, "taxon_id": taxon, "position": position}
        await checkout_setup.make.new("classifications", "classification", **fields)
    ids = {"filter[id_in]": ",".join(product_ids)}

    assert await find_ids(writer, "products", **ids, sort="number") == product_ids[::-1]
    assert await find_ids(writer, "products", **ids, sort="position") == product_ids
    assert await find_ids(writer, "products", **ids, sort="-position", **{"page[after]": ""}) == product_ids[::-1]
    assert sorted(await find_ids(writer, "products", **ids, sort="deleted_at")) == sorted(product_ids)
