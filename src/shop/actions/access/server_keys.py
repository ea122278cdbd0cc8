"""Rotates and retires server keys, and voids all credentials issued before a given time."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

import msgspec

from shop.actions.access.sealed_secrets import decrypt_secret, encrypt_secret, sealing_key_id
from shop.actions.audit import audit
from shop.actions.context import Context, Shared
from shop.base.crypto.keys import Keys
from shop.base.errors import Conflict, Invalid
from shop.models.access.keys import ServerKey
from shop.queries.access import sealed_secrets, server_keys
from shop.queries.access.sealed_secrets import SEALED_COLUMNS, SealedColumn, SealedRow
from shop.queries.access.server_keys import VoidCounts

_BATCH = 500
_FIRST = UUID(int=0)


async def load_void_keys(shared: Shared) -> None:
    """Stops using the order token keys that `void_before` retired."""
    shared.keys = shared.keys.with_void_keys(await server_keys.list_void(shared.database.session()))


async def list_known_keys(ctx: Context) -> dict[str, ServerKey]:
    """Returns the stored key records by fingerprint."""
    return {row.fingerprint: row for row in await server_keys.list_keys(ctx.db)}


class KeyDescription(msgspec.Struct, frozen=True):
    """The public facts about a server key."""

    id: str
    signs: bool
    created_at: datetime | None
    order_tokens_void_at: datetime | None
    seals: int


async def describe_keys(ctx: Context) -> list[KeyDescription]:
    keys, keys_by_fingerprint, sealed_by = ctx.shared.keys, await list_known_keys(ctx), await count_sealed(ctx)
    rows = {key_id: keys_by_fingerprint.get(keys.fingerprint(key_id)) for key_id in keys}
    return [
        KeyDescription(
            id=key_id,
            signs=key_id == keys.current,
            created_at=row.created_at if row else None,
            order_tokens_void_at=row.order_tokens_void_at if row else None,
            seals=sum(sealed_by.get(key_id, {}).values()),
        )
        for key_id, row in rows.items()
    ]


async def record_new_key(ctx: Context, keys: Keys, key_id: str) -> None:
    """Stores the creation time of a key; its tokens cannot be older."""
    async with ctx.db.transaction():
        await server_keys.insert_key(ctx.db, fingerprint=keys.fingerprint(key_id), key_id=key_id)
        await audit(ctx, "key_created", "done", detail={"key": key_id})


async def reseal_all(ctx: Context, keys: Keys) -> int:
    """Re-encrypts every sealed secret with the current key; skips secrets that no key opens. Returns the count."""
    count = 0
    for column in SEALED_COLUMNS:
        after = _FIRST
        while rows := await sealed_secrets.list_sealed(ctx.db, column, after=after, most=_BATCH):
            after = rows[-1].id
            async with ctx.db.transaction():
                count += sum([await _reseal(ctx, keys, column, row) for row in rows])
    return count


async def count_sealed(ctx: Context) -> dict[str, dict[str, int]]:
    """Counts the sealed secrets by key id, then by kind."""
    counts: dict[str, Counter[str]] = {}
    for column in SEALED_COLUMNS:
        after = _FIRST
        while rows := await sealed_secrets.list_sealed(ctx.db, column, after=after, most=_BATCH):
            after = rows[-1].id
            for row in rows:
                counts.setdefault(sealing_key_id(row.sealed), Counter())[column.name] += 1
    return {key_id: dict(counter) for key_id, counter in counts.items()}


async def finish_rotation(ctx: Context, keys: Keys) -> int:
    """Re-encrypts secrets sealed by older keys, once every process has the new key."""
    count = await reseal_all(ctx, keys)
    async with ctx.db.transaction():
        await audit(ctx, "keys_rotated", "done", detail={"key": keys.current, "resealed": count})
    return count


async def prepare_retirement(ctx: Context, keys: Keys, key_id: str) -> None:
    """Re-encrypts the secrets that the key sealed; raises Conflict if any remain."""
    if key_id not in keys:
        raise Conflict(f"There is no key {key_id}; `shop keys list` lists them.")
    if key_id == keys.current:
        raise Conflict(f"{key_id} is the signing key; run `shop keys rotate` first.")
    await reseal_all(ctx, keys)
    left = (await count_sealed(ctx)).get(key_id, {})
    if left:
        remaining = ", ".join(f"{count} {name}" for name, count in left.items())
        raise Conflict(
            f"{key_id} still encrypts secrets that cannot be decrypted: {remaining}. Set them up again first."
        )


async def audit_retirement(ctx: Context, key_id: str) -> None:
    async with ctx.db.transaction():
        await audit(ctx, "key_retired", "done", detail={"key": key_id})


async def resolve_void_time(ctx: Context, moment: datetime | None) -> datetime:
    """Returns `moment`, or the database's time; refuses the future, which would void credentials not yet issued."""
    now = await server_keys.read_clock(ctx.db)
    if moment and moment > now:
        raise Invalid({"time": ["TIME is in the future: everyone would be signed out until then."]})
    return moment or now


def keys_created_before(keys: Keys, keys_by_fingerprint: Mapping[str, ServerKey], moment: datetime) -> list[str]:
    """Returns the ids of the keys that may have signed before `moment`: all keys not known to be newer."""
    creation_times = {
        key_id: keys_by_fingerprint[keys.fingerprint(key_id)].created_at
        for key_id in keys
        if keys.fingerprint(key_id) in keys_by_fingerprint
    }
    return [key_id for key_id in keys if (at := creation_times.get(key_id)) is None or at < moment]


async def count_void(ctx: Context, keys: Keys, moment: datetime, retired_ids: list[str]) -> VoidCounts:
    """Counts the credentials that `void_before` would end."""
    signed_before = await _oldest_kept_key_time(ctx, keys, retired_ids)
    return await server_keys.count_void(ctx.db, moment=moment, signed_before=signed_before)


async def count_guest_carts(ctx: Context, keys: Keys, retired_ids: list[str]) -> int:
    """Counts the open guest carts that may have a token signed by these keys."""
    now = await server_keys.read_clock(ctx.db)
    return (await count_void(ctx, keys, now, retired_ids)).guest_carts


async def _oldest_kept_key_time(ctx: Context, keys: Keys, retired_ids: list[str]) -> datetime:
    """Returns the creation time of the oldest key that is not retired, or now if unknown."""
    keys_by_fingerprint = await list_known_keys(ctx)
    rows = [keys_by_fingerprint.get(keys.fingerprint(key_id)) for key_id in keys if key_id not in retired_ids]
    creation_times = [row.created_at for row in rows if row and row.created_at]
    return min(creation_times, default=await server_keys.read_clock(ctx.db))


async def void_before(ctx: Context, keys: Keys, moment: datetime, retired_ids: list[str]) -> datetime:
    """Ends every session, code and link issued before `moment`, and the order tokens of the retired keys.

    Takes effect in all processes within a second. Returns the effective time, which never moves back.
    """
    async with ctx.db.transaction():
        await server_keys.void_order_tokens(ctx.db, {keys.fingerprint(key_id): key_id for key_id in retired_ids})
        not_before = await server_keys.set_not_before(ctx.db, moment)
        await audit(ctx, "tokens_voided", "done", detail={"not_before": not_before.isoformat(), "keys": retired_ids})
    return not_before


async def _reseal(ctx: Context, keys: Keys, column: SealedColumn, row: SealedRow) -> bool:
    if sealing_key_id(row.sealed) == keys.current:
        return False
    secret = decrypt_secret(keys, column.use, row.sealed, row.id.bytes)
    if secret is None:
        return False
    return await sealed_secrets.replace_sealed(
        ctx.db, column, row, encrypt_secret(keys, column.use, secret, row.id.bytes)
    )
