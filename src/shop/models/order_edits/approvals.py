"""Refunds that wait for the approval of a second operator."""

from datetime import datetime
from typing import Any
from uuid import UUID

from shop.db.rows import Row, check, index, key, refers, table
from shop.models.cart.orders import orders

MAX_AGE_DAYS = 7
"""The days after which a request expires."""


class RefundRequest(Row, frozen=True, kw_only=True):
    """A refund that an operator asked for. The amount is in minor units of the order's currency."""

    id: UUID
    order_id: UUID
    requester_id: UUID
    refund: dict[str, Any] = {}  # noqa: RUF012  msgspec copies it.
    """The units and amounts, as in `LineRefundInput`."""
    reason: str
    amount: int
    state: str = "pending"
    """`pending`, `approved` or `declined`."""
    decided_by: UUID | None = None
    decided_at: datetime | None = None
    created_at: datetime
    updated_at: datetime


refund_requests = table(
    "refund_requests",
    RefundRequest,
    key("id"),
    refers("order_id", orders, on_delete="cascade"),
    index("ix_refund_requests_order_id", "order_id"),
    index("ix_refund_requests_pending", "created_at", where="state = 'pending'"),
    check("state_is_known", "state in ('pending', 'approved', 'declined')"),
    check("is_decided_once", "(state = 'pending') = (decided_at is null)"),
)
