"""Webhook endpoints and their signing secrets."""

from datetime import datetime
from uuid import UUID

from shop.db.rows import Row, index, key, refers, table


class WebhookEndpoint(Row, frozen=True, kw_only=True):
    """An address that receives events. Its queue belongs to one process at a time, which renews a lease."""

    id: UUID
    url: str
    description: str = ""
    types: list[str] = []  # noqa: RUF012  msgspec copies it.
    """Patterns of event types: exact, `order.*` or `*`."""
    fields: list[str] = []  # noqa: RUF012
    """If there are any, only updates that change one of these attributes are sent."""
    enabled: bool = True
    position: int = 0
    """The position of the log up to which deliveries are queued."""
    replay_position: int | None = None
    """The position up to which a replay is queued; None if there is none."""
    replay_until: int | None = None
    failing_since: datetime | None = None
    """The time of the first failure since the last success."""
    paused_until: datetime | None = None
    """Set when the receiver asks to slow down."""
    disabled_at: datetime | None = None
    disabled_reason: str | None = None
    leased_by: UUID | None = None
    """The process that delivers to it."""
    leased_until: datetime | None = None
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None = None
    """The row remains as long as its deliveries: to delete all of them at once would take too long."""


class WebhookSecret(Row, frozen=True, kw_only=True):
    """A signing secret, encrypted; two are valid for a while after a rotation, so that it causes no outage."""

    id: UUID
    endpoint_id: UUID
    sealed: bytes
    """The id of the endpoint and the key, encrypted together: a secret cannot be moved to another endpoint."""
    hint: str
    """Its last four characters, to identify it."""
    created_at: datetime
    expires_at: datetime | None = None


webhook_endpoints = table(
    "webhook_endpoints",
    WebhookEndpoint,
    key("id"),
    index("ix_webhook_endpoints_leased_by", "leased_by"),
)
webhook_secrets = table(
    "webhook_secrets",
    WebhookSecret,
    key("id"),
    refers("endpoint_id", webhook_endpoints, on_delete="cascade"),
    index("ix_webhook_secrets_endpoint_id", "endpoint_id"),
)
