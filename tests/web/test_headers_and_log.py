"""Headers of every response and fields of every log line, whatever the endpoint."""

import json
import re
from typing import Any

import httpx2
import pytest

from tests.service import Service
from tests.shopper import Shopper

CART = "/api/v2/storefront/cart"
EVERY_KIND = [
    ("POST", CART, 201),
    ("GET", CART, 401),
    ("PUT", CART, 405),
    ("GET", "/api/v2/nowhere", 404),
    ("GET", "/livez", 200),
    ("GET", "/readyz", 200),
    ("GET", "/openapi.json", 200),
    ("GET", "/metrics", 200),
]


@pytest.mark.security("H-09")
@pytest.mark.parametrize(("method", "path", "status"), EVERY_KIND)
async def test_every_response_has_the_security_headers(
    http: httpx2.AsyncClient, method: str, path: str, status: int
) -> None:
    response = await http.request(method, path)

    assert response.status_code == status
    assert response.headers["strict-transport-security"] == "max-age=31536000; includeSubDomains"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["referrer-policy"] == "no-referrer"
    assert "frame-ancestors 'none'" in response.headers["content-security-policy"]
    assert response.headers["x-request-id"]
    assert "set-cookie" not in response.headers


async def test_a_path_may_end_in_a_slash(http: httpx2.AsyncClient) -> None:
    cart = await http.post(f"{CART}/")
    token = {"X-Spree-Order-Token": cart.json()["data"]["attributes"]["token"]}
    products = await http.get("/api/v2/storefront/products/", params={"per_page": 1})
    statuses = {
        path: (await http.get(path, headers=token)).status_code
        for path in (f"{CART}/", "/api/v2/storefront/countries/us/", "/livez/", f"{CART}//", "/nowhere/")
    }
    wrong = await http.put(f"{CART}/")

    assert (cart.status_code, products.status_code) == (201, 200)
    assert list(statuses.values()) == [200, 200, 200, 404, 404]
    assert (wrong.status_code, wrong.headers["allow"]) == (405, (await http.put(CART)).headers["allow"])


@pytest.mark.security("H-07")
async def test_an_internal_error_shows_its_request_id_and_no_details(
    http: httpx2.AsyncClient, db: Any, service: Service
) -> None:
    await db.execute("""
        create function break() returns trigger language plpgsql as $$
        begin raise exception 'a secret of the database' using errcode = 'XX000'; end $$;
        create trigger break before insert on orders for each row execute function break();
    """)
    try:
        answer = await http.post(CART)
    finally:
        await db.execute("drop trigger break on orders; drop function break()")

    request_id = answer.headers["x-request-id"]
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    assert answer.json().keys() == {"error", "code", "request_id"}
    assert answer.json()["request_id"] == request_id
    assert not {"secret", "insert", "orders", "asyncpg", "Traceback"} & set(re.findall(r"\w+", answer.text))
    failure, request = (
        json.loads(service.wait_for(lambda line, event=event: f'"event":"{event}"' in line and request_id in line))
        for event in ("failure", "request")
    )
    assert "a secret of the database" in failure["exception"]
    assert request["status"] == 500


@pytest.mark.security("T-07")
async def test_responses_with_a_token_are_not_cacheable(http: httpx2.AsyncClient) -> None:
    assert (await http.post(CART)).headers["cache-control"] == "no-store"
    assert (await http.get(CART)).headers["cache-control"] == "no-store"


@pytest.mark.security("H-07")
async def test_errors_have_the_media_type_of_their_api_and_are_pages_on_the_website(http: httpx2.AsyncClient) -> None:
    assert (await http.get(CART)).headers["content-type"].startswith("application/vnd.api+json")
    assert (await http.get("/api/v2/nowhere")).headers["content-type"].startswith("application/vnd.api+json")
    assert (await http.get("/mailbox.json", params={"a[": "1"})).headers["content-type"].startswith("application/json")
    assert (await http.get("/nowhere")).headers["content-type"].startswith("text/html")


async def test_a_valid_request_id_is_kept_and_an_invalid_one_replaced(http: httpx2.AsyncClient) -> None:
    response = await http.post(CART, headers={"X-Request-Id": "checkout-42.a_B"})
    assert response.headers["x-request-id"] == "checkout-42.a_B"

    for invalid_id in ("", "a b", "x" * 129, '"}{"', "a;b"):
        new_id = (await http.post(CART, headers={"X-Request-Id": invalid_id})).headers["x-request-id"]
        assert new_id != invalid_id
        assert len(new_id) == 24


@pytest.mark.security("A-01")
async def test_a_request_is_one_log_line_with_its_route_and_without_secrets(guest: Shopper, service: Service) -> None:
    await guest.post("/cart")
    answer = await guest.get("/cart?secret=hunter2", headers={"X-Request-Id": "one-line-please"})

    line = service.request_line("one-line-please")
    assert {name: line[name] for name in ("event", "method", "route", "status", "statements", "who", "source")} == {
        "event": "request",
        "method": "GET",
        "route": CART,
        "status": 200,
        "statements": 1,
        "who": "order",
        "source": "127.0.0.1",
    }
    assert line["ms"] > 0
    log_text = "".join(service.lines)
    assert log_text.count("one-line-please") == 1
    assert "hunter2" not in log_text
    assert answer["token"] not in log_text


@pytest.mark.security("A-02")
async def test_header_and_path_values_cannot_forge_a_log_line(http: httpx2.AsyncClient, service: Service) -> None:
    forgery = '{"event":"request","request_id":"forged"}'
    await http.post(CART, headers={"User-Agent": forgery, "X-Forwarded-For": forgery})
    await http.get("/" + "%0a%7b%22forged%22%7d")
    marker = await http.get("/livez")

    service.request_line(marker.headers["x-request-id"])
    assert not any("forged" in line for line in service.lines)
    for line in service.lines:
        if line.startswith("{"):
            json.loads(line)


@pytest.mark.security("A-01")
async def test_an_unknown_path_is_logged_without_the_path(http: httpx2.AsyncClient, service: Service) -> None:
    response = await http.get("/api/v2/storefront/auth/shpat_secret")

    assert "shpat_secret" not in json.dumps(service.request_line(response.headers["x-request-id"]))


@pytest.mark.security("H-08")
async def test_a_listed_origin_may_read_and_others_may_not(http: httpx2.AsyncClient) -> None:
    response = await http.post(CART, headers={"Origin": "https://store.example"})
    assert response.headers["access-control-allow-origin"] == "https://store.example"
    assert response.headers["vary"] == "Origin"
    assert "access-control-allow-credentials" not in response.headers

    for origin in ("null", "https://store.example.evil.example", "http://store.example", "https://evil.example", "*"):
        other = await http.post(CART, headers={"Origin": origin})
        assert "access-control-allow-origin" not in other.headers
        assert other.headers["vary"] == "Origin"


async def test_a_listed_origin_may_read_errors_too(http: httpx2.AsyncClient) -> None:
    for path in (CART, "/api/v2/storefront/nowhere"):
        response = await http.get(path, headers={"Origin": "https://store.example"})
        assert response.headers["access-control-allow-origin"] == "https://store.example"


@pytest.mark.security("H-08")
async def test_a_preflight_is_answered_for_the_storefront_only(http: httpx2.AsyncClient) -> None:
    request_headers = {"Origin": "https://store.example", "Access-Control-Request-Method": "POST"}

    preflight = await http.options(CART, headers=request_headers)
    elsewhere = await http.options("/livez", headers=request_headers)

    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-origin"] == "https://store.example"
    assert "POST" in preflight.headers["access-control-allow-methods"]
    assert "X-Shop-Order-Token" in preflight.headers["access-control-allow-headers"]
    assert "access-control-allow-origin" not in elsewhere.headers


async def test_metrics_count_requests_by_route(http: httpx2.AsyncClient) -> None:
    series = f'shop_request_seconds_count{{method="POST",route="{CART}",status="201"}}'

    async def count() -> float:
        lines: list[Any] = (await http.get("/metrics")).text.splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(series))

    before = await count()
    for _ in range(3):
        await http.post(CART)

    assert await count() == before + 3
