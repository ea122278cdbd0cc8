"""The event log over HTTP: what it contains, in which order, and how it is read."""

import asyncio
import re
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from shop.platform.events.bodies import SUBJECTS
from shop.rules.access.permissions import OWNER_ID
from shop.rules.personal_data import SECRETS
from tests.admin.dashboard import new_dashboard
from tests.builders import Make
from tests.checkout_builders import Buyer, CheckoutSetup
from tests.events.feed import FeedReader, new_reader
from tests.platform.client import Machine, ask_for_token, new_app, new_machine, revoke_app


@pytest.fixture
async def reader(http: httpx2.AsyncClient, db: Any) -> FeedReader:
    return await new_reader(await new_machine(http, db, "read"))


async def test_a_record_of_a_declared_resource_has_events_of_its_life(reader: FeedReader, make: Make) -> None:
    created = await make.new("tax_categories", "tax_category", name="Books", description="Printed")
    await make.change("tax_categories", created.id, "tax_category", name="Printed books")
    await make.machine.delete(f"/tax_categories/{created.id}")

    events = await reader.read_about(created.id, until="tax_category.deleted")

    assert [event["type"] for event in events] == [
        "tax_category.created",
        "tax_category.updated",
        "tax_category.deleted",
    ]
    assert events[0]["data"]["attributes"]["name"] == "Books"
    assert events[1]["changes"] == {"name": ["Books", "Printed books"]}
    assert [event["data"]["attributes"]["description"] for event in events] == ["Printed"] * 3
    assert {event["actor"]["type"] for event in events} == {"application"}
    assert [event["id"][:4] for event in events] == ["evt_"] * 3


async def test_the_data_of_an_event_is_what_the_platform_api_shows(reader: FeedReader, make: Make) -> None:
    product = await make.product("Mug", price="12.50", on_hand=3)

    events = await reader.read_about(product.id, until="product.created")

    shown = (await make.machine.get(f"/products/{product.id}")).json["data"]
    data = events[0]["data"]
    assert (data["id"], data["type"]) == (shown["id"], shown["type"])
    assert data["attributes"].keys() == shown["attributes"].keys()
    assert data["relationships"].keys() == shown["relationships"].keys()
    assert data["attributes"]["price"] == "12.5"


async def test_an_update_that_changes_nothing_has_no_event(reader: FeedReader, make: Make) -> None:
    created = await make.new("tax_categories", "tax_category", name="Books")
    await make.change("tax_categories", created.id, "tax_category", name="Books")
    await make.machine.patch(f"/tax_categories/{created.id}", {"tax_category": {"name": ""}})
    await make.machine.delete(f"/tax_categories/{created.id}")

    events = await reader.read_about(created.id, until="tax_category.deleted")

    assert [event["type"] for event in events] == ["tax_category.created", "tax_category.deleted"]


async def test_an_open_cart_has_no_events_and_a_purchase_has_all(
    reader: FeedReader, checkout_setup: CheckoutSetup, http: httpx2.AsyncClient
) -> None:
    product = await checkout_setup.product(on_hand=1)
    buyer = Buyer(http, checkout_setup)
    cart = await buyer.ready((product, 1), source="approve")
    assert (await buyer.complete()).status == 200

    page: list[dict[str, Any]] = []
    while not any(event["type"] == "order.completed" for event in page):
        page += await reader.read("order.*", "payment.*", "shipment.*", "line_item.*", "stock.sold_out")

    of_order = [event for event in page if event["data"]["id"] == cart.id]
    assert [event["type"] for event in of_order] == ["order.completed", "order.paid"]
    types = {event["type"] for event in page}
    assert {"payment.captured", "shipment.created", "stock.sold_out"} <= types
    assert "line_item.created" not in types
    assert of_order[0]["data"]["attributes"]["state"] == "complete"
    assert len(of_order[0]["data"]["relationships"]["line_items"]["data"]) == 1
    assert [event["position"] for event in page] == sorted(event["position"] for event in page)


@pytest.mark.security("E-02")
@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"page[after]": "x"}, "bad_page"),
        ({"page[after]": "-1"}, "bad_page"),
        ({"page[size]": "0"}, "bad_page"),
        ({"page[size]": "101"}, "bad_page"),
        ({"page[number]": "1"}, "bad_page"),
        ({"wait": "31"}, "bad_page"),
        ({"wait": "soon"}, "bad_page"),
        ({"wait": "0" * 9 + "86400"}, "bad_page"),
        ({"wait": "1" * 5000}, "bad_page"),
        ({"page[size]": "0000000019999"}, "bad_page"),
        ({"page[after]": "9" * 19}, "bad_page"),
        ({"page[after]": "\u0661\u0662"}, "bad_page"),
        ({"page[after][]": "1"}, "bad_page"),
        ({"filter": "order.*"}, "bad_filter"),
        ({"filter[type_in]": ",".join(["order.*"] * 51)}, "bad_filter"),
        ({"filter[type_in]": "order.completed' or 1=1 --"}, "bad_filter"),
        ({"filter[type_in]": "order"}, "bad_filter"),
        ({"filter[type_in]": "order.%"}, "bad_filter"),
        ({"filter[type_eq]": "order.*"}, "bad_filter"),
    ],
)
async def test_parameters_that_cannot_be_used_are_refused(
    reader: FeedReader, params: dict[str, str], code: str
) -> None:
    answer = await reader.machine.get("/events", params)

    assert (answer.status, answer.json["code"]) == (400, code)


@pytest.mark.security("E-02")
async def test_a_cursor_from_the_future_or_the_distant_past_is_refused(reader: FeedReader) -> None:
    answer = await reader.machine.get("/events", {"page[after]": "999999999999"})

    assert (answer.status, answer.json["code"]) == (410, "cursor_expired")


async def test_every_type_is_listed_with_its_subject(reader: FeedReader) -> None:
    answer = await reader.machine.get("/event_types")

    types = {each["type"]: each["subject_type"] for each in answer.json["data"]}
    assert types["order.completed"] == "order"
    assert types["category.updated"] == "taxon"
    assert len(types) == len(answer.json["data"])


async def test_every_type_has_an_example_that_is_rendered_like_an_event(reader: FeedReader, make: Make) -> None:
    examples = {each["type"]: each["example"] for each in (await reader.machine.get("/event_types")).json["data"]}
    category = await make.new("tax_categories", "tax_category", name="Books")
    await make.change("tax_categories", category.id, "tax_category", name="Printed books")
    created, updated = await reader.read_about(category.id, until="tax_category.updated")

    for type_, example in examples.items():
        assert example["type"] == type_
        assert "attributes" in example["data"], type_
        assert example["changes"] or not type_.endswith(".updated"), type_
    for event in (created, updated):
        example = examples[event["type"]]
        assert event.keys() == example.keys()
        assert event["data"]["attributes"].keys() == example["data"]["attributes"].keys()
        assert event["changes"].keys() == example["changes"].keys()
    assert examples["order.canceled"]["changes"]["state"] == ["complete", "canceled"]
    assert examples["stock.sold_out"]["data"]["attributes"]["count_on_hand"] == 0


@pytest.mark.security("E-01")
@pytest.mark.parametrize("path", ["/events", "/events/stream", "/event_types"])
async def test_the_log_needs_a_token_that_may_read(http: httpx2.AsyncClient, db: Any, path: str) -> None:
    app = await new_app(db, "read")
    machine = Machine(http, (await ask_for_token(http, app, "admin read")).json)
    await revoke_app(db, app)

    assert (await http.get(f"/api/v2/platform{path}")).status_code == 401
    assert (await machine.get(path)).status == 401


async def test_an_event_that_another_version_wrote_does_not_stop_readers(
    reader: FeedReader, make: Make, db: Any
) -> None:
    created = await make.new("tax_categories", "tax_category", name="Books")
    await reader.read_about(created.id, until="tax_category.created")
    await db.execute('update events set row = \'{"name": "Books"}\' where subject_id = $1', UUID(created.id))

    page = await reader.machine.get("/events", {"page[after]": str(int(reader.cursor) - 1)})

    assert page.json["data"][0]["data"] == {
        "id": created.id,
        "type": "tax_category",
        "truncated": True,
        "url": str(reader.machine.http.base_url.join(f"/api/v2/platform/tax_categories/{created.id}")),
    }


SHOWN_SECRETS = {
    ("wishlist", "token"): "opens a public wishlist, and the Platform API shows it",
    ("webhook_endpoint", "secret"): "no column: only the response to a creation has it",
    ("subscriber", "secret"): "no column: only the response to a creation has it",
}


@pytest.mark.security("E-07")
def test_no_column_with_a_secret_is_stored_in_an_event() -> None:
    names = [(type_, name) for type_, kind in SUBJECTS.items() for name in kind.records.row.__struct_fields__]
    secrets = {each for each in names if re.search("hash|password|totp|secret|sealed|token", each[1])}

    assert {each for each in secrets if each[1] not in SECRETS} == set(SHOWN_SECRETS)


@pytest.mark.security("E-07")
async def test_the_stored_event_of_an_operator_has_no_password(reader: FeedReader, db: Any) -> None:
    dashboard = await new_dashboard(reader.machine.http, db)
    email = f"{uuid4().hex}@operators.example"
    assert (await dashboard.post("/admin/settings/operators/new", email=email, role_id=str(OWNER_ID))).status_code < 400
    operator_id = await db.fetchval("select id from operators where email = $1", email)

    (event,) = await reader.read_about(str(operator_id), until="operator.created")

    assert event["data"]["attributes"].keys() == {"email", "role_id", "created_at", "disabled_at"}
    row = await db.fetchval("select row::text from events where subject_id = $1", operator_id)
    assert email in row
    assert not re.search("password|totp|hash", row)


async def test_a_wait_ends_with_a_matching_event_and_not_with_another(reader: FeedReader, make: Make) -> None:
    other_reader = FeedReader(reader.machine, reader.cursor)
    waiting = asyncio.create_task(reader.read("zone.created", wait=20))
    await make.new("tax_categories", "tax_category", name=f"Other {uuid4().hex}")
    assert await other_reader.read("tax_category.created")
    assert not waiting.done()

    zone = await make.new("zones", "zone", name=f"Zone {uuid4().hex}")

    assert [event["data"]["id"] for event in await waiting] == [zone.id]


@pytest.mark.security("E-01")
async def test_a_token_that_is_revoked_while_its_request_waits_gets_no_events(
    reader: FeedReader, http: httpx2.AsyncClient, db: Any, make: Make
) -> None:
    app = await new_app(db, "read")
    machine = Machine(http, (await ask_for_token(http, app, "admin read")).json)
    cursor = (await machine.get("/events", {"page[after]": "now"})).json["meta"]["cursor"]
    waiting = asyncio.create_task(
        machine.get("/events", {"page[after]": cursor, "wait": "20", "filter[type_in]": "zone.created"})
    )
    # When another reader has an event that came later, the request waits.
    await make.new("tax_categories", "tax_category", name=f"Other {uuid4().hex}")
    assert await FeedReader(reader.machine, cursor).read("tax_category.created")

    await revoke_app(db, app)
    await make.new("zones", "zone", name=f"Zone {uuid4().hex}")

    assert (await waiting).status == 401
