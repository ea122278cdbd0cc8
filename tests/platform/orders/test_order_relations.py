"""Relations of the parts of an order: contents of shipments, sources of payments, adjustments of line items."""

from typing import Any

from tests.checkout_builders import Buyer, CheckoutSetup
from tests.platform.client import Machine
from tests.promotion_builders import TENTH, create_promotion, for_products
from tests.service import Service

TRACKING_URL = "https://post.example/:tracking"


async def new_sale(writer: Machine, checkout_setup: CheckoutSetup, source: str = "approve") -> Any:
    """An order of two items with 10 % off, paid by card."""
    mug = await checkout_setup.product("10.00", on_hand=9)
    await create_promotion(checkout_setup.make, TENTH, conditions=[for_products(mug)])
    buyer = Buyer(writer.http, checkout_setup)
    await buyer.ready((mug, 2), source=source)
    order = await buyer.complete()
    assert order.status == 200, order
    return order


async def parts(writer: Machine, path: str, order_id: str, include: str) -> tuple[Any, dict[str, list[Any]]]:
    """The first record of an order on this path, and the included records by type."""
    response = await writer.get(f"/{path}", {"filter[order_id_eq]": order_id, "include": include, "sort": "id"})
    assert response.status == 200, response
    included: dict[str, list[Any]] = {}
    for each in response.json["included"]:
        included.setdefault(each["type"], []).append(each)
    return response.json["data"][0], included


async def test_a_shipment_includes_its_inventory_units_rate_and_address(
    writer: Machine, checkout_setup: CheckoutSetup
) -> None:
    order = await new_sale(writer, checkout_setup)
    include = "inventory_units.variant,line_items,selected_shipping_rate,address,adjustments"

    shipment, included = await parts(writer, "shipments", order.id, include)

    attributes = shipment["attributes"]
    (unit,) = included["inventory_unit"]
    assert unit["attributes"] == {"quantity": 2, "backordered": 0, "state": "on_hand", "pending": False}
    assert unit["relationships"]["line_item"]["data"]["id"] == included["line_item"][0]["id"]
    assert (attributes["item_cost"], attributes["display_item_cost"]) == ("20.0", "$20.00")
    assert (attributes["display_amount"], attributes["display_discounted_cost"]) == ("$5.00", "$5.00")
    assert attributes["display_final_price_with_items"] == "$25.00"
    assert included["shipping_rate"][0]["attributes"]["selected"] is True
    assert included["address"][0]["attributes"]["city"] == "Springfield"


async def test_a_shipment_shows_its_tracking_url(writer: Machine, checkout_setup: CheckoutSetup) -> None:
    order = await new_sale(writer, checkout_setup)
    (shipment, _) = await parts(writer, "shipments", order.id, "order")
    await checkout_setup.make.change(
        "shipping_methods", checkout_setup.post, "shipping_method", tracking_url=TRACKING_URL
    )

    response = await writer.patch(f"/shipments/{shipment['id']}/ship", {"tracking": "1 Z"})
    await checkout_setup.make.change("shipping_methods", checkout_setup.post, "shipping_method", tracking_url=None)

    assert (shipment["attributes"]["tracking_url"], response["tracking_url"]) == (None, "https://post.example/1%20Z")


async def test_a_line_item_shows_its_cost_totals_and_adjustments(
    writer: Machine, checkout_setup: CheckoutSetup
) -> None:
    order = await new_sale(writer, checkout_setup)
    line, _ = await parts(writer, "line_items", order.id, "order")
    variant = line["relationships"]["variant"]["data"]["id"]
    await checkout_setup.make.change("variants", variant, "variant", cost_price="4.00", cost_currency="USD")

    line, included = await parts(writer, "line_items", order.id, "adjustments.adjustable,inventory_units")
    response = await writer.get("/line_items", {"filter[order_id_eq]": order.id, "filter[cost_price_lt]": "4.01"})
    none = await writer.get("/line_items", {"filter[order_id_eq]": order.id, "filter[cost_price_gt]": "4.00"})

    attributes = line["attributes"]
    assert (attributes["cost_price"], attributes["display_subtotal"], attributes["display_final_amount"]) == (
        "4.0",
        "$20.00",
        "$18.00",
    )
    assert (attributes["taxable_adjustment_total"], attributes["non_taxable_adjustment_total"]) == ("-2.0", "0.0")
    (adjustment,) = included["adjustment"]
    assert adjustment["relationships"]["adjustable"]["data"] == {"id": line["id"], "type": "line_item"}
    assert adjustment["relationships"]["source"]["data"]["type"] == "promotion"
    assert [len(answer.json["data"]) for answer in (response, none)] == [1, 0]


async def test_an_adjustment_includes_its_adjustable_and_its_source(
    writer: Machine, checkout_setup: CheckoutSetup
) -> None:
    order = await new_sale(writer, checkout_setup)

    adjustment, included = await parts(writer, "adjustments", order.id, "adjustable,source,order")

    assert {name: len(each) for name, each in included.items()} == {"line_item": 1, "promotion": 1, "order": 1}
    assert adjustment["attributes"]["source_type"] == "promotion"
    deeper = await writer.get(f"/adjustments/{adjustment['id']}", {"include": "adjustable.order"})
    assert {each["type"] for each in deeper.json["included"]} == {"line_item", "order"}
    unknown = await writer.get(f"/adjustments/{adjustment['id']}", {"include": "adjustable.shop"})
    assert (unknown.status, unknown.code) == (400, "unknown_include")


async def test_a_payment_includes_its_card_and_capture_events(writer: Machine, checkout_setup: CheckoutSetup) -> None:
    order = await new_sale(writer, checkout_setup)

    payment, included = await parts(writer, "payments", order.id, "source,capture_events,state_changes")

    (card,) = included["credit_card"]
    assert (payment["attributes"]["source_type"], payment["attributes"]["avs_response"]) == ("credit_card", None)
    assert (card["attributes"]["cc_type"], card["attributes"]["last_digits"]) == ("visa", "1111")
    assert "reference" not in card["attributes"]
    assert [each["attributes"]["amount"] for each in included["capture_event"]] == ["23.0"]
    assert payment["relationships"]["state_changes"]["data"] == []


async def test_zones_taxonomies_and_promotion_categories_include_their_records(
    writer: Machine, checkout_setup: CheckoutSetup
) -> None:
    taxonomy = await writer.post("/taxonomies?include=root", {"taxonomy": {"name": "Things"}})
    zone = await writer.get(f"/zones/{checkout_setup.zone}", {"include": "zone_members"})
    category = await writer.post("/promotion_categories", {"promotion_category": {"name": taxonomy.id}})
    promotion = await create_promotion(checkout_setup.make, TENTH, code=taxonomy.id, promotion_category_id=category.id)

    response = await writer.get(f"/promotion_categories/{category.id}", {"include": "promotions"})

    (root,) = taxonomy.json["included"]
    assert (root["attributes"]["name"], root["attributes"]["is_root"]) == ("Things", True)
    assert {each["attributes"]["zoneable_type"] for each in zone.json["included"]} == {"country"}
    assert [each["id"] for each in response.json["included"]] == [promotion.id]


async def test_a_tax_rate_has_metadata(writer: Machine, checkout_setup: CheckoutSetup) -> None:
    category = await writer.post("/tax_categories", {"tax_category": {"name": checkout_setup.post + "x"}})
    body = {"name": "VAT", "amount": "0.19", "zone_id": checkout_setup.zone, "tax_category_id": category.id}

    tax_rate = await writer.post("/tax_rates", {"tax_rate": {**body, "public_metadata": {"code": "A"}}})

    assert (tax_rate["public_metadata"], tax_rate["private_metadata"]) == ({"code": "A"}, {})
    await writer.delete(f"/tax_rates/{tax_rate.id}")


async def test_a_shipping_method_links_its_newest_rates_only_outside_lists(
    writer: Machine, checkout_setup: CheckoutSetup
) -> None:
    await new_sale(writer, checkout_setup)

    alone = await writer.get(f"/shipping_methods/{checkout_setup.post}", {"include": "shipping_rates"})
    response = await writer.get("/shipping_methods", {"filter[id_eq]": checkout_setup.post})

    assert alone.json["included"][0]["type"] == "shipping_rate"
    assert "shipping_rates" not in response.json["data"][0]["relationships"]


async def test_relations_that_are_not_included_need_no_statements(
    writer: Machine, checkout_setup: CheckoutSetup, service: Service
) -> None:
    order = await new_sale(writer, checkout_setup)

    plain = await writer.get("/shipments", {"filter[order_id_eq]": order.id})

    # The token, the rows with the links of all relations to many, and the total count.
    assert service.request_line(plain.request_id)["statements"] == 3
