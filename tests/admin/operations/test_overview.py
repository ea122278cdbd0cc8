"""The overview: the last days as figures, a chart and a table."""

import re
from datetime import date, timedelta
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from shop.admin.operations.overview import NARROW, REMEMBER_SECONDS, WIDE, draw_chart, round_up_scale
from shop.queries.dashboard import DAYS, Day
from tests.admin.dashboard import Dashboard, new_dashboard
from tests.db.processes import until


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
async def test_the_overview_shows_orders_carts_failed_e_mails_and_the_mail_budget(
    empty_client: httpx2.AsyncClient, empty_db: Any
) -> None:
    await empty_db.execute("delete from orders; delete from outbox_mails")
    await empty_db.execute(
        """insert into orders (id, number, currency, created_at, updated_at, completed_at)
        select gen_random_uuid(), 'O' || n, 'USD', now() - interval '3 days', now(), case when n <= 2 then now() end
        from generate_series(1, 5) n"""
    )
    await empty_db.execute(
        """insert into outbox_mails (id, kind, recipient, ref_id, not_after, next_at, created_at, dead_at, last_error)
        values ($1, 'login_code', '<i>x</i>@mails.example', $1, now(), now(), now(), now(), '550 <b>unknown</b>')""",
        uuid4(),
    )
    await add_mail_budget_warnings(empty_db, 2)
    dashboard = await new_dashboard(empty_client, empty_db)

    def figures_of(page: str) -> dict[str, str]:
        return dict(re.findall(r'class="label">([^<]+)</span><span class="figure">([^<]+)<', page))

    page = ""

    async def is_current() -> bool:
        nonlocal page
        page = (await dashboard.get("/admin")).text
        return figures_of(page)["Carts created"] == "5"

    # Another test may have loaded the page just before, and the figures are cached for a few seconds.
    await until(is_current, 2 * REMEMBER_SECONDS)

    figures = figures_of(page)
    assert figures["Orders completed"] == "2"
    assert figures["Carts created"] == "5"
    assert figures["Failed e-mails"] == "1"
    assert "550 &lt;b&gt;unknown&lt;/b&gt;" in page
    notice = " ".join(re.sub("<[^>]+>", " ", page.partition('class="notice warn"')[2].partition("</div>")[0]).split())
    assert "Mail budget: mails to unverified addresses reached 80% of 500 an hour 2 times in the last day" in notice
    assert "1 order confirmation waits for the mail budget" in notice
    table = page.partition("<caption")[2].partition("</table>")[0]
    assert len(re.findall(r"<tr><td>", table)) == DAYS
    assert ">5</td>" in table
    assert page.count('<svg class="chart') == 2


async def test_an_empty_shop_has_an_overview(dashboard: Dashboard) -> None:
    assert (await dashboard.get("/admin")).status_code == 200


@pytest.mark.parametrize(
    ("largest", "top"), [(0, 2), (1, 2), (2, 2), (3, 4), (5, 10), (11, 20), (21, 40), (41, 100), (999, 1000)]
)
def test_the_scale_ends_at_an_even_round_number(largest: int, top: int) -> None:
    assert round_up_scale(largest) == top


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_chart_has_two_bars_a_day_within_its_frame(width: int) -> None:
    start = date(2026, 11, 1)
    days = [Day(start + timedelta(days=number), number * 3, number) for number in range(DAYS)]

    chart = draw_chart(days, width)

    assert len(chart.bars) == 2 * DAYS
    assert all(bar.x >= 0 and bar.x + bar.width <= width for bar in chart.bars)
    assert all(bar.y >= 0 and bar.y + bar.height <= chart.height for bar in chart.bars)
    assert chart.days[-1].text == "14 Nov"
