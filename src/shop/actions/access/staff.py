"""Staff: inviting operators, changing their roles, disabling and enabling them."""

from uuid import UUID

from shop.actions.access.operators import disable, lock_or_create_operator, parse_operator_email
from shop.actions.access.roles import BEYOND_OWN, lock_own_role
from shop.actions.audit import audit
from shop.actions.context import Context
from shop.actions.event_subjects import OPERATOR
from shop.actions.events import note_change, note_deletion, note_locked
from shop.base.crypto.secrets import secret_hash
from shop.base.errors import Conflict, Forbidden, Invalid, NotFound
from shop.base.ids import new_id
from shop.models.access.operators import Operator
from shop.models.access.roles import Role
from shop.queries.access import operator_links, operators, roles
from shop.queries.operations import outbox
from shop.rules.access.permissions import OWNER_ID
from shop.rules.access.roles import covers_role, is_owner
from shop.rules.access.staff import INVITATION_MAIL, INVITATION_SECONDS, invitation_secret

_LAST_OWNER = "The last owner cannot be disabled or get another role."


async def invite(ctx: Context, typed_email: str, role_id: UUID | None) -> str:
    """Creates a link for a new operator, or for one who has not accepted an earlier invitation."""
    email = parse_operator_email(typed_email)
    async with ctx.db.transaction():
        own_role = await lock_own_role(ctx)
        role = await _get_role_to_give(ctx, own_role, role_id)
        operator = await lock_or_create_operator(ctx, email, role.id)
        if operator.password_hash:
            raise Invalid({"email": ["An operator with this e-mail already exists."]})
        if operator.disabled_at:
            raise Invalid({"email": ["This operator is disabled; enable them in the list."]})
        if operator.role_id != role.id:
            await _check_covered(ctx, own_role, operator)
            await _set_role(ctx, operator, role)
        return await _send_invitation(ctx, operator)


async def resend_invitation(ctx: Context, operator_id: UUID) -> str:
    """Creates a new link for an invited operator; the earlier one stops working."""
    async with ctx.db.transaction():
        operator = await _lock_covered(ctx, operator_id)
        if operator.password_hash or operator.disabled_at:
            raise Conflict("This invitation was already accepted or withdrawn.")
        return await _send_invitation(ctx, operator)


async def withdraw_invitation(ctx: Context, operator_id: UUID) -> None:
    """Deletes an operator who has not accepted the invitation, with the link."""
    async with ctx.db.transaction():
        operator = await _lock_covered(ctx, operator_id)
        if operator.password_hash:
            raise Conflict("This invitation was already accepted. Disable the operator instead.")
        note_deletion(ctx, OPERATOR, operator)
        await operators.delete_operator(ctx.db, operator_id)
        await audit(ctx, "invitation_withdrawn", "done", subject_id=operator_id)


async def change_operators_role(ctx: Context, operator_id: UUID, role_id: UUID | None) -> None:
    """Gives an operator another role, which counts from their next request."""
    async with ctx.db.transaction():
        own_role = await lock_own_role(ctx)
        role = await _get_role_to_give(ctx, own_role, role_id)
        operator = await _lock_operator(ctx, operator_id)
        await _check_covered(ctx, own_role, operator)
        if not is_owner(role):
            await _check_not_last_owner(ctx, operator_id)
        if operator.role_id != role.id:
            await _set_role(ctx, operator, role)


async def disable_operator(ctx: Context, operator_id: UUID) -> None:
    """Disables an operator and ends their sessions. Operators cannot disable themselves or the last owner."""
    if operator_id == ctx.actor.id:
        raise Conflict("You cannot disable your own account; ask another operator.")
    async with ctx.db.transaction():
        await _lock_covered(ctx, operator_id)
        await _check_not_last_owner(ctx, operator_id)
        await disable(ctx, operator_id)


async def enable_operator(ctx: Context, operator_id: UUID) -> None:
    async with ctx.db.transaction():
        await _lock_covered(ctx, operator_id)
        await note_locked(ctx, OPERATOR, operator_id)
        await operators.set_disabled(ctx.db, operator_id, is_disabled=False)
        await audit(ctx, "operator_enabled", "done", subject_id=operator_id)


async def _send_invitation(ctx: Context, operator: Operator) -> str:
    """Creates a link, revokes the operator's earlier links, and queues the e-mail in the caller's transaction."""
    keys, link_id = ctx.shared.keys, new_id()
    secret = invitation_secret(keys, keys.current, link_id)
    await operator_links.end_links(ctx.db, operator.id)
    await operator_links.insert_link(
        ctx.db,
        hash=secret_hash(secret),
        id=link_id,
        key_id=keys.current,
        operator_id=operator.id,
        ttl=INVITATION_SECONDS,
    )
    await outbox.insert_mail(
        ctx.db,
        id=new_id(),
        kind=INVITATION_MAIL,
        recipient=operator.email,
        ref_id=link_id,
        ttl=INVITATION_SECONDS,
    )
    ctx.shared.mail_queued.set()
    await audit(ctx, "link_made", "done", subject_id=operator.id)
    return secret


async def _get_role_to_give(ctx: Context, own_role: Role, role_id: UUID | None) -> Role:
    role = await roles.find_role(ctx.db, role_id) if role_id else None
    if role is None:
        raise Invalid({"role_id": ["Choose a role."]})
    if not covers_role(own_role, role):
        raise Forbidden(BEYOND_OWN)
    return role


async def _lock_covered(ctx: Context, operator_id: UUID) -> Operator:
    """Locks an operator whose permissions the acting operator has, too."""
    own_role = await lock_own_role(ctx)
    operator = await _lock_operator(ctx, operator_id)
    await _check_covered(ctx, own_role, operator)
    return operator


async def _lock_operator(ctx: Context, operator_id: UUID) -> Operator:
    operator = await operators.lock_operator(ctx.db, operator_id)
    if operator is None:
        raise NotFound()
    return operator


async def _check_covered(ctx: Context, own_role: Role, operator: Operator) -> None:
    role = await roles.find_role(ctx.db, operator.role_id)
    if role is None or not covers_role(own_role, role):
        raise Forbidden(BEYOND_OWN)


async def _check_not_last_owner(ctx: Context, operator_id: UUID) -> None:
    if await roles.list_owners(ctx.db, OWNER_ID) == [operator_id]:
        raise Conflict(_LAST_OWNER)


async def _set_role(ctx: Context, operator: Operator, role: Role) -> None:
    note_change(ctx, OPERATOR, operator.id, operator)
    await operators.set_role(ctx.db, operator.id, role.id)
    await audit(ctx, "operator_role_changed", "done", subject_id=operator.id, detail={"role": role.name})
