"""What routes about carts, checkouts and orders are tried on: carts and orders in the state that each of them wants."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from shop.platform.resources.registry import COLLECTIONS
from tests.accounts import new_email
from tests.builders import MadeProduct, Make
from tests.checkout_builders import ADDRESS, Buyer, Till, new_till
from tests.platform.builders import sample
from tests.platform.client import Machine
from tests.promotion_builders import TENTH, new_code, new_deal

Ask = Callable[[str, str, dict[str, Any] | None], Awaitable[httpx.Response]]


class Sales:
    """A till, and what was or is about to be bought there."""

    def __init__(self, http: httpx.AsyncClient, writer: Machine, db: Any) -> None:
        self.http, self.writer, self.db = http, writer, db
        self._code = ""
        self._till: Till | None = None
        self._mug: MadeProduct | None = None
        self.wish: dict[str, str] = {}
        """What is asked of the shipment that was made last."""

    async def till(self) -> Till:
        if self._till is None:
            self._till = await new_till(Make(self.writer))
        return self._till

    async def mug(self) -> MadeProduct:
        if self._mug is None:
            self._mug = await (await self.till()).product(on_hand=10_000, prices={"JPY": "1000"})
        return self._mug

    async def fill(self, ask: Ask) -> str:
        """Makes a caller's cart ready for its last step; the id of its line."""
        till = await self.till()
        await ask("POST", "/cart", None)
        cart = (await ask("POST", "/cart/add_item", {"variant_id": (await self.mug()).sold})).json()
        fields = {"email": "ada@example.org", "bill_address_attributes": ADDRESS, "use_billing": True}
        await ask("PATCH", "/checkout", {"order": fields})
        await ask("POST", "/checkout/create_payment", {"payment_method_id": till.check})
        return str(cart["data"]["relationships"]["line_items"]["data"][0]["id"])

    async def buyer(self) -> tuple[Buyer, str]:
        buyer = Buyer(self.http, await self.till())
        cart = await buyer.ready((await self.mug(), 2))
        return buyer, cart.id

    async def code(self) -> str:
        """One that is good for everything."""
        if not self._code:
            self._code = new_code()
            await new_deal(Make(self.writer), TENTH, code=self._code)
        return self._code

    async def new_code(self, **fields: Any) -> str:
        """A code of a promotion of its own."""
        code = new_code()
        await new_deal(Make(self.writer), TENTH, code=code, **fields)
        return code

    async def owe(self, db: Any, line_id: str) -> None:
        """The owner of a cart, who is made where there is none, has credit."""
        order_id = await db.fetchval("select order_id from line_items where id = $1", line_id)
        if await db.fetchval("select user_id from orders where id = $1", order_id) is None:
            record = await self.writer.post("/users", {"user": {"email": new_email()}})
            await db.execute("update orders set user_id = $2 where id = $1", order_id, record.id)
        user_id = str(await db.fetchval("select user_id from orders where id = $1", order_id))
        credit = {"user_id": user_id, "amount": "5.00", "currency": "USD", "memo": "Sorry"}
        record = await self.writer.post("/store_credits", {"store_credit": credit})
        assert record.status == 201, record

    async def said(self, path: str) -> dict[str, Any]:
        """What a verb of the platform is sent."""
        return {
            "apply_coupon_code": {"coupon_code": await self.code()},
            "withdraw": {"reason": "A mistake"},
        }.get(path.rpartition("/")[2], {})

    async def credit(self, _verb: str) -> str:
        (credit_id,) = await sample(self.writer, None, COLLECTIONS["store_credit"], 1)
        return credit_id

    async def order(self, verb: str) -> str:
        """An order to which this can be done."""
        buyer, order_id = await self.buyer()
        if verb == "resume":
            await buyer.pay(method=(await self.till()).check)
        if verb in {"approve", "cancel", "resume"}:
            await buyer.complete()
        if verb == "resume":
            await self.writer.patch(f"/orders/{order_id}/cancel", {})
        if verb == "use_store_credit":
            cart = await buyer.get("/cart", include="line_items")
            await self.owe(self.db, cart.json["data"]["relationships"]["line_items"]["data"][0]["id"])
        return order_id

    async def shipment(self, verb: str) -> str:
        is_open = verb in {"add_item", "remove_item"}
        order = await self.writer.get(f"/orders/{await self.order('next' if is_open else 'approve')}")
        shipment_id = str(order.json["data"]["relationships"]["shipments"]["data"][0]["id"])
        if is_open or verb.startswith("transfer"):
            await self._note_wish(shipment_id, verb)
        before = {"ready": "pend", "resume": "cancel"}.get(verb)
        if before:
            await self.writer.patch(f"/shipments/{shipment_id}/{before}", {})
        return shipment_id

    async def _note_wish(self, shipment_id: str, verb: str) -> None:
        shipment = await self.writer.get(f"/shipments/{shipment_id}")
        place = shipment.json["data"]["relationships"]["stock_location"]["data"]["id"]
        self.wish = {"variant_id": (await self.mug()).sold, "stock_location_id": place, "quantity": "1"}
        if verb == "transfer_to_shipment":
            make = Make(self.writer)
            other = (await make.new("stock_locations", "stock_location", name=shipment["number"])).id
            await make.new(
                "stock_items",
                "stock_item",
                variant_id=self.wish["variant_id"],
                stock_location_id=other,
                count_on_hand=5,
            )
            wish = {**self.wish, "stock_location_id": other, "quantity": 1}
            new_shipment = await self.writer.patch(f"/shipments/{shipment_id}/transfer_to_location", {"shipment": wish})
            self.wish["target_shipment_number"] = str(new_shipment["number"])

    async def payment(self, verb: str) -> str:
        buyer, order_id = await self.buyer()
        if verb == "capture":
            await buyer.pay(method=(await self.till()).check)
        await buyer.complete()
        order = await self.writer.get(f"/orders/{order_id}", {"include": "payments"})
        return next(
            str(record["id"])
            for record in order.json["included"]
            if record["attributes"]["state"] in {"pending", "completed"}
        )

    async def void_payment(self) -> str:
        """One for which no money was taken."""
        payment_id = await self.payment("capture")
        response = await self.writer.patch(f"/payments/{payment_id}/void", {})
        assert response.status == 200, response
        return payment_id

    async def record(self, path: str, verb: str) -> str:
        makers = {
            "orders": self.order,
            "shipments": self.shipment,
            "payments": self.payment,
            "store_credits": self.credit,
        }
        return await makers[path](verb)

    async def bodies(self) -> dict[str, dict[str, Any]]:
        """What each route of the storefront is sent, by the end of its address."""
        till, mug = await self.till(), await self.mug()
        return {
            "/cart/add_item": {"variant_id": mug.sold},
            "/cart/add_items": {"items": [{"variant_id": mug.sold}]},
            "/cart/empty": {},
            "/cart/apply_coupon_code": {"coupon_code": await self.code()},
            "/checkout/add_store_credit": {},
            "/checkout/remove_store_credit": {},
            "/cart/change_currency": {"new_currency": "JPY"},
            "/checkout": {"order": {"email": "grace@example.org"}},
            "/checkout/next": {},
            "/checkout/advance": {},
            "/checkout/complete": {},
            "/checkout/validate_order_for_payment": {"skip_state": True},
            "/checkout/create_payment": {"payment_method_id": till.check},
            "/checkout/select_shipping_method": {"shipping_method_id": till.express},
            "/wishlists": {"name": "Birthday"},
            "/wishlists/{wishlist_token}": {"wishlist": {"name": "Christmas"}},
            "/wishlists/{wishlist_token}/add_item": {"variant_id": mug.sold},
            "/wishlists/{wishlist_token}/add_items": {"wished_items": [{"variant_id": mug.sold}]},
            "/wishlists/{wishlist_token}/set_item_quantity/{item_id}": {"quantity": 2},
        }
