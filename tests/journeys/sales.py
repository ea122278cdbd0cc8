"""Carts and orders in the state that a route of carts, checkouts or orders needs."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx2

from shop.platform.resources.registry import COLLECTIONS
from tests.accounts import new_email
from tests.builders import Make, ProductIds
from tests.checkout_builders import ADDRESS, Buyer, CheckoutSetup, new_checkout_setup
from tests.platform.builders import sample
from tests.platform.client import Machine
from tests.promotion_builders import TENTH, create_promotion, new_code

Ask = Callable[[str, str, dict[str, Any] | None], Awaitable[httpx2.Response]]


_OF_AN_EVENT = """update webhook_deliveries set (event_id, event_type, occurred_at, position, subject_id) =
    (select id, type, occurred_at, position, subject_id from events where position is not null
    order by position desc limit 1) where id = $1"""


class Sales:
    """A checkout setup, and carts and orders in it."""

    def __init__(self, http: httpx2.AsyncClient, writer: Machine, db: Any) -> None:
        self.http, self.writer, self.db = http, writer, db
        self._code = ""
        self._checkout_setup: CheckoutSetup | None = None
        self._mug: ProductIds | None = None
        self.shipment_change: dict[str, str] = {}
        """The body of a change of the shipment that was made last."""

    async def checkout_setup(self) -> CheckoutSetup:
        if self._checkout_setup is None:
            self._checkout_setup = await new_checkout_setup(Make(self.writer))
        return self._checkout_setup

    async def mug(self) -> ProductIds:
        if self._mug is None:
            self._mug = await (await self.checkout_setup()).product(on_hand=10_000, prices={"JPY": "1000"})
        return self._mug

    async def fill(self, ask: Ask) -> str:
        """Makes a caller's cart ready to be completed; returns the id of its line."""
        checkout_setup = await self.checkout_setup()
        await ask("POST", "/cart", None)
        cart = (await ask("POST", "/cart/add_item", {"variant_id": (await self.mug()).variant_id})).json()
        fields = {"email": "ada@example.org", "bill_address_attributes": ADDRESS, "use_billing": True}
        await ask("PATCH", "/checkout", {"order": fields})
        await ask("POST", "/checkout/create_payment", {"payment_method_id": checkout_setup.check})
        return str(cart["data"]["relationships"]["line_items"]["data"][0]["id"])

    async def buyer(self) -> tuple[Buyer, str]:
        buyer = Buyer(self.http, await self.checkout_setup())
        cart = await buyer.ready((await self.mug(), 2))
        return buyer, cart.id

    async def code(self) -> str:
        """A code that applies to every order."""
        if not self._code:
            self._code = new_code()
            await create_promotion(Make(self.writer), TENTH, code=self._code)
        return self._code

    async def new_code(self, **fields: Any) -> str:
        """The code of a new promotion."""
        code = new_code()
        await create_promotion(Make(self.writer), TENTH, code=code, **fields)
        return code

    async def grant_credit(self, db: Any, line_id: str) -> None:
        """Gives store credit to the owner of a cart; creates the owner if there is none."""
        order_id = await db.fetchval("select order_id from line_items where id = $1", line_id)
        if await db.fetchval("select user_id from orders where id = $1", order_id) is None:
            record = await self.writer.post("/users", {"user": {"email": new_email()}})
            await db.execute("update orders set user_id = $2 where id = $1", order_id, record.id)
        user_id = str(await db.fetchval("select user_id from orders where id = $1", order_id))
        credit = {"user_id": user_id, "amount": "5.00", "currency": "USD", "memo": "Sorry"}
        record = await self.writer.post("/store_credits", {"store_credit": credit})
        assert record.status == 201, record

    async def verb_body(self, path: str) -> dict[str, Any]:
        """The body that a verb of the platform needs."""
        return {
            "apply_coupon_code": {"coupon_code": await self.code()},
            "withdraw": {"reason": "A mistake"},
            "replay": {"since": datetime.now(UTC).isoformat()},
        }.get(path.rpartition("/")[2], {})

    async def order(self, verb: str) -> str:
        """An order in the state that the verb needs."""
        buyer, order_id = await self.buyer()
        if verb == "resume":
            await buyer.pay(method=(await self.checkout_setup()).check)
        if verb in {"approve", "cancel", "resume"}:
            await buyer.complete()
        if verb == "resume":
            await self.writer.patch(f"/orders/{order_id}/cancel", {})
        if verb == "use_store_credit":
            cart = await buyer.get("/cart", include="line_items")
            await self.grant_credit(self.db, cart.json["data"]["relationships"]["line_items"]["data"][0]["id"])
        return order_id

    async def shipment(self, verb: str) -> str:
        is_open = verb in {"add_item", "remove_item"}
        order = await self.writer.get(f"/orders/{await self.order('next' if is_open else 'approve')}")
        shipment_id = str(order.json["data"]["relationships"]["shipments"]["data"][0]["id"])
        if is_open or verb.startswith("transfer"):
            await self._prepare_shipment_change(shipment_id, verb)
        before = {"deliver": "ship", "ready": "pend", "resume": "cancel"}.get(verb)
        if before:
            await self.writer.patch(f"/shipments/{shipment_id}/{before}", {})
        return shipment_id

    async def _prepare_shipment_change(self, shipment_id: str, verb: str) -> None:
        shipment = await self.writer.get(f"/shipments/{shipment_id}")
        location_id = shipment.json["data"]["relationships"]["stock_location"]["data"]["id"]
        self.shipment_change = {
            "variant_id": (await self.mug()).variant_id,
            "stock_location_id": location_id,
            "quantity": "1",
        }
        if verb == "transfer_to_shipment":
            make = Make(self.writer)
            other_location_id = (await make.new("stock_locations", "stock_location", name=shipment["number"])).id
            await make.new(
                "stock_items",
                "stock_item",
                variant_id=self.shipment_change["variant_id"],
                stock_location_id=other_location_id,
                count_on_hand=5,
            )
            change = {**self.shipment_change, "stock_location_id": other_location_id, "quantity": 1}
            new_shipment = await self.writer.patch(
                f"/shipments/{shipment_id}/transfer_to_location", {"shipment": change}
            )
            self.shipment_change["target_shipment_number"] = str(new_shipment["number"])

    async def payment(self, verb: str) -> str:
        buyer, order_id = await self.buyer()
        if verb == "capture":
            await buyer.pay(method=(await self.checkout_setup()).check)
        await buyer.complete()
        order = await self.writer.get(f"/orders/{order_id}", {"include": "payments"})
        return next(
            str(record["id"])
            for record in order.json["included"]
            if record["attributes"]["state"] in {"pending", "completed"}
        )

    async def void_payment(self) -> str:
        """A payment that was voided before its capture."""
        payment_id = await self.payment("capture")
        response = await self.writer.patch(f"/payments/{payment_id}/void", {})
        assert response.status == 200, response
        return payment_id

    async def record(self, path: str, verb: str) -> str:
        makers = {"orders": self.order, "shipments": self.shipment, "payments": self.payment}
        if path in makers:
            return await makers[path](verb)
        (collection,) = [each for each in COLLECTIONS.values() if each.path == path]
        (record_id,) = await sample(self.writer, self.db, collection, 1)
        await self.db.execute("update webhook_endpoints set enabled = true")
        if verb == "resend":
            # A test cannot be sent again.
            await self.db.execute(_OF_AN_EVENT, UUID(record_id))
        return record_id

    async def bodies(self) -> dict[str, dict[str, Any]]:
        """The body of each route of the storefront, by the end of its path."""
        checkout_setup, mug = await self.checkout_setup(), await self.mug()
        return {
            "/cart/add_item": {"variant_id": mug.variant_id},
            "/cart/add_items": {"items": [{"variant_id": mug.variant_id}]},
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
            "/checkout/create_payment": {"payment_method_id": checkout_setup.check},
            "/checkout/select_shipping_method": {"shipping_method_id": checkout_setup.express},
            "/wishlists": {"name": "Birthday"},
            "/wishlists/{wishlist_token}": {"wishlist": {"name": "Christmas"}},
            "/wishlists/{wishlist_token}/add_item": {"variant_id": mug.variant_id},
            "/wishlists/{wishlist_token}/add_items": {"wished_items": [{"variant_id": mug.variant_id}]},
            "/wishlists/{wishlist_token}/set_item_quantity/{item_id}": {"quantity": 2},
        }
