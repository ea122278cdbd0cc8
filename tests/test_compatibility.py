"""The page about compatibility says what is served."""

import re

import pytest

from shop.jsonapi.filtering import PREDICATES
from tests.compatibility import DIFFERS, PAGE, operations, page, spree


def test_the_tables_are_up_to_date() -> None:
    assert PAGE.read_text() == page(), "run `make compatibility`"


def test_every_difference_is_about_an_operation_of_spree() -> None:
    names = {each.name for api in spree().values() for each in operations(api)}

    assert set(DIFFERS) <= names


@pytest.mark.parametrize("api", ["storefront", "sign-in", "platform"])
def test_what_is_not_served_has_a_reason(api: str) -> None:
    assert [each.name for each in operations(spree()[api]) if each.status == "not served" and not each.note] == []


def test_the_predicates_are_those_that_are_read() -> None:
    (row,) = [line for line in PAGE.read_text().splitlines() if line.startswith("| platform predicates")]

    assert set(re.findall(r"`([a-z_]+)`", row)) == set(PREDICATES)
