"""All that a checkout needs: products, shipping methods, payment methods, and a shopper who buys."""

from typing import Any
from uuid import UUID, uuid4

import httpx2
import msgspec

from tests.accounts import Member
from tests.builders import Make, ProductIds
from tests.shopper import Answer, Shopper

ADDRESS = {
    "firstname": "Ada",
    "lastname": "Lovelace",
    "address1": "1 Main Street",
    "city": "Springfield",
    "zipcode": "62701",
    "state_name": "IL",
    "country_iso": "US",
    "phone": "555-0100",
}


class CheckoutSetup(msgspec.Struct, frozen=True):
    """The ids of the setup. Its products have a shipping category that only its shipping methods accept."""

    make: Make
    zone: str
    category: str
    post: str
    express: str
    check: str
    card: str

    async def product(self, price: str = "10.00", *, on_hand: int = 10, **fields: Any) -> ProductIds:
        return await self.make.product(price=price, on_hand=on_hand, shipping_category_id=self.category, **fields)


async def country_id(make: Make, iso: str) -> str:
    return (await make.machine.get(f"/countries/{iso}")).id


async def new_checkout_setup(make: Make, *, card: str | None = None, **amounts: Any) -> CheckoutSetup:
    """Post for 5.00 and express for 9.00 per item; payment by check, or by card: the test card, or the payment method
    `card` where the shop is not a try-out.
    """
    countries = [await country_id(make, iso) for iso in ("US", "DE")]
    zone = (await make.new("zones", "zone", name=f"Zone {uuid4().hex}", country_ids=countries)).id
    category = (await make.new("shipping_categories", "shipping_category", name=uuid4().hex)).id
    common = {"zone_ids": [zone], "shipping_category_ids": [category]}
    post = {"name": "Post", "amounts": {"USD": "5.00", "JPY": "500", "EUR": "4.50", **amounts}, **common}
    express = {"name": "Express", "calculator": "per_item", "amounts": {"USD": "9.00", "JPY": "900"}, **common}
    return CheckoutSetup(
        make,
        zone,
        category,
        (await make.new("shipping_methods", "shipping_method", **post)).id,
        (await make.new("shipping_methods", "shipping_method", **express)).id,
        (await make.new("payment_methods", "payment_method", name="Check", type="check", auto_capture=False)).id,
        card or (await make.new("payment_methods", "payment_method", name="Card", type="test_card")).id,
    )


class Buyer(Shopper):
    """A shopper who goes through a checkout step by step."""

    def __init__(self, http: httpx2.AsyncClient, checkout_setup: CheckoutSetup) -> None:
        super().__init__(http)
        self.checkout_setup = checkout_setup

    async def patch(self, path: str, *, headers: dict[str, str] | None = None, **body: Any) -> Answer:
        return await self.ask("PATCH", path, headers=headers, **({"json": body} if body else {}))

    async def add_items(self, *lines: tuple[ProductIds, int]) -> Answer:
        if self.order_token is None:
            await self.post("/cart")
        items = [{"variant_id": product.variant_id, "quantity": quantity} for product, quantity in lines]
        answer = await self.post("/cart/add_items", items=items)
        assert answer.status == 200, answer
        return answer

    async def add_item(self, product: ProductIds) -> Answer:
        return await self.post("/cart/add_item", variant_id=product.variant_id)

    async def update_checkout(self, **fields: Any) -> Answer:
        return await self.patch("/checkout", order=fields)

    async def enter_address(self, **address: Any) -> Answer:
        """Enters an e-mail address and a billing address, which is the shipping address too."""
        bill_address = {**ADDRESS, **address}
        answer = await self.update_checkout(
            email="ada@example.org", bill_address_attributes=bill_address, use_billing=True
        )
        assert answer.status == 200, answer
        return answer

    async def pay(self, source: str = "approve", *, method: str | None = None) -> Answer:
        attributes = {"gateway_payment_profile_id": source, "cc_type": "visa", "last_digits": "1111"}
        body: dict[str, Any] = {
            "payment_method_id": method or self.checkout_setup.card,
            "source_attributes": attributes,
        }
        answer = await self.post("/checkout/create_payment", **body)
        assert answer.status == 201, answer
        return answer

    async def complete(self, **body: Any) -> Answer:
        return await self.patch("/checkout/complete", **body)

    async def ready(self, *lines: tuple[ProductIds, int], source: str = "approve") -> Answer:
        """Every step of the checkout but the last."""
        await self.add_items(*lines)
        await self.enter_address()
        return await self.pay(source)


class SignedInBuyer(Buyer):
    """A buyer with an account, who sends an access token with every request."""

    def __init__(self, http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, member: Member) -> None:
        super().__init__(http, checkout_setup)
        self.member = member

    async def ask(self, method: str, path: str, *, headers: dict[str, str] | None = None, **options: Any) -> Answer:
        bearer = {"Authorization": f"Bearer {self.member.access_token}"}
        return await super().ask(method, path, headers={**bearer, **(headers or {})}, **options)

    async def buy(self, product: ProductIds, source: str) -> Answer:
        """Buys one item with a new cart."""
        self.order_token = None
        await self.ready((product, 1), source=source)
        return await self.complete()


async def on_hand(db: Any, variant_id: str) -> int:
    return int(await db.fetchval("select sum(count_on_hand) from stock_items where variant_id = $1", variant_id))


_SET_STOCK = """with items as (
    update stock_items i set count_on_hand = $2 from stock_items o where o.id = i.id and i.variant_id = $1
    returning i.id, $2::bigint - o.count_on_hand as moved)
insert into stock_movements (id, stock_item_id, quantity, reason, actor_kind, created_at)
select gen_random_uuid(), id, moved, 'recounted', 'nobody', now() from items where moved <> 0"""


async def set_stock(db: Any, variant_id: str, count: int) -> None:
    """Writes a count on hand to the database, with its stock movement."""
    await db.execute(_SET_STOCK, UUID(variant_id), count)
