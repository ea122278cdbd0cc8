"""The overview: figures of a period, a chart and a table, and what needs attention."""

import re
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from shop.admin.operations.charts import NARROW, WIDE, Point, draw_ranking, draw_series, round_up_scale
from tests.admin.dashboard import Dashboard, new_dashboard
from tests.admin.orders.order_lists import wait_for_index


async def add_mail_budget_warnings(db: Any, times: int) -> None:
    """Inserts this many warnings at 80 % of the budget, and an e-mail that waits for it."""
    await db.execute(
        """insert into audit_events (id, at, actor_kind, action, outcome, detail)
        select gen_random_uuid(), now() - interval '1 hour' * n, 'guest', 'limit', 'warning',
            '{"limit": "mails to unverified addresses", "allowed": "500/3600", "count": 400}'
        from generate_series(0, $1 - 1) n""",
        times,
    )
    await db.execute(
        """insert into outbox_mails (id, kind, recipient, ref_id, not_after, next_at, created_at, awaits_budget)
        values ($1, 'order_confirmation', 'a@mails.example', $1, now() + interval '1 day', now() + interval '1 hour',
            now(), true)""",
        uuid4(),
    )


@pytest.mark.security("M-09")
async def test_the_overview_shows_open_work_failed_e_mails_and_the_mail_budget(
    empty_client: httpx2.AsyncClient, empty_db: Any
) -> None:
    # The first filling of the index would replace the rows that this test inserts.
    await wait_for_index(empty_db)
    await empty_db.execute("delete from orders; delete from outbox_mails")
    await empty_db.execute(
        """with placed as (
            insert into orders (id, number, currency, created_at, updated_at, completed_at)
            select gen_random_uuid(), 'O' || n, 'USD', now() - interval '3 days', now(), case when n <= 3 then now() end
            from generate_series(1, 5) n returning *
        ) insert into order_listings (order_id, placed_at, currency, is_to_ship, is_unpaid, search)
        select id, completed_at, currency, number <= 'O2', number > 'O2', ''
        from placed where completed_at is not null"""
    )
    await empty_db.execute(
        """insert into outbox_mails (id, kind, recipient, ref_id, not_after, next_at, created_at, dead_at, last_error)
        values ($1, 'login_code', '<i>x</i>@mails.example', $1, now(), now(), now(), now(), '550 <b>unknown</b>')""",
        uuid4(),
    )
    await add_mail_budget_warnings(empty_db, 2)
    dashboard = await new_dashboard(empty_client, empty_db)

    page = (await dashboard.get("/admin")).text

    work = {text.strip(): count for count, text in re.findall(r"<b>([0-9,+]+)</b>([^<]+)<", page)}
    assert work == {
        "to ship": "2",
        "unpaid": "1",
        "refunds to approve": "0",
        "low in stock": "0",
        "failed e-mail": "1",
        "disabled webhooks": "0",
    }
    assert "550 &lt;b&gt;unknown&lt;/b&gt;" in page
    notice = " ".join(re.sub("<[^>]+>", " ", page.rpartition('class="notice warn"')[2].partition("</div>")[0]).split())
    assert "E-mail limit: mails to unverified addresses reached 80% of 500 an hour 2 times in the last day" in notice
    assert "1 order confirmation has not been sent yet: the e-mail limit is reached." in notice


async def test_an_empty_shop_has_an_overview(dashboard: Dashboard) -> None:
    assert (await dashboard.get("/admin")).status_code == 200


@pytest.mark.parametrize(
    ("largest", "top"),
    [
        (0, 2),
        (1, 2),
        (2, 2),
        (3, 4),
        (5, 10),
        (11, 20),
        (21, 40),
        (41, 50),
        (101, 200),
        (201, 250),
        (437_900, 500_000),
        (999, 1000),
    ],
)
def test_the_scale_ends_at_an_even_round_number(largest: int, top: int) -> None:
    assert round_up_scale(largest) == top


@pytest.mark.parametrize("count", [0, 1, 7, 90, 1100])
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_chart_stays_within_its_frame(width: int, count: int) -> None:
    points = [Point(f"{number} Nov", number * 1000) for number in range(count)]

    charts = [draw(points, width, lambda value: f"{value:,}") for draw in (draw_series, draw_ranking)]

    assert [len(chart.bars) for chart in charts] == [count, min(count, 10)]
    for chart in charts:
        assert all(bar.x >= 0 and bar.x + bar.width <= width + 1 for bar in chart.bars)
        assert all(bar.y >= 0 and bar.y + bar.height <= chart.height for bar in chart.bars)
        assert all(0 <= mark.x <= width and 0 <= mark.y <= chart.height for mark in chart.marks)
    assert count == 0 or charts[0].marks[-4].text == f"{count - 1} Nov"
