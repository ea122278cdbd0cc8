"""Operations on completed orders: ship, cancel, resume, capture, refund."""

import asyncio
from collections import Counter
from typing import Any
from uuid import UUID

import httpx2
import pytest

from tests.accounts import new_email
from tests.builders import Make, ProductIds
from tests.checkout_builders import Buyer, CheckoutSetup, new_checkout_setup, on_hand
from tests.db.processes import until
from tests.events.feed import new_reader
from tests.platform.client import Machine
from tests.platform.orders.test_shipment_contents import new_sale, patch_shipment
from tests.shopper import Answer


@pytest.fixture
async def mug(checkout_setup: CheckoutSetup) -> ProductIds:
    return await checkout_setup.product(on_hand=5)


async def buy(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, mug: ProductIds, count: int = 2, *, method: str = ""
) -> Answer:
    buyer = Buyer(http, checkout_setup)
    await buyer.add_items((mug, count))
    await buyer.enter_address()
    await buyer.pay(method=method or checkout_setup.card)
    order = await buyer.complete()
    assert order.status == 200, order
    return order


async def states_of(writer: Machine, order_id: str) -> tuple[Any, ...]:
    order = await writer.get(f"/orders/{order_id}")
    return order["state"], order["payment_state"], order["shipment_state"], order["payment_total"]


async def last_related_id(writer: Machine, order_id: str, relation: str) -> str:
    order = await writer.get(f"/orders/{order_id}")
    record_id: str = order.json["data"]["relationships"][relation]["data"][-1]["id"]
    return record_id


async def test_a_shipment_is_shipped_once_with_its_tracking_number(
    writer: Machine, checkout_setup: CheckoutSetup, mug: ProductIds, http: httpx2.AsyncClient
) -> None:
    order = await buy(http, checkout_setup, mug)
    shipment_id = await last_related_id(writer, order.id, "shipments")

    shipment = await writer.patch(f"/shipments/{shipment_id}/ship", {"tracking": "1Z999"})
    again = await writer.patch(f"/shipments/{shipment_id}/ship", {})
    refusal = await writer.patch(f"/orders/{order.id}/cancel", {})

    assert (shipment.status, shipment["state"], shipment["tracking"], shipment["shipped_at"] is not None) == (
        200,
        "shipped",
        "1Z999",
        True,
    )
    assert (await states_of(writer, order.id))[2] == "shipped"
    assert (again.status, again.code, refusal.status, refusal.code) == (
        422,
        "illegal_transition",
        422,
        "illegal_transition",
    )


async def test_a_shipped_shipment_is_delivered_once_and_with_the_last_one_the_order(
    writer: Machine, checkout_setup: CheckoutSetup, mug: ProductIds, http: httpx2.AsyncClient
) -> None:
    order = await buy(http, checkout_setup, mug)
    shipment_id = await last_related_id(writer, order.id, "shipments")
    path, feed = f"/shipments/{shipment_id}", await new_reader(writer)

    early = await writer.patch(f"{path}/deliver", {})
    await writer.patch(f"{path}/ship", {})
    delivered = await writer.patch(f"{path}/deliver", {})
    again = await writer.patch(f"{path}/deliver", {})

    events = await feed.read_about(shipment_id, order.id, until="order.delivered")
    assert [event["type"] for event in events if "deliver" in event["type"]] == [
        "shipment.delivered",
        "order.delivered",
    ]
    assert (delivered.status, delivered["state"], delivered["delivered_at"] is not None) == (200, "shipped", True)
    assert events[-2]["changes"].keys() == {"delivered_at"}
    assert (early.status, early.code, again.status, again.code) == (422, "illegal_transition") * 2


async def test_an_order_is_delivered_only_with_its_last_shipment(writer: Machine, db: Any) -> None:
    sale, feed = await new_sale(writer, db), await new_reader(writer)
    (first,) = await sale.shipments(writer)
    fields = {"variant_id": sale.mug.variant_id, "quantity": 1, "stock_location_id": sale.locations[1]}
    second = await patch_shipment(writer, first, "transfer_to_location", **fields)
    for shipment_id in (first, second.id):
        assert (await writer.patch(f"/shipments/{shipment_id}/ship", {})).status == 200

    for shipment_id in (second.id, first):
        assert (await writer.patch(f"/shipments/{shipment_id}/deliver", {})).status == 200

    events = await feed.read_about(first, second.id, sale.order_id, until="order.delivered")
    about = [(event["type"], event["data"]["id"]) for event in events if "delivered" in event["type"]]
    assert about == [
        ("shipment.delivered", second.id),
        ("shipment.delivered", first),
        ("order.delivered", sale.order_id),
    ]


async def test_canceling_an_order_restocks_its_items_and_refunds_it(
    writer: Machine, checkout_setup: CheckoutSetup, mug: ProductIds, http: httpx2.AsyncClient, db: Any
) -> None:
    order = await buy(http, checkout_setup, mug)
    assert await on_hand(db, mug.variant_id) == 3

    response = await writer.patch(f"/orders/{order['number']}/cancel", {})
    twice = await writer.patch(f"/orders/{order.id}/cancel", {})

    assert response.status == 200, response
    assert await states_of(writer, order.id) == ("canceled", "void", "canceled", "0.0")
    assert await on_hand(db, mug.variant_id) == 5
    assert (twice.status, twice.code) == (422, "illegal_transition")
    refund = await db.fetchrow("select amount, state from refunds where order_id = $1", UUID(order.id))
    assert tuple(refund) == (2500, "completed")


async def test_a_canceled_order_is_resumed_only_while_its_items_are_in_stock(
    writer: Machine, checkout_setup: CheckoutSetup, mug: ProductIds, http: httpx2.AsyncClient, db: Any
) -> None:
    first, second = [await buy(http, checkout_setup, mug, count, method=checkout_setup.check) for count in (3, 2)]
    await writer.patch(f"/orders/{first.id}/cancel", {})
    assert (await states_of(writer, first.id))[1] == "void"
    response = await writer.patch(f"/orders/{first.id}/resume", {})
    assert (response.status, response["state"], response["payment_state"]) == (200, "resumed", "balance_due")
    assert await on_hand(db, mug.variant_id) == 0
    await writer.patch(f"/payments/{await last_related_id(writer, first.id, 'payments')}/capture", {})
    assert await states_of(writer, first.id) == ("resumed", "paid", "ready", "35.0")

    await writer.patch(f"/orders/{second.id}/cancel", {})
    await buy(http, checkout_setup, mug, 1)
    refusal = await writer.patch(f"/orders/{second.id}/resume", {})

    assert (refusal.status, refusal.code) == (422, "out_of_stock")
    assert (await states_of(writer, second.id))[0] == "canceled"


@pytest.mark.security("C-15")
@pytest.mark.security("C-04")
@pytest.mark.parametrize("rival", ["resume", "capture"])
@pytest.mark.parametrize("method", ["card", "check"])
async def test_a_concurrent_resume_or_capture_waits_for_the_cancellation(
    writer: Machine,
    checkout_setup: CheckoutSetup,
    mug: ProductIds,
    http: httpx2.AsyncClient,
    db: Any,
    method: str,
    rival: str,
) -> None:
    order = await buy(http, checkout_setup, mug, method=getattr(checkout_setup, method))
    payment = await last_related_id(writer, order.id, "payments")
    path = f"/orders/{order.id}/resume" if rival == "resume" else f"/payments/{payment}/capture"
    statement = "select count(*) from pg_locks where not granted and locktype in ('transactionid', 'tuple')"

    async def is_waiting(count: int) -> bool:
        return bool(await db.fetchval(statement) >= count)

    async with db.transaction():
        await db.execute("select 1 from orders where id = $1 for update", order.id)
        cancel_task = asyncio.create_task(writer.patch(f"/orders/{order.id}/cancel", {}))
        await until(lambda: is_waiting(1))
        rival_task = asyncio.create_task(writer.patch(path, {}))
        await until(lambda: is_waiting(2))
    cancellation, refusal = await cancel_task, await rival_task

    assert cancellation.status == 200, cancellation
    state, payment_state, _, total = await states_of(writer, order.id)
    money = await db.fetchrow("select state, captured_amount - refunded_amount from payments where id = $1", payment)
    if method == "check" and refusal.status == 200:
        # Resumed after the payment was voided: the check is due again.
        assert (rival, state, payment_state) == ("resume", "resumed", "balance_due")
    else:
        assert refusal.status in {409, 422}, refusal
        assert (state, total) == ("canceled", "0.0")
    assert (money[1], money[0]) in {(0, "completed"), (0, "void")}


async def test_resuming_a_refunded_order_is_refused(
    writer: Machine, checkout_setup: CheckoutSetup, mug: ProductIds, http: httpx2.AsyncClient, db: Any
) -> None:
    order = await buy(http, checkout_setup, mug)
    await writer.patch(f"/orders/{order.id}/cancel", {})

    refusal = await writer.patch(f"/orders/{order.id}/resume", {})

    assert (refusal.status, refusal.code) == (422, "illegal_transition")
    assert refusal.json["error"].startswith("A refunded order cannot be resumed")
    assert await states_of(writer, order.id) == ("canceled", "void", "canceled", "0.0")
    assert await on_hand(db, mug.variant_id) == 5


async def test_resuming_an_order_with_a_pending_payment_attempt_is_409(
    writer: Machine, checkout_setup: CheckoutSetup, mug: ProductIds, http: httpx2.AsyncClient, db: Any
) -> None:
    order = await buy(http, checkout_setup, mug, method=checkout_setup.check)
    await writer.patch(f"/orders/{order.id}/cancel", {})
    await db.execute(
        """insert into payment_attempts (id, order_id, payment_id, act, amount, created_at)
        select gen_random_uuid(), order_id, id, 'refund', 100, now() from payments where order_id = $1""",
        UUID(order.id),
    )

    refusal = await writer.patch(f"/orders/{order.id}/resume", {})

    assert (refusal.status, refusal.code) == (409, "payment_in_progress")


async def test_capturing_a_check_payment_makes_the_shipment_ready(
    writer: Machine, checkout_setup: CheckoutSetup, mug: ProductIds, http: httpx2.AsyncClient
) -> None:
    order = await buy(http, checkout_setup, mug, method=checkout_setup.check)
    assert await states_of(writer, order.id) == ("complete", "balance_due", "pending", "0.0")
    payment_id = await last_related_id(writer, order.id, "payments")

    payment = await writer.patch(f"/payments/{payment_id}/capture", {})
    again = await writer.patch(f"/payments/{payment_id}/capture", {})

    assert (payment.status, payment["state"], payment["captured_amount"]) == (200, "completed", "25.0")
    assert await states_of(writer, order.id) == ("complete", "paid", "ready", "25.0")
    assert (again.status, again.code) == (422, "illegal_transition")


async def test_partial_refunds_cannot_exceed_the_captured_amount(
    writer: Machine, checkout_setup: CheckoutSetup, mug: ProductIds, http: httpx2.AsyncClient
) -> None:
    order = await buy(http, checkout_setup, mug)
    payment_id = await last_related_id(writer, order.id, "payments")

    def refund(amount: Any, **more: Any) -> Any:
        body = {"payment_id": payment_id, "amount": amount, "reason": "One was broken.", **more}
        return writer.post("/refunds", {"refund": body})

    partial_refund = await refund("10.00")
    excessive_refund = await refund("15.01")
    invalid_amounts = [await refund(amount) for amount in ("0", "-1", "1.234", "many", None)]
    without_reason, unknown = await refund("1", reason=" "), await refund("1", payment_id=order.id)
    rest_refund = await refund("15.00")

    assert (partial_refund.status, partial_refund["state"], partial_refund["amount"]) == (201, "completed", "10.0")
    assert (excessive_refund.status, list(excessive_refund.json["errors"])) == (422, ["amount"])
    assert [answer.status for answer in invalid_amounts] == [422] * 5
    assert (without_reason.status, unknown.status, rest_refund.status) == (422, 422, 201)
    assert (await states_of(writer, order.id))[3] == "0.0"


async def test_of_concurrent_full_refunds_only_one_succeeds(
    writer: Machine, checkout_setup: CheckoutSetup, mug: ProductIds, http: httpx2.AsyncClient, db: Any
) -> None:
    order = await buy(http, checkout_setup, mug)
    payment_id = await last_related_id(writer, order.id, "payments")
    body = {"refund": {"payment_id": payment_id, "amount": "25.00", "reason": "Nobody was at home."}}

    answers = await asyncio.gather(*(writer.post("/refunds", body) for _ in range(10)))

    statuses = Counter(answer.status for answer in answers)
    assert (statuses[201], statuses.keys() <= {201, 409, 422, 503}) == (1, True)
    row = await db.fetchrow("select captured_amount, refunded_amount from payments where id = $1", UUID(payment_id))
    assert tuple(row) == (2500, 2500)


async def test_approving_an_order_is_audited(
    writer: Machine, checkout_setup: CheckoutSetup, mug: ProductIds, http: httpx2.AsyncClient, db: Any
) -> None:
    order = await buy(http, checkout_setup, mug)

    response = await writer.patch(f"/orders/{order.id}/approve", {})

    assert (response.status, response["approved_at"] is not None) == (200, True)
    events = await db.fetch("select action from audit_events where subject_id = $1 order by at", UUID(order.id))
    assert {"order_complete", "order_approve", "payment"} <= {row["action"] for row in events}


async def test_an_application_advances_and_completes_a_cart(
    writer: Machine, checkout_setup: CheckoutSetup, mug: ProductIds, http: httpx2.AsyncClient
) -> None:
    buyer = Buyer(http, checkout_setup)
    cart = await buyer.ready((mug, 1))

    advance_response = await writer.patch(f"/orders/{cart.id}/advance", {})
    complete_response = await writer.patch(f"/orders/{cart.id}/complete", {})
    empty_response = await writer.patch(f"/orders/{cart.id}/empty", {})

    assert (advance_response["state"], complete_response["state"], empty_response.status) == (
        "confirm",
        "complete",
        404,
    )


async def test_a_partially_refunded_order_can_be_shipped(
    writer: Machine, checkout_setup: CheckoutSetup, mug: ProductIds, http: httpx2.AsyncClient
) -> None:
    order = await buy(http, checkout_setup, mug)
    body = {"payment_id": await last_related_id(writer, order.id, "payments"), "amount": "5.00", "reason": "A scratch."}
    await writer.post("/refunds", {"refund": body})

    assert await states_of(writer, order.id) == ("complete", "paid", "ready", "20.0")
    assert (await writer.get(f"/orders/{order.id}"))["display_outstanding_balance"] == "$0.00"
    response = await writer.patch(f"/shipments/{await last_related_id(writer, order.id, 'shipments')}/ship", {})
    assert response.status == 200


async def test_clearing_the_states_of_a_zone_does_not_clear_its_countries(writer: Machine, make: Make) -> None:
    checkout_setup = await new_checkout_setup(make)

    first = await writer.patch(f"/zones/{checkout_setup.zone}", {"zone": {"state_ids": []}})
    second = await writer.patch(f"/zones/{checkout_setup.zone}", {"zone": {"country_ids": []}})

    assert (first["zone_members_count"], second["zone_members_count"]) == (2, 0)


@pytest.mark.security("C-18")
async def test_a_tracking_url_must_be_an_https_url(writer: Machine, make: Make) -> None:
    method = (await make.new("shipping_methods", "shipping_method", name="Post", amounts={"USD": "5"})).id

    async def set_tracking_url(url: Any) -> Answer:
        return await writer.patch(f"/shipping_methods/{method}", {"shipping_method": {"tracking_url": url}})

    wrong = ["http://post.example/:tracking", "javascript:alert(1)//", "//post.example", "https://", "https:post", ""]
    wrong += ["https://post.example/ x", "https://post.example/\n", "https://[post"]
    refusals = [await set_tracking_url(url) for url in wrong]
    body = {"name": "Post", "amounts": {"USD": "5"}, "tracking_url": wrong[0]}
    refusals.append(await writer.post("/shipping_methods", {"shipping_method": body}))
    responses = [await set_tracking_url(url) for url in ("https://post.example/?n=:tracking", None)]

    assert [(answer.status, list(answer.json.get("errors", {}))) for answer in refusals] == [
        (422, ["tracking_url"])
    ] * len(refusals)
    assert [answer.status for answer in responses] == [200, 200]


async def test_the_default_shipping_category_cannot_be_deleted(writer: Machine) -> None:
    refusal = await writer.delete("/shipping_categories/00000000-0000-7000-8000-000000000001")

    assert refusal.status == 422


async def test_confirmation_delivered_is_true_once_the_e_mail_is_sent(
    writer: Machine, checkout_setup: CheckoutSetup, mug: ProductIds, http: httpx2.AsyncClient, db: Any
) -> None:
    buyer = Buyer(http, checkout_setup)
    await buyer.ready((mug, 1))
    # A new address: mail to an address with many confirmations has to wait.
    await buyer.update_checkout(email=new_email())
    order = await buyer.complete()
    open_order = await writer.post("/orders", {"order": {}})

    await until(lambda: db.fetchval("select sent_at from outbox_mails where ref_id = $1", order.id))

    assert (await writer.get(f"/orders/{order.id}"))["confirmation_delivered"] is True
    assert open_order["confirmation_delivered"] is False
