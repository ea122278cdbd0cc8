"""Sign-in and sign-out pages: password, authenticator code, password confirmation and invitation links."""

from shop.actions.access import operator_login, operators
from shop.actions.access.operator_login import SignInResult
from shop.actions.context import Context
from shop.admin.access.passkeys import confirm_page
from shop.admin.pages import PageContext, bare_page, redirect
from shop.admin.session import FORGET, cookie, form, get_submitted_code, sign_in_page
from shop.base.errors import Invalid, InvalidSignIn
from shop.rules.access.operators import local_path
from shop.web.input.request import Request
from shop.web.reply import Reply


async def show(request: Request, ctx: Context) -> Reply:
    return sign_in_page(request, ctx, next_path=_next(request))


async def sign_in(request: Request, ctx: Context) -> Reply:
    fields = form(request)
    email, next_path = fields.get("email", ""), fields.get("next", "")
    try:
        entry = await operator_login.sign_in(ctx, email, fields.get("password", ""))
    except InvalidSignIn as error:
        return sign_in_page(request, ctx, 401, next_path=next_path, email=email, error_message=error.sentence)
    return _entry_reply(ctx, entry, next_path)


async def submit_code(request: Request, ctx: Context) -> Reply:
    fields = form(request)
    ticket, next_path = fields.get("ticket", ""), fields.get("next", "")
    try:
        entry = await operator_login.finish_sign_in(ctx, ticket, get_submitted_code(fields))
    except InvalidSignIn as error:
        if error.sentence == operator_login.SIGN_IN_EXPIRED:
            return sign_in_page(request, ctx, 401, next_path=next_path, error_message=error.sentence)
        return _code_page(ctx, ticket, next_path, error.sentence)
    return _entry_reply(ctx, entry, next_path)


async def sign_out(_request: Request, ctx: Context, page_context: PageContext) -> Reply:
    await operator_login.sign_out(ctx, page_context.operator_session)
    return redirect("/admin/sign-in", FORGET)


async def show_confirm(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    return await confirm_page(request, ctx, page_context, next_path=_next(request))


async def confirm(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields = form(request)
    next_path = local_path(fields.get("next"))
    try:
        secret = await operator_login.confirm_password(
            ctx, page_context.operator_session, fields.get("password", ""), get_submitted_code(fields)
        )
    except InvalidSignIn as error:
        return await confirm_page(request, ctx, page_context, 401, next_path=next_path, error_message=error.sentence)
    return redirect(next_path, cookie(secret))


async def show_join(request: Request, ctx: Context) -> Reply:
    link = await operators.get_link(ctx, request.path_params["token"])
    return bare_page("access/join.html", shop=ctx.shared.shop, link=link, email="")


async def join(request: Request, ctx: Context) -> Reply:
    fields, token = form(request), request.path_params["token"]
    email, password = fields.get("email", ""), fields.get("password", "")
    try:
        if password != fields.get("again"):
            raise Invalid({"again": ["does not match"]})
        secret = await operators.choose_password(ctx, token, email, password)
    except Invalid as error:
        link = await operators.get_link(ctx, token)
        return bare_page("access/join.html", 422, shop=ctx.shared.shop, link=link, email=email, errors=error.errors)
    return redirect("/admin", cookie(secret)) if secret else redirect("/admin/sign-in")


def _entry_reply(ctx: Context, entry: SignInResult, next_path: str) -> Reply:
    if entry.secret:
        return redirect(local_path(next_path), cookie(entry.secret))
    return _code_page(ctx, entry.ticket or "", next_path)


def _code_page(ctx: Context, ticket: str, next_path: str, error: str | None = None) -> Reply:
    status, next_path = 401 if error else 200, local_path(next_path)
    return bare_page(
        "access/code.html", status, shop=ctx.shared.shop, ticket=ticket, next=next_path, error_message=error
    )


def _next(request: Request) -> str:
    path = request.params.get("next")
    return local_path(path if isinstance(path, str) else None)
