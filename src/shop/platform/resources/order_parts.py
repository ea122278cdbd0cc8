"""Platform resources of the parts of an order: line items, shipments, shipping rates, payments, refunds."""

from shop.actions.orders import part_resources
from shop.jsonapi.resource import computed, many, money, one, one_of, resource
from shop.models.cart.record_inputs import LineItemInput
from shop.models.checkout.record_inputs import ShipmentInput
from shop.platform.collection import Collection, kinds
from shop.queries.orders.records import PlatformPayment, PlatformRefund, PlatformShipment

_STAMPS = ("created_at", "updated_at")
_METADATA = ("public_metadata", "private_metadata")
_SUMS = ("promo_total", "adjustment_total", "additional_tax_total", "included_tax_total", "pre_tax_amount")

LINE_ITEM = resource(
    "line_item",
    part_resources.PlatformLineItem,
    attributes=[
        "name",
        "sku",
        "options_text",
        "quantity",
        "currency",
        "quoted_at",
        money("price"),
        money("compare_at_price"),
        money("amount"),
        money("discounted_amount"),
        money("total"),
        money("subtotal", "amount"),
        money("final_amount", "total"),
        money("cost_price"),
        # A discount on a line item reduces its taxes.
        money("taxable_adjustment_total", "promo_total"),
        money("non_taxable_adjustment_total", lambda _line: 0),
        *map(money, _SUMS),
        *_STAMPS,
        *_METADATA,
    ],
    relations=[
        one("order", "order"),
        one("variant", "variant"),
        one("tax_category", "tax_category"),
        many("adjustments", "adjustment"),
        many("inventory_units", "inventory_unit"),
    ],
)
LINE_ITEMS = Collection(
    path="line_items",
    access="orders",
    resource=LINE_ITEM,
    actions=part_resources.LINE_ITEM,
    writable=kinds(LineItemInput),
    required=("order_id", "variant_id"),
    create_only=("order_id", "variant_id"),
    filters=("order_id", "variant_id", "tax_category_id", "quantity", "price", "cost_price", *_SUMS),
    codes={
        409: ("payment_in_progress",),
        422: ("out_of_stock", "not_purchasable", "no_price_in_currency", "quantity_not_positive"),
    },
)
SHIPMENT = resource(
    "shipment",
    PlatformShipment,
    attributes=[
        "number",
        "state",
        "currency",
        "tracking",
        computed("tracking_url", lambda shipment, _context: shipment.tracking_url, str | None),
        "shipped_at",
        "delivered_at",
        money("cost"),
        money("amount", "cost"),
        money("discounted_cost"),
        money("item_cost"),
        money("final_price"),
        money("final_price_with_items"),
        *map(money, _SUMS),
        *_STAMPS,
        *_METADATA,
    ],
    relations=[
        one("order", "order"),
        one("stock_location", "stock_location"),
        one("address", "address"),
        one("selected_shipping_rate", "shipping_rate"),
        many("shipping_rates", "shipping_rate"),
        many("inventory_units", "inventory_unit"),
        many("line_items", "line_item"),
        many("adjustments", "adjustment"),
    ],
)
SHIPMENTS = Collection(
    path="shipments",
    access="orders",
    resource=SHIPMENT,
    actions=part_resources.SHIPMENT,
    writable=kinds(ShipmentInput),
    required=("order_id", "stock_location_id", "variant_id"),
    create_only=("order_id", "stock_location_id", "variant_id", "quantity"),
    filters=("number", "state", "order_id", "stock_location_id", "shipped_at", "delivered_at", "tracking"),
    sorts=("number", "shipped_at", "state"),
    find_by=("id", "number"),
    codes={
        409: ("payment_in_progress",),
        422: (
            "order_not_found",
            "variant_not_found",
            "stock_location_not_found",
            "shipment_not_found",
            "out_of_stock",
            "address_missing",
            "no_shipping_rate",
            "illegal_transition",
        ),
    },
)
SHIPPING_RATE = resource(
    "shipping_rate",
    part_resources.PlatformShippingRate,
    attributes=[
        "name",
        "currency",
        money("cost"),
        money("tax_amount"),
        computed("selected", lambda rate, _context: rate.is_selected, bool),
        "created_at",
    ],
    relations=[one("order", "order"), one("shipment", "shipment"), one("shipping_method", "shipping_method")],
)
SHIPPING_RATES = Collection(
    path="shipping_rates",
    access="orders",
    resource=SHIPPING_RATE,
    actions=part_resources.SHIPPING_RATE,
    filters=("shipment_id", "shipping_method_id", "order_id"),
)
PAYMENT = resource(
    "payment",
    PlatformPayment,
    attributes=[
        "number",
        "state",
        "currency",
        "response_code",
        # No provider reports an address check.
        computed("avs_response", lambda _payment, _context: None, str | None),
        "source_type",
        money("amount"),
        money("captured_amount"),
        money("refunded_amount"),
        *_STAMPS,
        *_METADATA,
    ],
    relations=[
        one("order", "order"),
        one("payment_method", "payment_method"),
        one_of("source", "credit_card", "store_credit"),
        many("refunds", "refund"),
        many("state_changes", "state_change"),
        many("capture_events", "capture_event"),
    ],
)
PAYMENTS = Collection(
    path="payments",
    access="orders",
    resource=PAYMENT,
    actions=part_resources.PAYMENT,
    filters=("number", "state", "amount", "order_id", "payment_method_id", "response_code"),
    sorts=("number", "amount", "state"),
    find_by=("id", "number"),
)
REFUND = resource(
    "refund",
    PlatformRefund,
    attributes=["reason", "state", "reference", "currency", money("amount"), *_STAMPS],
    relations=[one("order", "order"), one("payment", "payment")],
)
REFUNDS = Collection(
    path="refunds",
    access="orders",
    resource=REFUND,
    actions=part_resources.REFUND,
    filters=("order_id", "payment_id", "state", "amount"),
)
