"""Pages for Platform API applications: create, rotate the secret, revoke. A secret is displayed once."""

from typing import Any
from uuid import UUID

from shop.actions.access import applications
from shop.actions.context import Context
from shop.admin.fields import chosen_words, id_of
from shop.admin.listing import RowSort, fold_text, fold_time, sort_rows
from shop.admin.pages import PageContext, notice_of, page, redirect
from shop.admin.session import form
from shop.base.errors import Invalid
from shop.base.ids import as_uuid, new_id
from shop.models.access.applications import Application
from shop.rules.access.permissions import ALL, RESOURCES, SPECIAL
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/integrations/api"
_SORTS = {
    "newest": RowSort("Newest", lambda application: application.created_at, is_descending=True),
    "name": RowSort("Name", lambda application: fold_text(application.name)),
    "used": RowSort("Last used", lambda application: fold_time(application.last_used_at), is_descending=True),
}
OVERLAPS = {"0": "None: the old secret stops working now", "3600": "1 hour", "86400": "1 day", "604800": "7 days"}
_NOTICES = {
    "made": "Application created. Its secret was shown once and cannot be shown again; rotate it if it was lost.",
    "rotated": "The secret was already rotated and shown once; rotate it again if it was lost.",
    "revoked": "Application revoked. Its secrets and tokens no longer work.",
}


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    rows, head = sort_rows(request, PATH, await applications.list_applications(ctx), _SORTS)
    notice = notice_of(request, _NOTICES)
    return page("access/applications/applications.html", page_context, applications=rows, head=head, notice=notice)


async def new(_request: Request, _ctx: Context, page_context: PageContext) -> Reply:
    values: dict[str, Any] = {"id": new_id(), "name": "", "access_level": "", "permissions": []}
    return _new_page(page_context, values)


async def create(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    """Asks for confirmation, then creates. The form carries the id, so a repeated submit creates only one."""
    fields = form(request)
    values: dict[str, Any] = {name: fields.get(name, "") for name in ("id", "name", "access_level")}
    values["permissions"] = chosen_words(request, "permissions")
    application_id = as_uuid(values["id"])
    if application_id is None or application_id.version != 7:
        return redirect(f"{PATH}/new")
    try:
        values["name"] = applications.check_application(values["name"], values["access_level"], values["permissions"])
    except Invalid as error:
        return _new_page(page_context, values, 422, errors=error.errors)
    if fields.get("step") == "change":
        return _new_page(page_context, values)
    if fields.get("step") != "create":
        return page("access/applications/application_review.html", page_context, **values)
    details = {name: values[name] for name in ("name", "access_level", "permissions")}
    credentials = await applications.create_application(
        ctx, application_id=application_id, created_by_id=page_context.operator_session.operator.id, **details
    )
    if credentials is None:
        return redirect(f"{PATH}/{application_id}?done=made")
    return _secret_page(ctx, page_context, credentials.application, credentials.secret, "made")


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    application = await applications.get_application(ctx, _id(request))
    notice = notice_of(request, _NOTICES)
    return page(
        "access/applications/application.html", page_context, application=application, overlaps=OVERLAPS, notice=notice
    )


async def rotate(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    """Replaces the secret. The form names the current secret, so a repeated submit rotates only once."""
    fields, application_id = form(request), _id(request)
    application = await applications.get_application(ctx, application_id)
    overlap = fields.get("overlap", "")
    if overlap not in OVERLAPS:
        raise Invalid({}, "Choose how long the old secret stays valid.")
    replaces = as_uuid(fields.get("replaces", ""))
    secret = replaces and await applications.rotate_secret(ctx, application_id, int(overlap), replaces=replaces)
    if not secret:
        return redirect(f"{PATH}/{application_id}?done=rotated")
    return _secret_page(ctx, page_context, application, secret, "rotated")


async def show_revoke(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    return page(
        "access/applications/application_revoke.html",
        page_context,
        application=await applications.get_application(ctx, _id(request)),
    )


async def revoke(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    await applications.revoke_application(ctx, _id(request))
    return redirect(f"{PATH}/{_id(request)}?done=revoked")


def _new_page(page_context: PageContext, values: dict[str, Any], status: int = 200, **others: Any) -> Reply:
    # An application without words has all permissions of its level: only an operator with all of them may create it.
    tables = {"resources": RESOURCES, "special": SPECIAL, "needs_permissions": page_context.permissions < ALL}
    return page("access/applications/application_new.html", page_context, status, **tables, **values, **others)


def _secret_page(ctx: Context, page_context: PageContext, application: Application, secret: str, what: str) -> Reply:
    """Returns the secret in the response body, because no URL shows it again."""
    token: dict[str, Any] = {
        "scope": " ".join(application.permissions) or f"admin {application.access_level}",
        "lives": ctx.shared.settings.platform_token_ttl,
    }
    return page(
        "access/applications/application_secret.html",
        page_context,
        application=application,
        secret=secret,
        what=what,
        **token,
    )


def _id(request: Request) -> UUID:
    return id_of(request, "application_id")
