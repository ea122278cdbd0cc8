"""Integrations, API: the applications that may call the platform, and the secret of each, shown once."""

from typing import Any
from uuid import UUID

from shop.actions.access import applications
from shop.actions.context import Context
from shop.admin.pages import Visit, notice_of, page, redirect
from shop.admin.session import form
from shop.base.errors import Invalid, NotFound
from shop.base.ids import as_uuid, new_id
from shop.models.access.applications import Application
from shop.web.reply import Reply
from shop.web.request import Request

HERE = "/admin/integrations/api"
OVERLAPS = {"0": "None: the old secret ends now", "3600": "1 hour", "86400": "1 day", "604800": "7 days"}
_NOTICES = {
    "made": "The application is made. Its secret was shown once and cannot be shown again; rotate it if it was lost.",
    "rotated": "The secret was rotated already, and was shown then; rotate again if it was lost.",
    "revoked": "The application is revoked: its secrets and tokens are worth nothing from now on.",
}


async def listing(request: Request, ctx: Context, visit: Visit) -> Reply:
    found = await applications.list_applications(ctx)
    return page("applications.html", visit, notice=notice_of(request, _NOTICES), applications=found)


async def new(_request: Request, _ctx: Context, visit: Visit) -> Reply:
    return page("application_new.html", visit, id=new_id(), name="", access_level="")


async def create(request: Request, ctx: Context, visit: Visit) -> Reply:
    """First asked to be sure, then made. The form brings the id, so that sent twice it makes one, and tells once."""
    fields = form(request)
    values: dict[str, Any] = {name: fields.get(name, "") for name in ("id", "name", "access_level")}
    wanted = as_uuid(values["id"])
    if wanted is None or wanted.version != 7:
        return redirect(f"{HERE}/new")
    try:
        values["name"] = applications.check_application(values["name"], values["access_level"])
    except Invalid as wrong:
        return page("application_new.html", visit, 422, errors=wrong.errors, **values)
    if fields.get("step") == "change":
        return page("application_new.html", visit, **values)
    if fields.get("step") != "create":
        return page("application_review.html", visit, **values)
    wishes = {"name": values["name"], "access_level": values["access_level"]}
    made = await applications.create_application(
        ctx, application_id=wanted, created_by_id=visit.who.operator.id, **wishes
    )
    if made is None:
        return redirect(f"{HERE}/{wanted}?done=made")
    return _told_once(ctx, visit, made.application, made.secret, "made")


async def show(request: Request, ctx: Context, visit: Visit) -> Reply:
    application = await applications.get_application(ctx, _id(request))
    notice = notice_of(request, _NOTICES)
    return page("application.html", visit, application=application, overlaps=OVERLAPS, notice=notice)


async def rotate(request: Request, ctx: Context, visit: Visit) -> Reply:
    """The form names the secret it replaces: sent twice, it replaces it once."""
    fields, wanted = form(request), _id(request)
    application = await applications.get_application(ctx, wanted)
    overlap = fields.get("overlap", "")
    if overlap not in OVERLAPS:
        raise Invalid({}, "Choose how long the old secret goes on.")
    replaces = as_uuid(fields.get("replaces", ""))
    secret = replaces and await applications.rotate_secret(ctx, wanted, int(overlap), replaces=replaces)
    if not secret:
        return redirect(f"{HERE}/{wanted}?done=rotated")
    return _told_once(ctx, visit, application, secret, "rotated")


async def show_revoke(request: Request, ctx: Context, visit: Visit) -> Reply:
    return page("application_revoke.html", visit, application=await applications.get_application(ctx, _id(request)))


async def revoke(request: Request, ctx: Context, _visit: Visit) -> Reply:
    await applications.revoke_application(ctx, _id(request))
    return redirect(f"{HERE}/{_id(request)}?done=revoked")


def _told_once(ctx: Context, visit: Visit, application: Application, secret: str, what: str) -> Reply:
    """The answer itself holds the secret: there is no address at which it could be read a second time."""
    token: dict[str, Any] = {
        "scope": f"admin {application.access_level}",
        "lives": ctx.shared.settings.platform_token_ttl,
    }
    return page("application_secret.html", visit, application=application, secret=secret, what=what, **token)


def _id(request: Request) -> UUID:
    found = as_uuid(request.path_params["application_id"])
    if found is None:
        raise NotFound()
    return found
