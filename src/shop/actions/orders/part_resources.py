"""Resources that belong to an order: line items, shipments, payments, refunds."""

from uuid import UUID

from shop.actions.orders import line_items as order_lines
from shop.actions.orders import removals as order_removals
from shop.actions.orders import shipments as shipment_actions
from shop.actions.records import ResourceActions
from shop.models.cart.orders import CartLine, line_items
from shop.models.checkout.payments import (
    Payment,
    PaymentAttempt,
    PaymentSource,
    Refund,
    payment_attempts,
    payment_sources,
    payments,
    refunds,
)
from shop.models.checkout.shipments import (
    Shipment,
    ShipmentItem,
    ShippingRate,
    shipment_items,
    shipments,
    shipping_rates,
)
from shop.queries.cart.order_columns import (
    COST_PRICE,
    IS_CAPTURE,
    IS_PENDING,
    ITEM_COST,
    SELECTED_RATE,
    SHIP_ADDRESS,
    SOURCE_CREDIT,
    SOURCE_TYPE,
    TRACKING_TEMPLATE,
    UNIT_STATE,
)
from shop.queries.records import Records
from shop.queries.setup.methods import currency_of
from shop.rules.setup.shipping import tracking_address


class PlatformLineItem(CartLine, frozen=True, kw_only=True):
    """A line item with the unit's cost price."""

    cost_price: int | None


class InventoryUnit(ShipmentItem, frozen=True, kw_only=True):
    """A shipment item with its state, and whether its order is still open."""

    state: str
    pending: bool


class PlatformShipment(Shipment, frozen=True, kw_only=True):
    """A shipment with fields of its order, its selected rate, and the cost of its items."""

    currency: str
    selected_shipping_rate_id: UUID | None
    address_id: UUID | None
    tracking_template: str | None
    item_cost: int

    @property
    def discounted_cost(self) -> int:
        return self.cost + self.promo_total

    @property
    def final_price(self) -> int:
        return self.cost + self.adjustment_total

    @property
    def final_price_with_items(self) -> int:
        return self.item_cost + self.final_price

    @property
    def tracking_url(self) -> str | None:
        return tracking_address(self.tracking_template, self.tracking)


class PlatformShippingRate(ShippingRate, frozen=True, kw_only=True):
    """A shipping rate with the currency of its order."""

    currency: str


class PlatformPayment(Payment, frozen=True, kw_only=True):
    """A payment with the currency of its order, and its source."""

    currency: str
    source_type: str | None
    store_credit_id: UUID | None


class CaptureEvent(PaymentAttempt, frozen=True, kw_only=True):
    """A capture attempt with the currency of its order."""

    currency: str


class PlatformRefund(Refund, frozen=True, kw_only=True):
    """A refund with the currency of its order."""

    currency: str


_SUMS = ("promo_total", "adjustment_total", "additional_tax_total", "included_tax_total", "pre_tax_amount")


LINE_ITEM = ResourceActions(
    "line_item",
    Records(
        table=line_items,
        row=PlatformLineItem,
        extras={"currency": currency_of(line_items), "cost_price": COST_PRICE},
        amounts=frozenset({"price", "compare_at_price", "cost_price", *_SUMS}),
    ),
    order_lines.create_line,
    order_lines.update_line,
    order_lines.delete_line,
    order_lines.lock_order_of_line,
)


SHIPMENT = ResourceActions(
    "shipment",
    Records(
        table=shipments,
        row=PlatformShipment,
        extras={
            "currency": currency_of(shipments),
            "selected_shipping_rate_id": SELECTED_RATE,
            "address_id": SHIP_ADDRESS,
            "tracking_template": TRACKING_TEMPLATE,
            "item_cost": ITEM_COST,
        },
        amounts=frozenset({"cost", *_SUMS}),
    ),
    shipment_actions.create_shipment,
    shipment_actions.update_shipment,
    order_removals.delete_shipment,
    shipment_actions.lock_order_of_shipment,
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
    Records(
        table=payments,
        row=PlatformPayment,
        extras={"currency": currency_of(payments), "source_type": SOURCE_TYPE, "store_credit_id": SOURCE_CREDIT},
        amounts=frozenset({"amount", "captured_amount", "refunded_amount"}),
    ),
    delete=order_removals.delete_payment,
    lock_parent=order_removals.lock_order_of_payment,
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
    Records(
        table=refunds, row=PlatformRefund, extras={"currency": currency_of(refunds)}, amounts=frozenset({"amount"})
    ),
)
