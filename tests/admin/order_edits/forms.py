"""Reads the forms of pages as a browser does, and checks the consistency of one order."""

import html
import re
from typing import Any
from uuid import UUID

import httpx2

from shop.actions.operations.verify import find_inconsistencies
from shop.db.pool import open_database
from tests.admin.dashboard import Dashboard
from tests.admin.order_builders import ORDERS
from tests.shopper import Answer

_FORM = re.compile(r'<form[^>]*action="([^"]*)"[^>]*>(.*?)</form>', re.DOTALL)
_INPUT = re.compile(r"<input\b[^>]*>")
_SELECT = re.compile(r'<select[^>]*name="([^"]*)"[^>]*>(.*?)</select>', re.DOTALL)
_AREA = re.compile(r'<textarea[^>]*name="([^"]*)"[^>]*>\n?(.*?)</textarea>', re.DOTALL)


def _attribute(tag: str, name: str) -> str | None:
    match = re.search(rf'\b{name}="([^"]*)"', tag)
    return html.unescape(match[1]) if match else None


def read_forms(page: str, action: str) -> list[dict[str, str]]:
    """The fields of each form with this action, with the values that a browser would send."""
    forms = []
    for form_action, body in _FORM.findall(page):
        if html.unescape(form_action) != action:
            continue
        fields = {}
        for tag in _INPUT.findall(body):
            name, kind = _attribute(tag, "name"), _attribute(tag, "type")
            if name and name != "csrf" and (kind not in {"checkbox", "radio"} or " checked" in tag):
                fields[name] = _attribute(tag, "value") or ""
        for name, options in _SELECT.findall(body):
            selected = re.findall(r'<option value="([^"]*)" selected', options)
            fields[name] = html.unescape((selected or re.findall(r'<option value="([^"]*)"', options) or [""])[0])
        fields |= {name: html.unescape(text) for name, text in _AREA.findall(body)}
        forms.append(fields)
    return forms


class OrderEditor:
    """An operator who edits one order."""

    def __init__(self, dashboard: Dashboard, order: Answer) -> None:
        self.dashboard = dashboard
        self.page = f"{ORDERS}/{order['number']}"
        self.path = f"{self.page}/edit"
        self.fields: dict[str, str] = {}

    async def open(self) -> str:
        answer = await self.dashboard.get(self.path)
        assert answer.status_code == 200, answer.text
        self.fields = read_forms(answer.text, self.path)[-1]
        return answer.text

    async def preview(self, **changes: str) -> httpx2.Response:
        """Submits the form with changes; the next `save` applies what this preview shows."""
        answer = await self.dashboard.post(self.path, **{**self.fields, **changes, "do": "preview"})
        forms = read_forms(answer.text, self.path)
        self.fields = forms[0]
        return answer

    async def save(self, **changes: str) -> httpx2.Response:
        return await self.dashboard.post(self.path, **{**self.fields, **changes, "do": "save"})


async def line_ids(db: Any, order: Answer) -> dict[str, str]:
    """The ids of the line items by variant."""
    rows = await db.fetch("select id, variant_id from line_items where order_id = $1", UUID(order.id))
    return {str(row["variant_id"]): str(row["id"]) for row in rows}


async def amounts(db: Any, order: Answer) -> tuple[Any, ...]:
    """Items, discounts, shipping, total and payment state of an order."""
    query = "select item_total, promo_total, ship_total, total, payment_state from orders where id = $1"
    return tuple(await db.fetchrow(query, UUID(order.id)))


async def find_problems(url: str, db: Any, order: Answer) -> dict[str, Any]:
    """What `shop verify` finds about an order, its payments and the stock of its variants."""
    rows = await db.fetch(
        """select number from orders where id = $1 union select number from payments where order_id = $1
        union select s.id::text from stock_items s join line_items l on l.variant_id = s.variant_id
        where l.order_id = $1""",
        UUID(order.id),
    )
    names = {row[0] for row in rows}
    database = open_database(url, size=1)
    try:
        findings = {name: each async for name, each in find_inconsistencies(database.session())}
    finally:
        await database.close()
    return {
        name: problems
        for name, each in findings.items()
        if (problems := [found for found in each if found[0] in names])
    }
