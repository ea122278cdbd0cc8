"""What is done with applications: made, given another secret, revoked. A secret is told once and kept as a digest."""

from uuid import UUID

import msgspec

from shop.actions.audit import audit
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound
from shop.base.ids import new_id
from shop.base.secrets import CLIENT_SECRET, new_client_id, new_secret, secret_hash
from shop.base.texts import is_line
from shop.models.access.applications import Application
from shop.queries.access import applications
from shop.queries.access.applications import ListedApplication
from shop.rules.access.permissions import LEVELS

LONGEST_NAME = 100
LONGEST_OVERLAP = 7 * 24 * 3600


class Made(msgspec.Struct, frozen=True):
    """A new application and its secret, which is nowhere else."""

    application: Application
    secret: str


async def create_application(
    ctx: Context, *, application_id: UUID, name: str, access_level: str, created_by_id: UUID | None
) -> Made | None:
    """None when there is one with this id: a form that was sent twice makes one application and tells one secret."""
    name = check_application(name, access_level)
    async with ctx.db.transaction():
        values = {"name": name, "access_level": access_level, "created_by_id": created_by_id}
        made = await applications.insert_application(ctx.db, id=application_id, client_id=new_client_id(), **values)
        if made is None:
            return None
        secret = await _new_secret(ctx, application_id)
        detail = {"name": name, "access_level": access_level}
        await audit(ctx, "application_created", "done", subject_id=application_id, detail=detail)
    return Made(made, secret)


def check_application(name: str, access_level: str) -> str:
    """The name as it will be kept; raises when either will not do."""
    errors = _name_errors(name.strip())
    if access_level not in LEVELS:
        errors["access_level"] = ["Choose read or write."]
    if errors:
        raise Invalid(errors)
    return name.strip()


async def rotate_secret(ctx: Context, application_id: UUID, overlap: int, *, replaces: UUID) -> str | None:
    """A new secret; the one in use, which `replaces` names, stays valid for `overlap` seconds more. None when it is not
    the one in use: a form that was sent twice changes it once.
    """
    if not 0 <= overlap <= LONGEST_OVERLAP:
        raise Invalid({"overlap": ["Choose at most seven days."]})
    async with ctx.db.transaction():
        found = await applications.lock_application(ctx.db, application_id)
        if found is None or found.revoked_at:
            raise NotFound()
        if await applications.find_newest_secret(ctx.db, application_id) != replaces:
            return None
        await applications.expire_secrets(ctx.db, application_id, overlap=overlap)
        secret = await _new_secret(ctx, application_id)
        await audit(ctx, "secret_rotated", "done", subject_id=application_id, detail={"overlap": overlap})
    return secret


async def revoke_application(ctx: Context, application_id: UUID) -> None:
    """Its secrets and all its tokens are worth nothing from here on."""
    async with ctx.db.transaction():
        if await applications.lock_application(ctx.db, application_id) is None:
            raise NotFound()
        if await applications.revoke(ctx.db, application_id):
            await audit(ctx, "application_revoked", "done", subject_id=application_id)


async def revoke_by_client_id(ctx: Context, client_id: str) -> Application:
    """The application as it was: `revoked_at` says whether it had been revoked before."""
    application = await applications.find_by_client_id(ctx.db, client_id)
    if application is None:
        raise NotFound(f"There is no application {client_id}; `shop app list` names them.")
    await revoke_application(ctx, application.id)
    return application


async def list_applications(ctx: Context) -> list[ListedApplication]:
    return await applications.list_applications(ctx.db)


async def get_application(ctx: Context, application_id: UUID) -> ListedApplication:
    found = await applications.find_listed(ctx.db, application_id)
    if found is None:
        raise NotFound()
    return found


async def _new_secret(ctx: Context, application_id: UUID) -> str:
    secret = new_secret(CLIENT_SECRET)
    values = {"application_id": application_id, "hash": secret_hash(secret), "hint": secret[-4:]}
    await applications.insert_secret(ctx.db, id=new_id(), **values)
    return secret


def _name_errors(name: str) -> dict[str, list[str]]:
    if not name:
        return {"name": ["Give the application a name."]}
    if len(name) > LONGEST_NAME or not is_line(name):
        return {"name": [f"Use at most {LONGEST_NAME} printable characters."]}
    return {}
