"""Validation of the settings of the shop."""

import pytest

from shop.rules.setup.shop import currency_codes, is_locale, shop_errors


@pytest.mark.parametrize(
    ("text", "codes"),
    [("USD", ["USD"]), (" usd,EUR ; gbp\nusd ", ["USD", "EUR", "GBP"]), ("", []), (" , ", [])],
)
def test_currencies_are_read_in_their_order_and_each_once(text: str, codes: list[str]) -> None:
    assert currency_codes(text) == codes


def test_what_is_wrong_is_said_of_every_field() -> None:
    assert set(shop_errors("", ["XXY"], "xx-nowhere-at-all")) == {"name", "currencies", "default_locale"}
    assert set(shop_errors("a\nb", [], "de")) == {"name", "currencies"}
    assert shop_errors("Shop", ["USD", "EUR"], "de-AT") == {}


@pytest.mark.parametrize("text", ["en", "en-US", "pt-BR", "zh-Hans-CN"])
def test_a_locale_is_one_that_is_known(text: str) -> None:
    assert is_locale(text)


@pytest.mark.parametrize("text", ["", "en_US", "klingon", "EN", "en-", "../etc", "en-US; drop"])
def test_anything_else_is_none(text: str) -> None:
    assert not is_locale(text)
