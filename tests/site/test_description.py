"""The description of the APIs: valid, whole, and true of the answers to generated requests, seeded and small."""

import json
from typing import Any

import asyncpg
import httpx
import jsonschema_rs
import pytest
import schemathesis
from hypothesis import settings
from openapi_spec_validator import validate
from openapi_spec_validator.schemas import schema_v31
from schemathesis.specs.openapi.checks import (
    ignored_auth,
    negative_data_rejection,
    positive_data_acceptance,
)

from shop.app import DOORS
from shop.site.reference import CREDENTIALS, describe
from shop.storefront.resources.sales import CART
from shop.storefront.wishes import FILTERS
from shop.web.request import LINES
from tests.make import Make
from tests.platform.machine import Machine, new_machine
from tests.service import Service
from tests.shoppers import AUTH, new_email

ROUTES = [route for door in DOORS for route in door.routes]
DESCRIPTION = describe(DOORS)
# `make torture` asks more of the same, and at every edge.
SMALL = settings(max_examples=4, derandomize=True, deadline=None)
SMALLEST = settings(SMALL, max_examples=2)
ONE = settings(SMALL, max_examples=1)
schema = schemathesis.openapi.from_dict(DESCRIPTION)
# Every edge of every field is tried in `test_edges.py`.
schema.config.phases.update(phases=["fuzzing"])


@schemathesis.serializer(*LINES)
def lines(_context: Any, value: Any) -> bytes:
    """A body of lines is a text; what is none is sent as the JSON that it is."""
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


@pytest.mark.torture
async def test_references_names_and_examples_of_the_description_are_sound(http: httpx.AsyncClient) -> None:
    validate((await http.get("/openapi.json")).json())


async def test_the_description_is_valid_and_names_every_route_and_attribute(http: httpx.AsyncClient) -> None:
    description = (await http.get("/openapi.json")).json()

    # What the generated requests of this file are made of.
    assert description == json.loads(json.dumps(DESCRIPTION))
    jsonschema_rs.Draft202012Validator(dict(schema_v31)).validate(description)
    assert description["openapi"].startswith("3.1")
    for route in ROUTES:
        assert route.method.lower() in description["paths"][route.path.replace("*}", "}")]
    attributes = description["components"]["schemas"]["storefront_cart"]["properties"]["data"]["properties"][
        "attributes"
    ]
    assert set(attributes["properties"]) == set(CART.kinds())


@pytest.mark.parametrize("path", ["countries/us", "countries/us?include=states", "taxons/{taxon}"])
async def test_what_shows_more_of_itself_alone_is_described_so(
    http: httpx.AsyncClient, writer: Machine, path: str
) -> None:
    make = Make(writer)
    taxon = (await make.taxonomy())[1]
    await make.product(taxons=[taxon])
    kind = {"countries": "countries/{iso}", "taxons": "taxons/{permalink}"}[path.partition("/")[0]]
    shown = DESCRIPTION["paths"][f"/api/v2/storefront/{kind}"]["get"]["responses"]["200"]
    ((_, content),) = shown["content"].items()
    schema = {**content["schema"], "components": DESCRIPTION["components"]}

    answer = await http.get(f"/api/v2/storefront/{path.replace('{taxon}', taxon)}")

    assert answer.status_code == 200
    jsonschema_rs.Draft202012Validator(schema).validate(answer.json())


def untold(route: Any) -> list[str]:
    """What the description does not say of a route."""
    described = DESCRIPTION["paths"][route.path.replace("*}", "}")][route.method.lower()]
    answers = described["responses"]
    is_told = {
        "what it takes": ("requestBody" in described) == (route.method in {"POST", "PATCH", "PUT"}),
        "what it shows": ("content" in answers[str(route.status)]) == (route.status != 204),
        "by which words it fails": all(words_of(answers[str(status)]) for status in route.errors),
        "whom it lets in": all(set(choice) <= set(CREDENTIALS) for choice in described.get("security", ())),
    }
    return [what for what, is_there in is_told.items() if not is_there]


def words_of(answer: Any) -> Any:
    (content,) = answer["content"].values()
    properties = content["schema"]["properties"]
    return properties.get("code", properties.get("error"))["enum"]


def test_every_route_says_what_it_takes_shows_and_how_it_fails() -> None:
    found = {f"{route.method} {route.path}": untold(route) for route in ROUTES}

    assert {route: what for route, what in found.items() if what} == {}


def test_a_list_that_can_be_filtered_says_by_what_and_how_that_fails() -> None:
    described = DESCRIPTION["paths"]["/api/v2/platform/orders"]["get"]

    told = {parameter["name"]: parameter for parameter in described["parameters"]}
    assert "user_email" in told["filter"]["description"]
    assert {"page", "per_page", "page[after]", "sort", "filter", "include"} <= set(told)
    (content,) = described["responses"]["400"]["content"].values()
    assert (
        str(content).count("unknown_filter") == str(content).count("bad_filter") == str(content).count("bad_page") == 1
    )


def test_the_catalogue_says_what_it_can_be_asked_and_that_it_may_be_kept() -> None:
    described = DESCRIPTION["paths"]["/api/v2/storefront/products"]["get"]

    told = {parameter["name"]: parameter["description"] for parameter in described["parameters"]}
    assert all(name in told["filter"] for name in FILTERS)
    assert "predicate" not in told["filter"]
    assert {"currency", "q", "sort_by", "explain", "include", "sort", "page", "per_page"} <= set(told)
    assert "page[after]" not in told
    assert "304" in described["responses"]


@pytest.fixture(scope="session")
def member(service: Service) -> str:
    """The access token of a shopper who signed in."""
    user = {"email": new_email()}
    with httpx.Client(base_url=service.url) as http:
        http.post(AUTH, json={"user": user})
        code = http.get("/mailbox.json", params={"to": user["email"]}).json()[0]["code"]
        token = http.post(AUTH, json={"user": {**user, "code": code}}).json()["access_token"]
    return str(token)


@pytest.fixture(scope="session")
async def machine(service: Service, database_url: str) -> str:
    """The access token of an application that may write."""
    connection = await asyncpg.connect(database_url)
    async with service.client() as http:
        token = (await new_machine(http, connection)).access_token
    await connection.close()
    return token


# The family's clients are met halfway: a page out of range is the first, a parameter or field that nobody knows is
# passed over, and a bad order token counts as absent beside a good bearer.
UNASKED = [positive_data_acceptance, negative_data_rejection, ignored_auth]
CATALOGUE = "/storefront/(products|taxons|countries|stores?|cms_pages|policies|menus)"


def call_as_anyone(case: Any, service: Service) -> None:
    # That a key was used before is a fact of the shop's past, which no schema of a request can tell.
    case.call_and_validate(base_url=service.url, excluded_checks=[positive_data_acceptance])


def call_the_catalogue(token: str, case: Any, service: Service) -> None:
    # Here a guest is as welcome as a shopper.
    case.call_and_validate(base_url=service.url, excluded_checks=UNASKED)
    call_with(token, case, service)


def call_with(token: str, case: Any, service: Service) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    case.call_and_validate(base_url=service.url, headers=headers, excluded_checks=UNASKED)


@pytest.mark.security("X-10")
@schema.exclude(path_regex=f"/platform/|{CATALOGUE}").parametrize()
@SMALLEST
def test_generated_requests_are_answered_as_described(case: Any, service: Service) -> None:
    call_as_anyone(case, service)


@pytest.mark.security("X-10")
@schema.include(path_regex="/(account|cart|storefront/wishlists)").parametrize()
@ONE
def test_generated_requests_of_a_signed_in_shopper_are_answered_as_described(
    case: Any, service: Service, member: str
) -> None:
    call_with(member, case, service)


@pytest.mark.security("X-10")
@schema.include(path_regex=CATALOGUE).parametrize()
@SMALLEST
def test_generated_requests_to_the_catalogue_are_answered_as_described(
    case: Any, service: Service, member: str
) -> None:
    call_the_catalogue(member, case, service)


@pytest.mark.security("X-10")
@schema.include(path_regex="/platform/(orders|products)").parametrize()
@ONE
def test_generated_requests_of_a_machine_are_answered_as_described(case: Any, service: Service, machine: str) -> None:
    call_with(machine, case, service)
