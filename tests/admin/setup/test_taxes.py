"""Taxes in the dashboard: rates in percent, and the default category."""

from typing import Any
from uuid import UUID

import pytest

from tests.admin.catalog_forms import error_messages, field, saved_message
from tests.admin.dashboard import UNKNOWN_ID, Dashboard
from tests.admin.setup_forms import TAXES, new_rate, new_record
from tests.builders import Make


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"percent": ""}, "Percent is required."),
        ({"percent": "a lot"}, "Percent must be a number like 19.99."),
        ({"percent": "1000"}, "Percent must be less than 1000, with at most three decimals."),
        ({"percent": "1.0001"}, "Percent must be less than 1000, with at most three decimals."),
        ({"zone_id": ""}, "Zone must be chosen."),
        ({"tax_category_id": UNKNOWN_ID}, "Tax category names a record that does not exist."),
    ],
)
async def test_a_tax_rate_needs_a_valid_percentage_zone_and_category(
    dashboard: Dashboard, db: Any, make: Make, fields: dict[str, str], message: str
) -> None:
    rate = await new_rate(dashboard, db, make)
    page = (await dashboard.get(f"{TAXES}/rates/{rate}")).text
    row = await db.fetchrow("select name, zone_id, tax_category_id from tax_rates where id = $1", UUID(rate))
    form = {"percent": "7.5", **{name: str(row[name]) for name in ("name", "zone_id", "tax_category_id")}}

    refusal = await dashboard.post(f"{TAXES}/rates/{rate}", **{**form, **fields})
    response = await dashboard.post(f"{TAXES}/rates/{rate}", **form, included_in_price="1")

    assert field(page, "percent") == "19"
    assert (refusal.status_code, error_messages(refusal)) == (422, [message])
    assert field(refusal.text, "percent") == {**form, **fields}["percent"]
    assert saved_message(response) == "saved"
    amount, included = await db.fetchrow("select amount, included_in_price from tax_rates where id = $1", UUID(rate))
    assert (str(amount), included) == ("0.075", True)
    assert "7.5%" in (await dashboard.get(TAXES)).text


async def test_a_default_tax_category_replaces_the_former_one(dashboard: Dashboard, db: Any) -> None:
    base = f"{TAXES}/categories"
    first = await new_record(dashboard, db, base, "tax_categories", is_default="1")
    name = await db.fetchval("select name from tax_categories where id = $1", UUID(first))

    second = await new_record(dashboard, db, base, "tax_categories", is_default="1")

    assert await db.fetch("select id from tax_categories where is_default") == [(UUID(second),)]
    again = await dashboard.post(f"{base}/{first}", name=name, is_default="1")
    response = await dashboard.post(f"{base}/{first}/delete")
    assert (saved_message(again), saved_message(response)) == ("saved", "deleted")
