"""Shipping methods with their amounts, and the shipments of orders.

shipping_methods   destinations (zones), goods (shipping categories), amounts by currency and weight
shipments          of one order, from one stock location, with the offered rates and the selected one
"""

from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from shop.db.rows import Row, check, index, key, refers, table, unique
from shop.models.cart.orders import line_items, orders
from shop.models.cart.promotions import promotions
from shop.models.catalog.products import variants
from shop.models.catalog.stock import stock_locations
from shop.models.setup.taxes import shipping_categories, tax_categories
from shop.models.setup.zones import zones

DISPLAYS = ("both", "front_end", "back_end")
PICKUP_METHOD = UUID("5c000000-0000-7000-8000-000000000004")
"""The method of goods that customers pick up. Its row counts as deleted, so that it is neither offered nor edited."""


class ShippingMethod(Row, frozen=True, kw_only=True):
    """A shipping method."""

    id: UUID
    name: str
    admin_name: str | None = None
    code: str | None = None
    tracking_url: str | None = None
    """A URL with `:tracking` as placeholder for the tracking number."""
    display_on: str = "both"
    calculator: str = "flat"
    """`flat`: the amount; `per_item`: the amount per unit; `by_weight`: the amount of the highest weight reached."""
    tax_category_id: UUID | None = None
    public_metadata: dict[str, Any] = {}  # noqa: RUF012  msgspec copies it.
    private_metadata: dict[str, Any] = {}  # noqa: RUF012
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None = None


class ShippingMethodAmount(Row, frozen=True, kw_only=True):
    """The amount of a method in a currency; for `by_weight`, from a weight on."""

    id: UUID
    shipping_method_id: UUID
    currency: str
    amount: int
    from_weight: Decimal = Decimal(0)
    created_at: datetime
    updated_at: datetime


class ShippingMethodZone(Row, frozen=True, kw_only=True):
    """A zone that a method ships to."""

    id: UUID
    shipping_method_id: UUID
    zone_id: UUID
    created_at: datetime
    updated_at: datetime


class ShippingMethodCategory(Row, frozen=True, kw_only=True):
    """A shipping category that a method accepts."""

    id: UUID
    shipping_method_id: UUID
    shipping_category_id: UUID
    created_at: datetime
    updated_at: datetime


class Shipment(Row, frozen=True, kw_only=True):
    """A shipment from one stock location. Amounts are in minor units of the order's currency."""

    id: UUID
    order_id: UUID
    number: str
    state: str = "pending"
    stock_location_id: UUID
    cost: int = 0
    promotion_id: UUID | None = None
    promo_total: int = 0
    adjustment_total: int = 0
    additional_tax_total: int = 0
    included_tax_total: int = 0
    pre_tax_amount: int = 0
    tracking: str | None = None
    shipped_at: datetime | None = None
    delivered_at: datetime | None = None
    """Set when the carrier or the merchant reports that the shipment arrived."""
    public_metadata: dict[str, Any] = {}  # noqa: RUF012
    private_metadata: dict[str, Any] = {}  # noqa: RUF012
    created_at: datetime
    updated_at: datetime


class ShipmentItem(Row, frozen=True, kw_only=True):
    """A quantity of a line item in a shipment, some of which may be backordered."""

    id: UUID
    order_id: UUID
    shipment_id: UUID
    line_item_id: UUID
    variant_id: UUID
    quantity: int
    backordered: int = 0


class ShippingRate(Row, frozen=True, kw_only=True):
    """The cost of a shipping method for a shipment; one rate is selected."""

    id: UUID
    order_id: UUID
    shipment_id: UUID
    shipping_method_id: UUID
    name: str
    cost: int
    tax_amount: int = 0
    tax_category_id: UUID | None = None
    is_selected: bool = False
    created_at: datetime


shipping_methods = table(
    "shipping_methods",
    ShippingMethod,
    key("id"),
    refers("tax_category_id", tax_categories),
    check("display_is_known", "display_on in ('both', 'front_end', 'back_end')"),
    # Those of extensions begin with x_.
    check("calculator_is_known", r"calculator in ('flat', 'per_item', 'by_weight') or calculator like 'x\_%'"),
)
shipping_method_amounts = table(
    "shipping_method_amounts",
    ShippingMethodAmount,
    key("id"),
    refers("shipping_method_id", shipping_methods, on_delete="cascade"),
    unique("shipping_method_id", "currency", "from_weight"),
    check("amount_not_negative", "amount >= 0 and from_weight >= 0"),
)
shipping_method_zones = table(
    "shipping_method_zones",
    ShippingMethodZone,
    key("id"),
    refers("shipping_method_id", shipping_methods, on_delete="cascade"),
    refers("zone_id", zones),
    unique("shipping_method_id", "zone_id"),
    index("ix_shipping_method_zones_zone_id", "zone_id"),
)
shipping_method_categories = table(
    "shipping_method_categories",
    ShippingMethodCategory,
    key("id"),
    refers("shipping_method_id", shipping_methods, on_delete="cascade"),
    refers("shipping_category_id", shipping_categories),
    unique("shipping_method_id", "shipping_category_id"),
    index("ix_shipping_method_categories_shipping_category_id", "shipping_category_id"),
)
shipments = table(
    "shipments",
    Shipment,
    key("id"),
    refers("order_id", orders, on_delete="cascade"),
    refers("stock_location_id", stock_locations),
    refers("promotion_id", promotions, on_delete="set null"),
    unique("number"),
    index("ix_shipments_order_id", "order_id", "id"),
    index("ix_shipments_created_at", "created_at", "id"),
    index("ix_shipments_stock_location_id", "stock_location_id"),
    index("ix_shipments_promotion_id", "promotion_id", where="promotion_id is not null"),
    check("state_is_known", "state in ('pending', 'ready', 'shipped', 'canceled')"),
    check("cost_not_negative", "cost >= 0"),
)
shipment_items = table(
    "shipment_items",
    ShipmentItem,
    key("id"),
    refers("order_id", orders, on_delete="cascade"),
    refers("shipment_id", shipments, on_delete="cascade"),
    refers("line_item_id", line_items, on_delete="cascade"),
    refers("variant_id", variants),
    unique("shipment_id", "line_item_id"),
    index("ix_shipment_items_order_id", "order_id"),
    index("ix_shipment_items_line_item_id", "line_item_id"),
    index("ix_shipment_items_variant_id", "variant_id"),
    check("quantity_is_something", "quantity > 0 and backordered between 0 and quantity"),
)
shipping_rates = table(
    "shipping_rates",
    ShippingRate,
    key("id"),
    refers("order_id", orders, on_delete="cascade"),
    refers("shipment_id", shipments, on_delete="cascade"),
    refers("shipping_method_id", shipping_methods),
    refers("tax_category_id", tax_categories),
    unique("shipment_id", "shipping_method_id"),
    index("uq_shipping_rates_selected", "shipment_id", where="is_selected", is_unique=True),
    index("ix_shipping_rates_order_id", "order_id"),
    index("ix_shipping_rates_shipping_method_id", "shipping_method_id"),
    check("cost_not_negative", "cost >= 0"),
)
