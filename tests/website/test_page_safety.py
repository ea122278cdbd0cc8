"""What attackers try on the website: forged forms, hostile input, redirects, and secrets of other people."""

import asyncio
import io
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import quote, unquote, urlencode

import httpx2
import pytest

from shop.actions.context import Shared
from shop.app.routes import unavailable_route
from shop.base.config.settings import read_settings
from shop.base.crypto.keys import parse_keys
from shop.db.pool import open_database
from shop.models.setup.shop import Shop
from shop.web.endpoint import EndpointContext, Route
from shop.web.log import configure_logging
from shop.web.router import Router
from shop.website.routes import website_routes
from tests.accounts import mailed_code, new_email, sign_in
from tests.checkout_builders import CheckoutSetup
from tests.http_client import NO_CERTIFICATES
from tests.sampling import first
from tests.service import KEYS, Service
from tests.website.full_account import (
    FILES,
    FORMS,
    LINKS,
    PAGES,
    STREAMS,
    FullAccount,
    fill_path,
    new_full_account,
    payment_token,
)
from tests.website.hostile_pages import (
    PROBE,
    SHAPES,
    VALUES,
    encode,
    encode_shape,
    find_faults,
    find_markup,
)
from tests.website.visitor import CART, COUNT, ORDER, PAYMENT, REFRESH, SESSION, VisitedPage, Visitor, signed_in_visitor
from tests.website.web_buyer import WebBuyer

FORM_TYPE = {"Content-Type": "application/x-www-form-urlencoded"}
FORGED_HEADERS: tuple[Mapping[str, str], ...] = (
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "null"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Referer": "https://evil.example/"},
    {},
)
POLICY = {
    "default-src": "'none'",
    "style-src": "'self'",
    "script-src": "'self'",
    "img-src": "'self' data:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "manifest-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "object-src": "'none'",
    "frame-ancestors": "'none'",
}
ELSEWHERE = (
    "https://evil.example/",
    "HTTPS://evil.example",
    "http:evil.example",
    "/./admin",
    "/account/%2E./admin",
    "/%2f%2fevil.example",
    "https:/evil.example",
    "//evil.example",
    "///evil.example",
    "////evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "\\/evil.example",
    "/\\/evil.example",
    "/\t/evil.example",
    "/\n/evil.example",
    "\t//evil.example",
    " //evil.example",
    "/%2f/evil.example/..//",
    "/./\\evil.example",
    "/..//evil.example",
    "/account/..//evil.example",
    "/account/../../evil.example",
    "//evil.example@127.0.0.1/",
    "//127.0.0.1@evil.example/",
    "/@evil.example:80//",
    "javascript:alert(1)",
    "java\nscript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:x",
    "/\u2215\u2215evil.example",
    "/\u3002evil.example",
    "//evil\u3002example",
    "/account\r\nLocation: https://evil.example",
    "?next=//evil.example",
    "#//evil.example",
    ";//evil.example",
    "/" + "a" * 5000,
    "/admin",
    "/admin/orders",
    "/api/v2/storefront/cart",
    "/mailbox",
    "/test_card/x",
)


FORWARDING_HEADERS = {
    "X-Forwarded-Host": "evil.example",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Port": "99",
    "X-Forwarded-Prefix": "/evil",
    "X-Host": "evil.example",
    "X-Original-URL": "/admin",
    "X-Rewrite-URL": "/admin",
    "X-HTTP-Method-Override": "POST",
    "Forwarded": "host=evil.example;proto=https",
    "Accept-Language": "de",
    "Origin": "https://evil.example",
}


def name_of(route: Route) -> str:
    return f"{route.method} {route.path}"


@pytest.fixture(scope="module")
def accounts() -> dict[str, FullAccount]:
    """The account that the tests share which change nothing."""
    return {}


@pytest.fixture
async def account(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any, accounts: dict[str, FullAccount]
) -> FullAccount:
    if "shared" not in accounts:
        accounts["shared"] = await new_full_account(http, checkout_setup, db)
    shared = accounts["shared"]
    shared.buyer.http = http
    return shared


@pytest.fixture
async def own_account(http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any) -> FullAccount:
    """An account that a test may change."""
    return await new_full_account(http, checkout_setup, db)


def cookie_header(visitor: Visitor) -> dict[str, str]:
    return {"Cookie": "; ".join(f"{name}={value}" for name, value in visitor.cookies.items())}


# Forged forms


@pytest.mark.security("W-02")
@pytest.mark.parametrize("route", FORMS, ids=name_of)
async def test_a_form_of_another_site_changes_nothing(
    http: httpx2.AsyncClient, account: FullAccount, db: Any, route: Route
) -> None:
    path, cookies = account.path(route), cookie_header(account.buyer)
    mails = await http.get("/mailbox.json", params={"to": account.member.email})
    before = await account.rows(db)

    answers = [await http.post(path, data=account.fields, headers={**cookies, **headers}) for headers in FORGED_HEADERS]

    assert [answer.status_code for answer in answers] == [403] * len(FORGED_HEADERS)
    assert [answer.headers.get_list("set-cookie") for answer in answers] == [[]] * len(FORGED_HEADERS)
    assert await account.rows(db) == before
    assert (await http.get("/mailbox.json", params={"to": account.member.email})).json() == mails.json()


@pytest.mark.security("W-02")
async def test_the_same_forms_of_our_own_site_are_not_refused(own_account: FullAccount, db: Any) -> None:
    """Proves that the forged forms were refused for their origin only."""
    last = ("/checkout/complete", "/move", "/remove", "{id}/end", "/delete", "/sign-out")
    routes = sorted(FORMS, key=lambda route: [route.path.endswith(end) for end in reversed(last)])
    before = await own_account.rows(db)

    statuses = {
        name_of(route): (await own_account.buyer.post(own_account.path(route), own_account.fields)).status
        for route in routes
    }

    # What was moved or ended cannot be removed or ended again.
    assert {name: status for name, status in statuses.items() if status not in {200, 303, 404, 422}} == {}
    assert list(statuses.values()).count(303) > len(FORMS) / 2
    assert await own_account.rows(db) != before


@pytest.mark.security("W-02")
@pytest.mark.parametrize("route", PAGES, ids=name_of)
async def test_opening_a_page_changes_nothing(account: FullAccount, db: Any, route: Route) -> None:
    """A link of another site, or a prefetch of the browser, opens pages with the cookies of the shopper."""
    before = await account.rows(db)

    page = await account.buyer.get(account.path(route))

    assert page.status in {200, 303, 404}
    assert await account.rows(db) == before


# Headers and cookies


def policy_of(page: VisitedPage) -> dict[str, str]:
    parts = (part.strip().partition(" ") for part in page.headers["content-security-policy"].split(";"))
    return {name: sources for name, _, sources in parts}


@pytest.mark.security("W-03", "W-04")
@pytest.mark.parametrize("route", PAGES, ids=name_of)
async def test_every_page_has_the_strict_policy(http: httpx2.AsyncClient, account: FullAccount, route: Route) -> None:
    pages = [await visitor.get(account.path(route)) for visitor in (account.buyer, Visitor(http))]

    for page in pages:
        headers = page.headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert "unsafe" not in headers["content-security-policy"]
        assert policy_of(page)["frame-ancestors"] == "'none'"
        if headers.get("content-type", "").startswith("text/html"):
            assert policy_of(page) == POLICY
            assert find_markup(page.text) == []


@pytest.mark.security("W-03", "W-04", "W-10")
async def test_error_pages_have_the_strict_policy_too(http: httpx2.AsyncClient, buyer: WebBuyer) -> None:
    visitor = Visitor(http)
    pages = [
        await visitor.get("/no/such/page"),
        await visitor.get("/order-status/x"),
        await visitor.get("/order-payment/x"),
        await visitor.post("/search"),
        await visitor.post("/cart/items", None, **{"Sec-Fetch-Site": "cross-site"}),
        await visitor.post("/cart/items", {"variant_id": "x"}),
        await visitor.post("/sign-in", {"email": "x"}),
        await visitor.post("/sign-in", {"email": "x" * 70_000}),
    ]

    assert [page.status for page in pages] == [404, 410, 410, 405, 403, 422, 422, 413]
    assert [policy_of(page) for page in pages] == [POLICY] * len(pages)
    assert [page.headers["referrer-policy"] for page in pages] == ["same-origin"] * len(pages)
    assert [page.headers["cache-control"] for page in pages] == ["no-store"] * len(pages)
    assert [page.headers.get("allow") for page in pages[2:5]] == [None, "GET, HEAD", None]


@pytest.mark.security("W-03", "H-07")
async def test_a_worker_that_waits_for_the_database_shows_an_error_page() -> None:
    configure_logging("error", "json", io.TextIOWrapper(io.BytesIO()))
    database = open_database("postgresql://nowhere.invalid/shop", size=1)
    shared = Shared(database, parse_keys(KEYS), Shop(currencies=[]), read_settings({}), asyncio.Event())
    routes = map(unavailable_route, website_routes(lambda: shared, is_on=True))
    transport = httpx2.ASGITransport(Router(EndpointContext(shared), routes))

    async with httpx2.AsyncClient(transport=transport, base_url="http://shop", verify=NO_CERTIFICATES) as client:
        pages = [VisitedPage(await client.get(path)) for path in ("/", "/cart", "/products/mug", "/no/such/page")]
        styles = [await client.get(path) for path in re.findall(r'"(/website/[^"]+)"', pages[0].text)]

    assert [page.status for page in pages] == [503, 503, 503, 404]
    assert [page.headers.get("retry-after") for page in pages] == ["5", "5", "5", None]
    assert [policy_of(page) for page in pages] == [POLICY] * len(pages)
    assert "We will be right back" in pages[0].text
    assert [style.status_code for style in styles] == [200, 200]


@pytest.fixture
def buyer(http: httpx2.AsyncClient, checkout_setup: CheckoutSetup) -> WebBuyer:
    return WebBuyer(http, checkout_setup)


@pytest.mark.security("W-01")
async def test_every_cookie_is_for_this_host_only(buyer: WebBuyer, checkout_setup: CheckoutSetup, db: Any) -> None:
    headers: list[str] = []

    class NotingBuyer(WebBuyer):
        async def _ask(self, *arguments: Any, **options: Any) -> VisitedPage:
            page = await super()._ask(*arguments, **options)
            headers.extend(page.response.headers.get_list("set-cookie"))
            return page

    noting_buyer = NotingBuyer(buyer.http, checkout_setup)
    number = await noting_buyer.buy(await checkout_setup.product())
    await noting_buyer.get(f"/order-payment/{await payment_token(db, number)}")
    await noting_buyer.add(await checkout_setup.product())
    await noting_buyer.sign_in()
    await noting_buyer.post("/sign-out")

    assert {header.partition("=")[0] for header in headers} == {CART, COUNT, ORDER, PAYMENT, SESSION, REFRESH}
    for header in headers:
        name, *attributes = (part.partition("=")[0] for part in header.split("; "))
        assert name.startswith("__Host-")
        assert header.endswith("SameSite=Lax")
        is_readable = name == COUNT and "Max-Age=0" not in header
        assert attributes == ["Max-Age", "Path", "Secure", *([] if is_readable else ["HttpOnly"]), "SameSite"]
        assert "; Path=/; " in header
        # The number of items is the only cookie that scripts can read.
        assert name != COUNT or re.match(r"__Host-shop_count=\d*;", header)


@pytest.mark.security("W-01")
@pytest.mark.parametrize("space", [b"\xa0", b"\x85", b"\xc2\xa0", b"\xe2\x80\x80"])
async def test_white_space_before_the_name_makes_another_cookie(
    http: httpx2.AsyncClient, account: FullAccount, space: bytes
) -> None:
    """Its name does not begin with `__Host-`, so browsers let other hosts of the domain set it."""
    cookies = b"; ".join(space + f"{name}={value}".encode() for name, value in account.buyer.cookies.items())

    page = await http.get("/account", headers=[(b"Cookie", cookies)])

    assert (page.status_code, page.headers["location"]) == (303, "/sign-in?next=/account")


@pytest.mark.security("W-01")
async def test_a_cookie_that_was_sent_with_two_values_is_ignored(
    http: httpx2.AsyncClient, account: FullAccount
) -> None:
    """Someone else has set one of them."""
    other = signed_in_visitor(await sign_in(http))
    cookies = f"{SESSION}={account.buyer.cookies[SESSION]}; {SESSION}={other.cookies[SESSION]}"

    page = await http.get("/account", headers={"Cookie": cookies})

    assert (page.status_code, page.headers["location"]) == (303, "/sign-in?next=/account")


# Redirects


@pytest.mark.security("W-05")
@pytest.mark.parametrize("number", first(12, range(len(ELSEWHERE))))
async def test_sign_in_never_leads_to_another_site(http: httpx2.AsyncClient, account: FullAccount, number: int) -> None:
    target = ELSEWHERE[number]
    query = quote(target, safe="")

    redirect = await account.buyer.get(f"/sign-in?next={query}")
    form = (await Visitor(http).get(f"/sign-in?next={query}")).form("request_sign_in_code")
    again = await Visitor(http).post("/sign-in", {"email": "x", "next": target})
    code_page = await Visitor(http).post("/sign-in/code", {"email": "a@b.example", "code": "x", "next": target})

    assert redirect.location == "/account"
    pages = [form, again.form("request_sign_in_code"), code_page.form("sign_in")]
    assert [page["next"] for page in pages] == ["/account"] * 3


@pytest.mark.security("W-05")
async def test_the_referer_of_a_form_never_leads_to_another_site(http: httpx2.AsyncClient) -> None:
    for target in ("https://evil.example//evil.example/", "https://evil.example/\\evil", "https://x/admin", "x"):
        page = await Visitor(http).post("/account/profile", {"first_name": "x" * 20_000}, Referer=target)

        assert page.status == 401
        assert page.form("request_sign_in_code")["next"] == "/account"


@pytest.mark.security("W-11")
async def test_a_kept_form_is_sent_to_our_own_forms_only(http: httpx2.AsyncClient) -> None:
    visitor, email = Visitor(http), new_email()
    for target in ("/admin/orders", "//evil.example/account/x", "/api/v2/storefront/cart", "/sign-out", "https://x/y"):
        page = await visitor.post("/sign-in", {"email": email, "next": target, "resume": "a=1"})

        form = page.form("sign_in")
        assert (form["next"], "resume" in dict(form.fields)) == ("/account", False)


@pytest.mark.security("W-14")
async def test_a_forged_host_is_not_in_the_pages_of_others(http: httpx2.AsyncClient) -> None:
    forged = await http.get("/", headers={"Host": "evil.example"})
    broken = await http.get("/", headers={"Host": f'"><{PROBE}>'})
    page = await http.get("/")

    assert "evil.example" in forged.text
    assert find_markup(broken.text) == []
    assert "evil.example" not in page.text


@pytest.mark.security("W-14")
@pytest.mark.parametrize("path", ["/", "/robots.txt"])
async def test_no_forwarding_header_changes_a_page(http: httpx2.AsyncClient, path: str) -> None:
    """A shared cache would give the page of one visitor to others."""
    tag = (await http.get(path)).headers["etag"]

    pages = {name: await http.get(path, headers={name: value}) for name, value in FORWARDING_HEADERS.items()}

    assert {name: page.headers["etag"] for name, page in pages.items()} == dict.fromkeys(FORWARDING_HEADERS, tag)


# Hostile input


async def send_everywhere(account: FullAccount, http: httpx2.AsyncClient, body: str, value: str) -> AsyncIterator[str]:
    """Sends the fields to every route as the shopper and as a guest, to what the shopper has and to what nobody has."""
    cookies = cookie_header(account.buyer)
    hostile = dict.fromkeys(("id", "number", "token", "slug", "permalink", "name"), value or "%20")
    for route in (*PAGES, *FORMS):
        # Without a session there is nothing left to test.
        visitors = [{}] if route.path in {"/sign-out", "/account/sessions/{id}/end"} else [cookies, {}]
        paths = dict.fromkeys((quote(account.path(route), safe="/"), fill_path(route.path, hostile)))
        for path in paths:
            for headers in visitors:
                answer = await send(http, route, path, body, headers)
                for fault in find_faults(answer):
                    yield f"{name_of(route)} at {path[:80]}: {fault}"


async def send(http: httpx2.AsyncClient, route: Route, path: str, body: str, headers: Mapping[str, str]) -> Any:
    if route.method == "GET":
        url = http.base_url.copy_with(raw_path=f"{path}?{body}".encode()[:8000])
        return await http.get(url, headers=dict(headers))
    url = http.base_url.copy_with(raw_path=path.encode())
    same_origin = {"Sec-Fetch-Site": "same-origin", **FORM_TYPE}
    return await http.post(url, content=body.encode(), headers={**headers, **same_origin})


@pytest.mark.security("W-05", "W-06")
@pytest.mark.parametrize("name", first(1, VALUES))
async def test_hostile_values_break_no_page(http: httpx2.AsyncClient, own_account: FullAccount, name: str) -> None:
    value = VALUES[name]

    assert [fault async for fault in send_everywhere(own_account, http, encode(value), value)] == []


@pytest.mark.security("W-06")
@pytest.mark.parametrize("name", first(1, SHAPES))
async def test_fields_of_another_shape_break_no_page(
    http: httpx2.AsyncClient, own_account: FullAccount, name: str
) -> None:
    body = encode_shape(SHAPES[name])

    assert [fault async for fault in send_everywhere(own_account, http, body, "x")] == []


@pytest.mark.security("W-06")
@pytest.mark.torture
@pytest.mark.parametrize("name", ["markup 0", "NUL", "broken UTF-8", "huge number"])
async def test_one_hostile_field_among_valid_ones_breaks_no_page(
    http: httpx2.AsyncClient, own_account: FullAccount, name: str
) -> None:
    headers, faults = cookie_header(own_account.buyer), list[str]()
    for route in (route for route in FORMS if not route.path.endswith(("/sign-out", "/end", "/complete"))):
        for field in own_account.fields:
            others = urlencode({key: value for key, value in own_account.fields.items() if key != field})
            answer = await send(http, route, own_account.path(route), f"{others}&{field}={VALUES[name]}", headers)
            faults += [f"{name_of(route)}, {field}: {fault}" for fault in find_faults(answer)]

    assert faults == []


BODIES = {
    "JSON": (b'{"variant_id": {"a": []}, "email": 7}', "application/json"),
    "broken JSON": (b'{"a"', "application/json"),
    "text": (b"hello", "text/plain"),
    "file": (
        b'--x\r\nContent-Disposition: form-data; name="email"\r\n\r\na\r\n--x--',
        "multipart/form-data; boundary=x",
    ),
    "no type": (b"a=1", ""),
    "too many fields": ("&".join(f"k{n}=1" for n in range(2000)).encode(), FORM_TYPE["Content-Type"]),
    "bytes": (bytes(range(256)), FORM_TYPE["Content-Type"]),
    "nothing": (b"", FORM_TYPE["Content-Type"]),
}


@pytest.mark.parametrize("name", first(3, BODIES))
async def test_a_body_that_is_no_form_breaks_no_page(http: httpx2.AsyncClient, account: FullAccount, name: str) -> None:
    body, media = BODIES[name]
    faults: list[str] = []
    for route in (route for route in FORMS if not route.path.endswith(("/sign-out", "/end", "/delete"))):
        headers = {**cookie_header(account.buyer), "Sec-Fetch-Site": "same-origin", "Content-Type": media}
        answer = await http.post(
            fill_path(route.path, dict.fromkeys(("id", "number", "token"), "x")), content=body, headers=headers
        )
        faults += [f"{name_of(route)}: {fault}" for fault in find_faults(answer)]

    assert faults == []


@pytest.mark.security("W-01", "W-06")
@pytest.mark.parametrize("cookie", first(2, [SESSION, CART, REFRESH, ORDER, PAYMENT, COUNT]))
@pytest.mark.parametrize("name", first(1, ["markup 0", "broken UTF-8", "long text", "control characters", "empty"]))
async def test_a_forged_cookie_breaks_no_page(http: httpx2.AsyncClient, cookie: str, name: str) -> None:
    header = {"Cookie": f"{cookie}=".encode() + unquote(VALUES[name], "latin-1").encode("latin-1", "ignore")}
    values = dict.fromkeys(("id", "number", "token", "slug", "permalink", "name"), "x")
    faults: list[str] = []
    for route in PAGES:
        answer = await http.get(fill_path(route.path, values), headers=header)  # type: ignore[arg-type]
        faults += [f"{name_of(route)}: {fault}" for fault in find_faults(answer)]

    assert faults == []


# Secrets


@pytest.mark.security("W-01", "A-01")
async def test_no_page_contains_a_secret_of_its_shopper(
    http: httpx2.AsyncClient, account: FullAccount, service: Service
) -> None:
    """Cookies are the only place of these secrets: a page can be saved, printed and sent to someone."""
    secrets = [account.buyer.cookies[name] for name in (SESSION, REFRESH, ORDER)]
    secrets.append(account.values["/order-payment"]["token"])
    texts = []
    for route in (route for route in PAGES if route.path not in LINKS | STREAMS | FILES):
        page = await account.buyer.get(account.path(route))
        texts.append((name_of(route), page.text + page.location))
        service.request_line(page.headers["x-request-id"])

    assert [name for name, text in texts if any(secret in text for secret in secrets)] == []
    assert [line for line in service.lines if any(secret in line for secret in secrets)] == []


@pytest.mark.security("W-01", "A-01")
async def test_no_page_of_a_guest_contains_the_token_of_the_cart(
    buyer: WebBuyer, checkout_setup: CheckoutSetup, service: Service
) -> None:
    await buyer.go_to_review(await checkout_setup.product())
    token = buyer.cookies[CART]

    pages = [
        await buyer.get(path)
        for path in ("/", "/cart", *(f"/checkout/{step}" for step in ("address", "delivery", "payment", "review")))
    ]
    service.request_line(pages[-1].headers["x-request-id"])

    assert [page.status for page in pages] == [200] * 6
    assert [page for page in pages if token in page.text] == []
    assert [line for line in service.lines if token in line] == []


@pytest.mark.security("C-01")
async def test_nobody_sees_what_belongs_to_another_shopper(
    http: httpx2.AsyncClient, account: FullAccount, db: Any
) -> None:
    await db.execute("update wishlists set is_private = true where user_id = $1", account.user_id)
    stranger, guest = signed_in_visitor(await sign_in(http)), Visitor(http)
    owner = account.buyer.cookies
    hidden = [account.member.email, "1 Main Street", account.values["/orders"]["number"], owner[SESSION], owner[ORDER]]
    leaks = []

    for route in (route for route in PAGES if route.path not in LINKS):
        path = account.path(route)
        for visitor in (stranger, guest):
            page = await visitor.get(path)
            # A guest who opens the order returns to its address after sign-in.
            text = page.text.replace(path, "")
            leaks += [f"{name_of(route)}: {word}" for word in hidden if word in text]

    assert leaks == []


@pytest.mark.security("A-01")
async def test_the_code_is_only_in_the_mail(http: httpx2.AsyncClient, service: Service) -> None:
    visitor, email = Visitor(http), new_email()

    page = await visitor.submit(await visitor.get("/sign-in"), "request_sign_in_code", email=email)
    code = await mailed_code(http, email)
    signed_in = await visitor.submit(page, "sign_in", code=code)

    service.request_line(signed_in.headers["x-request-id"])
    # A code of six digits may be part of another number.
    texts = [page.text, str(page.headers), signed_in.location]
    assert [text for text in texts if re.search(rf"(?<!\w){code}(?!\w)", text)] == []
