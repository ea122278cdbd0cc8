"""Resources that belong to an order: line items, shipments, payments, refunds."""

from shop.actions.orders import line_items as order_lines
from shop.actions.orders import removals as order_removals
from shop.actions.orders import shipments as shipment_actions
from shop.actions.records import ResourceActions
from shop.models.cart.orders import CartLine, line_items
from shop.models.checkout.payments import (
    PaymentAttempt,
    PaymentSource,
    payment_attempts,
    payment_sources,
)
from shop.models.checkout.shipments import (
    ShipmentItem,
    ShippingRate,
    shipment_items,
    shipping_rates,
)
from shop.queries.cart.order_columns import (
    COST_PRICE,
    IS_CAPTURE,
    IS_PENDING,
    UNIT_STATE,
)
from shop.queries.orders.records import PART_SUMS, PAYMENTS, REFUNDS, SHIPMENTS
from shop.queries.records import Records
from shop.queries.setup.methods import currency_of


class PlatformLineItem(CartLine, frozen=True, kw_only=True):
    """A line item with the unit's cost price."""

    cost_price: int | None


class InventoryUnit(ShipmentItem, frozen=True, kw_only=True):
    """A shipment item with its state, and whether its order is still open."""

    state: str
    pending: bool


class PlatformShippingRate(ShippingRate, frozen=True, kw_only=True):
    """A shipping rate with the currency of its order."""

    currency: str


class CaptureEvent(PaymentAttempt, frozen=True, kw_only=True):
    """A capture attempt with the currency of its order."""

    currency: str


LINE_ITEM = ResourceActions(
    "line_item",
    Records(
        table=line_items,
        row=PlatformLineItem,
        extras={"currency": currency_of(line_items), "cost_price": COST_PRICE},
        amounts=frozenset({"price", "compare_at_price", "cost_price", *PART_SUMS}),
    ),
    order_lines.create_line,
    order_lines.update_line,
    order_lines.delete_line,
    order_lines.lock_order_of_line,
    has_events=False,
)


SHIPMENT = ResourceActions(
    "shipment",
    SHIPMENTS,
    shipment_actions.create_shipment,
    shipment_actions.update_shipment,
    order_removals.delete_shipment,
    shipment_actions.lock_order_of_shipment,
    has_events=False,
)


SHIPPING_RATE = ResourceActions(
    "shipping_rate",
    Records(
        table=shipping_rates,
        row=PlatformShippingRate,
        extras={"currency": currency_of(shipping_rates)},
        amounts=frozenset({"cost", "tax_amount"}),
    ),
)


PAYMENT = ResourceActions(
    "payment",
    PAYMENTS,
    delete=order_removals.delete_payment,
    lock_parent=order_removals.lock_order_of_payment,
    has_events=False,
)


CREDIT_CARD = ResourceActions("credit_card", Records(table=payment_sources, row=PaymentSource))


CAPTURE_EVENT = ResourceActions(
    "capture_event",
    Records(
        table=payment_attempts,
        row=CaptureEvent,
        extras={"currency": currency_of(payment_attempts)},
        amounts=frozenset({"amount"}),
        shown=IS_CAPTURE,
    ),
)


INVENTORY_UNIT = ResourceActions(
    "inventory_unit",
    Records(table=shipment_items, row=InventoryUnit, extras={"state": UNIT_STATE, "pending": IS_PENDING}),
)


REFUND = ResourceActions(
    "refund",
    REFUNDS,
)
