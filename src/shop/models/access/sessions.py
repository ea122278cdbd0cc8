"""Login requests, sessions and their tokens; no secrets are stored."""

from datetime import datetime
from uuid import UUID

from shop.db.rows import Row, check, index, key, refers, table, unique
from shop.models.access.applications import applications
from shop.models.access.users import users


class LoginRequest(Row, frozen=True, kw_only=True):
    """A request for a sign-in code. The code is derived from `id`, `nonce` and a server key, and never stored."""

    id: UUID
    email_key: str
    email: str
    key_id: str
    nonce: bytes
    is_long: bool = False
    attempts: int = 0
    first_name: str | None = None
    last_name: str | None = None
    created_at: datetime
    expires_at: datetime
    consumed_at: datetime | None = None
    superseded_at: datetime | None = None


class Session(Row, frozen=True, kw_only=True):
    """A sign-in on one device or a grant to an application, with all its tokens, which end together."""

    id: UUID
    user_id: UUID | None = None
    application_id: UUID | None = None
    scope: str | None = None
    """The scope granted to an application, as it was requested."""
    source: str
    user_agent: str | None = None
    created_at: datetime
    refreshed_at: datetime
    idle_expires_at: datetime
    absolute_expires_at: datetime
    refresh_count: int = 0
    revoked_at: datetime | None = None
    revoke_reason: str | None = None


class RefreshToken(Row, frozen=True, kw_only=True):
    """A refresh token; rotated ones are retained until their session ends, to detect reuse."""

    hash: bytes
    session_id: UUID
    parent_hash: bytes | None = None
    created_at: datetime
    rotated_at: datetime | None = None
    key_id: str | None = None
    nonce: bytes | None = None


class AccessToken(Row, frozen=True, kw_only=True):
    """An access token; valid until it expires or its session ends."""

    hash: bytes
    session_id: UUID
    refresh_hash: bytes
    scope: str | None = None
    """Set if an application requested less than the scope of its session."""
    created_at: datetime
    expires_at: datetime


login_requests = table(
    "login_requests",
    LoginRequest,
    key("id"),
    # Enforces that only the newest request of an address is live.
    index(
        "uq_login_requests_live",
        "email_key",
        where="consumed_at is null and superseded_at is null",
        is_unique=True,
    ),
    index("ix_login_requests_expires_at", "expires_at"),
    check("attempts_not_negative", "attempts >= 0"),
)
sessions = table(
    "sessions",
    Session,
    key("id"),
    refers("user_id", users, on_delete="cascade"),
    refers("application_id", applications, on_delete="cascade"),
    check("one_owner", "num_nonnulls(user_id, application_id) = 1"),
    index("ix_sessions_user_id", "user_id", where="user_id is not null"),
    index("ix_sessions_application_id", "application_id", where="application_id is not null"),
    index("ix_sessions_absolute_expires_at", "absolute_expires_at"),
)
refresh_tokens = table(
    "refresh_tokens",
    RefreshToken,
    key("hash"),
    refers("session_id", sessions, on_delete="cascade"),
    # Enforces that a token has at most one child.
    unique("parent_hash"),
    index("ix_refresh_tokens_session_id", "session_id"),
)
access_tokens = table(
    "access_tokens",
    AccessToken,
    key("hash"),
    refers("session_id", sessions, on_delete="cascade"),
    index("ix_access_tokens_session_id", "session_id"),
    index("ix_access_tokens_expires_at", "expires_at"),
)
