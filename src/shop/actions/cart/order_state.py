"""An order with its parts: lines, shipments with their rates, payments."""

from collections.abc import Sequence
from typing import Any

import msgspec

from shop.actions.context import Context
from shop.models.cart.orders import CartLine, Order, orders
from shop.models.checkout.payments import STORE_CREDIT_METHOD, Payment
from shop.models.checkout.shipments import Shipment, ShipmentItem, ShippingRate
from shop.queries import writes
from shop.queries.cart import line_items as line_queries
from shop.queries.checkout import shipments as fulfilment
from shop.queries.payments import payments as payment_queries
from shop.rules.cart.line_items import CartWarning
from shop.rules.checkout.payments import Balance, Paid, balance_of, is_valid
from shop.rules.checkout.steps import Facts


class Checkout(msgspec.Struct, frozen=True):
    """An order with all that its steps look at."""

    order: Order
    lines: Sequence[CartLine]
    shipments: Sequence[Shipment] = ()
    items: Sequence[ShipmentItem] = ()
    rates: Sequence[ShippingRate] = ()
    payments: Sequence[Payment] = ()
    warnings: Sequence[CartWarning] = ()
    """What the caller should know of the change that was made."""

    @property
    def covered(self) -> int:
        """What the chosen payments will come to: credit as far as it goes, and any other way pays the rest."""
        counted = [payment for payment in self.payments if is_valid(paid(payment))]
        if any(not is_credit(payment) for payment in counted):
            return self.order.total
        return sum(payment.amount for payment in counted)

    @property
    def balance(self) -> Balance:
        """What was paid of a completed order, and what is still due."""
        payments = [paid(payment) for payment in self.payments]
        return balance_of(payments, self.order.total, is_canceled=self.order.canceled_at is not None)

    @property
    def facts(self) -> Facts:
        order = self.order
        rated = {rate.shipment_id for rate in self.rates if rate.is_selected}
        return Facts(
            state=order.state,
            item_count=order.item_count,
            total=order.total,
            email=order.email,
            has_bill_address=order.bill_address_id is not None,
            has_ship_address=order.ship_address_id is not None,
            parcels=len(self.shipments),
            unrated=sum(shipment.id not in rated for shipment in self.shipments),
            covered=self.covered,
            unpriced=sum(line.price is None for line in self.lines),
        )


def is_credit(payment: Payment) -> bool:
    """Whether it is paid with what the shop owes the customer."""
    return payment.payment_method_id == STORE_CREDIT_METHOD


def paid(payment: Payment) -> Paid:
    return Paid(payment.state, payment.amount, payment.captured_amount, payment.refunded_amount)


async def read(ctx: Context, order: Order) -> Checkout:
    """Whatever of it there is: as many statements for one line as for a hundred."""
    lines = await line_queries.list_lines(ctx.db, order.id) if order.item_count else []
    if order.state == "cart":
        return Checkout(order, lines)
    return Checkout(
        order,
        lines,
        await fulfilment.list_shipments(ctx.db, order.id),
        await fulfilment.list_items(ctx.db, order.id),
        await fulfilment.list_shipping_rates(ctx.db, order.id),
        await payment_queries.list_payments(ctx.db, order.id),
    )


async def read_all(ctx: Context, orders: Sequence[Order]) -> list[Checkout]:
    """Several at once, with as many statements as for one."""
    ids = [order.id for order in orders]
    if not ids:
        return []
    parts: tuple[Sequence[Any], ...] = (
        await line_queries.list_lines_of(ctx.db, ids),
        await fulfilment.list_shipments(ctx.db, *ids),
        await fulfilment.list_items(ctx.db, *ids),
        await fulfilment.list_shipping_rates(ctx.db, *ids),
        await payment_queries.list_payments(ctx.db, *ids),
    )
    return [
        Checkout(order, *([part for part in found if part.order_id == order.id] for found in parts)) for order in orders
    ]


async def change_order(ctx: Context, order: Order, **values: Any) -> Order:
    if not values:
        return order
    await writes.update_record(ctx.db, orders, order.id, values)
    return msgspec.structs.replace(order, **values)
