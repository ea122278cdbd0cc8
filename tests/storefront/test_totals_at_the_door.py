"""What whole carts come to over HTTP, in currencies of any digits, against the slow and obvious model in fractions."""

from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shop.base.money import currency_digits, wire_decimal
from shop.rules.totals import COLUMNS, Rate, Taxable
from tests.cluster import Cluster
from tests.make import Make
from tests.platform.machine import new_machine
from tests.rules.test_totals import model
from tests.service import KEYS, Service
from tests.till import Buyer, Till, new_till

SHIPPING = {"USD": "5.00", "JPY": "500", "KWD": "1.255"}


@pytest.fixture(scope="module")
async def counter(
    cluster: Cluster, worker_name: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[httpx.AsyncClient, Till]]:
    """A shop that sells in currencies of no, two and three digits."""
    with cluster.database(f"counter_{worker_name}") as url:
        db = await asyncpg.connect(url)
        await db.execute("update shops set currencies = '{USD,JPY,KWD}'")
        service = Service(
            SHOP_DATA_DIR=str(tmp_path_factory.mktemp("counter")),
            SHOP_DATABASE_URL=url,
            SHOP_SECRET_KEYS=KEYS,
            SHOP_MAILBOX="on",
            SHOP_DRAIN_SECONDS="0",
        )
        try:
            async with service.client() as http:
                yield http, await new_till(Make(await new_machine(http, db)), **SHIPPING)
        finally:
            await db.close()
            service.stop()


shares = st.decimals(min_value=0, max_value=1, places=4)
taxes = st.lists(st.tuples(st.integers(0, 1), shares, st.booleans()), max_size=3)
goods = st.lists(
    st.tuples(st.integers(0, 10**7), st.integers(1, 9), st.sampled_from([None, 0, 1])), min_size=1, max_size=4
)
FEW = settings(
    max_examples=4, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


async def check(
    counter: tuple[httpx.AsyncClient, Till], currency: str, taxes: list[Any], goods: list[tuple[int, int, int | None]]
) -> None:
    http, till = counter
    make, digits = till.make, currency_digits(currency)
    kinds = [(await make.new("tax_categories", "tax_category", name=uuid4().hex)).id for _ in range(2)]
    rates = []
    for number, (kind, share, is_included) in enumerate(taxes):
        said = {"zone_id": till.zone, "tax_category_id": kinds[kind], "name": f"Tax {number}", "amount": str(share)}
        await make.new("tax_rates", "tax_rate", **said, included_in_price=is_included)
        rates.append(Rate(UUID(int=number), "Tax", share, is_included, UUID(kinds[kind])))
    made, lines = [], []
    for number, (price, quantity, kind) in enumerate(goods):
        category = {} if kind is None else {"tax_category_id": kinds[kind]}
        amount = wire_decimal(price, digits)
        others: Any = {} if currency == "USD" else {"prices": {currency: amount}}
        product = await till.product(amount if currency == "USD" else "1.00", on_hand=9, **others, **category)
        made.append((product, quantity))
        lines.append(Taxable(UUID(int=number), "", price, quantity, 0, None if kind is None else UUID(kinds[kind])))

    buyer = Buyer(http, till)
    await buyer.post(f"/cart?currency={currency}")
    await buyer.ready(*made)
    shown = await buyer.get("/cart", include="line_items")

    sent = Taxable(UUID(int=99), "", int(Decimal(SHIPPING[currency]).scaleb(digits)))
    expected = model(lines, [sent], rates)
    names = [name for name in COLUMNS if name not in {"item_count", "order_promo_total"}]
    assert {name: shown[name] for name in names} == {name: wire_decimal(expected[name], digits) for name in names}
    assert shown["item_count"] == expected["item_count"]
    assert min(Decimal(each["attributes"]["total"]) for each in shown.json["included"]) >= 0


@FEW
@given(st.sampled_from(list(SHIPPING)), taxes, goods)
async def test_a_cart_comes_to_what_the_model_says(
    counter: tuple[httpx.AsyncClient, Till], currency: str, taxes: list[Any], goods: list[Any]
) -> None:
    await check(counter, currency, taxes, goods)


@pytest.mark.torture
@settings(FEW, max_examples=60, derandomize=False)
@given(st.sampled_from(list(SHIPPING)), taxes, goods)
async def test_a_cart_comes_to_what_the_model_says_at_length(
    counter: tuple[httpx.AsyncClient, Till], currency: str, taxes: list[Any], goods: list[Any]
) -> None:
    await check(counter, currency, taxes, goods)
