"""The shop's time zone: the dashboard, documents and e-mails show and read times in it; stored times are UTC."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx2
import pytest

from tests.accounts import ask_for_code, mailed_code, new_email
from tests.admin.catalog_bulk.test_grid import GRID, cells, problems
from tests.admin.catalog_forms import error_messages, field, id_of, new_product, unique_word
from tests.admin.dashboard import Dashboard
from tests.admin.documents.builders import new_series, path_of, pdf_text
from tests.admin.order_builders import buy, text_of
from tests.admin.orders.order_lists import ORDERS, list_numbers, wait_for_index
from tests.admin.promotion_forms import PLAIN, new_promotion
from tests.admin.setup_forms import shop_fields
from tests.checkout_builders import Buyer
from tests.mail.test_event_mails import FIREFOX, SAFARI, mails_to

SHOP = "/admin/settings/shop"
SetZone = Callable[[str], Awaitable[None]]


@pytest.fixture
async def set_zone(dashboard: Dashboard) -> AsyncIterator[SetZone]:
    """Changes the time zone of the shop, which is UTC again afterwards."""

    async def change(name: str) -> None:
        fields = shop_fields((await dashboard.get(SHOP)).text)
        assert (await dashboard.post(SHOP, **{**fields, "time_zone": name})).status_code == 303

    yield change
    await change("UTC")


async def period_of(db: Any, promotion: str) -> tuple[datetime, datetime]:
    return tuple(await db.fetchrow("select starts_at, expires_at from promotions where id = $1", id_of(promotion)))


async def test_a_period_is_entered_and_shown_in_the_zone(dashboard: Dashboard, db: Any, set_zone: SetZone) -> None:
    await set_zone("Europe/Berlin")
    promotion = await new_promotion(dashboard, starts_at="2031-01-15T09:30", expires_at="2031-03-30T02:30")

    page = (await dashboard.get(promotion)).text

    assert await period_of(db, promotion) == (
        datetime(2031, 1, 15, 8, 30, tzinfo=UTC),
        datetime(2031, 3, 30, 1, 30, tzinfo=UTC),
    )
    assert (field(page, "starts_at"), field(page, "expires_at")) == ("2031-01-15T09:30", "2031-03-30T03:30")
    assert "Europe/Berlin. Empty: no end." in page
    name = field(page, "name")
    listing = (await dashboard.get(f"/admin/promotions?q={name}")).text
    assert '<time datetime="2031-01-15T08:30:00+00:00" title="Europe/Berlin">15 Jan 2031, 09:30 CET</time>' in listing


async def test_saving_a_form_does_not_move_a_time_that_exists_twice(
    dashboard: Dashboard, db: Any, set_zone: SetZone
) -> None:
    await set_zone("Europe/Berlin")
    promotion = await new_promotion(dashboard)
    second = datetime(2031, 10, 26, 1, 30, 7, tzinfo=UTC)
    await db.execute("update promotions set starts_at = $2 where id = $1", id_of(promotion), second)
    page = (await dashboard.get(promotion)).text
    form = {**PLAIN, "seen_at": field(page, "seen_at"), "name": "Moved", "starts_at": field(page, "starts_at")}

    answer = await dashboard.post(promotion, **form)

    assert answer.status_code == 303, error_messages(answer)
    assert field(page, "starts_at") == "2031-10-26T02:30"
    assert (await period_of(db, promotion))[0] == second


async def test_the_days_of_the_order_list_are_days_of_the_zone(
    dashboard: Dashboard, buyer: Buyer, db: Any, set_zone: SetZone
) -> None:
    order, _ = await buy(buyer)
    await wait_for_index(db)
    at = datetime(2001, 7, 15, 23, 30, tzinfo=UTC)
    await db.execute("update order_listings set placed_at = $2 where order_id = $1", UUID(order.id), at)
    numbers = {}
    for zone in ("UTC", "Europe/Berlin"):
        await set_zone(zone)
        for day in ("2001-07-15", "2001-07-16"):
            numbers[zone, day] = await list_numbers(dashboard, since=day, until=day, q=order["number"])
    page = (await dashboard.get(f"{ORDERS}?since=2001-07-16&q={order['number']}")).text
    for day in ("0001-01-01", "9999-12-31"):
        assert (await dashboard.get(f"{ORDERS}?since={day}&until={day}")).status_code == 200

    mine = [order["number"]]
    assert numbers == {
        ("UTC", "2001-07-15"): mine,
        ("UTC", "2001-07-16"): [],
        ("Europe/Berlin", "2001-07-15"): [],
        ("Europe/Berlin", "2001-07-16"): mine,
    }
    assert "16 Jul 2001, 01:30 CEST" in text_of(page)


async def test_a_time_in_the_grid_is_a_time_of_the_zone(dashboard: Dashboard, db: Any, set_zone: SetZone) -> None:
    await set_zone("Europe/Berlin")
    word = unique_word()
    product = await new_product(dashboard, name=f"Zone {word}")
    path, owner = f"{GRID}?q={word}&columns[]=available_on", str(id_of(product))
    form = cells(owner, available_on=("", "2031-07-15T09:30"))

    review = await dashboard.post(path, **form, step="review")
    saved = await dashboard.post(
        path,
        **{name: field(review.text, name) for name in form},
        step="save",
    )
    page = (await dashboard.get(path)).text

    assert saved.status_code == 303, problems(saved.text)
    assert "2031-07-15T09:30" in text_of(review.text)
    stored = await db.fetchval("select available_on from products where id = $1", id_of(product))
    assert stored == datetime(2031, 7, 15, 7, 30, tzinfo=UTC)
    assert field(page, f"cell[{owner}][available_on]") == "2031-07-15T09:30"
    assert f'data-seen="{field(page, f"cell[{owner}][available_on]")}"' in page
    assert "Available from (Europe/Berlin)" in page
    await db.execute("update products set available_on = '2031-10-26T01:30:07Z' where id = $1", id_of(product))
    page = (await dashboard.get(path)).text
    unchanged = {name: field(page, name) for name in form}
    assert "Nothing to save" in (await dashboard.post(path, **unchanged, step="save")).text
    stale = await dashboard.post(path, **{**form, f"cell[{owner}][available_on]": "2031-08-01T00:00"}, step="save")
    assert (stale.status_code, field(stale.text, f"cell[{owner}][available_on]")) == (409, "2031-08-01T00:00")
    assert "2031-10-26T02:30" in text_of(stale.text)


async def test_a_document_keeps_the_zone_of_its_issue(
    dashboard: Dashboard, buyer: Buyer, db: Any, set_zone: SetZone
) -> None:
    await new_series(dashboard)
    order, _ = await buy(buyer)
    await db.execute("update orders set completed_at = '2001-07-15T23:30Z' where id = $1", UUID(order.id))
    await set_zone("Europe/Berlin")
    question = text_of((await dashboard.get(f"{path_of(order)}/invoice")).text)
    slip = pdf_text((await dashboard.get(f"{path_of(order)}/packing-slip.pdf")).content)
    await dashboard.post(f"{path_of(order)}/invoice")
    await set_zone("UTC")

    page = text_of((await dashboard.get(f"{path_of(order)}/invoice")).text)
    pdf = pdf_text((await dashboard.get(f"{path_of(order)}/invoice.pdf")).content)

    assert f"{order['number']} of 16 Jul 2001" in question
    assert "Order date: 16 Jul 2001" in slip
    assert f"{order['number']} of 16 Jul 2001" in page
    assert f"Order {order['number']} of 16 Jul 2001" in pdf


async def test_an_email_shows_the_time_in_the_zone(http: httpx2.AsyncClient, set_zone: SetZone) -> None:
    await set_zone("Asia/Kathmandu")
    email = new_email()
    for user_agent in (FIREFOX, SAFARI):
        await ask_for_code(http, email)
        body = {"user": {"email": email, "code": await mailed_code(http, email)}}
        await http.post("/api/v2/storefront/auth", json=body, headers={"User-Agent": user_agent})

    (mail,) = await mails_to(http, email)

    assert "UTC+0545" in mail["text"]
