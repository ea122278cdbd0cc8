"""Pages of the operator's own account: password and active sessions."""

from shop.actions.access import operator_login, operators
from shop.actions.access.passkeys import list_passkeys
from shop.actions.context import Context
from shop.admin.pages import PageContext, notice_of, page, redirect
from shop.admin.session import form
from shop.base.errors import Invalid
from shop.queries.access.operators import list_sessions
from shop.rules.access.passkeys import find_relying_party
from shop.rules.access.recovery_codes import CODES
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/account"
_NOTICES = {
    "password": "Password changed. Your other sessions have ended.",
    "removed": "Authenticator removed. Your other sessions have ended, and you now sign in with your password only.",
    "passkey-added": "Passkey added. You can now sign in with it.",
    "passkey-renamed": "Passkey renamed.",
    "passkey-removed": "Passkey removed. You can no longer sign in with it, and your other sessions have ended.",
    "ended": "Your other sessions have ended.",
}


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    operator = page_context.operator_session.operator
    _, reason = find_relying_party(ctx.shared.settings.public_url, request.origin(None))
    return page(
        "access/account.html",
        page_context,
        notice=notice_of(request, _NOTICES),
        sessions=await list_sessions(ctx.db, operator.id),
        codes_left=await operators.count_recovery_codes(ctx, operator),
        codes=CODES,
        passkeys=await list_passkeys(ctx, operator.id),
        reason=reason,
    )


async def end_others(_request: Request, ctx: Context, page_context: PageContext) -> Reply:
    await operator_login.end_other_sessions(ctx, page_context.operator_session)
    return redirect(f"{PATH}?done=ended")


async def show_password(_request: Request, _ctx: Context, page_context: PageContext) -> Reply:
    return page("access/password.html", page_context)


async def change_password(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields = form(request)
    password = fields.get("password", "")
    try:
        if password != fields.get("again"):
            raise Invalid({"again": ["The passwords do not match."]})
        await operators.change_password(ctx, page_context.operator_session, password)
    except Invalid as error:
        return page("access/password.html", page_context, 422, errors=error.errors)
    return redirect(f"{PATH}?done=password")
