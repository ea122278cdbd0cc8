"""Discounts of promotions, compared with a slow and obvious model in fractions, and examples of each kind."""

from fractions import Fraction
from math import floor
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shop.rules.cart.promotion_kinds import BENEFITS, CONDITIONS, Basket, BasketItem, fill_basket
from shop.rules.cart.promotions import (
    CompiledPromotion,
    Part,
    build_promotion,
    calculate_discounts,
    find_eligible_items,
    summarize_discounts,
)
from shop.rules.promotions.settings import normalize_preferences, parse_part, part_errors

MUG, CUP, HAT = (UUID(int=number) for number in (1, 2, 3))
KITCHEN, CLOTHES = UUID(int=11), UUID(int=12)
STAFF = UUID(int=21)


def make_item(
    price: int, quantity: int = 1, *, product: UUID = MUG, taxon: UUID = KITCHEN, number: int = 100
) -> BasketItem:
    amount = price * quantity
    return BasketItem(UUID(int=number), number - 100, product.int, frozenset({taxon.int}), price, quantity, amount)


def part(what: str, kind: str, **values: Any) -> Part:
    result = parse_part(what, kind, values)
    assert result, (kind, values)
    return result


def make_promotion(*parts: Part, number: int = 1, matches_any: bool = False) -> CompiledPromotion:
    conditions = [each for each in parts if each.type in CONDITIONS]
    benefits = [each for each in parts if each.type in BENEFITS]
    return build_promotion(UUID(int=number), f"Deal {number}", conditions, benefits, matches_any=matches_any)


def make_benefit(kind: str, **values: Any) -> Part:
    return part("benefit", kind, **values)


def make_condition(kind: str, **values: Any) -> Part:
    return part("condition", kind, **values)


def list_discounts(basket: Basket, *promotions: CompiledPromotion) -> list[tuple[str, int, int]]:
    return [
        (each.level, each.id.int if each.id else 0, each.amount) for each in calculate_discounts(basket, promotions)
    ]


def dollars(*items: BasketItem, **more: Any) -> Basket:
    return fill_basket("USD", items, **more)


TENTH = make_benefit("percent_off_items", percent="10")


def test_a_percentage_of_each_line_item_is_rounded_half_up_and_explained() -> None:
    basket = dollars(make_item(1_005), make_item(5, number=101))

    discounts = calculate_discounts(basket, [make_promotion(TENTH)])

    assert [each.amount for each in discounts] == [101, 1]
    (entry,) = summarize_discounts(discounts, "USD").values()
    assert [each.get("exact") for each in entry["parts"]] == ["-1.005", "-0.005"]
    assert entry["amount"] == -102


def test_an_amount_off_an_item_is_never_more_than_its_price() -> None:
    basket = dollars(make_item(300, 2), make_item(1_000, number=101))

    assert list_discounts(basket, make_promotion(make_benefit("amount_off_items", amounts={"USD": "5"}))) == [
        ("line", 100, 600),
        ("line", 101, 500),
    ]
    assert list_discounts(basket, make_promotion(make_benefit("amount_off_items", amounts={"EUR": "5"}))) == []


@pytest.mark.parametrize(("units", "free_units"), [(2, 0), (3, 1), (5, 1), (6, 2)])
def test_buy_two_get_one_discounts_the_cheapest_items(units: int, free_units: int) -> None:
    basket = dollars(make_item(1_000, units - 1), make_item(400, number=101))

    prices = list_discounts(basket, make_promotion(make_benefit("buy_some_get_some", buy=2, get=1, percent="100")))

    expected = {0: [], 1: [("line", 101, 400)], 2: [("line", 101, 400), ("line", 100, 1_000)]}
    assert sorted(prices) == sorted(expected[free_units])


def test_a_line_item_gets_the_best_promotion_or_the_newest_of_equal_ones() -> None:
    basket = dollars(make_item(1_000))
    fifth, tenth = make_promotion(make_benefit("percent_off_items", percent="20")), make_promotion(TENTH, number=2)
    also_fifth = make_promotion(make_benefit("amount_off_items", amounts={"USD": "2"}), number=3)

    assert [each.promotion.id.int for each in calculate_discounts(basket, [fifth, tenth])] == [1]
    assert [each.promotion.id.int for each in calculate_discounts(basket, [fifth, also_fifth])] == [3]


def test_order_discounts_come_last_and_each_applies_to_the_remaining_amount() -> None:
    basket = dollars(make_item(1_000))
    half = make_benefit("percent_off_order", percent="50")

    assert list_discounts(
        basket, make_promotion(TENTH), make_promotion(half, number=2), make_promotion(half, number=3)
    ) == [
        ("line", 100, 100),
        ("order", 0, 450),
        ("order", 0, 225),
    ]
    assert list_discounts(
        basket, make_promotion(make_benefit("amount_off_order", amounts={"USD": "99"})), make_promotion(half, number=2)
    ) == [("order", 0, 1_000)]


def test_free_shipping_discounts_only_the_shipment() -> None:
    basket = dollars(make_item(1_000), shipments=[(UUID(int=500), 700)])

    assert list_discounts(basket, make_promotion(make_benefit("free_shipping"))) == [("shipment", 500, 700)]


def test_of_two_free_shipping_promotions_the_newest_applies() -> None:
    basket = dollars(make_item(1_000), shipments=[(UUID(int=500), 700)])

    assert [
        each.promotion.id.int
        for each in calculate_discounts(
            basket, [make_promotion(make_benefit("free_shipping"), number=n) for n in (1, 2)]
        )
    ] == [2]


def test_each_failing_condition_has_a_reason() -> None:
    basket = dollars(make_item(1_000))
    failing_preferences: dict[str, dict[str, Any]] = {
        "product": {"product_ids": [str(CUP)]},
        "taxon": {"taxon_ids": [str(CLOTHES)]},
        "customer_group": {"group_ids": [str(STAFF)]},
        "item_total": {"amounts": {"USD": "10.01"}},
    }
    reasons = {
        kind: find_eligible_items(make_promotion(make_condition(kind, **values), TENTH), basket)[0]
        for kind, values in failing_preferences.items()
    }

    assert reasons == {
        "product": "the cart has none of its products",
        "taxon": "the cart has no product of its categories",
        "customer_group": "it is limited to a customer group",
        "item_total": "it requires an item total of at least 10.01 USD",
    }
    first_order = make_promotion(make_condition("first_order"), TENTH)
    returning, guest = (msgspec.structs.replace(basket, has_ordered=each) for each in (True, None))
    assert find_eligible_items(first_order, returning)[0] == "it is limited to first orders"
    assert find_eligible_items(first_order, guest)[0] == "it is limited to first orders; sign in to use it"
    assert (
        find_eligible_items(make_promotion(make_condition("item_total", amounts={"EUR": "1"}), TENTH), basket)[0]
        == "it does not apply in USD"
    )


def test_a_promotion_applies_if_all_its_conditions_hold() -> None:
    basket = dollars(make_item(1_000), groups=frozenset({STAFF.int}))
    conditions = [
        make_condition("product", product_ids=[str(MUG)]),
        make_condition("taxon", taxon_ids=[str(KITCHEN)]),
        make_condition("customer_group", group_ids=[str(STAFF)]),
        make_condition("first_order"),
        make_condition("item_total", amounts={"USD": "10"}),
    ]

    assert list_discounts(basket, make_promotion(*conditions, TENTH)) == [("line", 100, 100)]


def test_only_items_that_match_the_conditions_are_discounted() -> None:
    basket = dollars(make_item(1_000), make_item(500, product=HAT, taxon=CLOTHES, number=101))
    of_hats, of_kitchen = (
        make_condition("product", product_ids=[str(HAT)]),
        make_condition("taxon", taxon_ids=[str(KITCHEN)]),
    )

    assert list_discounts(basket, make_promotion(of_hats, TENTH)) == [("line", 101, 50)]
    assert list_discounts(basket, make_promotion(of_hats, of_kitchen, TENTH)) == []
    assert list_discounts(basket, make_promotion(of_hats, of_kitchen, TENTH, matches_any=True)) == [
        ("line", 100, 100),
        ("line", 101, 50),
    ]


def test_one_condition_is_enough_if_the_promotion_matches_any() -> None:
    basket = dollars(make_item(1_000))
    of_staff, of_large_total = (
        make_condition("customer_group", group_ids=[str(STAFF)]),
        make_condition("item_total", amounts={"USD": "5"}),
    )

    assert list_discounts(basket, make_promotion(of_staff, of_large_total, TENTH)) == []
    assert list_discounts(basket, make_promotion(of_staff, of_large_total, TENTH, matches_any=True)) == [
        ("line", 100, 100)
    ]
    why, _ = find_eligible_items(
        make_promotion(of_staff, make_condition("item_total", amounts={"USD": "50"}), TENTH, matches_any=True), basket
    )
    assert why == "it is limited to a customer group; it requires an item total of at least 50.00 USD"


def test_a_non_promotionable_item_is_not_discounted() -> None:
    excluded_item = msgspec.structs.replace(make_item(1_000), is_promotionable=False)
    basket = dollars(excluded_item, make_item(500, number=101))

    assert list_discounts(
        basket, make_promotion(TENTH), make_promotion(make_benefit("percent_off_order", percent="50"), number=2)
    ) == [
        ("line", 101, 50),
        ("order", 0, 225),
    ]
    assert find_eligible_items(make_promotion(TENTH), dollars(excluded_item))[0] == "it is limited to other products"


@pytest.mark.parametrize(
    ("what", "kind", "preferences", "field"),
    [
        ("condition", "moon_phase", {}, "type"),
        ("condition", "product", {"product_ids": []}, "preferences.product_ids"),
        ("condition", "product", {"product_ids": ["x"]}, "preferences.product_ids"),
        ("condition", "item_total", {"amounts": {"USD": "0"}}, "preferences.amounts"),
        ("condition", "item_total", {"amounts": {"XXX": "1"}}, "preferences.amounts"),
        ("condition", "item_total", {"amounts": {"JPY": "1.5"}}, "preferences.amounts"),
        ("condition", "item_total", {"amounts": {"USD": "NaN"}}, "preferences.amounts"),
        ("benefit", "percent_off_items", {"percent": "0"}, "preferences.percent"),
        ("benefit", "percent_off_items", {"percent": "100.1"}, "preferences.percent"),
        ("benefit", "percent_off_items", {"percent": "1e999999"}, "preferences.percent"),
        ("benefit", "percent_off_items", {"percent": True}, "preferences.percent"),
        ("benefit", "percent_off_items", {"percent": "1_0"}, "preferences.percent"),
        ("condition", "item_total", {"amounts": {"USD": "1e999999"}}, "preferences.amounts"),
        ("benefit", "buy_some_get_some", {"buy": 0, "get": 1, "percent": "100"}, "preferences.buy"),
    ],
    ids=str,
)
def test_invalid_preferences_are_reported(what: str, kind: str, preferences: Any, field: str) -> None:
    assert list(part_errors(what, kind, preferences)) == [field]


def test_preferences_are_normalized_and_unknown_ones_dropped() -> None:
    preferences = normalize_preferences("benefit", "percent_off_items", {"percent": 12.50, "other": "x"})

    assert preferences == {"percent": "12.5"}
    assert normalize_preferences("condition", "item_total", {"amounts": {"USD": "10.00", "JPY": 500}}) == {
        "amounts": {"USD": "10.0", "JPY": "500.0"}
    }
    assert parse_part("benefit", "percent_off_items", {"percent": "spoiled"}) is None


def half_up(value: Fraction) -> int:
    return floor(value + Fraction(1, 2))


Offer = list[Part]


def model(basket: Basket, promotions: list[Offer]) -> tuple[dict[UUID, int], dict[UUID, int], int]:
    """Applies each promotion to each line separately, in fractions."""
    of_lines: dict[UUID, int] = {}
    for each in basket.items:
        offers = [half_up(_line_discount(one, each, basket)) for one in promotions]
        of_lines[each.id] = min(max(offers), each.amount) if offers else 0
    of_shipments = {
        shipment_id: cost if any(benefit.type == "free_shipping" for one in promotions for benefit in one) else 0
        for shipment_id, cost in basket.shipments
    }
    left = basket.amount - sum(of_lines.values())
    before = left
    for one in promotions:
        for benefit in one:
            if benefit.type == "percent_off_order":
                left -= min(left, half_up(left * Fraction(*benefit.settings["percent"])))
            if benefit.type == "amount_off_order":
                left -= min(left, benefit.settings["amounts"].get(basket.currency, 0))
    return of_lines, of_shipments, before - left


def _line_discount(one: Offer, each: BasketItem, basket: Basket) -> Fraction:
    discount = Fraction(0)
    for benefit in one:
        settings = benefit.settings
        if benefit.type == "percent_off_items":
            discount += each.amount * Fraction(*settings["percent"])
        if benefit.type == "amount_off_items":
            discount += min(settings["amounts"].get(basket.currency, 0), each.price) * each.quantity
        if benefit.type == "buy_some_get_some":
            units = sorted((other.price, other.id) for other in basket.items for _ in range(other.quantity))
            groups = len(units) // (settings["buy"] + settings["get"])
            cheapest = units[: groups * settings["get"]]
            discount += sum(price for price, owner in cheapest if owner == each.id) * Fraction(*settings["percent"])
    return discount


percents = st.decimals(min_value="0.001", max_value=100, places=3).map(str)
amounts = st.dictionaries(
    st.sampled_from(["USD", "EUR"]), st.decimals(min_value="0.01", max_value=1_000, places=2).map(str), min_size=1
)
benefits = st.one_of(
    st.builds(lambda percent: make_benefit("percent_off_items", percent=percent), percents),
    st.builds(lambda by_currency: make_benefit("amount_off_items", amounts=by_currency), amounts),
    st.builds(
        lambda buy, get, percent: make_benefit("buy_some_get_some", buy=buy, get=get, percent=percent),
        st.integers(1, 3),
        st.integers(1, 2),
        percents,
    ),
    st.just(make_benefit("free_shipping")),
    st.builds(lambda percent: make_benefit("percent_off_order", percent=percent), percents),
    st.builds(lambda by_currency: make_benefit("amount_off_order", amounts=by_currency), amounts),
)


some_offers = st.lists(st.lists(benefits, min_size=1, max_size=2), max_size=5)


@st.composite
def baskets(draw: Any) -> Basket:
    lines = draw(st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 6)), min_size=1, max_size=4))
    costs = draw(st.lists(st.integers(1, 10**4), max_size=2))
    return dollars(
        *(make_item(price, quantity, number=100 + number) for number, (price, quantity) in enumerate(lines)),
        shipments=[(UUID(int=500 + number), cost) for number, cost in enumerate(costs)],
    )


@given(baskets(), some_offers)
def test_discounts_agree_with_the_model_and_no_amount_falls_below_zero(basket: Basket, offers: list[Offer]) -> None:
    discounts = calculate_discounts(
        basket, [make_promotion(*parts, number=number + 1) for number, parts in enumerate(offers)]
    )

    of_lines, of_shipments, of_whole = model(basket, offers)
    by_id = {(each.level, each.id): each.amount for each in discounts if each.level != "order"}
    assert {each.id: by_id.get(("line", each.id), 0) for each in basket.items} == of_lines
    assert {each: by_id.get(("shipment", each), 0) for each, _ in basket.shipments} == of_shipments
    assert sum(each.amount for each in discounts if each.level == "order") == of_whole
    assert all(0 < each.amount <= each.base_amount for each in discounts)
    assert -sum(entry["amount"] for entry in summarize_discounts(discounts, "USD").values()) == sum(
        each.amount for each in discounts
    )
