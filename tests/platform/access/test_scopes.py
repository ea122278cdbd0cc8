"""Tokens whose scope is a list of permissions: exactly these, within the level and permissions of the application."""

import json
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from shop.rules.access.permissions import is_allowed, is_grantable, is_within
from tests.builders import Make
from tests.events.feed import new_reader
from tests.platform.catalog_builders import master_of, new
from tests.platform.client import Machine, ask_for_token, new_app

PLATFORM = "/api/v2/platform"


async def token_for(http: httpx2.AsyncClient, db: Any, scope: str, level: str = "write") -> dict[str, str]:
    answer = await ask_for_token(http, await new_app(db, level), scope)
    assert answer.status == 200, answer.json
    assert answer.json["scope"] == scope
    return {"Authorization": f"Bearer {answer.json['access_token']}"}


async def get(http: httpx2.AsyncClient, headers: dict[str, str], path: str) -> httpx2.Response:
    return await http.get(f"{PLATFORM}/{path}", headers=headers)


@pytest.mark.security("P-08")
async def test_a_token_with_permissions_reads_only_their_resources(http: httpx2.AsyncClient, db: Any) -> None:
    headers = await token_for(http, db, "products:read stock:read")

    allowed = [(await get(http, headers, path)).status_code for path in ("products", "taxons", "stock_items")]
    refusals = [
        await get(http, headers, path)
        for path in ("orders", "users", "promotions", "payment_methods", "applications", "audit_events", "events")
    ]

    assert allowed == [200] * 3
    assert [answer.status_code for answer in refusals] == [403] * 7
    assert "orders:read" in refusals[0].json()["error"]
    assert 'scope="orders:read"' in refusals[0].headers["www-authenticate"]


INCLUDES = [
    ("orders:read", "customers:read", "line_items?include=order.user"),
    ("orders:read", "products:read", "orders?include=line_items.variant.product"),
    ("products:read", "stock:read", "products?include=variants.stock_items"),
    ("products:read", "stock:read", "taxons?include=products.variants.stock_items.stock_location"),
    ("stock:read", "products:read", "stock_items?include=variant"),
]


@pytest.mark.security("P-08")
@pytest.mark.parametrize(("scope", "missing", "query"), INCLUDES)
async def test_an_include_needs_the_permission_of_every_resource(
    http: httpx2.AsyncClient, db: Any, scope: str, missing: str, query: str
) -> None:
    narrow, wide = await token_for(http, db, scope), await token_for(http, db, f"{scope} {missing}")

    refusal, allowed = await get(http, narrow, query), await get(http, wide, query)

    assert refusal.status_code == 403
    assert missing in refusal.json()["error"]
    assert allowed.status_code == 200, allowed.text


@pytest.mark.security("P-08")
async def test_a_filter_by_another_resource_needs_its_permission(http: httpx2.AsyncClient, db: Any) -> None:
    headers = await token_for(http, db, "orders:read")

    refusal = await get(http, headers, "orders?filter[user_email_cont]=a")

    assert refusal.status_code == 403
    assert "customers:read" in refusal.json()["error"]
    assert (await get(http, headers, "orders?filter[number_eq]=R1")).status_code == 200


@pytest.mark.security("P-08")
async def test_cost_prices_need_their_permission(http: httpx2.AsyncClient, db: Any, writer: Machine) -> None:
    product = await new(writer, "product")
    path = f"variants/{await master_of(writer, product.id)}"
    narrow, wide = [await token_for(http, db, f"products:read{more}") for more in ("", " costs:read")]

    attributes = [(await get(http, each, path)).json()["data"]["attributes"] for each in (narrow, wide)]
    explicit = await get(http, narrow, f"{path}?fields[variant]=sku,cost_price")
    refusals = [
        await get(http, await token_for(http, db, "orders:read"), "line_items?filter[cost_price_gt]=1"),
        await get(http, narrow, "exports/products"),
    ]

    assert ["cost_price" in each for each in attributes] == [False, True]
    assert explicit.json()["data"]["attributes"].keys() == {"sku"}
    assert [answer.status_code for answer in refusals] == [403, 403]


@pytest.mark.security("P-08")
async def test_events_show_cost_prices_only_with_their_permission(
    http: httpx2.AsyncClient, db: Any, writer: Machine
) -> None:
    reader = await new_reader(writer)
    product = await new(writer, "product")
    variant = await master_of(writer, product.id)
    body = {"variant": {"cost_price": "3.77", "cost_currency": "USD"}}
    assert (await writer.patch(f"/variants/{variant}", body)).status == 200
    start = reader.cursor
    events = await reader.read_about(variant, until="variant.updated")
    narrow, wide = [await token_for(http, db, f"events:read{more}") for more in ("", " costs:read")]
    path = f"events?page[after]={start}&page[size]=100&filter[type_in]=variant.*"

    answers = [(await get(http, each, path)).json()["data"] for each in (narrow, wide)]
    own = [[each for each in answer if each["data"]["id"] == variant] for answer in answers]
    streams = []
    for headers in (narrow, wide):
        query = f"{PLATFORM}/events/stream?page[after]={start}&filter[type_in]=variant.*"
        async with http.stream("GET", query, headers=headers) as answer:
            async for line in answer.aiter_lines():
                if line.startswith("data:") and "variant.updated" in line and variant in line:
                    streams.append(line)
                    break

    assert events[-1]["changes"]["cost_price"] == [None, "3.77"]
    assert ["cost_price" in each[-1]["changes"] for each in own] == [False, True]
    assert ["cost_price" in each[-1]["data"]["attributes"] for each in own] == [False, True]
    assert own[0][-1]["data"]["relationships"].keys() == own[1][-1]["data"]["relationships"].keys()
    assert ["cost" in line for line in streams] == [False, True]


@pytest.mark.security("P-08")
async def test_cost_prices_are_written_with_their_permission_only(
    http: httpx2.AsyncClient, db: Any, writer: Machine
) -> None:
    product = await new(writer, "product")
    path = f"{PLATFORM}/variants/{await master_of(writer, product.id)}"
    narrow, wide = [await token_for(http, db, f"products:write{more}") for more in ("", " costs:read")]
    cost = {"cost_price": "3.77", "cost_currency": "USD"}
    bodies = [cost, {"variant": cost}, {"variant": {"sku": "A-1", "cost_currency": "EUR"}}, {"cost_price": None}]

    saved = await http.patch(path, headers=wide, json={"variant": cost})
    refusals = [
        *[await http.patch(path, headers=narrow, json=body) for body in bodies],
        await http.patch(f"{path}?cost_price=9", headers=narrow, json={"position": 1}),
        await http.post(f"{PLATFORM}/variants", headers=narrow, json={"variant": {"product_id": product.id, **cost}}),
    ]
    other = await http.patch(path, headers=narrow, json={"variant": {"weight": "2.5"}})

    assert saved.status_code == 200, saved.text
    assert [answer.status_code for answer in refusals] == [403] * len(refusals)
    assert all("costs:read" in answer.json()["error"] for answer in refusals)
    assert other.status_code == 200, other.text
    assert "cost_price" not in other.json()["data"]["attributes"]
    assert (await writer.get(path.removeprefix(PLATFORM))).json["data"]["attributes"]["cost_price"] == "3.77"


@pytest.mark.security("P-08")
async def test_whether_a_cost_is_current_is_not_told_without_its_permission(
    http: httpx2.AsyncClient, db: Any, writer: Machine
) -> None:
    """A member that cannot be set is accepted with its current value, which would confirm a guess."""
    variant = (await Make(writer).product(price="10.00", on_hand=5)).variant_id
    order = await new(writer, "order", currency="USD")
    line = await new(writer, "line_item", order_id=order.id, variant_id=variant)
    products, orders = [await token_for(http, db, scope) for scope in ("products:write", "orders:write")]
    nested = {"order": {"line_items_attributes": [{"id": line.id, "cost_price": None}]}}

    refusals = [
        await http.patch(f"{PLATFORM}/variants/{variant}", headers=products, json={"display_cost_price": None}),
        await http.patch(f"{PLATFORM}/line_items/{line.id}", headers=orders, json={"line_item": {"cost_price": None}}),
        await http.patch(f"{PLATFORM}/orders/{order.id}", headers=orders, json=nested),
    ]

    assert [answer.status_code for answer in refusals] == [403] * 3
    assert all("costs:read" in answer.json()["error"] for answer in refusals)


@pytest.mark.security("P-08")
async def test_lines_with_costs_and_stock_need_their_permissions(http: httpx2.AsyncClient, db: Any) -> None:
    slugs = [f"lamp-{uuid4().hex}" for _ in range(3)]
    masters: list[dict[str, Any]] = [{}, {"cost_price": "3.77", "cost_currency": "USD"}, {"stock": {"default": 5}}]
    lines = [{"slug": slug, "name": "Lamp", "master": each} for slug, each in zip(slugs, masters, strict=True)]
    content = "".join(f"{json.dumps(line)}\n" for line in lines)

    async def send(scope: str) -> Any:
        headers = {**await token_for(http, db, scope), "Content-Type": "application/x-ndjson"}
        answer = await http.post(f"{PLATFORM}/imports/products?dry_run=true", headers=headers, content=content)
        assert answer.status_code == 200, answer.text
        return answer.json()

    narrow, costs, everything = (
        await send("products:write"),
        await send("products:write costs:read"),
        await send("write"),
    )

    assert (narrow["created"], narrow["failed"]) == (1, 2)
    assert [error["line"] for error in narrow["errors"]] == [2, 3]
    assert "costs:read" in narrow["errors"][0]["errors"]["master.cost_price"][0]
    assert "stock:write" in narrow["errors"][1]["errors"]["master.stock"][0]
    assert (costs["created"], [error["line"] for error in costs["errors"]]) == (2, [3])
    assert not any("stock:write" in str(error) for error in everything["errors"])


@pytest.mark.security("P-08")
async def test_an_order_gets_a_customer_only_with_the_permission_to_read_customers(
    http: httpx2.AsyncClient, db: Any, writer: Machine
) -> None:
    """The order shows the e-mail address of its customer."""
    user = await new(writer, "user", email=f"{uuid4().hex}@shoppers.example")
    narrow, wide = [await token_for(http, db, f"orders:write{more}") for more in ("", " customers:read")]

    answers = [
        await http.post(f"{PLATFORM}/orders", headers=each, json={"order": {"user_id": user.id, "currency": "USD"}})
        for each in (narrow, wide)
    ]

    assert [answer.status_code for answer in answers] == [403, 201], answers[1].text
    assert "customers:read" in answers[0].json()["error"]
    assert (await http.post(f"{PLATFORM}/orders", headers=narrow, json={"order": {"user_id": None}})).status_code == 201


@pytest.mark.security("P-08")
async def test_deleting_an_account_needs_the_permission_to_erase(
    http: httpx2.AsyncClient, db: Any, writer: Machine
) -> None:
    user = await new(writer, "user", email=f"{uuid4().hex}@shoppers.example")
    path = f"{PLATFORM}/users/{user.id}"
    scopes = ("customers:read customers:write", "customers:erase")

    answers = [await http.delete(path, headers=await token_for(http, db, scope)) for scope in scopes]

    assert [answer.status_code for answer in answers] == [403, 204]
    assert "customers:erase" in answers[0].json()["error"]


@pytest.mark.security("P-08")
async def test_a_token_with_permissions_writes_only_their_resources(http: httpx2.AsyncClient, db: Any) -> None:
    headers = await token_for(http, db, "promotions:write orders:write")
    body = {"promotion_category": {"name": "Spring"}}

    created = await http.post(f"{PLATFORM}/promotion_categories", headers=headers, json=body)
    refusals = [
        await http.post(f"{PLATFORM}/zones", headers=headers, json={"zone": {"name": "x"}}),
        await http.post(f"{PLATFORM}/refunds", headers=headers, json={}),
        await http.patch(f"{PLATFORM}/orders/R1/cancel", headers=headers),
        await get(http, headers, "promotion_categories"),
    ]

    assert created.status_code == 201
    assert [answer.status_code for answer in refusals] == [403] * 4


@pytest.mark.security("P-03", "P-08")
async def test_the_level_and_the_permissions_of_an_application_cap_its_tokens(
    http: httpx2.AsyncClient, db: Any
) -> None:
    reader, limited = await new_app(db, "read"), await new_app(db, "write")
    await db.execute("update applications set permissions = '{orders:read}' where id = $1", limited.id)

    answers = [
        await ask_for_token(http, reader, "orders:write"),
        await ask_for_token(http, limited, "write"),
        await ask_for_token(http, limited, "admin"),
        await ask_for_token(http, limited, "orders:read products:read"),
    ]
    token = (await ask_for_token(http, limited, "orders:read")).json["access_token"]
    headers = {"Authorization": f"Bearer {token}"}
    before = await get(http, headers, "orders")
    await db.execute("update applications set permissions = '{products:read}' where id = $1", limited.id)

    assert [(answer.status, answer.json["error"]) for answer in answers] == [(400, "invalid_scope")] * 4
    assert before.status_code == 200
    assert (await get(http, headers, "orders")).status_code == 403


def test_permissions_add_up_with_levels() -> None:
    assert is_allowed("write", "read orders:write", "write", "orders:write")
    assert is_allowed("read", "read orders:write", "write", "products:read")
    assert not is_allowed("write", "read orders:write", "write", "products:write")
    assert not is_allowed("write", "admin orders:write", "write", "products:write")
    assert not is_allowed("read", "orders:write", "write", "orders:read")
    assert not is_allowed("read", "orders:read", "write", "")


def test_a_refresh_narrows_permissions_and_never_changes_them() -> None:
    assert is_within("orders:read", "orders:read stock:read", "write")
    assert not is_within("orders:write", "orders:read", "write")
    assert not is_within("orders:write", "write", "write")
    assert not is_grantable("orders:delete", "write")
