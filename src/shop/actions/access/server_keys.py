"""Rotating and retiring server keys, and voiding every credential from before a moment."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

import msgspec

from shop.actions.audit import audit
from shop.actions.context import Context, Shared
from shop.base.errors import Conflict, Invalid
from shop.base.keys import Keys
from shop.base.sealed import key_of_seal, seal, unseal
from shop.models.access.keys import ServerKey
from shop.queries.access import sealed, server_keys
from shop.queries.access.sealed import SEALED_COLUMNS, SealedColumn, SealedRow
from shop.queries.access.server_keys import VoidCounts

_BATCH = 500
_FIRST = UUID(int=0)


async def load_void_keys(shared: Shared) -> None:
    """Stops using the keys for order tokens that `void_before` has ended."""
    shared.keys = shared.keys.voiding(await server_keys.list_void(shared.database.session()))


async def list_known_keys(ctx: Context) -> dict[str, ServerKey]:
    """What is known about keys, by fingerprint."""
    return {row.fingerprint: row for row in await server_keys.list_keys(ctx.db)}


class DescribedKey(msgspec.Struct, frozen=True):
    """A key as operators may know it."""

    id: str
    signs: bool
    created_at: datetime | None
    order_tokens_void_at: datetime | None
    seals: int


async def describe_keys(ctx: Context) -> list[DescribedKey]:
    keys, known, sealed_by = ctx.shared.keys, await list_known_keys(ctx), await count_sealed(ctx)
    rows = {key_id: known.get(keys.fingerprint(key_id)) for key_id in keys}
    return [
        DescribedKey(
            id=key_id,
            signs=key_id == keys.current,
            created_at=row.created_at if row else None,
            order_tokens_void_at=row.order_tokens_void_at if row else None,
            seals=sum(sealed_by.get(key_id, {}).values()),
        )
        for key_id, row in rows.items()
    ]


async def record_new_key(ctx: Context, keys: Keys, key_id: str) -> None:
    """Remembers when a key was made: none of its tokens can be older."""
    async with ctx.db.transaction():
        await server_keys.insert_key(ctx.db, fingerprint=keys.fingerprint(key_id), key_id=key_id)
        await audit(ctx, "key_created", "done", detail={"key": key_id})


async def reseal_all(ctx: Context, keys: Keys) -> int:
    """Encrypts every sealed secret under the current key; those that no key opens are left as they are."""
    count = 0
    for column in SEALED_COLUMNS:
        after = _FIRST
        while rows := await sealed.list_sealed(ctx.db, column, after=after, most=_BATCH):
            after = rows[-1].id
            async with ctx.db.transaction():
                count += sum([await _reseal(ctx, keys, column, row) for row in rows])
    return count


async def count_sealed(ctx: Context) -> dict[str, dict[str, int]]:
    """How many secrets each key seals: by key id, then by what they are."""
    counts: dict[str, Counter[str]] = {}
    for column in SEALED_COLUMNS:
        after = _FIRST
        while rows := await sealed.list_sealed(ctx.db, column, after=after, most=_BATCH):
            after = rows[-1].id
            for row in rows:
                counts.setdefault(key_of_seal(row.sealed), Counter())[column.name] += 1
    return {key_id: dict(counter) for key_id, counter in counts.items()}


async def finish_rotation(ctx: Context, keys: Keys) -> int:
    """Re-encrypts what older keys sealed, once every process has the new key."""
    count = await reseal_all(ctx, keys)
    async with ctx.db.transaction():
        await audit(ctx, "keys_rotated", "done", detail={"key": keys.current, "resealed": count})
    return count


async def prepare_retirement(ctx: Context, keys: Keys, key_id: str) -> None:
    """Re-encrypts what the key sealed; refuses while anything is left."""
    if key_id not in keys:
        raise Conflict(f"There is no key {key_id}; `shop keys list` names them.")
    if key_id == keys.current:
        raise Conflict(f"{key_id} is the key that signs; run `shop keys rotate` first.")
    await reseal_all(ctx, keys)
    left = (await count_sealed(ctx)).get(key_id, {})
    if left:
        things = ", ".join(f"{count} {name}" for name, count in left.items())
        raise Conflict(
            f"{key_id} still seals what cannot be opened with it: {things}. They must be set up again first."
        )


async def note_retirement(ctx: Context, key_id: str) -> None:
    async with ctx.db.transaction():
        await audit(ctx, "key_retired", "done", detail={"key": key_id})


async def check_moment(ctx: Context, moment: datetime | None) -> datetime:
    """The moment, or now without one, by the database's clock; a later one would void what is yet to be issued."""
    now = await server_keys.read_clock(ctx.db)
    if moment and moment > now:
        raise Invalid({"time": ["TIME is in the future: everyone would be signed out until then."]})
    return moment or now


def keys_from_before(keys: Keys, known: Mapping[str, ServerKey], moment: datetime) -> list[str]:
    """The keys that may have signed before the moment: all that were not made since."""
    made = {key_id: known[keys.fingerprint(key_id)].created_at for key_id in keys if keys.fingerprint(key_id) in known}
    return [key_id for key_id in keys if (at := made.get(key_id)) is None or at < moment]


async def count_void(ctx: Context, keys: Keys, moment: datetime, retired: list[str]) -> VoidCounts:
    """What `void_before` would end."""
    signed_before = await _first_signed(ctx, keys, retired)
    return await server_keys.count_void(ctx.db, moment=moment, signed_before=signed_before)


async def count_guest_carts(ctx: Context, keys: Keys, retired: list[str]) -> int:
    """Open guest carts that may have a token of these keys."""
    now = await server_keys.read_clock(ctx.db)
    return (await count_void(ctx, keys, now, retired)).guest_carts


async def _first_signed(ctx: Context, keys: Keys, retired: list[str]) -> datetime:
    """Since when carts have had tokens of keys that stay; now, when that is not known."""
    known = await list_known_keys(ctx)
    rows = [known.get(keys.fingerprint(key_id)) for key_id in keys if key_id not in retired]
    made = [row.created_at for row in rows if row and row.created_at]
    return min(made, default=await server_keys.read_clock(ctx.db))


async def void_before(ctx: Context, keys: Keys, moment: datetime, retired: list[str]) -> datetime:
    """Ends every session, code and link that began before the moment, and the order tokens of the given keys, in all
    processes within a second. Returns the moment that counts now, which never goes back.
    """
    async with ctx.db.transaction():
        await server_keys.void_order_tokens(ctx.db, {keys.fingerprint(key_id): key_id for key_id in retired})
        not_before = await server_keys.set_not_before(ctx.db, moment)
        await audit(ctx, "tokens_voided", "done", detail={"not_before": not_before.isoformat(), "keys": retired})
    return not_before


async def _reseal(ctx: Context, keys: Keys, column: SealedColumn, row: SealedRow) -> bool:
    if key_of_seal(row.sealed) == keys.current:
        return False
    secret = unseal(keys, column.use, row.sealed, row.id.bytes)
    if secret is None:
        return False
    return await sealed.replace_sealed(ctx.db, column, row, seal(keys, column.use, secret, row.id.bytes))
