"""Webhooks of the payment providers of extensions."""

from datetime import datetime
from typing import Any
from uuid import UUID

from shop.db.rows import Row, index, key, table, unique


class ExtensionWebhook(Row, frozen=True, kw_only=True):
    """A webhook that the extension verified, stored once. One process at a time handles it, under a lease."""

    id: UUID
    extension: str
    provider_type: str
    reference: str
    """The provider's id of the webhook; a repetition has the same."""
    data: dict[str, Any] = {}  # noqa: RUF012  msgspec copies it.
    """What the extension read from the body; empty once it is handled."""
    attempts: int = 0
    next_at: datetime
    leased_until: datetime | None = None
    last_error: str | None = None
    handled_at: datetime | None = None
    created_at: datetime
    updated_at: datetime


extension_webhooks = table(
    "extension_webhooks",
    ExtensionWebhook,
    key("id"),
    unique("provider_type", "reference"),
    index("ix_extension_webhooks_next_at", "next_at", where="handled_at is null"),
    index("ix_extension_webhooks_created_at", "created_at"),
)
