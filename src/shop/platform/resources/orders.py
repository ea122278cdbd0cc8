"""The order resource. It does not show the order token, which gives access to the cart."""

from typing import Any

from shop.actions.orders import resources as actions
from shop.actions.records import ResourceActions
from shop.jsonapi.resource import RenderContext, computed, many, money, one, resource
from shop.models.cart.orders import PlatformOrder
from shop.models.checkout.record_inputs import OrderInput
from shop.platform.collection import Collection, kinds
from shop.queries.orders import records as order_records
from shop.queries.orders.records import ORDER_AMOUNTS
from shop.rules.checkout.payments import amount_due


def _nothing(_order: Any, _context: RenderContext) -> None:
    return None


def _amount_due(order: PlatformOrder) -> int:
    captured_amount = order.payment_total + order.refunded
    return amount_due(order.total, captured_amount, order.refunded, is_canceled=order.canceled_at is not None)


def _credit_after(order: PlatformOrder) -> int:
    """Returns the store credit left after capture; a completed order has already spent its credit."""
    return order.credit_left if order.completed_at else max(order.credit_left - order.store_credit_total, 0)


ORDER = resource(
    "order",
    PlatformOrder,
    attributes=[
        "number",
        "state",
        "email",
        "currency",
        "channel",
        "item_count",
        "special_instructions",
        "internal_note",
        "shipment_state",
        "payment_state",
        "created_at",
        "updated_at",
        "completed_at",
        "approved_at",
        "canceled_at",
        "considered_risky",
        "public_metadata",
        "private_metadata",
        # IP addresses are not stored with orders.
        computed("last_ip_address", _nothing, str | None),
        "confirmation_delivered",
        computed("store_owner_notification_delivered", _nothing, bool | None),
        computed("state_lock_version", lambda _order, _context: 0, int),
        *map(money, ORDER_AMOUNTS),
        money("tax_total"),
        money("shipment_total", "ship_total"),
        money("outstanding_balance", _amount_due),
        money("cart_promo_total", "promo_total"),
        money("order_total_after_store_credit", "total_minus_store_credits"),
        money("total_applied_store_credit", "store_credit_total"),
        money("total_applicable_store_credit", "store_credit_total"),
        # Discounts on line items and shipments reduce their taxes; discounts on the order do not.
        money("taxable_adjustment_total", lambda order: order.promo_total - order.order_promo_total),
        money("non_taxable_adjustment_total", lambda order: order.order_promo_total + order.manual_total),
        money("total_available_store_credit", "credit_left"),
        money("store_credit_remaining_after_capture", _credit_after),
    ],
    relations=[
        one("user", "user"),
        one("created_by", "user"),
        one("approver", "user"),
        one("canceler", "user"),
        one("bill_address", "address"),
        one("ship_address", "address"),
        many("line_items", "line_item"),
        many("payments", "payment"),
        many("shipments", "shipment"),
        many("state_changes", "state_change"),
        many("return_authorizations", "return_authorization"),
        many("reimbursements", "reimbursement"),
        many("adjustments", "adjustment"),
        many("all_adjustments", "adjustment"),
        many("order_promotions", "order_promotion"),
    ],
)
ORDERS = Collection(
    path="orders",
    access="orders",
    resource=ORDER,
    actions=ResourceActions(
        "order", order_records.ORDERS, actions.create_order, actions.update_order, actions.delete_order
    ),
    writable=kinds(OrderInput),
    nested={
        f"{relation}_attributes": relation for relation in ("bill_address", "ship_address", "line_items", "shipments")
    },
    filters=(
        "number",
        "email",
        "state",
        "payment_state",
        "shipment_state",
        "completed_at",
        "canceled_at",
        "approved_at",
        "currency",
        "channel",
        "considered_risky",
        "item_count",
        *ORDER_AMOUNTS,
    ),
    sorted_as={"shipment_total": "ship_total"},
    via={
        "addresses": [("bill_address",), ("ship_address",)],
        "promotions": [("order_promotions", "promotion")],
        "line_items_variant": [("line_items", "variant")],
        "line_items_variant_product": [("line_items", "variant", "product")],
    },
    sorts=("number", "completed_at", "item_count", "state", *ORDER_AMOUNTS),
    find_by=("id", "number"),
    create_only=("currency",),
    codes={
        409: ("payment_in_progress",),
        422: (
            "out_of_stock",
            "not_purchasable",
            "no_price_in_currency",
            "quantity_not_positive",
            "currency_not_supported",
            "cart_empty",
            "address_missing",
            "no_shipping_rate",
            "shipment_not_found",
            "shipping_method_not_found",
            "payment_method_not_found",
            "source_not_found",
            "no_store_credit",
        ),
    },
    is_lenient=True,
)
