"""The kinds of records by which a shop is set up to sell, and those that its sales leave."""

from typing import Any

from shop.actions import order_lines, parcels, sending
from shop.actions.records import Noun, plain
from shop.models.fulfilment import Shipment, ShippingMethod, ShippingRate, shipments, shipping_methods, shipping_rates
from shop.models.orders import CartLine, line_items
from shop.models.payments import Payment, PaymentMethod, Refund, payment_methods, payments, refunds
from shop.models.taxes import ShippingCategory, TaxCategory, shipping_categories, tax_categories
from shop.models.zones import TaxRate, Zone, tax_rates, zones
from shop.queries.records import Records
from shop.queries.setups import AMOUNTS, MEMBERS, currency_of


class CountedZone(Zone, frozen=True, kw_only=True):
    """With how many members it has."""

    zone_members_count: int


class PricedMethod(ShippingMethod, frozen=True, kw_only=True):
    """With what it costs: currency, from which weight on, minor units."""

    amounts: list[Any]


class OrdersShipment(Shipment, frozen=True, kw_only=True):
    """With the currency of its order."""

    currency: str


class OrdersRate(ShippingRate, frozen=True, kw_only=True):
    """With the currency of its order."""

    currency: str


class OrdersPayment(Payment, frozen=True, kw_only=True):
    """With the currency of its order."""

    currency: str


class OrdersRefund(Refund, frozen=True, kw_only=True):
    """With the currency of its order."""

    currency: str


_tax_records = Records(table=tax_categories, row=TaxCategory)
TAX_CATEGORY = Noun("tax_category", _tax_records, **plain(_tax_records))
ZONE = Noun(
    "zone",
    Records(table=zones, row=CountedZone, extras={"zone_members_count": MEMBERS}),
    sending.create_zone,
    sending.update_zone,
    sending.delete_zone,
)
TAX_RATE = Noun(
    "tax_rate",
    Records(table=tax_rates, row=TaxRate),
    sending.create_tax_rate,
    sending.update_tax_rate,
    sending.delete_tax_rate,
)
_category_records = Records(table=shipping_categories, row=ShippingCategory)
SHIPPING_CATEGORY = Noun(
    "shipping_category",
    _category_records,
    **{**plain(_category_records), "delete": sending.delete_shipping_category},
)
SHIPPING_METHOD = Noun(
    "shipping_method",
    Records(
        table=shipping_methods,
        row=PricedMethod,
        extras={"amounts": AMOUNTS},
        shown=shipping_methods.c.deleted_at.is_(None),
    ),
    sending.create_shipping_method,
    sending.update_shipping_method,
    sending.delete_shipping_method,
)
PAYMENT_METHOD = Noun(
    "payment_method",
    Records(table=payment_methods, row=PaymentMethod, shown=payment_methods.c.deleted_at.is_(None)),
    sending.create_payment_method,
    sending.update_payment_method,
    sending.delete_payment_method,
)
_SUMS = ("promo_total", "adjustment_total", "additional_tax_total", "included_tax_total", "pre_tax_amount")
LINE_ITEM = Noun(
    "line_item",
    Records(
        table=line_items,
        row=CartLine,
        extras={"currency": currency_of(line_items)},
        amounts=frozenset({"price", "compare_at_price", *_SUMS}),
    ),
    order_lines.create_line,
    order_lines.update_line,
    order_lines.delete_line,
    order_lines.hold_order,
)
SHIPMENT = Noun(
    "shipment",
    Records(
        table=shipments,
        row=OrdersShipment,
        extras={"currency": currency_of(shipments)},
        amounts=frozenset({"cost", *_SUMS}),
    ),
    parcels.create_shipment,
    parcels.update_shipment,
    hold=parcels.hold_order,
)
SHIPPING_RATE = Noun(
    "shipping_rate",
    Records(
        table=shipping_rates,
        row=OrdersRate,
        extras={"currency": currency_of(shipping_rates)},
        amounts=frozenset({"cost", "tax_amount"}),
    ),
)
PAYMENT = Noun(
    "payment",
    Records(
        table=payments,
        row=OrdersPayment,
        extras={"currency": currency_of(payments)},
        amounts=frozenset({"amount", "captured_amount", "refunded_amount"}),
    ),
)
REFUND = Noun(
    "refund",
    Records(table=refunds, row=OrdersRefund, extras={"currency": currency_of(refunds)}, amounts=frozenset({"amount"})),
)
