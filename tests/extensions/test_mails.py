"""E-mails of extensions: sent by the outbox of the shop, edited in the dashboard, and alone if they fail."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from tests.accounts import new_email
from tests.admin.catalog_forms import field
from tests.admin.dashboard import Dashboard
from tests.builders import Make
from tests.checkout_builders import CheckoutSetup, SignedInBuyer, new_checkout_setup
from tests.cluster import Cluster
from tests.extensions.conftest import ExtendedShop, serve_extensions
from tests.mail.test_delivery import part as body_of
from tests.mailserver import MailServer
from tests.platform.client import Machine

Wait = Callable[[str], Awaitable[None]]
PAGE = "/admin/settings/mails/x_loyalty_points_earned"
_WAITING = "select * from outbox_mails where recipient = $1 and sent_at is null and dead_at is null"
_POSTPONED = _WAITING + " and last_error is not null"


@pytest.fixture(scope="module")
def mail_server() -> Iterator[MailServer]:
    server = MailServer().start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def extended_shop(
    cluster: Cluster, worker_name: str, tmp_path_factory: pytest.TempPathFactory, mail_server: MailServer
) -> Iterator[ExtendedShop]:
    """A shop of its own: one with a mail server is not a try-out, whose test card other tests need."""
    environ = {"SHOP_SMTP_URL": f"smtp://127.0.0.1:{mail_server.port}", "SHOP_MAIL_FROM": "Shop <shop@example.org>"}
    environ |= {"SHOP_MAILBOX": "on", "SHOP_PUBLIC_URL": "https://shop.example"}
    with serve_extensions(cluster, f"mailing_{worker_name}", tmp_path_factory, **environ) as shop:
        yield shop


@pytest.fixture
async def setup(extended_shop: ExtendedShop, machine: Machine) -> CheckoutSetup:
    records = extended_shop.records
    if "setup" not in records:
        records["setup"] = await new_checkout_setup(Make(machine), card="none")
    setup: CheckoutSetup = records["setup"]
    return msgspec.structs.replace(setup, make=Make(machine))


async def buy(customer: SignedInBuyer) -> Any:
    """Buys something for 15.00, and pays by check."""
    customer.order_token = None
    await customer.add_items((await customer.checkout_setup.product("10.00"), 1))
    await customer.enter_address()
    await customer.pay(method=customer.checkout_setup.check)
    order = await customer.complete()
    assert order.status == 200, order
    return order


@pytest.fixture
def mail_switch(extended_shop: ExtendedShop) -> Iterator[Path]:
    """The file that lets the e-mail of the faulty extension be loaded."""
    switch = Path(f"{extended_shop.switch}_mail")
    yield switch
    switch.unlink(missing_ok=True)


async def wait_for_mails(server: MailServer, address: str, subject: str) -> list[EmailMessage]:
    """The e-mails to this address with this text in the subject; at least one."""
    for _ in range(600):
        mails = [mail for mail in server.received.to(address) if subject in mail["Subject"]]
        if mails:
            return mails
        await asyncio.sleep(0.05)
    raise AssertionError(f"no e-mail “{subject}” arrived")


async def wait_for_row(db: Any, statement: str, *values: Any) -> Any:
    for _ in range(600):
        if row := await db.fetchrow(statement, *values):
            return row
        await asyncio.sleep(0.05)
    raise AssertionError(statement)


async def save(operator: Dashboard, **fields: str) -> None:
    version = field((await operator.get(PAGE)).text, "version")
    texts = {"subject": "{{ points }} points!", "heading": "Points", "body": "{{ balance }}", "button": "Account"}
    answer = await operator.post(PAGE, version=version, footer="", **texts, **fields)
    assert answer.headers["location"] == f"{PAGE}?done=saved"


async def reset(operator: Dashboard) -> None:
    version = field((await operator.get(PAGE)).text, "version")
    assert (await operator.post(f"{PAGE}/reset", version=version)).status_code == 303


async def test_a_completed_order_sends_one_email_about_its_points(
    mail_server: MailServer,
    customer: SignedInBuyer,
    shop_db: Any,
    wait_for_listeners: Wait,
) -> None:
    order = await buy(customer)
    await wait_for_listeners("loyalty")
    await shop_db.execute("update extension_listeners set position = 0 where extension = 'loyalty'")
    await wait_for_listeners("loyalty")

    (mail,) = await wait_for_mails(mail_server, customer.member.email, "You earned 30 points")
    rows = await shop_db.fetch(
        "select * from outbox_mails where recipient = $1 and kind like 'x_loyalty%'", customer.member.email
    )
    html, text = body_of(mail, "html"), body_of(mail, "plain")
    assert f"Thank you for your order {order['number']}. You now have 30 points" in text
    assert "View your account: https://shop.example/account" in text
    assert "You earned 30 points</td>" in html
    # To the verified address of the customer who caused it: no budget is spent.
    assert [row["awaits_budget"] for row in rows] == [False]


async def test_operators_edit_preview_and_turn_off_the_email(
    mail_server: MailServer,
    customer: SignedInBuyer,
    operator: Dashboard,
    shop_db: Any,
    wait_for_listeners: Wait,
) -> None:
    listing = (await operator.get("/admin/settings/mails")).text
    preview = (await operator.get(f"{PAGE}/preview")).text
    try:
        await save(operator, is_on="1")
        await buy(customer)
        (mail,) = await wait_for_mails(mail_server, customer.member.email, "30 points!")
        await save(operator)
        await buy(customer)
        await wait_for_listeners("loyalty")
    finally:
        await save(operator, is_on="1")
        await reset(operator)

    count = await shop_db.fetchval(
        "select count(*) from outbox_mails where recipient = $1 and kind like 'x_loyalty%'", customer.member.email
    )
    assert "Loyalty points earned" in listing
    assert "You earned 64 points" in preview
    assert "30" in body_of(mail, "plain").split()
    assert count == 1


@pytest.mark.torture
async def test_an_email_that_fails_waits_alone_and_is_sent_without_its_part(
    mail_server: MailServer, shop_http: httpx2.AsyncClient, shop_db: Any, mail_switch: Any
) -> None:
    address = new_email()
    answer = await shop_http.post("/api/v2/storefront/x/faulty/mails", json={"text": address})
    row = await wait_for_row(shop_db, _POSTPONED, address)
    mailbox = await shop_http.get("/mailbox")
    mail_switch.touch()
    (mail,) = await wait_for_mails(mail_server, address, "Note: at last")

    assert answer.json() == {"text": "True"}
    assert row["last_error"] == "the extension faulty failed"
    assert mailbox.status_code == 200
    # The layout and the part of the extension fail; the texts arrive in the layout of the shop.
    assert "A note of" in body_of(mail, "html")


@pytest.mark.torture
async def test_an_email_that_anyone_can_cause_spends_the_budget(
    shop_http: httpx2.AsyncClient, shop_db: Any, mail_switch: Any
) -> None:
    address, count = new_email(), "select coalesce(sum(count), 0) from rate_counts"
    before = await shop_db.fetchval(count)
    await shop_http.post("/api/v2/storefront/x/faulty/mails", json={"text": address})
    await wait_for_row(shop_db, _POSTPONED, address)

    # Of the address and of the shop; there is no source.
    assert await shop_db.fetchval(count) - before >= 2


async def test_an_extension_sends_only_its_own_emails_to_valid_addresses(shop_http: httpx2.AsyncClient) -> None:
    path = "/api/v2/storefront/x/faulty/mails"
    foreign = await shop_http.post(path, json={"text": f"login_code {new_email()}"})
    invalid = await shop_http.post(path, json={"text": "a@b@c\r\nBcc:d@example.org"})

    assert (foreign.status_code, invalid.status_code) == (500, 422)


@pytest.mark.torture
async def test_an_email_of_an_extension_that_is_not_installed_waits_for_it(shop_db: Any) -> None:
    address = new_email()
    await shop_db.execute(
        "insert into outbox_mails (id, kind, recipient, ref_id, not_after, next_at, created_at) values"
        " (gen_random_uuid(), 'x_gone_note', $1, gen_random_uuid(), now() + interval '1 day', now(), now())",
        address,
    )

    row = await wait_for_row(shop_db, _POSTPONED, address)

    assert row["last_error"] == "the extension that sends this e-mail is not installed"
    await shop_db.execute("delete from outbox_mails where recipient = $1", address)
