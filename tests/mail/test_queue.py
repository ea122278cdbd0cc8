"""The statement that queues the e-mails of a transaction, given several at once."""

from collections.abc import Callable
from uuid import UUID, uuid4

import asyncpg

from shop.db.pool import open_database
from shop.queries.event_mails import insert_mails
from shop.rules.mail_events import CONFIRMATION, PAYMENT_ATTENTION, MailRequest

_USER = """insert into users (id, email, email_key, verified_at, created_at, updated_at)
    values ($1, 'Ada@shoppers.example', 'ada@shoppers.example', now(), now(), now())"""
_ORDER = """insert into orders (id, number, state, currency, email, completed_at, payment_state, created_at, updated_at)
    values ($1, $2, 'complete', 'USD', $3, now(), 'balance_due', now(), now())"""


async def test_each_mail_has_its_own_address_and_its_own_budget(own_database: Callable[..., str]) -> None:
    url = own_database()
    db = await asyncpg.connect(url)
    owner_id, own_order, gift = uuid4(), uuid4(), uuid4()
    await db.execute(_USER, owner_id)
    await db.execute(_ORDER, own_order, "R1", "Ada@shoppers.example")
    await db.execute(_ORDER, gift, "R2", "grace@shoppers.example")
    database = open_database(url, size=1)

    def confirmation(order_id: UUID) -> MailRequest:
        return MailRequest(kind=CONFIRMATION, ref_id=order_id, order_id=order_id, owner_id=owner_id)

    await insert_mails(database.session(), [confirmation(own_order), confirmation(gift)], "198.51.100.7")

    await database.close()
    rows = await db.fetch("select ref_id, recipient, awaits_budget, source from outbox_mails")
    await db.close()
    assert {tuple(row) for row in rows} == {
        (own_order, "Ada@shoppers.example", False, None),
        (gift, "grace@shoppers.example", True, "198.51.100.7"),
    }


async def test_a_repeated_mail_keeps_back_no_other(own_database: Callable[..., str]) -> None:
    url = own_database()
    db = await asyncpg.connect(url)
    orders = uuid4(), uuid4()
    for number, order_id in enumerate(orders):
        await db.execute(_ORDER, order_id, f"R{number}", "ada@shoppers.example")
    first, second = (MailRequest(kind=PAYMENT_ATTENTION, ref_id=each, order_id=each) for each in orders)
    database = open_database(url, size=1)

    await insert_mails(database.session(), [first], None)
    await insert_mails(database.session(), [first, second], None)

    await database.close()
    refs = await db.fetch("select ref_id from outbox_mails")
    await db.close()
    assert sorted(row["ref_id"] for row in refs) == sorted(orders)
