"""Which statements keep the journal of the service's own work."""

from datetime import timedelta
from typing import cast
from uuid import UUID

from sqlalchemy import bindparam, func, select, update
from sqlalchemy.dialects.postgresql import insert

from shop.db.pool import Session
from shop.db.statements import into, statement
from shop.models.journal import IdempotencyKey
from shop.models.journal import idempotency_keys as keys

_LIFE = timedelta(hours=24)
_NEW = {
    "fingerprint": bindparam("fingerprint"),
    "record_id": None,
    "created_at": func.now(),
    "expires_at": func.now() + _LIFE,
}
_THIS = (keys.c.scope == bindparam("scope_"), keys.c.key == bindparam("key_"))

# The rival's INSERT waits here for the first one's end, at most lock_timeout.
_TAKE = statement(
    insert(keys)
    .values(scope=bindparam("scope_"), key=bindparam("key_"), **_NEW)
    .on_conflict_do_update(index_elements=["scope", "key"], set_=_NEW, where=keys.c.expires_at < func.now())
    .returning(keys.c.key),
    lambda record: cast(bytes, record[0]),
)
_FIND = statement(select(keys).where(*_THIS), into(IdempotencyKey))
_FINISH = statement(
    update(keys).where(*_THIS).values(record_id=bindparam("record_id_")).returning(keys.c.key),
    lambda record: cast(bytes, record[0]),
)


async def take_idempotency_key(db: Session, *, scope: bytes, key: bytes, fingerprint: bytes) -> bool:
    """True when the work under this key is ours to do."""
    return await db.one(_TAKE, scope_=scope, key_=key, fingerprint=fingerprint) is not None


async def find_idempotency_key(db: Session, *, scope: bytes, key: bytes) -> IdempotencyKey | None:
    return await db.one(_FIND, scope_=scope, key_=key)


async def finish_idempotency_key(db: Session, *, scope: bytes, key: bytes, record_id: UUID) -> None:
    await db.one(_FINISH, scope_=scope, key_=key, record_id_=record_id)
