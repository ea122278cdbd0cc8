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
    Deal,
    Part,
    calculate_discounts,
    find_eligible_goods,
    make_deal,
    summarize_discounts,
)
from shop.rules.promotions.settings import normalize_preferences, parse_part, part_errors

MUG, CUP, HAT = (UUID(int=number) for number in (1, 2, 3))
KITCHEN, CLOTHES = UUID(int=11), UUID(int=12)
STAFF = UUID(int=21)


def good(price: int, quantity: int = 1, *, product: UUID = MUG, taxon: UUID = KITCHEN, number: int = 100) -> BasketItem:
    amount = price * quantity
    return BasketItem(UUID(int=number), number - 100, product.int, frozenset({taxon.int}), price, quantity, amount)


def part(what: str, kind: str, **values: Any) -> Part:
    result = parse_part(what, kind, values)
    assert result, (kind, values)
    return result


def deal(*parts: Part, number: int = 1, is_any: bool = False) -> Deal:
    conditions = [each for each in parts if each.type in CONDITIONS]
    benefits = [each for each in parts if each.type in BENEFITS]
    return make_deal(UUID(int=number), f"Deal {number}", conditions, benefits, is_any=is_any)


def off(kind: str, **values: Any) -> Part:
    return part("benefit", kind, **values)


def when(kind: str, **values: Any) -> Part:
    return part("condition", kind, **values)


def list_discounts(basket: Basket, *deals: Deal) -> list[tuple[str, int, int]]:
    return [(each.on, each.id.int if each.id else 0, each.amount) for each in calculate_discounts(basket, deals)]


def dollars(*goods: BasketItem, **more: Any) -> Basket:
    return fill_basket("USD", goods, **more)


TENTH = off("percent_off_items", percent="10")


def test_a_percentage_of_each_line_is_rounded_half_up_and_says_so() -> None:
    basket = dollars(good(1_005), good(5, number=101))

    discounts = calculate_discounts(basket, [deal(TENTH)])

    assert [each.amount for each in discounts] == [101, 1]
    (entry,) = summarize_discounts(discounts, "USD").values()
    assert [each.get("exact") for each in entry["parts"]] == ["-1.005", "-0.005"]
    assert entry["amount"] == -102


def test_an_amount_off_a_piece_is_never_more_than_the_piece_costs() -> None:
    basket = dollars(good(300, 2), good(1_000, number=101))

    assert list_discounts(basket, deal(off("amount_off_items", amounts={"USD": "5"}))) == [
        ("line", 100, 600),
        ("line", 101, 500),
    ]
    assert list_discounts(basket, deal(off("amount_off_items", amounts={"EUR": "5"}))) == []


@pytest.mark.parametrize(("pieces", "free_pieces"), [(2, 0), (3, 1), (5, 1), (6, 2)])
def test_buy_two_get_one_gives_the_cheapest(pieces: int, free_pieces: int) -> None:
    basket = dollars(good(1_000, pieces - 1), good(400, number=101))

    prices = list_discounts(basket, deal(off("buy_some_get_some", buy=2, get=1, percent="100")))

    expected = {0: [], 1: [("line", 101, 400)], 2: [("line", 101, 400), ("line", 100, 1_000)]}
    assert sorted(prices) == sorted(expected[free_pieces])


def test_the_best_of_several_counts_for_a_line_and_of_equals_the_newest() -> None:
    basket = dollars(good(1_000))
    fifth, tenth = deal(off("percent_off_items", percent="20")), deal(TENTH, number=2)
    also_fifth = deal(off("amount_off_items", amounts={"USD": "2"}), number=3)

    assert [each.deal.id.int for each in calculate_discounts(basket, [fifth, tenth])] == [1]
    assert [each.deal.id.int for each in calculate_discounts(basket, [fifth, also_fifth])] == [3]


def test_those_of_the_whole_come_after_and_each_takes_of_what_is_left() -> None:
    basket = dollars(good(1_000))
    half = off("percent_off_order", percent="50")

    assert list_discounts(basket, deal(TENTH), deal(half, number=2), deal(half, number=3)) == [
        ("line", 100, 100),
        ("order", 0, 450),
        ("order", 0, 225),
    ]
    assert list_discounts(basket, deal(off("amount_off_order", amounts={"USD": "99"})), deal(half, number=2)) == [
        ("order", 0, 1_000)
    ]


def test_free_shipping_is_free_and_has_nothing_to_do_with_the_goods() -> None:
    basket = dollars(good(1_000), shipments=[(UUID(int=500), 700)])

    assert list_discounts(basket, deal(off("free_shipping"))) == [("shipment", 500, 700)]


def test_of_two_that_pay_for_the_same_parcel_the_newest_counts() -> None:
    basket = dollars(good(1_000), shipments=[(UUID(int=500), 700)])

    assert [
        each.deal.id.int for each in calculate_discounts(basket, [deal(off("free_shipping"), number=n) for n in (1, 2)])
    ] == [2]


def test_each_condition_says_why_it_does_not_hold() -> None:
    basket = dollars(good(1_000))
    failing_preferences: dict[str, dict[str, Any]] = {
        "product": {"product_ids": [str(CUP)]},
        "taxon": {"taxon_ids": [str(CLOTHES)]},
        "customer_group": {"group_ids": [str(STAFF)]},
        "item_total": {"amounts": {"USD": "10.01"}},
    }
    reasons = {
        kind: find_eligible_goods(deal(when(kind, **values), TENTH), basket)[0]
        for kind, values in failing_preferences.items()
    }

    assert reasons == {
        "product": "the cart has none of its products",
        "taxon": "the cart has no product of its categories",
        "customer_group": "it is limited to a customer group",
        "item_total": "it requires an item total of at least 10.01 USD",
    }
    first_order = deal(when("first_order"), TENTH)
    returning, guest = (msgspec.structs.replace(basket, has_ordered=each) for each in (True, None))
    assert find_eligible_goods(first_order, returning)[0] == "it is limited to first orders"
    assert find_eligible_goods(first_order, guest)[0] == "it is limited to first orders; sign in to use it"
    assert (
        find_eligible_goods(deal(when("item_total", amounts={"EUR": "1"}), TENTH), basket)[0]
        == "it does not apply in USD"
    )


def test_conditions_that_hold_let_it_through() -> None:
    basket = dollars(good(1_000), groups=frozenset({STAFF.int}))
    conditions = [
        when("product", product_ids=[str(MUG)]),
        when("taxon", taxon_ids=[str(KITCHEN)]),
        when("customer_group", group_ids=[str(STAFF)]),
        when("first_order"),
        when("item_total", amounts={"USD": "10"}),
    ]

    assert list_discounts(basket, deal(*conditions, TENTH)) == [("line", 100, 100)]


def test_only_the_goods_that_it_is_about_get_cheaper() -> None:
    basket = dollars(good(1_000), good(500, product=HAT, taxon=CLOTHES, number=101))
    of_hats, of_kitchen = when("product", product_ids=[str(HAT)]), when("taxon", taxon_ids=[str(KITCHEN)])

    assert list_discounts(basket, deal(of_hats, TENTH)) == [("line", 101, 50)]
    assert list_discounts(basket, deal(of_hats, of_kitchen, TENTH)) == []
    assert list_discounts(basket, deal(of_hats, of_kitchen, TENTH, is_any=True)) == [
        ("line", 100, 100),
        ("line", 101, 50),
    ]


def test_any_of_several_conditions_is_enough_where_the_promotion_says_so() -> None:
    basket = dollars(good(1_000))
    of_staff, of_much = when("customer_group", group_ids=[str(STAFF)]), when("item_total", amounts={"USD": "5"})

    assert list_discounts(basket, deal(of_staff, of_much, TENTH)) == []
    assert list_discounts(basket, deal(of_staff, of_much, TENTH, is_any=True)) == [("line", 100, 100)]
    why, _ = find_eligible_goods(deal(of_staff, when("item_total", amounts={"USD": "50"}), TENTH, is_any=True), basket)
    assert why == "it is limited to a customer group; it requires an item total of at least 50.0 USD"


def test_what_is_not_promotionable_keeps_its_price() -> None:
    excluded_item = msgspec.structs.replace(good(1_000), is_promotionable=False)
    basket = dollars(excluded_item, good(500, number=101))

    assert list_discounts(basket, deal(TENTH), deal(off("percent_off_order", percent="50"), number=2)) == [
        ("line", 101, 50),
        ("order", 0, 225),
    ]
    assert find_eligible_goods(deal(TENTH), dollars(excluded_item))[0] == "it is limited to other products"


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
def test_what_cannot_be_settled_is_named(what: str, kind: str, preferences: Any, field: str) -> None:
    assert list(part_errors(what, kind, preferences)) == [field]


def test_what_is_settled_is_kept_in_one_way_and_nothing_else_with_it() -> None:
    preferences = normalize_preferences("benefit", "percent_off_items", {"percent": 12.50, "other": "x"})

    assert preferences == {"percent": "12.5"}
    assert normalize_preferences("condition", "item_total", {"amounts": {"USD": "10.00", "JPY": 500}}) == {
        "amounts": {"USD": "10.0", "JPY": "500.0"}
    }
    assert parse_part("benefit", "percent_off_items", {"percent": "spoiled"}) is None


def half_up(value: Fraction) -> int:
    return floor(value + Fraction(1, 2))


Offer = list[Part]


def model(basket: Basket, deals: list[Offer]) -> tuple[dict[UUID, int], dict[UUID, int], int]:
    """Applies each promotion to each line separately, in fractions."""
    of_lines: dict[UUID, int] = {}
    for each in basket.goods:
        offers = [half_up(_line_off(one, each, basket)) for one in deals]
        of_lines[each.id] = min(max(offers), each.amount) if offers else 0
    of_shipments = {
        shipment_id: cost if any(benefit.type == "free_shipping" for one in deals for benefit in one) else 0
        for shipment_id, cost in basket.shipments
    }
    left = basket.amount - sum(of_lines.values())
    before = left
    for one in deals:
        for benefit in one:
            if benefit.type == "percent_off_order":
                left -= min(left, half_up(left * Fraction(*benefit.settings["percent"])))
            if benefit.type == "amount_off_order":
                left -= min(left, benefit.settings["amounts"].get(basket.currency, 0))
    return of_lines, of_shipments, before - left


def _line_off(one: Offer, each: BasketItem, basket: Basket) -> Fraction:
    discount = Fraction(0)
    for benefit in one:
        settings = benefit.settings
        if benefit.type == "percent_off_items":
            discount += each.amount * Fraction(*settings["percent"])
        if benefit.type == "amount_off_items":
            discount += min(settings["amounts"].get(basket.currency, 0), each.price) * each.quantity
        if benefit.type == "buy_some_get_some":
            pieces = sorted((other.price, other.id) for other in basket.goods for _ in range(other.quantity))
            groups = len(pieces) // (settings["buy"] + settings["get"])
            cheapest = pieces[: groups * settings["get"]]
            discount += sum(price for price, owner in cheapest if owner == each.id) * Fraction(*settings["percent"])
    return discount


percents = st.decimals(min_value="0.001", max_value=100, places=3).map(str)
amounts = st.dictionaries(
    st.sampled_from(["USD", "EUR"]), st.decimals(min_value="0.01", max_value=1_000, places=2).map(str), min_size=1
)
benefits = st.one_of(
    st.builds(lambda percent: off("percent_off_items", percent=percent), percents),
    st.builds(lambda by_currency: off("amount_off_items", amounts=by_currency), amounts),
    st.builds(
        lambda buy, get, percent: off("buy_some_get_some", buy=buy, get=get, percent=percent),
        st.integers(1, 3),
        st.integers(1, 2),
        percents,
    ),
    st.just(off("free_shipping")),
    st.builds(lambda percent: off("percent_off_order", percent=percent), percents),
    st.builds(lambda by_currency: off("amount_off_order", amounts=by_currency), amounts),
)


some_offers = st.lists(st.lists(benefits, min_size=1, max_size=2), max_size=5)


@st.composite
def baskets(draw: Any) -> Basket:
    lines = draw(st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 6)), min_size=1, max_size=4))
    costs = draw(st.lists(st.integers(1, 10**4), max_size=2))
    return dollars(
        *(good(price, quantity, number=100 + number) for number, (price, quantity) in enumerate(lines)),
        shipments=[(UUID(int=500 + number), cost) for number, cost in enumerate(costs)],
    )


@given(baskets(), some_offers)
def test_what_is_taken_off_is_what_the_model_says_and_nothing_falls_below_zero(
    basket: Basket, offers: list[Offer]
) -> None:
    discounts = calculate_discounts(basket, [deal(*parts, number=number + 1) for number, parts in enumerate(offers)])

    of_lines, of_shipments, of_whole = model(basket, offers)
    by_id = {(each.on, each.id): each.amount for each in discounts if each.on != "order"}
    assert {each.id: by_id.get(("line", each.id), 0) for each in basket.goods} == of_lines
    assert {each: by_id.get(("shipment", each), 0) for each, _ in basket.shipments} == of_shipments
    assert sum(each.amount for each in discounts if each.on == "order") == of_whole
    assert all(0 < each.amount <= each.of for each in discounts)
    assert -sum(entry["amount"] for entry in summarize_discounts(discounts, "USD").values()) == sum(
        each.amount for each in discounts
    )
