"""What an order is; a cart is an order that nobody has completed."""

from datetime import datetime
from typing import Any
from uuid import UUID

from shop.db.rows import Row, check, index, key, refers, table, unique
from shop.models.people import addresses, users


class Order(Row, frozen=True, kw_only=True):
    """Amounts are minor units of `currency`."""

    id: UUID
    number: str
    state: str = "cart"
    user_id: UUID | None = None
    bill_address_id: UUID | None = None
    ship_address_id: UUID | None = None
    currency: str
    email: str | None = None
    special_instructions: str | None = None
    item_count: int = 0
    item_total: int = 0
    ship_total: int = 0
    adjustment_total: int = 0
    total: int = 0
    promo_total: int = 0
    included_tax_total: int = 0
    additional_tax_total: int = 0
    pre_tax_item_amount: int = 0
    pre_tax_total: int = 0
    payment_total: int = 0
    shipment_state: str | None = None
    payment_state: str | None = None
    created_at: datetime
    updated_at: datetime
    completed_at: datetime | None = None
    approved_at: datetime | None = None
    canceled_at: datetime | None = None
    channel: str = "shop"
    internal_note: str | None = None
    public_metadata: dict[str, Any] = {}  # noqa: RUF012  msgspec copies it.
    private_metadata: dict[str, Any] = {}  # noqa: RUF012

    @property
    def tax_total(self) -> int:
        return self.included_tax_total + self.additional_tax_total


orders = table(
    "orders",
    Order,
    key("id"),
    unique("number"),
    refers("user_id", users),
    refers("bill_address_id", addresses),
    refers("ship_address_id", addresses),
    # What lists are sorted and filtered by; the id makes each place in them one of its own.
    index("ix_orders_created_at", "created_at", "id"),
    index("ix_orders_updated_at", "updated_at", "id"),
    index("ix_orders_completed_at", "completed_at", "id", where="completed_at is not null"),
    index("ix_orders_email", "email", where="email is not null"),
    # A user's newest open cart, and their completed orders.
    index("ix_orders_user_id", "user_id", "created_at", where="user_id is not null"),
    index("ix_orders_bill_address_id", "bill_address_id", where="bill_address_id is not null"),
    index("ix_orders_ship_address_id", "ship_address_id", where="ship_address_id is not null"),
    check("total_is_the_sum", "item_total + ship_total + adjustment_total = total"),
    check("item_count_not_negative", "item_count >= 0"),
    check("currency_is_a_code", "currency ~ '^[A-Z]{3}$'"),
)
