"""The price resolver against a slow obvious model: any lists, entries, assignments, validity periods and quantities."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shop.actions.context import Context
from shop.base.ids import new_id
from shop.queries.catalog import prices
from tests.accounts import Member, sign_in
from tests.builders import Make
from tests.http_client import SharedTransport
from tests.platform.client import new_machine, operator_context
from tests.service import Service
from tests.shopper import Shopper
from tests.storefront.product_lists import CatalogSection, headers_of, new_catalog_section

NOW = datetime.now(UTC)
VARIANTS = 4
GROUPS = 2


class Entry(msgspec.Struct, frozen=True):
    variant: int
    amount: int
    min_quantity: int


class PriceList(msgspec.Struct, frozen=True):
    """`starts` and `ends` are hours from now."""

    currency: str
    priority: int
    percent_off: Decimal | None
    starts: int | None
    ends: int | None
    active: bool
    entries: tuple[Entry, ...]
    to_user: bool
    to_groups: tuple[int, ...]


class Case(msgspec.Struct, frozen=True):
    """Base prices by variant and currency, the lists, and the groups that the customer is in."""

    base: dict[tuple[int, str], int]
    lists: tuple[PriceList, ...]
    member_of: tuple[int, ...]


amounts = st.integers(0, 12) | st.integers(0, 10**9)
currencies = st.sampled_from(["USD", "USD", "EUR"])
entries = st.lists(
    st.builds(Entry, st.integers(0, VARIANTS - 1), amounts, st.sampled_from([1, 1, 2, 3, 10])),
    max_size=5,
    unique_by=lambda entry: (entry.variant, entry.min_quantity),
).map(tuple)
periods = st.tuples(st.none() | st.integers(-5, 5), st.none() | st.integers(-5, 5)).filter(
    lambda period: period[0] is None or period[1] is None or period[0] < period[1]
)
percents = st.none() | st.sampled_from(
    [Decimal("10"), Decimal("33.33"), Decimal("50"), Decimal("100"), Decimal("0.01")]
)


@st.composite
def price_lists(draw: st.DrawFn) -> PriceList:
    starts, ends = draw(periods)
    return PriceList(
        currency=draw(currencies),
        priority=draw(st.integers(-1, 2)),
        percent_off=draw(percents),
        starts=starts,
        ends=ends,
        active=draw(st.sampled_from([True, True, True, False])),
        entries=draw(entries),
        to_user=draw(st.booleans()),
        to_groups=tuple(draw(st.sets(st.integers(0, GROUPS - 1)))),
    )


cases = st.builds(
    Case,
    st.dictionaries(st.tuples(st.integers(0, VARIANTS - 1), st.sampled_from(["USD", "EUR"])), amounts),
    st.lists(price_lists(), max_size=6).map(tuple),
    st.sets(st.integers(0, GROUPS - 1)).map(tuple),
)


def applies(price_list: PriceList, case: Case, currency: str, hours: float) -> bool:
    return (
        price_list.active
        and price_list.currency == currency
        and (price_list.to_user or bool({*price_list.to_groups} & {*case.member_of}))
        and (price_list.starts is None or price_list.starts <= hours)
        and (price_list.ends is None or hours < price_list.ends)
    )


def price_in(price_list: PriceList, variant: int, base: int | None, quantity: int) -> int | None:
    """The price in one list, if it has one."""
    fitting = [entry for entry in price_list.entries if entry.variant == variant and entry.min_quantity <= quantity]
    if fitting:
        return max(fitting, key=lambda entry: entry.min_quantity).amount
    if price_list.percent_off is None or base is None:
        return None
    return int((base * (100 - price_list.percent_off) / 100).quantize(Decimal(1), ROUND_HALF_UP))


def expected(case: Case, variant: int, currency: str, quantity: int, hours: float) -> tuple[int | None, int | None]:
    """The amount, and the index of the list that determines it."""
    base = case.base.get((variant, currency))
    best: tuple[Any, ...] | None = None
    for index, price_list in enumerate(case.lists):
        amount = price_in(price_list, variant, base, quantity) if applies(price_list, case, currency, hours) else None
        if amount is not None and (best is None or (-price_list.priority, amount, index) < best):
            best = (-price_list.priority, amount, index)
    return (base, None) if best is None else (best[1], best[2])


class PriceSetup:
    """One product for each variant, and one customer; each case replaces everything else."""

    def __init__(self, ctx: Context, db: Any, member: Member, guest: Shopper, catalog_section: CatalogSection) -> None:
        self.ctx = ctx
        self.db = db
        self.member = member
        self.guest = guest
        self.catalog_section = catalog_section
        self.user_id = UUID(int=0)
        self.variants: list[UUID] = []
        self.products: list[str] = []
        self.groups: list[UUID] = []

    async def set(self, case: Case) -> list[UUID]:
        """Stores a case and returns the ids of its price lists."""
        async with self.db.transaction():
            await self.db.execute("delete from price_lists")
            await self.db.execute("delete from customer_group_members")
            await self.db.execute("delete from prices where variant_id = any($1)", self.variants)
            for (variant, currency), amount in case.base.items():
                await self._insert(
                    "prices", variant_id=self.variants[variant], currency=currency, amount=amount, updated_at=NOW
                )
            for group in case.member_of:
                link = {"customer_group_id": self.groups[group], "user_id": self.user_id, "updated_at": NOW}
                await self._insert("customer_group_members", **link)
            # Ids created at the same moment have no order; the list with the smaller id counts as older.
            list_ids = sorted(new_id() for _ in case.lists)
            for list_id, price_list in zip(list_ids, case.lists, strict=True):
                await self._list(list_id, price_list)
            # The shop does this with every write of prices.
            await self.db.execute(
                "update listings set currencies = array(select currency from prices where variant_id = master_id)"
                " where master_id = any($1)",
                self.variants,
            )
        return list_ids

    async def _list(self, list_id: UUID, price_list: PriceList) -> None:
        await self._insert(
            "price_lists",
            id=list_id,
            name=uuid4().hex,
            currency=price_list.currency,
            priority=price_list.priority,
            percent_off=price_list.percent_off,
            starts_at=at(price_list.starts),
            ends_at=at(price_list.ends),
            active=price_list.active,
            updated_at=NOW,
        )
        for entry in price_list.entries:
            await self._insert(
                "price_list_entries",
                price_list_id=list_id,
                variant_id=self.variants[entry.variant],
                amount=entry.amount,
                min_quantity=entry.min_quantity,
                updated_at=NOW,
            )
        if price_list.to_user:
            await self._insert("price_list_users", price_list_id=list_id, user_id=self.user_id, updated_at=NOW)
        for group in price_list.to_groups:
            await self._insert(
                "price_list_groups", price_list_id=list_id, customer_group_id=self.groups[group], updated_at=NOW
            )

    async def _insert(self, table: str, **fields: Any) -> None:
        values = {"id": new_id(), "created_at": NOW, **fields}
        placeholders = ", ".join(f"${index + 1}" for index in range(len(values)))
        await self.db.execute(f"insert into {table} ({', '.join(values)}) values ({placeholders})", *values.values())


def at(hours: int | None) -> datetime | None:
    return None if hours is None else NOW + timedelta(hours=hours)


@pytest.fixture(scope="module")
async def price_setup(
    service: Service, database_url: str, shared_transport: SharedTransport
) -> AsyncIterator[PriceSetup]:
    db = await asyncpg.connect(database_url)
    async with service.client(transport=shared_transport) as http, operator_context(database_url) as ctx:
        make, guest = Make(await new_machine(http, db)), Shopper(http)
        price_setup = PriceSetup(ctx, db, await sign_in(http), guest, await new_catalog_section(make, guest))
        price_setup.user_id = await price_setup.member.id()
        for _ in range(VARIANTS):
            product = await make.product(price=None, taxons=[price_setup.catalog_section.root])
            price_setup.products.append(product.id)
            price_setup.variants.append(UUID(product.master))
        price_setup.groups = [UUID(await make.group()) for _ in range(GROUPS)]
        yield price_setup
        await db.execute("delete from price_lists")
    await db.close()


async def check_resolver(price_setup: PriceSetup, case: Case, hours: float, quantity: int) -> None:
    lists = await price_setup.set(case)
    for currency in ("USD", "EUR"):
        pricing = await prices.find_pricing(
            price_setup.ctx.db, price_setup.user_id, currency, NOW + timedelta(hours=hours) if hours else None
        )
        prices_by_variant = await prices.resolve(price_setup.ctx.db, pricing, price_setup.variants, quantity)
        for variant, variant_id in enumerate(price_setup.variants):
            price = prices_by_variant.get(variant_id)
            actual = (price.amount, price.price_list_id) if price else (None, None)
            amount, index = expected(case, variant, currency, quantity, hours)
            assert actual == (amount, None if index is None else lists[index]), (variant, currency)
            if price:
                assert price.base_amount == case.base.get((variant, currency))


async def check_pages(price_setup: PriceSetup, case: Case) -> None:
    """Checks the list of products sorted by price, and each product's page."""
    await price_setup.set(case)
    for currency in ("USD", "EUR"):
        now = {
            product: expected(case, variant, currency, 1, 0)[0] for variant, product in enumerate(price_setup.products)
        }
        listing = await price_setup.catalog_section.of(price_setup.member, sort="price", currency=currency)
        listed_prices = [(record["id"], units(record["attributes"]["price"])) for record in listing.json["data"]]
        # Only products with a base price are listed; a price list changes nothing but the price.
        listable_products = {
            product for variant, product in enumerate(price_setup.products) if (variant, currency) in case.base
        }
        expected_prices = {
            product: amount for product, amount in now.items() if amount is not None and product in listable_products
        }
        assert listed_prices == sorted(expected_prices.items(), key=lambda pair: (pair[1], UUID(pair[0]))), currency
        price_range = f"{Decimal(5) / 100},"
        some = await price_setup.catalog_section.of(
            price_setup.member, currency=currency, **{"filter[price]": price_range}
        )
        assert {record["id"] for record in some.json["data"]} == {
            key for key, amount in expected_prices.items() if amount >= 5
        }
        for product, amount in now.items():
            page = await price_setup.member.http.get(
                f"/api/v2/storefront/products/{product}",
                params={"currency": currency},
                headers=headers_of(price_setup.member),
            )
            assert units(page.json()["data"]["attributes"]["price"]) == amount


def units(price: str | None) -> int | None:
    return None if price is None else int(Decimal(price) * 100)


QUIET = {"deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]}
# Periods start and end at whole hours: half hours are never on a bound, and no test takes that long.
hours = st.sampled_from([0, 0, -4.5, -1.5, 1.5, 3.5, 9.5])
quantities = st.sampled_from([1, 1, 2, 3, 9, 10, 10**6])


@settings(max_examples=60, **QUIET)  # type: ignore[arg-type]
@given(cases, hours, quantities)
@pytest.mark.torture
async def test_the_price_resolver_agrees_with_the_model(
    price_setup: PriceSetup, case: Case, hours: float, quantity: int
) -> None:
    await check_resolver(price_setup, case, hours, quantity)


@settings(max_examples=10, **QUIET)  # type: ignore[arg-type]
@given(cases)
async def test_lists_and_pages_agree_with_the_model(price_setup: PriceSetup, case: Case) -> None:
    await check_pages(price_setup, case)


@pytest.mark.torture
@settings(max_examples=1500, **QUIET)  # type: ignore[arg-type]
@given(cases, hours, quantities)
async def test_the_price_resolver_agrees_with_the_model_in_many_cases(
    price_setup: PriceSetup, case: Case, hours: float, quantity: int
) -> None:
    await check_resolver(price_setup, case, hours, quantity)


@pytest.mark.torture
@settings(max_examples=300, **QUIET)  # type: ignore[arg-type]
@given(cases)
async def test_lists_and_pages_agree_with_the_model_in_many_cases(price_setup: PriceSetup, case: Case) -> None:
    await check_pages(price_setup, case)


async def test_a_period_includes_its_start_and_excludes_its_end(price_setup: PriceSetup) -> None:
    price_list = PriceList("USD", 0, Decimal(50), 1, 2, True, (), True, ())
    await price_setup.set(Case({(0, "USD"): 100}, (price_list,), ()))

    async def amount(moment: datetime) -> int | None:
        pricing = await prices.find_pricing(price_setup.ctx.db, price_setup.user_id, "USD", moment)
        return (await prices.resolve(price_setup.ctx.db, pricing, price_setup.variants[:1]))[
            price_setup.variants[0]
        ].amount

    starts, ends, moment = NOW + timedelta(hours=1), NOW + timedelta(hours=2), timedelta(microseconds=1)
    assert [await amount(when) for when in (starts - moment, starts, ends - moment, ends)] == [100, 50, 50, 100]
