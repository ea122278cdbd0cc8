"""Payment methods, sources, payments, payment attempts, webhook notices and refunds."""

from datetime import datetime
from typing import Any
from uuid import UUID

from shop.db.rows import Row, check, index, key, refers, table, unique
from shop.models.access.users import users
from shop.models.cart.orders import orders

STORE_CREDIT_METHOD = UUID("5c000000-0000-7000-8000-000000000001")
"""The payment method for store credit; created by migration, and selected through its own endpoint."""
CASH_METHOD = UUID("5c000000-0000-7000-8000-000000000002")
"""The payment method for cash at the counter, which only operators use; created by migration."""
LINK_METHOD = UUID("5c000000-0000-7000-8000-000000000003")
"""The payment that an order awaits whose customer pays by the link in an e-mail; created by migration."""
BUILT_IN_METHODS = frozenset({STORE_CREDIT_METHOD, CASH_METHOD, LINK_METHOD})


class PaymentMethod(Row, frozen=True, kw_only=True):
    """A payment method of a provider in `gateways/payments.py`."""

    id: UUID
    name: str
    type: str
    description: str | None = None
    active: bool = True
    display_on: str = "both"
    auto_capture: bool = True
    """Whether payments are captured at once; otherwise authorized and captured later."""
    position: int = 0
    preferences: dict[str, Any] = {}  # noqa: RUF012  msgspec copies it.
    """Settings for the provider; contains no secrets."""
    public_metadata: dict[str, Any] = {}  # noqa: RUF012
    private_metadata: dict[str, Any] = {}  # noqa: RUF012
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None = None


class PaymentSource(Row, frozen=True, kw_only=True):
    """A card without its number."""

    id: UUID
    user_id: UUID | None = None
    order_id: UUID | None = None
    """The order it was entered for; deleted together with that order."""
    payment_method_id: UUID
    reference: str | None = None
    """The provider's reference."""
    customer_reference: str | None = None
    """The provider's reference of its owner."""
    cc_type: str | None = None
    last_digits: str | None = None
    month: int | None = None
    year: int | None = None
    name: str | None = None
    used_at: datetime | None = None
    """When its owner last paid with it; `None` if it cannot be reused."""
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None = None


class CreditCard(PaymentSource, frozen=True, kw_only=True):
    """A card, and whether it is the last used of its owner's usable cards."""

    is_default: bool


class Payment(Row, frozen=True, kw_only=True):
    """A payment. Amounts are in minor units of the order's currency."""

    id: UUID
    order_id: UUID
    payment_method_id: UUID
    source_id: UUID | None = None
    number: str
    state: str = "checkout"
    amount: int
    captured_amount: int = 0
    refunded_amount: int = 0
    response_code: str | None = None
    """The provider's reference of the payment."""
    public_metadata: dict[str, Any] = {}  # noqa: RUF012
    private_metadata: dict[str, Any] = {}  # noqa: RUF012
    created_at: datetime
    updated_at: datetime
    captured_at: datetime | None = None
    """When money was received. Maintained by a trigger."""
    voided_at: datetime | None = None
    """When it became void. Maintained by a trigger."""


class PaymentAttempt(Row, frozen=True, kw_only=True):
    """A call to a provider, recorded before it is made; its id is the idempotency key for the provider."""

    id: UUID
    order_id: UUID
    payment_id: UUID
    act: str
    amount: int
    outcome: str = "unknown"
    reference: str | None = None
    message: str | None = None
    created_at: datetime
    looked_at: datetime | None = None
    """When the provider was last asked for its outcome."""
    ended_at: datetime | None = None
    actor_kind: str = "guest"
    """The actor for the audit, since the outcome may arrive after the request has ended."""
    actor_id: UUID | None = None


class UnsettledAttempt(Row, frozen=True, kw_only=True):
    """An attempt whose outcome is unknown, copied by a trigger and removed with its outcome."""

    attempt_id: UUID
    payment_id: UUID


class PaymentNotice(Row, frozen=True, kw_only=True):
    """A webhook of a provider, stored so that repetitions have no effect."""

    id: UUID
    payment_method_id: UUID
    reference: str
    payment_id: UUID | None = None
    created_at: datetime


class Refund(Row, frozen=True, kw_only=True):
    """A refund of a payment."""

    id: UUID
    order_id: UUID
    payment_id: UUID
    amount: int
    reason: str
    state: str = "pending"
    reference: str | None = None
    store_credit_id: UUID | None = None
    """The store credit that the customer got instead of money."""
    group_id: UUID | None = None
    """The first of the refunds that were made together, one for each payment; None if only a payment was refunded."""
    shipping_amount: int = 0
    """The shipping costs that the refunds of a group return; stored with the first one."""
    created_at: datetime
    updated_at: datetime


payment_methods = table(
    "payment_methods",
    PaymentMethod,
    key("id"),
    check("display_is_known", "display_on in ('both', 'front_end', 'back_end')"),
)
payment_sources = table(
    "payment_sources",
    PaymentSource,
    key("id"),
    refers("user_id", users, on_delete="cascade"),
    refers("order_id", orders, on_delete="cascade"),
    refers("payment_method_id", payment_methods),
    index("ix_payment_sources_order_id", "order_id", where="order_id is not null"),
    index("ix_payment_sources_user_id", "user_id", where="user_id is not null"),
    index("ix_payment_sources_payment_method_id", "payment_method_id"),
    index("ix_payment_sources_loose", "created_at", where="used_at is null and order_id is null"),
)
payments = table(
    "payments",
    Payment,
    key("id"),
    refers("order_id", orders, on_delete="cascade"),
    refers("payment_method_id", payment_methods),
    refers("source_id", payment_sources),
    unique("number"),
    index("ix_payments_order_id", "order_id", "id"),
    index("ix_payments_created_at", "created_at", "id"),
    index("ix_payments_payment_method_id", "payment_method_id"),
    index("ix_payments_source_id", "source_id", where="source_id is not null"),
    # For the figures of a day.
    index("ix_payments_captured_at", "captured_at", where="captured_at is not null"),
    index("ix_payments_voided_at", "voided_at", where="voided_at is not null and captured_amount > 0"),
    check(
        "state_is_known",
        "state in ('checkout', 'processing', 'pending', 'completed', 'failed', 'void', 'invalid')",
    ),
    check(
        "amounts_fit",
        "amount >= 0 and captured_amount between 0 and amount and refunded_amount between 0 and captured_amount",
    ),
)
payment_attempts = table(
    "payment_attempts",
    PaymentAttempt,
    key("id"),
    refers("order_id", orders, on_delete="cascade"),
    refers("payment_id", payments, on_delete="cascade"),
    index("ix_payment_attempts_payment_id", "payment_id", "id"),
    index("ix_payment_attempts_order_id", "order_id"),
    check("outcome_is_known", "outcome in ('unknown', 'approved', 'declined')"),
    fill_factor=80,
)
unsettled_attempts = table(
    "unsettled_attempts",
    UnsettledAttempt,
    key("attempt_id"),
    refers("attempt_id", payment_attempts, on_delete="cascade"),
    # One attempt at a time: two calls for one payment could undo each other.
    unique("payment_id"),
)
payment_notices = table(
    "payment_notices",
    PaymentNotice,
    key("id"),
    refers("payment_method_id", payment_methods),
    refers("payment_id", payments, on_delete="cascade"),
    unique("payment_method_id", "reference"),
    index("ix_payment_notices_payment_id", "payment_id", where="payment_id is not null"),
)
refunds = table(
    "refunds",
    Refund,
    key("id"),
    refers("order_id", orders, on_delete="cascade"),
    refers("payment_id", payments, on_delete="cascade"),
    index("ix_refunds_order_id", "order_id"),
    index("ix_refunds_payment_id", "payment_id", "id"),
    # For the figures of a day.
    index("ix_refunds_completed", "updated_at", where="state = 'completed'"),
    check("amount_is_something", "amount > 0"),
    check("state_is_known", "state in ('pending', 'completed', 'failed')"),
)
