"""The overview: what the last days have seen, as figures, a drawing and a table."""

import asyncio
import re
from datetime import date, timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from shop.admin.operations.overview import NARROW, REMEMBER_SECONDS, WIDE, draw, nice_top
from shop.queries.dashboard import DAYS, Day
from tests.admin.dashboard import Desk, new_desk


async def warn_of_mail_budget(db: Any, times: int) -> None:
    """As if 80 % had been reached so often, and a mail waited for room."""
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
async def test_the_overview_counts_days_sign_ins_and_failed_mails(empty: httpx.AsyncClient, empty_db: Any) -> None:
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
    await warn_of_mail_budget(empty_db, 2)
    desk = await new_desk(empty, empty_db)

    def figures_of(page: str) -> dict[str, str]:
        return dict(re.findall(r'class="label">([^<]+)</span><span class="figure">([^<]+)<', page))

    async with asyncio.timeout(2 * REMEMBER_SECONDS):
        # Another test may have looked just before, and what was seen is remembered for a few seconds.
        while (figures_of(page := (await desk.get("/admin")).text))["Carts opened"] != "5":
            pass

    figures = figures_of(page)
    assert figures["Orders completed"] == "2"
    assert figures["Carts opened"] == "5"
    assert figures["Mails that failed"] == "1"
    assert "550 &lt;b&gt;unknown&lt;/b&gt;" in page
    notice = " ".join(re.sub("<[^>]+>", " ", page.partition('class="notice warn"')[2].partition("</div>")[0]).split())
    assert (
        "Mail budget: mails to unverified addresses reached 80&nbsp;% of 500 an hour 2 times in the last day" in notice
    )
    assert "1 order confirmation waits for room" in notice
    table = page.partition("<caption")[2].partition("</table>")[0]
    assert len(re.findall(r"<tr><td>", table)) == DAYS
    assert ">5</td>" in table
    assert page.count('<svg class="chart') == 2


async def test_an_empty_shop_has_an_overview_too(desk: Desk) -> None:
    assert (await desk.get("/admin")).status_code == 200


@pytest.mark.parametrize(
    ("most", "top"), [(0, 2), (1, 2), (2, 2), (3, 4), (5, 10), (11, 20), (21, 40), (41, 100), (999, 1000)]
)
def test_the_scale_ends_at_a_round_number_whose_half_is_whole(most: int, top: int) -> None:
    assert nice_top(most) == top


@pytest.mark.parametrize("across", [WIDE, NARROW])
def test_the_drawing_has_two_bars_a_day_within_its_frame(across: int) -> None:
    start = date(2026, 11, 1)
    days = [Day(start + timedelta(days=number), number * 3, number) for number in range(DAYS)]

    chart = draw(days, across)

    assert len(chart.bars) == 2 * DAYS
    assert all(bar.x >= 0 and bar.x + bar.width <= across for bar in chart.bars)
    assert all(bar.y >= 0 and bar.y + bar.height <= chart.height for bar in chart.bars)
    assert chart.days[-1].text == "14 Nov"
