"""What a cart is read and written with is planned once: PostgreSQL would else plan for longer than it does."""

from uuid import UUID

import msgspec

from shop.db.pool import open_database
from shop.queries.lines import WRITTEN, list_lines, write_lines
from shop.queries.orders import lock_open_cart
from shop.queries.prices import Pricing
from shop.queries.quotes import list_quotes
from tests.make import Make
from tests.shopper import Shopper

FIRST = 5
"""So many plans PostgreSQL makes for so many values, before it thinks of keeping one."""


async def test_a_cart_is_planned_once(make: Make, guest: Shopper, database_url: str) -> None:
    product = await make.product(price="10.00", on_hand=10)
    cart = await guest.post("/cart")
    headers = {"X-Shop-Order-Token": cart["token"]}
    await guest.post("/cart/add_item", headers=headers, variant_id=product.sold)
    database = open_database(database_url, size=1)
    try:
        for _ in range(FIRST + 3):
            session = database.session()
            async with session.transaction():
                order = await lock_open_cart(session, UUID(cart.id))
                assert order is not None
                lines = await list_lines(session, order.id)
                assert await list_quotes(session, Pricing("USD"), {line.variant_id: 2 for line in lines})
                figures = {name: value for name, value in msgspec.structs.asdict(order).items() if name in WRITTEN}
                await write_lines(session, order.id, put=lines, gone=[], unpacks=False, order=figures)
        connection = await database.connections.acquire()
        plans = "select statement, generic_plans, custom_plans from pg_prepared_statements"
        found = [row for row in await connection.fetch(plans) if row["custom_plans"] + row["generic_plans"] > FIRST]
        database.connections.release(connection)
    finally:
        await database.close()
    assert len(found) >= 4
    assert [row["statement"] for row in found if row["custom_plans"] > FIRST] == []
