"""Contents of shipments: add, remove, transfer to another location or shipment; no item is lost."""

from typing import Any
from uuid import uuid4

import msgspec
import pytest

from tests.builders import Make, ProductIds
from tests.checkout_builders import Buyer, CheckoutSetup, new_checkout_setup
from tests.platform.client import Machine
from tests.sampling import first
from tests.shopper import Answer

SHIPMENT_ITEMS = """select s.id::text, l.name, i.quantity from shipment_items i join shipments s on s.id = i.shipment_id
    join stock_locations l on l.id = s.stock_location_id where i.order_id::text = $1 order by l.name, i.quantity"""
STOCK_COUNTS = """select l.name, i.count_on_hand from stock_items i join stock_locations l on l.id = i.stock_location_id
    where i.variant_id::text = $1 order by l.name"""


class Sale(msgspec.Struct, frozen=True):
    """An order of three items of a product with stock at two locations."""

    checkout_setup: CheckoutSetup
    buyer: Buyer
    mug: ProductIds
    order_id: str
    locations: tuple[str, str]

    async def shipments(self, writer: Machine) -> list[str]:
        response = await writer.get(f"/shipments?filter[order_id_eq]={self.order_id}&sort=id")
        return [record["id"] for record in response.json["data"]]


async def new_sale(writer: Machine, db: Any, *, is_completed: bool = True) -> Sale:
    make = Make(writer)
    checkout_setup = await new_checkout_setup(make)
    names = [f"{letter} {uuid4().hex}" for letter in "AB"]
    locations = [(await make.new("stock_locations", "stock_location", name=name)).id for name in names]
    mug = await make.product(price="10.00", shipping_category_id=checkout_setup.category)
    for location, count in zip(locations, (3, 2), strict=True):
        fields = {"variant_id": mug.variant_id, "stock_location_id": location, "count_on_hand": count}
        await make.new("stock_items", "stock_item", **fields)
    buyer = Buyer(writer.http, checkout_setup)
    cart = await buyer.ready((mug, 3))
    if is_completed:
        assert (await buyer.complete()).status == 200
    return Sale(checkout_setup, buyer, mug, cart.id, (locations[0], locations[1]))


async def shipment_items(db: Any, sale: Sale) -> list[tuple[str, int]]:
    return [(row[1][0], row[2]) for row in await db.fetch(SHIPMENT_ITEMS, sale.order_id)]


async def stock_counts(db: Any, sale: Sale) -> list[int]:
    return [row[1] for row in await db.fetch(STOCK_COUNTS, sale.mug.variant_id)]


async def patch_shipment(writer: Machine, shipment_id: str, verb: str, **body: Any) -> Answer:
    return await writer.patch(f"/shipments/{shipment_id}/{verb}", {"shipment": body})


async def test_a_transfer_moves_items_and_stock_between_stock_locations(writer: Machine, db: Any) -> None:
    sale = await new_sale(writer, db)
    (first,) = await sale.shipments(writer)
    total = (await writer.get(f"/orders/{sale.order_id}"))["total"]
    fields = {"variant_id": sale.mug.variant_id, "stock_location_id": sale.locations[1]}

    some = await patch_shipment(writer, first, "transfer_to_location", **fields, quantity=2)
    assert (some.status, some.id != first) == (201, True)
    assert (await shipment_items(db, sale), await stock_counts(db, sale)) == ([("A", 1), ("B", 2)], [2, 0])
    too_many = await patch_shipment(writer, first, "transfer_to_location", **fields, quantity=1)
    assert (too_many.status, too_many.code) == (422, "out_of_stock")

    number = (await writer.get(f"/shipments/{first}"))["number"]
    back = await patch_shipment(
        writer,
        some.id,
        "transfer_to_shipment",
        variant_id=sale.mug.variant_id,
        quantity=2,
        target_shipment_number=number,
    )
    assert (back.status, back.id) == (201, first)
    assert (await shipment_items(db, sale), await stock_counts(db, sale)) == ([("A", 3)], [0, 2])
    assert await sale.shipments(writer) == [first]
    order = await writer.get(f"/orders/{sale.order_id}")
    assert (order["total"], order["shipment_state"]) == (total, "ready")
    costs = "select sum(cost)::bigint from shipments where order_id::text = $1"
    assert await db.fetchval(costs, sale.order_id) == 500


async def test_deleting_a_pending_shipment_moves_its_items_and_cost_to_another(writer: Machine, db: Any) -> None:
    sale = await new_sale(writer, db)
    (first,) = await sale.shipments(writer)
    total = (await writer.get(f"/orders/{sale.order_id}"))["total"]
    fields = {"variant_id": sale.mug.variant_id, "stock_location_id": sale.locations[1], "quantity": 2}
    second = await patch_shipment(writer, first, "transfer_to_location", **fields)
    ready = await writer.delete(f"/shipments/{second.id}")
    await writer.patch(f"/shipments/{first}/pend", {})
    out_of_stock = await writer.delete(f"/shipments/{first}")
    await writer.patch(f"/shipments/{second.id}/pend", {})

    deletion = await writer.delete(f"/shipments/{second.id}")
    await writer.patch(f"/shipments/{first}/pend", {})
    last = await writer.delete(f"/shipments/{first}")

    assert (ready.status, deletion.status, last.status) == (422, 204, 422)
    assert (out_of_stock.status, out_of_stock.code) == (422, "out_of_stock"), out_of_stock
    assert (await shipment_items(db, sale), await stock_counts(db, sale)) == ([("A", 3)], [0, 2])
    assert (await writer.get(f"/orders/{sale.order_id}"))["total"] == total
    assert await db.fetchval("select cost from shipments where id::text = $1", first) == 500


async def test_transferring_every_item_of_a_shipment_does_not_replace_the_shipment(writer: Machine, db: Any) -> None:
    sale = await new_sale(writer, db)
    await Make(writer).change("stock_items", await stock_item_id_of(writer, sale, 1), "stock_item", count_on_hand=5)
    (first,) = await sale.shipments(writer)

    shipment = await patch_shipment(
        writer,
        first,
        "transfer_to_location",
        variant_id=sale.mug.variant_id,
        quantity=3,
        stock_location_id=sale.locations[1],
    )

    assert (shipment.status, shipment.id) == (201, first)
    assert (await shipment_items(db, sale), await stock_counts(db, sale)) == ([("B", 3)], [3, 2])


async def stock_item_id_of(writer: Machine, sale: Sale, location: int) -> str:
    query = f"filter[variant_id_eq]={sale.mug.variant_id}&filter[stock_location_id_eq]={sale.locations[location]}"
    return str((await writer.get(f"/stock_items?{query}")).json["data"][0]["id"])


async def test_a_transfer_from_a_shipped_shipment_is_refused(writer: Machine, db: Any) -> None:
    sale = await new_sale(writer, db)
    (first,) = await sale.shipments(writer)
    await writer.patch(f"/shipments/{first}/ship", {})

    refusal = await patch_shipment(
        writer, first, "transfer_to_location", variant_id=sale.mug.variant_id, stock_location_id=sale.locations[1]
    )

    assert (refusal.status, refusal.code) == (422, "illegal_transition")
    assert await stock_counts(db, sale) == [0, 2]


@pytest.mark.parametrize(
    ("verb", "fields", "code"),
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
async def test_an_invalid_transfer_is_refused_and_moves_nothing(
    writer: Machine, db: Any, verb: str, fields: dict[str, Any], code: str
) -> None:
    sale = await new_sale(writer, db)
    (first,) = await sale.shipments(writer)

    location = {"stock_location_id": sale.locations[1]} if verb == "transfer_to_location" else {}
    refusal = await patch_shipment(
        writer, first, verb, **{"variant_id": sale.mug.variant_id, "quantity": 1, **location, **fields}
    )

    assert (refusal.status, refusal.code) == (422, code)
    assert (await shipment_items(db, sale), await stock_counts(db, sale)) == ([("A", 3)], [0, 2])


async def test_adding_and_removing_items_recalculates_the_shipments_of_a_cart(writer: Machine, db: Any) -> None:
    sale = await new_sale(writer, db, is_completed=False)
    (first,) = await sale.shipments(writer)

    addition = await patch_shipment(writer, first, "add_item", variant_id=sale.mug.variant_id, quantity=2)
    assert (addition.status, await shipment_items(db, sale)) == (200, [("A", 3), ("B", 2)])
    assert (await writer.get(f"/orders/{sale.order_id}"))["item_total"] == "50.0"
    fewer = await patch_shipment(writer, addition.id, "remove_item", variant_id=sale.mug.variant_id, quantity=4)
    assert (fewer.status, await shipment_items(db, sale)) == (200, [("A", 1)])
    removal = await patch_shipment(writer, fewer.id, "remove_item", variant_id=sale.mug.variant_id)
    assert (removal.status, await shipment_items(db, sale)) == (204, [])
    assert await stock_counts(db, sale) == [3, 2]


async def test_a_shipment_is_created_from_a_stock_location_by_order_number(writer: Machine, db: Any) -> None:
    sale = await new_sale(writer, db, is_completed=False)
    number = (await writer.get(f"/orders/{sale.order_id}"))["number"]
    body = {
        "order_id": number,
        "variant_id": sale.mug.variant_id,
        "stock_location_id": sale.locations[1],
        "quantity": 1,
    }

    shipment = await writer.post("/shipments", {"shipment": body})

    assert shipment.status == 201, shipment
    assert shipment.json["data"]["relationships"]["stock_location"]["data"]["id"] == sale.locations[1]
    assert sum(quantity for _, quantity in await shipment_items(db, sale)) == 4
    for fields, code in (
        ({"order_id": "R0"}, "order_not_found"),
        ({"variant_id": str(uuid4())}, "variant_not_found"),
        ({"stock_location_id": str(uuid4())}, "stock_location_not_found"),
    ):
        refusal = await writer.post("/shipments", {"shipment": {**body, **fields}})
        assert (refusal.status, refusal.code) == (422, code)
    await sale.buyer.pay()
    assert (await sale.buyer.complete()).status == 200
    assert sum(await stock_counts(db, sale)) == 1


async def test_the_shipping_rate_of_a_shipment_is_selected_by_id(writer: Machine, db: Any) -> None:
    sale = await new_sale(writer, db, is_completed=False)
    (first,) = await sale.shipments(writer)
    rates = (await writer.get(f"/shipping_rates?filter[shipment_id_eq]={first}")).json["data"]
    rates.sort(key=lambda rate: float(rate["attributes"]["cost"]))

    response = await writer.patch(f"/shipments/{first}", {"shipment": {"selected_shipping_rate_id": rates[1]["id"]}})
    other = await writer.patch(f"/shipments/{first}", {"shipment": {"selected_shipping_rate_id": str(uuid4())}})

    assert (response.status, response["cost"]) == (200, rates[1]["attributes"]["cost"])
    assert (other.status, list(other.json["errors"])) == (422, ["selected_shipping_rate_id"])


@pytest.mark.parametrize("verb", first(2, ["ship", "cancel", "ready", "resume", "pend"]))
async def test_state_changes_of_a_shipment_of_a_cart_are_refused(writer: Machine, db: Any, verb: str) -> None:
    sale = await new_sale(writer, db, is_completed=False)
    (shipment,) = await sale.shipments(writer)
    before = await writer.get(f"/shipments/{shipment}")

    refusal = await writer.patch(f"/shipments/{shipment}/{verb}", {})

    assert refusal.status == 422, refusal
    after = await writer.get(f"/shipments/{shipment}")
    assert [after[name] for name in ("state", "shipped_at")] == [before["state"], None]
