"""Statements for roles and the operators who have them."""

from typing import Any, cast
from uuid import UUID

from sqlalchemy import bindparam, delete, func, literal_column, select, update
from sqlalchemy.dialects.postgresql import insert

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.access.operators import operators
from shop.models.access.roles import Role, roles

_now = func.now()


class ListedRole(Role, frozen=True, kw_only=True):
    """A role with the number of its operators."""

    operator_count: int


def _one(record: Any) -> UUID:
    return cast(UUID, record[0])


_operator_count = (
    select(func.count(literal_column("1"))).where(operators.c.role_id == roles.c.id).scalar_subquery()
).label("operator_count")
_LIST = statement(select(roles, _operator_count).order_by(roles.c.code.is_(None), roles.c.id), into(ListedRole))
_FIND = statement(select(roles).where(roles.c.id == bindparam("id")), into(Role))
_LOCK = statement(select(roles).where(roles.c.id == bindparam("id")).with_for_update(), into(Role))
# Not for update: that would block the insertion of operators with this role.
_LOCK_STAFF = statement(
    select(roles.c.id).where(roles.c.id == bindparam("owner_role_id")).with_for_update(key_share=True), _one
)
_FIND_OPERATORS_ROLE = statement(
    select(roles)
    .select_from(operators.join(roles))
    .where(operators.c.id == bindparam("operator_id"), operators.c.disabled_at.is_(None)),
    into(Role),
)
_LIST_OWNERS = statement(
    select(operators.c.id).where(
        operators.c.disabled_at.is_(None),
        operators.c.password_hash.is_not(None),
        operators.c.role_id == bindparam("owner_role_id"),
    ),
    _one,
)
_HAS_OPERATORS = statement(select(operators.c.id).where(operators.c.role_id == bindparam("role_id")).limit(1), _one)
_INSERT = statement(
    insert(roles)
    .values(
        id=bindparam("id"),
        name=bindparam("name"),
        permissions=bindparam("permissions"),
        refund_limit=bindparam("refund_limit"),
        created_at=_now,
        updated_at=_now,
    )
    .on_conflict_do_nothing(index_elements=["name"])
    .returning(roles.c.id),
    _one,
)
_FIND_BY_NAME = statement(select(roles.c.id).where(func.lower(roles.c.name) == func.lower(bindparam("name"))), _one)
_UPDATE = statement(
    update(roles)
    .where(roles.c.id == bindparam("role_id"))
    .values(
        name=bindparam("name"),
        permissions=bindparam("permissions"),
        refund_limit=bindparam("refund_limit"),
        updated_at=_now,
    )
    .returning(roles.c.id),
    _one,
)
_DELETE = statement(delete(roles).where(roles.c.id == bindparam("role_id")).returning(roles.c.id), _one)


async def list_roles(db: DatabaseSession) -> list[ListedRole]:
    return await db.all(_LIST)


async def find_role(db: DatabaseSession, role_id: UUID) -> Role | None:
    return await db.one(_FIND, id=role_id)


async def lock_role(db: DatabaseSession, role_id: UUID) -> Role | None:
    return await db.one(_LOCK, id=role_id)


async def lock_staff(db: DatabaseSession, owner_role_id: UUID) -> None:
    """Serializes changes of roles and of who has them: two owners cannot demote each other concurrently."""
    await db.one(_LOCK_STAFF, owner_role_id=owner_role_id)


async def find_operators_role(db: DatabaseSession, operator_id: UUID) -> Role | None:
    """Returns the role of an operator; None for one who is disabled."""
    return await db.one(_FIND_OPERATORS_ROLE, operator_id=operator_id)


async def list_owners(db: DatabaseSession, owner_role_id: UUID) -> list[UUID]:
    """Returns the owners who can sign in."""
    return await db.all(_LIST_OWNERS, owner_role_id=owner_role_id)


async def has_operators(db: DatabaseSession, role_id: UUID) -> bool:
    return await db.one(_HAS_OPERATORS, role_id=role_id) is not None


async def find_by_name(db: DatabaseSession, name: str) -> UUID | None:
    """Returns the role with this name, in any case."""
    return await db.one(_FIND_BY_NAME, name=name)


async def insert_role(db: DatabaseSession, **values: Any) -> bool:
    """Returns `False` if another role has the name."""
    return await db.one(_INSERT, **values) is not None


async def update_role(db: DatabaseSession, role_id: UUID, **values: Any) -> None:
    await db.one(_UPDATE, role_id=role_id, **values)


async def delete_role(db: DatabaseSession, role_id: UUID) -> None:
    await db.one(_DELETE, role_id=role_id)
