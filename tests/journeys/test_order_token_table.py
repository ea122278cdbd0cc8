"""An order token alone on a guest's and on a user's cart: every row of `docs/generated/credentials.md`."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import httpx2
import pytest

from shop.base.errors import CannotStart
from shop.cli.access.order_token_table import (
    INVALID,
    NEVER,
    OK_HIDDEN,
    OK_IGNORED,
    OK_REMOVES_PAYMENT,
    OPERATIONS,
    OWNER_REQUIRED,
    USER,
    TokenOperation,
    order_token_section,
)
from shop.cli.routes import every_route
from shop.web.endpoint import Route
from tests.accounts import Member, sign_in
from tests.checkout_builders import ADDRESS
from tests.http_client import SharedTransport
from tests.journeys.sales import Sales
from tests.platform.client import new_machine
from tests.service import Service
from tests.shopper import PREFIX, Answer, Shopper

BOOK_ADDRESS = {**ADDRESS, "firstname": "Augusta", "address1": "12 Book Lane", "phone": "555-0177"}
CARD_NAME = "Augusta Card"
CREDIT = "77.77"
STATUSES = {(route.method, route.path.removeprefix(PREFIX)): route.status for route in every_route()}
# The stage of a cart before each operation.
STAGES = {
    "begin the checkout": "line",
    "enter special instructions": "line",
    "change the e-mail": "owner's card",
    "enter an address": "owner's credit",
    "read the cart with `include=payments.source`": "owner's card",
    "complete with the owner's card": "owner's card",
    "complete with the owner's store credit": "owner's credit",
    "pay without store credit": "owner's credit",
    "repeat the completion": "complete",
    "read the completed order": "complete",
    "read the completed order with `include=user`": "complete",
    "pay by check (`payments_attributes`)": "address",
    "choose a shipping rate (`shipments_attributes`)": "address",
    "choose a shipping method": "check",
    "check the cart before payment": "check",
    "complete, to pay by check or with a new card": "check",
    "remove all coupon codes": "coupon",
    "remove a coupon code": "coupon",
    **{each.what: "address" for each in OPERATIONS if "address book" in each.what or "saved card" in each.what},
    "list shipping rates": "address",
    "pay with store credit": "address",
    "pay by check or with a new card": "address",
}


class CartFactory:
    """The owner of carts, with an address book, a saved card and credit; makes carts and holders of their tokens."""

    def __init__(self, http: httpx2.AsyncClient, db: Any, sales: Sales, owner: Member) -> None:
        self.http, self.db, self.sales, self.owner = http, db, sales, owner
        self.book_id = self.card_id = ""
        self.user_id: UUID

    async def fill(self) -> None:
        self.user_id = await self.owner.id()
        self.book_id = (await self.owner.post("/account/addresses", address=BOOK_ADDRESS)).id
        credit = {"user_id": str(self.user_id), "amount": CREDIT, "currency": "USD", "memo": "Sorry"}
        await self.sales.writer.post("/store_credits", {"store_credit": credit})
        card_id, checkout_setup = uuid4(), await self.sales.checkout_setup()
        await self.db.execute(
            "insert into payment_sources"
            " (id, user_id, payment_method_id, reference, name, last_digits, used_at, created_at, updated_at)"
            " values ($1, $2, $3, 'approve', $4, '4242', now(), now(), now())",
            card_id,
            self.user_id,
            UUID(checkout_setup.card),
            CARD_NAME,
        )
        self.card_id = str(card_id)

    @property
    def account(self) -> list[str]:
        """Texts that only the account contains."""
        return [
            self.owner.email,
            BOOK_ADDRESS["firstname"],
            BOOK_ADDRESS["address1"],
            BOOK_ADDRESS["phone"],
            CARD_NAME,
            '"4242"',
            CREDIT,
        ]

    async def cart(self, stage: str, *, is_owned: bool) -> "Holder":
        holder = Holder(self)
        holder.cart_id = (await holder.post("/cart")).id
        if is_owned:
            await self.db.execute("update orders set user_id = $2 where id = $1", UUID(holder.cart_id), self.user_id)
        await holder.go_to(stage, is_owned=is_owned)
        return holder

    async def rows(self, cart_id: str) -> list[Any]:
        """The rows that a refused operation must not change."""
        order = await self.db.fetch("select o::text from orders o where id = $1", UUID(cart_id))
        return [*order, *await self.db.fetch("select p::text from payments p where order_id = $1", UUID(cart_id))]


class Holder(Shopper):
    """A caller who has an order token and nothing else."""

    def __init__(self, carts: CartFactory) -> None:
        super().__init__(carts.http)
        self.carts = carts
        self.cart_id = self.line_id = self.number = self.bearer = ""

    async def ask(self, method: str, path: str, *, headers: dict[str, str] | None = None, **options: Any) -> Answer:
        bearer = {"Authorization": f"Bearer {self.bearer}"} if self.bearer else {}
        return await super().ask(method, path, headers={**bearer, **(headers or {})}, **options)

    async def go_to(self, stage: str, *, is_owned: bool) -> None:
        mug, checkout_setup = await self.carts.sales.mug(), await self.carts.sales.checkout_setup()
        cart = await self.post("/cart/add_item", variant_id=mug.variant_id)
        self.line_id, self.number = cart.json["data"]["relationships"]["line_items"]["data"][0]["id"], cart["number"]
        if stage == "coupon":
            await self.ask("PATCH", "/cart/apply_coupon_code", json={"coupon_code": await self.carts.sales.code()})
        if stage in {"line", "coupon"}:
            return
        fields = {"email": "ada@example.org", "bill_address_attributes": ADDRESS, "use_billing": True}
        await self.ask("PATCH", "/checkout", json={"order": fields})
        if stage == "owner's card" and is_owned:
            await self.as_owner("/checkout/create_payment", source_id=self.carts.card_id)
        elif stage == "owner's credit" and is_owned:
            await self.as_owner("/checkout/add_store_credit")
        elif stage != "address":
            await self.post("/checkout/create_payment", payment_method_id=checkout_setup.check)
        if stage == "complete":
            order = await self.ask("PATCH", "/checkout/complete")
            assert order.status == 200, order

    async def as_owner(self, path: str, **body: Any) -> None:
        bearer = {"Authorization": f"Bearer {self.carts.owner.access_token}"}
        answer = await self.post(path, headers=bearer, **body)
        assert answer.status in {200, 201}, answer

    async def do(self, operation: TokenOperation) -> Answer:
        path = operation.path.replace("{id}", self.line_id).replace("{number}", self.number)
        path = path.replace("{code}", await self.carts.sales.code()) + QUERIES.get(operation.what, "")
        body = await self._body(operation)
        return await self.ask(operation.method, path, **({} if body is None else {"json": body}))

    async def _body(self, operation: TokenOperation) -> dict[str, Any] | None:
        carts, card = self.carts, {"source_id": self.carts.card_id}
        if operation.method in {"GET", "DELETE"}:
            return None
        fields = {
            "begin the checkout": {},
            "enter special instructions": {"special_instructions": "Ring twice."},
            "change the e-mail": {"email": "mallory@example.org"},
            "enter an address": {"ship_address_attributes": {**ADDRESS, "address1": "66 Other Street"}},
            "use an address from the address book (`bill_address_id`)": {"bill_address_id": carts.book_id},
            "use an address from the address book (`ship_address_attributes.id`)": {
                "ship_address_attributes": {"id": carts.book_id}
            },
            "choose a saved card (`existing_card`)": {"existing_card": carts.card_id},
            "choose a saved card (`payments_attributes`)": {"payments_attributes": [card]},
        }
        if operation.path == "/checkout":
            return {"order": fields.get(operation.what) or await self._choice(operation.what)}
        if operation.what == "choose a saved card":
            return card
        if operation.what == "apply a coupon code that counts each customer's uses":
            return {"coupon_code": await carts.sales.new_code(customer_limit=1)}
        bodies = {
            **await carts.sales.bodies(),
            "/cart": {},
            "/cart/associate": {"guest_order_token": self.order_token},
            "/cart/set_quantity": {"line_item_id": self.line_id, "quantity": 2},
        }
        return bodies[operation.path]

    async def _choice(self, what: str) -> dict[str, Any]:
        """The field that makes the choice."""
        sales = self.carts.sales
        if "payments_attributes" in what:
            return {"payments_attributes": [{"payment_method_id": (await sales.checkout_setup()).check}]}
        if "shipments_attributes" in what:
            (shipment,) = (await self.get("/checkout/shipping_rates")).json["data"]
            rate = shipment["relationships"]["shipping_rates"]["data"][0]["id"]
            return {"shipments_attributes": [{"id": shipment["id"], "selected_shipping_rate_id": rate}]}
        if "counts" in what:
            return {"coupon_code": await sales.new_code(customer_limit=1)}
        return {"coupon_code": await sales.code()} if "coupon" in what else {}


QUERIES = {
    "read the completed order with `include=user`": "?include=user.default_billing_address",
    "read the cart with `include=user`": "?include=user.default_billing_address",
    "read the cart with `include=payments.source`": "?include=payments.source",
    "estimate shipping": "?country_iso=US",
}


@pytest.fixture(scope="module")
async def carts(service: Service, database_url: str, shared_transport: SharedTransport) -> AsyncIterator[CartFactory]:
    connection = await asyncpg.connect(database_url)
    async with service.client(transport=shared_transport) as client:
        sales = Sales(client, await new_machine(client, connection, "write"), connection)
        factory = CartFactory(client, connection, sales, await sign_in(client))
        await factory.fill()
        yield factory
    await connection.close()


def payments(answer: Answer) -> list[Any]:
    references: list[Any] = answer.json["data"]["relationships"]["payments"]["data"]
    return references


def check(expected: str, operation: TokenOperation, answer: Answer) -> None:
    success = STATUSES[operation.method, operation.path]
    warnings = answer.json.get("meta", {}).get("warnings", []) if answer.response.content else []
    if expected == OWNER_REQUIRED:
        assert (answer.status, answer.code) == (401, "owner_required")
        assert answer.headers["www-authenticate"] == 'Bearer realm="shop"'
    elif expected == USER:
        assert (answer.status, answer.code) == (401, "unauthenticated")
    elif expected == INVALID:
        assert answer.status == 422
    else:
        assert answer.status == success
        assert [each["code"] for each in warnings] == (
            ["payment_choices_removed"] if expected == OK_REMOVES_PAYMENT else []
        )
    if expected == OK_REMOVES_PAYMENT:
        assert payments(answer) == []
        assert answer["total_minus_store_credits"] == answer["total"]
    if expected == OK_HIDDEN:
        assert answer.json["included"] == [] or {each["type"] for each in answer.json["included"]} == {"payment"}
    if expected == OK_IGNORED:
        assert answer.json["data"]["relationships"]["billing_address"]["data"] is not None


CASES = [
    pytest.param(operation, whose, id=f"{whose}: {operation.name}")
    for operation in OPERATIONS
    for whose in ("guest", "owned")
    if getattr(operation, whose) != NEVER
]


@pytest.mark.security("C-01", "C-08", "C-09", "C-10")
@pytest.mark.parametrize(("operation", "whose"), CASES)
async def test_every_operation_responds_to_an_order_token_as_documented(
    carts: CartFactory, operation: TokenOperation, whose: str
) -> None:
    expected = getattr(operation, whose)
    holder = await carts.cart(STAGES.get(operation.what, "line"), is_owned=whose == "owned")
    before = await carts.rows(holder.cart_id)

    answer = await holder.do(operation)

    check(expected, operation, answer)
    if expected in {OWNER_REQUIRED, INVALID, USER}:
        assert await carts.rows(holder.cart_id) == before
    for secret in carts.account:
        assert secret not in answer.response.text


@pytest.mark.parametrize(
    "operation", [each for each in OPERATIONS if each.owned in {OWNER_REQUIRED, OK_REMOVES_PAYMENT}]
)
async def test_every_operation_succeeds_with_the_owners_access_token(
    carts: CartFactory, operation: TokenOperation
) -> None:
    holder = await carts.cart(STAGES.get(operation.what, "line"), is_owned=True)
    holder.bearer = carts.owner.access_token

    answer = await holder.do(operation)

    assert answer.status == STATUSES[operation.method, operation.path], answer
    assert "payment_choices_removed" not in answer.response.text


@pytest.mark.security("C-09", "C-16")
async def test_an_order_token_does_not_reveal_whether_the_owner_has_ordered_before(carts: CartFactory) -> None:
    holder = await carts.cart("line", is_owned=True)
    code = await carts.sales.new_code(conditions=[("first_order", {})])

    answer = await holder.ask("PATCH", "/cart/apply_coupon_code", json={"coupon_code": code})

    assert (answer.status, answer.code) == (401, "owner_required")


def test_the_routes_that_may_return_owner_required_declare_it() -> None:
    expected = {(each.method, each.path) for each in OPERATIONS if each.owned == OWNER_REQUIRED}
    actual = {
        (route.method, route.path.removeprefix(PREFIX))
        for route in every_route()
        if "owner_required" in route.codes.get(401, ())
    }

    assert actual == expected


def test_the_page_explains_every_response_of_the_table() -> None:
    page = order_token_section(every_route())

    for operation in OPERATIONS:
        assert f"| `{operation.guest}` |" in page
        assert f"| `{operation.owned}` |" in page


def test_a_cart_route_without_a_row_is_an_error() -> None:
    new = Route("GET", "/api/v2/storefront/cart/new", every_route()[0].handler, "order token or user", "")

    with pytest.raises(CannotStart, match="cart/new has no row"):
        order_token_section([*every_route(), new])
