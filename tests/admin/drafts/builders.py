"""Drafts that an operator prepares, step by step."""

import re
from typing import Any

import httpx2
import msgspec

from tests.admin.dashboard import Dashboard
from tests.builders import ProductIds
from tests.checkout_builders import ADDRESS, CheckoutSetup

DRAFTS = "/admin/drafts"
CASH = "5c000000-0000-7000-8000-000000000002"
LINK = "5c000000-0000-7000-8000-000000000003"


class DraftClient(msgspec.Struct, frozen=True):
    """One draft, which an operator changes."""

    dashboard: Dashboard
    number: str

    @property
    def path(self) -> str:
        return f"{DRAFTS}/{self.number}"

    async def page(self) -> str:
        answer = await self.dashboard.get(self.path)
        assert answer.status_code == 200, answer.text
        return answer.text

    async def send(self, form: str, **fields: Any) -> httpx2.Response:
        return await self.dashboard.post(f"{self.path}/{form}", **fields)

    async def save(self, form: str, **fields: Any) -> None:
        """Sends a form that must be accepted."""
        answer = await self.send(form, **fields)
        assert answer.status_code == 303, answer.text
        assert answer.headers["location"].startswith(f"{self.path}?done="), answer.headers["location"]

    async def add(self, product: ProductIds, quantity: int = 1) -> None:
        await self.save("items", variant_id=product.variant_id, quantity=str(quantity))

    async def enter_address(self, **changes: str) -> None:
        await self.save("address", **{**ADDRESS, "use": "both", **changes})

    async def version(self) -> str:
        match = re.search(r'name="version" value="([^"]+)"', await self.page())
        assert match, "the draft cannot be placed"
        return match[1]

    async def place(self, method: str, version: str | None = None) -> httpx2.Response:
        return await self.send("place", method=method, version=version or await self.version())

    async def row(self, db: Any) -> Any:
        return await db.fetchrow("select * from orders where number = $1", self.number)

    async def line_id(self, db: Any, product: ProductIds) -> str:
        query = (
            "select i.id from line_items i join orders o on o.id = i.order_id where o.number = $1 and variant_id = $2"
        )
        return str(await db.fetchval(query, self.number, product.variant_id))


async def new_draft(dashboard: Dashboard, **fields: str) -> DraftClient:
    answer = await dashboard.post(DRAFTS, **fields)
    assert answer.status_code == 303, answer.text
    match = re.fullmatch(rf"{DRAFTS}/(R[0-9]+)\?done=created", answer.headers["location"])
    assert match
    return DraftClient(dashboard, match[1])


async def new_ready_draft(
    dashboard: Dashboard, checkout_setup: CheckoutSetup, *, email: str = "guest@shoppers.example", quantity: int = 2
) -> tuple[DraftClient, ProductIds]:
    """A draft of a guest with two items of ten dollars, and post for five."""
    draft, product = await new_draft(dashboard), await checkout_setup.product()
    await draft.save("email", email=email)
    await draft.add(product, quantity)
    await draft.enter_address()
    return draft, product
