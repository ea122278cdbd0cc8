"""What routes about carts, checkouts and orders are tried on: carts and orders in the state that each of them wants."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from tests.make import MadeProduct, Make
from tests.platform.machine import Machine
from tests.till import ADDRESS, Buyer, Till, new_till

Ask = Callable[[str, str, dict[str, Any] | None], Awaitable[httpx.Response]]


class Sales:
    """A till, and what was or is about to be bought there."""

    def __init__(self, http: httpx.AsyncClient, writer: Machine) -> None:
        self.http, self.writer = http, writer
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
        told = {"email": "ada@example.org", "bill_address_attributes": ADDRESS, "use_billing": True}
        await ask("PATCH", "/checkout", {"order": told})
        await ask("POST", "/checkout/create_payment", {"payment_method_id": till.check})
        return str(cart["data"]["relationships"]["line_items"]["data"][0]["id"])

    async def buyer(self) -> tuple[Buyer, str]:
        buyer = Buyer(self.http, await self.till())
        cart = await buyer.ready((await self.mug(), 2))
        return buyer, cart.id

    async def order(self, verb: str) -> str:
        """An order to which this can be done."""
        buyer, order_id = await self.buyer()
        if verb in {"approve", "cancel", "resume"}:
            await buyer.complete()
        if verb == "resume":
            await self.writer.patch(f"/orders/{order_id}/cancel", {})
        return order_id

    async def shipment(self, verb: str) -> str:
        is_open = verb in {"add_item", "remove_item"}
        shown = await self.writer.get(f"/orders/{await self.order('next' if is_open else 'approve')}")
        shipment_id = str(shown.json["data"]["relationships"]["shipments"]["data"][0]["id"])
        if is_open or verb.startswith("transfer"):
            await self._note_wish(shipment_id, verb)
        before = {"ready": "pend", "resume": "cancel"}.get(verb)
        if before:
            await self.writer.patch(f"/shipments/{shipment_id}/{before}", {})
        return shipment_id

    async def _note_wish(self, shipment_id: str, verb: str) -> None:
        shown = await self.writer.get(f"/shipments/{shipment_id}")
        place = shown.json["data"]["relationships"]["stock_location"]["data"]["id"]
        self.wish = {"variant_id": (await self.mug()).sold, "stock_location_id": place, "quantity": "1"}
        if verb == "transfer_to_shipment":
            make = Make(self.writer)
            other = (await make.new("stock_locations", "stock_location", name=shown["number"])).id
            await make.new(
                "stock_items",
                "stock_item",
                variant_id=self.wish["variant_id"],
                stock_location_id=other,
                count_on_hand=5,
            )
            wish = {**self.wish, "stock_location_id": other, "quantity": 1}
            moved = await self.writer.patch(f"/shipments/{shipment_id}/transfer_to_location", {"shipment": wish})
            self.wish["target_shipment_number"] = str(moved["number"])

    async def payment(self, verb: str) -> str:
        buyer, order_id = await self.buyer()
        if verb == "capture":
            await buyer.pay(method=(await self.till()).check)
        await buyer.complete()
        shown = await self.writer.get(f"/orders/{order_id}", {"include": "payments"})
        return next(
            str(record["id"])
            for record in shown.json["included"]
            if record["attributes"]["state"] in {"pending", "completed"}
        )

    async def record(self, path: str, verb: str) -> str:
        makers = {"orders": self.order, "shipments": self.shipment, "payments": self.payment}
        return await makers[path](verb)

    async def bodies(self) -> dict[str, dict[str, Any]]:
        """What each route of the storefront is sent, by the end of its address."""
        till, mug = await self.till(), await self.mug()
        return {
            "/cart/add_item": {"variant_id": mug.sold},
            "/cart/add_items": {"items": [{"variant_id": mug.sold}]},
            "/cart/empty": {},
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
