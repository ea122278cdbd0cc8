"""Taxes at the dashboard: rates in percent, and the category that counts where nothing else was said."""

from typing import Any
from uuid import UUID

import pytest

from tests.admin.catalog_forms import done, field, mark, said
from tests.admin.dashboard import NOBODY, Desk
from tests.admin.setup_forms import TAXES, new, new_rate
from tests.builders import Make


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"percent": ""}, "Percent must be given."),
        ({"percent": "a lot"}, "Percent must be a number like 19.99."),
        ({"percent": "1000"}, "Percent must be less than 1000, with at most three decimals."),
        ({"percent": "1.0001"}, "Percent must be less than 1000, with at most three decimals."),
        ({"zone_id": ""}, "Zone must be chosen."),
        ({"tax_category_id": NOBODY}, "Tax category names a record that does not exist."),
    ],
)
async def test_a_rate_is_a_share_of_something_somewhere(
    desk: Desk, db: Any, make: Make, fields: dict[str, str], told: str
) -> None:
    rate = await new_rate(desk, db, make)
    page = (await desk.get(f"{TAXES}/rates/{rate}")).text
    row = await db.fetchrow("select name, zone_id, tax_category_id from tax_rates where id = $1", UUID(rate))
    form = {"percent": "7.5", **{name: str(row[name]) for name in ("name", "zone_id", "tax_category_id")}}

    refusal = await desk.post(f"{TAXES}/rates/{rate}", **{**form, **fields})
    response = await desk.post(f"{TAXES}/rates/{rate}", **form, included_in_price="1")

    assert field(page, "percent") == "19"
    assert (refusal.status_code, said(refusal)) == (422, [told])
    assert field(refusal.text, "percent") == {**form, **fields}["percent"]
    assert done(response) == "saved"
    amount, included = await db.fetchrow("select amount, included_in_price from tax_rates where id = $1", UUID(rate))
    assert (str(amount), included) == ("0.075", True)
    assert "7.5%" in (await desk.get(TAXES)).text


async def test_one_tax_category_alone_is_the_default(desk: Desk, db: Any) -> None:
    base = f"{TAXES}/categories"
    first = await new(desk, db, base, "tax_categories", is_default="1")
    name = await db.fetchval("select name from tax_categories where id = $1", UUID(first))

    answer = await desk.post(f"{base}/new", name=mark(), is_default="1")
    again = await desk.post(f"{base}/{first}", name=name, is_default="1")
    response = await desk.post(f"{base}/{first}/delete")

    assert said(answer) == [f"Default is already {name}; change that one first."]
    assert (done(again), done(response)) == ("saved", "deleted")
