"""Creates promotions with the dashboard's forms, and reads its pages."""

import html
import re
from typing import Any

import httpx2

from tests.admin.catalog_forms import redirect_path, saved_message, unique_word
from tests.admin.dashboard import Dashboard
from tests.admin.order_builders import text_of

PROMOTIONS = "/admin/promotions"
PLAIN = {"way": "batches", "match_policy": "all"}
"""Activated by batches of codes, of which there are none yet: an automatic one would change totals of other tests."""


async def new_promotion(dashboard: Dashboard, **fields: str) -> str:
    """Creates a promotion with a unique name; returns the path of its page."""
    form = {"name": f"Deal {unique_word()}", **PLAIN, **fields}
    return redirect_path(await dashboard.post(f"{PROMOTIONS}/new", **form)).removesuffix("/parts")


async def add_part(dashboard: Dashboard, promotion: str, section: str, kind: str, **fields: Any) -> None:
    assert saved_message(await dashboard.post(f"{promotion}/{section}/new", kind=kind, **fields)) == "added"


async def new_discount(dashboard: Dashboard, **fields: str) -> str:
    """Creates a promotion that takes 10 percent off each line; returns the path of its page."""
    promotion = await new_promotion(dashboard, **fields)
    await add_part(dashboard, promotion, "benefits", "percent_off_items", percent="10")
    return promotion


async def preview_promotion(dashboard: Dashboard, promotion: str, number: str) -> str:
    """Previews the promotion on a cart; returns the text of the result."""
    answer = await dashboard.get(f"{promotion}/try?order={number}")
    assert answer.status_code == 200, answer.text
    return text_of(answer.text.partition('aria-labelledby="verdict"')[2].partition('<h2 class="part">')[0]).lstrip("> ")


def parts_of(page: str, section: str) -> list[tuple[str, str]]:
    """The conditions or the benefits on a page: the label and the settings of each."""
    card = page.partition(f'<section class="card" aria-labelledby="{section}">')[2].partition("</section>")[0]
    matches = re.findall(r"<li>\s*<div><b>(.*?)</b>(?:<div class=\"\w*\">(.*?)</div>)?</div>", card, re.DOTALL)
    return [(html.unescape(label), html.unescape(text)) for label, text in matches]


def checkboxes(answer: httpx2.Response, name: str) -> dict[str, bool]:
    """Whether each checkbox is checked, by its label."""
    matches = re.findall(
        rf'<input type="checkbox" name="{re.escape(name)}\[\]" value="[^"]*"( checked)?><span>([^<]*)', answer.text
    )
    return {html.unescape(label): bool(is_on) for is_on, label in matches}
