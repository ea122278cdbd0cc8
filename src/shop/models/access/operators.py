"""Operators, their sessions, password links and recovery codes."""

from datetime import datetime
from uuid import UUID

from shop.db.rows import Row, index, key, refers, table, unique
from shop.models.access.roles import roles


class Operator(Row, frozen=True, kw_only=True):
    """A user of the dashboard; without a password, the invitation has not been accepted yet."""

    id: UUID
    email: str
    email_key: str
    role_id: UUID
    password_hash: str | None = None
    totp_sealed: bytes | None = None
    """The encrypted secret of the authenticator; `None` until one is set up."""
    totp_step: int = 0
    """The newest time step whose code was used; each code is accepted once."""
    passkey_step: int = 0
    """When the newest passkey challenge that was used was issued, in microseconds; each challenge is accepted once."""
    created_at: datetime
    updated_at: datetime
    disabled_at: datetime | None = None


class OperatorSession(Row, frozen=True, kw_only=True):
    """A session of an operator in one browser."""

    id: UUID
    hash: bytes
    operator_id: UUID
    source: str
    user_agent: str | None = None
    created_at: datetime
    seen_at: datetime
    authenticated_at: datetime
    """When the password was last checked; sensitive actions require a recent check."""
    revoked_at: datetime | None = None


class OperatorLink(Row, frozen=True, kw_only=True):
    """A one-time link to set a password. A link without an operator creates the first operator."""

    hash: bytes
    id: UUID | None = None
    """Set if the link is sent by e-mail: its secret is derived from this id and the server key `key_id`."""
    key_id: str | None = None
    operator_id: UUID | None = None
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None = None


class OperatorRecoveryCode(Row, frozen=True, kw_only=True):
    """A one-time code that replaces the authenticator's code; only its hash is stored."""

    hash: bytes
    operator_id: UUID
    created_at: datetime
    used_at: datetime | None = None


operators = table(
    "operators",
    Operator,
    key("id"),
    unique("email_key"),
    refers("role_id", roles),
    index("ix_operators_role_id", "role_id"),
    # Processes of the version before roles insert operators without one, who can do everything.
    defaults={"role_id": "'00000000-0000-7000-8000-000000000001'"},
)
operator_sessions = table(
    "operator_sessions",
    OperatorSession,
    key("id"),
    unique("hash"),
    refers("operator_id", operators, on_delete="cascade"),
    index("ix_operator_sessions_operator_id", "operator_id"),
    index("ix_operator_sessions_created_at", "created_at"),
)
operator_links = table(
    "operator_links",
    OperatorLink,
    key("hash"),
    unique("id"),
    refers("operator_id", operators, on_delete="cascade"),
    index("ix_operator_links_operator_id", "operator_id"),
    index("ix_operator_links_expires_at", "expires_at"),
)
operator_recovery_codes = table(
    "operator_recovery_codes",
    OperatorRecoveryCode,
    key("hash"),
    refers("operator_id", operators, on_delete="cascade"),
    index("ix_operator_recovery_codes_operator_id", "operator_id"),
)
