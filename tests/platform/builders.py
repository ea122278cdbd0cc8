"""Builders of records of every resource, for the tests that run over all resources.

A new resource needs one row in `BUILDERS`: the body of a new record, and the body of a change.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4

import msgspec

from shop.platform.collection import Collection
from shop.platform.resources.registry import COLLECTIONS
from tests.accounts import new_email
from tests.builders import Make
from tests.checkout_builders import Buyer, new_checkout_setup
from tests.image_files import png
from tests.platform.client import Machine, new_app
from tests.promotion_builders import TENTH, create_promotion

Body = Mapping[str, Any]
Find = Callable[[Machine, Any, int], Awaitable[Sequence[str]]]


class Builder(msgspec.Struct, frozen=True):
    """Makes records from a body for `POST` and one for `PATCH`, or finds them where a resource is only read."""

    body: Callable[[int], Body] | None = None
    """The body of the n-th record: odd ones have the same texts, every third has only required fields."""
    change: Body = {}
    follows: Body = {}
    """Further attributes that have another value after the change."""
    needs: Callable[[Machine], Awaitable[Body]] | None = None
    """Makes the records that the body refers to, and returns their ids as fields of the body."""
    find: Find | None = None
    upload: Callable[[Machine], Awaitable[dict[str, Any]]] | None = None
    """For a record with a file: the arguments of its multipart request."""


def _order(number: int) -> Body:
    if number % 3 == 2:
        return {}
    note = "leave at the door" if number % 2 else f"note {number}"
    return {"email": new_email(), "special_instructions": note, "currency": "EUR", "public_metadata": {"n": number}}


def _user(number: int) -> Body:
    if number % 3 == 2:
        return {"email": new_email()}
    return {"email": new_email(), "first_name": "ada" if number % 2 else f"ada {number}", "last_name": "lovelace"}


def _address(number: int) -> Body:
    required = {"firstname": "ada", "lastname": "lovelace", "address1": f"{number} main street", "city": "springfield"}
    region = {"zipcode": "62701", "country_iso": "US", "state_code": "IL"}
    return (
        {**required, **region}
        if number % 3 == 2
        else {**required, **region, "company": "engines", "label": f"home {number}"}
    )


def _tax_category(number: int) -> Body:
    required = {"name": f"category {uuid4().hex}"}
    return required if number % 3 == 2 else {**required, "tax_code": "a" if number % 2 else "b", "is_default": True}


def _name_body(number: int) -> Body:
    return {"name": f"name {uuid4().hex}"}


def _presentation_body(number: int) -> Body:
    presentation = "colour" if number % 2 else f"shown {number}"
    return {**_name_body(number), "presentation": presentation} | ({} if number % 3 == 2 else {"position": number % 4})


def _product(number: int) -> Body:
    if number % 3 == 2:
        return _name_body(number)
    fields = {"description": "soft" if number % 2 else f"soft {number}", "status": "active", "tags": ["new", "wool"]}
    return {**_name_body(number), **fields, "meta_title": "a title", "sku": uuid4().hex, "price": "19.99"}


def _variant(number: int) -> Body:
    if number % 3 == 2:
        return {"position": number}
    return {"sku": uuid4().hex, "weight": "1.5", "position": number % 4, "price": "10.5", "currency": "USD"}


def _price(number: int) -> Body:
    required = {"currency": "EUR", "amount": "9.99" if number % 2 else f"{number + 1}.0"}
    return required if number % 3 == 2 else {**required, "compare_at_amount": f"2{number % 4}.5"}


def _price_list(number: int) -> Body:
    required = {**_name_body(number), "currency": "EUR"}
    return required if number % 3 == 2 else {**required, "priority": number % 4, "percent_off": "12.5"}


def _movement(number: int) -> Body:
    return {"quantity": 5 if number % 2 else number + 1, "reason": "received", "note": f"delivery {number}"}


def _empty_body(_number: int) -> Body:
    return {}


async def _create(machine: Machine, type_: str) -> str:
    return await make(machine, COLLECTIONS[type_])


async def _a_product(machine: Machine) -> Body:
    return {"product_id": await _create(machine, "product")}


async def _a_variant(machine: Machine) -> Body:
    return {"variant_id": await _create(machine, "variant")}


async def _a_variant_and_a_location(machine: Machine) -> Body:
    return {**await _a_variant(machine), "stock_location_id": await _create(machine, "stock_location")}


async def _a_stock_item(machine: Machine) -> Body:
    return {"stock_item_id": await _create(machine, "stock_item")}


async def _an_option_type(machine: Machine) -> Body:
    return {"option_type_id": await _create(machine, "option_type")}


async def _a_property(machine: Machine) -> Body:
    return {**await _a_product(machine), "property_id": await _create(machine, "property")}


async def _a_taxonomy(machine: Machine) -> Body:
    return {"taxonomy_id": await _create(machine, "taxonomy")}


async def _a_taxon(machine: Machine) -> Body:
    return {**await _a_product(machine), "taxon_id": await _create(machine, "taxon")}


async def _a_list(machine: Machine) -> Body:
    return {"price_list_id": await _create(machine, "price_list")}


async def _a_group(machine: Machine) -> Body:
    return {"customer_group_id": await _create(machine, "customer_group")}


async def _a_user(machine: Machine) -> Body:
    return {"user_id": await _create(machine, "user")}


def _wishlist(number: int) -> Body:
    required = {"name": "birthday" if number % 2 else f"list {number}"}
    return required if number % 3 == 2 else {**required, "is_private": bool(number % 2)}


async def _a_wishlist(machine: Machine) -> Body:
    return {"wishlist_id": await _create(machine, "wishlist")}


def _combine(*needs: Callable[[Machine], Awaitable[Body]]) -> Callable[[Machine], Awaitable[Body]]:
    async def each(machine: Machine) -> Body:
        return {name: value for need in needs for name, value in (await need(machine)).items()}

    return each


async def _first(machine: Machine, path: str, count: int) -> Sequence[str]:
    return [item["id"] for item in (await machine.get(f"/{path}", {"per_page": count})).json["data"]]


async def _countries(machine: Machine, _db: Any, count: int) -> Sequence[str]:
    return await _first(machine, "countries", count)


async def _states(machine: Machine, _db: Any, count: int) -> Sequence[str]:
    return await _first(machine, "states", count)


async def _applications(_machine: Machine, db: Any, count: int) -> Sequence[str]:
    return [str((await new_app(db)).id) for _ in range(count)]


async def _audit_events(machine: Machine, _db: Any, count: int) -> Sequence[str]:
    for number in range(count):
        await machine.post("/orders", {"order": _order(number)})
    return await _first(machine, "audit_events", count)


def _promotion(number: int) -> Body:
    required = {**_name_body(number), "code": uuid4().hex}
    return required if number % 3 == 2 else {**required, "description": "all" if number % 2 else f"all {number}"}


def _credit(number: int) -> Body:
    return {"currency": "EUR", "amount": "4.5" if number % 2 else f"{number + 1}.0", "memo": f"late {number}"}


async def _a_promotion(machine: Machine) -> Body:
    return {"promotion_id": await _create(machine, "promotion")}


async def _coupon_codes(machine: Machine, _db: Any, count: int) -> Sequence[str]:
    for number in range(count):
        await make(machine, COLLECTIONS["coupon_batch"], number)
    return await _first(machine, "coupon_codes", count)


async def _credit_events(machine: Machine, _db: Any, count: int) -> Sequence[str]:
    for number in range(count):
        await make(machine, COLLECTIONS["store_credit"], number)
    return await _first(machine, "store_credit_events", count)


async def _buy(machine: Machine) -> None:
    """Makes completed orders with a partial refund, once for each shop."""
    key = str(machine.http.base_url)
    if key in _SHOPS_WITH_SALES:
        return
    _SHOPS_WITH_SALES.add(key)
    checkout_setup = await new_checkout_setup(Make(machine))
    for number in range(6):
        buyer = Buyer(machine.http, checkout_setup)
        cart = await buyer.ready((await checkout_setup.product(f"{number % 3 + 1}.50"), number % 2 + 1))
        code = uuid4().hex
        await create_promotion(Make(machine), TENTH, code=code, name="same" if number % 2 else f"deal {number}")
        await buyer.patch("/cart/apply_coupon_code", coupon_code=code)
        order = await buyer.complete()
        assert order.status == 200, order
        (payment,) = cart.json["data"]["relationships"]["payments"]["data"]
        refund = {"payment_id": payment["id"], "amount": "0.25", "reason": "late" if number % 2 else f"late {number}"}
        assert (await machine.post("/refunds", {"refund": refund})).status == 201


_SHOPS_WITH_SALES: set[str] = set()


def _find_after_sale(path: str) -> Find:
    async def find(machine: Machine, _db: Any, count: int) -> Sequence[str]:
        await _buy(machine)
        return await _first(machine, path, count)

    return find


def _line(number: int) -> Body:
    return {"quantity": number % 3 + 1, "public_metadata": {"note": "same" if number % 2 else f"note {number}"}}


async def _an_order_and_a_variant(machine: Machine) -> Body:
    order = await machine.post("/orders", {"order": {}})
    return {"order_id": order.id, "variant_id": (await Make(machine).product(price="10.00", on_hand=9)).variant_id}


async def _an_order_with_a_line(machine: Machine) -> Body:
    references = await _an_order_and_a_variant(machine)
    assert (await machine.post("/line_items", {"line_item": references})).status == 201
    return {"order_id": references["order_id"]}


async def _an_order_to_ship(machine: Machine) -> Body:
    checkout_setup = await new_checkout_setup(Make(machine))
    buyer, mug = Buyer(machine.http, checkout_setup), await checkout_setup.product(on_hand=9)
    cart = await buyer.add_items((await checkout_setup.product(on_hand=9), 1))
    await buyer.enter_address()
    item = (await machine.get(f"/stock_items?filter[variant_id_eq]={mug.variant_id}")).json["data"][0]
    location_id = item["relationships"]["stock_location"]["data"]["id"]
    return {"order_id": cart.id, "variant_id": mug.variant_id, "stock_location_id": location_id}


def _zone(number: int) -> Body:
    return {**_name_body(number), "description": "far" if number % 2 else f"far {number}"}


def _tax_rate(number: int) -> Body:
    return {**_name_body(number), "amount": "0.19" if number % 2 else f"0.0{number % 9 + 1}"}


def _shipping_method(number: int) -> Body:
    if number % 3 == 2:
        return _name_body(number)
    return {**_name_body(number), "code": "dhl" if number % 2 else f"code {number}", "amounts": {"USD": {"0": "5.0"}}}


def _payment_method(number: int) -> Body:
    return {**_name_body(number), "type": "check", "position": number % 4, "active": False}


async def _a_zone_and_a_category(machine: Machine) -> Body:
    return {"zone_id": await _create(machine, "zone"), "tax_category_id": await _create(machine, "tax_category")}


def _cms_page(number: int) -> Body:
    required = {"title": f"Page {uuid4().hex}"}
    return (
        required
        if number % 3 == 2
        else {**required, "content": "same" if number % 2 else f"*Page* {number}", "locale": "de"}
    )


def _policy(number: int) -> Body:
    required = {"name": f"Policy {uuid4().hex}"}
    return required if number % 3 == 2 else {**required, "body": "same" if number % 2 else f"*Policy* {number}"}


def _menu(number: int) -> Body:
    return {"name": "Main" if number % 2 else f"Menu {number}", "location": f"header-{uuid4().hex}", "locale": "de"}


def _webhook_endpoint(number: int) -> Body:
    # Disabled, so that the worker sends nothing.
    required = {"url": f"https://example.com/hooks/{number}", "enabled": False}
    return required if number % 3 == 2 else {**required, "description": "ours" if number % 2 else f"ours {number}"}


def _subscriber(number: int) -> Body:
    return {"url": f"https://example.com/hooks/{number}", "active": False}


async def _webhook_deliveries(machine: Machine, _db: Any, count: int) -> Sequence[str]:
    """Tests of an endpoint at a name that does not resolve."""
    body = {"url": "https://nothing.invalid/hook", "enabled": False}
    endpoint = (await machine.post("/webhook_endpoints", {"webhook_endpoint": body})).json["data"]["id"]
    path = f"/webhook_endpoints/{endpoint}/test"
    return [(await machine.post(path, {})).json["data"]["id"] for _ in range(count)]


async def _subscriber_events(machine: Machine, db: Any, count: int) -> Sequence[str]:
    """The attempts of these tests."""
    delivery_ids = await _webhook_deliveries(machine, db, count)
    rows = await db.fetch("select id from webhook_attempts where delivery_id = any($1) order by id", delivery_ids)
    return [str(row["id"]) for row in rows]


def _menu_item(number: int) -> Body:
    required = {"name": "Mugs" if number % 2 else f"Item {number}"}
    return required if number % 3 == 2 else {**required, "destination": f"/{number}", "code": "a", "new_window": True}


async def _a_menu(machine: Machine) -> Body:
    return {"menu_id": await _create(machine, "menu")}


async def upload_of(machine: Machine) -> dict[str, Any]:
    return {"files": {"attachment": ("a.png", png(90, 60))}, "data": await _a_product(machine)}


BUILDERS = {
    "order": Builder(_order, {"internal_note": "called", "private_metadata": {"risk": "low"}}),
    "user": Builder(_user, {"first_name": "grace", "public_metadata": {"tier": 1}}),
    "address": Builder(_address, {"lastname": "hopper", "label": None}, {"full_name": "ada hopper"}),
    "tax_category": Builder(_tax_category, {"description": "books", "is_default": False}),
    "product": Builder(
        _product,
        {"name": "Another", "meta_keywords": "a, b", "tags": ["old"], "price": "7.25"},
        {"display_price": "$7.25"},
    ),
    "variant": Builder(
        _variant,
        {"barcode": "4006381333931", "weight": "0.75", "price": "11.0", "cost_price": "3.5", "cost_currency": "EUR"},
        {"display_price": "$11.00"},
        needs=_a_product,
    ),
    "price": Builder(
        _price, {"amount": "8.5"}, {"display_amount": "€8.50", "display_price": "€8.50"}, needs=_a_variant
    ),
    "option_type": Builder(_presentation_body, {"presentation": "Another", "filterable": False}),
    "option_value": Builder(_presentation_body, {"presentation": "Another"}, needs=_an_option_type),
    "property": Builder(
        lambda number: {**_name_body(number), "presentation": "Material"},
        {"presentation": "Another", "filterable": False},
    ),
    "product_property": Builder(
        lambda number: {"value": "Wool" if number % 2 else f"Wool {number}"},
        {"value": "Cotton", "position": 3},
        {"filter_param": "cotton"},
        needs=_a_property,
    ),
    "taxonomy": Builder(_name_body, {"public_metadata": {"n": 1}}),
    "taxon": Builder(
        _name_body, {"description": "all of it", "meta_title": "Another"}, {"seo_title": "Another"}, needs=_a_taxonomy
    ),
    "classification": Builder(lambda number: {"position": number % 4}, {"position": 7}, needs=_a_taxon),
    "stock_location": Builder(_name_body, {"city": "Berlin", "backorderable_default": True}),
    "stock_item": Builder(
        lambda number: {"count_on_hand": number % 4},
        {"backorderable": True},
        {"is_available": True},
        needs=_a_variant_and_a_location,
    ),
    "stock_movement": Builder(_movement, needs=_a_stock_item),
    "price_list": Builder(_price_list, {"priority": 9, "percent_off": "5.0", "active": False}),
    "price_list_entry": Builder(
        lambda number: {"amount": "4.5", "min_quantity": number % 4 + 1},
        {"amount": "4.0", "min_quantity": 12},
        {"display_amount": "€4.00"},
        needs=_combine(_a_list, _a_variant),
    ),
    "price_list_user": Builder(_empty_body, needs=_combine(_a_list, _a_user)),
    "price_list_group": Builder(_empty_body, needs=_combine(_a_list, _a_group)),
    "customer_group": Builder(_name_body, {"description": "the others"}),
    "customer_group_member": Builder(_empty_body, needs=_combine(_a_group, _a_user)),
    "wishlist": Builder(_wishlist, {"name": "christmas", "is_private": True, "is_default": True}, needs=_a_user),
    "wished_item": Builder(
        lambda number: {"quantity": number % 3 + 1},
        {"quantity": 7},
        {"total": "73.5", "display_total": "$73.50"},
        needs=_combine(_a_wishlist, _a_variant),
    ),
    "image": Builder(upload=upload_of, change={"alt": "From the side", "position": 3}),
    "zone": Builder(_zone, {"description": "near", "kind": "state"}),
    "tax_rate": Builder(_tax_rate, {"amount": "0.07", "included_in_price": True}, needs=_a_zone_and_a_category),
    "shipping_category": Builder(_name_body, {"description": "bulky"}),
    "shipping_method": Builder(_shipping_method, {"admin_name": "The slow one", "code": "slow"}),
    "payment_method": Builder(_payment_method, {"description": "By post", "auto_capture": False}),
    "line_item": Builder(_line, {"public_metadata": {"engraved": True}}, needs=_an_order_and_a_variant),
    "shipment": Builder(lambda _: {}, {"tracking": "1Z 999"}, needs=_an_order_to_ship),
    "shipping_rate": Builder(find=_find_after_sale("shipping_rates")),
    "payment": Builder(find=_find_after_sale("payments")),
    "refund": Builder(find=_find_after_sale("refunds")),
    "adjustment": Builder(
        lambda number: {"label": "late" if number % 2 else f"late {number}", "amount": f"{number % 3 + 1}.5"},
        {"label": "later", "amount": "-1.0"},
        {"display_amount": "-$1.00"},
        needs=_an_order_with_a_line,
    ),
    "order_promotion": Builder(find=_find_after_sale("order_promotions")),
    "promotion_category": Builder(_name_body, {"code": "summer"}),
    "promotion": Builder(_promotion, {"description": "some", "usage_limit": 5, "match_policy": "any"}),
    "promotion_rule": Builder(
        lambda number: {"type": "item_total", "preferences": {"amounts": {"USD": f"{number % 3 + 1}.0"}}},
        {"preferences": {"amounts": {"USD": "99.0"}}},
        needs=_a_promotion,
    ),
    "promotion_action": Builder(
        lambda number: {"type": "percent_off_items", "preferences": {"percent": f"{number % 3 + 1}"}},
        {"preferences": {"percent": "25"}, "position": 3},
        needs=_a_promotion,
    ),
    "coupon_batch": Builder(
        lambda number: {**_name_body(number), "prefix": "a" if number % 2 else f"a{number}", "codes_count": 1},
        needs=_a_promotion,
    ),
    "coupon_code": Builder(find=_coupon_codes),
    "store_credit": Builder(_credit, {"memo": "another reason", "private_metadata": {"n": 1}}, needs=_a_user),
    "store_credit_event": Builder(find=_credit_events),
    "store_credit_category": Builder(_name_body, {"name": "Goodwill of another kind"}),
    "store_credit_type": Builder(_name_body, {"priority": 3}),
    "cms_page": Builder(
        _cms_page,
        {"title": "About us", "content": "# About", "type": "homepage", "visible": False},
        {"content_html": "<h1>About</h1>\n"},
    ),
    "policy": Builder(
        _policy,
        {"name": "Terms", "body": "**all**", "show_in_checkout_footer": True},
        {"body_html": "<p><strong>all</strong></p>\n"},
    ),
    "menu": Builder(_menu, {"name": "Another", "locale": "fr"}),
    "menu_item": Builder(
        _menu_item,
        {"subtitle": "All of them", "item_type": "Container", "destination": "/all"},
        {"link": "/all", "is_container": True},
        needs=_a_menu,
    ),
    "country": Builder(find=_countries),
    "state": Builder(find=_states),
    "application": Builder(find=_applications),
    "webhook_endpoint": Builder(_webhook_endpoint, {"description": "theirs", "types": ["order.*"]}),
    "webhook_delivery": Builder(find=_webhook_deliveries),
    "event": Builder(find=_subscriber_events),
    "subscriber": Builder(_subscriber, {"subscriptions": ["order.*"]}),
    "audit_event": Builder(find=_audit_events),
}


def builder_of(collection: Collection) -> Builder:
    builder = BUILDERS.get(collection.resource.type)
    assert builder, f"{collection.resource.type} has no row in BUILDERS of tests/platform/builders.py"
    return builder


async def new_body(machine: Machine, collection: Collection, number: int = 0) -> dict[str, Body]:
    builder = builder_of(collection)
    assert builder.body, (
        f"{collection.resource.type} can be created, but its row in tests/platform/builders.py has no body"
    )
    references = await builder.needs(machine) if builder.needs else {}
    return {collection.resource.type: {**references, **builder.body(number)}}


def update_body(collection: Collection) -> dict[str, Body]:
    change = builder_of(collection).change
    assert change, f"{collection.resource.type} can be updated, but its row in tests/platform/builders.py has no change"
    return {collection.resource.type: change}


async def make(machine: Machine, collection: Collection, number: int = 0) -> str:
    upload = builder_of(collection).upload
    request = await upload(machine) if upload else {"json": await new_body(machine, collection, number)}
    response = await machine.ask("POST", f"/{collection.path}", **request)
    assert response.status == 201, response
    return response.id


async def sample(machine: Machine, db: Any, collection: Collection, count: int = 5) -> list[str]:
    """The ids of new records, with equal and missing values where the resource allows them."""
    builder = builder_of(collection)
    if builder.find:
        return list(await builder.find(machine, db, count))
    return [await make(machine, collection, number) for number in range(count)]


_SAMPLES: dict[tuple[str, str], list[str]] = {}


async def shared_sample(machine: Machine, db: Any, collection: Collection, count: int = 5) -> list[str]:
    """A sample for tests that only read: every test of one shop has the same."""
    key = (str(machine.http.base_url), collection.path)
    if key not in _SAMPLES:
        _SAMPLES[key] = await sample(machine, db, collection, 6)
    return _SAMPLES[key][:count]


SUITE_PATHS = {
    "orders",
    "products",
    "store_credits",
    "audit_events",
}
"""The paths of a few different collections, with which the suite runs the tests of all collections; `make torture` runs
them with every collection.
"""
ALL = list(COLLECTIONS.values())
CREATABLE = [collection for collection in ALL if collection.actions.create]
UPDATABLE = [collection for collection in ALL if collection.actions.update]
DELETABLE = [collection for collection in ALL if collection.actions.delete]
