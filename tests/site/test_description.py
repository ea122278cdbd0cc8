"""The description of the APIs is valid, complete, and true of the responses to a few generated requests."""

import json
import re
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
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
    unsupported_method,
)

from shop.app.routes import documented_apis
from shop.jsonapi.filtering import MAX_CONDITIONS
from shop.platform.events.types import EVENT_TYPES
from shop.site.reference import CREDENTIALS, build_openapi
from shop.storefront.product_filters import FILTERS
from shop.storefront.resources.orders import CART
from shop.web.input.request import LINES, MAX_QUERY
from shop.web.router import ABSENT
from tests.accounts import AUTH, new_email
from tests.builders import Make
from tests.platform.client import Machine, new_machine
from tests.service import Service

ROUTES = [route for api in documented_apis() for route in api.routes]
DESCRIPTION = build_openapi(documented_apis())
# `make torture` generates more requests, with boundary values.
SMALL = settings(max_examples=4, derandomize=True, deadline=None)
SMALLEST = settings(SMALL, max_examples=2)
ONE = settings(SMALL, max_examples=1)
schema = schemathesis.openapi.from_dict(DESCRIPTION)
# `test_edges.py` tries the boundary values of every field.
schema.config.phases.update(phases=["fuzzing"])


@schemathesis.serializer(*LINES)
def serialize_ndjson(_context: Any, value: Any) -> bytes:
    """Sends bytes and text as they are, and anything else as JSON."""
    body = getattr(value, "data", value)
    if isinstance(body, bytes):
        return body
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()


@pytest.mark.torture
async def test_the_openapi_description_is_valid(http: httpx2.AsyncClient) -> None:
    validate((await http.get("/openapi.json")).json())


async def test_the_description_has_every_route_and_attribute(http: httpx2.AsyncClient) -> None:
    description = (await http.get("/openapi.json")).json()

    # The generated requests of this file are made from DESCRIPTION.
    assert description == json.loads(json.dumps(DESCRIPTION))
    jsonschema_rs.Draft202012Validator(dict(schema_v31)).validate(description)
    assert description["openapi"].startswith("3.1")
    for route in ROUTES:
        assert route.method.lower() in description["paths"][route.path.replace("*}", "}")]
    assert set(description["components"]["schemas"]["CartAttributes"]["properties"]) == set(CART.kinds())


@pytest.mark.parametrize("path", ["countries/us", "countries/us?include=states", "taxons/{taxon}"])
async def test_attributes_shown_only_outside_lists_are_described(
    http: httpx2.AsyncClient, writer: Machine, path: str
) -> None:
    make = Make(writer)
    taxon = (await make.taxonomy())[1]
    await make.product(taxons=[taxon])
    kind = {"countries": "countries/{iso}", "taxons": "taxons/{permalink}"}[path.partition("/")[0]]
    response = DESCRIPTION["paths"][f"/api/v2/storefront/{kind}"]["get"]["responses"]["200"]
    ((_, content),) = response["content"].items()
    schema = {**content["schema"], "components": DESCRIPTION["components"]}

    answer = await http.get(f"/api/v2/storefront/{path.replace('{taxon}', taxon)}")

    assert answer.status_code == 200
    jsonschema_rs.Draft202012Validator(schema).validate(answer.json())


def find_gaps(route: Any) -> list[str]:
    """The parts of a route that the description lacks."""
    operation = DESCRIPTION["paths"][route.path.replace("*}", "}")][route.method.lower()]
    answers = operation["responses"]
    checks = {
        "request body": ("requestBody" in operation) == (route.method in {"POST", "PATCH", "PUT"}),
        "response body": ("content" in answers[str(route.status)]) == (route.status != 204),
        "error codes": all(error_codes_of(answers[str(status)]) for status in route.errors),
        "credentials": all(set(choice) <= set(CREDENTIALS) for choice in operation["security"]),
    }
    return [part for part, is_documented in checks.items() if not is_documented]


def error_codes_of(answer: Any) -> Any:
    (content,) = answer["content"].values()
    properties = content["schema"]["properties"]
    return properties.get("code", properties.get("error"))["enum"]


def test_every_route_describes_its_request_response_and_errors() -> None:
    gaps = {f"{route.method} {route.path}": find_gaps(route) for route in ROUTES}

    assert {route: parts for route, parts in gaps.items() if parts} == {}


def test_a_filterable_list_describes_its_filters_and_their_errors() -> None:
    operation = DESCRIPTION["paths"]["/api/v2/platform/orders"]["get"]

    parameters = {parameter["name"]: parameter["schema"] for parameter in operation["parameters"]}
    assert "user_email" in operation["description"]
    assert parameters["filter[total_gteq]"]["type"] == parameters["filter[user_email_cont]"]["type"] == "string"
    assert parameters["filter[item_count_gt]"]["type"] == "integer"
    assert {"page", "per_page", "page[after]", "sort", "filter[m]", "include"} <= set(parameters)
    (content,) = operation["responses"]["400"]["content"].values()
    assert (
        str(content).count("unknown_filter") == str(content).count("bad_filter") == str(content).count("bad_page") == 1
    )


def test_the_product_list_describes_its_parameters_and_conditional_requests() -> None:
    operation = DESCRIPTION["paths"]["/api/v2/storefront/products"]["get"]

    parameter_names = {parameter["name"] for parameter in operation["parameters"]}
    assert {f"filter[{name}]" for name in FILTERS} <= parameter_names
    assert not any("_eq]" in name for name in parameter_names)
    assert {
        "currency",
        "q",
        "sort_by",
        "explain",
        "include",
        "sort",
        "page",
        "page[after]",
        "per_page",
    } <= parameter_names
    assert "304" in operation["responses"]


def test_operation_ids_are_a_verb_and_a_noun_and_never_change() -> None:
    names = [row["operationId"] for methods in DESCRIPTION["paths"].values() for row in methods.values()]

    assert len(set(names)) == len(names)
    assert [name for name in names if not re.fullmatch("[a-z]+([A-Z][a-z]*)+|sign(In|Out)", name)] == []
    # Generated clients call these; a new operation adds its own here.
    published_names = (Path(__file__).parent / "operation_ids.txt").read_text().split()
    assert sorted(published_names) == sorted(names)


def test_schema_names_are_camel_case_and_every_schema_is_used() -> None:
    schemas = DESCRIPTION["components"]["schemas"]
    references = set(re.findall('"#/components/schemas/([^"]+)"', json.dumps(DESCRIPTION)))

    assert [name for name in schemas if not re.fullmatch("([A-Z][a-z0-9]*)+", name)] == []
    assert set(schemas) == references


def test_the_two_sign_in_responses_have_different_required_properties() -> None:
    content = DESCRIPTION["paths"]["/api/v2/storefront/auth"]["post"]["responses"]["200"]["content"]["application/json"]

    notice, tokens = (DESCRIPTION["components"]["schemas"][part["$ref"][21:]] for part in content["schema"]["oneOf"])
    assert notice["required"] == ["message"]
    assert {"access_token", "refresh_token"} <= set(tokens["required"])
    assert not set(notice["properties"]) & set(tokens["properties"])


def test_every_type_of_event_is_a_webhook_with_the_same_body() -> None:
    webhooks = DESCRIPTION["webhooks"]
    operations = [methods["post"] for methods in webhooks.values()]

    assert list(webhooks) == [each.type for each in EVENT_TYPES]
    assert [each["summary"] for each in operations] == [each.description for each in EVENT_TYPES]
    assert len({each["operationId"] for each in operations}) == len(operations)
    assert {each["requestBody"]["$ref"] for each in operations} == {"#/components/requestBodies/Webhook"}
    content = DESCRIPTION["components"]["requestBodies"]["Webhook"]["content"]["application/json"]
    assert content["schema"] == {"$ref": "#/components/schemas/EventBody"}


def test_every_tag_has_a_description() -> None:
    assert [tag["name"] for tag in DESCRIPTION["tags"] if not tag["description"].endswith(".")] == []


async def test_the_description_is_compressed_and_supports_conditional_requests(http: httpx2.AsyncClient) -> None:
    whole = await http.get("/openapi.json", headers={"Accept-Encoding": "identity"})
    answer = await http.get("/openapi.json", headers={"Accept-Encoding": "br, gzip"})
    tag = answer.headers["etag"]

    assert answer.headers["content-encoding"] == "gzip"
    assert answer.json() == whole.json()
    assert "content-encoding" not in whole.headers
    assert whole.headers["etag"] != tag
    again = await http.get("/openapi.json", headers={"Accept-Encoding": "gzip", "If-None-Match": f"W/{tag}"})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)


@pytest.fixture(scope="session")
def member(service: Service) -> str:
    """The access token of a signed-in shopper."""
    user = {"email": new_email()}
    with httpx2.Client(base_url=service.url) as http:
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


# Spree accepts more than its schema: a page out of range is the first, an unknown parameter or field is ignored, and
# an invalid order token counts as absent beside a valid bearer token.
EXCLUDED_CHECKS = [positive_data_acceptance, negative_data_rejection, ignored_auth]
CATALOG = "/storefront/(products|taxons|countries|stores?|cms_pages|policies|menus)"


def call_as_anyone(case: Any, service: Service) -> None:
    # The schema of a request cannot express that an idempotency key was used before.
    case.call_and_validate(base_url=service.url, excluded_checks=[positive_data_acceptance, *absent(case)])


def call_catalog(token: str, case: Any, service: Service) -> None:
    # Guests may call these routes too.
    case.call_and_validate(base_url=service.url, excluded_checks=EXCLUDED_CHECKS)
    call_with(token, case, service)


def call_with(token: str, case: Any, service: Service) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    if len(str(case.query)) > MAX_QUERY / 2:
        # All filters of a list together exceed the length of a query, which is checked first.
        case.query = dict(list(case.query.items())[:MAX_CONDITIONS])
    case.call_and_validate(base_url=service.url, headers=headers, excluded_checks=[*EXCLUDED_CHECKS, *absent(case)])


def absent(case: Any) -> list[Any]:
    """An operation of Spree that is not implemented responds with 404 instead of 405."""
    return [unsupported_method] if any(path == case.path for _, path in ABSENT) else []


@pytest.mark.security("X-10")
@schema.exclude(path_regex=f"/platform/|{CATALOG}").parametrize()
@SMALLEST
def test_responses_to_generated_requests_match_the_description(case: Any, service: Service) -> None:
    call_as_anyone(case, service)


@pytest.mark.security("X-10")
@schema.include(path_regex="/(account|cart|storefront/wishlists)").parametrize()
@ONE
def test_responses_to_generated_customer_requests_match_the_description(
    case: Any, service: Service, member: str
) -> None:
    call_with(member, case, service)


@pytest.mark.security("X-10")
@schema.include(path_regex=CATALOG).parametrize()
@SMALLEST
def test_responses_to_generated_catalog_requests_match_the_description(
    case: Any, service: Service, member: str
) -> None:
    call_catalog(member, case, service)


@pytest.mark.security("X-10")
@schema.include(path_regex="/platform/(orders|products)").parametrize()
@ONE
def test_responses_to_generated_application_requests_match_the_description(
    case: Any, service: Service, machine: str
) -> None:
    call_with(machine, case, service)


@pytest.mark.parametrize(
    ("schema", "field"),
    [("PriceFields", "amount"), ("RefundInput", "amount"), ("PriceListEntryFields", "amount")],
)
def test_an_amount_may_be_a_string_or_a_number(schema: str, field: str) -> None:
    amount = DESCRIPTION["components"]["schemas"][schema]["properties"][field]

    assert [part["type"] for part in amount["anyOf"]] == ["string", "number"]
