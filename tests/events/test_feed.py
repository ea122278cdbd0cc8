"""The event log over HTTP: what it contains, in which order, and how it is read."""

from typing import Any
from uuid import UUID

import httpx2
import pytest

from tests.builders import Make
from tests.checkout_builders import Buyer, CheckoutSetup
from tests.events.feed import FeedReader, new_reader
from tests.platform.client import Machine, new_machine


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


async def test_a_cursor_from_the_future_or_the_distant_past_is_refused(reader: FeedReader) -> None:
    answer = await reader.machine.get("/events", {"page[after]": "999999999999"})

    assert (answer.status, answer.json["code"]) == (410, "cursor_expired")


async def test_every_type_is_listed_with_its_subject(reader: FeedReader) -> None:
    answer = await reader.machine.get("/event_types")

    types = {each["type"]: each["subject_type"] for each in answer.json["data"]}
    assert types["order.completed"] == "order"
    assert types["category.updated"] == "taxon"
    assert len(types) == len(answer.json["data"])


async def test_the_log_needs_a_token_that_may_read(http: httpx2.AsyncClient, make: Make) -> None:
    for path in ("/events", "/events/stream", "/event_types"):
        assert (await http.get(f"/api/v2/platform{path}")).status_code == 401
    assert isinstance(make.machine, Machine)


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
