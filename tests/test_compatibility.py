"""The page about compatibility matches the routes and resources of the shop."""

import re
import tomllib
from pathlib import Path

import pytest

from shop.jsonapi.filtering import PREDICATES
from shop.site.topics import ABOUT
from tests.compatibility import DIFFERS, PAGE, operations, page, spree


def test_the_tables_are_up_to_date() -> None:
    assert PAGE.read_text() == page(), "run `make compatibility`"


def test_every_difference_names_an_operation_of_spree() -> None:
    names = {each.name for api in spree().values() for each in operations(api)}

    assert set(DIFFERS) <= names


@pytest.mark.parametrize("api", ["storefront", "sign-in", "platform"])
def test_every_missing_operation_has_a_reason(api: str) -> None:
    assert [each.name for each in operations(spree()[api]) if each.status == "not served" and not each.note] == []


def test_the_documented_predicates_are_the_supported_ones() -> None:
    (row,) = [line for line in PAGE.read_text().splitlines() if line.startswith("| platform predicates")]

    assert set(re.findall(r"`([a-z_]+)`", row)) == set(PREDICATES)


def test_the_readme_and_the_descriptions_name_the_spree_api() -> None:
    package = tomllib.loads(Path("pyproject.toml").read_text())["project"]["description"]
    readme = Path("README.md").read_text().split("\n## ")[0]

    assert [text for text in (package, readme, ABOUT) if "Spree API v2 (Storefront and Platform)" not in text] == []
