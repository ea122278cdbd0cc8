"""Drafts in a browser: accessible at any width, and a phone order in few clicks."""

from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.accounts import sign_in
from tests.admin.browser.test_browser_pages import find_problems
from tests.admin.browser_session import open_page
from tests.admin.dashboard import Dashboard
from tests.admin.drafts.builders import DRAFTS, new_draft, new_ready_draft
from tests.browser import Browser
from tests.builders import Make
from tests.checkout_builders import ADDRESS, new_checkout_setup
from tests.platform.client import Machine

pytestmark = pytest.mark.torture


async def test_the_pages_of_drafts_are_accessible(
    browser: Browser, dashboard: Dashboard, db: Any, writer: Machine, http: httpx2.AsyncClient
) -> None:
    checkout_setup = await new_checkout_setup(Make(writer))
    member = await sign_in(http, first_name="Ada")
    await member.post("/account/addresses", address=ADDRESS)
    ready, product = await new_ready_draft(dashboard, checkout_setup)
    line_id = await ready.line_id(db, product)
    await ready.save("discount", kind="percent", value="10", reason="Loyal customer", line_item_id=line_id)
    known = await new_draft(dashboard)
    await known.save("customer", user_id=str(await member.id()))
    paths = {
        "drafts": DRAFTS,
        "drafts, none": f"{DRAFTS}?q={uuid4().hex}",
        "draft, new": (await new_draft(dashboard)).path,
        "draft of a customer": f"{known.path}?customer={member.email[:20]}",
        "draft, products": f"{ready.path}?product=Mug",
        "draft, ready": f"{ready.path}?done=items",
        "draft, delete": f"{ready.path}/delete",
    }
    problems: dict[str, list[str]] = {}

    async with open_page(browser, dashboard) as page:
        for name, path in paths.items():
            await page.goto(path)
            await page.evaluate("document.querySelectorAll('details.more').forEach(part => { part.open = true })")
            problems[name] = await find_problems(page)
        await page.goto(ready.path)
        await page.get_by_text("Give a discount on the order").click()
        await page.get_by_label("Discount", exact=True).last.fill("nonsense")
        await page.get_by_label("Reason").last.fill("Why")
        await page.get_by_role("button", name="Save discount").last.click()
        problems["draft, refused"] = await find_problems(page)

    assert {name: messages for name, messages in problems.items() if messages} == {}
