"""The queue of webhook deliveries, and their attempts."""

from datetime import datetime
from uuid import UUID

from shop.db.rows import Row, check, index, key, refers, table
from shop.models.webhooks.endpoints import webhook_endpoints


class WebhookDelivery(Row, frozen=True, kw_only=True):
    """An event to deliver to an endpoint."""

    id: UUID
    endpoint_id: UUID
    event_id: UUID
    event_type: str
    occurred_at: datetime
    """The time of the event, which selects its partition."""
    position: int
    subject_id: UUID
    """Events about one record are delivered one after another."""
    state: str = "pending"
    attempt_count: int = 0
    next_at: datetime | None = None
    """The time of the next attempt; None if it waits for an earlier delivery about the same record, or has ended."""
    created_at: datetime
    ended_at: datetime | None = None


class WebhookAttempt(Row, frozen=True, kw_only=True):
    """One attempt to deliver, with the beginning of the response."""

    id: UUID
    delivery_id: UUID
    number: int
    status: int | None = None
    """None if there was no response."""
    milliseconds: int
    response: str = ""
    error: str | None = None
    created_at: datetime


webhook_deliveries = table(
    "webhook_deliveries",
    WebhookDelivery,
    key("id"),
    refers("endpoint_id", webhook_endpoints, on_delete="cascade"),
    check("state_is_known", "state in ('pending', 'succeeded', 'failed', 'canceled')"),
    index(
        "ix_webhook_deliveries_due",
        "endpoint_id",
        "next_at",
        "position",
        where="state = 'pending' and next_at is not null",
    ),
    index("ix_webhook_deliveries_subject", "endpoint_id", "subject_id", "position", "id", where="state = 'pending'"),
    index("ix_webhook_deliveries_endpoint_id", "endpoint_id", "id"),
    index("ix_webhook_deliveries_event_id", "event_id"),
    index("ix_webhook_deliveries_state", "endpoint_id", "state", "id"),
    index("ix_webhook_deliveries_created_at", "created_at"),
)
webhook_attempts = table(
    "webhook_attempts",
    WebhookAttempt,
    key("id"),
    refers("delivery_id", webhook_deliveries, on_delete="cascade"),
    index("ix_webhook_attempts_delivery_id", "delivery_id", "number"),
)
