"""Generated requests, valid and not, are answered as the description says: seeded, and small enough for every run."""

from typing import Any

import schemathesis
from hypothesis import settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from shop.site.reference import describe
from shop.storefront.resources.known import RESOURCES
from shop.storefront.routes import ROUTES
from tests.service import Service

schema = schemathesis.openapi.from_dict(describe(ROUTES, RESOURCES))


@schema.parametrize()
@settings(max_examples=20, derandomize=True, deadline=None)
def test_generated_requests_are_answered_as_described(case: Any, service: Service) -> None:
    # That a key was used before is a fact of the shop's past, which no schema of a request can tell.
    case.call_and_validate(base_url=service.url, excluded_checks=[positive_data_acceptance])
