"""The API reference at /docs: whole, closed to the outside, and with examples that work as pasted and as run."""

import json
import re
import subprocess
from collections.abc import AsyncIterator
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from jsonschema import Draft202012Validator, FormatChecker  # type: ignore[import-untyped]
from playwright.async_api import expect

from shop.app import DOORS
from shop.jsonapi.examples import Imagination
from shop.site.docs import LIKELY
from shop.site.reference import describe
from tests.browser import LAPTOP, PHONE, SMALL_PHONE, Browser, Page, barriers, scrolls_sideways, visit
from tests.service import Service
from tests.shoppers import sign_in

DESCRIPTION = describe(DOORS)
CART = "post_api_v2_storefront_cart"
LEAVE = """word => document.querySelectorAll("article").forEach(part => part.id.includes(word) || part.remove())"""
OPEN_ALL = "for (const part of document.querySelectorAll('details')) part.open = true"


class Reference(HTMLParser):
    """The page as a reader without scripts has it: what it refers to, and the commands of each operation."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.commands: dict[str, list[str]] = {}
        self.operations: dict[str, set[tuple[str, str]]] = {}
        self.fetched: list[str] = []
        self.nonces: set[str | None] = set()
        self._article, self._is_command = "", False
        self._words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        assert not any(name.startswith("on") or name == "style" for name in given)
        self.fetched += [str(given[name]) for name in ("src", "action", "data", "srcset") if given.get(name)]
        self.fetched += [str(given["href"])] if tag == "link" else []
        if tag in {"style", "script"}:
            self.nonces.add(given.get("nonce"))
        if tag == "article":
            self._article = str(given["id"])
            self.commands[self._article] = []
        if tag == "pre" and given.get("class") == "curl":
            self._is_command = True
            self.commands[self._article].append("")

    def handle_endtag(self, tag: str) -> None:
        self._is_command = self._is_command and tag != "pre"
        self._article = "" if tag == "article" else self._article

    def handle_data(self, data: str) -> None:
        if self._is_command:
            self.commands[self._article][-1] += data
        if self._article:
            self._words.append(data)
            operation = re.fullmatch(r"(GET|POST|PATCH|PUT|DELETE) (/\S+)", " ".join("".join(self._words[-3:]).split()))
            if operation:
                self.operations.setdefault(self._article, set()).add((operation[1], operation[2]))


@pytest.fixture(scope="module")
def reference(service: Service) -> Reference:
    return Reference(service.get("/docs").text)


def paste(command: str, **variables: str) -> tuple[int, Any]:
    """The command as a reader pastes it, with its variables set: status and body."""
    out = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command + " -sS -w '\\n%{http_code}'"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", **variables},
    )
    assert out.returncode == 0, out.stderr
    body, _, status = out.stdout.rpartition("\n")
    return int(status), json.loads(body) if body else None


async def test_every_route_of_the_apis_is_on_the_page(reference: Reference) -> None:
    shown = set().union(*reference.operations.values())

    assert shown == {(route.method, route.path.replace("*}", "}")) for door in DOORS for route in door.routes}
    assert all(reference.commands.values())


async def test_the_page_reaches_for_nothing_outside(http: httpx.AsyncClient) -> None:
    answer = await http.get("/docs")
    page = Reference(answer.text)

    said = [part.strip().split(" ") for part in answer.headers["content-security-policy"].split(";")]
    policy: dict[str, list[str]] = {name: sources for name, *sources in said}
    (nonce,) = page.nonces
    assert page.fetched == []
    assert policy == {
        "default-src": ["'none'"],
        "style-src": [f"'nonce-{nonce}'"],
        "script-src": [f"'nonce-{nonce}'"],
        "connect-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
        "frame-ancestors": ["'none'"],
    }
    assert answer.headers["cache-control"] == "no-store"
    assert str(nonce) not in (await http.get("/docs")).text


@pytest.mark.parametrize("host", ["shop.example$(id)", "a;b", "<b>", "a b", '"x"'])
async def test_commands_never_show_a_host_that_is_none(http: httpx.AsyncClient, host: str) -> None:
    page = (await http.get("/docs", headers={"Host": host})).text

    assert host not in page
    assert "curl http://localhost/api/v2/storefront/cart" in page


async def test_the_examples_of_a_cart_work_as_pasted(reference: Reference) -> None:
    (opening,), (showing,) = reference.commands[CART], reference.commands["get_api_v2_storefront_cart"]
    (leaving,) = reference.commands["delete_api_v2_storefront_cart"]

    status, opened = paste(opening)
    token = opened["data"]["attributes"]["token"]
    shown = paste(showing, ORDER_TOKEN=token)

    assert (status, opened["data"]["attributes"]["currency"]) == (201, "EUR")
    assert shown == (200, opened)
    assert paste(leaving, ORDER_TOKEN=token) == (204, None)


async def test_the_examples_of_signing_in_work_as_pasted(reference: Reference) -> None:
    asking, trading, refreshing = reference.commands["post_api_v2_storefront_auth"]

    status, notice = paste(asking)

    assert (status, list(notice)) == (200, ["message"])
    assert (paste(trading)[0], paste(refreshing)[0]) == (401, 401)  # They show what no mail and no session ever had.


async def test_the_examples_of_an_account_work_as_pasted(http: httpx.AsyncClient, reference: Reference) -> None:
    member = await sign_in(http)
    account = "api_v2_storefront_account"

    def run(name: str, **variables: str) -> tuple[int, Any]:
        (command,) = reference.commands[name]
        return paste(command, USER_TOKEN=member.access_token, **variables)

    assert run(f"get_{account}")[1]["data"]["attributes"]["email"] == member.email
    assert run(f"patch_{account}")[1]["data"]["attributes"]["first_name"] == "Grace"
    status, address = run(f"post_{account}_addresses")
    assert (status, address["data"]["attributes"]["country_iso3"]) == (200, "GBR")
    one = address["data"]["id"]
    assert run(f"get_{account}_addresses")[1]["meta"]["total_count"] == 1
    assert run(f"get_{account}_addresses_id_", ID=one) == (200, address)
    assert run(f"patch_{account}_addresses_id_", ID=one)[0] == 200
    assert run(f"delete_{account}_addresses_id_", ID=one) == (204, None)
    assert run(f"get_{account}_orders")[0] == 200
    assert run(f"get_{account}_sessions")[1]["meta"]["count"] == 1


async def test_the_examples_of_ending_a_session_work_as_pasted(http: httpx.AsyncClient, reference: Reference) -> None:
    member, other = await sign_in(http), await sign_in(http)
    (signing_out,) = reference.commands["delete_api_v2_storefront_auth_token_"]
    (revoking,) = reference.commands["post_shop_oauth_revoke"]

    assert paste(signing_out, TOKEN=member.access_token) == (200, {})
    assert paste(revoking.replace("shpat_TheAccessToken", other.refresh_token)) == (200, {})
    assert not await member.is_signed_in()
    assert not await other.is_signed_in()


@pytest.mark.security("T-02")
async def test_the_expressions_for_scanners_find_real_tokens(http: httpx.AsyncClient) -> None:
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
    """The schema of every answer that has an example, and whose it is."""
    return [
        (f"{method} {path} {status}", content["schema"])
        for path, methods in DESCRIPTION["paths"].items()
        for method, operation in methods.items()
        for status, response in operation["responses"].items()
        if status in {"200", "201", "400"}
        for content in response.get("content", {}).values()
    ]


def faults_of(schema: Any) -> list[str]:
    components = DESCRIPTION["components"]
    imagination = Imagination(components["schemas"], LIKELY)
    checker = Draft202012Validator({**schema, "components": components}, format_checker=FormatChecker())
    parts = schema.get("anyOf", [schema])
    return [error.message for part in parts for error in checker.iter_errors(imagination.whole(part))]


def test_example_answers_are_true_to_their_schema() -> None:
    found = {name: faults_of(schema) for name, schema in examples()}

    assert len(found) > 200
    assert {name: faults for name, faults in found.items() if faults} == {}


@pytest.fixture(scope="module")
async def opened(browser: Browser, service: Service) -> AsyncIterator[Page]:
    """The page on a laptop, opened once: to lay it out takes a browser seconds. Whoever uses it leaves it as it was."""
    async with visit(browser, f"{service.url}/docs") as page:
        yield page


@pytest.mark.torture
async def test_an_example_is_run_from_the_page_and_its_token_used_for_the_next(opened: Page, service: Service) -> None:
    asked: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opening, showing = opened.locator(f"#{CART}"), opened.locator("#get_api_v2_storefront_cart")
    await showing.get_by_role("button", name="Run").click()
    await expect(showing.locator(".outcome")).to_contain_text("401")

    await opening.get_by_label("Body").fill('{"currency": "JPY"}')
    await opening.get_by_role("button", name="Run").click()
    await expect(opening.locator(".outcome")).to_contain_text("201 Created")
    await expect(opening.locator("pre.body")).to_contain_text('"currency": "JPY"')
    made = json.loads(await opening.locator("pre.body").inner_text())
    await showing.get_by_role("button", name="Run").click()
    await expect(showing.locator(".outcome")).to_contain_text("200 OK")

    assert json.loads(await showing.locator("pre.body").inner_text()) == made
    assert {urlsplit(url).netloc for url in asked} == {urlsplit(service.url).netloc}
    kept = "[localStorage.length, sessionStorage.length, document.cookie]"
    assert await opened.evaluate(kept) == [0, 0, ""]
    await opened.reload()
    assert await opened.get_by_label("Order token").input_value() == ""


@pytest.mark.torture
async def test_a_parameter_of_the_address_is_filled_in_and_sent_as_one_segment(opened: Page) -> None:
    signing_out = opened.locator("#delete_api_v2_storefront_auth_token_")
    await signing_out.get_by_label("token", exact=True).fill("a?b #c")
    await signing_out.get_by_role("button", name="Run").click()

    await expect(signing_out.locator(".outcome")).to_contain_text("200 OK")


@pytest.mark.torture
async def test_the_filter_leaves_what_fits(opened: Page) -> None:
    await opened.keyboard.press("/")
    await opened.keyboard.type("delete account addr")

    await expect(opened.locator("#found")).to_have_text("1 operation")
    await expect(opened.locator("article:visible h4")).to_have_text(["Remove an address"])
    await opened.get_by_label("Find an operation").fill("")
    await expect(opened.locator(f"#{CART}")).to_be_visible()


@pytest.mark.torture
async def test_without_scripts_the_page_is_whole(browser: Browser, service: Service) -> None:
    async with visit(browser, f"{service.url}/docs", java_script_enabled=False) as page:
        await expect(page.locator(f"#{CART} pre.curl")).to_contain_text(f"curl -X POST {service.url}")
        await expect(page.get_by_role("button", name="Run")).to_have_count(0)
        await expect(page.get_by_label("Find an operation")).to_be_hidden()


async def assert_for_everybody(page: Page, sought: str) -> None:
    """With what is sought on the page, an answer shown and everything unfolded, nobody is kept out."""
    opening = page.locator(f"#{CART}")
    await opening.get_by_role("button", name="Run").click()
    await expect(opening.locator(".outcome")).to_contain_text("201")
    if sought:  # On a phone one would have to unfold the contents first.
        await page.get_by_label("Find an operation").fill(sought)
    await page.evaluate(OPEN_ALL)

    assert await barriers(page) == []
    for width, height in (LAPTOP, PHONE, SMALL_PHONE):
        await page.set_viewport_size({"width": width, "height": height})
        assert not await scrolls_sideways(page), width


@pytest.mark.torture
async def test_everybody_can_read_and_use_the_page_and_nobody_has_to_scroll_sideways(opened: Page) -> None:
    # All operations look alike, and there are many: a few stand for them. The last test here to use the page.
    await opened.evaluate(LEAVE, "storefront_cart")
    await assert_for_everybody(opened, "storefront/cart")


@pytest.mark.torture
@pytest.mark.parametrize(("size", "is_dark"), [(LAPTOP, False), (PHONE, True)], ids=["laptop, light", "phone, dark"])
async def test_everybody_can_read_and_use_all_of_the_page_and_nobody_has_to_scroll_sideways(
    browser: Browser, service: Service, size: tuple[int, int], is_dark: bool
) -> None:
    async with visit(browser, f"{service.url}/docs", size, is_dark=is_dark) as page:
        await assert_for_everybody(page, "")


@pytest.mark.torture
async def test_on_a_phone_the_contents_are_folded_and_lead_to_an_operation(browser: Browser, service: Service) -> None:
    async with visit(browser, f"{service.url}/docs", PHONE) as page:
        link = page.get_by_role("navigation").get_by_role("link", name="Show the cart")
        await expect(link).to_be_hidden()

        await page.get_by_text("Contents").click()
        await link.click()

        await expect(page.locator("#get_api_v2_storefront_cart h4")).to_be_in_viewport()
        await expect(link).to_be_hidden()
