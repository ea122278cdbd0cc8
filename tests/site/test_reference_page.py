"""The API reference at /docs: complete, without external resources, and with examples that work pasted and run."""

import json
import re
import subprocess
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from jsonschema import Draft202012Validator, FormatChecker  # type: ignore[import-untyped]
from playwright.async_api import expect

from shop.app.routes import documented_apis
from shop.jsonapi.examples import ExampleGenerator
from shop.site.docs_entries import EXAMPLE_VALUES
from shop.site.reference import build_openapi
from tests.accounts import sign_in
from tests.browser import LAPTOP, PHONE, SMALL_PHONE, Browser, accessibility_violations, scrolls_sideways, visit
from tests.service import KEYS, Service

DESCRIPTION = build_openapi(documented_apis())
CART_PAGE = "/docs/storefront-cart"
OPEN_ALL = "for (const part of document.querySelectorAll('details')) part.open = true"


class Reference(HTMLParser):
    """Pages without scripts: the resources they load, and the commands of each operation."""

    def __init__(self, *pages: str) -> None:
        super().__init__()
        self.sections: list[str] = []
        self.commands: dict[str, list[str]] = {}
        self.operations: dict[str, set[tuple[str, str]]] = {}
        self.resources: list[str] = []
        self.inline: dict[str, str] = {}
        self._article, self._is_command, self._inline = "", False, ""
        self._words: list[str] = []
        for page in pages:
            self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        self.resources += [
            str(attributes[name]) for name in ("src", "action", "data", "srcset") if attributes.get(name)
        ]
        self.resources += [str(attributes["href"])] if tag == "link" else []
        self._inline = tag if tag in {"style", "script"} else ""
        if tag == "a" and str(attributes["href"]).startswith("/docs/"):
            self.sections.append(str(attributes["href"]).partition("#")[0])
        if tag == "article":
            self._article = str(attributes["id"])
            self.commands[self._article] = []
        if tag == "pre" and attributes.get("class") == "curl":
            self._is_command = True
            self.commands[self._article].append("")

    def handle_endtag(self, tag: str) -> None:
        self._inline = ""
        self._is_command = self._is_command and tag != "pre"
        self._article = "" if tag == "article" else self._article

    def handle_data(self, data: str) -> None:
        if self._inline:
            self.inline[self._inline] = data
        if self._is_command:
            self.commands[self._article][-1] += data
        if self._article:
            self._words.append(data)
            operation = re.fullmatch(r"(GET|POST|PATCH|PUT|DELETE) (/\S+)", " ".join("".join(self._words[-3:]).split()))
            if operation:
                self.operations.setdefault(self._article, set()).add((operation[1], operation[2]))


@pytest.fixture(scope="module")
def reference(service: Service) -> Reference:
    first = service.get("/docs").text
    sections = dict.fromkeys(Reference(first).sections)
    return Reference(first, *(service.get(section).text for section in sections))


def paste(command: str, **variables: str) -> tuple[int, Any]:
    """The command as a reader pastes it, with its variables set: status and body."""
    result = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command + " -sS -w '\\n%{http_code}'"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", **variables},
    )
    assert result.returncode == 0, result.stderr
    body, _, status = result.stdout.rpartition("\n")
    return int(status), json.loads(body) if body else None


async def test_every_route_is_documented_with_commands(reference: Reference) -> None:
    operations = set().union(*reference.operations.values())

    assert operations == {
        (route.method, route.path.replace("*}", "}")) for api in documented_apis() for route in api.routes
    }
    assert all(reference.commands.values())


def csp_hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


@pytest.mark.parametrize("path", ["/docs", CART_PAGE])
async def test_a_page_loads_no_external_resources(http: httpx2.AsyncClient, path: str) -> None:
    answer = await http.get(path)
    page = Reference(answer.text)

    directives = [part.strip().split(" ") for part in answer.headers["content-security-policy"].split(";")]
    policy: dict[str, list[str]] = {name: sources for name, *sources in directives}
    assert page.resources == []
    assert policy == {
        "default-src": ["'none'"],
        "style-src": [csp_hash(page.inline["style"])],
        "script-src": [csp_hash(page.inline["script"])],
        "connect-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
        "frame-ancestors": ["'none'"],
    }


@pytest.mark.parametrize("path", ["/docs", CART_PAGE, "/docs/platform-orders", "/docs/operations.json"])
async def test_a_page_is_small_and_supports_conditional_requests(http: httpx2.AsyncClient, path: str) -> None:
    answer = await http.get(path, headers={"Accept-Encoding": "gzip"})
    tag = answer.headers["etag"]
    again = await http.get(path, headers={"Accept-Encoding": "gzip", "If-None-Match": tag})

    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) < 150_000
    assert answer.headers["cache-control"] == "no-cache"
    assert (again.status_code, again.content) == (304, b"")


async def test_an_unknown_section_is_404(http: httpx2.AsyncClient) -> None:
    assert (await http.get("/docs/storefront-nothing")).status_code == 404


@pytest.mark.parametrize(
    ("words", "summary"),
    [
        ("approve", "Approve an order"),
        ("refund", "Create a refund: refund a payment"),
        ("add item cart", "Add an item to the cart"),
        ("next checkout step", "Advance to the next checkout step"),
        ("ship", "Ship a shipment: mark it as shipped"),
    ],
)
async def test_operations_are_found_by_common_search_terms(
    http: httpx2.AsyncClient, reference: Reference, words: str, summary: str
) -> None:
    operations = (await http.get("/docs/operations.json")).json()

    matches = [row for row in operations if all(word in row["summary"].lower() for word in words.split())]
    assert summary in [row["summary"] for row in matches]
    assert all(row["page"].partition("#")[2] in reference.commands for row in operations)


@pytest.mark.parametrize("host", ["shop.example$(id)", "a;b", "<b>", "a b", '"x"'])
async def test_commands_never_show_an_invalid_host(http: httpx2.AsyncClient, host: str) -> None:
    page = (await http.get(CART_PAGE, headers={"Host": host})).text

    assert host not in page
    assert "curl http://localhost/api/v2/storefront/cart" in page


async def test_the_cart_examples_work_as_pasted(reference: Reference) -> None:
    (create_command,), (show_command,) = reference.commands["createCart"], reference.commands["showCart"]
    (delete_command,) = reference.commands["deleteCart"]

    status, cart = paste(create_command)
    token = cart["data"]["attributes"]["token"]
    response = paste(show_command, ORDER_TOKEN=token)

    assert (status, cart["data"]["attributes"]["currency"]) == (201, "EUR")
    assert response == (200, cart)
    assert paste(delete_command, ORDER_TOKEN=token) == (204, None)


async def test_the_sign_in_examples_work_as_pasted(reference: Reference) -> None:
    request_command, exchange_command, refresh_command = reference.commands["signIn"]

    status, notice = paste(request_command)

    assert (status, list(notice)) == (200, ["message"])
    # The example code and the example token are not valid.
    assert (paste(exchange_command)[0], paste(refresh_command)[0]) == (401, 401)


async def test_the_account_examples_work_as_pasted(http: httpx2.AsyncClient, reference: Reference) -> None:
    member = await sign_in(http)

    def run(name: str, **variables: str) -> tuple[int, Any]:
        (command,) = reference.commands[name]
        return paste(command, USER_TOKEN=member.access_token, **variables)

    assert run("showAccount")[1]["data"]["attributes"]["email"] == member.email
    assert run("updateAccount")[1]["data"]["attributes"]["first_name"] == "Grace"
    status, address = run("createAccountAddress")
    assert (status, address["data"]["attributes"]["country_iso3"]) == (200, "GBR")
    address_id = address["data"]["id"]
    assert run("listAccountAddresses")[1]["meta"]["total_count"] == 1
    assert run("showAccountAddress", ID=address_id) == (200, address)
    assert run("updateAccountAddress", ID=address_id)[0] == 200
    assert run("deleteAccountAddress", ID=address_id) == (204, None)
    assert run("listAccountOrders")[0] == 200
    assert run("listAccountSessions")[1]["meta"]["count"] == 1


async def test_the_sign_out_and_revocation_examples_work_as_pasted(
    http: httpx2.AsyncClient, reference: Reference
) -> None:
    member, other = await sign_in(http), await sign_in(http)
    (sign_out_command,) = reference.commands["signOut"]
    (revoke_command,) = reference.commands["revokeToken"]

    assert paste(sign_out_command, TOKEN=member.access_token) == (200, {})
    assert paste(revoke_command.replace("shpat_TheAccessToken", other.refresh_token)) == (200, {})
    assert not await member.is_signed_in()
    assert not await other.is_signed_in()


@pytest.mark.security("T-02")
async def test_the_published_secret_patterns_match_real_tokens(http: httpx2.AsyncClient) -> None:
    member = await sign_in(http)
    cart = await member.post("/cart")
    page = (await http.get("/docs")).text

    secret = re.search(r'id="secret-pattern">(.*?)<', page)
    order = re.search(r'id="order-token-pattern">(.*?)<', page)
    assert secret
    assert order
    assert re.fullmatch(secret[1], member.access_token)
    assert re.fullmatch(secret[1], member.refresh_token)
    assert re.fullmatch(order[1], cart["token"])


def examples() -> list[tuple[str, Any]]:
    """The operation and the schema of every response that has an example."""
    return [
        (f"{method} {path} {status}", content["schema"])
        for path, methods in DESCRIPTION["paths"].items()
        for method, operation in methods.items()
        for status, response in operation["responses"].items()
        if status in {"200", "201", "400"}
        for content in response.get("content", {}).values()
    ]


def schema_errors(schema: Any) -> list[str]:
    components = DESCRIPTION["components"]
    generator = ExampleGenerator(components["schemas"], EXAMPLE_VALUES)
    checker = Draft202012Validator({**schema, "components": components}, format_checker=FormatChecker())
    parts = schema.get("anyOf") or schema.get("oneOf") or [schema]
    return [error.message for part in parts for error in checker.iter_errors(generator.whole(part))]


def test_example_responses_match_their_schema() -> None:
    errors_by_name = {name: schema_errors(schema) for name, schema in examples()}

    assert len(errors_by_name) > 200
    assert {name: errors for name, errors in errors_by_name.items() if errors} == {}


@pytest.mark.torture
async def test_an_example_runs_on_the_page_and_its_token_is_used_for_the_next(
    browser: Browser, service: Service
) -> None:
    urls: list[str] = []
    async with visit(browser, service.url + CART_PAGE) as page:
        page.on("request", lambda request: urls.append(request.url))
        creating, showing = page.locator("#createCart"), page.locator("#showCart")
        await showing.get_by_role("button", name="Run").click()
        await expect(showing.locator(".outcome")).to_contain_text("401")

        await creating.get_by_label("Body").fill('{"currency": "JPY"}')
        await creating.get_by_role("button", name="Run").click()
        await expect(creating.locator(".outcome")).to_contain_text("201 Created")
        cart = json.loads(await creating.locator("pre.body").inner_text())
        await showing.get_by_role("button", name="Run").click()
        await expect(showing.locator(".outcome")).to_contain_text("200 OK")

        assert json.loads(await showing.locator("pre.body").inner_text()) == cart
        assert {urlsplit(url).netloc for url in urls} == {urlsplit(service.url).netloc}
        expression = "[localStorage.length, sessionStorage.length, document.cookie]"
        assert await page.evaluate(expression) == [0, 0, ""]
        await page.reload()
        assert await page.get_by_label("Order token").input_value() == ""


@pytest.mark.torture
async def test_credentials_are_preserved_between_sections(browser: Browser, service: Service) -> None:
    async with visit(browser, service.url + CART_PAGE) as page:
        await page.locator("#createCart").get_by_role("button", name="Run").click()
        await expect(page.locator("#createCart .outcome")).to_contain_text("201")

        await page.get_by_role("navigation").get_by_role("link", name="Checkout").click()
        requirements = page.locator("#showCheckoutRequirements")
        await requirements.get_by_role("button", name="Run").click()

        await expect(requirements.locator(".outcome")).to_contain_text("200 OK")
        await expect(page).to_have_url(f"{service.url}/docs/storefront-checkout")
        await page.go_back()
        await expect(page.locator("h1")).to_have_text("Cart")


@pytest.mark.torture
async def test_a_path_parameter_is_sent_as_one_escaped_segment(browser: Browser, service: Service) -> None:
    async with visit(browser, f"{service.url}/docs/storefront-signing-in") as page:
        signing_out = page.locator("#signOut")
        await signing_out.get_by_label("token", exact=True).fill("a?b #c")
        await signing_out.get_by_role("button", name="Run").click()

        await expect(signing_out.locator(".outcome")).to_contain_text("200 OK")


@pytest.mark.torture
async def test_the_search_links_to_operations_of_other_sections(browser: Browser, service: Service) -> None:
    async with visit(browser, f"{service.url}/docs") as page:
        await page.keyboard.press("/")
        await page.keyboard.type("approve")
        await expect(page.locator("#found")).to_have_text("1 operation")
        await page.locator("#results").get_by_role("link", name="Approve an order").click()

        await expect(page.locator("#approveOrder h2")).to_be_in_viewport()
        await expect(page.locator("#results li")).to_have_count(0)


@pytest.mark.torture
async def test_the_examples_work_in_the_demo_shop(browser: Browser, own_data_dir: Any) -> None:
    data_dir, _ = own_data_dir()
    service = Service("--demo", SHOP_DATA_DIR=str(data_dir), SHOP_SECRET_KEYS=KEYS, SHOP_DRAIN_SECONDS="0")
    try:
        async with visit(browser, f"{service.url}/docs/storefront-products") as page:
            showing = page.locator("#showStorefrontProduct")
            await showing.get_by_role("button", name="Run").click()
            await expect(showing.locator(".outcome")).to_contain_text("200 OK")
            await page.get_by_role("navigation").get_by_role("link", name="Cart").click()
            for name in ("createCart", "addItemToCart", "setLineItemQuantity", "removeLineItemFromCart"):
                part = page.locator(f"#{name}")
                await part.get_by_role("button", name="Run").click()
                await expect(part.locator(".outcome")).to_contain_text("20")
    finally:
        service.stop()


@pytest.mark.torture
async def test_a_page_is_complete_without_scripts(browser: Browser, service: Service) -> None:
    async with visit(browser, service.url + CART_PAGE, java_script_enabled=False) as page:
        await expect(page.locator("#createCart pre.curl")).to_contain_text(f"curl -X POST {service.url}")
        await expect(page.get_by_role("button", name="Run")).to_have_count(0)
        await expect(page.get_by_label("Find an operation")).to_be_hidden()


@pytest.mark.torture
@pytest.mark.parametrize(("size", "is_dark"), [(LAPTOP, False), (PHONE, True)], ids=["laptop, light", "phone, dark"])
@pytest.mark.parametrize("path", ["/docs", CART_PAGE, "/docs/platform-orders"])
async def test_a_page_is_accessible_and_never_scrolls_sideways(
    browser: Browser, service: Service, path: str, size: tuple[int, int], is_dark: bool
) -> None:
    async with visit(browser, service.url + path, size, is_dark=is_dark) as page:
        await page.get_by_label("Find an operation").fill("cart")
        await expect(page.locator("#results li").first).to_be_visible()
        await page.evaluate(OPEN_ALL)

        assert await accessibility_violations(page) == []
        for width, height in (LAPTOP, PHONE, SMALL_PHONE):
            await page.set_viewport_size({"width": width, "height": height})
            assert not await scrolls_sideways(page), width


@pytest.mark.torture
async def test_on_a_phone_the_contents_are_collapsed_and_link_to_sections(browser: Browser, service: Service) -> None:
    async with visit(browser, f"{service.url}/docs", PHONE) as page:
        link = page.get_by_role("navigation").get_by_role("link", name="Cart", exact=True)
        await expect(link).to_be_hidden()

        await page.get_by_text("Contents").click()
        await link.click()

        await expect(page.locator("h1")).to_have_text("Cart")
        await expect(link).to_be_hidden()
