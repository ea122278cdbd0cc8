"""Creates the zones, taxes, shipping methods and payment methods of the demo shop."""

from collections.abc import Mapping
from decimal import Decimal
from uuid import UUID

from shop.actions.context import Context
from shop.actions.setup.payment_methods import create_payment_method
from shop.actions.setup.shipping import create_shipping_method
from shop.actions.setup.taxes import create_tax_rate
from shop.actions.setup.zones import create_zone
from shop.base.ids import new_id
from shop.gateways.test_card import SOURCES
from shop.models.setup.inputs import PaymentMethodInput, ShippingMethodInput, TaxRateInput
from shop.models.setup.taxes import tax_categories
from shop.queries import writes
from shop.queries.customers import users

ZONES: Mapping[str, tuple[str, ...]] = {
    "North America": ("US", "CA", "MX"),
    "Europe": ("AT", "BE", "CH", "CZ", "DE", "DK", "ES", "FI", "FR", "GB", "IE", "IT", "NL", "NO", "PL", "PT", "SE"),
    "Japan": ("JP",),
}
TAXES: Mapping[str, TaxRateInput] = {
    "North America": {"name": "Sales tax", "amount": Decimal("0.07"), "included_in_price": False},
    "Europe": {"name": "VAT", "amount": Decimal("0.2"), "included_in_price": True},
    "Japan": {"name": "Consumption tax", "amount": Decimal("0.1"), "included_in_price": True},
}
"""The tax rate of each zone."""
METHODS: tuple[ShippingMethodInput, ...] = (
    {
        "name": "Post",
        "code": "post",
        "amounts": {"USD": "4.90", "EUR": "4.50", "GBP": "3.90", "JPY": "600"},
    },
    {
        "name": "Courier",
        "code": "courier",
        "calculator": "by_weight",
        "amounts": {
            currency: {"0": light, "2": heavy}
            for currency, (light, heavy) in {
                "USD": ("12.00", "19.00"),
                "EUR": ("11.00", "17.50"),
                "GBP": ("9.50", "15.00"),
                "JPY": ("1500", "2400"),
            }.items()
        },
    },
)
PAYMENTS: tuple[PaymentMethodInput, ...] = (
    {
        "name": "Test card",
        "type": "test_card",
        "description": f"Does what gateway_payment_profile_id says: {', '.join(SOURCES)}.",
        "position": 0,
    },
    {
        "name": "Bank transfer",
        "type": "check",
        "description": "We ship the order when we receive your payment.",
        "auto_capture": False,
        "position": 1,
    },
)


async def create_checkout_setup(ctx: Context) -> None:
    category_id = new_id()
    fields = {"name": "Goods", "description": "All products of the shop", "is_default": True}
    await writes.insert_record(ctx.db, tax_categories, category_id, fields)
    zones = {name: await _zone(ctx, name, codes) for name, codes in ZONES.items()}
    for zone, tax in TAXES.items():
        tax_rate: TaxRateInput = {**tax, "zone_id": zones[zone], "tax_category_id": category_id}
        await create_tax_rate(ctx, tax_rate)
    for method in METHODS:
        await create_shipping_method(ctx, {**method, "zone_ids": list(zones.values())})
    for payment in PAYMENTS:
        if not ctx.can_pay_with(payment["type"]):
            continue  # The test card works only in a try-out.
        await create_payment_method(ctx, payment)


async def _zone(ctx: Context, name: str, codes: tuple[str, ...]) -> UUID:
    countries = [await users.find_country(ctx.db, code=code, country_id=None) for code in codes]
    members = [country.id for country in countries if country]
    return await create_zone(ctx, {"name": name, "country_ids": members})
