"""The ledger of stock: after any sequence of operations every count is the sum of its movements."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shop.queries.catalog.stock import list_wrong_counts
from tests.builders import Make, ProductIds
from tests.checkout_builders import Buyer, CheckoutSetup, new_checkout_setup
from tests.platform.bulk import import_rows
from tests.platform.catalog_builders import master_of, new, patch_record, post_record
from tests.platform.client import Machine, new_machine, operator_context
from tests.shopper import Answer

SUMS = """select count_on_hand, coalesce((select sum(quantity) from stock_movements m where m.stock_item_id = i.id), 0)
    from stock_items i"""


class Store:
    """Two products at two stock locations, and all operations that change their counts."""

    def __init__(self, machine: Machine, checkout_setup: CheckoutSetup) -> None:
        self.machine, self.checkout_setup = machine, checkout_setup
        self.products: list[ProductIds] = []
        self.items: list[str] = []
        self.location_names: list[str] = []
        self.order_numbers: list[str] = []

    async def fill(self) -> None:
        self.location_names = [str((await new(self.machine, "stock_location"))["name"]) for _ in range(2)]
        self.products = [await self.checkout_setup.product(on_hand=3) for _ in range(2)]
        variant_ids = [product.variant_id for product in self.products]
        stock_items = await self.machine.get(f"/stock_items?filter[variant_id_in]={','.join(variant_ids)}")
        self.items = [item["id"] for item in stock_items.json["data"]]

    async def do(self, operation: tuple[str, int, int, bool]) -> Answer | None:
        kind, which, number, flag = operation
        product, item_id = self.products[which % 2], self.items[which % len(self.items)]
        if kind == "import":
            line = {"slug": product.slug, "stock": {self.location_names[flag]: {"count_on_hand": number}}}
            await import_rows(self.machine, "products", line)
            return None
        if kind == "buy":
            return await self._buy(product, max(number, 1), "approve" if flag else "decline")
        if kind == "cancel" and self.order_numbers:
            return await self.machine.patch(
                f"/orders/{self.order_numbers.pop(which % len(self.order_numbers))}/cancel", {}
            )
        changes = {"backorderable": flag, **({"count_on_hand": number} if number > 6 else {})}
        movement = {"stock_item_id": item_id, "quantity": number, "reason": ("received", "moved")[flag]}
        calls: dict[str, Callable[[], Awaitable[Answer]]] = {
            "move": lambda: post_record(self.machine, "stock_movement", **movement),
            "recount": lambda: patch_record(self.machine, "stock_item", item_id, count_on_hand=number),
            "switch": lambda: patch_record(self.machine, "stock_item", item_id, **changes),
            "move_variant": lambda: post_record(
                self.machine, "stock_movement", variant_id=product.variant_id, quantity=number
            ),
            "track": lambda: patch_record(self.machine, "variant", product.variant_id, track_inventory=flag),
        }
        return await calls[kind]() if kind in calls else None

    async def _buy(self, product: ProductIds, quantity: int, source: str) -> Answer | None:
        buyer = Buyer(self.machine.http, self.checkout_setup)
        await buyer.post("/cart")
        cart = await buyer.post("/cart/add_item", variant_id=product.variant_id, quantity=quantity)
        if cart.status != 200:
            return cart
        await buyer.enter_address()
        await buyer.pay(source)
        order = await buyer.complete()
        assert order.status in {200, 409, 422}, order
        if order.status == 200:
            self.order_numbers.append(str(order["number"]))
        return None


operations = st.tuples(
    st.sampled_from(["move", "recount", "switch", "move_variant", "track", "import", "buy", "buy", "cancel"]),
    st.integers(0, 3),
    st.integers(-9, 12),
    st.booleans(),
)
FEW = settings(
    max_examples=4, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
MANY = settings(FEW, max_examples=80, derandomize=False)


async def check_rounds(http: httpx2.AsyncClient, db: Any, database_url: str, rounds: list[list[Any]]) -> None:
    """Runs the operations of a round concurrently, and the rounds one after another."""
    machine = await new_machine(http, db)
    store = Store(machine, await new_checkout_setup(Make(machine)))
    await store.fill()
    for operations_of_round in rounds:
        answers = await asyncio.gather(*map(store.do, operations_of_round))
        assert {answer.status for answer in answers if answer} <= {200, 201, 422}, answers
    rows = await db.fetch(SUMS)
    assert [row for row in rows if row[0] != row[1]] == []
    async with operator_context(database_url) as ctx:
        assert await list_wrong_counts(ctx.db) == []


rounds = st.lists(st.lists(operations, min_size=1, max_size=4), min_size=1, max_size=5)


@FEW
@given(rounds)
async def test_every_count_is_the_sum_of_its_movements(
    http: httpx2.AsyncClient, db: Any, database_url: str, rounds: list[list[Any]]
) -> None:
    await check_rounds(http, db, database_url, rounds)


@pytest.mark.torture
@MANY
@given(rounds)
async def test_every_count_is_the_sum_of_its_movements_in_many_examples(
    http: httpx2.AsyncClient, db: Any, database_url: str, rounds: list[list[Any]]
) -> None:
    await check_rounds(http, db, database_url, rounds)


async def test_a_count_without_matching_movements_is_reported(
    http: httpx2.AsyncClient, db: Any, database_url: str
) -> None:
    machine = await new_machine(http, db)
    variant_id = await master_of(machine, (await new(machine, "product")).id)
    movement = await new(machine, "stock_movement", variant_id=variant_id, quantity=3)
    item_id = movement.json["data"]["relationships"]["stock_item"]["data"]["id"]

    await db.execute("update stock_items set count_on_hand = 4 where id = $1", item_id)
    async with operator_context(database_url) as ctx:
        wrong_counts = await list_wrong_counts(ctx.db)
    await db.execute("update stock_items set count_on_hand = 3 where id = $1", item_id)

    assert [(str(wrong), count, total) for wrong, count, total in wrong_counts] == [(item_id, 4, 3)]
