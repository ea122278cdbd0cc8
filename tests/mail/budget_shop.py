"""A shop with small mail budgets: orders, codes, and what became of their mails."""

import itertools
from typing import Any
from uuid import UUID

import httpx2

from tests.checkout_builders import ADDRESS, Buyer
from tests.db.processes import until

# Windows of a day, so that a window hardly ever ends during a test.
LIMITS = {
    "SHOP_LIMIT_LOOPBACK": "1",
    "SHOP_LIMIT_MAILS_PER_ADDRESS": "4/86400",
    "SHOP_LIMIT_MAILS_PER_SOURCE": "10/86400",
    "SHOP_LIMIT_MAILS": "20/86400",
}
_numbers = itertools.count()
VARIANT_IDS: list[str] = []
"""The variants that are bought."""


def new_source() -> dict[str, str]:
    number = next(_numbers)
    return {"X-Forwarded-For": f"198.19.{number // 250}.{number % 250 + 1}"}


async def fill_cart(buyer: Buyer, email: str, source: dict[str, str]) -> None:
    await buyer.post("/cart", headers=source)
    await buyer.post("/cart/add_item", headers=source, variant_id=VARIANT_IDS[0])
    fields = {"email": email, "bill_address_attributes": ADDRESS, "use_billing": True}
    await buyer.patch("/checkout", headers=source, order=fields)
    await buyer.post("/checkout/create_payment", headers=source, payment_method_id=buyer.checkout_setup.check)


async def place_order(buyer: Buyer, email: str, source: dict[str, str] | None = None) -> UUID:
    """Completes an order, paid by check; returns its id."""
    headers = source or new_source()
    await fill_cart(buyer, email, headers)
    response = await buyer.patch("/checkout/complete", headers=headers)
    assert (response.status, response["state"]) == (200, "complete"), response
    return UUID(response.id)


async def wait_until_delivered(outbox: Any) -> None:
    """Waits until no mail is due: each was sent, abandoned or postponed."""
    due = "select count(*) from outbox_mails where sent_at is null and dead_at is null and next_at <= now()"

    async def is_nothing_due() -> bool:
        return bool(await outbox.fetchval(due) == 0)

    try:
        await until(is_nothing_due, 30)
    except AssertionError:
        due_rows = await outbox.fetch("select * from outbox_mails where sent_at is null")
        raise AssertionError(f"mails that are due were not sent: {due_rows}") from None


async def count_mails_to(outbox: Any, email: str) -> int:
    await wait_until_delivered(outbox)
    query = "select count(*) from outbox_mails where recipient = $1 and sent_at is not null"
    return int(await outbox.fetchval(query, email))


async def end_windows(outbox: Any) -> None:
    """Ends every window, as after a day; mails that waited for that are due."""
    await outbox.execute("update rate_counts set window_start = window_start - interval '1 day'")
    await outbox.execute("update outbox_mails set next_at = now() where next_at > now()")


async def limit_events(outbox: Any, outcome: str, since: Any) -> list[tuple[str, str]]:
    rows = """select detail ->> 'limit', detail ->> 'allowed' from audit_events
        where action = 'limit' and outcome = $1 and at > $2 order by at, id"""
    return [tuple(row) for row in await outbox.fetch(rows, outcome, since)]


async def request_code(client: httpx2.AsyncClient, email: str) -> httpx2.Response:
    return await client.post("/api/v2/storefront/auth", json={"user": {"email": email}}, headers=new_source())
