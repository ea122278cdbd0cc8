"""Overview page: a chart of recent days and what needs attention."""

import math
import time
from collections.abc import Sequence

import msgspec

from shop.actions.context import Context
from shop.admin.pages import PageContext, page
from shop.models.journal import OutboxMail
from shop.models.webhooks.endpoints import WebhookEndpoint
from shop.queries import dashboard
from shop.queries.dashboard import Day, MailWarning, Tally
from shop.queries.webhooks import pages as webhook_pages
from shop.web.input.request import Request
from shop.web.reply import Reply

REMEMBER_SECONDS = 5
MAX_MAILS = 10
WIDE, NARROW = 720, 330
HEIGHT, LEFT, BOTTOM, TOP = 220, 36, 24, 8


class Bar(msgspec.Struct, frozen=True):
    """A bar of the chart."""

    kind: str
    x: float
    y: float
    width: float
    height: float


class Mark(msgspec.Struct, frozen=True):
    """A label of the chart and its position."""

    text: str
    at: float


class Chart(msgspec.Struct, frozen=True):
    """A bar chart: two bars per day, days below, scale on the left."""

    bars: list[Bar]
    days: list[Mark]
    scale: list[Mark]
    width: int
    height: int = HEIGHT
    left: int = LEFT


class Overview(msgspec.Struct, frozen=True):
    days: list[Day]
    tally: Tally
    dead_mails: list[OutboxMail]
    mail_warnings: list[MailWarning]
    failed_endpoints: list[WebhookEndpoint]


class _OverviewCache:
    """Caches the overview in this process, because counting a million orders takes time."""

    at = -math.inf
    overview: Overview


async def show(_request: Request, ctx: Context, page_context: PageContext) -> Reply:
    if time.monotonic() - _OverviewCache.at > REMEMBER_SECONDS:
        _OverviewCache.overview = await _load_overview(ctx)
        _OverviewCache.at = time.monotonic()
    overview = _OverviewCache.overview
    week = overview.days[-7:]
    counts = {"carts": sum(day.cart_count for day in week), "orders": sum(day.order_count for day in week)}
    return page(
        "operations/overview.html",
        page_context,
        overview=overview,
        counts=counts,
        wide=draw_chart(overview.days, WIDE),
        narrow=draw_chart(overview.days, NARROW),
    )


async def _load_overview(ctx: Context) -> Overview:
    days = await dashboard.list_days(ctx.db)
    tally = await dashboard.find_tally(ctx.db)
    mails = await dashboard.list_dead_mails(ctx.db, most=MAX_MAILS) if tally.dead_mail_count else []
    warnings = await dashboard.list_mail_warnings(ctx.db)
    return Overview(days, tally, mails, warnings, await webhook_pages.list_failed(ctx.db))


def draw_chart(days: Sequence[Day], across: int) -> Chart:
    top = round_up_scale(max((max(day.cart_count, day.order_count) for day in days), default=0))
    plot_height, slot = HEIGHT - BOTTOM - TOP, (across - LEFT) / max(len(days), 1)
    width = min(slot * 0.36, 18)

    def bar(kind: str, count: int, x: float) -> Bar:
        height = plot_height * count / top
        return Bar(kind, round(x, 1), round(TOP + plot_height - height, 1), round(width, 1), round(height, 1))

    bars, marks = [], []
    for number, day in enumerate(days):
        middle = LEFT + slot * (number + 0.5)
        bars += [bar("carts", day.cart_count, middle - width - 1), bar("orders", day.order_count, middle + 1)]
        # Few enough labels not to overlap, and always one for today.
        if (len(days) - 1 - number) % (2 if across == WIDE else 4) == 0:
            marks.append(Mark(f"{day.day.day} {day.day:%b}", round(middle, 1)))
    scale = [Mark(f"{top * part // 2:,}", TOP + plot_height - plot_height * part / 2) for part in (0, 1, 2)]
    return Chart(bars, marks, scale, across)


def round_up_scale(most: int) -> int:
    """Rounds up to 2, 4 or 10 times a power of ten, so that half of it is a whole number too."""
    size = 1
    while True:
        for step in (2, 4, 10):
            if step * size >= most:
                return step * size
        size *= 10
