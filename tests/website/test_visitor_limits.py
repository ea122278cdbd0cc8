"""What anonymous visitors can use up: the limits of the API count the forms of the website, and opening pages stores
nothing.
"""

import itertools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import pytest

from shop.db.rows import metadata
from tests.accounts import ask_for_code, exchange_code, new_email, sign_in
from tests.checkout_builders import CheckoutSetup
from tests.http_client import SharedTransport
from tests.rate_limits import assert_limited
from tests.service import KEYS, Service
from tests.shopper import PREFIX, Shopper
from tests.website.full_account import FORMS, PAGES, fill_path
from tests.website.visitor import CART, REFRESH, SESSION, VisitedPage, Visitor, signed_in_visitor

LIMIT = 3
# Windows of one day, so that a window hardly ever ends during a test.
LIMITS = {
    "SHOP_LIMIT_LOOPBACK": "1",
    "SHOP_LIMIT_MAILS_PER_SOURCE": f"{LIMIT}/86400",
    "SHOP_LIMIT_FAILURES_PER_SOURCE": f"{LIMIT}/86400",
    "SHOP_LIMIT_CARTS_PER_SOURCE": f"{LIMIT}/86400",
    "SHOP_LIMIT_COUPONS_PER_SOURCE": f"{LIMIT}/86400",
}
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def limited_service(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The same shop with small limits, behind a trusted proxy."""
    service = Service(
        SHOP_DATA_DIR=str(tmp_path_factory.mktemp("data")),
        SHOP_DATABASE_URL=database_url,
        SHOP_SECRET_KEYS=KEYS,
        SHOP_MAILBOX="on",
        SHOP_TRUSTED_PROXIES="127.0.0.1/32",
        SHOP_DRAIN_SECONDS="0",
        **LIMITS,
    )
    yield service
    service.stop()


@pytest.fixture
async def limited(limited_service: Service, shared_transport: SharedTransport) -> AsyncIterator[httpx2.AsyncClient]:
    """A client with a source of its own."""
    async with limited_service.client(transport=shared_transport) as client:
        client.headers["X-Forwarded-For"] = f"198.19.7.{next(_numbers)}"
        yield client


@pytest.mark.security("W-12", "H-05")
async def test_carts_of_the_api_and_of_the_website_count_together(
    limited: httpx2.AsyncClient, checkout_setup: CheckoutSetup
) -> None:
    product = await checkout_setup.product(on_hand=50)
    statuses = [(await Shopper(limited).post("/cart")).status for _ in range(LIMIT)]

    page = await Visitor(limited).post("/cart/items", {"variant_id": product.variant_id, "quantity": "1"})

    assert statuses == [201] * LIMIT
    assert_limited(page.response, "carts by source")
    assert page.cookies == {}


@pytest.mark.security("W-12", "H-05")
async def test_coupon_codes_are_guessed_over_the_website_as_rarely_as_over_the_api(
    limited: httpx2.AsyncClient, checkout_setup: CheckoutSetup
) -> None:
    product, visitor = await checkout_setup.product(on_hand=50), Visitor(limited)
    await visitor.post("/cart/items", {"variant_id": product.variant_id, "quantity": "1"})

    guesses = [(await visitor.post("/cart/coupon", {"coupon_code": f"guess-{n}"})).status for n in range(LIMIT)]
    page = await visitor.post("/cart/coupon", {"coupon_code": "another"})
    answer = await limited.patch(
        f"{PREFIX}/cart/apply_coupon_code",
        json={"coupon_code": "another"},
        headers={"X-Shop-Order-Token": visitor.cookies[CART]},
    )

    assert guesses == [422] * LIMIT
    assert_limited(page.response, "unknown coupons by source")
    assert_limited(answer, "unknown coupons by source")


@pytest.mark.security("W-12", "L-07")
async def test_wrong_login_codes_of_the_api_and_of_the_website_count_together(limited: httpx2.AsyncClient) -> None:
    statuses = [(await exchange_code(limited, new_email(), "123456")).status for _ in range(LIMIT)]

    page = await Visitor(limited).post("/sign-in/code", {"email": new_email(), "code": "123456"})

    assert statuses == [401] * LIMIT
    assert page.status == 429
    assert int(page.headers["retry-after"]) > 0
    assert "too many attempts" in page.text


@pytest.mark.security("W-12", "M-01")
async def test_login_e_mails_of_the_api_and_of_the_website_count_together(limited: httpx2.AsyncClient) -> None:
    statuses = [(await ask_for_code(limited, new_email())).status for _ in range(LIMIT)]
    email = new_email()

    page = await Visitor(limited).post("/sign-in", {"email": email})

    assert statuses == [200] * LIMIT
    assert page.status == 429
    assert (await limited.get("/mailbox.json", params={"to": email})).json() == []


async def is_over_the_limit(http: httpx2.AsyncClient) -> bool:
    for _ in range(LIMIT + 1):
        answer = await exchange_code(http, new_email(), "123456")
    return answer.status == 429


@pytest.mark.security("W-12")
async def test_a_source_over_its_limit_still_sees_the_catalog(
    http: httpx2.AsyncClient, limited: httpx2.AsyncClient, db: Any
) -> None:
    """Someone else at the same source, such as a large office, can have guessed codes."""
    member = await sign_in(http)
    customer = signed_in_visitor(member)
    await db.execute(
        """update access_tokens set expires_at = now() - interval '1 second'
        where session_id in (select id from sessions where user_id = $1)""",
        await member.id(),
    )
    assert await is_over_the_limit(limited)
    customer.http = limited

    pages = [await customer.get(path) for path in ("/", "/search", "/account")]
    customer.http = http
    later = await customer.get("/account")

    assert [page.status for page in pages] == [200, 200, 429]
    assert [page.headers["cache-control"] for page in pages[:2]] == ["private, no-store"] * 2
    assert [page.cookies for page in pages] == [{}] * 3
    assert (later.status, {SESSION, REFRESH} <= later.cookies.keys()) == (200, True)


async def count_rows(db: Any) -> dict[str, int]:
    """The number of rows of every table, except those that the worker fills from what earlier tests stored."""
    names = sorted(metadata.tables.keys() - {"order_listings", "webhook_attempts", "webhook_deliveries"})
    counts = ", ".join(f"(select count(*) from {name})" for name in names)
    return dict(zip(names, await db.fetchrow(f"select {counts}"), strict=True))


@pytest.mark.security("W-16")
async def test_opening_pages_and_sending_forms_without_an_account_stores_nothing(
    http: httpx2.AsyncClient, db: Any
) -> None:
    values = dict.fromkeys(("id", "number", "token", "slug", "permalink", "name"), "none")
    own_forms = [route for route in FORMS if route.path not in {"/sign-in", "/sign-in/code"}]
    before = await count_rows(db)

    pages: list[VisitedPage] = [await Visitor(http).get(fill_path(route.path, values)) for route in PAGES]
    answers = [await Visitor(http).post(fill_path(route.path, values), {"name": "x" * 9000}) for route in own_forms]

    assert {page.status for page in pages} == {200, 303, 404, 410}
    assert {answer.status for answer in answers} == {303, 401, 404, 422}
    # Rows may disappear meanwhile: the worker deletes what earlier tests stored.
    assert [name for name, count in (await count_rows(db)).items() if count > before[name]] == []
