"""The changes that an import line makes to a product or a price, from plain values."""

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from itertools import count
from typing import Any
from uuid import UUID

import pytest
from msgspec import UNSET

from shop.base.errors import Invalid
from shop.models.catalog.full_products import FullProduct, FullVariant
from shop.models.catalog.prices import Price, PriceList
from shop.models.catalog.products import Product, ProductOptionType, Variant
from shop.models.catalog.stock import StockItem, StockLocation
from shop.rules.imports.errors import line_errors
from shop.rules.imports.prices import PriceBook, PriceData, PricedVariant, PriceLine
from shop.rules.imports.products import build_changes, same
from shop.rules.imports.rows import ProductLine, RecordsByName, StockLine, VariantLine, collect_names, missing_names

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
STAMPS: dict[str, Any] = {"created_at": NOW, "updated_at": NOW}


def identity(number: int) -> UUID:
    return UUID(int=number)


@pytest.fixture
def new_id() -> Iterator[UUID]:
    return map(identity, count(1000))


LOCATION = StockLocation(id=identity(90), name="Main", **STAMPS)
NAMES = RecordsByName(
    locations={"Main": LOCATION},
    option_types={"size": identity(50), "color": identity(51)},
    option_values={("size", "S"): identity(60), ("size", "M"): identity(61)},
    taxons={"all/mugs": identity(70)},
    properties={"material": identity(80)},
)


def variant(number: int, **more: Any) -> FullVariant:
    row = Variant(id=identity(number), product_id=identity(1), sku=more.pop("sku", ""), **STAMPS, **more.pop("row", {}))
    defaults: dict[str, Any] = {"tax_category": None, "options": {}, "prices": {}, "stock": {}}
    return FullVariant(row=row, **{**defaults, **more})


def product(*variants: FullVariant, **more: Any) -> FullProduct:
    row = Product(id=identity(1), name="Mug", slug="mug", **STAMPS, **more.pop("row", {}))
    defaults: dict[str, Any] = {"tax_category": None, "shipping_category": None}
    defaults |= {"option_types": {}, "properties": {}, "taxons": {}}
    return FullProduct(row=row, master=variant(2, row={"is_master": True}), variants=variants, **{**defaults, **more})


@pytest.mark.parametrize(
    ("one", "other", "are_same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (None, False, False),
        ("1", 1, False),
        ({"a": [1, {"b": True}]}, {"a": [1, {"b": True}]}, True),
        ({"a": [1, {"b": True}]}, {"a": [1, {"b": 1}]}, False),
        ({"a": 1}, {"a": 1, "b": None}, False),
        ([1], [1, 1], False),
        (1e300, 10**300, True),
        (Decimal("1.50"), Decimal("1.5"), True),
    ],
)
def test_values_are_compared_like_json(one: Any, other: Any, are_same: bool) -> None:
    assert same(one, other) is are_same


def test_a_row_without_differences_changes_nothing(new_id: Iterator[UUID]) -> None:
    price = Price(id=identity(3), variant_id=identity(4), currency="USD", amount=500, **STAMPS)
    item = StockItem(id=identity(5), stock_location_id=LOCATION.id, variant_id=identity(4), count_on_hand=2, **STAMPS)
    options = {"size": (identity(6), "S")}
    small = variant(4, sku="mug-s", prices={"USD": price}, stock={"Main": item}, options=options)
    line = VariantLine(
        at="variants.0", sku="mug-s", options={"size": "S"}, prices={"USD": (500, None)}, stock={"Main": StockLine(2)}
    )

    product_line = ProductLine(
        slug="mug", fields={"name": "Mug", "tags": []}, taxons=[], properties={}, variants=[line]
    )
    changes = build_changes(product_line, product(small), NAMES, lambda: next(new_id))

    assert not changes


def test_only_differences_are_written(new_id: Iterator[UUID]) -> None:
    small = variant(4, sku="mug-s", options={"size": (identity(6), "S")})
    line = VariantLine(at="variants.0", sku="mug-s", fields={"barcode": "7"}, options={"size": "M"})

    product_line = ProductLine(slug="mug", fields={"name": "Cup", "description": None}, variants=[line])
    changes = build_changes(product_line, product(small), NAMES, lambda: next(new_id))

    assert changes.updates == {
        "products": [{"id": identity(1), "name": "Cup"}],
        "variants": [{"id": identity(4), "barcode": "7"}],
    }
    assert changes.deletes == {"variant_option_values": [identity(6)]}
    assert list(changes.inserts) == ["variant_option_values", "product_option_types"]


def test_option_types_are_those_of_the_row_or_extended_by_its_variants(new_id: Iterator[UUID]) -> None:
    link = ProductOptionType(id=identity(7), product_id=identity(1), option_type_id=identity(51), position=1, **STAMPS)
    existing_product = product(option_types={"color": link})
    small = VariantLine(at="variants.0", sku="mug-s", options={"size": "S"})

    with_variants = build_changes(
        ProductLine(slug="mug", variants=[small]), existing_product, NAMES, lambda: next(new_id)
    )
    with_types = build_changes(
        ProductLine(slug="mug", option_types=["size", "color"]), existing_product, NAMES, lambda: next(new_id)
    )
    without_change = build_changes(
        ProductLine(slug="mug", option_types=["color"], variants=[small]),
        existing_product,
        NAMES,
        lambda: next(new_id),
    )

    assert [row["position"] for row in with_variants.inserts["product_option_types"]] == [2]
    assert with_types.updates == {"product_option_types": [{"id": identity(7), "position": 2}]}
    assert "product_option_types" not in without_change.inserts


def test_new_variants_are_positioned_after_existing_ones(new_id: Iterator[UUID]) -> None:
    existing_product = product(variant(4, sku="a", row={"position": 7}))
    new = [VariantLine(at=f"variants.{index}", sku=sku) for index, sku in enumerate("bac")]

    changes = build_changes(ProductLine(slug="mug", variants=new), existing_product, NAMES, lambda: next(new_id))

    assert [(row["sku"], row["position"]) for row in changes.inserts["variants"]] == [("b", 8), ("c", 9)]


@pytest.mark.parametrize(
    ("stock_line", "is_new", "movements", "recounts"),
    [
        (StockLine(5), True, [5], 0),
        (StockLine(0), True, [], 0),
        (StockLine(5), False, [3], 1),
        (StockLine(2), False, [], 0),
        (StockLine(None, backorderable=True), False, [], 1),
        (StockLine(-1, backorderable=True), False, [-3], 1),
    ],
)
def test_stock_is_moved_by_the_difference(
    new_id: Iterator[UUID], stock_line: StockLine, is_new: bool, movements: list[int], recounts: int
) -> None:
    item = StockItem(id=identity(5), stock_location_id=LOCATION.id, variant_id=identity(4), count_on_hand=2, **STAMPS)
    existing_product = product(variant(4, sku="a", stock={} if is_new else {"Main": item}))
    line = VariantLine(at="variants.0", sku="a", stock={"Main": stock_line})

    changes = build_changes(ProductLine(slug="mug", variants=[line]), existing_product, NAMES, lambda: next(new_id))

    assert [quantity for _, quantity, _ in changes.moved] == movements
    assert len(changes.recounts) == recounts
    assert len(changes.inserts.get("stock_items", ())) == is_new


def test_options_may_be_exchanged_between_variants_but_not_shared() -> None:
    small, medium = (
        variant(number, sku=sku, options={"size": (identity(number + 100), sku)})
        for number, sku in ((4, "S"), (5, "M"))
    )
    variants = [
        VariantLine(at="variants.0", sku="S", options={"size": "M"}),
        VariantLine(at="variants.1", sku="M", options={"size": "S"}),
    ]

    existing_product = product(small, medium)

    assert line_errors(ProductLine(slug="mug", variants=variants), existing_product, NAMES) == {}
    assert list(line_errors(ProductLine(slug="mug", variants=variants[:1]), existing_product, NAMES)) == [
        "variants.0.options"
    ]


def test_a_sku_is_free_once_its_variant_is_deleted_or_renamed() -> None:
    existing_product = product(variant(4, sku="a"), variant(5, sku="b"))
    master = VariantLine(at="master", sku="a")

    errors = line_errors(ProductLine(slug="mug", master=master), existing_product, NAMES)
    removal = ProductLine(
        slug="mug", master=master, variants=[VariantLine(at="variants.0", sku="b")], variants_complete=True
    )
    renaming = ProductLine(slug="mug", master=master, variants=[VariantLine(at="variants.0", id=identity(4), sku="c")])

    assert errors == {"master.sku": ["is taken"]}
    assert line_errors(removal, existing_product, NAMES) == line_errors(renaming, existing_product, NAMES) == {}


def test_missing_names_are_listed_in_a_fixed_order() -> None:
    lines = [
        ProductLine(slug="b", properties={"z": "1", "material": "clay"}, option_types=["size", "b"]),
        ProductLine(slug="a", variants=[VariantLine(at="variants.0", sku="a", options={"size": "S", "a": "1"})]),
    ]

    assert collect_names(lines).option_types == {"size", "a", "b"}
    assert missing_names(lines, NAMES) == (["a", "b"], [("a", "1")], ["z"])


def book() -> PriceBook:
    price = Price(id=identity(3), variant_id=identity(4), currency="USD", amount=500, compare_at_amount=700, **STAMPS)
    price_list = PriceList(id=identity(8), name="trade", currency="EUR", **STAMPS)
    variant = PricedVariant(identity(4), identity(1), "mug")
    return PriceBook(PriceData(variants=(variant,), lists={"trade": price_list}, prices=(price,)))


def test_each_price_row_sees_the_effects_of_earlier_rows(new_id: Iterator[UUID]) -> None:
    prices = book()
    amounts: list[Any] = [Decimal("6"), Decimal("6.0"), None, None, Decimal("5")]

    outcomes = [prices.apply(PriceLine(sku="mug", currency="USD", amount=amount)) for amount in amounts]

    assert outcomes == ["updated", "unchanged", "updated", "unchanged", "created"]
    assert prices.changes(lambda: next(new_id)).updates == {
        "prices": [{"id": identity(3), "amount": 500, "compare_at_amount": None}]
    }
    assert prices.touched_products() == {identity(1)}


def test_a_price_list_entry_changes_no_product(new_id: Iterator[UUID]) -> None:
    prices = book()

    outcome = prices.apply(PriceLine(sku="mug", price_list="trade", amount=Decimal(4), min_quantity=3))

    assert outcome == "created"
    assert prices.changes(lambda: next(new_id)).inserts["price_list_entries"][0]["min_quantity"] == 3
    assert prices.touched_products() == set()


def test_an_invalid_price_changes_nothing(new_id: Iterator[UUID]) -> None:
    prices = book()

    for line in (
        PriceLine(sku="mug", currency="USD", amount=Decimal("1.001")),
        PriceLine(sku="mug", currency="USD", amount=UNSET, compare_at=Decimal(-1)),
        PriceLine(sku="mug", price_list="trade", currency="USD", amount=Decimal(1)),
        PriceLine(sku="cup", currency="USD", amount=Decimal(1)),
    ):
        with pytest.raises(Invalid):
            prices.apply(line)

    assert not prices.changes(lambda: next(new_id))
