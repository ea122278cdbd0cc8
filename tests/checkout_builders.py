"""A shop that can be bought from: goods that are sent, ways to send and to pay, and a shopper who buys."""

from typing import Any
from uuid import UUID, uuid4

import httpx
import msgspec

from tests.accounts import Member
from tests.builders import MadeProduct, Make
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


class Till(msgspec.Struct, frozen=True):
    """Ids of what was set up; what is sold here is of a shipping category of its own, which only its methods take."""

    make: Make
    zone: str
    category: str
    post: str
    express: str
    check: str
    card: str

    async def product(self, price: str = "10.00", *, on_hand: int = 10, **fields: Any) -> MadeProduct:
        return await self.make.product(price=price, on_hand=on_hand, shipping_category_id=self.category, **fields)


async def country_id(make: Make, iso: str) -> str:
    return (await make.machine.get(f"/countries/{iso}")).id


async def new_till(make: Make, *, card: str | None = None, **amounts: Any) -> Till:
    """Post for 5.00, express for 9.00 a piece; paid by check or by test card, or by another payment method than that,
    where the shop is not a try-out.
    """
    countries = [await country_id(make, iso) for iso in ("US", "DE")]
    zone = (await make.new("zones", "zone", name=f"Zone {uuid4().hex}", country_ids=countries)).id
    category = (await make.new("shipping_categories", "shipping_category", name=uuid4().hex)).id
    common = {"zone_ids": [zone], "shipping_category_ids": [category]}
    post = {"name": "Post", "amounts": {"USD": "5.00", "JPY": "500", "EUR": "4.50", **amounts}, **common}
    express = {"name": "Express", "calculator": "per_item", "amounts": {"USD": "9.00", "JPY": "900"}, **common}
    return Till(
        make,
        zone,
        category,
        (await make.new("shipping_methods", "shipping_method", **post)).id,
        (await make.new("shipping_methods", "shipping_method", **express)).id,
        (await make.new("payment_methods", "payment_method", name="Check", type="check", auto_capture=False)).id,
        card or (await make.new("payment_methods", "payment_method", name="Card", type="test_card")).id,
    )


class Buyer(Shopper):
    """Goes through a checkout step by step."""

    def __init__(self, http: httpx.AsyncClient, till: Till) -> None:
        super().__init__(http)
        self.till = till

    async def patch(self, path: str, *, headers: dict[str, str] | None = None, **body: Any) -> Answer:
        return await self.ask("PATCH", path, headers=headers, **({"json": body} if body else {}))

    async def put_in(self, *wanted: tuple[MadeProduct, int]) -> Answer:
        if self.order_token is None:
            await self.post("/cart")
        items = [{"variant_id": made.sold, "quantity": quantity} for made, quantity in wanted]
        answer = await self.post("/cart/add_items", items=items)
        assert answer.status == 200, answer
        return answer

    async def put_in_anyway(self, made: MadeProduct) -> Answer:
        return await self.post("/cart/add_item", variant_id=made.sold)

    async def tell(self, **wishes: Any) -> Answer:
        return await self.patch("/checkout", order=wishes)

    async def come_from(self, **address: Any) -> Answer:
        """Says who and where."""
        typed = {**ADDRESS, **address}
        answer = await self.tell(email="ada@example.org", bill_address_attributes=typed, use_billing=True)
        assert answer.status == 200, answer
        return answer

    async def pay(self, source: str = "approve", *, method: str | None = None) -> Answer:
        attributes = {"gateway_payment_profile_id": source, "cc_type": "visa", "last_digits": "1111"}
        wish: dict[str, Any] = {"payment_method_id": method or self.till.card, "source_attributes": attributes}
        answer = await self.post("/checkout/create_payment", **wish)
        assert answer.status == 201, answer
        return answer

    async def complete(self, **body: Any) -> Answer:
        return await self.patch("/checkout/complete", **body)

    async def ready(self, *wanted: tuple[MadeProduct, int], source: str = "approve") -> Answer:
        """Everything but the last step."""
        await self.put_in(*wanted)
        await self.come_from()
        return await self.pay(source)


class SignedIn(Buyer):
    """A buyer with an account, who shows it with every request."""

    def __init__(self, http: httpx.AsyncClient, till: Till, member: Member) -> None:
        super().__init__(http, till)
        self.member = member

    async def ask(self, method: str, path: str, *, headers: dict[str, str] | None = None, **options: Any) -> Answer:
        bearer = {"Authorization": f"Bearer {self.member.access_token}"}
        return await super().ask(method, path, headers={**bearer, **(headers or {})}, **options)

    async def buy(self, made: MadeProduct, source: str) -> Answer:
        """Begins a cart and goes to its end."""
        self.order_token = None
        await self.ready((made, 1), source=source)
        return await self.complete()


async def on_hand(db: Any, variant_id: str) -> int:
    return int(await db.fetchval("select sum(count_on_hand) from stock_items where variant_id = $1", variant_id))


COUNT = """with changed as (
    update stock_items i set count_on_hand = $2 from stock_items o where o.id = i.id and i.variant_id = $1
    returning i.id, $2::bigint - o.count_on_hand as moved)
insert into stock_movements (id, stock_item_id, quantity, reason, actor_kind, created_at)
select gen_random_uuid(), id, moved, 'recounted', 'nobody', now() from changed where moved <> 0"""


async def leave(db: Any, variant_id: str, count: int) -> None:
    """So many are left of it, past the shop; the ledger knows."""
    await db.execute(COUNT, UUID(variant_id), count)
