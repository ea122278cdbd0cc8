"""Error pages of the dashboard: with the menu for operators, and revealing nothing to anyone else."""

import re
from typing import Any

import httpx2
import pytest

from tests.admin.dashboard import SAME_ORIGIN, UNKNOWN_ID, Dashboard

MENU = '<nav aria-label="Main">'


@pytest.mark.parametrize(
    "path",
    [
        "/admin/nowhere",
        "/admin/orders/R000",
        f"/admin/customers/{UNKNOWN_ID}",
        "/admin/customers/x",
        f"/admin/products/{UNKNOWN_ID}/nothing",
    ],
)
async def test_a_missing_page_keeps_the_menu(dashboard: Dashboard, path: str) -> None:
    page = await dashboard.get(path)

    assert (page.status_code, MENU in page.text, "Not found" in page.text) == (404, True, True)
    assert page.headers["x-request-id"] in page.text
    assert "This page does not exist, or what it showed was deleted, merged or moved." in page.text


@pytest.mark.parametrize(
    ("path", "link"),
    [
        (f"/admin/customers/{UNKNOWN_ID}", '<a class="button" href="/admin/customers">Back to Customers</a>'),
        ("/admin/settings/taxes/rates/x", '<a class="button" href="/admin/settings/taxes">Back to Taxes</a>'),
        ("/admin/nowhere", '<a class="button" href="/admin">Back to the overview</a>'),
    ],
)
async def test_a_missing_page_links_to_the_list_above_it(dashboard: Dashboard, path: str, link: str) -> None:
    assert link in (await dashboard.get(path)).text


async def test_other_errors_keep_the_menu(dashboard: Dashboard) -> None:
    headers = {**dashboard.cookie, **SAME_ORIGIN}
    fields = {"csrf": await dashboard.csrf(), "name": "x" * 100_000}
    stale = await dashboard.http.post("/admin/customer-groups", data={"csrf": "x"}, headers=headers)
    large = await dashboard.http.post("/admin/customer-groups", data=fields, headers=headers)
    method = await dashboard.http.put("/admin/orders", headers=headers)
    malformed = await dashboard.http.post(
        "/admin/customer-groups",
        content=b"a=%ff",
        headers={**headers, "Content-Type": "application/x-www-form-urlencoded"},
    )

    answers = (stale, large, method, malformed)
    assert [answer.status_code for answer in answers] == [403, 413, 405, 400]
    assert all(MENU in answer.text for answer in answers)
    assert method.headers["allow"] == "GET, HEAD"


def without_numbers(answer: httpx2.Response) -> tuple[int, str]:
    """Status and page, without what differs for every request."""
    text = re.sub(r'nonce="[^"]+"|<code>[0-9a-f]{24}</code>|name="next" value="[^"]+"', "", answer.text)
    return answer.status_code, text


@pytest.mark.security("D-14")
async def test_existing_and_missing_pages_look_the_same_to_others(
    http: httpx2.AsyncClient, dashboard: Dashboard, db: Any
) -> None:
    await db.execute("update operator_sessions set revoked_at = now() where operator_id = $1", dashboard.id)
    customer_id = await db.fetchval("select id from users limit 1") or UNKNOWN_ID
    paths = ["/admin/orders", "/admin/sign-out", f"/admin/customers/{customer_id}"]
    for cookie in ({}, dashboard.cookie, {"Cookie": "__Host-shop_operator=junk"}):
        pages = [await http.get(path, headers=cookie) for path in (*paths, "/admin/nowhere", "/admin/orders/x/y/z")]
        forms = [
            await http.post(path, headers={**cookie, **SAME_ORIGIN})
            for path in ("/admin/sign-out", "/admin/orders", "/admin/nowhere")
        ]

        assert len({without_numbers(page) for page in pages}) == 1
        assert len({without_numbers(form) for form in forms}) == 1
        assert (pages[0].status_code, forms[0].status_code) == (401, 403)
        assert "Sign in to see this page." in pages[0].text
        assert not any(MENU in answer.text for answer in (*pages, *forms))
