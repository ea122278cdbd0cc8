"""What is deprecated says so: in every response, in the log with its caller, in the metrics and in the description."""

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import httpx
import pytest

from shop.cli.routes import every_route
from tests.service import Service
from tests.shopper import PREFIX

STORE = f"{PREFIX}/stores/default"


@pytest.mark.security("H-06")
async def test_a_deprecated_route_names_its_dates_and_its_caller(http: httpx.AsyncClient, service: Service) -> None:
    old, new = await http.get(STORE), await http.get(f"{PREFIX}/store")
    metrics = (await http.get("/metrics")).text

    since = datetime.fromtimestamp(int(old.headers["deprecation"].removeprefix("@")), UTC)
    assert parsedate_to_datetime(old.headers["sunset"]) - since >= timedelta(days=180)
    assert 'rel="deprecation"' in old.headers["link"]
    assert not {"deprecation", "sunset"} & set(new.headers)
    assert f'shop_deprecated_requests_total{{caller="guest",method="GET",route="{PREFIX}/stores/{{code}}"}}' in metrics
    line = service.request_line(old.headers["x-request-id"])
    assert line["deprecated_for"] == "guest"
    assert "deprecated_for" not in service.request_line(new.headers["x-request-id"])


@pytest.mark.security("H-06")
async def test_the_description_marks_what_is_deprecated(http: httpx.AsyncClient) -> None:
    paths = (await http.get("/openapi.json")).json()["paths"]

    marked = {(route.method.lower(), route.path) for route in every_route() if route.deprecated}
    assert marked == {("get", f"{PREFIX}/stores/{{code}}")}
    for method, path in marked:
        assert paths[path][method]["deprecated"] is True
        assert "Deprecated since" in paths[path][method]["description"]
