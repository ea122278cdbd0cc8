"""Address forms: the order, names and requirements of the fields in each country."""

import pycountry
import pytest

from shop.rules.customers.address_formats import address_format
from shop.rules.customers.masking import mask_email, masked_address_lines

NAMES = {"firstname", "lastname", "company", "address1", "address2", "city", "state_name", "zipcode", "phone"}


def order_of(country: str) -> list[str]:
    names = [field.name for field in address_format(country).fields]
    return [name for name in names if name in {"address1", "city", "state_name", "zipcode"}]


@pytest.mark.parametrize(
    ("country", "order", "labels"),
    [
        ("US", ["address1", "city", "state_name", "zipcode"], {"state_name": "State", "zipcode": "ZIP code"}),
        ("DE", ["address1", "zipcode", "city"], {"zipcode": "Postal code", "city": "City"}),
        ("GB", ["address1", "city", "state_name", "zipcode"], {"state_name": "County", "zipcode": "Postcode"}),
        ("JP", ["zipcode", "state_name", "city", "address1"], {"state_name": "Prefecture", "zipcode": "Postal code"}),
        ("CA", ["address1", "city", "state_name", "zipcode"], {"state_name": "Province", "zipcode": "Postal code"}),
        ("IE", ["address1", "city", "state_name", "zipcode"], {"state_name": "County", "zipcode": "Eircode"}),
        ("IN", ["address1", "city", "zipcode", "state_name"], {"zipcode": "PIN code"}),
        ("HK", ["state_name", "city", "address1"], {"state_name": "Area", "city": "District"}),
    ],
)
def test_fields_have_the_order_and_the_names_of_the_country(
    country: str, order: list[str], labels: dict[str, str]
) -> None:
    assert order_of(country) == order
    assert labels.items() <= address_format(country).labels.items()


@pytest.mark.parametrize(
    ("country", "required"),
    [
        ("US", {"city", "state_name", "zipcode"}),
        ("DE", {"city", "zipcode"}),
        ("GB", {"city", "zipcode"}),
        ("JP", {"state_name", "zipcode"}),
        ("AE", {"state_name"}),
    ],
)
def test_the_country_decides_which_fields_are_required(country: str, required: set[str]) -> None:
    names = {field.name for field in address_format(country).fields if field.is_required}

    assert names == {"firstname", "lastname", "address1"} | required


def test_the_family_name_comes_first_where_people_write_it_first() -> None:
    assert [field.name for field in address_format("JP").fields][:2] == ["lastname", "firstname"]
    assert [field.name for field in address_format("us").fields][:2] == ["firstname", "lastname"]


def test_a_postal_code_of_digits_gets_a_number_pad() -> None:
    modes = {
        country: {field.name: field.inputmode for field in address_format(country).fields}["zipcode"]
        for country in ("US", "DE", "GB", "CA")
    }

    assert modes == {"US": "numeric", "DE": "numeric", "GB": "", "CA": ""}


@pytest.mark.parametrize("country", [*sorted(country.alpha_2 for country in pycountry.countries), "XX"])
def test_every_country_has_a_form_without_repeated_fields(country: str) -> None:
    names = [field.name for field in address_format(country).fields]

    assert len(names) == len(set(names))
    assert {"firstname", "lastname", "company", "address1", "address2", "phone"} <= set(names) <= NAMES
    assert all(field.label for field in address_format(country).fields)


@pytest.mark.parametrize(
    ("email", "masked"),
    [("ada@example.org", "a***@example.org"), ("a@b.example", "a***@b.example"), ('"a@b"@c.example', '"***@c.example')],
)
def test_an_address_is_masked_without_its_length(email: str, masked: str) -> None:
    assert mask_email(email) == masked


def test_only_the_place_of_an_address_is_left() -> None:
    fields = {
        "firstname": "Ada",
        "lastname": "Lovelace",
        "address1": "1 Main Street",
        "zipcode": "62701",
        "city": "Springfield",
        "state_code": "IL",
        "country_name": "United States",
        "phone": "555",
    }

    assert masked_address_lines(fields) == ["Springfield, IL", "United States"]
    assert masked_address_lines({}) == []
