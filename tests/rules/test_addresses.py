"""Validation and layout of addresses by country."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shop.migrations.geography import country_rows
from shop.rules.customers.addresses import MAX_LENGTH, address_errors, address_lines

ADDRESSES: dict[str, dict[str, str | None]] = {
    "US": {"address1": "1 Infinite Loop", "city": "Cupertino", "zipcode": "95014", "state_name": "California"},
    "GB": {"address1": "10 Downing Street", "city": "London", "zipcode": "SW1A 2AA"},
    "DE": {"address1": "Platz der Republik 1", "city": "Berlin", "zipcode": "11011"},
    "FR": {"address1": "55 rue du Faubourg Saint-Honoré", "city": "Paris", "zipcode": "75008"},
    "JP": {"address1": "1-7-1 Nagatacho", "city": "Chiyoda", "zipcode": "100-8914", "state_name": "Tokyo"},
}


def address_fields(country: str, **changes: str | None) -> dict[str, str | None]:
    return {"firstname": "Ada", "lastname": "Lovelace", "country_iso": country, **ADDRESSES[country], **changes}


@pytest.mark.parametrize("country", sorted(ADDRESSES))
def test_a_valid_address_of_a_country_is_accepted(country: str) -> None:
    assert address_errors(address_fields(country)) == {}


@pytest.mark.parametrize(
    ("country", "changes", "field"),
    [
        ("US", {"zipcode": None}, "zipcode"),
        ("US", {"zipcode": "9501"}, "zipcode"),
        ("US", {"zipcode": "SW1A 2AA"}, "zipcode"),
        ("US", {"state_name": None}, "state_name"),
        ("US", {"state_name": "Bavaria"}, "state_name"),
        ("US", {"city": " "}, "city"),
        ("US", {"address1": ""}, "address1"),
        ("GB", {"zipcode": "12345"}, "zipcode"),
        ("DE", {"zipcode": "1101"}, "zipcode"),
        ("FR", {"zipcode": "ABCDE"}, "zipcode"),
        ("JP", {"state_name": None}, "state_name"),
        ("US", {"firstname": "  "}, "firstname"),
        ("US", {"lastname": None}, "lastname"),
        ("US", {"country_iso": "XX"}, "country_iso"),
        ("US", {"country_iso": ""}, "country_iso"),
        ("US", {"company": "a\nb"}, "company"),
        ("US", {"address1": "x" * (MAX_LENGTH + 1)}, "address1"),
    ],
)
def test_an_invalid_field_is_reported(country: str, changes: dict[str, str | None], field: str) -> None:
    assert set(address_errors(address_fields(country, **changes))) == {field}


def test_all_invalid_fields_are_reported_together() -> None:
    errors = address_errors({"country_iso": "US"})

    assert set(errors) == {"firstname", "lastname", "address1", "city", "zipcode", "state_name"}


def test_a_zip_code_of_another_state_is_reported_on_the_state() -> None:
    assert set(address_errors(address_fields("US", zipcode="10001"))) == {"state_name"}


def test_every_country_can_be_validated_and_requires_a_street() -> None:
    for country in country_rows():
        errors = address_errors({"firstname": "Ada", "lastname": "Lovelace", "country_iso": country["iso"]})

        assert "address1" in errors, country["iso"]
        assert ("zipcode" in errors) == country["zipcode_required"], country["iso"]


@given(st.fixed_dictionaries({}, optional={name: st.none() | st.text(max_size=300) for name in address_fields("US")}))
def test_any_text_is_validated_without_failure(fields: dict[str, str | None]) -> None:
    names = {*address_fields("US"), "address2", "phone", "company", "label"}
    assert set(address_errors(fields)) <= names


ADA = {"firstname": "Ada", "lastname": "Lovelace", "company": "Engines", "address1": "1 Main St", "address2": "Flat 2"}


@pytest.mark.parametrize(
    ("country", "fields", "lines"),
    [
        ("US", ("Springfield", "62701", "Illinois", "IL"), ["Springfield, IL 62701"]),
        ("US", ("Springfield", "", "", None), ["Springfield"]),
        ("DE", ("München", "80331", "Bayern", "BY"), ["80331 München", "Bayern"]),
        ("GB", ("London", "SW1A 1AA", "", None), ["London", "SW1A 1AA"]),
        ("XX", ("Town", "1", "Area", None), ["Town", "Area 1"]),
    ],
)
def test_an_address_is_formatted_for_its_country(
    country: str, fields: tuple[str, str, str, str | None], lines: list[str]
) -> None:
    values = dict(zip(("city", "zipcode", "state_name", "state_code"), fields, strict=True))

    address = address_lines({**ADA, **values, "country_iso": country, "country_name": "There"})

    assert address == ["Ada Lovelace", "Engines", "1 Main St", "Flat 2", *lines, "There"]


def test_an_address_that_begins_with_the_largest_area_keeps_its_city() -> None:
    values = {
        "zipcode": "150-0001",
        "state_name": "東京都",
        "city": "渋谷区",
        "address1": "神宮前 100%n 1",
        "address2": "",
    }

    address = address_lines({**ADA, **values, "country_iso": "JP", "country_name": "Japan"})

    assert address == ["〒150-0001", "東京都", "渋谷区", "神宮前 100%n 1", "Engines", "Ada Lovelace", "Japan"]
