"""Signing secrets of webhook endpoints: encrypted in the database, and shown only when they are created."""

from uuid import UUID

from shop.actions.access.sealed_secrets import decrypt_secret, encrypt_secret
from shop.actions.audit import audit
from shop.actions.context import Context, Shared
from shop.base.crypto.secrets import new_bytes
from shop.base.errors import NotFound
from shop.base.ids import new_id
from shop.db.pool import DatabaseSession
from shop.queries.webhooks import endpoints, secrets
from shop.rules.webhooks.signature import KEY_BYTES, format_secret

USE = "webhook"
OVERLAP_HOURS = 24


async def create_secret(ctx: Context, endpoint_id: UUID) -> None:
    """Creates a secret in the caller's transaction. It is bound to its row, and with the endpoint's id also to it."""
    key, secret_id = new_bytes(KEY_BYTES), new_id()
    sealed = encrypt_secret(ctx.shared.keys, USE, endpoint_id.bytes + key, secret_id.bytes)
    await secrets.insert_secret(
        ctx.db, secret_id=secret_id, endpoint_id=endpoint_id, sealed=sealed, hint=format_secret(key)[-4:]
    )


async def rotate_secret(
    ctx: Context, endpoint_id: UUID, overlap_hours: int | None, *, replaces: UUID | None = None
) -> bool:
    """Creates a secret; the old one remains valid for the overlap.

    Returns False if `replaces` is not the newest secret: a form submitted twice rotates the secret once.
    """
    hours = OVERLAP_HOURS if overlap_hours is None else overlap_hours
    async with ctx.transaction() as idempotency:
        if idempotency.existing_id:
            return False
        # Locked: two rotations at once would both leave a secret that never expires.
        if not await endpoints.lock_endpoint(ctx.db, endpoint_id):
            raise NotFound()
        if replaces and replaces not in [each.id for each in (await secrets.list_valid(ctx.db, endpoint_id))[:1]]:
            return False
        await secrets.expire_secrets(ctx.db, endpoint_id, hours * 3600)
        await create_secret(ctx, endpoint_id)
        await audit(ctx, "webhook_secret_rotated", "done", subject_id=endpoint_id, detail={"overlap_hours": hours})
        idempotency.record(endpoint_id)
    return True


async def list_secrets(shared: Shared, db: DatabaseSession, endpoint_id: UUID) -> list[str]:
    """Returns the valid secrets, newest first, without those that cannot be decrypted."""
    keys = [
        decrypt_secret(shared.keys, USE, row.sealed, row.id.bytes) for row in await secrets.list_valid(db, endpoint_id)
    ]
    size = len(endpoint_id.bytes)
    return [format_secret(key[size:]) for key in keys if key and key[:size] == endpoint_id.bytes]
