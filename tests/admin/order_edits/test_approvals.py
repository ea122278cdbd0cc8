"""A second operator approves refunds above the amount of the settings."""

import re
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from tests.accounts import sign_in
from tests.admin.catalog_forms import error_messages, saved_message
from tests.admin.dashboard import Dashboard, backdate_session, events, new_dashboard, new_role
from tests.admin.order_builders import ORDERS, buy, payment_of, refund_payment, states, text_of
from tests.admin.order_edits.forms import find_problems, line_ids
from tests.admin.order_edits.test_refunds import preview, refunded
from tests.checkout_builders import Buyer, SignedInBuyer
from tests.concurrency import run_concurrently
from tests.platform.client import Machine
from tests.shopper import Answer

APPROVALS = "/admin/approvals"
ROLES = "/admin/settings/roles"


@pytest.fixture(autouse=True)
async def approval(dashboard: Dashboard, db: Any) -> AsyncIterator[None]:
    """Refunds above 15 need a second operator."""
    assert saved_message(await dashboard.post(f"{ROLES}/approval", amount="15")) == "saved"
    yield
    await db.execute("update shops set refund_approval_amount = null, version = version + 1")


async def request_refund(dashboard: Dashboard, order: Answer, **fields: str) -> None:
    path = f"{ORDERS}/{order['number']}/refund"
    page, form = await preview(dashboard, path, **fields)
    assert "Ask for a refund of" in page.text
    assert saved_message(await dashboard.post(path, **form, do="refund")) == "refund-requested"


async def find_request(db: Any, order: Answer) -> UUID:
    request_id: UUID = await db.fetchval(
        "select id from refund_requests where order_id = $1 order by id desc limit 1", UUID(order.id)
    )
    return request_id


async def state_of(db: Any, request_id: UUID) -> tuple[Any, ...]:
    return tuple(await db.fetchrow("select state, decided_by from refund_requests where id = $1", request_id))


async def test_another_operator_approves_a_large_refund(
    dashboard: Dashboard, other_dashboard: Dashboard, buyer: Buyer, db: Any, database_url: str
) -> None:
    order, variant = await buy(buyer, quantity=3)
    line = (await line_ids(db, order))[variant]

    await request_refund(dashboard, order, **{f"quantity[{line}]": "2", "reason_text": "Chipped"})

    request_id = await find_request(db, order)
    assert await refunded(db, order) == []
    own, other = [(await each.get(APPROVALS)).text for each in (dashboard, other_dashboard)]
    assert f"{APPROVALS}/{request_id}/approve" not in own
    assert f"{APPROVALS}/{request_id}/approve" in other
    requester = dashboard.email.replace("@", " @")
    assert f"{order['number']} $20.00 Damaged or defective: Chipped {requester}" in text_of(other)
    refusal = await dashboard.post(f"{APPROVALS}/{request_id}/approve")
    assert error_messages(refusal) == ["Another operator must approve a refund that you asked for."]
    assert await refunded(db, order) == []

    assert saved_message(await other_dashboard.post(f"{APPROVALS}/{request_id}/approve")) == "approved"

    assert await refunded(db, order) == [(2000, "Damaged or defective: Chipped", "completed")]
    assert await state_of(db, request_id) == ("approved", other_dashboard.id)
    assert ("refund_requested", "done") in await events(db, actor=dashboard.id, subject=UUID(order.id))
    assert ("refund_approved", "done") in await events(db, actor=other_dashboard.id, subject=UUID(order.id))
    assert str(request_id) not in (await dashboard.get(APPROVALS)).text
    assert await find_problems(database_url, db, order) == {}


async def test_two_approvals_at_once_make_one_refund(
    dashboard: Dashboard, other_dashboard: Dashboard, http: httpx2.AsyncClient, buyer: Buyer, db: Any
) -> None:
    order, _ = await buy(buyer, quantity=5)
    await request_refund(dashboard, order, other="16.00")
    request_id, third_dashboard = await find_request(db, order), await new_dashboard(http, db)
    path = f"{APPROVALS}/{request_id}/approve"
    await other_dashboard.csrf()
    await third_dashboard.csrf()

    answers = await run_concurrently(
        db, "refund_requests", request_id, other_dashboard.post(path), third_dashboard.post(path)
    )

    assert sorted(answer.status_code for answer in answers) == [303, 409]
    (loser,) = [answer for answer in answers if answer.status_code == 409]
    assert error_messages(loser) == ["Another operator decided meanwhile: the refund was approved."]
    assert [amount for amount, *_ in await refunded(db, order)] == [1600]


async def test_a_refund_that_is_no_longer_possible_is_not_made(
    dashboard: Dashboard, other_dashboard: Dashboard, buyer: Buyer, writer: Machine, db: Any
) -> None:
    order, _ = await buy(buyer)
    await request_refund(dashboard, order, other="20.00")
    request_id = await find_request(db, order)
    payment_id = (await payment_of(db, order))[-36:]
    # An application needs no approval.
    body = {"payment_id": payment_id, "amount": "16.00", "reason": "late"}
    assert (await writer.post("/refunds", {"refund": body})).status == 201

    answer = await other_dashboard.post(f"{APPROVALS}/{request_id}/approve")

    assert answer.status_code == 422
    assert error_messages(answer) == ["The refund is more than what was paid and not refunded yet."]
    assert [amount for amount, *_ in await refunded(db, order)] == [1600]
    assert await state_of(db, request_id) == ("pending", None)
    assert saved_message(await other_dashboard.post(f"{APPROVALS}/{request_id}/decline")) == "declined"
    again = await other_dashboard.post(f"{APPROVALS}/{request_id}/approve")
    assert error_messages(again) == ["Another operator decided meanwhile: the refund was declined."]


async def test_no_other_way_refunds_more_without_approval(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer)
    before = await states(db, order)

    payment = await payment_of(db, order)

    refund = await refund_payment(dashboard, payment, amount="15.01")
    void = await dashboard.post(f"{payment}/void")
    cancellation = await dashboard.post(f"{ORDERS}/{order['number']}/cancel")

    for answer in (refund, void, cancellation):
        assert answer.status_code == 422
        assert "needs a second operator" in error_messages(answer)[0]
    assert (await refunded(db, order), await states(db, order)) == ([], before)
    assert f"{payment}/void" not in (await dashboard.get(f"{ORDERS}/{order['number']}")).text
    assert saved_message(await refund_payment(dashboard, payment, amount="15"))
    assert [amount for amount, *_ in await refunded(db, order)] == [1500]


async def test_a_cancellation_counts_all_payments_together(
    dashboard: Dashboard, http: httpx2.AsyncClient, buyer: Buyer, writer: Machine, db: Any
) -> None:
    member_buyer = SignedInBuyer(http, buyer.checkout_setup, member := await sign_in(http))
    credit = {"user_id": str(await member.id()), "amount": "12.00", "currency": "USD", "memo": "Sorry"}
    assert (await writer.post("/store_credits", {"store_credit": credit})).status == 201
    await member_buyer.add_items((await buyer.checkout_setup.product(), 2))
    await member_buyer.enter_address()
    await member_buyer.post("/checkout/add_store_credit")
    await member_buyer.pay()
    order = await member_buyer.complete()
    amounts = await db.fetch("select captured_amount from payments where order_id = $1", UUID(order.id))
    assert sorted(row[0] for row in amounts) == [1200, 1300]

    answer = await dashboard.post(f"{ORDERS}/{order['number']}/cancel")

    assert answer.status_code == 422
    assert "needs a second operator" in error_messages(answer)[0]
    assert await refunded(db, order) == []


async def test_approval_needs_the_permission_a_limit_a_recent_password_and_a_fresh_request(
    dashboard: Dashboard, other_dashboard: Dashboard, http: httpx2.AsyncClient, buyer: Buyer, db: Any
) -> None:
    order, _ = await buy(buyer)
    await request_refund(dashboard, order, other="16.00")
    request_id = await find_request(db, order)
    path = f"{APPROVALS}/{request_id}/approve"
    clerk = await new_dashboard(http, db, role_id=await new_role(db, "orders:read", "orders:write"))
    junior = await new_dashboard(
        http, db, role_id=await new_role(db, "orders:read", "orders:write", "refunds:write", refund_limit=15)
    )

    assert (await clerk.post(path)).status_code == 403
    assert "at most 15 at once" in error_messages(await junior.post(path))[0]
    await db.execute("update refund_requests set created_at = now() - interval '8 days' where id = $1", request_id)
    assert str(request_id) not in (await other_dashboard.get(APPROVALS)).text
    assert error_messages(await other_dashboard.post(path)) == [
        "The request expired after 7 days. Ask for a new refund."
    ]
    await request_refund(dashboard, order, other="17.00")
    await backdate_session(db, other_dashboard, "authenticated_at", "11 minutes")
    await other_dashboard.post(f"{APPROVALS}/{await find_request(db, order)}/approve")
    assert (await other_dashboard.post(f"{APPROVALS}/{uuid4()}/decline")).status_code == 404
    assert await refunded(db, order) == []


async def test_an_order_has_one_open_request_which_its_author_withdraws(
    dashboard: Dashboard, buyer: Buyer, db: Any
) -> None:
    order, _ = await buy(buyer, quantity=5)
    path = f"{ORDERS}/{order['number']}/refund"
    await request_refund(dashboard, order, other="16.00")

    page, form = await preview(dashboard, path, other="17.00")
    answer = await dashboard.post(path, **form, do="refund")

    assert "A refund of $16.00 waits for a second operator" in text_of(page.text)
    assert answer.status_code == 409
    assert saved_message(await dashboard.post(f"{APPROVALS}/{await find_request(db, order)}/decline")) == "declined"
    await request_refund(dashboard, order, other="17.00")


@pytest.mark.parametrize("amount", ["-1", "much", "1e400", "9" * 18])
async def test_an_invalid_amount_is_refused(dashboard: Dashboard, db: Any, amount: str) -> None:
    answer = await dashboard.post(f"{ROLES}/approval", amount=amount)

    assert answer.status_code == 422
    assert amount in answer.text
    assert await db.fetchval("select refund_approval_amount from shops") == 15


async def test_the_overview_counts_the_refunds_that_the_operator_may_approve(
    dashboard: Dashboard, other_dashboard: Dashboard, http: httpx2.AsyncClient, buyer: Buyer, db: Any
) -> None:
    reader = await new_dashboard(http, db, role_id=await new_role(db, "reports:read"))
    order, variant = await buy(buyer, quantity=3)
    before = [await count_on_overview(each) for each in (dashboard, other_dashboard)]

    await request_refund(dashboard, order, **{f"quantity[{(await line_ids(db, order))[variant]}]": "2"})

    assert [await count_on_overview(each) for each in (dashboard, other_dashboard)] == [before[0], before[1] + 1]
    assert "to approve" not in (await reader.get("/admin")).text
    order_page = await dashboard.get(f"{ORDERS}/{order['number']}")
    assert "A refund of $20.00 waits for a second operator. Review refund" in text_of(order_page.text)
    assert f'href="{APPROVALS}#{order["number"]}"' in order_page.text
    assert '<span class="tag warn">Refund waiting</span>' in order_page.text


async def count_on_overview(dashboard: Dashboard) -> int:
    match = re.search(r"<b>(\d+)</b> refunds? to approve", (await dashboard.get("/admin")).text)
    assert match
    return int(match[1])


async def test_an_approved_refund_goes_where_it_was_asked_for(
    dashboard: Dashboard, other_dashboard: Dashboard, http: httpx2.AsyncClient, buyer: Buyer, db: Any
) -> None:
    member_buyer = SignedInBuyer(http, buyer.checkout_setup, await sign_in(http))
    order, _ = await buy(member_buyer)
    await request_refund(dashboard, order, other="20", destination="store_credit")
    request_id = await find_request(db, order)
    assert "Damaged or defective as store credit" in text_of((await other_dashboard.get(APPROVALS)).text)

    assert saved_message(await other_dashboard.post(f"{APPROVALS}/{request_id}/approve")) == "approved"

    query = "select sum(amount) from store_credits c join orders o on o.user_id = c.user_id where o.id = $1"
    assert await db.fetchval(query, UUID(order.id)) == 2000


async def test_a_request_from_before_the_choice_of_store_credit_is_shown(
    dashboard: Dashboard, buyer: Buyer, db: Any
) -> None:
    order, _ = await buy(buyer)
    await request_refund(dashboard, order, other="16.00")
    query = "update refund_requests set refund = refund - 'is_to_credit' where id = $1"
    await db.execute(query, await find_request(db, order))

    assert f"{order['number']} $16.00 Damaged or defective you" in text_of((await dashboard.get(APPROVALS)).text)
