"""The personal data of a customer, as an operator exports it."""

from typing import Any
from uuid import UUID, uuid4

import httpx2

from tests.accounts import sign_in
from tests.admin.customers.test_erasure import fill_account, order_with
from tests.admin.dashboard import UNKNOWN_ID, Dashboard
from tests.checkout_builders import Buyer, CheckoutSetup, SignedInBuyer


async def test_the_export_has_everything_about_the_customer_and_is_audited(
    dashboard: Dashboard, http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    marker = f"zq{uuid4().hex[:16]}"
    email = f"{marker}@shoppers.example"
    member = await sign_in(http, email, first_name=marker)
    buyer = SignedInBuyer(http, checkout_setup, member)
    path = await fill_account(dashboard, buyer, marker)
    order = await order_with(buyer, dashboard, db, marker, email)
    guest_order = await order_with(Buyer(http, checkout_setup), dashboard, db, marker, email)

    answer = await dashboard.get(f"{path}/export")

    assert answer.status_code == 200
    assert "attachment" in answer.headers["content-disposition"]
    content = answer.json()
    assert (content["note"], content["tags"], content["profile"]["phone"]) == (marker, [marker], marker)
    assert {each["number"] for each in content["orders"]} == {order["number"], guest_order["number"]}
    assert [each["reason"] for each in content["store_credit"]] == [marker]
    assert [each["name"] for each in content["wishlists"]] == [marker]
    assert len(content["sessions"]) == 1
    assert content["addresses"]
    assert content["e_mails"]
    audit = "select actor_id from audit_events where action = 'customer_exported' and subject_id = $1"
    assert await db.fetchval(audit, UUID(path[-36:])) == dashboard.id
    assert (await dashboard.get(f"/admin/customers/{UNKNOWN_ID}/export")).status_code == 404
