"""Creates and revokes OAuth applications and rotates their secrets, which are shown once and stored as digests."""

from collections.abc import Collection
from uuid import UUID

import msgspec

from shop.actions.access.roles import BEYOND_OWN, lock_own_role
from shop.actions.audit import audit
from shop.actions.context import Context
from shop.actions.event_subjects import APPLICATION
from shop.actions.events import note_change, note_event
from shop.base.crypto.secrets import CLIENT_SECRET, new_client_id, new_secret, secret_hash
from shop.base.errors import Forbidden, Invalid, NotFound
from shop.base.ids import new_id
from shop.base.texts import is_line
from shop.models.access.applications import Application
from shop.queries.access import applications
from shop.queries.access.applications import ListedApplication
from shop.rules.access.permissions import ALL, LEVELS, is_grantable
from shop.rules.access.roles import permissions_of

MAX_NAME_LENGTH = 100
MAX_OVERLAP_SECONDS = 7 * 24 * 3600


class NewApplication(msgspec.Struct, frozen=True):
    """A new application and its secret, which is not stored."""

    application: Application
    secret: str


async def create_application(
    ctx: Context,
    *,
    application_id: UUID,
    name: str,
    access_level: str,
    created_by_id: UUID | None,
    permissions: Collection[str] = (),
) -> NewApplication | None:
    """Returns None if the id exists: a form submitted twice creates one application and shows one secret."""
    name = check_application(name, access_level, permissions)
    async with ctx.db.transaction():
        await _check_covered(ctx, permissions)
        values = {"name": name, "access_level": access_level, "permissions": sorted(permissions)}
        application = await applications.insert_application(
            ctx.db, id=application_id, client_id=new_client_id(), created_by_id=created_by_id, **values
        )
        if application is None:
            return None
        note_change(ctx, APPLICATION, application_id)
        secret = await _new_secret(ctx, application_id)
        detail = {"name": name, "access_level": access_level, "permissions": sorted(permissions)}
        await audit(ctx, "application_created", "done", subject_id=application_id, detail=detail)
    return NewApplication(application, secret)


async def _check_covered(ctx: Context, permissions: Collection[str]) -> None:
    """Checks that an operator who gets the secret of an application has its permissions; without any, all."""
    if ctx.actor.kind == "operator":
        own_role = await lock_own_role(ctx)
        if not frozenset(permissions or ALL) <= permissions_of(own_role):
            raise Forbidden(BEYOND_OWN)


def check_application(name: str, access_level: str, permissions: Collection[str] = ()) -> str:
    """Returns the name to store; raises Invalid if the name, the access level or a permission is not valid."""
    errors = _name_errors(name.strip())
    if access_level not in LEVELS:
        errors["access_level"] = ["Choose read or write."]
    elif permissions and not is_grantable(" ".join(permissions), access_level):
        errors["permissions"] = ["Choose permissions within the access level: read applications cannot write."]
    if errors:
        raise Invalid(errors)
    return name.strip()


async def rotate_secret(ctx: Context, application_id: UUID, overlap: int, *, replaces: UUID) -> str | None:
    """Creates a secret; the current one, named by `replaces`, stays valid for `overlap` seconds.

    Returns None if `replaces` is not current: a form submitted twice rotates the secret once.
    """
    if not 0 <= overlap <= MAX_OVERLAP_SECONDS:
        raise Invalid({"overlap": ["Choose at most seven days."]})
    async with ctx.db.transaction():
        application = await applications.lock_application(ctx.db, application_id)
        if application is None or application.revoked_at:
            raise NotFound()
        await _check_covered(ctx, application.permissions)
        if await applications.find_newest_secret(ctx.db, application_id) != replaces:
            return None
        await applications.expire_secrets(ctx.db, application_id, overlap=overlap)
        secret = await _new_secret(ctx, application_id)
        note_event(ctx, "application.secret_rotated", APPLICATION, application_id)
        await audit(ctx, "secret_rotated", "done", subject_id=application_id, detail={"overlap": overlap})
    return secret


async def revoke_application(ctx: Context, application_id: UUID) -> None:
    """Revokes an application with all its secrets and tokens."""
    async with ctx.db.transaction():
        application = await applications.lock_application(ctx.db, application_id)
        if application is None:
            raise NotFound()
        note_change(ctx, APPLICATION, application_id, application)
        if await applications.revoke(ctx.db, application_id):
            await audit(ctx, "application_revoked", "done", subject_id=application_id)


async def revoke_by_client_id(ctx: Context, client_id: str) -> Application:
    """Revokes an application; returns its earlier state, where `revoked_at` is set if it was already revoked."""
    application = await applications.find_by_client_id(ctx.db, client_id)
    if application is None:
        raise NotFound(f"There is no application {client_id}; `shop app list` lists them.")
    await revoke_application(ctx, application.id)
    return application


async def list_applications(ctx: Context) -> list[ListedApplication]:
    return await applications.list_applications(ctx.db)


async def get_application(ctx: Context, application_id: UUID) -> ListedApplication:
    application = await applications.find_application_details(ctx.db, application_id)
    if application is None:
        raise NotFound()
    return application


async def _new_secret(ctx: Context, application_id: UUID) -> str:
    secret = new_secret(CLIENT_SECRET)
    values = {"application_id": application_id, "hash": secret_hash(secret), "hint": secret[-4:]}
    await applications.insert_secret(ctx.db, id=new_id(), **values)
    return secret


def _name_errors(name: str) -> dict[str, list[str]]:
    if not name:
        return {"name": ["Give the application a name."]}
    if len(name) > MAX_NAME_LENGTH or not is_line(name):
        return {"name": [f"Use at most {MAX_NAME_LENGTH} printable characters."]}
    return {}
