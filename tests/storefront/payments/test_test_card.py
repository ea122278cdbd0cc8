"""The test card: its sources, payments that the shopper confirms, and the requests that may use it."""

import re
from pathlib import Path
from typing import Any
from uuid import UUID

import jsonschema_rs
import pytest

from shop.gateways.test_card import SOURCES
from tests.checkout_builders import Buyer, CheckoutSetup, on_hand
from tests.db.processes import until
from tests.shopper import Answer

PROXY_HEADERS = [
    {"Host": "shop.example"},
    {"Forwarded": "for=192.0.2.1"},
    {"X-Forwarded-For": "192.0.2.1"},
    {"X-Forwarded-Host": "shop.example"},
    {"X-Real-IP": "192.0.2.1"},
    {"Via": "1.1 proxy"},
]


async def list_offered_ids(buyer: Buyer, headers: dict[str, str] | None = None) -> set[str]:
    answer = await buyer.get("/checkout/payment_methods", headers=headers)
    return {method["id"] for method in answer.json["data"]}


async def choose(buyer: Buyer, source: str | None, headers: dict[str, str] | None = None) -> Answer:
    attributes = {} if source is None else {"gateway_payment_profile_id": source}
    fields = {"payment_method_id": buyer.checkout_setup.card, "source_attributes": attributes}
    return await buyer.post("/checkout/create_payment", headers=headers, **fields)


@pytest.mark.security("C-13")
@pytest.mark.parametrize("headers", PROXY_HEADERS, ids=lambda headers: next(iter(headers)))
async def test_a_request_through_a_proxy_is_not_part_of_a_try_out(
    buyer: Buyer, checkout_setup: CheckoutSetup, headers: dict[str, str]
) -> None:
    await buyer.add_items((await checkout_setup.product(), 1))
    await buyer.enter_address()

    choice = await choose(buyer, "approve", headers)

    assert (choice.status, choice.code) == (422, "payment_method_not_found")
    assert checkout_setup.card not in await list_offered_ids(buyer, headers)
    await buyer.pay()
    refusal = await buyer.patch("/checkout/complete", headers=headers)
    assert (refusal.status, refusal.code) == (422, "payment_refused")


@pytest.mark.security("C-13")
@pytest.mark.parametrize("source", ["declin", "Approve", "pm_card_visa", "", None])
async def test_an_unknown_test_source_is_refused_with_the_known_ones(
    buyer: Buyer, checkout_setup: CheckoutSetup, source: str | None
) -> None:
    await buyer.add_items((await checkout_setup.product(), 1))
    await buyer.enter_address()

    refusal = await choose(buyer, source)

    assert refusal.status == 422
    assert refusal.json["errors"] == {
        "source_attributes.gateway_payment_profile_id": ["must be one of approve, decline, confirm, hang, late"]
    }


def test_the_docs_list_every_test_source() -> None:
    text = (Path(__file__).parents[3] / "docs" / "payments.md").read_text()

    assert re.findall(r"^\| `(\w+)` \| (.*) \|$", text, re.MULTILINE)[-len(SOURCES) :] == list(SOURCES.items())


async def needs_action(buyer: Buyer, checkout_setup: CheckoutSetup, **product: Any) -> tuple[Answer, Any]:
    """A completion that waits for the shopper, and the product in the cart."""
    mug = await checkout_setup.product(**product)
    await buyer.ready((mug, 1), source="confirm")
    return await buyer.complete(), mug


def path_of(conflict: Answer, buyer: Buyer) -> str:
    url = conflict.json["next_action"]["url"]
    assert url.startswith(f"{buyer.http.base_url}/test_card/")
    return str(url).removeprefix(str(buyer.http.base_url))


async def test_a_confirmed_payment_completes_the_order(buyer: Buyer, checkout_setup: CheckoutSetup, db: Any) -> None:
    conflict, mug = await needs_action(buyer, checkout_setup, on_hand=3)
    again = await buyer.complete()
    confirmation = await buyer.http.post(path_of(conflict, buyer), json={"decision": "confirm"})
    order = await buyer.complete()

    assert (conflict.status, conflict.code) == (409, "payment_needs_action")
    assert conflict.json["next_action"]["type"] == "redirect_to_url"
    same = ("client_secret", "next_action")
    assert [again.json[name] for name in same] == [conflict.json[name] for name in same]
    assert confirmation.json() == {"decision": "confirmed"}
    assert (order.status, order["state"], order["payment_state"]) == (200, "complete", "paid")
    assert await on_hand(db, mug.variant_id) == 2


async def test_a_declined_payment_is_refused_and_another_can_be_made(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any
) -> None:
    conflict, mug = await needs_action(buyer, checkout_setup, on_hand=3)
    path = path_of(conflict, buyer)
    decline = await buyer.http.post(path, json={"decision": "decline"})
    too_late = await buyer.http.post(path, json={"decision": "confirm"})
    refusal = await buyer.complete()
    back = await on_hand(db, mug.variant_id)
    await buyer.pay("approve")

    assert [answer.json() for answer in (decline, too_late)] == [{"decision": "declined"}] * 2
    assert (refusal.status, refusal.code) == (422, "payment_refused")
    assert refusal.json["errors"] == {"payments": ["The payment was not confirmed."]}
    assert back == 3
    assert (await buyer.complete()).status == 200


async def test_a_confirmed_payment_completes_the_order_without_the_client(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any
) -> None:
    conflict, _ = await needs_action(buyer, checkout_setup)
    await buyer.http.post(path_of(conflict, buyer), json={"decision": "confirm"})
    order_id = await age_attempt(buyer, db, "2 minutes")

    async def is_complete() -> bool:
        return bool(await db.fetchval("select completed_at from orders where id = $1", order_id))

    await until(is_complete)


async def test_an_unconfirmed_payment_expires(buyer: Buyer, checkout_setup: CheckoutSetup, db: Any) -> None:
    conflict, mug = await needs_action(buyer, checkout_setup, on_hand=3)
    order_id = await age_attempt(buyer, db, "11 minutes")

    async def has_failed() -> bool:
        return bool(await db.fetchval("select state = 'failed' from payments where order_id = $1", order_id))

    await until(has_failed)
    late = await buyer.http.post(path_of(conflict, buyer), json={"decision": "confirm"})

    assert late.json() == {"decision": "expired"}
    assert "not confirmed in time" in (await buyer.http.get(path_of(conflict, buyer))).text
    assert await on_hand(db, mug.variant_id) == 3


async def age_attempt(buyer: Buyer, db: Any, age: str) -> UUID:
    """Ages the payment attempt so that the worker checks it, and returns the id of the order."""
    order_id = UUID((await buyer.get("/cart")).id)
    statement = f"update payment_attempts set created_at = now() - interval '{age}' where order_id = $1"
    await db.execute(statement, order_id)
    return order_id


@pytest.mark.security("C-13")
async def test_the_confirmation_page_requires_its_secret_and_a_try_out(
    buyer: Buyer, checkout_setup: CheckoutSetup
) -> None:
    conflict, _ = await needs_action(buyer, checkout_setup)
    path = path_of(conflict, buyer)
    other = path[:-1] + ("0" if path[-1] != "0" else "1")

    answers = [
        await buyer.http.get(other),
        await buyer.http.post(other, json={"decision": "confirm"}),
        await buyer.http.get("/test_card/x"),
        *[await buyer.http.get(path, headers=headers) for headers in PROXY_HEADERS],
    ]

    assert {answer.status_code for answer in answers} == {404}
    assert (await buyer.complete()).code == "payment_needs_action"
    wrong = await buyer.http.post(path, json={"decision": "maybe"})
    assert (wrong.status_code, wrong.json()["errors"]) == (422, {"decision": ["must be one of confirm, decline"]})


@pytest.mark.parametrize(
    ("return_url", "is_followed"),
    [
        ("http://localhost:3000/checkout?step=done", True),
        ("https://store.example/checkout", True),
        ("https://evil.example/", False),
        ("//evil.example/", False),
        ("javascript:alert(1)", False),
        ("http://localhost\\@evil.example/", False),
        ("http://localhost@evil.example/", False),
    ],
)
async def test_the_confirmation_redirects_only_to_the_storefront(
    buyer: Buyer, checkout_setup: CheckoutSetup, return_url: str, is_followed: bool
) -> None:
    conflict, _ = await needs_action(buyer, checkout_setup)
    path = path_of(conflict, buyer)

    page = await buyer.http.get(path, params={"return_url": return_url})
    redirect = await buyer.http.post(
        path, data={"decision": "confirm", "return_url": return_url}, follow_redirects=False
    )

    assert redirect.status_code == 303
    assert redirect.headers["location"] == (return_url if is_followed else path)
    assert (return_url in page.text) == is_followed
    assert ("https://store.example" in page.headers["content-security-policy"]) == (return_url.endswith("e/checkout"))


async def test_the_409_matches_the_openapi_description(buyer: Buyer, checkout_setup: CheckoutSetup) -> None:
    conflict, _ = await needs_action(buyer, checkout_setup)
    description = (await buyer.http.get("/openapi.json")).json()
    operation = description["paths"]["/api/v2/storefront/checkout/complete"]["patch"]
    schema = operation["responses"]["409"]["content"]["application/vnd.api+json"]["schema"]

    assert "payment_needs_action" in schema["properties"]["code"]["enum"]
    assert set(conflict.json) <= set(description["components"]["schemas"]["ErrorBody"]["properties"])
    whole = {**schema, "components": description["components"]}
    requirement = {"required": ["client_secret", "next_action"]}
    jsonschema_rs.Draft202012Validator(
        {"allOf": [requirement, whole], "components": description["components"]}
    ).validate(conflict.json)
