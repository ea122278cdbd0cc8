"""Totals of carts over HTTP, in currencies of any digits, compared with the slow and obvious model in fractions."""

from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import httpx2
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shop.base.money import currency_digits, wire_decimal
from shop.rules.cart.promotion_kinds import BasketItem, fill_basket
from shop.rules.cart.totals import COLUMNS, Rate, Taxable
from tests.builders import Make
from tests.checkout_builders import Buyer, CheckoutSetup, new_checkout_setup
from tests.cluster import Cluster
from tests.http_client import SharedTransport
from tests.platform.client import new_machine
from tests.promotion_builders import create_promotion, for_products
from tests.rules.test_promotions import model as promotions_model
from tests.rules.test_promotions import part
from tests.rules.test_totals import model
from tests.service import KEYS, Service

SHIPPING = {"USD": "5.00", "JPY": "500", "KWD": "1.255"}


@pytest.fixture(scope="module")
async def totals_shop(
    cluster: Cluster, worker_name: str, shared_transport: SharedTransport
) -> AsyncIterator[tuple[httpx2.AsyncClient, CheckoutSetup]]:
    """A shop that sells in currencies of no, two and three digits."""
    with cluster.data_dir(f"totals_{worker_name}") as (data_dir, url):
        db = await asyncpg.connect(url)
        await db.execute("update shops set currencies = '{USD,JPY,KWD}'")
        service = Service(SHOP_DATA_DIR=str(data_dir), SHOP_SECRET_KEYS=KEYS, SHOP_DRAIN_SECONDS="0")
        try:
            async with service.client(transport=shared_transport) as http:
                yield http, await new_checkout_setup(Make(await new_machine(http, db)), **SHIPPING)
        finally:
            await db.close()
            service.stop()


shares = st.decimals(min_value=0, max_value=1, places=4)
taxes = st.lists(st.tuples(st.integers(0, 1), shares, st.booleans()), max_size=3)
items = st.lists(
    st.tuples(st.integers(0, 10**7), st.integers(1, 9), st.sampled_from([None, 0, 1])),
    min_size=1,
    max_size=4,
    # Unique prices: of several items with the same price, any may be the free one.
    unique_by=lambda item: item[0],
)
FEW = settings(
    max_examples=4, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


Spec = tuple[str, dict[str, Any]]
percents = st.decimals(min_value="0.001", max_value=100, places=3).map(lambda percent: {"percent": str(percent)})
whole_amounts = st.integers(1, 5_000).map(lambda amount: {"amounts": dict.fromkeys(SHIPPING, str(amount))})
counts = st.tuples(st.integers(1, 3), st.integers(1, 2), percents).map(
    lambda parts: {"buy": parts[0], "get": parts[1], **parts[2]}
)
benefits: st.SearchStrategy[Spec] = st.one_of(
    st.tuples(st.sampled_from(["percent_off_items", "percent_off_order"]), percents),
    st.tuples(st.sampled_from(["amount_off_items", "amount_off_order"]), whole_amounts),
    st.tuples(st.just("buy_some_get_some"), counts),
    st.tuples(st.just("free_shipping"), st.just({})),
)
promotions = st.lists(st.lists(benefits, min_size=1, max_size=2), max_size=3)


async def create_promotions(checkout_setup: CheckoutSetup, lines: list[Any], promotions: list[list[Spec]]) -> None:
    """Creates automatic promotions for these items only, each newer than the one before."""
    for parts in promotions:
        await create_promotion(
            checkout_setup.make, *parts, conditions=[for_products(*(product for product, _ in lines))]
        )


def apply_model_promotions(
    currency: str, lines: list[Taxable], shipment: Taxable, promotions: list[list[Spec]]
) -> tuple[Any, Any, int]:
    """The lines and the shipment with the discounts of the promotion model, and its discount on the order."""
    kinds = [(line.price, line.quantity) for line in lines]
    basket = fill_basket(
        currency,
        [
            BasketItem(UUID(int=index), index, 1, frozenset(), price, quantity, price * quantity)
            for index, (price, quantity) in enumerate(kinds)
        ],
        shipments=[(shipment.id, shipment.price)],
    )
    offers = [[part("benefit", kind, **settings) for kind, settings in parts] for parts in promotions]
    line_discounts, shipment_discounts, order_discount = promotions_model(basket, offers)
    discounted_lines = [
        msgspec.structs.replace(line, promo_total=-line_discounts[UUID(int=index)]) for index, line in enumerate(lines)
    ]
    return (
        discounted_lines,
        msgspec.structs.replace(shipment, promo_total=-shipment_discounts[shipment.id]),
        order_discount,
    )


async def check(
    totals_shop: tuple[httpx2.AsyncClient, CheckoutSetup],
    currency: str,
    taxes: list[Any],
    items: list[tuple[int, int, int | None]],
    promotions: list[list[Spec]],
) -> None:
    http, checkout_setup = totals_shop
    make, digits = checkout_setup.make, currency_digits(currency)
    kinds = [(await make.new("tax_categories", "tax_category", name=uuid4().hex)).id for _ in range(2)]
    rates = []
    for number, (kind, share, is_included) in enumerate(taxes):
        fields = {
            "zone_id": checkout_setup.zone,
            "tax_category_id": kinds[kind],
            "name": f"Tax {number}",
            "amount": str(share),
        }
        await make.new("tax_rates", "tax_rate", **fields, included_in_price=is_included)
        rates.append(Rate(UUID(int=number), "Tax", share, is_included, UUID(kinds[kind])))
    products, lines = [], []
    for number, (price, quantity, kind) in enumerate(items):
        category = {} if kind is None else {"tax_category_id": kinds[kind]}
        amount = wire_decimal(price, digits)
        others: Any = {} if currency == "USD" else {"prices": {currency: amount}}
        product = await checkout_setup.product(amount if currency == "USD" else "1.00", on_hand=9, **others, **category)
        products.append((product, quantity))
        lines.append(Taxable(UUID(int=number), "", price, quantity, 0, None if kind is None else UUID(kinds[kind])))

    await create_promotions(checkout_setup, products, promotions)
    buyer = Buyer(http, checkout_setup)
    await buyer.post(f"/cart?currency={currency}")
    await buyer.ready(*products)
    cart = await buyer.get("/cart", include="line_items")

    shipment = Taxable(UUID(int=99), "", int(Decimal(SHIPPING[currency]).scaleb(digits)))
    discounted_lines, shipment, order_discount = apply_model_promotions(currency, lines, shipment, promotions)
    expected = model(discounted_lines, [shipment], rates, order_discount)
    names = [name for name in COLUMNS if name not in {"item_count", "order_promo_total"}]
    assert {name: cart[name] for name in names} == {name: wire_decimal(expected[name], digits) for name in names}
    assert cart["item_count"] == expected["item_count"]
    assert min(Decimal(each["attributes"]["total"]) for each in cart.json["included"]) >= 0
    assert Decimal(cart["total"]) >= 0


@FEW
@given(st.sampled_from(list(SHIPPING)), taxes, items, promotions)
async def test_cart_totals_agree_with_the_model(
    totals_shop: tuple[httpx2.AsyncClient, CheckoutSetup],
    currency: str,
    taxes: list[Any],
    items: list[Any],
    promotions: list[Any],
) -> None:
    await check(totals_shop, currency, taxes, items, promotions)


@pytest.mark.torture
@settings(FEW, max_examples=60, derandomize=False)
@given(st.sampled_from(list(SHIPPING)), taxes, items, promotions)
async def test_cart_totals_agree_with_the_model_in_many_cases(
    totals_shop: tuple[httpx2.AsyncClient, CheckoutSetup],
    currency: str,
    taxes: list[Any],
    items: list[Any],
    promotions: list[Any],
) -> None:
    await check(totals_shop, currency, taxes, items, promotions)
