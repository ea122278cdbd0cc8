"""Platform resources of shipping, taxes and payment methods: categories, zones, rates, methods."""

from typing import Any

from shop.actions.setup import resources as setup_resources
from shop.jsonapi.resource import computed, many, one, resource
from shop.models.checkout.payments import PaymentMethod
from shop.models.setup.inputs import PaymentMethodInput, ShippingMethodInput, TaxRateInput, ZoneInput
from shop.models.setup.taxes import ShippingCategory, TaxCategory
from shop.models.setup.zones import TaxRate
from shop.platform.collection import Collection, kinds
from shop.platform.resources.catalog import decimal_text
from shop.platform.resources.related import method_amounts
from shop.queries.setup.records import CountedZone
from shop.rules.promotions import spree_types

_STAMPS = ("created_at", "updated_at")
_METADATA = ("public_metadata", "private_metadata")

TAX_CATEGORY = resource(
    "tax_category",
    TaxCategory,
    attributes=["name", "description", "tax_code", "is_default", *_STAMPS],
    relations=[many("tax_rates", "tax_rate")],
)
TAX_CATEGORIES = Collection(
    path="tax_categories",
    access="settings",
    resource=TAX_CATEGORY,
    actions=setup_resources.TAX_CATEGORY,
    writable=kinds(TaxCategory, "name", "description", "tax_code", "is_default"),
    required=("name",),
    filters=("name", "tax_code", "is_default"),
)
ZONE = resource(
    "zone",
    CountedZone,
    attributes=["name", "description", "kind", "default_tax", "zone_members_count", *_STAMPS],
    relations=[
        many("countries", "country"),
        many("states", "state"),
        many("tax_rates", "tax_rate"),
        many("zone_members", "zone_member"),
    ],
)
ZONES = Collection(
    path="zones",
    access="settings",
    resource=ZONE,
    actions=setup_resources.ZONE,
    writable=kinds(ZoneInput),
    required=("name",),
    filters=("name", "description", "kind", "default_tax"),
)
TAX_RATE = resource(
    "tax_rate",
    TaxRate,
    attributes=["name", decimal_text("amount"), "included_in_price", "show_rate_in_label", *_STAMPS, *_METADATA],
    relations=[one("zone", "zone"), one("tax_category", "tax_category")],
)
TAX_RATES = Collection(
    path="tax_rates",
    access="settings",
    resource=TAX_RATE,
    actions=setup_resources.TAX_RATE,
    writable=kinds(TaxRateInput),
    required=("name", "amount", "zone_id", "tax_category_id"),
    filters=("name", "amount", "included_in_price", "zone_id", "tax_category_id"),
)
SHIPPING_CATEGORY = resource("shipping_category", ShippingCategory, attributes=["name", "description", *_STAMPS])
SHIPPING_CATEGORIES = Collection(
    path="shipping_categories",
    access="settings",
    resource=SHIPPING_CATEGORY,
    actions=setup_resources.SHIPPING_CATEGORY,
    writable=kinds(ShippingCategory, "name", "description"),
    required=("name",),
    filters=("name",),
)


SHIPPING_METHOD = resource(
    "shipping_method",
    setup_resources.PricedMethod,
    attributes=[
        "name",
        "admin_name",
        "code",
        "tracking_url",
        "display_on",
        # As in Spree, `calculator` is a relation, so the attribute needs another name.
        computed("calculator_type", lambda method, _context: method.calculator),
        computed("amounts", method_amounts, dict[str, Any]),
        *_STAMPS,
        "deleted_at",
        *_METADATA,
    ],
    relations=[
        many("zones", "zone"),
        many("shipping_categories", "shipping_category"),
        one("tax_category", "tax_category"),
        one("calculator", "calculator"),
        many("shipping_rates", "shipping_rate"),
    ],
)
SHIPPING_METHODS = Collection(
    path="shipping_methods",
    access="settings",
    resource=SHIPPING_METHOD,
    actions=setup_resources.SHIPPING_METHOD,
    # As in Spree, the calculator may be an object; `translate` replaces it by the other fields.
    writable=kinds(ShippingMethodInput) | {"calculator_attributes": dict[str, Any]},
    aliases={"calculator_type": "calculator"},
    translate=spree_types.translate_shipping_method,
    alone=("shipping_rates",),
    required=("name",),
    filters=("name", "code", "display_on"),
    filtered_as={"calculator_type": "calculator"},
)
PAYMENT_METHOD = resource(
    "payment_method",
    PaymentMethod,
    attributes=[
        "name",
        "type",
        "description",
        "active",
        "display_on",
        "auto_capture",
        "position",
        "preferences",
        *_STAMPS,
        "deleted_at",
        *_METADATA,
    ],
)
PAYMENT_METHODS = Collection(
    path="payment_methods",
    access="settings",
    resource=PAYMENT_METHOD,
    actions=setup_resources.PAYMENT_METHOD,
    writable=kinds(PaymentMethodInput),
    translate=spree_types.translate_payment_method,
    required=("name", "type"),
    create_only=("type",),
    filters=("name", "type", "active", "display_on", "position"),
    order="position",
)
