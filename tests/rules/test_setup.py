"""Validation of the settings of the shop."""

import pytest

from shop.rules.setup.shop import currency_codes, is_locale, shop_errors


@pytest.mark.parametrize(
    ("text", "codes"),
    [("USD", ["USD"]), (" usd,EUR ; gbp\nusd ", ["USD", "EUR", "GBP"]), ("", []), (" , ", [])],
)
def test_currencies_are_read_in_order_and_without_duplicates(text: str, codes: list[str]) -> None:
    assert currency_codes(text) == codes


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
