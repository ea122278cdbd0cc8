"""Notes of operators about orders, and messages and quotes to their customers."""

from datetime import datetime
from uuid import UUID

from shop.db.rows import Row, check, index, key, refers, table
from shop.models.cart.orders import orders

MAX_TEXT_LENGTH = 5000
MAX_NOTES = 100
"""The number of notes and messages of one order."""


class OrderNote(Row, frozen=True, kw_only=True):
    """A note that only operators see, or a message or a quote that the customer gets by e-mail."""

    id: UUID
    order_id: UUID
    author_id: UUID
    kind: str
    """`note`, `message` or `quote`."""
    text: str
    file: bytes | None = None
    """The PDF of a quote, as it was mailed."""
    created_at: datetime
    updated_at: datetime

    @property
    def is_message(self) -> bool:
        return self.kind != "note"


class ListedNote(OrderNote, frozen=True, kw_only=True):
    """A note with the e-mail address of its author."""

    author_email: str | None = None


order_notes = table(
    "order_notes",
    OrderNote,
    key("id"),
    refers("order_id", orders, on_delete="cascade"),
    index("ix_order_notes_order_id", "order_id", "created_at"),
    check("kind_is_known", "kind in ('note', 'message', 'quote')"),
)
