"""Settings of the shop, which every process reads, and its operators."""

import asyncio
import json
import re
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.admin.dashboard import SAME_ORIGIN, Dashboard, events, new_dashboard, new_operator, sign_in
from tests.admin.setup_forms import shop_fields
from tests.concurrency import wait_for_locks

SHOP = "/admin/settings/shop"
OPERATORS = "/admin/settings/operators"


async def cart_currencies(http: httpx2.AsyncClient, currency: str) -> set[str]:
    """The currencies of new carts that request this one; each request opens a connection, so both processes answer."""
    async with httpx2.AsyncClient(base_url=http.base_url, limits=httpx2.Limits(max_keepalive_connections=0)) as client:
        return {
            (await client.post("/api/v2/storefront/cart", params={"currency": currency})).json()["data"]["attributes"][
                "currency"
            ]
            for _ in range(24)
        }


async def wait_for_currency(http: httpx2.AsyncClient, default: str) -> None:
    """Waits until every worker gives this currency to carts that request CHF; at most the documented two seconds."""
    async with asyncio.timeout(2):
        while await cart_currencies(http, "CHF") != {default}:
            pass


@pytest.mark.torture
async def test_every_process_uses_a_change_within_two_seconds(empty_client: httpx2.AsyncClient, empty_db: Any) -> None:
    dashboard = await new_dashboard(empty_client, empty_db)
    before = shop_fields((await dashboard.get(SHOP)).text)
    assert await cart_currencies(empty_client, "CHF") == {"USD"}

    fields = {**before, "name": "Käse & Co", "currencies[]": ["Swiss Franc", "usd  EUR,chf"], "default_country": "ch"}
    answer = await dashboard.post(SHOP, headers=None, **fields)
    await wait_for_currency(empty_client, "CHF")

    assert answer.headers["location"] == f"{SHOP}?done=saved"
    assert await cart_currencies(empty_client, "CHF") == {"CHF"}
    row = await empty_db.fetchrow("select * from shops")
    assert (row["name"], row["currencies"], row["default_country"]) == ("Käse & Co", ["CHF", "USD", "EUR"], "CH")
    assert row["version"] == int(before["version"]) + 1
    assert "Käse &amp; Co" in (await empty_client.get("/admin/sign-in")).text
    changes = await empty_db.fetchval(
        "select changes from audit_events where action = 'shop_changed' and actor_id = $1", dashboard.id
    )
    assert json.loads(changes)["name"] == [before["name"], "Käse & Co"]
    assert json.loads(changes)["currencies"][1] == ["CHF", "USD", "EUR"]
    await empty_db.execute("update shops set name = 'Shop', currencies = '{USD}', version = version + 1")
    await wait_for_currency(empty_client, "USD")


async def test_saving_an_outdated_version_is_409(dashboard: Dashboard, db: Any) -> None:
    fields = shop_fields((await dashboard.get(SHOP)).text)
    fields["version"] = str(int(fields["version"]) - 1)

    answer = await dashboard.post(SHOP, headers=None, **{**fields, "name": "Overwritten"})

    assert answer.status_code == 409
    assert "Someone else changed the settings" in answer.text
    assert await db.fetchval("select name from shops") != "Overwritten"


async def test_countries_currencies_and_locales_have_names(dashboard: Dashboard, db: Any) -> None:
    page = (await dashboard.get(SHOP)).text

    for text in (
        '<option value="Germany (DE)">',
        '<option value="French, Canada (fr-CA)">',
        '<option value="Swiss Franc (CHF)">',
        '<option value="Berlin, Germany (Europe/Berlin)">',
        'value="English, United States (en-US)"',
        'value="US Dollar (USD)"',
    ):
        assert text in page
    for country, code in (("germany", "DE"), ("Austria (AT)", "AT"), ("United States", "US")):
        fields = shop_fields((await dashboard.get(SHOP)).text)
        assert (await dashboard.post(SHOP, headers=None, **{**fields, "default_country": country})).status_code == 303
        assert await db.fetchval("select default_country from shops") == code


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("name", "", "must be one line"),
        ("name", "x" * 101, "must be one line"),
        ("currencies[]", "", "must be 1 to 30"),
        ("currencies[]", "USD, XYZ", "“XYZ” is not a currency"),
        ("currencies[]", "USD, XTS", "“XTS” is not a currency"),
        ("currencies[]", "USD, <b>", "“&lt;b&gt;” is not a currency"),
        ("default_country", "XX", "must be a country"),
        ("default_country", "USA", "must be a country"),
        ("default_country", "x" * 1000, "must be a country"),
        ("default_locale", "klingon", "must be a locale"),
        ("default_locale", "en_US", "must be a locale"),
        ("time_zone", "Mars/Olympus", "must be a time zone"),
        ("time_zone", "../../etc/passwd", "must be a time zone"),
        ("order_prefix", "R1", "Prefix of order numbers must have 1 to 10 letters"),
        ("order_prefix", "R\x1b", "Prefix of order numbers must have 1 to 10 letters"),
        ("order_prefix", "", "Prefix of order numbers must have 1 to 10 letters"),
        ("order_digits", "8", "Digits of order numbers must be a number from 9 to 15"),
        ("order_digits", "9" * 5000, "Digits of order numbers must be a number from 9 to 15"),
        ("weight_unit", "stone", "Weights is not a valid choice"),
        ("dimension_unit", "", "Dimensions is not a valid choice"),
        ("version", "nonsense", "Someone else changed"),
    ],
)
async def test_an_invalid_setting_is_refused_and_changes_nothing(
    dashboard: Dashboard, db: Any, field: str, value: str, message: str
) -> None:
    before = await db.fetchrow("select * from shops")

    answer = await dashboard.post(SHOP, headers=None, **{**shop_fields((await dashboard.get(SHOP)).text), field: value})

    assert answer.status_code in (409, 422)
    assert message in answer.text
    assert await db.fetchrow("select * from shops") == before


async def test_only_the_field_with_an_unknown_currency_is_marked(dashboard: Dashboard) -> None:
    fields = shop_fields((await dashboard.get(SHOP)).text)

    page = (await dashboard.post(SHOP, headers=None, **{**fields, "currencies[]": ["USD", "doubloons"]})).text

    assert "“doubloons” is not a currency. Choose one from the list or enter a code such as EUR." in page
    marked = re.findall(r'<input id="([^"]+)" name="currencies\[\]"[^>]*value="([^"]*)"[^>]*aria-invalid="true"', page)
    assert marked == [("field-currencies", "doubloons")]
    assert '<label for="field-currencies">Currency 2</label>' in page


async def new_number(http: httpx2.AsyncClient) -> str:
    answer = await http.post("/api/v2/storefront/cart")
    return str(answer.json()["data"]["attributes"]["number"])


async def test_new_orders_get_numbers_in_the_format_of_the_settings(
    empty_client: httpx2.AsyncClient, empty_db: Any
) -> None:
    dashboard = await new_dashboard(empty_client, empty_db)
    former_number = await new_number(empty_client)
    fields = shop_fields((await dashboard.get(SHOP)).text)
    try:
        answer = await dashboard.post(SHOP, headers=None, **{**fields, "order_prefix": "s2-", "order_digits": "12"})
        assert answer.status_code == 303
        async with asyncio.timeout(10):
            while not re.fullmatch(r"S2-[0-9]{12}", number := await new_number(empty_client)):
                assert re.fullmatch(r"R[0-9]{10}", number)
        assert await empty_db.fetchval("select count(*) from orders where number = $1", former_number) == 1
        changes = await empty_db.fetchval(
            "select changes from audit_events where action = 'shop_changed' and actor_id = $1", dashboard.id
        )
        assert json.loads(changes)["order_prefix"] == ["R", "S2-"]
    finally:
        await empty_db.execute("update shops set order_prefix = 'R', order_digits = 10, version = version + 1")


async def test_the_units_are_shown_beside_weights_and_dimensions(
    empty_client: httpx2.AsyncClient, empty_db: Any
) -> None:
    dashboard = await new_dashboard(empty_client, empty_db)
    fields = shop_fields((await dashboard.get(SHOP)).text)
    try:
        changes = {"weight_unit": "lb", "dimension_unit": "in"}
        assert (await dashboard.post(SHOP, headers=None, **{**fields, **changes})).status_code == 303
        async with asyncio.timeout(10):
            while "Weight (lb)" not in (text := (await dashboard.get("/admin/products/new")).text):
                assert "Weight (kg)" in text
        assert "Width (in)" in text
    finally:
        await empty_db.execute("update shops set weight_unit = 'kg', dimension_unit = 'cm', version = version + 1")


async def test_removing_a_currency_in_use_lists_its_uses_and_needs_a_confirmation(
    empty_client: httpx2.AsyncClient, empty_db: Any
) -> None:
    dashboard = await new_dashboard(empty_client, empty_db)
    fields = shop_fields((await dashboard.get(SHOP)).text)
    assert (await dashboard.post(SHOP, headers=None, **{**fields, "currencies[]": ["USD", "Danish Krone"]})).is_redirect
    list_id = uuid4()
    await empty_db.execute(
        "insert into price_lists (id, name, currency, created_at, updated_at) values ($1, 'Dane', 'DKK', now(), now())",
        list_id,
    )
    try:
        fields = {**shop_fields((await dashboard.get(SHOP)).text), "currencies[]": ["USD"]}
        refusal = await dashboard.post(SHOP, headers=None, **fields)
        assert refusal.status_code == 422
        assert '<a href="/admin/price-lists">Price lists</a>: 1' in refusal.text
        assert "Remove Danish Krone (DKK)" in refusal.text
        assert await empty_db.fetchval("select currencies from shops") == ["USD", "DKK"]

        answer = await dashboard.post(SHOP, headers=None, **fields, removes_used_currencies="1")
        assert answer.is_redirect
        assert await empty_db.fetchval("select currencies from shops") == ["USD"]
    finally:
        await empty_db.execute("delete from price_lists where id = $1", list_id)
        await empty_db.execute("update shops set currencies = '{USD}', version = version + 1")


async def test_disabling_an_operator_ends_their_sessions_immediately(
    dashboard: Dashboard, other_dashboard: Dashboard, db: Any
) -> None:
    answer = await dashboard.post(f"{OPERATORS}/{other_dashboard.id}/disable")

    assert answer.headers["location"] == f"{OPERATORS}?done=disabled"
    assert not await other_dashboard.is_signed_in()
    assert (await sign_in(dashboard.http, other_dashboard.email)).status_code == 401
    await dashboard.post(f"{OPERATORS}/{other_dashboard.id}/enable")
    assert not await other_dashboard.is_signed_in()
    assert (await sign_in(dashboard.http, other_dashboard.email)).status_code == 303
    audit_events = await events(db, actor=dashboard.id, subject=other_dashboard.id)
    assert audit_events == [("operator_disabled", "done"), ("operator_enabled", "done")]


async def test_operators_cannot_disable_themselves(dashboard: Dashboard, other_dashboard: Dashboard) -> None:
    assert await other_dashboard.is_signed_in()

    answer = await dashboard.post(f"{OPERATORS}/{dashboard.id}/disable")

    assert answer.status_code == 409
    assert await dashboard.is_signed_in()


async def test_of_two_operators_who_disable_each_other_concurrently_one_remains(
    empty_client: httpx2.AsyncClient, empty_db: Any
) -> None:
    one, other = await new_dashboard(empty_client, empty_db), await new_dashboard(empty_client, empty_db)

    async def disable(actor: Dashboard, csrf: str, target: Dashboard) -> int:
        path, headers = f"{OPERATORS}/{target.id}/disable", {**actor.cookie, **SAME_ORIGIN}
        return (await empty_client.post(path, data={"csrf": csrf}, headers=headers)).status_code

    pairs = [(one, await one.csrf(), other), (other, await other.csrf(), one)]

    async with empty_db.transaction():
        # The lock makes both requests pass the session check before either disables the other operator.
        await empty_db.execute("select from operators for update")
        tasks = [asyncio.create_task(disable(*pair)) for pair in pairs]
        await wait_for_locks(empty_db, 2)

    # The second operator was disabled before the own request got the lock.
    assert sorted([await answer for answer in tasks]) == [303, 403]
    assert await empty_db.fetchval("select count(*) from operators where disabled_at is null") == 1


async def test_an_invited_operator_can_be_disabled(empty_client: httpx2.AsyncClient, empty_db: Any) -> None:
    dashboard = await new_dashboard(empty_client, empty_db)
    operator_id, _ = await new_operator(empty_db, password_hash=None)

    answer = await dashboard.post(f"{OPERATORS}/{operator_id}/disable")

    assert answer.status_code == 303
    assert await dashboard.is_signed_in()


async def test_an_unknown_operator_is_404(dashboard: Dashboard) -> None:
    for path in ("01890000-0000-7000-8000-000000000000", "nonsense"):
        assert (await dashboard.post(f"{OPERATORS}/{path}/disable")).status_code == 404
        assert (await dashboard.post(f"{OPERATORS}/{path}/enable")).status_code == 404


async def test_the_menu_marks_the_current_section_and_links_to_the_mailbox(dashboard: Dashboard) -> None:
    page = (await dashboard.get(OPERATORS)).text

    current = re.findall(r'<a href="([^"]+)" aria-current="page"', page)
    assert set(current) == {OPERATORS}
    assert 'href="/mailbox"' in page


async def test_the_settings_are_found_by_words_of_what_they_contain(dashboard: Dashboard) -> None:
    pages = {q: (await dashboard.get(f"/admin/settings?q={q}")).text for q in ("", "time+ZONE", "zzzz")}
    main_parts = {q: text.partition("<main")[2] for q, text in pages.items()}

    paths = set(re.findall(r'<li><a href="([^"]+)"><b>', main_parts[""]))
    assert re.findall(r'<li><a href="([^"]+)"><b>', main_parts["time+ZONE"]) == [SHOP]
    assert "1 page found" in main_parts["time+ZONE"]
    assert "No settings match “zzzz”." in main_parts["zzzz"]
    assert len(paths) > 10
    for path in paths:
        assert (await dashboard.get(path)).status_code == 200, path
