"""Price lists: a fixed currency, a period, a percentage or entries; each is assigned once to a customer or a group."""

from typing import Any
from uuid import uuid4

import pytest

from tests.accounts import new_email
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
from tests.platform.invalid_values import assert_refused


async def new_list(machine: Machine, **fields: Any) -> str:
    return (await new(machine, "price_list", **{"currency": "EUR", **fields})).id


async def new_variant_id(machine: Machine) -> str:
    return await master_of(machine, (await new(machine, "product")).id)


async def test_the_currency_of_a_price_list_cannot_be_changed(writer: Machine) -> None:
    list_id = await new_list(writer)

    answer = await change_record(writer, "price_list", list_id, currency="EUR", priority=3)

    assert (answer["currency"], answer["priority"]) == ("EUR", 3)
    assert_refused(await patch_record(writer, "price_list", list_id, currency="USD", priority=4), "currency")
    assert_refused(await post_record(writer, "price_list", currency="XXXX"), "currency")
    assert_refused(await post_record(writer, "price_list", currency="XTS"), "currency")
    assert_refused(await post_record(writer, "price_list"), "currency")


@pytest.mark.parametrize("percent", ["0", "-5", "100.01", "12.345", "1e1", "x", True, [5]])
async def test_a_percentage_must_be_above_0_and_at_most_100(writer: Machine, percent: Any) -> None:
    list_id = await new_list(writer)

    assert_refused(await post_record(writer, "price_list", currency="EUR", percent_off=percent), "percent_off")
    assert_refused(await patch_record(writer, "price_list", list_id, percent_off=percent), "percent_off")


@pytest.mark.parametrize(("percent", "expected"), [("100", "100.0"), ("0.01", "0.01"), (12.5, "12.5"), (None, None)])
async def test_a_percentage_is_rendered_as_a_decimal_string(writer: Machine, percent: Any, expected: Any) -> None:
    price_list = await new(writer, "price_list", currency="EUR", percent_off=percent)

    assert price_list["percent_off"] == expected


async def test_a_price_list_must_end_after_it_starts(writer: Machine) -> None:
    early, late = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
    list_id = await new_list(writer, starts_at=late)

    assert_refused(await post_record(writer, "price_list", currency="EUR", starts_at=late, ends_at=early), "ends_at")
    assert_refused(await patch_record(writer, "price_list", list_id, ends_at=early), "ends_at")
    assert_refused(await patch_record(writer, "price_list", list_id, ends_at=late), "ends_at")
    response = await change_record(writer, "price_list", list_id, starts_at=early, ends_at=late)
    open_again = await change_record(writer, "price_list", list_id, starts_at=None)
    assert (response["starts_at"], open_again["starts_at"]) == ("2026-01-01T00:00:00.000Z", None)


async def test_the_name_of_a_price_list_is_unique(writer: Machine) -> None:
    name = uuid4().hex
    await new_list(writer, name=name)

    assert (await post_record(writer, "price_list", currency="EUR", name=name)).json["errors"] == {"name": ["is taken"]}
    assert_refused(await patch_record(writer, "price_list", await new_list(writer), name=" "), "name")


@pytest.mark.parametrize(("field", "value"), [("amount", "1.5"), ("amount", "-1"), ("min_quantity", 0)])
async def test_an_entry_has_the_currency_of_its_list_and_a_positive_minimum_quantity(
    writer: Machine, field: str, value: Any
) -> None:
    fields = {"price_list_id": await new_list(writer, currency="JPY"), "variant_id": await new_variant_id(writer)}
    entry = await new(writer, "price_list_entry", **fields, amount="5")

    assert (entry["currency"], entry["amount"], entry["display_amount"]) == ("JPY", "5.0", "¥5")
    wrong = {"amount": "5", "min_quantity": 2, field: value}
    assert_refused(await post_record(writer, "price_list_entry", **fields, **wrong), field)
    assert_refused(await patch_record(writer, "price_list_entry", entry.id, **{field: value}), field)


async def test_a_list_has_one_entry_per_variant_and_minimum_quantity(writer: Machine) -> None:
    fields = {"price_list_id": await new_list(writer), "variant_id": await new_variant_id(writer), "amount": "5"}
    await new(writer, "price_list_entry", **fields)

    assert_refused(await post_record(writer, "price_list_entry", **fields), "min_quantity")
    assert (await post_record(writer, "price_list_entry", **fields, min_quantity=10)).status == 201
    for name in ("price_list_id", "variant_id"):
        assert_refused(await post_record(writer, "price_list_entry", **{**fields, name: str(uuid4())}), name)


async def test_filters_compare_entry_amounts_in_the_units_of_their_currency(writer: Machine) -> None:
    entries = [
        await new(
            writer,
            "price_list_entry",
            price_list_id=await new_list(writer, currency=code),
            variant_id=await new_variant_id(writer),
            amount="1250",
        )
        for code in ("EUR", "JPY")
    ]

    params = {"filter[id_in]": ",".join(entry.id for entry in entries), "filter[amount_eq]": "1250"}
    response = await writer.get("/price_list_entries", params)

    assert {item["id"] for item in response.json["data"]} == {entry.id for entry in entries}


async def test_a_list_is_assigned_once_to_a_customer_and_to_a_group(writer: Machine) -> None:
    list_id = await new_list(writer)
    user = (await new(writer, "user", email=new_email())).id
    group = (await new(writer, "customer_group", name=uuid4().hex)).id
    assignments = {
        ("price_list_user", "price_list_id"): {"user_id": user, "price_list_id": list_id},
        ("price_list_group", "price_list_id"): {"customer_group_id": group, "price_list_id": list_id},
        ("customer_group_member", "customer_group_id"): {"user_id": user, "customer_group_id": group},
    }

    for (kind, _), fields in assignments.items():
        await new(writer, kind, **fields)
        assert (await post_record(writer, kind, **fields)).status == 422
        for name in fields:
            assert_refused(await post_record(writer, kind, **{**fields, name: str(uuid4())}), name)

    price_list = await get_record(writer, "price_list", list_id)
    assert (links(price_list, "users"), links(price_list, "customer_groups")) == ([user], [group])
    assert links(await get_record(writer, "customer_group", group), "users") == [user]


async def test_deleting_a_price_list_or_group_deletes_its_assignments(writer: Machine, db: Any) -> None:
    list_id, group = await new_list(writer), (await new(writer, "customer_group", name=uuid4().hex)).id
    user = (await new(writer, "user", email=new_email())).id
    entry = await new(
        writer, "price_list_entry", price_list_id=list_id, variant_id=await new_variant_id(writer), amount="5"
    )
    assignment = await new(writer, "price_list_group", price_list_id=list_id, customer_group_id=group)
    member = await new(writer, "customer_group_member", customer_group_id=group, user_id=user)

    assert (await delete_record(writer, "price_list", list_id)).status == 204
    assert (await delete_record(writer, "customer_group", group)).status == 204

    for kind, record in {
        "price_list_entry": entry,
        "price_list_group": assignment,
        "customer_group_member": member,
    }.items():
        assert (await get_record(writer, kind, record.id)).status == 404
    assert (await get_record(writer, "user", user)).status == 200
