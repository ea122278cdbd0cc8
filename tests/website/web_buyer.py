"""A shopper who buys on the website, without scripts: fills in the forms of one page after another."""

import html
import re
from typing import Any

import httpx2

from tests.accounts import Member, new_email
from tests.builders import ProductIds
from tests.checkout_builders import ADDRESS, CheckoutSetup
from tests.website.visitor import REFRESH, SESSION, VisitedPage, Visitor

HOSTILE = '"><script>alert(1)</script>'


def address_fields(side: str = "ship_address", **entries: str) -> dict[str, str]:
    return {f"{side}.{name}": value for name, value in {**ADDRESS, **entries}.items()}


def plain_text(page: VisitedPage) -> str:
    """The text of the main part of a page, without markup."""
    main = page.text[page.text.index("<main") : page.text.index("</main>")]
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", main)).split())


class WebBuyer(Visitor):
    """One shopper in one browser, in a shop with this setup."""

    def __init__(self, http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, **cookies: str) -> None:
        super().__init__(http, **cookies)
        self.checkout_setup = checkout_setup
        self.email = new_email()

    async def add(self, product: ProductIds, quantity: int = 1) -> VisitedPage:
        return await self.post("/cart/items", {"variant_id": product.variant_id, "quantity": quantity})

    async def enter_address(self, **entries: str) -> VisitedPage:
        page = await self.get("/checkout/address")
        email = {"email": self.email} if "email" in page.form("enter_address").attributes else {}
        return await self.submit(page, "enter_address", **{**email, **address_fields(), **entries})

    async def choose_delivery(self, **entries: str) -> VisitedPage:
        return await self.submit(await self.get("/checkout/delivery"), "choose_delivery", **entries)

    async def choose_payment(self, source: str | None = None, **entries: str) -> VisitedPage:
        """Chooses the test card with this behavior, or else the check."""
        setup = self.checkout_setup
        choice = (
            {"method": f"method:{setup.card}", "test_card": source} if source else {"method": f"method:{setup.check}"}
        )
        return await self.submit(await self.get("/checkout/payment"), "choose_payment", **{**choice, **entries})

    async def go_to_review(self, product: ProductIds, quantity: int = 1, *, source: str | None = None) -> VisitedPage:
        """Every step but the last; returns the review page."""
        steps: tuple[VisitedPage, ...] = (
            await self.add(product, quantity),
            await self.enter_address(),
            await self.choose_delivery(),
            await self.choose_payment(source),
        )
        assert [page.status for page in steps] == [303] * 4, steps
        assert steps[-1].location == "/checkout/review"
        return await self.get("/checkout/review")

    async def pay(self, review: VisitedPage) -> VisitedPage:
        return await self.submit(review, "complete_order")

    async def buy(self, product: ProductIds, quantity: int = 1, *, source: str | None = None) -> str:
        """Buys a product and returns the number of the order."""
        page = await self.pay(await self.go_to_review(product, quantity, source=source))
        assert page.status == 303, page
        return order_number(page)


def order_number(page: VisitedPage) -> str:
    """The number of the order that a completed checkout redirects to."""
    path, _, query = page.location.partition("?")
    assert (path.startswith("/orders/R"), query) == (True, "done=completed"), page
    return str(path.removeprefix("/orders/"))


def signed_in_buyer(member: Member, checkout_setup: CheckoutSetup) -> WebBuyer:
    return WebBuyer(member.http, checkout_setup, **{SESSION: member.access_token, REFRESH: member.refresh_token})


async def count_orders(db: Any, variant_id: str) -> int:
    """The number of completed orders with this variant."""
    statement = """select count(distinct o.id) from orders o join line_items l on l.order_id = o.id
        where l.variant_id = $1 and o.completed_at is not null"""
    return int(await db.fetchval(statement, variant_id))


async def confirmation_mail(buyer: WebBuyer, number: str) -> dict[str, Any]:
    """The confirmation of an order, in the mailbox."""
    mails: list[dict[str, Any]] = (await buyer.http.get("/mailbox.json", params={"to": buyer.email})).json()
    return next(mail for mail in mails if number in mail["subject"])
