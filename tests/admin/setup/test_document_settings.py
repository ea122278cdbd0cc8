"""The settings of documents: saved, refused with their reasons, and not overwritten by an older form."""

import asyncio
import json
import re
from typing import Any

import httpx2
import pytest

from tests.admin.catalog_forms import error_messages, field, unique_word
from tests.admin.dashboard import Dashboard, events
from tests.admin.documents.builders import ADDRESS, SETTINGS, save_settings


async def test_settings_are_saved_and_shown_again(dashboard: Dashboard, db: Any) -> None:
    answer = await save_settings(dashboard, legal_name='Tom & "Co"', tax_label_3="EORI", tax_number_3="GB 1")

    assert answer.headers["location"] == f"{SETTINGS}?done=saved"
    page = (await dashboard.get(SETTINGS)).text
    expected = {**ADDRESS, "country": "Germany (DE)", "tax_label_1": "EORI", "tax_number_1": "GB 1", "tax_label_2": ""}
    assert {name: field(page, name) for name in expected} == {**expected, "legal_name": "Tom &amp; &#34;Co&#34;"} or {
        name: field(page, name) for name in expected
    } == {**expected, "legal_name": 'Tom & "Co"'}
    stored = json.loads(await db.fetchval("select documents from shops"))
    assert stored["tax_numbers"] == [
        {"label": "VAT ID", "number": "DE123456789"},
        {"label": "EORI", "number": "GB 1"},
    ]
    assert ("documents_changed", "done") in await events(db, actor=dashboard.id)
    changes = await db.fetchval(
        "select before from events where type = 'settings.updated' and actor_id = $1", dashboard.id
    )
    assert "documents" in json.loads(changes)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("country", "XX", "Country must be a country, like Germany or DE."),
        ("invoice_prefix", "2026", "Prefix of invoices must not end with a digit or {year}; add a hyphen."),
        ("digits", "many", "Digits of document numbers must be a number from 1 to 10."),
        ("tax_number_1", "1", "Tax numbers must have a name and a number each."),
    ],
)
async def test_invalid_settings_are_refused_and_shown_again(
    dashboard: Dashboard, db: Any, name: str, value: str, message: str
) -> None:
    before = await db.fetchval("select documents from shops")

    answer = await save_settings(dashboard, legal_name="Refused", **{name: value})

    assert (answer.status_code, error_messages(answer)) == (422, [message])
    assert field(answer.text, "legal_name") == "Refused"
    assert await db.fetchval("select documents from shops") == before


async def test_an_older_form_is_409(dashboard: Dashboard, db: Any) -> None:
    version = re.search(r'name="version" value="(\d+)"', (await dashboard.get(SETTINGS)).text)
    assert version
    await save_settings(dashboard, legal_name="First")

    answer = await dashboard.post(SETTINGS, **{**ADDRESS, "version": version[1], "legal_name": "Second"})

    assert answer.status_code == 409
    assert json.loads(await db.fetchval("select documents from shops"))["legal_name"] == "First"


async def test_storefronts_get_the_support_address(dashboard: Dashboard, http: httpx2.AsyncClient) -> None:
    email = f"{unique_word()}@lantern.example"
    await save_settings(dashboard, email=email)

    async with asyncio.timeout(10):
        while True:
            store = (await http.get("/api/v2/storefront/store")).json()["data"]["attributes"]
            if store["customer_support_email"] == email:
                break
