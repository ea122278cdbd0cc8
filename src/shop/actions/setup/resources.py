"""Resources of the shop setup: zones, taxes, shipping and payment methods."""

from uuid import UUID

from shop.actions.records import ResourceActions, default_actions
from shop.actions.setup.payment_methods import create_payment_method, delete_payment_method, update_payment_method
from shop.actions.setup.shipping import (
    create_shipping_method,
    delete_shipping_category,
    delete_shipping_method,
    present_amounts,
    update_shipping_method,
)
from shop.actions.setup.taxes import (
    create_tax_category,
    create_tax_rate,
    delete_tax_rate,
    update_tax_category,
    update_tax_rate,
)
from shop.actions.setup.zones import create_zone, delete_zone, update_zone
from shop.models.checkout.payments import (
    PaymentMethod,
    payment_methods,
)
from shop.models.checkout.shipments import (
    ShippingMethod,
    shipping_methods,
)
from shop.models.setup.taxes import ShippingCategory, TaxCategory, shipping_categories, tax_categories
from shop.models.setup.zones import TaxRate, ZoneMember, tax_rates, zone_members
from shop.queries.records import Records
from shop.queries.setup.methods import AMOUNTS
from shop.queries.setup.records import ZONES


class PricedMethod(ShippingMethod, frozen=True, kw_only=True):
    """A shipping method with its amounts: currency, minimum weight, minor units. The calculator has the method's id."""

    amounts: list[list[str | float]]
    calculator_id: UUID


_tax_records = Records(table=tax_categories, row=TaxCategory)


TAX_CATEGORY = ResourceActions(
    "tax_category",
    _tax_records,
    create_tax_category,
    update_tax_category,
    default_actions(_tax_records)["delete"],
)


ZONE = ResourceActions(
    "zone",
    ZONES,
    create_zone,
    update_zone,
    delete_zone,
)


TAX_RATE = ResourceActions(
    "tax_rate",
    Records(table=tax_rates, row=TaxRate),
    create_tax_rate,
    update_tax_rate,
    delete_tax_rate,
)


_category_records = Records(table=shipping_categories, row=ShippingCategory)


_category_actions = default_actions(_category_records)


SHIPPING_CATEGORY = ResourceActions(
    "shipping_category",
    _category_records,
    _category_actions["create"],
    _category_actions["update"],
    delete_shipping_category,
)


SHIPPING_METHOD = ResourceActions(
    "shipping_method",
    Records(
        table=shipping_methods,
        row=PricedMethod,
        extras={"amounts": AMOUNTS, "calculator_id": shipping_methods.c.id},
        shown=shipping_methods.c.deleted_at.is_(None),
    ),
    create_shipping_method,
    update_shipping_method,
    delete_shipping_method,
    present=present_amounts,
)


PAYMENT_METHOD = ResourceActions(
    "payment_method",
    Records(table=payment_methods, row=PaymentMethod, shown=payment_methods.c.deleted_at.is_(None)),
    create_payment_method,
    update_payment_method,
    delete_payment_method,
)


ZONE_MEMBER = ResourceActions("zone_member", Records(table=zone_members, row=ZoneMember))


CALCULATOR = ResourceActions(
    "calculator",
    Records(
        table=shipping_methods,
        row=PricedMethod,
        extras={"amounts": AMOUNTS, "calculator_id": shipping_methods.c.id},
    ),
)
