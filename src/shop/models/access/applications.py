"""OAuth applications and digests of their secrets."""

from datetime import datetime
from uuid import UUID

from shop.db.rows import Row, check, index, key, refers, table, unique
from shop.models.access.operators import operators


class Application(Row, frozen=True, kw_only=True):
    """An OAuth application. Its access level limits the scope of all its tokens."""

    id: UUID
    client_id: str
    name: str
    access_level: str
    permissions: list[str] = []  # noqa: RUF012  msgspec copies it.
    """The only permissions that its tokens may have, within the access level; without any, the level alone counts."""
    created_by_id: UUID | None = None
    """The operator who created it; `None` if created on the command line."""
    created_at: datetime
    updated_at: datetime
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None


class ApplicationSecret(Row, frozen=True, kw_only=True):
    """A client secret; two may be valid for a while, so that it can be rotated without an outage."""

    id: UUID
    application_id: UUID
    hash: bytes
    hint: str
    """Its last four characters, to identify it."""
    created_at: datetime
    expires_at: datetime | None = None


applications = table(
    "applications",
    Application,
    key("id"),
    unique("client_id"),
    refers("created_by_id", operators, on_delete="set null"),
    index("ix_applications_created_at", "created_at", "id"),
    check("level_is_known", "access_level in ('read', 'write')"),
)
application_secrets = table(
    "application_secrets",
    ApplicationSecret,
    key("id"),
    unique("hash"),
    refers("application_id", applications, on_delete="cascade"),
    index("ix_application_secrets_application_id", "application_id"),
)
