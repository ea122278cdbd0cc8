"""The e-mails of events over real SMTP: parts and headers with hostile names, and none lost if the shop is killed."""

import asyncio
import random
import threading
from collections.abc import AsyncIterator, Iterator
from email.message import EmailMessage
from typing import Any, NamedTuple
from uuid import UUID

import httpx2
import pytest

from shop.rules.mail.definitions import DEFINITIONS
from tests.builders import Make
from tests.checkout_builders import CheckoutSetup, new_checkout_setup
from tests.cluster import Cluster, execute
from tests.db.processes import until
from tests.mail.mail_causes import CAUSES, TRACKING, TRACKING_URL, CausingShop
from tests.mail.test_delivery import MailingShop, Pair, on_database, part
from tests.mailserver import MailServer
from tests.platform.client import new_machine

ENCODED = "=?utf-8?q?a=0D=0ABcc:_eve@example.com?="
HOSTILE = f"<b onclick=x>{{{{ shop }}}}{{% for a in b %}}&amp; {ENCODED}"
"""A name that every API accepts."""
ESCAPED = f"&lt;b onclick=x&gt;{{{{ shop }}}}{{% for a in b %}}&amp;amp; {ENCODED}"
SHOP_NAME = f"Loam\r\nBcc: eve@example.com\r\n\r\n{HOSTILE}"
"""With line breaks, which only the database accepts."""
SHOP_LINE = f"Loam Bcc: eve@example.com {HOSTILE}".replace("=?", "= ?")
PRODUCT_LINE = HOSTILE.replace("=?", "= ?")
HEADERS = ["From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "MIME-Version", "Content-Type"]
SUBJECTS = {
    "order_confirmation": f"Your order {{number}} at {SHOP_LINE}",
    "order_shipped": "Your order {number} is on its way",
    "order_refunded": f"Your refund of $2.50 from {SHOP_LINE}",
    "order_canceled": "Your order {number} is canceled",
    "payment_attention": "Your order {number} is waiting for your payment",
    "order_message": "About your order {number}",
    "draft_quote": f"Your quote {{number}} from {SHOP_LINE}",
    "back_in_stock": f"{PRODUCT_LINE} is back in stock",
    "new_sign_in": f"New sign-in to your account at {SHOP_LINE}",
    "email_changed": f"The e-mail address of your account at {SHOP_LINE} was changed",
    "email_changed_new": f"This is now the e-mail address of your account at {SHOP_LINE}",
}
ITEMS = {"order_confirmation", "order_shipped", "order_canceled"}
LINKS = {
    "order_confirmation": "View your order: https://shop.example/order-status/",
    "order_shipped": "Track your parcel: https://track.example/?id=1Z%20%229%3Ci%3E&lang=en\n",
    "order_refunded": "View your order: https://shop.example/order-status/",
    "order_canceled": "View your order: https://shop.example/order-status/",
    "payment_attention": "Pay now: https://shop.example/order-payment/",
    "order_message": "View your order: https://shop.example/order-status/",
    "back_in_stock": "View the product: https://shop.example/products/",
    "new_sign_in": "Review your sessions: https://shop.example/account/sessions\n",
}


@pytest.fixture(scope="module")
def pair(cluster: Cluster, worker_name: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """A shop with a hostile name and its mail server; its sign-in codes are read from the mailbox."""
    server, data_dir = MailServer().start(), tmp_path_factory.mktemp("data")
    with cluster.database(f"events_mail_{worker_name}") as url:
        name = SHOP_NAME.replace("'", "''").replace("\r\n", "' || e'\\r\\n' || '")
        execute(url, f"update shops set name = '{name}'")
        environ = {"SHOP_MAILBOX": "on", "SHOP_PUBLIC_URL": "https://shop.example", "SHOP_LIMIT_MAILS": "0"}
        shop = MailingShop(f"smtp://127.0.0.1:{server.port}", **on_database(url, data_dir), **environ)
        yield Pair(shop, server)
        shop.stop()
    server.stop()


@pytest.fixture
def inbox(pair: Pair) -> Any:
    return pair.server.received


@pytest.fixture(scope="module")
def setups() -> dict[str, CheckoutSetup]:
    return {}


@pytest.fixture
async def db(pair: Pair) -> AsyncIterator[Any]:
    connection = await pair.shop.connect()
    yield connection
    await connection.close()


@pytest.fixture
async def http(pair: Pair) -> AsyncIterator[httpx2.AsyncClient]:
    async with pair.shop.service.client() as client:
        yield client


@pytest.fixture
async def shop(http: httpx2.AsyncClient, db: Any, setups: dict[str, CheckoutSetup]) -> CausingShop:
    if not setups:
        setups["setup"] = await new_checkout_setup(Make(await new_machine(http, db, "write")), card="none")
        make = setups["setup"].make
        await make.change("shipping_methods", setups["setup"].post, "shipping_method", tracking_url=TRACKING_URL)
    setups["setup"].make.machine.http = http
    return CausingShop(http, db, setups["setup"], product_name=HOSTILE, first_name=HOSTILE)


class Receipt(NamedTuple):
    """A mail of one kind, its parts, and the address and subject that it must have."""

    mail: EmailMessage
    email: str
    subject: str

    @property
    def parts(self) -> tuple[str, str]:
        return part(self.mail, "plain").replace("\r\n", "\n"), part(self.mail, "html")


@pytest.fixture(scope="module")
def receipts() -> dict[str, Receipt]:
    """The mails that were caused so far, by their kind."""
    return {}


@pytest.fixture
async def receipt(shop: CausingShop, inbox: Any, receipts: dict[str, Receipt], kind: str) -> Receipt:
    if kind not in receipts:
        email = await CAUSES[kind](shop)
        number = await shop.db.fetchval("select number from orders where email = $1", email) or ""
        subject = SUBJECTS[kind].replace("{number}", number)
        mails = await asyncio.to_thread(inbox.wait, email, await count_sent(shop, email))
        (mail,) = [mail for mail in mails if mail["Subject"] == subject] or [mails[-1]]
        receipts[kind] = Receipt(mail, email, subject)
    return receipts[kind]


async def count_sent(shop: CausingShop, email: str) -> int:
    """Waits until no mail to this address is due, and counts those that were sent. The mail of a code that was used
    before it was sent is of no use.
    """

    async def is_nothing_due() -> bool:
        due = "select exists (select from outbox_mails where recipient = $1 and sent_at is null and dead_at is null)"
        return not await shop.db.fetchval(due, email)

    await until(is_nothing_due)
    sent = "select count(*) from outbox_mails where recipient = $1 and sent_at is not null"
    return int(await shop.db.fetchval(sent, email))


@pytest.mark.parametrize("kind", CAUSES)
@pytest.mark.security("M-04", "M-11")
async def test_each_mail_has_two_parts_and_no_name_adds_a_header_or_markup(
    receipt: Receipt, inbox: Any, db: Any, kind: str
) -> None:
    mail, email, subject = receipt

    assert (mail["Subject"], mail.keys()) == (subject, HEADERS)
    assert (mail["From"], mail["To"], mail["Auto-Submitted"]) == ("Shop <shop@example.org>", email, "auto-generated")
    query = "select id::text from outbox_mails where recipient = $1 and kind = $2"
    assert mail["Message-ID"] == f"<{await db.fetchval(query, email, kind)}@example.org>"
    content: Any = mail
    if kind == "draft_quote":
        assert mail.get_content_type() == "multipart/mixed"
        content, file = mail.iter_parts()
        assert (file.get_content_type(), file.get_content()[:5]) == ("application/pdf", b"%PDF-")
    assert content.get_content_type() == "multipart/alternative"
    assert [each.get_content_type() for each in content.iter_parts()] == ["text/plain", "text/html"]
    assert inbox.recipients[inbox.mails.index(mail)] == [email]
    text, html = receipt.parts
    assert HOSTILE in text
    assert ESCAPED in html
    assert "<b " not in html


@pytest.mark.parametrize("kind", LINKS)
async def test_each_part_has_the_link_and_the_items(receipt: Receipt, kind: str) -> None:
    text, html = receipt.parts

    label, _, url = LINKS[kind].partition(": ")
    assert LINKS[kind] in text
    assert f'<a href="{url.strip().replace("&", "&amp;")}' in html
    assert f">{label}</a>" in html
    assert (f"2 x {HOSTILE}" in text, f"2 &times; {ESCAPED}" in html) == (kind in ITEMS, kind in ITEMS)


@pytest.mark.parametrize("kind", ["order_shipped"])
async def test_both_parts_have_the_tracking_number(receipt: Receipt) -> None:
    text, html = receipt.parts

    assert f"Tracking number: {TRACKING}\n" in text
    assert "Tracking number: 1Z &#34;9&lt;i&gt;" in html


def test_every_mail_is_tested() -> None:
    assert SUBJECTS.keys() == CAUSES.keys() == DEFINITIONS.keys() - {"login_code"}
    assert LINKS.keys() == {kind for kind, definition in DEFINITIONS.items() if definition.button}


KILL_ROUNDS = 6
RELEASE = "update outbox_mails set next_at = now(), locked_until = null where sent_at is null and dead_at is null"
UNSENT = "select count(*) from outbox_mails where sent_at is null"
SHIPPED = "select o.email, s.state from shipments s join orders o on o.id = s.order_id where s.id = any($1::uuid[])"


async def restart(pair: Pair, shop: CausingShop) -> None:
    """Starts the killed shop; the mails that it had leased are due at once."""
    await shop.db.execute(RELEASE)
    shop.http = shop.machine.http = (await asyncio.to_thread(pair.shop.start)).client()


@pytest.mark.security("X-04")
@pytest.mark.torture
async def test_a_kill_after_sending_causes_one_duplicate_with_the_same_id(
    pair: Pair, shop: CausingShop, inbox: Any
) -> None:
    """The shop is killed before the mail server confirms the mail that it got."""

    async def hold() -> None:
        await until_sent(shop)
        inbox.hold = threading.Event()

    shop.prepare = hold
    email = await CAUSES["order_shipped"](shop)
    held = await asyncio.to_thread(inbox.wait, email, 2)
    await asyncio.to_thread(pair.shop.kill)
    inbox.hold.set()
    inbox.hold = None

    await restart(pair, shop)

    mails = await asyncio.to_thread(inbox.wait, email, 3)
    await until_sent(shop)
    assert held[-1]["Subject"].endswith("is on its way")
    assert [mail["Message-ID"] for mail in mails[1:]] == [held[-1]["Message-ID"]] * 2
    assert len(inbox.to(email)) == 3
    await shop.http.aclose()


async def until_sent(shop: CausingShop) -> None:
    async def is_everything_sent() -> bool:
        return bool(await shop.db.fetchval(UNSENT) == 0)

    await until(is_everything_sent, 60)


async def new_shipments(shop: CausingShop, count: int) -> list[UUID]:
    """Paid orders that are ready to ship, whose confirmations are sent."""
    shipments = []
    for _ in range(count):
        _, order_id = await shop.order()
        await shop.pay_order(order_id)
        shipments.append(await shop.part_of(order_id, "shipments"))
    await until_sent(shop)
    return shipments


@pytest.mark.security("X-04")
@pytest.mark.torture
async def test_no_mail_is_lost_or_invented_however_often_the_shop_is_killed(
    pair: Pair, shop: CausingShop, inbox: Any
) -> None:
    chance, shipments, unsent = random.Random(7), [], 0
    for number in range(KILL_ROUNDS):
        new = await new_shipments(shop, 6)
        if number % 2:
            pair.server.stop()
        requests = [asyncio.create_task(shop.machine.patch(f"/shipments/{each}/ship", {})) for each in new]
        await asyncio.wait(requests[: number % 3 + 1])
        # The kill itself is to come at any moment of a request, so there is no event to await.
        await asyncio.sleep(chance.uniform(0, 0.05))
        await asyncio.to_thread(pair.shop.kill)
        await asyncio.gather(*requests, return_exceptions=True)
        await shop.http.aclose()
        unsent += await shop.db.fetchval(UNSENT)
        if number % 2:
            pair.server.start()
        await restart(pair, shop)
        shipments += new

    await until_sent(shop)
    await shop.http.aclose()
    assert unsent >= KILL_ROUNDS // 2
    states = {row["email"]: row["state"] for row in await shop.db.fetch(SHIPPED, shipments)}
    assert list(states.values()).count("shipped") >= KILL_ROUNDS
    for email, state in states.items():
        ids = [mail["Message-ID"] for mail in inbox.to(email) if "is on its way" in mail["Subject"]]
        assert (len(set(ids)), len(ids) in {1, 2}) == ((1, True) if state == "shipped" else (0, False)), (email, ids)
