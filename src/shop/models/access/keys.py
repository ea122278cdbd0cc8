"""Metadata of the server keys that this installation has used; never the keys themselves."""

from datetime import datetime

from shop.db.rows import Row, key, table


class ServerKey(Row, frozen=True, kw_only=True):
    """A server key by its fingerprint, because ids may be reused. The age of a key without a row is unknown."""

    fingerprint: str
    key_id: str
    created_at: datetime | None = None
    """When `shop keys rotate` created it."""
    order_tokens_void_at: datetime | None = None
    """When it stopped being used for order tokens."""


server_keys = table("server_keys", ServerKey, key("fingerprint"))
