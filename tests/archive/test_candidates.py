"""Only orders with which nothing can happen any more are archived."""

from uuid import UUID

import pytest

from tests.archive.conftest import ArchiveShop

HELD_BACK = {
    "not shipped": "update orders set shipment_state = 'ready' where id = $1",
    "a shipment is ready": "update shipments set state = 'ready' where order_id = $1",
    "not paid": "update orders set payment_state = 'balance_due' where id = $1",
    "to be refunded": "update orders set payment_state = 'credit_owed' where id = $1",
    "a payment is pending": "update payments set state = 'pending' where order_id = $1",
    "changed recently": "update orders set updated_at = now() where id = $1",
    "refunded recently": "insert into refunds (id, order_id, payment_id, amount, reason, state, created_at, updated_at)"
    " select gen_random_uuid(), order_id, id, 1, '', 'completed', now(), now() from payments where order_id = $1",
    "a refund waits": "insert into refunds (id, order_id, payment_id, amount, reason, state, created_at, updated_at)"
    " select gen_random_uuid(), order_id, id, 1, '', 'pending', now() - interval '50 days', now() - interval '50 days'"
    " from payments where order_id = $1",
    "a refund needs approval": "insert into refund_requests (id, order_id, requester_id, reason, amount, created_at,"
    " updated_at) values (gen_random_uuid(), $1, gen_random_uuid(), '', 1, now() - interval '50 days',"
    " now() - interval '50 days')",
    "an attempt is unknown": "update payment_attempts set outcome = 'unknown' where order_id = $1",
    "stock is reserved": "insert into stock_holds (id, order_id, stock_item_id, quantity, expires_at)"
    " select gen_random_uuid(), $1, id, 1, now() + interval '1 hour' from stock_items limit 1",
    "another order uses its card": "update payments set source_id ="
    " (select id from payment_sources where order_id = $1)"
    " where order_id in (select id from orders where completed_at > now() - interval '1 day')",
    "an extension refers to it": "insert into x_test_marks select $1",
}


@pytest.mark.torture
async def test_an_order_with_which_something_can_still_happen_stays(archive_shop: ArchiveShop) -> None:
    shop = archive_shop
    await shop.db.execute("create table x_test_marks (order_id uuid references orders (id) on delete cascade)")
    buyer = await shop.new_buyer()
    orders = {reason: await shop.buy_and_ship(buyer) for reason in HELD_BACK}
    recent, finished = await shop.buy_and_ship(buyer), await shop.buy_and_ship(buyer)
    await shop.age(finished, *orders.values())
    for reason, statement in HELD_BACK.items():
        await shop.db.execute(statement, UUID(orders[reason].id))
    result = shop.run("archive", "run")
    assert result.returncode == 0, result
    assert [reason for reason, order in orders.items() if await shop.is_archived(order)] == []
    assert await shop.is_archived(finished)
    assert not await shop.is_archived(recent)


@pytest.mark.torture
async def test_an_order_that_was_canceled_and_refunded_is_archived(archive_shop: ArchiveShop) -> None:
    shop = archive_shop
    order = await shop.buy_and_ship(await shop.new_buyer())
    canceled = await (await shop.new_buyer()).buy(await shop.setup.product(), "approve")
    assert (await shop.machine.patch(f"/orders/{canceled.id}/cancel", {})).status == 200
    await shop.archive(order, canceled)
