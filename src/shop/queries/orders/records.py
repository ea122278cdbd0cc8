"""Orders, shipments, payments and refunds as the Platform API and the event log read them."""

from uuid import UUID

from shop.models.cart.orders import PlatformOrder, order_lookups, orders
from shop.models.checkout.payments import Payment, Refund, payments, refunds
from shop.models.checkout.shipments import Shipment, shipments
from shop.queries.cart.order_columns import (
    ITEM_COST,
    SELECTED_RATE,
    SHIP_ADDRESS,
    SOURCE_CREDIT,
    SOURCE_TYPE,
    TRACKING_TEMPLATE,
)
from shop.queries.checkout.store_credit import CREDIT_LEFT
from shop.queries.lookups import Lookup
from shop.queries.payments.payments import REFUNDED_AMOUNT
from shop.queries.records import Records
from shop.queries.setup.methods import currency_of
from shop.rules.setup.shipping import tracking_address

ORDER_AMOUNTS = (
    "item_total",
    "total",
    "adjustment_total",
    "payment_total",
    "additional_tax_total",
    "included_tax_total",
    "promo_total",
    "ship_total",
    "pre_tax_item_amount",
    "pre_tax_total",
)
PART_SUMS = ("promo_total", "adjustment_total", "additional_tax_total", "included_tax_total", "pre_tax_amount")
"""The sums of a line item or shipment."""


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


class PlatformPayment(Payment, frozen=True, kw_only=True):
    """A payment with the currency of its order, and its source."""

    currency: str
    source_type: str | None
    store_credit_id: UUID | None


class PlatformRefund(Refund, frozen=True, kw_only=True):
    """A refund with the currency of its order."""

    currency: str


ORDERS = Records(
    table=orders,
    row=PlatformOrder,
    extras={"credit_left": CREDIT_LEFT, "refunded": REFUNDED_AMOUNT},
    amounts=frozenset(ORDER_AMOUNTS),
    lookups={
        name: Lookup(order_lookups.c.order_id, order_lookups.c[name])
        for name in ("email", "payment_state", "shipment_state")
    },
    hour="updated_hour",
)
SHIPMENTS = Records(
    table=shipments,
    row=PlatformShipment,
    extras={
        "currency": currency_of(shipments),
        "selected_shipping_rate_id": SELECTED_RATE,
        "address_id": SHIP_ADDRESS,
        "tracking_template": TRACKING_TEMPLATE,
        "item_cost": ITEM_COST,
    },
    amounts=frozenset({"cost", *PART_SUMS}),
)
PAYMENTS = Records(
    table=payments,
    row=PlatformPayment,
    extras={"currency": currency_of(payments), "source_type": SOURCE_TYPE, "store_credit_id": SOURCE_CREDIT},
    amounts=frozenset({"amount", "captured_amount", "refunded_amount"}),
)
REFUNDS = Records(
    table=refunds, row=PlatformRefund, extras={"currency": currency_of(refunds)}, amounts=frozenset({"amount"})
)
