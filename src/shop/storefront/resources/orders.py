"""Cart and order resources."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from uuid import UUID

import msgspec

from shop.base.crypto.order_tokens import order_token
from shop.base.money import hundredths
from shop.base.record import Link
from shop.jsonapi.resource import Computed, RenderContext, computed, many, money, one, one_of, resource
from shop.models.cart.orders import CartLine, Order
from shop.models.catalog.stock import StockLocation
from shop.models.checkout.payments import CreditCard, Payment, PaymentMethod
from shop.models.checkout.shipments import Shipment, ShippingMethod, ShippingRate
from shop.models.checkout.store_credit import StoreCredit
from shop.storefront.resources.viewer import Viewer


def _token(order: Any, render_context: RenderContext) -> str | None:
    # Always sign with the current key, so that tokens stored by clients stay valid after key rotation.
    viewer: Viewer = render_context.props
    if viewer.is_list:
        return None  # A list of orders must not expose their tokens.
    claim = viewer.claim
    if claim.order_token and claim.cart_id == order.id and claim.token_version == order.token_version:
        return claim.order_token
    return order_token(viewer.keys, order.id, order.token_version)


def _nothing(_row: Any, _context: RenderContext) -> None:
    """Returns a Spree attribute that this shop does not support; always null."""


def _cents(name: str, field: str) -> Computed:
    """Returns an amount in cents. Discounts and store credit are positive, as in Spree."""
    return computed(name, lambda row, _context: hundredths(abs(getattr(row, field)), row.currency), int)


_ATTRIBUTES = (
    "number",
    "state",
    computed("token", _token, str | None),
    "email",
    "currency",
    "item_count",
    "special_instructions",
    "shipment_state",
    "payment_state",
    "created_at",
    "updated_at",
    "completed_at",
    money("item_total"),
    money("ship_total"),
    money("adjustment_total"),
    money("included_tax_total"),
    money("additional_tax_total"),
    money("tax_total"),
    money("promo_total"),
    money("pre_tax_item_amount"),
    money("pre_tax_total"),
    money("total"),
    money("total_minus_store_credits"),
    _cents("subtotal_cents", "item_total"),
    _cents("ship_total_cents", "ship_total"),
    _cents("store_credit_total_cents", "store_credit_total"),
    _cents("promo_total_cents", "promo_total"),
    _cents("tax_total_cents", "tax_total"),
    _cents("total_cents", "total"),
    _cents("total_minus_store_credits_cents", "total_minus_store_credits"),
    "public_metadata",
)
_RELATIONS = (
    many("line_items", "line_item"),
    many("variants", "variant"),
    many("promotions", "promotion"),
    many("payments", "payment"),
    many("shipments", "shipment"),
    one("user", "user"),
    one("billing_address", "address"),
    one("shipping_address", "address"),
    one("gift_card", "gift_card"),
)


class CartPromotion(msgspec.Struct, frozen=True):
    """A promotion with the discount it gives an order."""

    id: UUID
    name: str
    description: str | None
    code: str | None
    amount: int
    currency: str
    public_metadata: dict[str, Any] = {}


PROMOTION = resource(
    "promotion", CartPromotion, attributes=["name", "description", "code", money("amount"), "public_metadata"]
)


class GiftCard(msgspec.Struct, frozen=True):
    """Spree's gift card relation; always null in this shop."""

    id: UUID


GIFT_CARD = resource("gift_card", GiftCard, attributes=[])
CART = resource("cart", Order, attributes=_ATTRIBUTES, relations=_RELATIONS)
ORDER = resource("order", Order, attributes=_ATTRIBUTES, relations=_RELATIONS)
"""A completed order in the account; the same fields as a cart under another type."""

LINE_ITEM = resource(
    "line_item",
    CartLine,
    attributes=[
        "name",
        "quantity",
        "slug",
        "options_text",
        "currency",
        money("price"),
        money("compare_at_price"),
        money("compare_at_amount"),
        money("amount"),
        money("total"),
        money("adjustment_total"),
        money("additional_tax_total"),
        money("discounted_amount"),
        money("promo_total"),
        money("included_tax_total"),
        money("pre_tax_amount"),
        "quoted_at",
        "public_metadata",
    ],
    relations=[one("variant", "variant")],
)


class ShipmentRecord(Shipment, frozen=True, kw_only=True):
    """A shipment with its order's currency."""

    currency: str
    tracking_url: str | None = None

    @property
    def final_price(self) -> int:
        return self.cost + self.adjustment_total


class ShippingRateRecord(ShippingRate, frozen=True, kw_only=True):
    """A shipping rate with its order's currency, and whether a promotion covers it."""

    currency: str
    is_free: bool = False

    @property
    def final_price(self) -> int:
        return 0 if self.is_free else self.cost


class PaymentRecord(Payment, frozen=True, kw_only=True):
    """A payment with its order's currency and its method's name."""

    currency: str
    payment_method_name: str


SHIPMENT = resource(
    "shipment",
    ShipmentRecord,
    attributes=[
        "number",
        "state",
        "shipped_at",
        "delivered_at",
        "tracking",
        "tracking_url",
        money("final_price"),
        money("cost"),
        computed("free", lambda shipment, _context: shipment.final_price == 0, bool),
        "public_metadata",
    ],
    relations=[
        many("shipping_rates", "shipping_rate"),
        one("selected_shipping_rate", "shipping_rate"),
        one("stock_location", "stock_location"),
        many("line_items", "line_item"),
    ],
)
SHIPPING_RATE = resource(
    "shipping_rate",
    ShippingRateRecord,
    attributes=[
        "name",
        computed("selected", lambda rate, _context: rate.is_selected, bool),
        money("final_price"),
        money("cost"),
        money("tax_amount"),
        "shipping_method_id",
        computed("free", lambda rate, _context: rate.final_price == 0, bool),
        _cents("final_price_cents", "final_price"),
    ],
    relations=[one("shipping_method", "shipping_method")],
)
SHIPPING_RATE_ESTIMATE = msgspec.structs.replace(SHIPPING_RATE, id_kind=type(None))
"""A rate that is not stored and has no id."""
SHIPPING_METHOD = resource("shipping_method", ShippingMethod, attributes=["name", "public_metadata"])
STOCK_LOCATION = resource("stock_location", StockLocation, attributes=["name"])
PAYMENT_METHOD = resource(
    "payment_method",
    PaymentMethod,
    attributes=["type", "name", "description", "preferences", "public_metadata"],
)
CREDIT_CARD = resource(
    "credit_card",
    CreditCard,
    attributes=[
        "cc_type",
        "last_digits",
        "month",
        "year",
        "name",
        computed("default", lambda card, _context: card.is_default, bool),
        computed("gateway_payment_profile_id", lambda card, _context: card.reference, str | None),
        computed("public_metadata", lambda _card, _context: {}, dict[str, Any]),
    ],
    relations=[one("payment_method", "payment_method")],
)
PAYMENT = resource(
    "payment",
    PaymentRecord,
    attributes=[
        "number",
        "state",
        money("amount"),
        "response_code",
        # No payment provider of this shop reports the result of the CVV check.
        computed("cvv_response_code", _nothing, str | None),
        computed("cvv_response_message", _nothing, str | None),
        "payment_method_id",
        "payment_method_name",
        "public_metadata",
    ],
    relations=[one_of("source", "credit_card", "store_credit"), one("payment_method", "payment_method")],
)
STORE_CREDIT = resource(
    "store_credit",
    StoreCredit,
    attributes=[
        "currency",
        money("amount"),
        money("amount_used"),
        money("amount_remaining", "amount_left"),
        "created_at",
        "public_metadata",
    ],
)

EMPTY_RELATIONS: Mapping[str, Link] = MappingProxyType(
    {name: () if relation.is_many else None for name, relation in CART.relations.items()}
)
"""Every relation of an order, empty by default; existing records replace the defaults."""
