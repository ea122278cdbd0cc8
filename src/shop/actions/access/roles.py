"""Roles of operators: list, create, change, delete. Nobody can give away permissions that they do not have."""

from decimal import Decimal
from uuid import UUID

import msgspec

from shop.actions.audit import audit
from shop.actions.context import Context
from shop.actions.event_subjects import ROLE
from shop.actions.events import note_change, note_deletion
from shop.base.errors import ChangedMeanwhile, Conflict, Forbidden, Invalid, NotFound
from shop.base.ids import new_id
from shop.base.texts import is_line
from shop.models.access.roles import Role
from shop.queries.access import roles
from shop.queries.access.roles import ListedRole
from shop.rules.access.permissions import ALL, OWNER_ID, add_reads
from shop.rules.access.roles import MAX_NAME_LENGTH, MAX_REFUND_LIMIT, covers, covers_role, is_owner

BEYOND_OWN = "You cannot give or take permissions that you do not have yourself."


class RoleInput(msgspec.Struct, frozen=True):
    """The values of a role's form."""

    name: str
    permissions: list[str]
    refund_limit: Decimal | None = None


async def list_roles(ctx: Context) -> list[ListedRole]:
    return await roles.list_roles(ctx.db)


async def get_role(ctx: Context, role_id: UUID) -> Role:
    role = await roles.find_role(ctx.db, role_id)
    if role is None:
        raise NotFound()
    return role


async def lock_own_role(ctx: Context) -> Role:
    """Locks the staff and returns the role that the acting operator has now."""
    await roles.lock_staff(ctx.db, OWNER_ID)
    own_role = await roles.find_operators_role(ctx.db, ctx.actor.id) if ctx.actor.id else None
    if own_role is None:
        raise Forbidden()
    return own_role


async def create_role(ctx: Context, values: RoleInput) -> UUID:
    values, role_id = _check(values), new_id()
    async with ctx.db.transaction():
        own_role = await lock_own_role(ctx)
        if not covers(own_role, values.permissions, values.refund_limit):
            raise Forbidden(BEYOND_OWN)
        await _check_name(ctx, values.name, None)
        await roles.insert_role(ctx.db, id=role_id, **msgspec.structs.asdict(values))
        note_change(ctx, ROLE, role_id)
        await audit(ctx, "role_created", "done", subject_id=role_id)
    return role_id


async def change_role(ctx: Context, role_id: UUID, values: RoleInput, *, seen_at: str | None = None) -> None:
    """Changes a role, with the next request of its operators. Only the refund limit of a built-in role can change.
    Raises ChangedMeanwhile if the role has changed since `seen_at`, the time of its last change in a form.
    """
    async with ctx.db.transaction():
        own_role, role = await lock_own_role(ctx), await roles.lock_role(ctx.db, role_id)
        if role is None:
            raise NotFound()
        if is_owner(role):
            raise Conflict("The role of owners cannot be changed.")
        if seen_at is not None and role.updated_at.isoformat() != seen_at:
            raise ChangedMeanwhile()
        if role.code is not None:
            values = RoleInput(role.name, role.permissions, values.refund_limit)
            _check_limit(values.refund_limit)
        else:
            values = _check(values)
            await _check_name(ctx, values.name, role_id)
        changed_role = msgspec.structs.replace(role, **msgspec.structs.asdict(values))
        if not covers_role(own_role, role) or not covers_role(own_role, changed_role):
            raise Forbidden(BEYOND_OWN)
        note_change(ctx, ROLE, role_id, role)
        await roles.update_role(ctx.db, role_id, **msgspec.structs.asdict(values))
        await audit(ctx, "role_updated", "done", subject_id=role_id)


async def delete_role(ctx: Context, role_id: UUID) -> None:
    async with ctx.db.transaction():
        own_role, role = await lock_own_role(ctx), await roles.lock_role(ctx.db, role_id)
        if role is None:
            raise NotFound()
        if role.code is not None:
            raise Conflict("A built-in role cannot be deleted.")
        if not covers_role(own_role, role):
            raise Forbidden(BEYOND_OWN)
        if await roles.has_operators(ctx.db, role_id):
            raise Conflict("Operators have this role. Give them another one first.")
        note_deletion(ctx, ROLE, role)
        await roles.delete_role(ctx.db, role_id)
        await audit(ctx, "role_deleted", "done", subject_id=role_id)


def _check(values: RoleInput) -> RoleInput:
    name = values.name.strip()
    if not name or len(name) > MAX_NAME_LENGTH or not is_line(name):
        raise Invalid({"name": [f"Give a name of at most {MAX_NAME_LENGTH} printable characters."]})
    if not set(values.permissions) <= ALL:
        raise Invalid({"permissions": ["Choose permissions of the table."]})
    _check_limit(values.refund_limit)
    return RoleInput(name, sorted(add_reads(values.permissions)), values.refund_limit)


def _check_limit(limit: Decimal | None) -> None:
    if limit is not None and not 0 <= limit <= MAX_REFUND_LIMIT:
        raise Invalid({"refund_limit": ["Give an amount between 0 and 1,000,000,000."]})


async def _check_name(ctx: Context, name: str, role_id: UUID | None) -> None:
    if await roles.find_by_name(ctx.db, name) not in {None, role_id}:
        raise Invalid({"name": ["Another role has this name."]})
