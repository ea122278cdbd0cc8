"""Links to one order for one purpose: their format, signature and verification.

    <key id>.<32: order id>.<expiry in seconds since 1970>.<purpose>.<64: HMAC-SHA256>
    for scanners: [.](status|payment)[.][0-9a-f]{64}

A link is not an order token: it opens neither the cart nor the account, and it cannot be used for another purpose.
Keys that no longer sign order tokens do not verify links either.
"""

import hmac
import re
from typing import Literal
from uuid import UUID

from shop.base.crypto.keys import Keys

LinkPurpose = Literal["status", "payment"]
_LINK = re.compile(r"([0-9a-z]{1,8})\.([0-9a-f]{32})\.([0-9]{1,12})\.(status|payment)\.[0-9a-f]{64}", re.ASCII)
_USE = "order link"


def sign_link(keys: Keys, purpose: LinkPurpose, order_id: UUID, expires: int) -> str:
    """Returns the token of a link, which is valid until `expires`, in seconds since 1970."""
    return _sign(keys, keys.order_key, purpose, order_id, expires)


def read_link(keys: Keys, purpose: LinkPurpose, link_token: str) -> tuple[UUID, int] | None:
    """Returns the order id and expiry of a link for this purpose; None if we did not sign it."""
    match = _LINK.fullmatch(link_token)
    if match is None or match[1] not in keys.order_keys or match[4] != purpose:
        return None
    order_id, expires = UUID(match[2]), int(match[3])
    expected_token = _sign(keys, match[1], purpose, order_id, expires)
    return (order_id, expires) if hmac.compare_digest(expected_token.encode(), link_token.encode()) else None


def _sign(keys: Keys, key_id: str, purpose: str, order_id: UUID, expires: int) -> str:
    proof = keys.mac(key_id, _USE, order_id.bytes + expires.to_bytes(8) + purpose.encode())
    return f"{key_id}.{order_id.hex}.{expires}.{purpose}.{proof.hex()}"
