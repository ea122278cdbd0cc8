"""Passkeys of operators: public keys whose private keys an authenticator holds."""

from datetime import datetime
from uuid import UUID

from shop.db.rows import Row, index, key, refers, table, unique
from shop.models.access.operators import operators


class Passkey(Row, frozen=True, kw_only=True):
    """A passkey of an operator; with user verification, it replaces the password and the authenticator code."""

    id: UUID
    operator_id: UUID
    name: str
    credential_id: bytes
    public_key: bytes
    """The public key in COSE format."""
    sign_count: int = 0
    """The newest use count that the authenticator reported; those that do not count report 0."""
    rp_id: str
    """The host name that the passkey belongs to; browsers offer it only there."""
    created_at: datetime
    last_used_at: datetime | None = None


operator_passkeys = table(
    "operator_passkeys",
    Passkey,
    key("id"),
    unique("credential_id"),
    refers("operator_id", operators, on_delete="cascade"),
    index("ix_operator_passkeys_operator_id", "operator_id"),
)
