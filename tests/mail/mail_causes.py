"""Changes that cause e-mails to customers, each with the address that the e-mail goes to."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from uuid import UUID

import httpx2
import msgspec

from tests.accounts import Member, ask_for_code, mailed_code, new_email, sign_in
from tests.admin.dashboard import new_dashboard
from tests.admin.drafts.builders import new_draft
from tests.builders import ProductIds
from tests.checkout_builders import ADDRESS, Buyer, CheckoutSetup, SignedInBuyer
from tests.db.processes import until
from tests.platform.client import Machine
from tests.shopper import Answer

TRACKING_URL = "https://track.example/?id=:tracking&lang=en"
TRACKING = '1Z "9<i>'
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
SAFARI = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1 Version/18.0 Safari/604.1"


async def _do_nothing() -> None:
    pass


class CausingShop(msgspec.Struct):
    """A served shop, its database, and what each order buys. `prepare` runs right before the change."""

    http: httpx2.AsyncClient
    db: Any
    setup: CheckoutSetup
    prepare: Callable[[], Awaitable[None]] = _do_nothing
    product_name: str = "Mug"
    first_name: str = "Ada"

    @property
    def machine(self) -> Machine:
        return self.setup.make.machine

    async def fill_cart(self, email: str, member: Member | None = None) -> Buyer:
        buyer = SignedInBuyer(self.http, self.setup, member) if member else Buyer(self.http, self.setup)
        await buyer.add_items((await self.setup.product("10.00", name=self.product_name), 2))
        address = {**ADDRESS, "firstname": self.first_name}
        await buyer.update_checkout(email=email, bill_address_attributes=address, use_billing=True)
        await buyer.pay(method=self.setup.check)
        return buyer

    async def order(self) -> tuple[str, UUID]:
        """Completes the order of a guest; returns the address and the id."""
        email = new_email()
        order = check(await (await self.fill_cart(email)).complete())
        return email, UUID(order.id)

    async def part_of(self, order_id: UUID, table: str) -> UUID:
        part_id: UUID = await self.db.fetchval(f"select id from {table} where order_id = $1", order_id)
        return part_id

    async def pay_order(self, order_id: UUID) -> UUID:
        payment_id = await self.part_of(order_id, "payments")
        check(await self.machine.patch(f"/payments/{payment_id}/capture", {}))
        return payment_id

    async def sold_out_product(self) -> tuple[ProductIds, Callable[[int], Awaitable[Answer]]]:
        """A product without stock, and a function that sets its stock."""
        product = await self.setup.product("10.00", name=self.product_name, on_hand=0)
        query = "select id from stock_items where variant_id = $1"
        stock_id = await self.db.fetchval(query, UUID(product.variant_id))

        async def set_stock(count: int) -> Answer:
            body = {"stock_item": {"count_on_hand": count}}
            return check(await self.machine.patch(f"/stock_items/{stock_id}", body))

        return product, set_stock

    async def wait_for_restocks(self) -> None:
        async def is_handled() -> bool:
            return not await self.db.fetchval("select count(*) from restocked_variants")

        await until(is_handled, 15)


def check(answer: Answer) -> Answer:
    assert answer.status in {200, 201}, answer
    return answer


async def confirm_to_guest(shop: CausingShop) -> str:
    email = new_email()
    buyer = await shop.fill_cart(email)
    await shop.prepare()
    assert check(await buyer.complete())["state"] == "complete"
    return email


async def confirm_to_owner(shop: CausingShop) -> str:
    member = await sign_in(shop.http)
    buyer = await shop.fill_cart(member.email, member)
    await shop.prepare()
    assert check(await buyer.complete())["state"] == "complete"
    return member.email


async def confirm_by_application(shop: CausingShop) -> str:
    email = new_email()
    cart = await (await shop.fill_cart(email)).get("/cart")
    await shop.prepare()
    assert check(await shop.machine.patch(f"/orders/{cart.id}/complete", {}))["state"] == "complete"
    return email


async def ship(shop: CausingShop) -> str:
    email, order_id = await shop.order()
    await shop.pay_order(order_id)
    path = f"/shipments/{await shop.part_of(order_id, 'shipments')}"
    check(await shop.machine.patch(path, {"shipment": {"tracking": TRACKING}}))
    await shop.prepare()
    assert check(await shop.machine.patch(f"{path}/ship", {}))["state"] == "shipped"
    return email


async def refund(shop: CausingShop) -> str:
    email, order_id = await shop.order()
    payment_id = await shop.pay_order(order_id)
    await shop.prepare()
    body = {"payment_id": str(payment_id), "amount": "2.50", "reason": "late"}
    check(await shop.machine.post("/refunds", {"refund": body}))
    return email


async def cancel(shop: CausingShop) -> str:
    email, order_id = await shop.order()
    await shop.prepare()
    assert check(await shop.machine.patch(f"/orders/{order_id}/cancel", {}))["state"] == "canceled"
    return email


async def resume(shop: CausingShop) -> str:
    """A resumed order owes its total again."""
    email, order_id = await shop.order()
    check(await shop.machine.patch(f"/orders/{order_id}/cancel", {}))
    await shop.prepare()
    assert check(await shop.machine.patch(f"/orders/{order_id}/resume", {}))["payment_state"] == "balance_due"
    return email


async def write_message(shop: CausingShop) -> str:
    email, order_id = await shop.order()
    number = await shop.db.fetchval("select number from orders where id = $1", order_id)
    dashboard = await new_dashboard(shop.http, shop.db)
    await shop.prepare()
    answer = await dashboard.post(f"/admin/orders/{number}/messages", message=f"Dear {shop.first_name},\n\nsoon!")
    assert answer.status_code == 303, answer.text
    return email


async def mail_quote(shop: CausingShop) -> str:
    email, dashboard = new_email(), await new_dashboard(shop.http, shop.db)
    draft, product = await new_draft(dashboard), await shop.setup.product()
    await draft.save("email", email=email)
    await draft.add(product)
    version = (await draft.row(shop.db))["updated_at"].isoformat()
    await shop.prepare()
    await draft.save("quote", version=version, quote_note=f"Dear {shop.first_name},\n\nsoon!")
    return email


async def restock(shop: CausingShop) -> str:
    product, set_stock = await shop.sold_out_product()
    member = await sign_in(shop.http)
    await ask_to_be_told(member, product.variant_id)
    await shop.prepare()
    assert (await set_stock(3))["count_on_hand"] == 3
    await shop.wait_for_restocks()
    return member.email


async def ask_to_be_told(member: Member, variant_id: str) -> None:
    wishlist = check(await member.post("/wishlists", name="Wishes", is_private=True))
    body: dict[str, Any] = {"variant_id": variant_id, "notify_when_in_stock": True}
    check(await member.post(f"/wishlists/{wishlist['token']}/add_item", **body))


async def use_new_device(shop: CausingShop) -> str:
    email = new_email()
    for user_agent in (FIREFOX, SAFARI):
        await ask_for_code(shop.http, email)
        body = {"user": {"email": email, "code": await mailed_code(shop.http, email)}}
        if user_agent == SAFARI:
            await shop.prepare()
        response = await shop.http.post("/api/v2/storefront/auth", json=body, headers={"User-Agent": user_agent})
        assert response.status_code == 200, response.text
    return email


async def _change_email(shop: CausingShop) -> tuple[str, str]:
    member, email = await sign_in(shop.http), new_email()
    user_id = await member.id()
    await shop.prepare()
    assert check(await shop.machine.patch(f"/users/{user_id}", {"user": {"email": email}}))["email"] == email
    return member.email, email


async def change_email(shop: CausingShop) -> str:
    return (await _change_email(shop))[0]


async def change_email_to(shop: CausingShop) -> str:
    return (await _change_email(shop))[1]


CAUSES: Mapping[str, Callable[[CausingShop], Awaitable[str]]] = {
    "order_confirmation": confirm_to_guest,
    "order_shipped": ship,
    "order_refunded": refund,
    "order_canceled": cancel,
    "payment_attention": resume,
    "order_message": write_message,
    "draft_quote": mail_quote,
    "back_in_stock": restock,
    "new_sign_in": use_new_device,
    "email_changed": change_email,
    "email_changed_new": change_email_to,
}
"""How each kind of e-mail is caused."""
