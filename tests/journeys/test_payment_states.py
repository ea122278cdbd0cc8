"""Payment states of real orders: after any sequence of operations they follow from the payments."""

from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shop.rules.checkout.payments import PaymentAmounts, balance_of
from tests.checkout_builders import Buyer, CheckoutSetup
from tests.platform.client import Machine
from tests.shopper import Answer

EVENTS = ("capture", "refund", "refund", "void", "cancel", "resume")
events = st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(1, 2600)), min_size=2, max_size=7)
FEW = settings(
    max_examples=5, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
MANY = settings(FEW, max_examples=150, derandomize=False)


class CompletedOrder:
    """An order of 25 dollars, and the operations of operators on it."""

    def __init__(self, writer: Machine, db: Any, order_id: str) -> None:
        self.writer, self.db, self.order_id = writer, db, order_id

    async def do(self, event: str, amount: int) -> Answer:
        if event in {"cancel", "resume"}:
            return await self.writer.patch(f"/orders/{self.order_id}/{event}", {})
        newest = "select id from payments where order_id = $1 order by created_at desc, id desc limit 1"
        payment_id = await self.db.fetchval(newest, UUID(self.order_id))
        if event == "refund":
            body = {"payment_id": str(payment_id), "amount": f"{amount / 100:.2f}", "reason": "A scratch"}
            return await self.writer.post("/refunds", {"refund": body})
        return await self.writer.patch(f"/payments/{payment_id}/{event}", {})

    async def balance(self) -> tuple[str, str, int]:
        """The state, the payment state and the amount due as shown; asserts that they follow from the payments."""
        order = await self.writer.get(f"/orders/{self.order_id}")
        rows = await self.db.fetch(
            "select state, amount, captured_amount, refunded_amount from payments where order_id = $1",
            UUID(self.order_id),
        )
        balance = balance_of([PaymentAmounts(*row) for row in rows], 2500, is_canceled=order["canceled_at"] is not None)
        due = round(float(order["outstanding_balance"]) * 100)
        assert (order["payment_state"], due) == (balance.state, balance.amount_due)
        assert round(float(order["payment_total"]) * 100) == balance.payment_total
        return order["state"], order["payment_state"], due


async def check_sequence(
    http: httpx2.AsyncClient,
    db: Any,
    writer: Machine,
    checkout_setup: CheckoutSetup,
    pays: str,
    sequence: list[tuple[str, int]],
) -> None:
    fields = {"name": uuid4().hex, "type": "test_card", "auto_capture": False}
    manual_method_id = (await checkout_setup.make.new("payment_methods", "payment_method", **fields)).id
    buyer = Buyer(http, checkout_setup)
    await buyer.add_items((await checkout_setup.product(), 2))
    await buyer.enter_address()
    await buyer.pay(
        method={"card": checkout_setup.card, "check": checkout_setup.check, "authorized": manual_method_id}[pays]
    )
    order = CompletedOrder(writer, db, (await buyer.complete()).id)
    _, _, due = await order.balance()
    for event, amount in sequence:
        before, answer = due, await order.do(event, amount)
        assert answer.status in {200, 201, 422}, answer
        state, payment_state, due = await order.balance()
        if event == "refund":
            assert due <= max(before, 0)
        if event == "resume" and answer.status == 200:
            assert state == "resumed"
            if due > 0:
                assert (await order.do("capture", 0)).status == 200, "a resumed order can be paid"
                state, payment_state, due = await order.balance()
            assert (payment_state, due) == ("paid", 0)


@pytest.mark.security("C-14", "C-15")
@FEW
@given(st.sampled_from(["check", "card", "authorized"]), events)
async def test_the_payment_state_follows_from_the_payments(
    http: httpx2.AsyncClient,
    db: Any,
    writer: Machine,
    checkout_setup: CheckoutSetup,
    pays: str,
    sequence: list[tuple[str, int]],
) -> None:
    await check_sequence(http, db, writer, checkout_setup, pays, sequence)


@pytest.mark.torture
@MANY
@given(st.sampled_from(["check", "card", "authorized"]), events)
async def test_the_payment_state_follows_from_the_payments_in_many_examples(
    http: httpx2.AsyncClient,
    db: Any,
    writer: Machine,
    checkout_setup: CheckoutSetup,
    pays: str,
    sequence: list[tuple[str, int]],
) -> None:
    await check_sequence(http, db, writer, checkout_setup, pays, sequence)
