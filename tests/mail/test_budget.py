"""The mail budget: guests can neither flood an address nor keep customers from signing in."""

import asyncio
from typing import Any

import httpx2
import pytest

from tests.accounts import Member, ask_for_code, exchange_code, mailed_code, new_email, sign_in
from tests.checkout_builders import Buyer, CheckoutSetup, SignedInBuyer
from tests.db.processes import until
from tests.mail.budget_shop import (
    count_mails_to,
    end_windows,
    fill_cart,
    limit_events,
    new_source,
    place_order,
    request_code,
    wait_until_delivered,
)
from tests.storefront.access.test_login import stable_headers


async def use_up_unverified_share(client: httpx2.AsyncClient) -> None:
    answers = await asyncio.gather(*(request_code(client, new_email()) for _ in range(10)))
    assert {answer.status_code for answer in answers} == {200}


@pytest.mark.security("M-06", "M-01")
async def test_guest_orders_cannot_flood_an_address_or_block_its_owners_sign_in(
    client: httpx2.AsyncClient, outbox: Any, shop_checkout: CheckoutSetup
) -> None:
    victim, start_time = new_email(), await outbox.fetchval("select now()")
    spellings = [victim, victim.upper(), victim.replace("@", "+tag@"), victim, victim]

    for spelling in spellings:
        await place_order(Buyer(client, shop_checkout), spelling)
    await wait_until_delivered(outbox)

    query = "select count(*) filter (where sent_at is null), count(*) from outbox_mails"
    assert tuple(await outbox.fetchrow(query)) == (3, 5)
    mails = (await client.get("/mailbox.json")).json()
    assert len(mails) == 2
    await request_code(client, victim)
    assert (await exchange_code(client, victim, await mailed_code(client, victim))).status == 200
    assert await limit_events(outbox, "refused", start_time) == [("mails by address", "2/86400")]


@pytest.mark.security("M-06")
async def test_each_full_window_is_audited_once(
    client: httpx2.AsyncClient, outbox: Any, shop_checkout: CheckoutSetup
) -> None:
    start_time, first, second = await outbox.fetchval("select now()"), new_email(), new_email()
    # The second address reaches its limit first, and exceeds it while that of the first one is exceeded.
    for email in [second] * 2 + [first] * 4 + [second] * 2:
        await place_order(Buyer(client, shop_checkout), email)
        await wait_until_delivered(outbox)

    assert [await count_mails_to(outbox, email) for email in (first, second)] == [2, 2]
    assert await limit_events(outbox, "refused", start_time) == [("mails by address", "2/86400")] * 2


@pytest.mark.security("M-06")
async def test_a_confirmation_over_the_budget_is_sent_when_the_window_has_ended(
    client: httpx2.AsyncClient, outbox: Any, shop_checkout: CheckoutSetup
) -> None:
    victim = new_email()
    for _ in range(3):
        await place_order(Buyer(client, shop_checkout), victim)
    assert await count_mails_to(outbox, victim) == 2
    waits_query = "select extract(epoch from next_at - now()) from outbox_mails where sent_at is null"
    seconds_left = await outbox.fetchval("select 86400 - extract(epoch from now()) % 86400")
    assert seconds_left - 5 <= await outbox.fetchval(waits_query) <= seconds_left + 5

    await end_windows(outbox)

    assert await count_mails_to(outbox, victim) == 3
    assert await outbox.fetchval("select count(*) from outbox_mails where source is not null") == 0


@pytest.mark.security("M-06")
async def test_a_confirmation_over_the_budget_for_three_days_is_dropped(
    client: httpx2.AsyncClient, outbox: Any, shop_checkout: CheckoutSetup
) -> None:
    victim = new_email()
    for _ in range(3):
        await place_order(Buyer(client, shop_checkout), victim)
    await wait_until_delivered(outbox)
    row = "select extract(epoch from not_after - created_at)::int from outbox_mails where sent_at is null"
    assert await outbox.fetchval(row) == 3 * 86400

    await outbox.execute("update outbox_mails set not_after = now(), next_at = now() where sent_at is null")
    await wait_until_delivered(outbox)

    dead = await outbox.fetch("select last_error from outbox_mails where dead_at is not null")
    assert [row[0] for row in dead] == ["the e-mail expired before the mail budget allowed it"]
    assert len((await client.get("/mailbox.json")).json()) == 2


@pytest.mark.security("M-06")
async def test_orders_of_one_source_use_at_most_half_of_its_mail_budget(
    client: httpx2.AsyncClient, outbox: Any, shop_checkout: CheckoutSetup
) -> None:
    source = new_source()
    for _ in range(7):
        await place_order(Buyer(client, shop_checkout), new_email(), source)
    await wait_until_delivered(outbox)

    mail_count = await outbox.fetchval("select count(*) from outbox_mails where sent_at is not null")
    codes = [
        await client.post("/api/v2/storefront/auth", json={"user": {"email": new_email()}}, headers=source)
        for _ in range(6)
    ]
    assert mail_count == 5
    assert [answer.status_code for answer in codes] == [200] * 5 + [429]


@pytest.mark.security("M-06")
async def test_only_confirmations_to_the_owners_own_address_are_exempt_from_the_budget(
    client: httpx2.AsyncClient, outbox: Any, shop_checkout: CheckoutSetup
) -> None:
    member, other = await sign_in(client), new_email()
    await outbox.execute("delete from rate_counts; delete from outbox_mails")
    for email in (*[member.email] * 4, *[other] * 3):
        buyer = SignedInBuyer(client, shop_checkout, member)
        await place_order(buyer, email)

    assert (await count_mails_to(outbox, member.email), await count_mails_to(outbox, other)) == (4, 2)
    assert await outbox.fetchval("select count(*) from outbox_mails where awaits_budget") == 1


@pytest.mark.security("M-06")
async def test_an_order_completed_with_the_token_alone_counts_against_the_budget(
    client: httpx2.AsyncClient, outbox: Any, shop_checkout: CheckoutSetup
) -> None:
    member = await sign_in(client)
    await outbox.execute("delete from rate_counts; delete from outbox_mails")
    for _ in range(3):
        owner, holder = SignedInBuyer(client, shop_checkout, member), Buyer(client, shop_checkout)
        await fill_cart(owner, member.email, new_source())
        holder.order_token = owner.order_token
        response = await holder.patch("/checkout/complete", headers=new_source())
        assert response.status == 200, response

    assert await count_mails_to(outbox, member.email) == 2


async def test_orders_completed_by_an_application_are_exempt_from_the_budget(
    client: httpx2.AsyncClient, outbox: Any, shop_checkout: CheckoutSetup
) -> None:
    email = new_email()
    for _ in range(4):
        buyer = Buyer(client, shop_checkout)
        await fill_cart(buyer, email, new_source())
        cart = await buyer.get("/cart")
        response = await shop_checkout.make.machine.patch(f"/orders/{cart.id}/complete", {})
        assert response.status == 200, response

    assert await count_mails_to(outbox, email) == 4


async def test_a_confirmation_is_retried_after_its_count_fails_with_a_deadlock(
    client: httpx2.AsyncClient, outbox: Any, shop_checkout: CheckoutSetup
) -> None:
    first, email = new_email(), new_email()
    await place_order(Buyer(client, shop_checkout), first)
    assert await count_mails_to(outbox, first) == 1
    waits_query = "select count(*) from pg_locks where not granted and locktype = 'transactionid'"
    await outbox.execute("set deadlock_timeout = '20s'")

    async with outbox.transaction():
        await outbox.execute("select 1 from rate_counts for update")
        buyer, headers = Buyer(client, shop_checkout), new_source()
        purchase = asyncio.create_task(place_order(buyer, email, headers))
        await until(lambda: outbox.fetchval(waits_query))
        await outbox.execute("select 1 from outbox_mails for update")
    await purchase

    row = "select attempts, last_error from outbox_mails where recipient = $1 and sent_at is not null"
    await until(lambda: outbox.fetchrow(row, email))
    assert tuple(await outbox.fetchrow(row, email)) == (2, "the database: TransactionConflict")


@pytest.mark.security("M-08", "L-09")
async def test_codes_for_unverified_addresses_cannot_block_customers_from_signing_in(
    client: httpx2.AsyncClient, outbox: Any
) -> None:
    customer, start_time = await sign_in(client), await outbox.fetchval("select now()")
    unverified, unknown = new_email(), new_email()
    await ask_for_code(client, unverified)
    await outbox.execute("delete from rate_counts; delete from outbox_mails")

    await use_up_unverified_share(client)
    answers = [await request_code(client, email) for email in (customer.email, unverified, unknown)]

    assert {(answer.status_code, answer.text) for answer in answers} == {(200, answers[0].text)}
    assert all(stable_headers(answer) == stable_headers(answers[0]) for answer in answers)
    assert [await count_mails_to(outbox, email) for email in (customer.email, unverified, unknown)] == [1, 0, 0]
    assert (await exchange_code(client, customer.email, await mailed_code(client, customer.email))).status == 200
    assert await limit_events(outbox, "refused", start_time) == [("mails to unverified addresses", "10/86400")]


@pytest.mark.security("M-08")
async def test_a_postponed_code_is_sent_while_it_is_valid(client: httpx2.AsyncClient, outbox: Any) -> None:
    email = new_email()
    await use_up_unverified_share(client)
    await request_code(client, email)
    assert (await client.get("/mailbox.json", params={"to": email})).json() == []

    await end_windows(outbox)

    assert await count_mails_to(outbox, email) == 1
    assert (await exchange_code(client, email, await mailed_code(client, email))).status == 200


@pytest.mark.security("M-08")
async def test_orders_and_codes_for_unverified_addresses_share_half_of_the_budget(
    client: httpx2.AsyncClient, outbox: Any, shop_checkout: CheckoutSetup
) -> None:
    emails = [new_email() for _ in range(3)]
    for _ in range(8):
        await request_code(client, new_email())
    for email in emails:
        await place_order(Buyer(client, shop_checkout), email)

    assert sum([await count_mails_to(outbox, email) for email in emails]) == 2


@pytest.mark.security("M-09")
async def test_reaching_80_percent_of_a_budget_is_audited_once_per_window(
    client: httpx2.AsyncClient, outbox: Any
) -> None:
    customers = [await sign_in(client) for _ in range(3)]
    await outbox.execute("delete from rate_counts; delete from outbox_mails")
    start_time = await outbox.fetchval("select now()")

    async def warnings_after(members: list[Member], count: int) -> list[tuple[str, str]]:
        for number in range(count):
            await request_code(client, members[number % len(members)].email if members else new_email())
        return await limit_events(outbox, "warning", start_time)

    assert await warnings_after([], 7) == []
    assert await warnings_after([], 1) == [("mails to unverified addresses", "10/86400")]
    assert len(await warnings_after([], 4)) == 1
    # Ten mails were sent; with those of the customers it is sixteen of twenty.
    assert len(await warnings_after(customers, 5)) == 1
    assert (await warnings_after(customers, 1))[1:] == [("mails", "20/86400")]
    assert len(await warnings_after(customers, 3)) == 2
