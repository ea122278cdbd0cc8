"""Zones, taxes, shipping and payment methods in the dashboard, and their effect on the checkout."""

import html
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from tests.admin.catalog_forms import error_messages, field, new_customer, saved_message, unique_word
from tests.admin.dashboard import UNKNOWN_ID, Dashboard, events
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
    changed_fields,
    new_rate,
    new_record,
    new_zone,
)
from tests.builders import Make
from tests.checkout_builders import Buyer, CheckoutSetup, country_id


async def test_a_checkout_uses_the_configured_zones_taxes_shipping_and_payments(
    dashboard: Dashboard, db: Any, make: Make, http: httpx2.AsyncClient
) -> None:
    zone = await new_zone(dashboard, db, make, "US", "DE", description="Where we send to")
    tax_category = await new_record(dashboard, db, f"{TAXES}/categories", "tax_categories", tax_code="T1")
    sales_tax = {"percent": "8.25", "zone_id": zone, "tax_category_id": tax_category}
    await new_record(dashboard, db, f"{TAXES}/rates", "tax_rates", **sales_tax)
    category = await new_record(dashboard, db, CATEGORIES, "shipping_categories")
    links = {"zone_ids[]": [zone], "shipping_category_ids[]": [category]}
    by_weight = {**POST, **links, "calculator": "by_weight", "amounts[USD]": "0: 4.00\n2.5: 9.00"}
    post = await new_record(dashboard, db, METHODS, "shipping_methods", **by_weight)
    hidden_method = await new_record(
        dashboard, db, METHODS, "shipping_methods", **{**POST, **links, "display_on": "back_end"}
    )
    check = await new_record(dashboard, db, PAYMENTS, "payment_methods", **CHECK)
    checkout_setup = CheckoutSetup(make, zone, category, post, hidden_method, check, check)
    buyer = Buyer(http, checkout_setup)

    await buyer.add_items((await checkout_setup.product("10.00", tax_category_id=tax_category, weight="2"), 2))
    await buyer.enter_address()
    await buyer.pay(method=check)
    order = await buyer.complete()

    # Twenty dollars plus 8.25 percent tax; four kilograms cost the second shipping rate.
    assert (order["state"], order["total"], order["ship_total"]) == ("complete", "30.65", "9.0")
    page = (await dashboard.get(f"/admin/orders/{order['number']}")).text
    assert "$30.65" in page
    for record in (zone, tax_category, category, post, check):
        assert [outcome for _, outcome in await events(db, actor=dashboard.id, subject=UUID(record))] == ["done"]


async def test_a_deleted_or_inactive_method_is_not_offered(
    dashboard: Dashboard, db: Any, make: Make, http: httpx2.AsyncClient
) -> None:
    zone, category = (
        await new_zone(dashboard, db, make, "US"),
        await new_record(dashboard, db, CATEGORIES, "shipping_categories"),
    )
    links = {"zone_ids[]": [zone], "shipping_category_ids[]": [category]}
    post = await new_record(dashboard, db, METHODS, "shipping_methods", **POST, **links)
    check, inactive_method = [await new_record(dashboard, db, PAYMENTS, "payment_methods", **CHECK) for _ in range(2)]
    buyer = Buyer(http, CheckoutSetup(make, zone, category, post, post, check, check))
    await buyer.add_items((await buyer.checkout_setup.product(), 1))
    await buyer.enter_address()

    assert (
        saved_message(await dashboard.post(f"{PAYMENTS}/{inactive_method}", **{**CHECK, "name": "Off", "active": ""}))
        == "saved"
    )
    assert saved_message(await dashboard.post(f"{METHODS}/{post}/delete")) == "deleted"

    methods = {method["id"] for method in (await buyer.get("/checkout/payment_methods")).json["data"]}
    assert check in methods
    assert inactive_method not in methods
    await buyer.pay(method=check)
    assert (await buyer.complete()).code == "no_shipping_rate"
    assert (await dashboard.get(f"{METHODS}/{post}")).status_code == 404
    assert ("shipping_method_deleted", "done") in await events(db, actor=dashboard.id, subject=UUID(post))


async def test_a_zone_is_updated_and_an_unchanged_form_is_not_audited(
    dashboard: Dashboard, db: Any, make: Make
) -> None:
    zone, germany = await new_zone(dashboard, db, make, "US", "DE"), await country_id(make, "DE")
    page = (await dashboard.get(f"{ZONES}/{zone}")).text
    assert page.count(" checked>") == 2
    name = field(page, "name")
    both = {"country_ids[]": [germany, await country_id(make, "US")]}

    assert saved_message(await dashboard.post(f"{ZONES}/{zone}", name=name, kind="country", **both)) == "saved"
    assert await changed_fields(db, zone) == []
    assert saved_message(
        await dashboard.post(f"{ZONES}/{zone}", name=name, kind="country", **{"country_ids[]": [germany]})
    )
    assert await changed_fields(db, zone) == [{"country_ids"}]

    members = await db.fetch("select country_id from zone_members where zone_id = $1", UUID(zone))
    assert [str(row["country_id"]) for row in members] == [germany]


async def test_the_states_of_a_zone_are_entered_as_codes_or_names(dashboard: Dashboard, db: Any) -> None:
    name = f"States {unique_word()}"
    fields = {"name": name, "kind": "state", "states": "us-il, US-CA\nUS-Texas\nVale, The (us-ny)"}
    wrong = await dashboard.post(f"{ZONES}/new", **{**fields, "states": "US-IL, US-ZZ, nonsense"})
    zone = await new_record(dashboard, db, ZONES, "zones", **fields)

    assert wrong.status_code == 422
    assert (
        error_messages(wrong)
        == ["States has an unknown state code: US-ZZ. States has an unknown state code: nonsense."]
        or "US-ZZ" in error_messages(wrong)[0]
    )
    assert field(wrong.text, "states") == "US-IL, US-ZZ, nonsense"
    assert field((await dashboard.get(f"{ZONES}/{zone}")).text, "states").splitlines() == [
        "California (US-CA)",
        "Illinois (US-IL)",
        "New York (US-NY)",
        "Texas (US-TX)",
    ]
    assert "California" in (await dashboard.get(ZONES)).text


@pytest.mark.parametrize(
    ("base", "fields", "message"),
    [
        (ZONES, {"name": "", "kind": "country"}, "Name is required."),
        (ZONES, {"name": "x", "kind": "planet"}, "Kind is not a valid choice."),
        (
            ZONES,
            {"name": "Nowhere", "kind": "country", "country_ids[]": [UNKNOWN_ID]},
            "Countries names a record that does not exist.",
        ),
        (f"{TAXES}/categories", {"name": "n" * 101}, "Name must be one line of at most 100 characters."),
        (CATEGORIES, {"name": ""}, "Name is required."),
        (METHODS, {**POST, "name": ""}, "Name is required."),
        (METHODS, {**POST, "name": "x", "calculator": "guess"}, "Rate type is not a valid choice."),
        (
            METHODS,
            {**POST, "name": "x", "tracking_url": "http://post.example/:tracking"},
            "Tracking URL must be a URL that starts with https://.",
        ),
        (METHODS, {**POST, "name": "x", "amounts[USD]": ""}, "Amounts is required in at least one currency."),
        (
            METHODS,
            {**POST, "name": "x", "amounts[USD]": "5.001"},
            "Amount in USD has more decimals than USD allows (2).",
        ),
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
        (METHODS, {**POST, "name": "x", "zone_ids[]": [UNKNOWN_ID]}, "Zones names a record that does not exist."),
        (PAYMENTS, {**CHECK, "name": ""}, "Name is required."),
        (PAYMENTS, {**CHECK, "name": "x", "type": "barter"}, "Type is not a valid choice."),
        (
            PAYMENTS,
            {**CHECK, "name": "x", "type": "stripe"},
            "Type needs keys first: set SHOP_STRIPE_SECRET_KEY and SHOP_STRIPE_WEBHOOK_SECRET.",
        ),
        (PAYMENTS, {**CHECK, "name": "x", "position": "-1"}, "Position must be 0 or more."),
        (PAYMENTS, {**CHECK, "name": "x", "display_on": "moon"}, "Available in is not a valid choice."),
    ],
)
async def test_an_invalid_setting_is_refused_and_its_input_is_shown_again(
    dashboard: Dashboard, base: str, fields: dict[str, Any], message: str
) -> None:
    answer = await dashboard.post(f"{base}/new", **fields)

    assert (answer.status_code, error_messages(answer)) == (422, [message])
    assert field(answer.text, "name") == fields["name"]
    for name in ("amounts[USD]", "amounts[JPY]", "tracking_url", "position"):
        if name in fields:
            assert field(answer.text, name) == fields[name]


async def test_a_zone_or_tax_category_in_use_cannot_be_deleted(dashboard: Dashboard, db: Any, make: Make) -> None:
    rate = await new_rate(dashboard, db, make)
    row = await db.fetchrow("select zone_id, tax_category_id from tax_rates where id = $1", UUID(rate))
    zone, category = f"{ZONES}/{row['zone_id']}", f"{TAXES}/categories/{row['tax_category_id']}"

    for path in (zone, category):
        question = await dashboard.get(f"{path}/delete")
        answer = await dashboard.post(f"{path}/delete")
        assert (question.status_code, answer.status_code) == (200, 422)
        for page in (question.text, answer.text):
            assert "It cannot be deleted yet. Remove it from these records first:" in page
            assert f'<a href="{TAXES}">Tax rates</a>: 1' in page
            assert 'class="button danger"' not in page
    for path in (f"{TAXES}/rates/{rate}", zone, category):
        assert saved_message(await dashboard.post(f"{path}/delete")) == "deleted"
        assert (await dashboard.get(path)).status_code == 404


async def test_a_payment_method_in_use_can_be_deleted_and_its_uses_are_listed(dashboard: Dashboard, db: Any) -> None:
    method = await new_record(dashboard, db, PAYMENTS, "payment_methods", **CHECK)
    question = f"{PAYMENTS}/{method}/delete"
    assert "In use" not in (await dashboard.get(question)).text
    email = await new_customer(db)
    await db.execute(
        """insert into payment_sources (id, user_id, payment_method_id, created_at, updated_at)
        select $1, id, $2, now(), now() from users where email = $3""",
        uuid4(),
        UUID(method),
        email,
    )

    assert '<a href="/admin/customers">Saved cards</a>: 1' in (await dashboard.get(question)).text
    assert saved_message(await dashboard.post(question)) == "deleted"


async def test_the_default_shipping_category_cannot_be_deleted(dashboard: Dashboard) -> None:
    path = f"{CATEGORIES}/{DEFAULT_CATEGORY}"

    assert "/delete" not in (await dashboard.get(path)).text
    assert (await dashboard.post(f"{path}/delete")).status_code == 404
    assert (await dashboard.get(path)).status_code == 200


async def test_a_shipping_method_form_saves_and_audits_only_changed_fields(
    dashboard: Dashboard, db: Any, make: Make
) -> None:
    zone = await new_zone(dashboard, db, make, "US")
    texts = {
        "name": f"Parcel {unique_word()}",
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
    method = await new_record(dashboard, db, METHODS, "shipping_methods", **fields, **links)
    path = f"{METHODS}/{method}"

    page = (await dashboard.get(path)).text
    assert {name: field(page, name) for name in (*texts, "amounts[USD]")} == {
        **texts,
        "amounts[USD]": "0: 5.00\n2.5: 9.00",
    }
    same = {**fields, "amounts[USD]": "0.0: 5\r\n2.50: 9.0"}
    assert saved_message(await dashboard.post(path, **same, **links)) == "saved"
    assert await changed_fields(db, method) == []
    assert saved_message(
        await dashboard.post(path, **{**fields, "calculator": "flat", "amounts[USD]": "6", "amounts[JPY]": ""}, **links)
    )
    assert await changed_fields(db, method) == [{"calculator", "amounts"}]
    rows = await db.fetch(
        "select currency, amount from shipping_method_amounts where shipping_method_id = $1", UUID(method)
    )
    assert [tuple(row) for row in rows] == [("USD", 600)]


async def test_the_list_of_shipping_methods_shows_their_prices(dashboard: Dashboard, db: Any) -> None:
    prices = {}
    for fields in ({}, {"calculator": "per_item"}, {"calculator": "by_weight", "amounts[USD]": "0: 4\n2: 9"}):
        await new_record(
            dashboard, db, METHODS, "shipping_methods", **{**POST, "name": (name := unique_word()), **fields}
        )
        row = (await dashboard.get(SHIPPING)).text.partition(f">{name}<")[2].partition("</tr>")[0]
        prices[fields.get("calculator", "flat")] = row.partition('data-label="Price">')[2].partition("<")[0]

    assert prices == {"flat": "$5.00", "per_item": "$5.00 per item", "by_weight": "by weight"}


async def test_the_type_of_a_payment_method_cannot_be_changed(dashboard: Dashboard, db: Any) -> None:
    method = await new_record(dashboard, db, PAYMENTS, "payment_methods", **CHECK, description="Two\nlines")
    path = f"{PAYMENTS}/{method}"
    page = (await dashboard.get(path)).text

    fields = {**CHECK, "type": "test_card", "name": "Renamed", "auto_capture": "1"}
    assert saved_message(await dashboard.post(path, **fields)) == "saved"

    assert 'name="type"' not in page
    assert field(page, "description") == "Two\nlines"
    row = await db.fetchrow("select type, name, auto_capture from payment_methods where id = $1", UUID(method))
    assert tuple(row) == ("check", "Renamed", True)


async def test_names_are_escaped_and_the_menu_links_to_every_page(dashboard: Dashboard, db: Any, make: Make) -> None:
    payload = f"<img src=x onerror=alert({unique_word()!r})>"
    await new_zone(dashboard, db, make, "US", name=payload)
    for base, table, fields in (
        (f"{TAXES}/categories", "tax_categories", {}),
        (CATEGORIES, "shipping_categories", {}),
        (METHODS, "shipping_methods", POST),
        (PAYMENTS, "payment_methods", CHECK),
    ):
        await new_record(dashboard, db, base, table, name=payload, **fields)

    overview = (await dashboard.get("/admin")).text
    for path in (ZONES, TAXES, SHIPPING, PAYMENTS, f"{METHODS}/new", f"{TAXES}/rates/new"):
        page = (await dashboard.get(path)).text
        assert payload not in page
        if path != f"{TAXES}/rates/new":
            assert html.escape(payload, quote=False).replace("'", "&#39;") in page
        if not path.endswith("/new"):
            assert f'href="{path}"' in overview
