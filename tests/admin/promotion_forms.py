"""Promotions for the dashboard's tests, made with its own forms; and the words of its page of tries."""

import html
import re
from typing import Any

import httpx

from tests.admin.catalog_forms import done, mark, place
from tests.admin.dashboard import Desk
from tests.admin.order_builders import text_of

PROMOTIONS = "/admin/promotions"
PLAIN = {"way": "batches", "match_policy": "all"}
"""What everybody gets would change what other tests pay: so it is by codes, and there are none yet."""


async def new_promotion(desk: Desk, **fields: str) -> str:
    """Its address; it is called by a word of its own."""
    form = {"name": f"Deal {mark()}", **PLAIN, **fields}
    return place(await desk.post(f"{PROMOTIONS}/new", **form)).removesuffix("/parts")


async def add(desk: Desk, promotion: str, what: str, kind: str, **fields: Any) -> None:
    assert done(await desk.post(f"{promotion}/{what}/new", kind=kind, **fields)) == "added"


async def a_tenth(desk: Desk, **fields: str) -> str:
    """One that takes a tenth off each line."""
    promotion = await new_promotion(desk, **fields)
    await add(desk, promotion, "benefits", "percent_off_items", percent="10")
    return promotion


async def tried(desk: Desk, promotion: str, number: str) -> str:
    """What is said of a cart, without the form above and the carts below."""
    answer = await desk.get(f"{promotion}/try?order={number}")
    assert answer.status_code == 200, answer.text
    return text_of(answer.text.partition('aria-labelledby="verdict"')[2].partition('<h2 class="part">')[0]).lstrip("> ")


def parts_of(page: str, what: str) -> list[tuple[str, str]]:
    """The conditions or the benefits that a page shows: kind and what is settled."""
    section = page.partition(f'<section class="card" aria-labelledby="{what}">')[2].partition("</section>")[0]
    matches = re.findall(r"<li>\s*<div><b>(.*?)</b>(?:<div class=\"\w*\">(.*?)</div>)?</div>", section, re.DOTALL)
    return [(html.unescape(label), html.unescape(text)) for label, text in matches]


def boxes(answer: httpx.Response, name: str) -> dict[str, bool]:
    """What can be ticked, by its label, and whether it is."""
    matches = re.findall(
        rf'<input type="checkbox" name="{re.escape(name)}\[\]" value="[^"]*"( checked)?><span>([^<]*)', answer.text
    )
    return {html.unescape(label): bool(is_on) for is_on, label in matches}
