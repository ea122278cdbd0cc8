"""What is in a parcel: put in, taken out, sent from elsewhere, sent with another; nothing is lost on the way."""

from typing import Any
from uuid import uuid4

import msgspec
import pytest

from tests.builders import MadeProduct, Make
from tests.checkout_builders import Buyer, Till, new_till
from tests.platform.client import Machine
from tests.sampling import first
from tests.shopper import Answer

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
        response = await writer.get(f"/shipments?filter[order_id_eq]={self.order_id}&sort=id")
        return [record["id"] for record in response.json["data"]]


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


async def held(db: Any, sale: Sold) -> list[tuple[str, int]]:
    return [(row[1][0], row[2]) for row in await db.fetch(HELD, sale.order_id)]


async def counts(db: Any, sale: Sold) -> list[int]:
    return [row[1] for row in await db.fetch(COUNTS, sale.mug.sold)]


async def act(writer: Machine, shipment_id: str, verb: str, **wish: Any) -> Answer:
    return await writer.patch(f"/shipments/{shipment_id}/{verb}", {"shipment": wish})


async def test_pieces_go_from_another_place_and_the_goods_with_them(writer: Machine, db: Any) -> None:
    sale = await new_sale(writer, db)
    (first,) = await sale.shipments(writer)
    total = (await writer.get(f"/orders/{sale.order_id}"))["total"]
    wish = {"variant_id": sale.mug.sold, "stock_location_id": sale.places[1]}

    some = await act(writer, first, "transfer_to_location", **wish, quantity=2)
    assert (some.status, some.id != first) == (201, True)
    assert (await held(db, sale), await counts(db, sale)) == ([("A", 1), ("B", 2)], [2, 0])
    too_many = await act(writer, first, "transfer_to_location", **wish, quantity=1)
    assert (too_many.status, too_many.code) == (422, "out_of_stock")

    number = (await writer.get(f"/shipments/{first}"))["number"]
    back = await act(
        writer, some.id, "transfer_to_shipment", variant_id=sale.mug.sold, quantity=2, target_shipment_number=number
    )
    assert (back.status, back.id) == (201, first)
    assert (await held(db, sale), await counts(db, sale)) == ([("A", 3)], [0, 2])
    assert await sale.shipments(writer) == [first]
    order = await writer.get(f"/orders/{sale.order_id}")
    assert (order["total"], order["shipment_state"]) == (total, "ready")
    costs = "select sum(cost)::bigint from shipments where order_id::text = $1"
    assert await db.fetchval(costs, sale.order_id) == 500


async def test_a_parcel_that_goes_whole_stays_the_same_parcel(writer: Machine, db: Any) -> None:
    sale = await new_sale(writer, db)
    await Make(writer).change("stock_items", await item_of(writer, sale, 1), "stock_item", count_on_hand=5)
    (first,) = await sale.shipments(writer)

    shipment = await act(
        writer, first, "transfer_to_location", variant_id=sale.mug.sold, quantity=3, stock_location_id=sale.places[1]
    )

    assert (shipment.status, shipment.id) == (201, first)
    assert (await held(db, sale), await counts(db, sale)) == ([("B", 3)], [3, 2])


async def item_of(writer: Machine, sale: Sold, place: int) -> str:
    wish = f"filter[variant_id_eq]={sale.mug.sold}&filter[stock_location_id_eq]={sale.places[place]}"
    return str((await writer.get(f"/stock_items?{wish}")).json["data"][0]["id"])


async def test_what_was_sent_stays_where_it_is(writer: Machine, db: Any) -> None:
    sale = await new_sale(writer, db)
    (first,) = await sale.shipments(writer)
    await writer.patch(f"/shipments/{first}/ship", {})

    refusal = await act(
        writer, first, "transfer_to_location", variant_id=sale.mug.sold, stock_location_id=sale.places[1]
    )

    assert (refusal.status, refusal.code) == (422, "illegal_transition")
    assert await counts(db, sale) == [0, 2]


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
    sale = await new_sale(writer, db)
    (first,) = await sale.shipments(writer)

    place = {"stock_location_id": sale.places[1]} if verb == "transfer_to_location" else {}
    refusal = await act(writer, first, verb, **{"variant_id": sale.mug.sold, "quantity": 1, **place, **wish})

    assert (refusal.status, refusal.code) == (422, code)
    assert (await held(db, sale), await counts(db, sale)) == ([("A", 3)], [0, 2])


async def test_an_open_order_is_packed_anew_when_pieces_are_put_in_or_taken_out(writer: Machine, db: Any) -> None:
    sale = await new_sale(writer, db, is_completed=False)
    (first,) = await sale.shipments(writer)

    addition = await act(writer, first, "add_item", variant_id=sale.mug.sold, quantity=2)
    assert (addition.status, await held(db, sale)) == (200, [("A", 3), ("B", 2)])
    assert (await writer.get(f"/orders/{sale.order_id}"))["item_total"] == "50.0"
    fewer = await act(writer, addition.id, "remove_item", variant_id=sale.mug.sold, quantity=4)
    assert (fewer.status, await held(db, sale)) == (200, [("A", 1)])
    removal = await act(writer, fewer.id, "remove_item", variant_id=sale.mug.sold)
    assert (removal.status, await held(db, sale)) == (204, [])
    assert await counts(db, sale) == [3, 2]


async def test_a_shipment_is_made_from_a_place_for_an_order_by_its_number(writer: Machine, db: Any) -> None:
    sale = await new_sale(writer, db, is_completed=False)
    number = (await writer.get(f"/orders/{sale.order_id}"))["number"]
    body = {"order_id": number, "variant_id": sale.mug.sold, "stock_location_id": sale.places[1], "quantity": 1}

    shipment = await writer.post("/shipments", {"shipment": body})

    assert shipment.status == 201, shipment
    assert shipment.json["data"]["relationships"]["stock_location"]["data"]["id"] == sale.places[1]
    assert sum(quantity for _, quantity in await held(db, sale)) == 4
    for wish, code in (
        ({"order_id": "R0"}, "order_not_found"),
        ({"variant_id": str(uuid4())}, "variant_not_found"),
        ({"stock_location_id": str(uuid4())}, "stock_location_not_found"),
    ):
        refusal = await writer.post("/shipments", {"shipment": {**body, **wish}})
        assert (refusal.status, refusal.code) == (422, code)
    await sale.buyer.pay()
    assert (await sale.buyer.complete()).status == 200
    assert sum(await counts(db, sale)) == 1


async def test_another_rate_of_an_open_shipment_is_chosen_by_its_id(writer: Machine, db: Any) -> None:
    sale = await new_sale(writer, db, is_completed=False)
    (first,) = await sale.shipments(writer)
    rates = (await writer.get(f"/shipping_rates?filter[shipment_id_eq]={first}")).json["data"]
    rates.sort(key=lambda rate: float(rate["attributes"]["cost"]))

    response = await writer.patch(f"/shipments/{first}", {"shipment": {"selected_shipping_rate_id": rates[1]["id"]}})
    other = await writer.patch(f"/shipments/{first}", {"shipment": {"selected_shipping_rate_id": str(uuid4())}})

    assert (response.status, response["cost"]) == (200, rates[1]["attributes"]["cost"])
    assert (other.status, list(other.json["errors"])) == (422, ["selected_shipping_rate_id"])


@pytest.mark.parametrize("verb", first(2, ["ship", "cancel", "ready", "resume", "pend"]))
async def test_a_shipment_of_an_order_that_is_still_open_goes_nowhere(writer: Machine, db: Any, verb: str) -> None:
    sale = await new_sale(writer, db, is_completed=False)
    (shipment,) = await sale.shipments(writer)
    before = await writer.get(f"/shipments/{shipment}")

    refusal = await writer.patch(f"/shipments/{shipment}/{verb}", {})

    assert refusal.status == 422, refusal
    after = await writer.get(f"/shipments/{shipment}")
    assert [after[name] for name in ("state", "shipped_at")] == [before["state"], None]
