"""Which machines may call: applications and their secrets, of which only a digest is kept."""

from datetime import datetime
from uuid import UUID

from shop.db.rows import Row, check, index, key, refers, table, unique
from shop.models.access.operators import operators


class Application(Row, frozen=True, kw_only=True):
    """A machine that was given access. Its level caps every token it is ever granted."""

    id: UUID
    client_id: str
    name: str
    access_level: str
    created_by_id: UUID | None = None
    """The operator who made it; none when it was made on the command line."""
    created_at: datetime
    updated_at: datetime
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None


class ApplicationSecret(Row, frozen=True, kw_only=True):
    """Two may be valid at once for a while, so that a secret can be changed without an outage."""

    id: UUID
    application_id: UUID
    hash: bytes
    hint: str
    """Its last four letters, to tell one from the other."""
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
