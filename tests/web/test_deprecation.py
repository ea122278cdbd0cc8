"""Deprecated parts are marked in every response, in the log with the caller, in the metrics and the description."""

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import httpx2
import pytest

from shop.cli.routes import every_route
from tests.platform.client import Machine
from tests.service import Service
from tests.shopper import PREFIX

STORE = f"{PREFIX}/stores/default"


@pytest.mark.security("H-06")
async def test_a_deprecated_route_sends_its_dates_and_logs_the_caller(
    http: httpx2.AsyncClient, service: Service
) -> None:
    old, new = await http.get(STORE), await http.get(f"{PREFIX}/store")
    metrics = (await http.get("/metrics")).text

    since = datetime.fromtimestamp(int(old.headers["deprecation"].removeprefix("@")), UTC)
    assert parsedate_to_datetime(old.headers["sunset"]) - since >= timedelta(days=180)
    policy, relation = old.headers["link"].split("; ")[:2]
    page, _, anchor = policy.strip("<>").partition("#")
    assert (relation, f'id="{anchor}"' in (await http.get(page)).text) == ('rel="deprecation"', True)
    assert not {"deprecation", "sunset"} & set(new.headers)
    assert f'shop_deprecated_requests_total{{caller="guest",method="GET",route="{PREFIX}/stores/{{code}}"}}' in metrics
    line = service.request_line(old.headers["x-request-id"])
    assert line["deprecated_for"] == "guest"
    assert "deprecated_for" not in service.request_line(new.headers["x-request-id"])


@pytest.mark.security("H-06")
async def test_a_requested_deprecated_attribute_sends_its_dates(
    http: httpx2.AsyncClient, service: Service, writer: Machine
) -> None:
    answers = [
        await http.get(
            f"/api/v2/platform/store_credits{query}", headers={"Authorization": f"Bearer {writer.access_token}"}
        )
        for query in ("?fields[store_credit]=amount,display_amount_left", "?fields[store_credit]=amount", "")
    ]

    assert [("sunset" in answer.headers) for answer in answers] == [True, False, False]
    line = service.request_line(answers[0].headers["x-request-id"])
    assert line["deprecated_for"].startswith("application ")
    schemas = (await http.get("/openapi.json")).json()["components"]["schemas"]
    parts = {name: part for name, part in schemas.items() if "amount_left" in part.get("properties", {})}
    assert [part["properties"]["amount_left"]["deprecated"] for part in parts.values()] == [True]


@pytest.mark.security("H-06")
async def test_the_description_marks_deprecated_routes(http: httpx2.AsyncClient) -> None:
    paths = (await http.get("/openapi.json")).json()["paths"]

    routes = {(route.method.lower(), route.path) for route in every_route() if route.deprecated}
    assert routes == {("get", f"{PREFIX}/stores/{{code}}")}
    for method, path in routes:
        assert paths[path][method]["deprecated"] is True
        assert "Deprecated since" in paths[path][method]["description"]
