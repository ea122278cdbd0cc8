"""Daily figures of reports, by currency; days are days of the shop's time zone.

    sales_days, product_days, adjustment_days    orders that were completed on the day and are not canceled
    payment_days, refund_days                    money that was received and returned on the day
    cart_days                                    carts that were created on the day
    stale_days                                   days whose figures must be calculated again
    frozen_days                                  days whose figures remain, because orders of them are archived

Amounts are in minor units of `currency`.
"""

from datetime import date, datetime
from uuid import UUID

from shop.db.rows import Row, check, key, table


class SalesDay(Row, frozen=True, kw_only=True):
    """The orders of a day from one channel to one country."""

    day: date
    currency: str
    channel: str
    country: str
    """The two-letter code of the shipping address; empty if there is none."""
    orders: int
    canceled_orders: int
    """Orders that were completed on the day and canceled since; the other figures do not include them."""
    first_orders: int
    """Orders of customers who had not ordered before."""
    units: int
    items: int
    discounts: int
    manual: int
    """Manual adjustments."""
    shipping: int
    tax: int
    """Included and added taxes."""
    added_tax: int
    """Taxes that are not included in `items` and `shipping`."""
    total: int


class ProductDay(Row, frozen=True, kw_only=True):
    """The line items of a product."""

    day: date
    currency: str
    product_id: UUID
    orders: int
    units: int
    items: int
    discounts: int
    tax: int
    total: int


class AdjustmentDay(Row, frozen=True, kw_only=True):
    """Taxes or discounts with the same label."""

    day: date
    currency: str
    source: str
    """`tax_rate`, `promotion` or `manual`."""
    label: str
    country: str
    orders: int
    net: int
    """The taxed amounts without tax."""
    amount: int


class PaymentDay(Row, frozen=True, kw_only=True):
    """The payments of a method that were captured on the day."""

    day: date
    currency: str
    payment_method_id: UUID
    payments: int
    amount: int


class RefundDay(Row, frozen=True, kw_only=True):
    """The refunds of a method with the same reason, and captured payments that were voided."""

    day: date
    currency: str
    payment_method_id: UUID
    reason: str
    is_canceled: bool
    """Whether their orders are canceled, and thus not in the sales."""
    refunds: int
    amount: int


class CartDay(Row, frozen=True, kw_only=True):
    """The carts with items that were created on the day, those of orders included. Idle carts are deleted after a
    while, so that the count of a past day cannot be calculated again.
    """

    day: date
    currency: str
    carts: int


class StaleDay(Row, frozen=True, kw_only=True):
    """A day whose figures must be calculated again."""

    day: date


class FrozenDay(Row, frozen=True, kw_only=True):
    """A day whose figures are not calculated again: some of its orders are in the archive."""

    day: date


class ReportState(Row, frozen=True, kw_only=True):
    """Up to where the event log is part of the figures, in one row."""

    id: int = 1
    position: int = 0
    time_zone: str | None = None
    """The zone of the days; None before the first calculation."""
    rebuild_days: int | None = None
    """The number of days of the current rebuild; None if there is none."""
    carts_counted_at: datetime | None = None


sales_days = table("sales_days", SalesDay, key("day", "currency", "channel", "country"))
product_days = table("product_days", ProductDay, key("day", "currency", "product_id"))
adjustment_days = table("adjustment_days", AdjustmentDay, key("day", "currency", "source", "label", "country"))
payment_days = table("payment_days", PaymentDay, key("day", "currency", "payment_method_id"))
refund_days = table("refund_days", RefundDay, key("day", "currency", "payment_method_id", "reason", "is_canceled"))
cart_days = table("cart_days", CartDay, key("day", "currency"))
stale_days = table("stale_days", StaleDay, key("day"))
frozen_days = table("frozen_days", FrozenDay, key("day"))
report_states = table("report_states", ReportState, key("id"), check("only_one", "id = 1"))
