"""Refunds and voids in the dashboard: in parts, and never twice."""

import asyncio
from typing import Any
from uuid import UUID

import pytest

from tests.admin.catalog_forms import error_messages, field, saved_message
from tests.admin.dashboard import Dashboard, new_dashboard, new_role
from tests.admin.order_builders import ORDERS, buy, payment_of, refund_payment, states, text_of
from tests.checkout_builders import Buyer
from tests.concurrency import wait_for_locks
from tests.sampling import first
from tests.shopper import Answer


async def test_partial_refunds_have_a_reason(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer)
    payment = await payment_of(db, order)
    assert field((await dashboard.get(f"{payment}/refund")).text, "amount") == "25.00"

    assert saved_message(await refund_payment(dashboard, payment, amount="10", reason="<b>Chipped</b>")) == "refunded"

    assert field((await dashboard.get(f"{payment}/refund")).text, "amount") == "15.00"
    page = (await dashboard.get(f"{ORDERS}/{order['number']}")).text
    assert "&lt;b&gt;Chipped&lt;/b&gt;" in page
    assert "Refunded $10.00" in text_of(page)
    assert "Paid $25.00 Refunded -$10.00 Net payment $15.00" in text_of(page)
    assert "Balance due" not in page
    assert page.count('<span class="tag warn">Partly refunded</span>') == 2
    assert (await states(db, order))[1] == "paid"
    refusal = await dashboard.post(f"{payment}/void")
    assert error_messages(refusal) == ["A payment that is completed cannot be voided."]


@pytest.mark.parametrize(
    ("fields", "message"),
    first(
        3,
        [
            ({"amount": "25.01"}, "Amount must be greater than 0 and at most the captured amount not yet refunded."),
            ({"amount": "-1"}, "Amount must be a number like 19.99."),
            ({"reason": ""}, "Reason is required."),
            ({"amount": "0"}, "Amount must be greater than 0 and at most the captured amount not yet refunded."),
            ({"amount": "1.999"}, "Amount has more decimals than USD allows (2)."),
            ({"amount": ""}, "Amount is required."),
            ({"reason": "x" * 256}, "Reason must be one line of at most 255 characters."),
        ],
    ),
)
async def test_an_invalid_refund_is_refused_and_its_input_is_shown_again(
    dashboard: Dashboard, unchanged_order: tuple[Answer, str], db: Any, fields: dict[str, str], message: str
) -> None:
    order, _ = unchanged_order
    form = {"amount": "5.00", "reason": "Chipped", **fields}

    answer = await refund_payment(dashboard, await payment_of(db, order), **form)

    assert (answer.status_code, error_messages(answer)) == (422, [message])
    assert {name: field(answer.text, name) for name in form} == form
    assert await db.fetchval("select count(*) from refunds where order_id = $1", UUID(order.id)) == 0


async def test_a_refund_checks_the_payment_again_after_it_has_the_lock(
    dashboard: Dashboard, buyer: Buyer, db: Any
) -> None:
    """Another request refunds everything after this one has read the payment and before it locks the order."""
    order, _ = await buy(buyer)
    path = f"{await payment_of(db, order)}/refund"
    async with db.transaction():
        await db.execute("select 1 from orders where id = $1 for update", UUID(order.id))
        task = asyncio.create_task(dashboard.post(path, seen="0", amount="25.00", reason="Twice"))
        await wait_for_locks(db, 1)
        await db.execute("update payments set refunded_amount = captured_amount where order_id = $1", UUID(order.id))
    answer = await task

    assert answer.status_code == 409
    assert error_messages(answer) == [
        "The payment was refunded meanwhile. Nothing was refunded now: check what remains."
    ]
    attempts = await db.fetch("select act from payment_attempts where order_id = $1", UUID(order.id))
    assert [row["act"] for row in attempts] == ["purchase"]


async def test_a_refund_form_that_is_submitted_twice_refunds_once(
    dashboard: Dashboard, other_dashboard: Dashboard, buyer: Buyer, db: Any
) -> None:
    order, _ = await buy(buyer)
    path = f"{await payment_of(db, order)}/refund"
    form = {"seen": field((await dashboard.get(path)).text, "seen"), "amount": "5.00", "reason": "Chipped"}

    assert saved_message(await dashboard.post(path, **form)) == "refunded"
    again = await dashboard.post(path, **form)
    other = await other_dashboard.post(path, **form)
    without = [await dashboard.post(path, **{**form, "seen": seen}) for seen in ("", "9" * 40, "x")]

    for answer in (again, other, *without):
        assert answer.status_code == 409
        assert f"Nothing was refunded now: check what remains. {dashboard.email} refunded $5.00 (" in answer.text
        assert field(answer.text, "seen") == "500"
        assert "Up to $20.00" in answer.text
    assert await db.fetchval("select count(*) from refunds where order_id = $1", UUID(order.id)) == 1
    assert saved_message(await refund_payment(dashboard, path.removesuffix("/refund"), amount="5.00")) == "refunded"


async def test_a_payment_with_a_pending_attempt_is_409(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer)
    payment = await payment_of(db, order)
    await db.execute(
        """insert into payment_attempts (id, order_id, payment_id, act, amount, created_at)
        select gen_random_uuid(), order_id, id, 'refund', 100, now() from payments where order_id = $1""",
        UUID(order.id),
    )

    refund = await refund_payment(dashboard, payment, amount="5")
    void = await dashboard.post(f"{payment}/void")

    sentence = "Payment is still processing; retry shortly."
    assert [(answer.status_code, error_messages(answer)) for answer in (refund, void)] == [(409, [sentence])] * 2
    assert field(refund.text, "reason") == "Chipped"


async def test_voiding_asks_for_confirmation_and_voids_the_payment(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer, pays="check")
    payment = await payment_of(db, order)

    question = (await dashboard.get(f"{payment}/void")).text
    assert f'action="{payment}/void"' in question
    assert "The payment will no longer be expected" in question
    assert saved_message(await dashboard.post(f"{payment}/void")) == "voided"

    assert (await states(db, order))[3] == "void"


@pytest.mark.security("D-15")
async def test_the_refund_limit_of_a_role_counts_for_refunds_voids_and_cancellations(
    dashboard: Dashboard, buyer: Buyer, db: Any
) -> None:
    order, _ = await buy(buyer)
    payment, path = await payment_of(db, order), f"{ORDERS}/{order['number']}"
    words = ("orders:read", "orders:write", "refunds:write")
    helper = await new_dashboard(dashboard.http, db, role_id=await new_role(db, *words, refund_limit=10))

    above = await refund_payment(helper, payment, amount="10.01")
    void = await helper.post(f"{payment}/void")
    cancellation = await helper.post(f"{path}/cancel")
    within = await refund_payment(helper, payment, amount="10")

    for answer in (above, void, cancellation):
        assert answer.status_code == 422
        assert "at most 10 at once" in answer.text
    assert saved_message(within) == "refunded"
    assert await db.fetchval("select canceled_at from orders where id = $1", UUID(order.id)) is None
