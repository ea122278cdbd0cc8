"""Reports: the figures of orders, payments and refunds, by day of the shop's time zone, as table and CSV."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from shop.admin.operations.report_kinds import REPORTS
from shop.admin.operations.report_tables import UNKNOWN, CellFormat
from shop.base.times import bounds_of, day_of, zone_names
from tests.admin.operations.report_shop import ReportShop, locked_table
from tests.checkout_builders import country_id
from tests.db.processes import until
from tests.promotion_builders import TENTH, create_promotion
from tests.sampling import first

PATH = "/admin/reports"
_INSERT = """insert into orders (id, number, currency, email, state, item_count, item_total, total, channel, created_at,
    updated_at, completed_at) values (gen_random_uuid(), 'R' || $1, $2, $3, 'complete', 1, $4, $4, $5, $6, $6, $6)"""


async def insert_order(
    shop: ReportShop, at: datetime, *, total: int = 1000, currency: str = "USD", email: str = "", channel: str = "shop"
) -> None:
    number = await shop.db.fetchval("select count(*) from orders")
    await shop.db.execute(_INSERT, str(number), currency, email or f"{number}@example.org", total, channel, at)


async def change_settings(shop: ReportShop, **fields: str) -> None:
    settings = await shop.db.fetchrow("select * from shops")
    names = ("name", "default_country", "default_locale", "time_zone", "version")
    formats = ("order_prefix", "order_digits", "weight_unit", "dimension_unit")
    values = {**{name: str(settings[name]) for name in (*names, *formats)}, "currencies[]": settings["currencies"]}
    answer = await shop.dashboard.post("/admin/settings/shop", **{**values, **fields})
    assert answer.status_code == 303, answer.text


@pytest.mark.torture
async def test_a_purchase_is_in_every_report(report_shop: ReportShop) -> None:
    make = report_shop.setup.make
    mug = await report_shop.setup.product(price="10.00", name="Mug")
    germany = (await make.new("zones", "zone", name="VAT", country_ids=[await country_id(make, "DE")])).id
    category = (await make.new("tax_categories", "tax_category", name="Goods")).id
    rate = {"name": "VAT 19%", "amount": "0.19", "included_in_price": True}
    await make.new("tax_rates", "tax_rate", **rate, zone_id=germany, tax_category_id=category)
    await make.change("products", mug.id, "product", tax_category_id=category)
    deal = await create_promotion(make, TENTH, is_automatic=True)

    await report_shop.buy((mug, 2), country_iso="DE")
    tables = {slug: await report_shop.table(slug, period="today") for slug in REPORTS}
    await make.change("promotions", deal.id, "promotion", expires_at=datetime.now(UTC).isoformat())

    today = datetime.now(UTC).date()
    day = f"{today.day} {today:%b %Y}"
    assert tables["sales"] == [[day, "1", "2", "$20.00", "-$2.00", "$0.00", "$5.00", "$0.00", "$23.00", "$2.87"]]
    assert tables["products"] == [["Mug", "1", "2", "$20.00", "-$2.00", "$2.87", "$18.00"]]
    assert tables["categories"] == [["No category", "2", "$20.00", "-$2.00", "$2.87", "$18.00"]]
    assert tables["countries"][0][:4] == ["Germany", "1", "1", "2"]
    assert tables["taxes"] == [["VAT 19%", "Germany", "1", "$15.13", "$2.87"]]
    assert [row[1:] for row in tables["discounts"]] == [["1", "-$2.00"]]
    assert tables["payments"] == [["Card", "Test card", "1", "$23.00", "0", "$0.00", "$23.00"]]
    assert tables["refunds"] == []
    assert ["Mug", "8", "$80.00", UNKNOWN, "0", "8"] in tables["stock"]


async def test_the_figures_are_visible_soon(report_shop: ReportShop) -> None:
    mug = await report_shop.setup.product()
    await report_shop.rebuild()
    await report_shop.buy((mug, 1))

    async def is_visible() -> bool:
        return "$15.00" in (await report_shop.dashboard.get("/admin?period=today")).text

    # Usually within two seconds; a busy machine takes longer.
    await until(is_visible, 30)


@pytest.mark.torture
async def test_refunds_count_on_their_day_and_canceled_orders_do_not_count(report_shop: ReportShop) -> None:
    mug = await report_shop.setup.product()
    kept, canceled = await report_shop.buy((mug, 1)), await report_shop.buy((mug, 2))
    payment_id = await report_shop.db.fetchval("select id from payments where order_id = $1", UUID(kept.id))
    before = await report_shop.figures(period="today")

    refund = {"refund": {"payment_id": str(payment_id), "amount": "4.00", "reason": "Damaged"}}
    assert (await report_shop.machine.post("/refunds", refund)).status == 201
    assert (await report_shop.machine.patch(f"/orders/{canceled.id}/cancel", {})).status == 200

    after = await report_shop.figures(period="today")
    names = ("Revenue", "Orders", "Refunds", "Conversion")
    assert [before[name] for name in names] == ["$40.00", "2", "$0.00", "100.0%"]
    assert [after[name] for name in names] == ["$15.00", "1", "$29.00", "100.0%"]
    refunds = await report_shop.table("refunds", period="today")
    assert [row[1:] for row in refunds] == [["1", "$25.00", "$25.00"], ["1", "$4.00", "$0.00"]]
    payments = await report_shop.table("payments", period="today")
    assert payments == [["Card", "Test card", "2", "$40.00", "2", "$29.00", "$11.00"]]


async def test_a_check_counts_when_its_money_is_received_and_a_void_returns_it(report_shop: ReportShop) -> None:
    mug = await report_shop.setup.product()
    order = await report_shop.buy((mug, 1), pays="check")
    payment_id = await report_shop.db.fetchval("select id from payments where order_id = $1", UUID(order.id))

    tables = [await report_shop.table("payments", period="today")]
    for act in ("capture", "void"):
        assert (await report_shop.machine.patch(f"/payments/{payment_id}/{act}", {})).status == 200
        tables.append(await report_shop.table("payments", period="today"))

    assert tables == [
        [],
        [["Check", "Check or transfer", "1", "$15.00", "0", "$0.00", "$15.00"]],
        [["Check", "Check or transfer", "1", "$15.00", "1", "$15.00", "$0.00"]],
    ]
    assert (await report_shop.table("refunds", period="today"))[0][:3] == ["Payment voided", "1", "$15.00"]


async def test_a_day_is_a_day_of_the_shops_time_zone(report_shop: ReportShop) -> None:
    yesterday = datetime.now(UTC).date() - timedelta(days=2)
    late = datetime(yesterday.year, yesterday.month, yesterday.day, 23, 30, tzinfo=UTC)
    await insert_order(report_shop, late)
    await report_shop.rebuild()

    async def order_day() -> str:
        rows = await report_shop.csv("sales", period="7")
        return next(row[0] for row in rows if row[1] == "1")

    days = [await order_day()]
    for zone in ("Asia/Tokyo", "America/New_York"):
        await change_settings(report_shop, time_zone=zone)
        days.append(await order_day())
        assert f"Days are in {zone}." in (await report_shop.dashboard.get("/admin")).text

    assert days == [str(yesterday), str(yesterday + timedelta(days=1)), str(yesterday)]


@pytest.mark.parametrize(
    "name", ["UTC", "Europe/Berlin", "America/St_Johns", "Africa/Cairo", "Pacific/Apia", "Asia/Beirut"]
)
def test_every_moment_is_within_the_bounds_of_its_day(name: str) -> None:
    zone = ZoneInfo(name)
    for hour in range(0, 24 * 366 * 2, 5):
        moment = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(hours=hour)
        start, end = bounds_of(day_of(moment, zone), zone)
        assert start <= moment < end
    assert bounds_of(date(2025, 1, 1), zone)[1] == bounds_of(date(2025, 1, 2), zone)[0]
    assert name in zone_names()


@pytest.mark.torture
async def test_a_customer_is_new_with_the_first_order(report_shop: ReportShop) -> None:
    mug = await report_shop.setup.product()
    await insert_order(report_shop, datetime.now(UTC) - timedelta(days=5), email="grace@example.org")
    earlier_id = await report_shop.db.fetchval("select id from orders")
    await report_shop.buy((mug, 1), email="G.race+shop@example.org")
    await report_shop.rebuild()
    before = [await report_shop.figures(period=period) for period in ("today", "7")]

    # The earlier order is now another customer's, which makes the later one of another day a first order.
    fields = {"order": {"email": "hopper@example.org"}}
    answer = await report_shop.machine.patch(f"/orders/{earlier_id}", fields)

    after = [await report_shop.figures(period=period) for period in ("today", "7")]
    assert answer.status == 200, answer
    names = ("New customers", "Returning orders")
    assert [[each[name] for name in names] for each in before] == [["0", "1"], ["1", "1"]]
    assert [[each[name] for name in names] for each in after] == [["1", "0"], ["2", "0"]]


async def test_currencies_are_never_added(report_shop: ReportShop) -> None:
    now = datetime.now(UTC)
    await insert_order(report_shop, now, total=1000)
    await insert_order(report_shop, now, total=700, currency="EUR")
    await insert_order(report_shop, now, total=300, currency="CHF")
    await report_shop.rebuild()

    figures = [await report_shop.figures(period="today", currency=each) for each in ("USD", "EUR", "CHF", "XXX")]

    assert [each["Revenue"] for each in figures] == ["$10.00", "€7.00", "CHF3.00", "$10.00"]


@pytest.mark.torture
async def test_figures_are_compared_with_the_period_before(report_shop: ReportShop) -> None:
    now = datetime.now(UTC)
    for days, total in ((0, 3000), (6, 1000), (7, 2000), (13, 3000), (14, 9000)):
        await insert_order(report_shop, now - timedelta(days=days), total=total)
    await report_shop.rebuild()

    page = (await report_shop.dashboard.get("/admin?period=7")).text

    revenue = page.partition(">Revenue<")[2].partition("</li>")[0]
    assert "$40.00" in revenue
    assert "-20%" in revenue
    assert "$50.00" in revenue


async def test_a_csv_file_has_the_rows_of_the_table_and_no_formulas(report_shop: ReportShop) -> None:
    names = ('=HYPERLINK("http://x")', "+1", "-1+2", "@x", "\tTab", "Plain, with comma")
    for number, name in enumerate(names):
        await insert_order(report_shop, datetime.now(UTC), total=100 + number, channel=name)
    await report_shop.rebuild()
    params = {"period": "today", "group": "channel", "sort": "total"}

    rows = await report_shop.table("countries", **params)
    heads, *lines = await report_shop.csv("countries", **params)

    assert [row[0] for row in rows] == list(names)
    assert [line[0] for line in lines] == [f"'{name}" for name in names[:-1]] + [names[-1]]
    assert (heads[0], heads[-2]) == ("Channel", "Total (USD)")
    for row, line in zip(rows, lines, strict=True):
        assert [cell.removeprefix("$") for cell in row[1:]] == line[1:]


async def test_negative_amounts_stay_numbers_in_csv_files(report_shop: ReportShop) -> None:
    await insert_order(report_shop, datetime.now(UTC))
    await report_shop.db.execute(
        """insert into adjustments (id, order_id, adjustable_type, adjustable_id, source_type, label, amount,
            created_at, updated_at)
        select gen_random_uuid(), id, 'order', id, 'promotion', '-5', -500, now(), now() from orders"""
    )
    await report_shop.rebuild()

    assert (await report_shop.csv("discounts", period="today"))[1:] == [["'-5", "1", "-5.00"]]


async def test_rows_are_sorted_by_any_column(report_shop: ReportShop) -> None:
    for total, channel in ((300, "b"), (100, "C"), (200, "a")):
        await insert_order(report_shop, datetime.now(UTC), total=total, channel=channel)
    await report_shop.rebuild()

    orders = [
        [row[0] for row in await report_shop.table("countries", period="today", group="channel", sort=sort)]
        for sort in ("", "total", "channel", "-channel", "unknown")
    ]

    assert orders == [["b", "a", "C"], ["C", "a", "b"], ["a", "b", "C"], ["C", "b", "a"], ["b", "a", "C"]]


@pytest.mark.parametrize(
    ("params", "rows"),
    first(
        3,
        [
            ({"period": "7"}, 7),
            ({"period": "custom", "from": "2026-01-01", "to": "2026-01-31"}, 31),
            ({"period": "30", "former": "30", "from": "2026-01-01", "to": "2026-01-03"}, 3),
            ({"period": "7", "former": "custom", "from": "2026-01-01", "to": "2026-01-03"}, 7),
            ({"period": "custom", "from": "2026-02-01", "to": "2026-01-01"}, 1),
            ({"period": "custom", "from": "0001-01-01", "to": "2026-01-31", "group": "month"}, 37),
            ({"period": "<b>", "from": "x", "to": "9999-99-99"}, 30),
        ],
    ),
)
async def test_a_period_is_chosen_or_entered(report_shop: ReportShop, params: dict[str, str], rows: int) -> None:
    assert len(await report_shop.table("sales", **params)) == rows


async def test_an_unknown_report_is_not_found(report_shop: ReportShop) -> None:
    for path in (f"{PATH}/nonsense", f"{PATH}/nonsense/csv"):
        assert (await report_shop.dashboard.get(path)).status_code == 404


@pytest.mark.torture
async def test_the_page_says_how_far_a_calculation_is(report_shop: ReportShop) -> None:
    await report_shop.catch_up()
    async with locked_table(report_shop.url, "product_days"):
        await report_shop.db.execute("update report_states set rebuild_days = 100")
        await report_shop.db.execute(
            "insert into stale_days select date '2020-01-01' + n from generate_series(1, 40) n"
        )
        pages = [(await report_shop.dashboard.get(path)).text for path in ("/admin", f"{PATH}/sales")]
    await report_shop.catch_up()
    last_page = (await report_shop.dashboard.get("/admin")).text

    assert ["60 of 100 days are done" in page for page in pages] == [True, True]
    assert "days are done" not in last_page


@pytest.mark.torture
async def test_pages_need_few_statements(report_shop: ReportShop) -> None:
    for days in range(20):
        await insert_order(report_shop, datetime.now(UTC) - timedelta(days=days), channel=str(days))
    await report_shop.rebuild()

    counts: dict[str, Any] = {}
    for path in ("/admin", *(f"{PATH}/{slug}" for slug in REPORTS)):
        answer = await report_shop.dashboard.get(f"{path}?period=30")
        assert answer.status_code == 200
        counts[path] = report_shop.service.request_line(answer.headers["x-request-id"])["statements"]

    assert counts.pop("/admin") <= 15
    assert max(counts.values()) <= 5, counts


async def test_an_empty_report_says_what_there_was_none_of(report_shop: ReportShop) -> None:
    pages = {slug: (await report_shop.dashboard.get(f"{PATH}/{slug}?period=today")).text for slug in REPORTS}

    assert "<h2>No taxes in USD in this period</h2>" in pages["taxes"]
    assert "<h2>No refunds in USD in this period</h2>" in pages["refunds"]
    assert "<h2>No sales in USD in this period</h2>" in pages["products"]


def test_the_scale_of_a_chart_has_the_currency_and_only_the_decimals_that_it_needs() -> None:
    cells = {code: CellFormat(code, locale) for code, locale in (("USD", "en-US"), ("EUR", "de-DE"), ("JPY", "en-US"))}

    assert [cells["USD"].scale(amount) for amount in (0, 250_000, 50, 123_456)] == [
        "$0",
        "$2,500",
        "$0.50",
        "$1,234.56",
    ]
    assert cells["EUR"].scale(250_000) == "2.500\N{NO-BREAK SPACE}€"
    assert cells["JPY"].scale(500) == "¥500"
