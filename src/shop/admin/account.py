"""An operator's own account: the password, the authenticator, and where they are signed in."""

import segno
from markupsafe import Markup

from shop.actions import operator_login, operators
from shop.actions.context import Context
from shop.actions.operators import Enrolment
from shop.admin.pages import Visit, notice_of, page, redirect
from shop.admin.session import form
from shop.base.errors import Invalid
from shop.queries.operators import list_sessions
from shop.rules.operators import authenticator_text, authenticator_uri
from shop.web.reply import Reply
from shop.web.request import Request

HERE = "/admin/account"
_NOTICES = {
    "password": "The password is changed, and every other session of yours is ended.",
    "enrolled": "The authenticator is set up: from now on its code is asked for at each sign-in.",
    "removed": "The authenticator is removed: from now on the password alone lets you in.",
    "ended": "Every other session of yours is ended.",
}


async def show(request: Request, ctx: Context, visit: Visit) -> Reply:
    sessions = await list_sessions(ctx.db, visit.who.operator.id)
    return page("account.html", visit, notice=notice_of(request, _NOTICES), sessions=sessions)


async def end_others(_request: Request, ctx: Context, visit: Visit) -> Reply:
    await operator_login.end_other_sessions(ctx, visit.who)
    return redirect(f"{HERE}?done=ended")


async def show_password(_request: Request, _ctx: Context, visit: Visit) -> Reply:
    return page("password.html", visit)


async def change_password(request: Request, ctx: Context, visit: Visit) -> Reply:
    fields = form(request)
    password = fields.get("password", "")
    try:
        if password != fields.get("again"):
            raise Invalid({"again": ["is not the same password"]})
        await operators.change_password(ctx, visit.who, password)
    except Invalid as wrong:
        return page("password.html", visit, 422, errors=wrong.errors)
    return redirect(f"{HERE}?done=password")


async def show_authenticator(_request: Request, ctx: Context, visit: Visit) -> Reply:
    return _authenticator(visit, operators.new_enrolment(ctx, visit.who.operator))


async def enrol(request: Request, ctx: Context, visit: Visit) -> Reply:
    fields = form(request)
    offered = operators.new_enrolment(ctx, visit.who.operator, fields.get("sealed", ""))
    try:
        await operators.enrol_totp(ctx, visit.who.operator, offered.sealed, fields.get("code", ""))
    except Invalid as wrong:
        return _authenticator(visit, offered, 422, wrong.errors)
    return redirect(f"{HERE}?done=enrolled")


async def remove_authenticator(_request: Request, ctx: Context, visit: Visit) -> Reply:
    await operators.remove_totp(ctx, visit.who.operator)
    return redirect(f"{HERE}?done=removed")


def _authenticator(visit: Visit, offered: Enrolment, status: int = 200, errors: object = None) -> Reply:
    uri = authenticator_uri(offered.secret, email=visit.who.operator.email, shop=visit.shop.name)
    text = authenticator_text(offered.secret)
    return page(
        "authenticator.html",
        visit,
        status,
        # Drawn by the library from the address alone: paths and numbers, no text of anybody's.
        drawing=Markup(segno.make(uri, error="m").svg_inline(omitsize=True, border=2)),  # noqa: S704
        text=" ".join(text[at : at + 4] for at in range(0, len(text), 4)),
        sealed=offered.sealed,
        errors=errors or {},
    )
