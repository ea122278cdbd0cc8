"""The boundary values of every field, over HTTP: thousands of requests, which are generated before the first test runs.

The module is collected only where its tests run.
"""

from typing import Any

import pytest
import schemathesis

from shop.app.routes import documented_apis
from shop.site.reference import build_openapi
from tests.service import Service
from tests.site.test_description import (
    CATALOG,
    SMALL,
    SMALLEST,
    call_as_anyone,
    call_catalog,
    call_with,
    machine,
    member,
)

__all__ = ["machine", "member"]
pytestmark = pytest.mark.torture
schema = schemathesis.openapi.from_dict(build_openapi(documented_apis()))


@pytest.mark.security("X-10")
@schema.exclude(path_regex=f"/platform/|{CATALOG}").parametrize()
@SMALL
def test_responses_to_boundary_values_match_the_description(case: Any, service: Service) -> None:
    call_as_anyone(case, service)


@schema.include(path_regex="/(account|cart|storefront/wishlists)").parametrize()
@SMALL
def test_responses_to_boundary_values_of_customers_match_the_description(
    case: Any, service: Service, member: str
) -> None:
    call_with(member, case, service)


@schema.include(path_regex=CATALOG).parametrize()
@SMALL
def test_responses_to_boundary_values_of_the_catalog_match_the_description(
    case: Any, service: Service, member: str
) -> None:
    call_catalog(member, case, service)


@pytest.mark.security("X-10")
@schema.include(path_regex="/platform/").parametrize()
@SMALLEST
def test_responses_to_boundary_values_of_applications_match_the_description(
    case: Any, service: Service, machine: str
) -> None:
    call_with(machine, case, service)
