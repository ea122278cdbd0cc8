"""Additional columns of line items, shipments, payments and store credits in the Platform API."""

from typing import Any

from sqlalchemy import BigInteger, ColumnElement, and_, case, func, literal_column, or_, select
from sqlalchemy import cast as sql_cast

from shop.models.cart.orders import line_items, orders
from shop.models.catalog.products import variants
from shop.models.catalog.taxons import taxonomies, taxons
from shop.models.checkout.payments import STORE_CREDIT_METHOD, payment_attempts, payments
from shop.models.checkout.shipments import shipment_items, shipments, shipping_methods, shipping_rates
from shop.models.checkout.store_credit import store_credit_events, store_credits
from shop.queries.setup.methods import currency_of

COST_PRICE: ColumnElement[Any] = (
    select(variants.c.cost_price)
    .where(variants.c.id == line_items.c.variant_id, variants.c.cost_currency == currency_of(line_items))
    .correlate(line_items)
    .scalar_subquery()
)
"""The current cost price of a line item's variant, if it is in the order's currency."""
SELECTED_RATE: ColumnElement[Any] = (
    select(shipping_rates.c.id)
    .where(shipping_rates.c.shipment_id == shipments.c.id, shipping_rates.c.is_selected)
    .correlate(shipments)
    .scalar_subquery()
)
TRACKING_TEMPLATE: ColumnElement[Any] = (
    select(shipping_methods.c.tracking_url)
    .join(shipping_rates, shipping_rates.c.shipping_method_id == shipping_methods.c.id)
    .where(shipping_rates.c.shipment_id == shipments.c.id, shipping_rates.c.is_selected)
    .correlate(shipments)
    .scalar_subquery()
)
SHIP_ADDRESS: ColumnElement[Any] = (
    select(orders.c.ship_address_id).where(orders.c.id == shipments.c.order_id).correlate(shipments).scalar_subquery()
)
ITEM_COST: ColumnElement[Any] = (
    select(
        sql_cast(
            func.coalesce(func.sum(shipment_items.c.quantity * func.coalesce(line_items.c.price, 0)), 0), BigInteger
        )
    )
    .join(line_items, line_items.c.id == shipment_items.c.line_item_id)
    .where(shipment_items.c.shipment_id == shipments.c.id)
    .correlate(shipments)
    .scalar_subquery()
)
"""The total price of the items in a shipment."""
UNIT_STATE: ColumnElement[Any] = (
    select(
        case(
            (shipments.c.state == "shipped", "shipped"),
            (shipment_items.c.backordered > 0, "backordered"),
            else_="on_hand",
        )
    )
    .where(shipments.c.id == shipment_items.c.shipment_id)
    .correlate(shipment_items)
    .scalar_subquery()
)
IS_PENDING: ColumnElement[Any] = (
    select(orders.c.completed_at.is_(None))
    .where(orders.c.id == shipment_items.c.order_id)
    .correlate(shipment_items)
    .scalar_subquery()
)
SOURCE_TYPE: ColumnElement[Any] = case(
    (payments.c.source_id.is_not(None), "credit_card"),
    (payments.c.payment_method_id == STORE_CREDIT_METHOD, "store_credit"),
)
"""The source type of a payment; null for a check."""
SOURCE_CREDIT: ColumnElement[Any] = (
    select(store_credit_events.c.store_credit_id)
    .where(store_credit_events.c.payment_id == payments.c.id)
    .order_by(store_credit_events.c.id)
    .limit(literal_column("1"))
    .correlate(payments)
    .scalar_subquery()
)
"""The first store credit that a payment used; null until it is spent."""
IS_CAPTURE: ColumnElement[bool] = and_(
    or_(payment_attempts.c.act == "purchase", payment_attempts.c.act == "capture"),
    payment_attempts.c.outcome == "approved",
)
"""Payment attempts that captured money."""
AMOUNT_AUTHORIZED: ColumnElement[Any] = (
    select(sql_cast(func.coalesce(-func.sum(store_credit_events.c.amount), 0), BigInteger))
    .join(payments, payments.c.id == store_credit_events.c.payment_id)
    .where(store_credit_events.c.store_credit_id == store_credits.c.id, payments.c.state == "pending")
    .correlate(store_credits)
    .scalar_subquery()
)
"""The amount reserved for orders whose payment is pending."""
CREATED_BY: ColumnElement[Any] = case((store_credits.c.actor_kind == "application", store_credits.c.actor_id))
ROOT: ColumnElement[Any] = (
    select(taxons.c.id)
    .where(taxons.c.taxonomy_id == taxonomies.c.id, taxons.c.parent_id.is_(None))
    .correlate(taxonomies)
    .scalar_subquery()
)
