"""Which e-mails spend the mail budget: those that anyone can cause. The others are sent even if nothing is left."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest

from shop.base.email import read_email
from shop.rules.mail.definitions import DEFINITIONS, SIGN_IN_MAIL
from shop.rules.mail_events import list_mails
from shop.rules.rate_limits import counter_key
from tests.checkout_builders import CheckoutSetup
from tests.mail.budget_shop import end_windows, limit_events, wait_until_delivered
from tests.mail.mail_causes import CAUSES, CausingShop, confirm_by_application, confirm_to_owner
from tests.website.test_payment_links import new_due_order
from tests.website.web_buyer import WebBuyer

FREE = {
    "order_shipped",
    "order_refunded",
    "order_canceled",
    "order_message",
    "draft_quote",
    "email_changed",
    "email_changed_new",
}
"""Here an application causes these, and an order that needs attention."""
EXHAUST = """insert into rate_counts (key, seconds, window_start, count)
    values ($1, 86400, date_trunc('day', now(), 'UTC'), 1000)
    on conflict (key, seconds, window_start) do update set count = 1000"""
STATES = "select kind, sent_at is not null as is_sent, dead_at is not null as is_dead from outbox_mails"


@pytest.fixture
def shop(client: httpx2.AsyncClient, outbox: Any, shop_checkout: CheckoutSetup) -> CausingShop:
    """A shop whose whole mail budget is spent right before each change."""

    async def exhaust() -> None:
        await wait_until_delivered(outbox)
        await outbox.execute(EXHAUST, counter_key("mails", ""))

    return CausingShop(client, outbox, shop_checkout, exhaust)


async def is_sent(outbox: Any, kind: str, email: str) -> bool:
    """Whether the only mail of this kind to this address is sent; it is not given up in either case."""
    await wait_until_delivered(outbox)
    (row,) = await outbox.fetch(f"{STATES} where kind = $1 and recipient = $2", kind, email)
    assert not row["is_dead"]
    return bool(row["is_sent"])


def test_every_mail_has_a_cause() -> None:
    assert CAUSES.keys() | {SIGN_IN_MAIL} == DEFINITIONS.keys()


@pytest.mark.parametrize("kind", sorted(CAUSES.keys() - FREE - {"payment_attention"}))
@pytest.mark.security("M-06")
async def test_without_budget_the_change_succeeds_and_its_mail_waits_for_the_next_window(
    shop: CausingShop, outbox: Any, kind: str
) -> None:
    start_time = await outbox.fetchval("select now()")

    email = await CAUSES[kind](shop)

    assert await is_sent(outbox, kind, email) is False
    assert ("mails", "20/86400") in await limit_events(outbox, "refused", start_time)
    await end_windows(outbox)
    assert await is_sent(outbox, kind, email) is True


@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        *((kind, CAUSES[kind]) for kind in sorted(FREE | {"payment_attention"})),
        ("order_confirmation", confirm_to_owner),
        ("order_confirmation", confirm_by_application),
    ],
)
@pytest.mark.security("M-06")
async def test_without_budget_mails_of_the_shop_and_confirmations_to_their_owner_are_sent(
    shop: CausingShop, outbox: Any, kind: str, cause: Callable[[CausingShop], Awaitable[str]]
) -> None:
    email = await cause(shop)

    assert await is_sent(outbox, kind, email) is True
    budget_key = read_email(email).budget_key  # type: ignore[union-attr]
    spent = "select coalesce(sum(count), 0) from rate_counts where key = $1"
    spent_by_address = await outbox.fetchval(spent, counter_key("mails by address", budget_key))
    # Only an earlier confirmation or code to this address is counted, and nothing more of the whole shop.
    assert spent_by_address <= 1
    assert await outbox.fetchval(spent, counter_key("mails", "")) == 1000


@pytest.mark.security("M-06")
async def test_a_failed_payment_of_a_guest_spends_the_budget(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    due = await new_due_order(WebBuyer(http, checkout_setup), db)
    await wait_until_delivered(db)
    email = read_email(await db.fetchval("select email from orders where id = $1", due.id))
    assert email
    spent = "select max(count) from rate_counts where key = $1"
    key = counter_key("mails by address", email.budget_key)
    before = await db.fetchval(spent, key)

    await due.pay("decline")
    await wait_until_delivered(db)

    assert (before, await db.fetchval(spent, key)) == (1, 2)


@pytest.mark.parametrize("actor", ["guest", "user", "application", "operator", "command line", "shop"])
def test_whoever_changes_an_address_decides_whether_its_mails_spend_the_budget(actor: str) -> None:
    class Row:
        id, email, email_key = None, "a@example.com", "a@example.com"

    class NewRow(Row):
        email = email_key = "b@example.com"

    mails = list_mails(["customer.updated"], Row, NewRow, actor_kind=actor, actor_id=None)

    assert [(mail.recipient, mail.is_free) for mail in mails] == [
        (email, actor not in {"guest", "user"}) for email in ("a@example.com", "b@example.com")
    ]
