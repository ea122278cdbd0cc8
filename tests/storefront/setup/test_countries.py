"""Countries and their states, as an address form needs them."""

from typing import Any

import pytest

from tests.builders import Make
from tests.checkout_builders import new_checkout_setup
from tests.shopper import Shopper
from tests.storefront.product_lists import ids, included, names, related_ids

ATTRIBUTES = {"iso", "iso3", "iso_name", "name", "states_required", "zipcode_required", "default"}


async def test_all_countries_are_on_one_page_without_their_states(guest: Shopper) -> None:
    countries = await guest.get("/countries")

    records = countries.json["data"]
    assert countries.json["meta"] == {"count": len(records), "total_count": len(records), "total_pages": 1}
    assert len(records) > 240
    assert names(countries) == sorted(names(countries))
    assert all(set(record["attributes"]) == ATTRIBUTES for record in records)
    assert all(record["relationships"] == {} for record in records)
    assert [record["attributes"]["iso"] for record in records if record["attributes"]["default"]] == ["US"]


async def test_countries_are_paged_if_a_page_size_is_given(guest: Shopper) -> None:
    whole = ids(await guest.get("/countries"))

    second = await guest.get("/countries", per_page="10", page="2")

    assert ids(second) == whole[10:20]
    assert ids(await guest.get("/countries", per_page="0")) == whole[:25]
    assert ids(await guest.get("/countries", per_page="501")) == whole[:25]
    assert ids(await guest.get("/countries", page="2")) == []


@pytest.mark.parametrize("key", ["DE", "de", "dE", "DEU", "deu"])
async def test_a_country_is_found_by_its_codes_in_any_case(guest: Shopper, key: str) -> None:
    country = await guest.get(f"/countries/{key}")

    assert {name: country[name] for name in ("iso", "iso3", "name", "iso_name", "default")} == {
        "iso": "DE",
        "iso3": "DEU",
        "name": "Germany",
        "iso_name": "GERMANY",
        "default": False,
    }


async def test_a_country_is_found_by_id_and_the_shops_country_as_default(guest: Shopper) -> None:
    default = await guest.get("/countries/default")

    assert (default["iso"], default["default"]) == ("US", True)
    assert (await guest.get(f"/countries/{default.id}")).json == default.json


async def test_a_single_country_has_its_states(guest: Shopper) -> None:
    country = await guest.get("/countries/us", include="states")

    data = country.json["data"]
    assert set(data["attributes"]) == ATTRIBUTES
    assert set(data["relationships"]) == {"states", "checkout_zone_applicable_states"}
    states = included(country, "state")
    assert list(states) == related_ids(data, "states") == related_ids(data, "checkout_zone_applicable_states")
    assert {state["attributes"]["abbr"]: state["attributes"]["name"] for state in states.values()}["CA"] == "California"
    assert "included" not in (await guest.get("/countries/us")).json


@pytest.mark.parametrize(
    "key", ["XX", "XXX", "d", "germany", "%00", "%FF", "'", "x" * 500, "00000000-0000-4000-8000-000000000000"]
)
async def test_an_unknown_country_is_404(guest: Shopper, key: str) -> None:
    missing = await guest.get(f"/countries/{key}")

    assert (missing.status, missing.code) == (404, "not_found")


async def test_unknown_filters_includes_and_sorts_of_countries_are_refused(guest: Shopper) -> None:
    assert (await guest.get("/countries?filter[iso]=DE")).code == "unknown_filter"
    assert (await guest.get("/countries", include="states")).code == "unknown_include"
    assert (await guest.get("/countries", sort="name")).code == "unknown_sort"
    assert (await guest.get("/countries?page[after]=x")).code == "bad_page"
    assert (await guest.get("/countries/us?filter[x]=1")).code == "unknown_filter"


async def test_shippable_countries_are_those_of_shipping_zones(guest: Shopper, make: Make, db: Any) -> None:
    checkout_setup = await new_checkout_setup(make)
    shippable = "/countries?filter[shippable]=true"
    before = await guest.get(shippable)
    france, bavaria = [
        await db.fetchval("select id from countries where iso = 'FR'"),
        await db.fetchval(
            "select s.id from states s join countries c on c.id = s.country_id where c.iso = 'DE' limit 1"
        ),
    ]
    zone = await make.new("zones", "zone", name="A state", kind="state", state_ids=[str(bavaria)])
    fields = {"zone_ids": [zone.id], "shipping_category_ids": [checkout_setup.category], "amounts": {"USD": "1.00"}}
    method = await make.new("shipping_methods", "shipping_method", name="Coach", **fields)

    with_state = await guest.get(shippable)
    await make.change("zones", zone.id, "zone", kind="country", state_ids=[], country_ids=[str(france)])
    with_france = await guest.get(shippable)
    await make.remove("shipping_methods", method.id)

    codes = [
        {record["attributes"]["iso"] for record in answer.json["data"]} for answer in (before, with_state, with_france)
    ]
    assert {"US", "DE"} <= codes[0]
    assert "FR" not in codes[0] | codes[1]
    assert "FR" in codes[2]
    assert "FR" not in {each["attributes"]["iso"] for each in (await guest.get(shippable)).json["data"]}
