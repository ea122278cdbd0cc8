"""Statements that read customers for a CSV file, and lock those of an import."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import BigInteger, Text, bindparam, select
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import any_of, into, statement
from shop.models.access.users import User, users

_LIST = statement(
    select(users)
    .where(
        users.c.id > bindparam("id", type_=PG_UUID(as_uuid=True)),
        users.c.verified_at.is_not(None),
        users.c.erased_at.is_(None),
    )
    .order_by(users.c.id)
    .limit(bindparam("most", type_=BigInteger())),
    into(User),
)
_LOCK = statement(
    select(users).where(users.c.email_key == any_of("keys", Text())).order_by(users.c.id).with_for_update(),
    into(User),
)


async def list_customers_after(db: DatabaseSession, user_id: UUID, most: int) -> list[User]:
    """Returns customers in the order of their ids, without erased accounts and addresses that were never confirmed."""
    return await db.all(_LIST, id=user_id, most=most)


async def lock_customers(db: DatabaseSession, keys: Sequence[str]) -> dict[str, User]:
    """Locks the users with these e-mail keys in the order of their ids; returns them by key."""
    return {user.email_key: user for user in await db.all(_LOCK, keys=list(keys))}
