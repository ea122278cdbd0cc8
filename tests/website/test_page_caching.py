"""What caches may store: public pages, revalidated each time; never a page of one shopper.

The last tests have a real caching proxy in front of the shop, which stores whatever HTTP allows.
"""

import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from shop.web.endpoint import Route
from tests.accounts import Member, new_email, sign_in
from tests.builders import Make
from tests.checkout_builders import CheckoutSetup
from tests.db.processes import accessible_dir, until
from tests.programs import find_program
from tests.service import Service
from tests.web.test_nginx import free_port, wait_for_listener
from tests.website.catalog_pages import CatalogPage
from tests.website.full_account import PAGES, FullAccount, is_personal, is_public, new_full_account
from tests.website.visitor import CART, REFRESH, SESSION, VisitedPage, Visitor, signed_in_visitor
from tests.website.web_buyer import WebBuyer

PUBLIC_PAGES = [route for route in PAGES if is_public(route)]
PERSONAL_PAGES = [route for route in PAGES if is_personal(route)]
PLAIN, COMPRESSED = {"Accept-Encoding": "identity"}, {"Accept-Encoding": "gzip"}

OWN_PRICE = "Now $6.66 Before $13.37"


def path_of(route: Route) -> str:
    return route.path


@pytest.fixture(scope="module")
def accounts() -> dict[str, FullAccount]:
    return {}


@pytest.fixture
async def account(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any, accounts: dict[str, FullAccount]
) -> FullAccount:
    """Shared by all tests, which only read."""
    if "shared" not in accounts:
        accounts["shared"] = await new_full_account(http, checkout_setup, db)
    accounts["shared"].buyer.http = http
    return accounts["shared"]


async def new_customer_with_own_price(
    http: httpx2.AsyncClient, make: Make, variant_id: str, amount: str
) -> tuple[Member, Visitor]:
    member = await sign_in(http)
    await make.price_list(users=[await member.id()], entries={variant_id: amount})
    return member, signed_in_visitor(member)


# Public pages


@pytest.mark.parametrize("route", PUBLIC_PAGES, ids=path_of)
async def test_a_public_page_is_stored_and_revalidated(
    http: httpx2.AsyncClient, account: FullAccount, no_pending_changes: None, route: Route
) -> None:
    path = account.path(route)

    plain = await http.get(path, headers=PLAIN)
    compressed = await http.get(path, headers=COMPRESSED)
    again = [
        await http.get(path, headers={**accepted, "If-None-Match": page.headers["etag"]})
        for accepted, page in ((PLAIN, plain), (COMPRESSED, compressed))
    ]

    for page in (plain, compressed, *again):
        assert page.headers["cache-control"] == "public, no-cache"
        assert page.headers["vary"] == "Accept-Encoding, Cookie"
        assert "set-cookie" not in page.headers
    assert (plain.status_code, compressed.status_code) == (200, 200)
    assert ("content-encoding" in plain.headers, compressed.headers["content-encoding"]) == (False, "gzip")
    assert plain.headers["etag"] != compressed.headers["etag"]
    assert plain.text == compressed.text
    assert [(page.status_code, page.content) for page in again] == [(304, b"")] * 2
    assert [page.headers["etag"] for page in again] == [plain.headers["etag"], compressed.headers["etag"]]


async def test_the_tag_of_one_encoding_is_not_valid_for_the_other(
    http: httpx2.AsyncClient, account: FullAccount
) -> None:
    tag = (await http.get("/search", headers=COMPRESSED)).headers["etag"]

    page = await http.get("/search", headers={**PLAIN, "If-None-Match": tag})

    assert (page.status_code, page.text[:15]) == (200, "<!doctype html>")


async def test_a_changed_product_has_a_new_tag(http: httpx2.AsyncClient, make: Make) -> None:
    mug = await make.product("Mug", price="10.00", on_hand=50)
    path = f"/products/{mug.slug}"
    tag = (await http.get(path)).headers["etag"]

    await make.change("products", mug.id, "product", price="11.00")
    page = await http.get(path, headers={"If-None-Match": tag})

    assert page.status_code == 200
    assert "$11.00" in page.text
    assert page.headers["etag"] != tag


@pytest.mark.security("W-10")
async def test_a_cart_does_not_change_a_public_page(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, no_pending_changes: None
) -> None:
    buyer, product = WebBuyer(http, checkout_setup), await checkout_setup.product(on_hand=50)
    await buyer.add(product)
    path = f"/products/{product.slug}"

    own, other = await buyer.get(path), await Visitor(http).get(path)

    assert CART in buyer.cookies
    assert own.headers["etag"] == other.headers["etag"]
    assert own.text == other.text


@pytest.mark.security("W-10")
@pytest.mark.parametrize("route", PUBLIC_PAGES, ids=path_of)
async def test_no_cache_stores_a_page_that_was_opened_with_a_session(account: FullAccount, route: Route) -> None:
    page = await account.buyer.get(account.path(route), **{"If-None-Match": "*"})

    assert page.status == 200
    assert page.headers["cache-control"] == "private, no-store"
    assert "etag" not in page.headers


@pytest.mark.security("W-10")
async def test_a_session_that_has_ended_is_private_too(http: httpx2.AsyncClient) -> None:
    """Its response deletes the cookies, and a shared cache would delete those of others."""
    for cookies in ({SESSION: "x"}, {REFRESH: "x"}, {SESSION: "", REFRESH: ""}):
        page = await Visitor(http, **cookies).get("/")

        assert (page.status, page.headers["cache-control"]) == (200, "private, no-store")


@pytest.mark.security("W-10")
async def test_own_prices_are_shown_to_their_customer_only(http: httpx2.AsyncClient, make: Make) -> None:
    mug = await make.product("Mug", price="13.37", on_hand=50)
    path = f"/products/{mug.slug}"
    _, customer = await new_customer_with_own_price(http, make, mug.variant_id, "6.66")

    before, own, after = [await visitor.get(path) for visitor in (Visitor(http), customer, Visitor(http))]
    other = await signed_in_visitor(await sign_in(http)).get(path)

    prices = [CatalogPage(page.response).price for page in (before, own, after, other)]
    assert prices == ["$13.37", OWN_PRICE, "$13.37", "$13.37"]
    assert ["6.66" in page.text for page in (before, own, after, other)] == [False, True, False, False]
    assert "Your price from List " in own.text


# Personal pages


@pytest.mark.security("W-10")
@pytest.mark.parametrize("route", PERSONAL_PAGES, ids=path_of)
async def test_no_cache_stores_a_personal_page(http: httpx2.AsyncClient, account: FullAccount, route: Route) -> None:
    path = account.path(route)

    pages = [await visitor.get(path) for visitor in (account.buyer, Visitor(http))]

    for page in pages:
        assert page.status in {200, 303, 404}
        assert page.headers["cache-control"] == "no-store"
        assert "etag" not in page.headers


async def test_a_personal_page_is_compressed_for_those_who_ask(account: FullAccount) -> None:
    plain, compressed = [await account.buyer.get("/account", **accepted) for accepted in (PLAIN, COMPRESSED)]

    assert ("content-encoding" in plain.headers, compressed.headers["content-encoding"]) == (False, "gzip")
    assert plain.text == compressed.text


# A caching proxy

CONFIG = """
worker_processes 1;
pid {directory}/pid;
error_log {directory}/error.log;
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy;
  fastcgi_temp_path {directory}/fastcgi; uwsgi_temp_path {directory}/uwsgi; scgi_temp_path {directory}/scgi;
  proxy_cache_path {directory}/cache keys_zone=pages:1m;
  # nginx does not store what must be revalidated. It is told to, for one second, like a cache that revalidates; what
  # is private or must not be stored is not.
  map $upstream_http_cache_control $is_private {{ default 0; "~no-store|private" 1; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://{upstream};
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_cache pages;
      proxy_cache_key $scheme$http_host$request_uri;
      proxy_cache_valid 200 1s;
      proxy_cache_revalidate on;
      proxy_ignore_headers Cache-Control Expires;
      proxy_no_cache $is_private;
      add_header X-Cache $upstream_cache_status always;
    }}
  }}
}}
"""


@contextmanager
def run_caching_proxy(upstream: str) -> Iterator[str]:
    # As root the workers run under a separate account, which must be able to enter the directory.
    with accessible_dir() as directory:
        port = free_port()
        file = directory / "nginx.conf"
        file.write_text(CONFIG.format(directory=directory, port=port, upstream=upstream))
        log = str(directory / "error.log")
        command = [find_program("nginx"), "-c", str(file), "-p", str(directory), "-e", log, "-g", "daemon off;"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            wait_for_listener(process, port)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.communicate(timeout=20)


@pytest.fixture(scope="module")
def proxy_url(service: Service) -> Iterator[str]:
    with run_caching_proxy(urlsplit(service.url).netloc) as url:
        yield url


@pytest.fixture
async def proxy(proxy_url: str) -> AsyncIterator[httpx2.AsyncClient]:
    """A client whose requests pass the caching proxy."""
    async with httpx2.AsyncClient(base_url=proxy_url, timeout=20) as client:
        yield client


def cache_status(page: VisitedPage) -> str:
    return str(page.headers["x-cache"])


@pytest.mark.torture
async def test_a_proxy_stores_and_revalidates_a_public_page(
    proxy: httpx2.AsyncClient, make: Make, no_pending_changes: None
) -> None:
    mug = await make.product("Mug", price="10.00", on_hand=50)
    visitor, path = Visitor(proxy), f"/products/{mug.slug}"
    first, second = await visitor.get(path), await visitor.get(path)

    async def is_revalidated() -> bool:
        return cache_status(await visitor.get(path)) == "REVALIDATED"

    async def has_new_price() -> bool:
        return "$11.00" in (await visitor.get(path)).text

    assert (cache_status(first), cache_status(second)) == ("MISS", "HIT")
    assert first.text == second.text
    await until(is_revalidated)
    await make.change("products", mug.id, "product", price="11.00")
    await until(has_new_price)


@pytest.mark.security("W-10")
@pytest.mark.torture
async def test_a_proxy_never_shows_the_cart_of_another_guest(
    proxy: httpx2.AsyncClient, checkout_setup: CheckoutSetup
) -> None:
    buyers = [WebBuyer(proxy, checkout_setup) for _ in range(2)]
    names = ("Lantern of Ada", "Candle of Bob")
    for buyer, name in zip(buyers, names, strict=True):
        await buyer.go_to_review(await checkout_setup.product(name=name))

    for path in ("/cart", "/checkout/address", "/checkout/delivery", "/checkout/payment", "/checkout/review"):
        pages = [await buyer.get(path) for buyer in (*buyers, *buyers)]
        guest = await Visitor(proxy).get(path)

        assert {cache_status(page) for page in (*pages, guest)} <= {"MISS", "EXPIRED", "BYPASS"}
        assert [[name in page.text for name in names] for page in pages] == [[True, False], [False, True]] * 2
        assert not any(name in guest.text for name in names)


@pytest.mark.security("W-10")
@pytest.mark.torture
async def test_a_proxy_never_shows_the_pages_of_another_customer(
    proxy: httpx2.AsyncClient, http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    owner = await new_full_account(http, checkout_setup, db)
    owner.buyer.http = proxy
    other, guest = signed_in_visitor(await sign_in(http)), Visitor(proxy)
    other.http = proxy
    hidden = [owner.member.email, "1 Main Street"]
    leaks = []

    for route in PAGES:
        path = owner.path(route)
        await owner.buyer.get(path)
        own = await owner.buyer.get(path)
        for visitor in (other, guest):
            page = await visitor.get(path)
            leaks += [f"{path}: {word}" for word in hidden if word in page.text]
        if is_personal(route):
            assert cache_status(own) in {"MISS", "EXPIRED", "BYPASS"}, route.path

    assert leaks == []


@pytest.mark.security("W-10")
@pytest.mark.torture
@pytest.mark.parametrize("who_is_first", ["guest", "customer"])
async def test_a_proxy_never_mixes_own_prices_with_public_ones(
    proxy: httpx2.AsyncClient, http: httpx2.AsyncClient, make: Make, who_is_first: str
) -> None:
    mug = await make.product("Mug", price="13.37", on_hand=50)
    path = f"/products/{mug.slug}"
    member, customer = await new_customer_with_own_price(http, make, mug.variant_id, "6.66")
    customer.http = proxy
    visitors = [Visitor(proxy), customer]

    for visitor in visitors * 3 if who_is_first == "guest" else visitors[::-1] * 3:
        page = await visitor.get(path)
        assert CatalogPage(page.response).price == (OWN_PRICE if visitor is customer else "$13.37")
        assert visitor is not customer or cache_status(page) != "HIT"
    assert member.access_token == customer.cookies[SESSION]


@pytest.mark.security("W-10")
@pytest.mark.torture
async def test_a_proxy_never_gives_the_cookies_of_a_sign_in_to_others(
    proxy: httpx2.AsyncClient, http: httpx2.AsyncClient, db: Any
) -> None:
    member = await sign_in(http, new_email())
    customer, guest = signed_in_visitor(member), Visitor(proxy)
    customer.http = proxy
    await db.execute(
        """update access_tokens set expires_at = now() - interval '1 second'
        where session_id in (select id from sessions where user_id = $1)""",
        await member.id(),
    )

    refreshed = await customer.get("/search")
    pages = [await guest.get("/search") for _ in range(3)]

    assert {SESSION, REFRESH} <= refreshed.cookies.keys()
    assert [page.cookies for page in pages] == [{}] * 3
    assert guest.cookies == {}


@pytest.mark.torture
@pytest.mark.security("W-14")
@pytest.mark.parametrize("path", ["/", "/robots.txt"])
async def test_a_proxy_never_shows_the_addresses_of_a_forged_host(proxy: httpx2.AsyncClient, path: str) -> None:
    forged = await proxy.get(path, headers={"Host": "evil.example"})
    page = await proxy.get(path)

    assert "http://evil.example/" in forged.text
    assert "evil.example" not in page.text
