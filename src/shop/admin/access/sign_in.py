"""Sign-in and sign-out pages: password, authenticator code, password confirmation and invitation links."""

from shop.actions.access import operator_login, operators
from shop.actions.access.operator_login import SignInResult
from shop.actions.context import Context
from shop.admin.pages import PageContext, bare_page, page, redirect
from shop.admin.session import FORGET, cookie, form, get_submitted_code, sign_in_page
from shop.base.errors import Invalid, InvalidSignIn
from shop.rules.access.operators import local_path
from shop.web.input.request import Request
from shop.web.reply import Reply


async def show(request: Request, ctx: Context) -> Reply:
    return sign_in_page(ctx, following=_next(request))


async def sign_in(request: Request, ctx: Context) -> Reply:
    fields = form(request)
    email, following = fields.get("email", ""), fields.get("next", "")
    try:
        entry = await operator_login.sign_in(ctx, email, fields.get("password", ""))
    except InvalidSignIn as error:
        return sign_in_page(ctx, 401, following=following, email=email, refused=error.sentence)
    return _entry_reply(ctx, entry, following)


async def give_code(request: Request, ctx: Context) -> Reply:
    fields = form(request)
    ticket, following = fields.get("ticket", ""), fields.get("next", "")
    try:
        entry = await operator_login.finish_sign_in(ctx, ticket, get_submitted_code(fields))
    except InvalidSignIn as error:
        if error.sentence == operator_login.TOO_LATE:
            return sign_in_page(ctx, 401, following=following, refused=error.sentence)
        return _code_page(ctx, ticket, following, error.sentence)
    return _entry_reply(ctx, entry, following)


async def sign_out(_request: Request, ctx: Context, visit: PageContext) -> Reply:
    await operator_login.sign_out(ctx, visit.who)
    return redirect("/admin/sign-in", FORGET)


async def show_confirm(request: Request, _ctx: Context, visit: PageContext) -> Reply:
    return page("access/confirm.html", visit, next=_next(request), refused=None)


async def confirm(request: Request, ctx: Context, visit: PageContext) -> Reply:
    fields = form(request)
    following = local_path(fields.get("next"))
    try:
        secret = await operator_login.confirm(ctx, visit.who, fields.get("password", ""), get_submitted_code(fields))
    except InvalidSignIn as error:
        return page("access/confirm.html", visit, 401, next=following, refused=error.sentence)
    return redirect(following, cookie(secret))


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


def _entry_reply(ctx: Context, entry: SignInResult, following: str) -> Reply:
    if entry.secret:
        return redirect(local_path(following), cookie(entry.secret))
    return _code_page(ctx, entry.ticket or "", following)


def _code_page(ctx: Context, ticket: str, following: str, error: str | None = None) -> Reply:
    status, following = 401 if error else 200, local_path(following)
    return bare_page("access/code.html", status, shop=ctx.shared.shop, ticket=ticket, next=following, refused=error)


def _next(request: Request) -> str:
    path = request.params.get("next")
    return local_path(path if isinstance(path, str) else None)
