"""Store credits and their ledger."""

from datetime import datetime
from typing import Any
from uuid import UUID

from shop.db.rows import Row, check, index, key, refers, table
from shop.models.access.users import users


class StoreCreditCategory(Row, frozen=True, kw_only=True):
    """A category of store credits, such as goodwill, returns or gifts; it has no effect."""

    id: UUID
    name: str
    created_at: datetime
    updated_at: datetime


class StoreCreditType(Row, frozen=True, kw_only=True):
    """Another classification of store credits, as in Spree, such as whether they expire."""

    id: UUID
    name: str
    priority: int = 0
    created_at: datetime
    updated_at: datetime


class StoreCredit(Row, frozen=True, kw_only=True):
    """A store credit in minor units of its currency; the oldest is used first."""

    id: UUID
    user_id: UUID
    currency: str
    amount: int
    amount_used: int = 0
    memo: str
    """The reason for the credit."""
    store_credit_category_id: UUID | None = None
    store_credit_type_id: UUID | None = None
    actor_kind: str
    actor_id: UUID | None = None
    public_metadata: dict[str, Any] = {}  # noqa: RUF012  msgspec copies it.
    private_metadata: dict[str, Any] = {}  # noqa: RUF012
    created_at: datetime
    updated_at: datetime

    @property
    def amount_left(self) -> int:
        return self.amount - self.amount_used


class StoreCreditEvent(Row, frozen=True, kw_only=True):
    """A ledger entry: positive if the customer gained credit, negative if it was spent or withdrawn."""

    id: UUID
    store_credit_id: UUID
    user_id: UUID
    currency: str
    action: str
    amount: int
    user_total_amount: int
    """The customer's balance in this currency after the entry."""
    order_id: UUID | None = None
    payment_id: UUID | None = None
    reason: str | None = None
    actor_kind: str
    actor_id: UUID | None = None
    created_at: datetime


store_credit_categories = table("store_credit_categories", StoreCreditCategory, key("id"))
store_credit_types = table("store_credit_types", StoreCreditType, key("id"))
store_credits = table(
    "store_credits",
    StoreCredit,
    key("id"),
    refers("user_id", users, on_delete="cascade"),
    refers("store_credit_category_id", store_credit_categories),
    refers("store_credit_type_id", store_credit_types),
    index("ix_store_credits_category_id", "store_credit_category_id", where="store_credit_category_id is not null"),
    index("ix_store_credits_type_id", "store_credit_type_id", where="store_credit_type_id is not null"),
    index("ix_store_credits_user_id", "user_id", "currency", "id"),
    index("ix_store_credits_created_at", "created_at", "id"),
    check("amount_is_something", "amount > 0"),
    check("never_more_than_granted", "amount_used between 0 and amount"),
    check("currency_is_a_code", "currency ~ '^[A-Z]{3}$'"),
)
store_credit_events = table(
    "store_credit_events",
    StoreCreditEvent,
    key("id"),
    refers("store_credit_id", store_credits, on_delete="cascade"),
    refers("user_id", users, on_delete="cascade"),
    index("ix_store_credit_events_store_credit_id", "store_credit_id", "id"),
    index("ix_store_credit_events_user_id", "user_id", "currency", "id"),
    index("ix_store_credit_events_order_id", "order_id", where="order_id is not null"),
    index("ix_store_credit_events_payment_id", "payment_id", where="payment_id is not null"),
    check("action_is_known", "action in ('granted', 'spent', 'restored', 'withdrawn')"),
    check("amount_is_something", "amount <> 0"),
)
