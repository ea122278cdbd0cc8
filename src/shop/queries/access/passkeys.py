"""Statements for the passkeys of operators."""

from typing import Any, cast
from uuid import UUID

from sqlalchemy import BigInteger, and_, bindparam, delete, func, or_, select, update
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import insert

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.access.operators import operators
from shop.models.access.passkeys import Passkey
from shop.models.access.passkeys import operator_passkeys as passkeys

_now = func.now()


def _one(record: Any) -> UUID:
    return cast(UUID, record[0])


_LIST = statement(
    select(passkeys)
    .where(passkeys.c.operator_id == bindparam("owner_id"))
    .order_by(passkeys.c.created_at, passkeys.c.id),
    into(Passkey),
)
_FIND = statement(select(passkeys).where(passkeys.c.credential_id == bindparam("credential")), into(Passkey))
_IS_OWN = and_(passkeys.c.id == bindparam("passkey_id"), passkeys.c.operator_id == bindparam("owner_id"))
_FIND_OWN = statement(select(passkeys).where(_IS_OWN), into(Passkey))
_INSERT = statement(
    insert(passkeys)
    .values(
        id=bindparam("id"),
        operator_id=bindparam("operator_id"),
        name=bindparam("name"),
        credential_id=bindparam("credential_id"),
        public_key=bindparam("public_key"),
        sign_count=bindparam("sign_count"),
        rp_id=bindparam("rp_id"),
        created_at=_now,
    )
    .on_conflict_do_nothing(index_elements=["credential_id"])
    .returning(passkeys.c.id),
    _one,
)
_RENAME = statement(
    update(passkeys).where(_IS_OWN).values(name=bindparam("new_name")).returning(passkeys.c.id),
    _one,
)
_DELETE = statement(delete(passkeys).where(_IS_OWN).returning(passkeys.c.id), _one)
_DELETE_ALL = statement(
    delete(passkeys).where(passkeys.c.operator_id == bindparam("owner_id")).returning(passkeys.c.id), _one
)
# Of two concurrent uses with the same count, one fails. Authenticators that do not count always report 0.
_RECORD_USE = statement(
    update(passkeys)
    .where(
        passkeys.c.id == bindparam("passkey_id"),
        or_(passkeys.c.sign_count < bindparam("new_count"), passkeys.c.sign_count + bindparam("new_count") == 0),
    )
    .values(sign_count=bindparam("new_count"), last_used_at=_now)
    .returning(passkeys.c.id),
    _one,
)
_USE_CHALLENGE = statement(
    update(operators)
    .where(operators.c.id == bindparam("owner_id"), operators.c.passkey_step < bindparam("step"))
    .values(passkey_step=bindparam("step"))
    .returning(operators.c.id),
    _one,
)
_MICROSECONDS = statement(
    select(sql_cast(func.floor(func.extract("epoch", func.clock_timestamp()) * 1_000_000), BigInteger)),
    lambda record: cast(int, record[0]),
)


async def list_passkeys(db: DatabaseSession, operator_id: UUID) -> list[Passkey]:
    return await db.all(_LIST, owner_id=operator_id)


async def find_passkey(db: DatabaseSession, credential_id: bytes) -> Passkey | None:
    return await db.one(_FIND, credential=credential_id)


async def find_own_passkey(db: DatabaseSession, operator_id: UUID, passkey_id: UUID) -> Passkey | None:
    return await db.one(_FIND_OWN, owner_id=operator_id, passkey_id=passkey_id)


async def insert_passkey(db: DatabaseSession, **values: Any) -> bool:
    """Returns `False` if the credential is registered already."""
    return await db.one(_INSERT, **values) is not None


async def rename_passkey(db: DatabaseSession, operator_id: UUID, passkey_id: UUID, name: str) -> bool:
    return await db.one(_RENAME, owner_id=operator_id, passkey_id=passkey_id, new_name=name) is not None


async def delete_passkey(db: DatabaseSession, operator_id: UUID, passkey_id: UUID) -> bool:
    return await db.one(_DELETE, owner_id=operator_id, passkey_id=passkey_id) is not None


async def delete_passkeys(db: DatabaseSession, operator_id: UUID) -> int:
    return len(await db.all(_DELETE_ALL, owner_id=operator_id))


async def record_use(db: DatabaseSession, passkey_id: UUID, sign_count: int) -> bool:
    """Returns `False` if the passkey was removed, or its count has not grown."""
    return await db.one(_RECORD_USE, passkey_id=passkey_id, new_count=sign_count) is not None


async def use_challenge(db: DatabaseSession, operator_id: UUID, step: int) -> bool:
    """Returns `False` if the operator has used this challenge or a newer one."""
    return await db.one(_USE_CHALLENGE, owner_id=operator_id, step=step) is not None


async def read_microseconds(db: DatabaseSession) -> int:
    """Returns the database's time in microseconds."""
    return cast(int, await db.one(_MICROSECONDS))
