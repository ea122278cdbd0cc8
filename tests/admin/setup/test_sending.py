"""Zones, taxes, ways to send and to pay: set up in the dashboard, and what shoppers get of it."""

import html
from typing import Any
from uuid import UUID

import httpx
import pytest

from tests.admin.catalog_forms import done, field, mark, said
from tests.admin.dashboard import NOBODY, Desk, events
from tests.admin.setup_forms import (
    CATEGORIES,
    CHECK,
    DEFAULT_CATEGORY,
    METHODS,
    PAYMENTS,
    POST,
    SHIPPING,
    TAXES,
    ZONES,
    changed,
    new,
    new_rate,
    new_zone,
)
from tests.builders import Make
from tests.checkout_builders import Buyer, Till, country_id


async def test_what_is_set_up_here_lets_a_shopper_check_out_at_the_right_total(
    desk: Desk, db: Any, make: Make, http: httpx.AsyncClient
) -> None:
    zone = await new_zone(desk, db, make, "US", "DE", description="Where we send to")
    tax_category = await new(desk, db, f"{TAXES}/categories", "tax_categories", tax_code="T1")
    sales_tax = {"percent": "8.25", "zone_id": zone, "tax_category_id": tax_category}
    await new(desk, db, f"{TAXES}/rates", "tax_rates", **sales_tax)
    category = await new(desk, db, CATEGORIES, "shipping_categories")
    links = {"zone_ids[]": [zone], "shipping_category_ids[]": [category]}
    by_weight = {**POST, **links, "calculator": "by_weight", "amounts[USD]": "0: 4.00\n2.5: 9.00"}
    post = await new(desk, db, METHODS, "shipping_methods", **by_weight)
    hidden_method = await new(desk, db, METHODS, "shipping_methods", **{**POST, **links, "display_on": "back_end"})
    check = await new(desk, db, PAYMENTS, "payment_methods", **CHECK)
    till = Till(make, zone, category, post, hidden_method, check, check)
    buyer = Buyer(http, till)

    await buyer.put_in((await till.product("10.00", tax_category_id=tax_category, weight="2"), 2))
    await buyer.come_from()
    await buyer.pay(method=check)
    order = await buyer.complete()

    # Twenty dollars and 8.25 percent of them; four kilograms reach the second step.
    assert (order["state"], order["total"], order["ship_total"]) == ("complete", "30.65", "9.0")
    page = (await desk.get(f"/admin/orders/{order['number']}")).text
    assert "$30.65" in page
    for record in (zone, tax_category, category, post, check):
        assert [outcome for _, outcome in await events(db, actor=desk.id, subject=UUID(record))] == ["done"]


async def test_a_method_that_is_deleted_or_switched_off_is_offered_no_more(
    desk: Desk, db: Any, make: Make, http: httpx.AsyncClient
) -> None:
    zone, category = await new_zone(desk, db, make, "US"), await new(desk, db, CATEGORIES, "shipping_categories")
    links = {"zone_ids[]": [zone], "shipping_category_ids[]": [category]}
    post = await new(desk, db, METHODS, "shipping_methods", **POST, **links)
    check, off = [await new(desk, db, PAYMENTS, "payment_methods", **CHECK) for _ in range(2)]
    buyer = Buyer(http, Till(make, zone, category, post, post, check, check))
    await buyer.put_in((await buyer.till.product(), 1))
    await buyer.come_from()

    assert done(await desk.post(f"{PAYMENTS}/{off}", **{**CHECK, "name": "Off", "active": ""})) == "saved"
    assert done(await desk.post(f"{METHODS}/{post}/delete")) == "deleted"

    methods = {method["id"] for method in (await buyer.get("/checkout/payment_methods")).json["data"]}
    assert check in methods
    assert off not in methods
    await buyer.pay(method=check)
    assert (await buyer.complete()).code == "no_shipping_rate"
    assert (await desk.get(f"{METHODS}/{post}")).status_code == 404
    assert ("shipping_method_deleted", "done") in await events(db, actor=desk.id, subject=UUID(post))


async def test_a_zone_is_changed_and_an_unchanged_one_leaves_no_trace(desk: Desk, db: Any, make: Make) -> None:
    zone, germany = await new_zone(desk, db, make, "US", "DE"), await country_id(make, "DE")
    page = (await desk.get(f"{ZONES}/{zone}")).text
    assert page.count(" checked>") == 2
    name = field(page, "name")
    both = {"country_ids[]": [germany, await country_id(make, "US")]}

    assert done(await desk.post(f"{ZONES}/{zone}", name=name, kind="country", **both)) == "saved"
    assert await changed(db, zone) == []
    assert done(await desk.post(f"{ZONES}/{zone}", name=name, kind="country", **{"country_ids[]": [germany]}))
    assert await changed(db, zone) == [{"country_ids"}]

    members = await db.fetch("select country_id from zone_members where zone_id = $1", UUID(zone))
    assert [str(row["country_id"]) for row in members] == [germany]


async def test_a_zone_of_states_is_said_by_their_codes(desk: Desk, db: Any) -> None:
    name = f"States {mark()}"
    fields = {"name": name, "kind": "state", "states": "us-il, US-CA"}
    wrong = await desk.post(f"{ZONES}/new", **{**fields, "states": "US-IL, US-ZZ, nonsense"})
    zone = await new(desk, db, ZONES, "zones", **fields)

    assert wrong.status_code == 422
    assert (
        said(wrong) == ["States has an unknown state code: US-ZZ. States has an unknown state code: nonsense."]
        or "US-ZZ" in said(wrong)[0]
    )
    assert field(wrong.text, "states") == "US-IL, US-ZZ, nonsense"
    assert field((await desk.get(f"{ZONES}/{zone}")).text, "states") == "US-CA, US-IL"
    assert "California" in (await desk.get(ZONES)).text


@pytest.mark.parametrize(
    ("base", "fields", "told"),
    [
        (ZONES, {"name": "", "kind": "country"}, "Name must be given."),
        (ZONES, {"name": "x", "kind": "planet"}, "Kind is not a valid choice."),
        (
            ZONES,
            {"name": "Nowhere", "kind": "country", "country_ids[]": [NOBODY]},
            "Countries names a record that does not exist.",
        ),
        (f"{TAXES}/categories", {"name": "n" * 101}, "Name must be one line of at most 100 characters."),
        (CATEGORIES, {"name": ""}, "Name must be given."),
        (METHODS, {**POST, "name": ""}, "Name must be given."),
        (METHODS, {**POST, "name": "x", "calculator": "guess"}, "Charged is not a valid choice."),
        (
            METHODS,
            {**POST, "name": "x", "tracking_url": "http://post.example/:tracking"},
            "Tracking URL must be a URL that starts with https://.",
        ),
        (METHODS, {**POST, "name": "x", "amounts[USD]": ""}, "Amounts is required in at least one currency."),
        (METHODS, {**POST, "name": "x", "amounts[USD]": "5.001"}, "Amount in USD has more digits than USD has (2)."),
        (METHODS, {**POST, "name": "x", "amounts[JPY]": "x"}, "Amount in JPY must be a number like 19.99."),
        (
            METHODS,
            {**POST, "name": "x", "amounts[USD]": "0: 1\n2: 3"},
            "Amount in USD must be a single amount unless charged by weight.",
        ),
        (
            METHODS,
            {**POST, "name": "x", "calculator": "by_weight", "amounts[USD]": "1: 1\n1.0: 3"},
            "Amount in USD has two amounts for weight 1.",
        ),
        (METHODS, {**POST, "name": "x", "zone_ids[]": [NOBODY]}, "Zones names a record that does not exist."),
        (PAYMENTS, {**CHECK, "name": ""}, "Name must be given."),
        (PAYMENTS, {**CHECK, "name": "x", "type": "barter"}, "Type is not a valid choice."),
        (
            PAYMENTS,
            {**CHECK, "name": "x", "type": "stripe"},
            "Type needs keys first: set SHOP_STRIPE_SECRET_KEY and SHOP_STRIPE_WEBHOOK_SECRET.",
        ),
        (PAYMENTS, {**CHECK, "name": "x", "position": "-1"}, "Position must be 0 or more."),
        (PAYMENTS, {**CHECK, "name": "x", "display_on": "moon"}, "Offered in is not a valid choice."),
    ],
)
async def test_what_cannot_be_is_told_and_kept(desk: Desk, base: str, fields: dict[str, Any], told: str) -> None:
    answer = await desk.post(f"{base}/new", **fields)

    assert (answer.status_code, said(answer)) == (422, [told])
    assert field(answer.text, "name") == fields["name"]
    for name in ("amounts[USD]", "amounts[JPY]", "tracking_url", "position"):
        if name in fields:
            assert field(answer.text, name) == fields[name]


async def test_what_is_in_use_is_not_deleted(desk: Desk, db: Any, make: Make) -> None:
    rate = await new_rate(desk, db, make)
    row = await db.fetchrow("select zone_id, tax_category_id from tax_rates where id = $1", UUID(rate))
    zone, category = f"{ZONES}/{row['zone_id']}", f"{TAXES}/categories/{row['tax_category_id']}"

    for path in (zone, category):
        assert (await desk.get(f"{path}/delete")).status_code == 200
        answer = await desk.post(f"{path}/delete")
        assert answer.status_code == 422
        assert said(answer) == ["It is still in use; remove it from the records that use it first."]
    for path in (f"{TAXES}/rates/{rate}", zone, category):
        assert done(await desk.post(f"{path}/delete")) == "deleted"
        assert (await desk.get(path)).status_code == 404


async def test_the_category_that_every_product_begins_with_stays(desk: Desk) -> None:
    path = f"{CATEGORIES}/{DEFAULT_CATEGORY}"

    assert "/delete" not in (await desk.get(path)).text
    assert (await desk.post(f"{path}/delete")).status_code == 404
    assert (await desk.get(path)).status_code == 200


async def test_a_shipping_method_is_shown_as_it_was_typed_and_changed_where_it_differs(
    desk: Desk, db: Any, make: Make
) -> None:
    zone = await new_zone(desk, db, make, "US")
    texts = {
        "name": f"Parcel {mark()}",
        "admin_name": "Truck",
        "code": "P1",
        "tracking_url": "https://p.example/:tracking",
    }
    fields = {
        **POST,
        **texts,
        "calculator": "by_weight",
        "amounts[USD]": "0: 5.00\n2.5: 9.00",
        "amounts[JPY]": "0: 500",
    }
    links = {"zone_ids[]": [zone], "shipping_category_ids[]": [DEFAULT_CATEGORY]}
    method = await new(desk, db, METHODS, "shipping_methods", **fields, **links)
    path = f"{METHODS}/{method}"

    page = (await desk.get(path)).text
    assert {name: field(page, name) for name in (*texts, "amounts[USD]")} == {
        **texts,
        "amounts[USD]": "0: 5.00\n2.5: 9.00",
    }
    same = {**fields, "amounts[USD]": "0.0: 5\r\n2.50: 9.0"}
    assert done(await desk.post(path, **same, **links)) == "saved"
    assert await changed(db, method) == []
    assert done(
        await desk.post(path, **{**fields, "calculator": "flat", "amounts[USD]": "6", "amounts[JPY]": ""}, **links)
    )
    assert await changed(db, method) == [{"calculator", "amounts"}]
    rows = await db.fetch(
        "select currency, amount from shipping_method_amounts where shipping_method_id = $1", UUID(method)
    )
    assert [tuple(row) for row in rows] == [("USD", 600)]


async def test_a_payment_methods_type_is_said_once(desk: Desk, db: Any) -> None:
    method = await new(desk, db, PAYMENTS, "payment_methods", **CHECK, description="Two\nlines")
    path = f"{PAYMENTS}/{method}"
    page = (await desk.get(path)).text

    changing = {**CHECK, "type": "test_card", "name": "Renamed", "auto_capture": "1"}
    assert done(await desk.post(path, **changing)) == "saved"

    assert 'name="type"' not in page
    assert field(page, "description") == "Two\nlines"
    row = await db.fetchrow("select type, name, auto_capture from payment_methods where id = $1", UUID(method))
    assert tuple(row) == ("check", "Renamed", True)


async def test_names_are_text_and_the_menu_leads_to_every_page(desk: Desk, db: Any, make: Make) -> None:
    evil = f"<img src=x onerror=alert({mark()!r})>"
    await new_zone(desk, db, make, "US", name=evil)
    for base, table, fields in (
        (f"{TAXES}/categories", "tax_categories", {}),
        (CATEGORIES, "shipping_categories", {}),
        (METHODS, "shipping_methods", POST),
        (PAYMENTS, "payment_methods", CHECK),
    ):
        await new(desk, db, base, table, name=evil, **fields)

    overview = (await desk.get("/admin")).text
    for path in (ZONES, TAXES, SHIPPING, PAYMENTS, f"{METHODS}/new", f"{TAXES}/rates/new"):
        page = (await desk.get(path)).text
        assert evil not in page
        if path != f"{TAXES}/rates/new":
            assert html.escape(evil, quote=False).replace("'", "&#39;") in page
        if not path.endswith("/new"):
            assert f'href="{path}"' in overview
