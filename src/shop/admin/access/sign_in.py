"""Sign-in and sign-out pages: password, authenticator code, password confirmation and invitation links."""

from collections.abc import Mapping

from shop.actions.access import operator_login, operators
from shop.actions.access.operator_login import SignInResult
from shop.actions.context import Context
from shop.admin.pages import PageContext, bare_page, redirect
from shop.admin.session import (
    FORGET,
    confirm_page,
    cookie,
    form,
    get_submitted_code,
    refuse_confirmation,
    refuse_sign_in,
    session_reply,
    sign_in_page,
)
from shop.base.errors import Invalid, InvalidSignIn
from shop.rules.access.operators import local_path
from shop.web.input.request import Request
from shop.web.reply import Reply


async def show(request: Request, ctx: Context) -> Reply:
    return sign_in_page(request, ctx, next_path=_next(request))


async def sign_in(request: Request, ctx: Context) -> Reply:
    fields = form(request)
    email = fields.get("email", "")
    try:
        entry = await operator_login.sign_in(ctx, email, fields.get("password", ""))
    except InvalidSignIn as error:
        return refuse_sign_in(request, ctx, fields, error, email)
    return await _entry_reply(ctx, entry, fields)


async def submit_code(request: Request, ctx: Context) -> Reply:
    fields = form(request)
    ticket = fields.get("ticket", "")
    try:
        entry = await operator_login.finish_sign_in(ctx, ticket, get_submitted_code(fields))
    except InvalidSignIn as error:
        if error.sentence == operator_login.SIGN_IN_EXPIRED:
            return refuse_sign_in(request, ctx, fields, error)
        return _code_page(ctx, ticket, fields, error.sentence)
    return await _entry_reply(ctx, entry, fields)


async def sign_out(_request: Request, ctx: Context, page_context: PageContext) -> Reply:
    await operator_login.sign_out(ctx, page_context.operator_session)
    return redirect("/admin/sign-in", FORGET)


async def show_confirm(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    return await confirm_page(request, ctx, page_context, next_path=_next(request))


async def confirm(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields, operator_session = form(request), page_context.operator_session
    try:
        secret = await operator_login.confirm_password(
            ctx, operator_session, fields.get("password", ""), get_submitted_code(fields)
        )
    except InvalidSignIn as error:
        return await refuse_confirmation(request, ctx, page_context, fields, error)
    return await session_reply(ctx, operator_session.operator.id, secret, fields)


async def show_join(request: Request, ctx: Context) -> Reply:
    link = await operators.get_link(ctx, request.path_params["token"])
    return bare_page("access/join.html", shop=ctx.shared.shop, link=link, email="")


async def join(request: Request, ctx: Context) -> Reply:
    fields, token = form(request), request.path_params["token"]
    email, password = fields.get("email", ""), fields.get("password", "")
    try:
        if password != fields.get("again"):
            raise Invalid({"again": ["The passwords do not match."]})
        secret = await operators.choose_password(ctx, token, email, password)
    except Invalid as error:
        link = await operators.get_link(ctx, token)
        return bare_page("access/join.html", 422, shop=ctx.shared.shop, link=link, email=email, errors=error.errors)
    return redirect("/admin", cookie(secret)) if secret else redirect("/admin/sign-in")


async def _entry_reply(ctx: Context, entry: SignInResult, fields: Mapping[str, str]) -> Reply:
    if entry.secret:
        return await session_reply(ctx, entry.operator_id, entry.secret, fields)
    return _code_page(ctx, entry.ticket or "", fields)


def _code_page(ctx: Context, ticket: str, fields: Mapping[str, str], error: str | None = None) -> Reply:
    return bare_page(
        "access/code.html",
        401 if error else 200,
        shop=ctx.shared.shop,
        ticket=ticket,
        next=local_path(fields.get("next")),
        interrupted=fields.get("interrupted", ""),
        error_message=error,
    )


def _next(request: Request) -> str:
    path = request.params.get("next")
    return local_path(path if isinstance(path, str) else None)
