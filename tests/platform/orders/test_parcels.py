"""What is in a parcel: put in, taken out, sent from elsewhere, sent with another; nothing is lost on the way."""

from typing import Any
from uuid import uuid4

import msgspec
import pytest

from tests.make import MadeProduct, Make
from tests.platform.machine import Machine
from tests.shopper import Answer
from tests.till import Buyer, Till, new_till
from tests.usual import first

HELD = """select s.id::text, l.name, i.quantity from shipment_items i join shipments s on s.id = i.shipment_id
    join stock_locations l on l.id = s.stock_location_id where i.order_id::text = $1 order by l.name, i.quantity"""
COUNTS = """select l.name, i.count_on_hand from stock_items i join stock_locations l on l.id = i.stock_location_id
    where i.variant_id::text = $1 order by l.name"""


class Sold(msgspec.Struct, frozen=True):
    """Three pieces of something that lies in two places."""

    till: Till
    buyer: Buyer
    mug: MadeProduct
    order_id: str
    places: tuple[str, str]

    async def shipments(self, writer: Machine) -> list[str]:
        found = await writer.get(f"/shipments?filter[order_id_eq]={self.order_id}&sort=id")
        return [record["id"] for record in found.json["data"]]


async def new_sale(writer: Machine, db: Any, *, is_completed: bool = True) -> Sold:
    make = Make(writer)
    till = await new_till(make)
    names = [f"{letter} {uuid4().hex}" for letter in "AB"]
    places = [(await make.new("stock_locations", "stock_location", name=name)).id for name in names]
    mug = await make.product(price="10.00", shipping_category_id=till.category)
    for place, count in zip(places, (3, 2), strict=True):
        fields = {"variant_id": mug.sold, "stock_location_id": place, "count_on_hand": count}
        await make.new("stock_items", "stock_item", **fields)
    buyer = Buyer(writer.http, till)
    cart = await buyer.ready((mug, 3))
    if is_completed:
        assert (await buyer.complete()).status == 200
    return Sold(till, buyer, mug, cart.id, (places[0], places[1]))


async def held(db: Any, sold: Sold) -> list[tuple[str, int]]:
    return [(row[1][0], row[2]) for row in await db.fetch(HELD, sold.order_id)]


async def counts(db: Any, sold: Sold) -> list[int]:
    return [row[1] for row in await db.fetch(COUNTS, sold.mug.sold)]


async def act(writer: Machine, shipment_id: str, verb: str, **wish: Any) -> Answer:
    return await writer.patch(f"/shipments/{shipment_id}/{verb}", {"shipment": wish})


async def test_pieces_go_from_another_place_and_the_goods_with_them(writer: Machine, db: Any) -> None:
    sold = await new_sale(writer, db)
    (first,) = await sold.shipments(writer)
    total = (await writer.get(f"/orders/{sold.order_id}"))["total"]
    wish = {"variant_id": sold.mug.sold, "stock_location_id": sold.places[1]}

    some = await act(writer, first, "transfer_to_location", **wish, quantity=2)
    assert (some.status, some.id != first) == (201, True)
    assert (await held(db, sold), await counts(db, sold)) == ([("A", 1), ("B", 2)], [2, 0])
    too_many = await act(writer, first, "transfer_to_location", **wish, quantity=1)
    assert (too_many.status, too_many.code) == (422, "out_of_stock")

    number = (await writer.get(f"/shipments/{first}"))["number"]
    back = await act(
        writer, some.id, "transfer_to_shipment", variant_id=sold.mug.sold, quantity=2, target_shipment_number=number
    )
    assert (back.status, back.id) == (201, first)
    assert (await held(db, sold), await counts(db, sold)) == ([("A", 3)], [0, 2])
    assert await sold.shipments(writer) == [first]
    order = await writer.get(f"/orders/{sold.order_id}")
    assert (order["total"], order["shipment_state"]) == (total, "ready")
    costs = "select sum(cost)::bigint from shipments where order_id::text = $1"
    assert await db.fetchval(costs, sold.order_id) == 500


async def test_a_parcel_that_goes_whole_stays_the_same_parcel(writer: Machine, db: Any) -> None:
    sold = await new_sale(writer, db)
    await Make(writer).change("stock_items", await item_of(writer, sold, 1), "stock_item", count_on_hand=5)
    (first,) = await sold.shipments(writer)

    moved = await act(
        writer, first, "transfer_to_location", variant_id=sold.mug.sold, quantity=3, stock_location_id=sold.places[1]
    )

    assert (moved.status, moved.id) == (201, first)
    assert (await held(db, sold), await counts(db, sold)) == ([("B", 3)], [3, 2])


async def item_of(writer: Machine, sold: Sold, place: int) -> str:
    wish = f"filter[variant_id_eq]={sold.mug.sold}&filter[stock_location_id_eq]={sold.places[place]}"
    return str((await writer.get(f"/stock_items?{wish}")).json["data"][0]["id"])


async def test_what_was_sent_stays_where_it_is(writer: Machine, db: Any) -> None:
    sold = await new_sale(writer, db)
    (first,) = await sold.shipments(writer)
    await writer.patch(f"/shipments/{first}/ship", {})

    refused = await act(
        writer, first, "transfer_to_location", variant_id=sold.mug.sold, stock_location_id=sold.places[1]
    )

    assert (refused.status, refused.code) == (422, "illegal_transition")
    assert await counts(db, sold) == [0, 2]


@pytest.mark.parametrize(
    ("verb", "wish", "code"),
    first(
        4,
        [
            ("transfer_to_location", {"stock_location_id": None}, "stock_location_not_found"),
            ("transfer_to_location", {"quantity": 4}, "validation_failed"),
            ("transfer_to_shipment", {"target_shipment_number": "H0"}, "shipment_not_found"),
            ("add_item", {}, "illegal_transition"),
            ("transfer_to_location", {"variant_id": str(uuid4())}, "variant_not_found"),
            ("transfer_to_location", {"variant_id": 7}, "variant_not_found"),
            ("transfer_to_location", {"quantity": 0}, "validation_failed"),
            ("remove_item", {}, "illegal_transition"),
        ],
    ),
)
async def test_what_cannot_be_is_told_and_nothing_moves(
    writer: Machine, db: Any, verb: str, wish: dict[str, Any], code: str
) -> None:
    sold = await new_sale(writer, db)
    (first,) = await sold.shipments(writer)

    place = {"stock_location_id": sold.places[1]} if verb == "transfer_to_location" else {}
    refused = await act(writer, first, verb, **{"variant_id": sold.mug.sold, "quantity": 1, **place, **wish})

    assert (refused.status, refused.code) == (422, code)
    assert (await held(db, sold), await counts(db, sold)) == ([("A", 3)], [0, 2])


async def test_an_open_order_is_packed_anew_when_pieces_are_put_in_or_taken_out(writer: Machine, db: Any) -> None:
    sold = await new_sale(writer, db, is_completed=False)
    (first,) = await sold.shipments(writer)

    added = await act(writer, first, "add_item", variant_id=sold.mug.sold, quantity=2)
    assert (added.status, await held(db, sold)) == (200, [("A", 3), ("B", 2)])
    assert (await writer.get(f"/orders/{sold.order_id}"))["item_total"] == "50.0"
    fewer = await act(writer, added.id, "remove_item", variant_id=sold.mug.sold, quantity=4)
    assert (fewer.status, await held(db, sold)) == (200, [("A", 1)])
    gone = await act(writer, fewer.id, "remove_item", variant_id=sold.mug.sold)
    assert (gone.status, await held(db, sold)) == (204, [])
    assert await counts(db, sold) == [3, 2]


async def test_a_shipment_is_made_from_a_place_for_an_order_by_its_number(writer: Machine, db: Any) -> None:
    sold = await new_sale(writer, db, is_completed=False)
    number = (await writer.get(f"/orders/{sold.order_id}"))["number"]
    body = {"order_id": number, "variant_id": sold.mug.sold, "stock_location_id": sold.places[1], "quantity": 1}

    made = await writer.post("/shipments", {"shipment": body})

    assert made.status == 201, made
    assert made.json["data"]["relationships"]["stock_location"]["data"]["id"] == sold.places[1]
    assert sum(quantity for _, quantity in await held(db, sold)) == 4
    for wish, code in (
        ({"order_id": "R0"}, "order_not_found"),
        ({"variant_id": str(uuid4())}, "variant_not_found"),
        ({"stock_location_id": str(uuid4())}, "stock_location_not_found"),
    ):
        refused = await writer.post("/shipments", {"shipment": {**body, **wish}})
        assert (refused.status, refused.code) == (422, code)
    await sold.buyer.pay()
    assert (await sold.buyer.complete()).status == 200
    assert sum(await counts(db, sold)) == 1


async def test_another_rate_of_an_open_shipment_is_chosen_by_its_id(writer: Machine, db: Any) -> None:
    sold = await new_sale(writer, db, is_completed=False)
    (first,) = await sold.shipments(writer)
    rates = (await writer.get(f"/shipping_rates?filter[shipment_id_eq]={first}")).json["data"]
    rates.sort(key=lambda rate: float(rate["attributes"]["cost"]))

    changed = await writer.patch(f"/shipments/{first}", {"shipment": {"selected_shipping_rate_id": rates[1]["id"]}})
    other = await writer.patch(f"/shipments/{first}", {"shipment": {"selected_shipping_rate_id": str(uuid4())}})

    assert (changed.status, changed["cost"]) == (200, rates[1]["attributes"]["cost"])
    assert (other.status, list(other.json["errors"])) == (422, ["selected_shipping_rate_id"])


@pytest.mark.parametrize("verb", first(2, ["ship", "cancel", "ready", "resume", "pend"]))
async def test_a_shipment_of_an_order_that_is_still_open_goes_nowhere(writer: Machine, db: Any, verb: str) -> None:
    sold = await new_sale(writer, db, is_completed=False)
    (shipment,) = await sold.shipments(writer)
    before = await writer.get(f"/shipments/{shipment}")

    refused = await writer.patch(f"/shipments/{shipment}/{verb}", {})

    assert refused.status == 422, refused
    after = await writer.get(f"/shipments/{shipment}")
    assert [after[name] for name in ("state", "shipped_at")] == [before["state"], None]
