"""The names that Spree has for types, calculators and categories are accepted as aliases."""

from typing import Any
from uuid import uuid4

import pytest

from tests.platform.client import Machine
from tests.platform.customers.test_users import new_user
from tests.platform.invalid_values import assert_refused

ADJUST = "Spree::Promotion::Actions::CreateAdjustment"
ADJUST_ITEMS = "Spree::Promotion::Actions::CreateItemAdjustments"
FLAT, PERCENT = "Spree::Calculator::FlatRate", "Spree::Calculator::FlatPercentItemTotal"


async def new_promotion(machine: Machine, **fields: Any) -> Any:
    return await machine.post("/promotions", {"promotion": {"name": uuid4().hex, **fields}})


async def test_a_promotion_without_a_code_is_automatic(writer: Machine) -> None:
    without = await new_promotion(writer)
    by_batch = await new_promotion(writer, is_automatic=False)
    by_code = await new_promotion(writer, code=uuid4().hex)

    assert [promotion["is_automatic"] for promotion in (without, by_batch, by_code)] == [True, False, False]


async def test_a_payment_method_accepts_the_class_name_of_spree(writer: Machine) -> None:
    payment_method = await writer.post(
        "/payment_methods",
        {"payment_method": {"name": "Cheque", "type": "Spree::PaymentMethod::Check", "active": False}},
    )

    assert (payment_method.status, payment_method["type"]) == (201, "check")


@pytest.mark.parametrize(
    ("type_", "calculator", "expected"),
    [
        ("Spree::Promotion::Actions::FreeShipping", None, ("free_shipping", {})),
        (
            ADJUST,
            {"type": PERCENT, "preferences": {"flat_percent": 10}},
            ("percent_off_order", {"percent": "10"}),
        ),
        (
            ADJUST_ITEMS,
            {"type": FLAT, "preferences": {"amount": 5, "currency": "USD"}},
            ("amount_off_items", {"amounts": {"USD": "5.0"}}),
        ),
    ],
    ids=["free shipping", "percent", "amount"],
)
async def test_a_promotion_action_accepts_the_class_name_of_spree(
    writer: Machine, type_: str, calculator: Any, expected: tuple[str, Any]
) -> None:
    promotion = await new_promotion(writer, code=uuid4().hex)
    body = {"type": type_, **({"calculator_attributes": calculator} if calculator else {})}

    action = await writer.post("/promotion_actions", {"promotion_action": {"promotion_id": promotion.id, **body}})
    nested_promotion = await new_promotion(writer, code=uuid4().hex, promotion_actions_attributes=[body])

    assert (action.status, (action["type"], action["preferences"])) == (201, expected)
    assert nested_promotion.status == 201, nested_promotion


async def test_a_promotion_rule_accepts_the_class_name_of_spree(writer: Machine) -> None:
    rule = {"type": "Spree::Promotion::Rules::ItemTotal", "preferences": {"amounts": {"USD": "80"}}}
    promotion = await new_promotion(writer, code=uuid4().hex, promotion_rules_attributes=[rule])

    (rule_id,) = [each["id"] for each in promotion.json["data"]["relationships"]["promotion_rules"]["data"]]
    response = await writer.get(f"/promotion_rules/{rule_id}")

    assert (response["type"], response["code"]) == ("item_total", None)


@pytest.mark.parametrize(
    ("part", "field"),
    [
        ({"type": "Spree::Promotion::Rules::Nothing"}, "type"),
        ({"type": "first_order", "preferences": {"age": 18}}, "preferences.age"),
        ({"type": "first_order", "name": "x"}, "name"),
        ({"type": ["first_order"]}, "type"),
    ],
)
async def test_an_unknown_promotion_rule_or_preference_is_refused(
    writer: Machine, part: dict[str, Any], field: str
) -> None:
    refusal = await new_promotion(writer, promotion_rules_attributes=[part])

    assert_refused(refusal, f"promotion_rules_attributes.0.{field}")


@pytest.mark.parametrize(
    ("calculator", "field"),
    [
        ({"type": "Spree::Calculator::TieredPercent"}, "type"),
        ({"type": FLAT, "preferences": {"amount": 5}}, "preferences.currency"),
        ({"type": FLAT, "preferences": {"amount": 5, "currency": "USD", "x": 1}}, "preferences.x"),
        ({"type": PERCENT, "preferences": []}, None),
        ({"type": [], "nothing": 1}, "nothing"),
        ({"type": []}, "type"),
    ],
)
async def test_an_unknown_calculator_or_preference_is_refused(
    writer: Machine, calculator: dict[str, Any], field: str | None
) -> None:
    action = {"type": ADJUST, "calculator_attributes": calculator}

    refusal = await new_promotion(writer, promotion_actions_attributes=[action])

    assert refusal.status == 422
    name = f"calculator_attributes.{field}" if field else "preferences.percent"
    assert list(refusal.json["errors"]) == [f"promotion_actions_attributes.0.{name}"]


async def test_a_shipping_method_accepts_a_calculator_of_spree(writer: Machine) -> None:
    calculator = {"type": "Spree::Calculator::Shipping::PerItem", "preferences": {"amount": 3, "currency": "USD"}}
    body = {"name": "Post", "calculator_attributes": calculator}

    shipping_method = await writer.ask("POST", "/shipping_methods?include=calculator", json={"shipping_method": body})
    unknown = {"type": "Spree::Calculator::Shipping::PriceSack"}
    refusal = await writer.post("/shipping_methods", {"shipping_method": {**body, "calculator_attributes": unknown}})

    (shown_calculator,) = shipping_method.json["included"]
    assert (shipping_method["calculator_type"], shipping_method["amounts"]) == ("per_item", {"USD": {"0": "3.0"}})
    assert (shown_calculator["type"], shown_calculator["attributes"]["type"]) == ("calculator", "per_item")
    assert shown_calculator["attributes"]["preferences"] == {"amounts": {"USD": {"0": "3.0"}}}
    assert_refused(refusal, "calculator")


async def test_store_credit_accepts_category_id_and_type_id(writer: Machine) -> None:
    category = await writer.post("/store_credit_categories", {"store_credit_category": {"name": uuid4().hex}})
    kind = await writer.post("/store_credit_types", {"store_credit_type": {"name": uuid4().hex}})
    body = {"user_id": await new_user(writer), "currency": "USD", "amount": 5, "memo": "late"}

    store_credit = await writer.post(
        "/store_credits", {"store_credit": {**body, "category_id": category.id, "type_id": kind.id}}
    )

    links = store_credit.json["data"]["relationships"]
    assert store_credit.status == 201
    assert links["store_credit_category"]["data"]["id"] == category.id
    assert links["store_credit_type"]["data"]["id"] == kind.id
    assert (links["created_by"]["data"]["type"], store_credit["created_by_type"]) == ("application", "application")
