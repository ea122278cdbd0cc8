"""The statement that completes an order, with the payment that is accepted."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import Text, bindparam, column, func, select, update
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.actor import Actor
from shop.base.ids import new_id
from shop.db.pool import DatabaseSession
from shop.db.statements import opaque_param, positional_type, statement
from shop.models.cart.orders import Order, orders
from shop.models.checkout.payments import Payment
from shop.models.checkout.shipments import shipments
from shop.queries.cart.sales import ADD_SALES, describe_sales
from shop.queries.payments.payments import CHANGED_PAYMENT, NEW_ATTEMPT, PaymentChange, describe_attempt
from shop.rules.checkout.payments import PAYMENT_MOVES

_ID = PG_UUID(as_uuid=True)


class Acceptance(msgspec.Struct, frozen=True):
    """A payment by check, by transfer or on delivery, for which no provider is called."""

    payment: Payment
    act: str
    amount: int

    @property
    def change(self) -> PaymentChange:
        if self.act == "purchase":
            return PaymentChange(*PAYMENT_MOVES["captured"], amount=self.amount, captured=self.amount)
        return PaymentChange(*PAYMENT_MOVES["authorised"], amount=self.amount)

    @property
    def accepted_payment(self) -> Payment:
        """The payment as the order's completion changes it."""
        change = self.change
        amount = self.payment.captured_amount if change.captured is None else change.captured
        return msgspec.structs.replace(self.payment, state=change.state, amount=self.amount, captured_amount=amount)


_NO_CHANGE = PaymentChange(frozenset(), "")


class OrderCompletion(msgspec.Struct, frozen=True):
    """A completed order, with what changed together with it."""

    order: Order
    payment: Payment | None
    """The accepted payment; None if its state does not allow it."""


_build_order = positional_type(Order)
_read_payment = msgspec.json.Decoder(Payment).decode


def _read_completion(record: Any) -> OrderCompletion:
    *order, payment = record
    return OrderCompletion(_build_order(*order), _read_payment(payment) if payment else None)


_states = (
    func.unnest(opaque_param("shipment_ids", ARRAY(_ID)), opaque_param("shipment_states", ARRAY(Text())))
    .table_valued(column("id", _ID), column("state", Text()), name="states")
    .render_derived()
)
_completed_order = (
    update(orders)
    .where(orders.c.id == bindparam("order_id", type_=_ID), orders.c.completed_at.is_(None))
    .values(
        state="complete",
        completed_at=func.now(),
        updated_at=func.now(),
        **{
            name: bindparam(f"new_{name}", type_=orders.c[name].type)
            for name in ("payment_total", "payment_state", "shipment_state", "explained")
        },
    )
    .returning(orders)
    .cte("completed_order")
)
_payment_text = select(sql_cast(func.row_to_json(CHANGED_PAYMENT.table_valued()), Text)).scalar_subquery()
_COMPLETE = statement(
    select(_completed_order, _payment_text.label("payment")).add_cte(
        update(shipments)
        .where(shipments.c.id == _states.c.id)
        .values(state=_states.c.state, updated_at=func.now())
        .cte("new_states"),
        NEW_ATTEMPT,
        ADD_SALES.cte("new_sales"),
    ),
    _read_completion,
)


async def complete_order(
    db: DatabaseSession,
    order: Order,
    shipment_states: Mapping[UUID, str],
    sold_quantities: Mapping[UUID, int],
    acceptance: Acceptance | None,
    actor: Actor,
    **values: Any,
) -> OrderCompletion:
    """Completes an order, changes its shipments' states and its payment, and adds the quantities sold, by variant, to
    products. The stock is taken before, by a statement of its own (docs/decisions/0034).
    """
    completion = await db.one(
        _COMPLETE,
        order_id=order.id,
        shipment_ids=list(shipment_states),
        shipment_states=list(shipment_states.values()),
        actor_kind=actor.kind,
        actor_id=actor.id,
        act=acceptance.act if acceptance else "",
        outcome="approved",
        **describe_sales(sold_quantities),
        **(
            describe_attempt(acceptance.payment.id, acceptance.change, new_id())
            if acceptance
            else describe_attempt(None, _NO_CHANGE, new_id())
        ),
        **{f"new_{name}": value for name, value in values.items()},
    )
    if completion is None:
        raise AssertionError("a locked open order can always be completed")
    return completion
