"""The confirmation of an order: its amounts add up, and it shows the addresses, the shipping method and how to pay."""

import html
import re
from decimal import Decimal
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.accounts import sign_in
from tests.browser import LAPTOP, SMALL_PHONE, Browser, accessibility_violations, scrolls_sideways, visit
from tests.builders import Make
from tests.checkout_builders import ADDRESS, Buyer, CheckoutSetup, SignedInBuyer, new_checkout_setup
from tests.promotion_builders import FREE_SHIPPING, TENTH, Part, create_promotion, for_products

AMOUNT = re.compile(r"(-?)\$([0-9,]+\.[0-9]{2})")
FEW = settings(
    max_examples=3, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
MANY = settings(FEW, max_examples=60, derandomize=False)
PROMOTIONS: tuple[Part, ...] = (TENTH, FREE_SHIPPING, ("amount_off_order", {"amounts": {"USD": "3.33"}}))
purchases = st.fixed_dictionaries(
    {
        "included": st.sampled_from([None, "0.19", "0.077"]),
        "added": st.sampled_from([None, "0.0825", "0.05"]),
        "prices": st.lists(st.tuples(st.integers(1, 9999), st.integers(1, 4)), min_size=1, max_size=3),
        "promotions": st.lists(st.sampled_from(PROMOTIONS), unique_by=lambda part: part[0], max_size=3),
        "credit": st.none() | st.integers(1, 9999),
    }
)


def amount_of(text: str) -> Decimal:
    match = AMOUNT.search(text)
    assert match, text
    return Decimal(match[1] + match[2].replace(",", ""))


def rows_of(mail: dict[str, Any], part: str) -> list[tuple[str, Decimal]]:
    """Every label with its amount, in the order in which they are read."""
    if part == "text":
        parts = [line.rpartition(": ") for line in mail["text"].splitlines() if re.search(r": -?\$[0-9,.]+$", line)]
        return [(label, amount_of(amount)) for label, _, amount in parts]
    cells = re.findall(r"<tr>\s*<td[^>]*>(.*?)</td>\s*<td[^>]*>(.*?)</td>\s*</tr>", mail["html"], re.DOTALL)
    plain = [[html.unescape(re.sub("<[^>]+>", " ", cell)).strip() for cell in row] for row in cells]
    return [(label, amount_of(amount)) for label, amount in plain]


def check_sums(mail: dict[str, Any], part: str, total: str) -> None:
    rows = rows_of(mail, part)
    labels = [label for label, _ in rows]
    items, end = labels.index("Items"), labels.index("Total")
    assert sum(amount for _, amount in rows[:items]) == rows[items][1]
    assert sum(amount for _, amount in rows[items:end]) == rows[end][1] == Decimal(total)
    amounts = [amount for label, amount in rows[end + 1 :] if label != "Tax included"]
    assert sum(amounts) == Decimal(total)


async def buy(http: httpx2.AsyncClient, make: Make, purchase: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The mail, and the total of the order."""
    checkout_setup = await new_checkout_setup(make)
    category = (await make.new("tax_categories", "tax_category", name=uuid4().hex)).id
    for amount, is_included in ((purchase["included"], True), (purchase["added"], False)):
        if amount:
            fields = {"zone_id": checkout_setup.zone, "tax_category_id": category, "name": "VAT", "amount": amount}
            await make.new("tax_rates", "tax_rate", **fields, included_in_price=is_included)
    await make.change("shipping_methods", checkout_setup.post, "shipping_method", tax_category_id=category)
    items = [
        (await checkout_setup.product(f"{price / 100:.2f}", tax_category_id=category), quantity)
        for price, quantity in purchase["prices"]
    ]
    for promotion in purchase["promotions"]:
        await create_promotion(make, promotion, conditions=[for_products(*(product for product, _ in items))])
    member = await sign_in(http)
    buyer = SignedInBuyer(http, checkout_setup, member)
    await buyer.add_items(*items)
    await buyer.update_checkout(bill_address_attributes=ADDRESS, use_billing=True)
    if purchase["credit"]:
        credit = {"user_id": str(await member.id()), "amount": f"{purchase['credit'] / 100:.2f}"}
        await make.new("store_credits", "store_credit", **credit, currency="USD", memo="Sorry")
        await buyer.post("/checkout/add_store_credit")
    await buyer.pay(method=checkout_setup.check)
    order = await buyer.complete()
    assert order.status == 200, order
    return await mail_of(http, member.email, order["number"]), order["total"]


async def mail_of(http: httpx2.AsyncClient, email: str, number: str) -> dict[str, Any]:
    mails: list[dict[str, Any]] = (await http.get("/mailbox.json", params={"to": email})).json()
    return next(mail for mail in mails if number in mail["subject"])


@pytest.mark.security("M-10")
@FEW
@given(purchases)
async def test_the_amounts_add_up(http: httpx2.AsyncClient, make: Make, purchase: dict[str, Any]) -> None:
    mail, total = await buy(http, make, purchase)

    for part in ("text", "html"):
        check_sums(mail, part, total)


@pytest.mark.torture
@MANY
@given(purchases)
async def test_the_amounts_add_up_in_many_cases(http: httpx2.AsyncClient, make: Make, purchase: dict[str, Any]) -> None:
    mail, total = await buy(http, make, purchase)

    for part in ("text", "html"):
        check_sums(mail, part, total)


ALL = {"included": "0.19", "added": "0.05", "prices": [(1190, 2)], "promotions": [*PROMOTIONS], "credit": 500}


async def test_every_amount_has_a_label(http: httpx2.AsyncClient, make: Make) -> None:
    mail, total = await buy(http, make, ALL)

    rows = rows_of(mail, "text")
    assert [label if "Deal" not in label else "Deal" for label, _ in rows] == [
        "2 x Mug", "Items", "Shipping", "Deal", "Deal", "Deal", "Tax", "Total", "Tax included", "Store credit", "Check",
    ]  # fmt: skip
    figures = ["23.80", "23.80", "5.00", "-2.38", "-5.00", "-3.33", "1.07", "19.16", "3.42", "5.00", "14.16"]
    assert [amount for _, amount in rows] == list(map(Decimal, figures))
    assert Decimal(total) == Decimal("19.16")


@pytest.mark.security("M-10")
async def test_it_shows_the_addresses_the_shipping_method_and_payment_instructions(
    http: httpx2.AsyncClient, make: Make, checkout_setup: CheckoutSetup
) -> None:
    instructions = "IBAN <DE02 1203 0000 0000 2020 51>\nwithin 14 days"
    fields = {"name": "Transfer", "type": "check", "auto_capture": False, "description": instructions}
    transfer = (await make.new("payment_methods", "payment_method", **fields)).id
    berlin = {**ADDRESS, "address1": "Hauptstr. 1", "city": "Berlin", "zipcode": "10115", "country_iso": "DE"}
    buyer, email = Buyer(http, checkout_setup), f"{uuid4().hex}@example.org"
    await buyer.add_items((await checkout_setup.product("10.00"), 1))
    addresses = {"bill_address_attributes": ADDRESS, "ship_address_attributes": {**berlin, "state_name": None}}
    assert (await buyer.update_checkout(email=email, **addresses)).status == 200
    await buyer.pay(method=transfer)
    order = await buyer.complete()

    mail = await mail_of(http, email, order["number"])

    for words in (
        "SHIPPING ADDRESS\nAda Lovelace\nHauptstr. 1\n10115 Berlin\nGermany\n",
        "BILLING ADDRESS\nAda Lovelace\n1 Main Street\nSpringfield, IL 62701\nUnited States\n",
        "SHIPPING METHOD\nPost\n",
        f"Transfer: $15.00\nPlease pay $15.00 by Transfer, and include the order number {order['number']}.\n",
        f"{order['number']}.\n{instructions}\n",
    ):
        assert words in mail["text"]
    html = mail["html"]
    for words in (
        "Hauptstr. 1<br>10115 Berlin<br>Germany",
        "IBAN &lt;DE02 1203 0000 0000 2020 51&gt;<br>within 14 days",
    ):
        assert words in html
    # Nothing else is ever sent about an order.
    for promise in ("write again", "when it ships", "let you know", "notify", "keep you"):
        assert promise not in mail["text"].lower() + html.lower()


@pytest.mark.security("M-10")
async def test_a_paid_order_has_no_payment_instructions(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup
) -> None:
    buyer, email = Buyer(http, checkout_setup), f"{uuid4().hex}@example.org"
    await buyer.add_items((await checkout_setup.product("10.00"), 1))
    await buyer.update_checkout(email=email, bill_address_attributes=ADDRESS, use_billing=True)
    await buyer.pay()
    order = await buyer.complete()

    mail = await mail_of(http, email, order["number"])

    assert "Card (visa ending in 1111): $15.00" in mail["text"]
    assert "Please pay" not in mail["text"] + mail["html"]
    assert "SHIPPING AND BILLING ADDRESS\nAda Lovelace\n1 Main Street\n" in mail["text"]


@pytest.mark.torture
@pytest.mark.parametrize("size", [LAPTOP, SMALL_PHONE], ids=["laptop", "phone"])
@pytest.mark.parametrize("is_dark", [True, False], ids=["dark", "light"])
async def test_it_is_accessible_on_every_screen_size_and_theme(
    browser: Browser, http: httpx2.AsyncClient, make: Make, size: tuple[int, int], is_dark: bool
) -> None:
    mail, _ = await buy(http, make, ALL)

    async with visit(browser, "about:blank", size, is_dark=is_dark) as page:
        await page.set_content(mail["html"])

        assert await accessibility_violations(page) == []
        assert not await scrolls_sideways(page)
