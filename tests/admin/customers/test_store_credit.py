"""Store credit on the customer's page: the balance, the ledger, and grants and withdrawals with a reason."""

import asyncio
import re
from typing import Any
from uuid import UUID

import httpx2
import pytest

from tests.accounts import Member, sign_in
from tests.admin.catalog_forms import error_messages, field, saved_message
from tests.admin.dashboard import UNKNOWN_ID, Dashboard, backdate_session, events
from tests.admin.order_builders import text_of
from tests.checkout_builders import ADDRESS, CheckoutSetup
from tests.platform.client import Machine

CUSTOMERS = "/admin/customers"


@pytest.fixture
async def member(http: httpx2.AsyncClient) -> Member:
    return await sign_in(http)


async def customer_path(member: Member) -> str:
    return f"{CUSTOMERS}/{await member.id()}"


async def grant(dashboard: Dashboard, member: Member, **fields: str) -> httpx2.Response:
    form = {"amount": "10.00", "currency": "USD", "memo": "A late parcel", **fields}
    return await dashboard.post(f"{await customer_path(member)}/credit/grant", **form)


async def grant_of(db: Any, member: Member) -> UUID:
    grant_id = await db.fetchval("select id from store_credits where user_id = $1 order by id desc", await member.id())
    return UUID(str(grant_id))


async def spend(member: Member, checkout_setup: CheckoutSetup) -> str:
    """Buys a product for 20.00 and shipping for 5.00 with all available credit; returns the order number."""
    product = await checkout_setup.product("20.00")
    await member.post("/cart")
    await member.post("/cart/add_item", variant_id=product.variant_id)
    await member.patch("/checkout", order={"bill_address_attributes": ADDRESS, "use_billing": True})
    await member.post("/checkout/add_store_credit")
    payment: dict[str, Any] = {
        "payment_method_id": checkout_setup.card,
        "source_attributes": {"gateway_payment_profile_id": "approve"},
    }
    await member.post("/checkout/create_payment", **payment)
    order = await member.patch("/checkout/complete")
    assert order.status == 200, order
    return str(order["number"])


def ledger_of(page: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", page.partition("<h2>Ledger</h2>")[2], re.DOTALL)
    cells = [[text_of(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)][1:] for row in rows]
    return [row for row in cells if row]


async def test_a_form_that_is_submitted_twice_grants_once(dashboard: Dashboard, member: Member, db: Any) -> None:
    path = f"{await customer_path(member)}/credit/grant"
    form_id = field((await dashboard.get(path)).text, "id")
    await dashboard.csrf()

    answers = await asyncio.gather(*(grant(dashboard, member, id=form_id) for _ in range(2)))
    other = await grant(dashboard, member, id=form_id, amount="3.00")

    assert [saved_message(answer) for answer in answers] == ["granted"] * 2
    assert other.status_code == 422
    assert "This form granted another store credit already." in error_messages(other)[0]
    count = "select count(*) from store_credits where user_id = $1"
    assert await db.fetchval(count, await member.id()) == 1
    assert saved_message(await grant(dashboard, member, id=field(other.text, "id"), amount="3.00")) == "granted"
    assert await db.fetchval(count, await member.id()) == 2


async def test_the_ledger_shows_granted_spent_and_withdrawn_credit(
    dashboard: Dashboard, member: Member, checkout_setup: CheckoutSetup, db: Any
) -> None:
    assert saved_message(await grant(dashboard, member)) == "granted"
    number = await spend(member, checkout_setup)
    assert saved_message(await grant(dashboard, member, amount="7.5", memo="<b>Sorry</b>")) == "granted"
    assert saved_message(await grant(dashboard, member, amount="500", currency="JPY")) == "granted"
    path = f"{await customer_path(member)}/credit"
    yen_grant = await grant_of(db, member)

    response = await dashboard.post(f"{path}/{yen_grant}/withdraw", reason="Granted by mistake")

    assert saved_message(response) == "withdrawn"
    page = (await dashboard.get(path)).text
    assert ledger_of(page) == [
        ["withdrawn", "Granted by mistake", dashboard.email, "-¥500", "¥0"],
        ["granted", "A late parcel", dashboard.email, "+¥500", "¥500"],
        ["granted", "<b>Sorry</b>", dashboard.email, "+$7.50", "$7.50"],
        ["spent", number, "the customer", "-$10.00", "$0.00"],
        ["granted", "A late parcel", dashboard.email, "+$10.00", "$10.00"],
    ]
    assert "&lt;b&gt;Sorry&lt;/b&gt;" in page
    assert "Balance ¥0 JPY $7.50 USD" in text_of(page)
    customer = text_of((await dashboard.get(await customer_path(member))).text)
    assert "¥0 JPY $7.50 USD -¥500 withdrawn: Granted by mistake" in customer
    assert f"-$10.00 spent: order {number} by the customer" in customer
    actions = [action for action, _ in await events(db, actor=dashboard.id, subject=await member.id())]
    assert actions == ["store_credit_granted"] * 3 + ["store_credit_withdrawn"]
    assert f"{dashboard.email} withdrew ¥500 of store credit" in customer
    assert (await member.get("/account"))["store_credits"] == "7.5"


async def test_paging_through_a_long_ledger_shows_every_entry_once(
    dashboard: Dashboard, member: Member, writer: Machine
) -> None:
    for number in range(27):
        fields = {"user_id": str(await member.id()), "amount": "1.00", "currency": "USD", "memo": f"Grant {number}"}
        assert (await writer.post("/store_credits", {"store_credit": fields})).status == 201
    path = f"{await customer_path(member)}/credit"

    first = (await dashboard.get(path)).text
    (next_link,) = re.findall(r'href="([^"]*\?before=[^"]*)"', first)
    second = (await dashboard.get(next_link)).text

    entries = [row[1] for page in (first, second) for row in ledger_of(page)]
    assert entries == [f"Grant {number}" for number in reversed(range(27))]
    assert [row[-1] for row in ledger_of(second)] == ["$2.00", "$1.00"]
    assert "?before=" not in second
    assert f'href="{path}"' in second


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"amount": ""}, "Amount is required."),
        ({"amount": "0"}, "Amount must be greater than 0."),
        ({"amount": "-5"}, "Amount must be a number like 19.99."),
        ({"amount": "1.999"}, "Amount has more decimals than USD allows (2)."),
        ({"amount": "9" * 16}, "Amount is too large."),
        ({"currency": "CHF"}, "Currency is not a valid choice."),
        ({"memo": ""}, "Reason is required."),
        ({"memo": "x" * 256}, "Reason must be one line of at most 255 characters."),
    ],
    ids=["missing", "zero", "negative", "decimals", "too large", "currency", "no reason", "long reason"],
)
async def test_an_invalid_grant_is_refused_and_its_input_is_shown_again(
    dashboard: Dashboard, member: Member, db: Any, fields: dict[str, str], message: str
) -> None:
    answer = await grant(dashboard, member, **fields)

    assert (answer.status_code, error_messages(answer)) == (422, [message])
    form = {"amount": "10.00", "memo": "A late parcel", **fields}
    assert {name: field(answer.text, name) for name in ("amount", "memo")} == {
        name: form[name] for name in ("amount", "memo")
    }
    assert await db.fetchval("select count(*) from store_credits where user_id = $1", await member.id()) == 0


async def test_a_withdrawal_needs_a_reason_and_remaining_credit(dashboard: Dashboard, member: Member, db: Any) -> None:
    await grant(dashboard, member)
    path = f"{await customer_path(member)}/credit/{await grant_of(db, member)}/withdraw"

    without = await dashboard.post(path, reason=" ")
    assert "$10.00 of $10.00 remains in the grant “A late parcel”." in text_of((await dashboard.get(path)).text)
    first = await dashboard.post(path, reason="A mistake")
    again = await dashboard.post(path, reason="A mistake")

    assert (without.status_code, error_messages(without)) == (422, ["Reason is required."])
    assert saved_message(first) == "withdrawn"
    assert (again.status_code, error_messages(again)) == (422, ["No credit remains to withdraw."])
    amounts = await db.fetch("select amount from store_credit_events where user_id = $1 order by id", await member.id())
    assert [row["amount"] for row in amounts] == [1000, -1000]


async def test_a_grant_of_another_customer_is_404(
    dashboard: Dashboard, member: Member, http: httpx2.AsyncClient, db: Any
) -> None:
    other = await sign_in(http)
    await grant(dashboard, other)
    other_grant = await grant_of(db, other)

    path = f"{await customer_path(member)}/credit"
    assert (await dashboard.get(f"{path}/{other_grant}/withdraw")).status_code == 404
    assert (await dashboard.post(f"{path}/{other_grant}/withdraw", reason="Mine")).status_code == 404
    assert (await dashboard.get(f"{CUSTOMERS}/{UNKNOWN_ID}/credit")).status_code == 404
    assert await db.fetchval("select amount_used from store_credits where id = $1", other_grant) == 0


async def test_granting_and_withdrawing_credit_require_a_fresh_session(
    dashboard: Dashboard, member: Member, db: Any
) -> None:
    await grant(dashboard, member)
    path, credit = f"{await customer_path(member)}/credit", await grant_of(db, member)
    await backdate_session(db, dashboard, "authenticated_at", "11 minutes")

    for address in (f"{path}/grant", f"{path}/{credit}/withdraw"):
        answer = await dashboard.post(address, amount="1", currency="USD", memo="x", reason="x")
        assert (await dashboard.get(address)).headers["location"] == f"/admin/confirm?next={address}"
        assert answer.status_code == 401
    assert (await dashboard.get(path)).status_code == 200
    assert await db.fetchval("select count(*) from store_credit_events where user_id = $1", await member.id()) == 1


async def test_a_long_ledger_is_paged(dashboard: Dashboard, member: Member, db: Any) -> None:
    await grant(dashboard, member)
    credit = await grant_of(db, member)
    await db.execute(
        """insert into store_credit_events
        (id, store_credit_id, user_id, currency, action, amount, user_total_amount, reason, actor_kind, created_at)
        select ('ffffffff-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, $1, $2, 'USD', 'restored', 1, n,
        'Line ' || lpad(n::text, 3, '0'), 'guest', now() from generate_series(1, 30) n""",
        credit,
        await member.id(),
    )

    first = (await dashboard.get(f"{await customer_path(member)}/credit")).text
    (next_link,) = re.findall(r'href="([^"]+)" rel="next"', first)
    second = (await dashboard.get(next_link)).text

    reasons = [[row[1] for row in ledger_of(page)] for page in (first, second)]
    assert reasons[0] == [f"Line {number:03}" for number in range(30, 5, -1)]
    assert reasons[1] == [*(f"Line {number:03}" for number in range(5, 0, -1)), "A late parcel"]
    assert 'rel="prev"' in second


async def test_an_order_shows_its_discounts_and_its_store_credit(
    dashboard: Dashboard, member: Member, checkout_setup: CheckoutSetup
) -> None:
    make, code = checkout_setup.make, f"code-{(await member.id()).hex[:12]}"
    benefit = {"type": "percent_off_items", "preferences": {"percent": "10"}}
    name = f"<b>Tenth</b> {code}"
    promotion = await make.new("promotions", "promotion", name=name, code=code, promotion_actions_attributes=[benefit])
    await grant(dashboard, member)
    number = await spend(member, checkout_setup)
    await member.post("/cart")
    await member.post("/cart/add_item", variant_id=(await checkout_setup.product("30.00")).variant_id)
    cart = await member.patch("/cart/apply_coupon_code", coupon_code=code)

    order_text = text_of((await dashboard.get(f"/admin/orders/{number}")).text)
    page = (await dashboard.get(f"/admin/orders/{cart['number']}")).text

    assert "Paid $25.00 With store credit $10.00" in order_text
    assert "Method Store credit Amount $10.00 Captured $10.00" in order_text
    page_text = text_of(page)
    assert f"-$3.00 by {name}" in page_text
    assert f"Discounts -$3.00 {name} {code} -$3.00" in page_text
    assert f'href="/admin/promotions/{promotion.id}"' in page
    assert "<b>Tenth</b>" not in page


async def test_the_store_credit_payment_method_is_not_shown_in_the_settings(dashboard: Dashboard, db: Any) -> None:
    method = await db.fetchval("select id from payment_methods where type = 'store_credit'")

    page = (await dashboard.get("/admin/settings/payments")).text
    response = await dashboard.post(f"/admin/settings/payments/{method}/delete")

    assert str(method) not in page
    assert response.status_code == 404
    assert await db.fetchval("select deleted_at from payment_methods where id = $1", method) is None
