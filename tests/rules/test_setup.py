"""Validation of the settings of the shop."""

from decimal import Decimal

import pytest

from shop.rules.setup.names import find_code, label_code, name_currencies, name_locales, name_zones
from shop.rules.setup.shop import currency_codes, is_locale, order_number_errors, shop_errors
from shop.rules.setup.units import convert_size


@pytest.mark.parametrize(
    ("text", "codes"),
    [("USD", ["USD"]), (" usd,EUR ; gbp\nusd ", ["USD", "EUR", "GBP"]), ("", []), (" , ", [])],
)
def test_currencies_are_read_in_order_and_without_duplicates(text: str, codes: list[str]) -> None:
    assert currency_codes([text]) == codes


def test_currencies_are_read_by_name() -> None:
    assert currency_codes(["US Dollar (USD)", "swiss franc", "eur", ""]) == ["USD", "CHF", "EUR"]
    assert currency_codes(["Klingon Darsek"]) == ["KLINGON", "DARSEK"]


def test_every_label_of_a_name_is_read_as_its_code() -> None:
    for names in (name_currencies(), name_locales(), name_zones()):
        assert [find_code(label_code(code, names), names) for code in names] == list(names)
        assert [find_code(code.upper(), names) for code in names] == list(names)
    assert find_code("berlin, germany", name_zones()) == "Europe/Berlin"
    assert find_code("x" * 10_000, name_zones()) is None


@pytest.mark.parametrize("prefix", ["R", "A-", "SHOP-", "S2-", "ABCDEFGHIJ"])
def test_an_order_prefix_is_accepted(prefix: str) -> None:
    assert order_number_errors(prefix, 9) == {}


@pytest.mark.parametrize("prefix", ["", "r", "1R", "-R", "R1", "R_", "R ", "R\n", "É", "R/", "A" * 11, "A" * 100_000])
def test_an_order_prefix_is_refused(prefix: str) -> None:
    assert set(order_number_errors(prefix, 9)) == {"order_prefix"}


@pytest.mark.parametrize("digits", [None, -1, 0, 8, 16, 10**9])
def test_a_number_of_digits_is_refused(digits: int | None) -> None:
    assert set(order_number_errors("R", digits)) == {"order_digits"}


@pytest.mark.parametrize(
    ("name", "value", "unit", "shop_unit", "size"),
    [
        ("weight", "200", "g", "kg", "0.2"),
        ("weight", "453.592", "g", "lb", "1"),
        ("weight", "1", "lb", "oz", "16"),
        ("weight", "2.50", "kg", "kg", "2.50"),
        ("depth", "1", "ft", "in", "12"),
        ("height", "2", "m", "cm", "200"),
    ],
)
def test_a_size_is_converted(name: str, value: str, unit: str, shop_unit: str, size: str) -> None:
    assert f"{convert_size(name, Decimal(value), unit, shop_unit):f}" == size


def test_every_invalid_field_is_reported() -> None:
    assert set(shop_errors("", ["XXY"], "xx-nowhere-at-all")) == {"name", "currencies", "default_locale"}
    assert set(shop_errors("a\nb", [], "de")) == {"name", "currencies"}
    assert shop_errors("Shop", ["USD", "EUR"], "de-AT") == {}


@pytest.mark.parametrize("text", ["en", "en-US", "pt-BR", "zh-Hans-CN"])
def test_a_known_locale_is_accepted(text: str) -> None:
    assert is_locale(text)


@pytest.mark.parametrize("text", ["", "en_US", "klingon", "EN", "en-", "../etc", "en-US; drop"])
def test_an_unknown_locale_is_refused(text: str) -> None:
    assert not is_locale(text)
