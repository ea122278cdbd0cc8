"""The server keys that this installation has used: never a key itself, only what is known about it."""

from datetime import datetime

from shop.db.rows import Row, key, table


class ServerKey(Row, frozen=True, kw_only=True):
    """A server key by its fingerprint, because ids may be used again. One without a row is of unknown age."""

    fingerprint: str
    key_id: str
    created_at: datetime | None = None
    """When `shop keys rotate` made it."""
    order_tokens_void_at: datetime | None = None
    """Since when it is not used for order tokens any more."""


server_keys = table("server_keys", ServerKey, key("fingerprint"))
