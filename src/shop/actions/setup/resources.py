"""Resources of the shop setup: zones, taxes, shipping and payment methods."""

from typing import Any
from uuid import UUID

from shop.actions.records import Noun, plain
from shop.actions.setup import shipping_tax_payment
from shop.models.checkout.payments import (
    PaymentMethod,
    payment_methods,
)
from shop.models.checkout.shipments import (
    ShippingMethod,
    shipping_methods,
)
from shop.models.setup.taxes import ShippingCategory, TaxCategory, shipping_categories, tax_categories
from shop.models.setup.zones import TaxRate, Zone, ZoneMember, tax_rates, zone_members, zones
from shop.queries.records import Records
from shop.queries.setup.methods import AMOUNTS, MEMBERS


class CountedZone(Zone, frozen=True, kw_only=True):
    """With how many members it has."""

    zone_members_count: int


class PricedMethod(ShippingMethod, frozen=True, kw_only=True):
    """With what it costs: currency, from which weight on, minor units. Its calculator goes by its own id."""

    amounts: list[Any]
    calculator_id: UUID


_tax_records = Records(table=tax_categories, row=TaxCategory)


TAX_CATEGORY = Noun("tax_category", _tax_records, **plain(_tax_records))


ZONE = Noun(
    "zone",
    Records(table=zones, row=CountedZone, extras={"zone_members_count": MEMBERS}),
    shipping_tax_payment.create_zone,
    shipping_tax_payment.update_zone,
    shipping_tax_payment.delete_zone,
)


TAX_RATE = Noun(
    "tax_rate",
    Records(table=tax_rates, row=TaxRate),
    shipping_tax_payment.create_tax_rate,
    shipping_tax_payment.update_tax_rate,
    shipping_tax_payment.delete_tax_rate,
)


_category_records = Records(table=shipping_categories, row=ShippingCategory)


SHIPPING_CATEGORY = Noun(
    "shipping_category",
    _category_records,
    **{**plain(_category_records), "delete": shipping_tax_payment.delete_shipping_category},
)


SHIPPING_METHOD = Noun(
    "shipping_method",
    Records(
        table=shipping_methods,
        row=PricedMethod,
        extras={"amounts": AMOUNTS, "calculator_id": shipping_methods.c.id},
        shown=shipping_methods.c.deleted_at.is_(None),
    ),
    shipping_tax_payment.create_shipping_method,
    shipping_tax_payment.update_shipping_method,
    shipping_tax_payment.delete_shipping_method,
)


PAYMENT_METHOD = Noun(
    "payment_method",
    Records(table=payment_methods, row=PaymentMethod, shown=payment_methods.c.deleted_at.is_(None)),
    shipping_tax_payment.create_payment_method,
    shipping_tax_payment.update_payment_method,
    shipping_tax_payment.delete_payment_method,
)


ZONE_MEMBER = Noun("zone_member", Records(table=zone_members, row=ZoneMember))


CALCULATOR = Noun(
    "calculator",
    Records(
        table=shipping_methods,
        row=PricedMethod,
        extras={"amounts": AMOUNTS, "calculator_id": shipping_methods.c.id},
    ),
)
