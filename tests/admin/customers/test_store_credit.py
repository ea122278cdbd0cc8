"""Store credit on the customer's page: what is left, the ledger, granted and withdrawn with a reason."""

import re
from typing import Any
from uuid import UUID

import httpx
import pytest

from tests.accounts import Member, sign_in
from tests.admin.catalog_forms import done, field, said
from tests.admin.dashboard import NOBODY, Desk, age, events
from tests.admin.order_builders import text_of
from tests.checkout_builders import ADDRESS, Till
from tests.platform.client import Machine

CUSTOMERS = "/admin/customers"


@pytest.fixture
async def member(http: httpx.AsyncClient) -> Member:
    return await sign_in(http)


async def page_of(member: Member) -> str:
    return f"{CUSTOMERS}/{await member.id()}"


async def grant(desk: Desk, member: Member, **fields: str) -> httpx.Response:
    form = {"amount": "10.00", "currency": "USD", "memo": "A late parcel", **fields}
    return await desk.post(f"{await page_of(member)}/credit/grant", **form)


async def grant_of(db: Any, member: Member) -> UUID:
    grant_id = await db.fetchval("select id from store_credits where user_id = $1 order by id desc", await member.id())
    return UUID(str(grant_id))


async def spend(member: Member, till: Till) -> str:
    """Goods for 20.00, sent for 5.00, with as much credit as there is; the number of the order."""
    product = await till.product("20.00")
    await member.post("/cart")
    await member.post("/cart/add_item", variant_id=product.sold)
    await member.patch("/checkout", order={"bill_address_attributes": ADDRESS, "use_billing": True})
    await member.post("/checkout/add_store_credit")
    wish: dict[str, Any] = {
        "payment_method_id": till.card,
        "source_attributes": {"gateway_payment_profile_id": "approve"},
    }
    await member.post("/checkout/create_payment", **wish)
    order = await member.patch("/checkout/complete")
    assert order.status == 200, order
    return str(order["number"])


def ledger_of(page: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", page.partition("<h2>Ledger</h2>")[2], re.DOTALL)
    cells = [[text_of(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)][1:] for row in rows]
    return [row for row in cells if row]


async def test_credit_is_granted_spent_and_withdrawn_and_the_ledger_tells_it(
    desk: Desk, member: Member, till: Till, db: Any
) -> None:
    assert done(await grant(desk, member)) == "granted"
    number = await spend(member, till)
    assert done(await grant(desk, member, amount="7.5", memo="<b>Sorry</b>")) == "granted"
    assert done(await grant(desk, member, amount="500", currency="JPY")) == "granted"
    here = f"{await page_of(member)}/credit"
    yen = await grant_of(db, member)

    withdrawn = await desk.post(f"{here}/{yen}/withdraw", reason="Granted by mistake")

    assert done(withdrawn) == "withdrawn"
    page = (await desk.get(here)).text
    assert ledger_of(page) == [
        ["withdrawn", "Granted by mistake", desk.email, "-¥500", "¥0"],
        ["granted", "A late parcel", desk.email, "+¥500", "¥500"],
        ["granted", "<b>Sorry</b>", desk.email, "+$7.50", "$7.50"],
        ["spent", number, "the customer", "-$10.00", "$0.00"],
        ["granted", "A late parcel", desk.email, "+$10.00", "$10.00"],
    ]
    assert "&lt;b&gt;Sorry&lt;/b&gt;" in page
    assert "Balance ¥0 JPY $7.50 USD" in text_of(page)
    customer = text_of((await desk.get(await page_of(member))).text)
    assert "¥0 JPY $7.50 USD -¥500 withdrawn: Granted by mistake" in customer
    assert f"-$10.00 spent: order {number} by the customer" in customer
    actions = [action for action, _ in await events(db, actor=desk.id, subject=await member.id())]
    assert actions == ["store_credit_granted"] * 3 + ["store_credit_withdrawn"]
    assert "Store credit withdrawn: ¥500" in customer
    assert (await member.get("/account"))["store_credits"] == "7.5"


async def test_a_long_ledger_is_turned_page_by_page_and_every_line_is_there_once(
    desk: Desk, member: Member, writer: Machine
) -> None:
    for number in range(27):
        fields = {"user_id": str(await member.id()), "amount": "1.00", "currency": "USD", "memo": f"Grant {number}"}
        assert (await writer.post("/store_credits", {"store_credit": fields})).status == 201
    here = f"{await page_of(member)}/credit"

    first = (await desk.get(here)).text
    (older,) = re.findall(r'href="([^"]*\?before=[^"]*)"', first)
    second = (await desk.get(older)).text

    entries = [row[1] for page in (first, second) for row in ledger_of(page)]
    assert entries == [f"Grant {number}" for number in reversed(range(27))]
    assert [row[-1] for row in ledger_of(second)] == ["$2.00", "$1.00"]
    assert "?before=" not in second
    assert f'href="{here}"' in second


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"amount": ""}, "Amount must be given."),
        ({"amount": "0"}, "Amount must be greater than 0."),
        ({"amount": "-5"}, "Amount must be a number like 19.99."),
        ({"amount": "1.999"}, "Amount has more digits than USD has (2)."),
        ({"amount": "9" * 16}, "Amount is too large."),
        ({"currency": "CHF"}, "Currency is not a valid choice."),
        ({"memo": ""}, "Reason must be given."),
        ({"memo": "x" * 256}, "Reason must be one line of at most 255 characters."),
    ],
    ids=["none", "nothing", "negative", "digits", "too large", "currency", "no reason", "long reason"],
)
async def test_a_grant_that_cannot_be_is_told_and_kept(
    desk: Desk, member: Member, db: Any, fields: dict[str, str], told: str
) -> None:
    answer = await grant(desk, member, **fields)

    assert (answer.status_code, said(answer)) == (422, [told])
    form = {"amount": "10.00", "memo": "A late parcel", **fields}
    assert {name: field(answer.text, name) for name in ("amount", "memo")} == {
        name: form[name] for name in ("amount", "memo")
    }
    assert await db.fetchval("select count(*) from store_credits where user_id = $1", await member.id()) == 0


async def test_a_withdrawal_needs_a_reason_and_something_that_is_left(desk: Desk, member: Member, db: Any) -> None:
    await grant(desk, member)
    path = f"{await page_of(member)}/credit/{await grant_of(db, member)}/withdraw"

    without = await desk.post(path, reason=" ")
    assert "$10.00 of $10.00 is left of the grant “A late parcel”." in text_of((await desk.get(path)).text)
    first = await desk.post(path, reason="A mistake")
    again = await desk.post(path, reason="A mistake")

    assert (without.status_code, said(without)) == (422, ["Reason must be given."])
    assert done(first) == "withdrawn"
    assert (again.status_code, said(again)) == (422, ["Nothing is left to withdraw."])
    amounts = await db.fetch("select amount from store_credit_events where user_id = $1 order by id", await member.id())
    assert [row["amount"] for row in amounts] == [1000, -1000]


async def test_a_grant_of_somebody_else_is_not_withdrawn_by_this_customers_page(
    desk: Desk, member: Member, http: httpx.AsyncClient, db: Any
) -> None:
    other = await sign_in(http)
    await grant(desk, other)
    other_grant = await grant_of(db, other)

    path = f"{await page_of(member)}/credit"
    assert (await desk.get(f"{path}/{other_grant}/withdraw")).status_code == 404
    assert (await desk.post(f"{path}/{other_grant}/withdraw", reason="Mine")).status_code == 404
    assert (await desk.get(f"{CUSTOMERS}/{NOBODY}/credit")).status_code == 404
    assert await db.fetchval("select amount_used from store_credits where id = $1", other_grant) == 0


async def test_money_is_given_only_with_a_password_that_is_fresh(desk: Desk, member: Member, db: Any) -> None:
    await grant(desk, member)
    path, credit = f"{await page_of(member)}/credit", await grant_of(db, member)
    await age(db, desk, "authenticated_at", "11 minutes")

    for address in (f"{path}/grant", f"{path}/{credit}/withdraw"):
        responses = [
            await desk.get(address),
            await desk.post(address, amount="1", currency="USD", memo="x", reason="x"),
        ]
        assert {answer.headers["location"] for answer in responses} == {f"/admin/confirm?next={address}"}
    assert (await desk.get(path)).status_code == 200
    assert await db.fetchval("select count(*) from store_credit_events where user_id = $1", await member.id()) == 1


async def test_a_long_ledger_is_paged(desk: Desk, member: Member, db: Any) -> None:
    await grant(desk, member)
    credit = await grant_of(db, member)
    await db.execute(
        """insert into store_credit_events
        (id, store_credit_id, user_id, currency, action, amount, user_total_amount, reason, actor_kind, created_at)
        select ('ffffffff-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, $1, $2, 'USD', 'restored', 1, n,
        'Line ' || lpad(n::text, 3, '0'), 'guest', now() from generate_series(1, 30) n""",
        credit,
        await member.id(),
    )

    first = (await desk.get(f"{await page_of(member)}/credit")).text
    (following,) = re.findall(r'href="([^"]+)" rel="next"', first)
    second = (await desk.get(following)).text

    reasons = [[row[1] for row in ledger_of(page)] for page in (first, second)]
    assert reasons[0] == [f"Line {number:03}" for number in range(30, 5, -1)]
    assert reasons[1] == [*(f"Line {number:03}" for number in range(5, 0, -1)), "A late parcel"]
    assert 'rel="prev"' in second


async def test_an_order_shows_what_promotions_took_off_and_what_credit_paid(
    desk: Desk, member: Member, till: Till
) -> None:
    make, code = till.make, f"code-{(await member.id()).hex[:12]}"
    benefit = {"type": "percent_off_items", "preferences": {"percent": "10"}}
    name = f"<b>Tenth</b> {code}"
    promotion = await make.new("promotions", "promotion", name=name, code=code, promotion_actions_attributes=[benefit])
    await grant(desk, member)
    number = await spend(member, till)
    await member.post("/cart")
    await member.post("/cart/add_item", variant_id=(await till.product("30.00")).sold)
    cart = await member.patch("/cart/apply_coupon_code", coupon_code=code)

    order_text = text_of((await desk.get(f"/admin/orders/{number}")).text)
    page = (await desk.get(f"/admin/orders/{cart['number']}")).text

    assert "Paid $25.00 With store credit $10.00" in order_text
    assert "By Store credit Amount $10.00 Captured $10.00" in order_text
    page_text = text_of(page)
    assert f"-$3.00 by {name}" in page_text
    assert f"Discounts -$3.00 {name} {code} -$3.00" in page_text
    assert f'href="/admin/promotions/{promotion.id}"' in page
    assert "<b>Tenth</b>" not in page


async def test_store_credit_is_no_way_to_pay_that_is_set_up(desk: Desk, db: Any) -> None:
    method = await db.fetchval("select id from payment_methods where type = 'store_credit'")

    page = (await desk.get("/admin/settings/payments")).text
    response = await desk.post(f"/admin/settings/payments/{method}/delete")

    assert str(method) not in page
    assert response.status_code == 404
    assert await db.fetchval("select deleted_at from payment_methods where id = $1", method) is None
