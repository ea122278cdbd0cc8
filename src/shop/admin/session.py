"""Operator sessions: cookie, CSRF protection, password confirmation, and error pages with the menu."""

from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from urllib.parse import quote
from uuid import UUID

from shop.actions.access import operator_login
from shop.actions.access.interrupted_forms import find_former_operator, open_form, seal_form
from shop.actions.access.passkeys import list_passkeys
from shop.actions.context import Context
from shop.admin.pages import (
    PageContext,
    PermissionFinder,
    bare_page,
    error_page,
    error_page_with_menu,
    page,
    redirect,
)
from shop.base.actor import Actor
from shop.base.crypto.secrets import secret_hash
from shop.base.errors import Forbidden, InvalidMethod, InvalidSignIn, NotFound, ShopError, Unauthenticated
from shop.rules.access.interrupted_forms import build_form
from shop.rules.access.operators import csrf_token, is_csrf_token, local_path
from shop.rules.access.passkeys import find_relying_party
from shop.rules.access.permissions import SELF, describe_permission
from shop.rules.access.roles import permissions_of
from shop.web.cookies import OPERATOR_COOKIE, delete_cookie, read_cookies, set_cookie
from shop.web.endpoint import Handler
from shop.web.input.request import Request
from shop.web.reply import HTML, Header, Reply
from shop.web.same_origin import check_same_origin

_CHALLENGE: Header = (b"www-authenticate", b'Cookie realm="dashboard"')
_STALE_FORM = "This form belongs to another session. Reload the page and try again. Nothing was changed."
_SESSION_ENDED = "Your session has ended, and nothing was changed. Sign in again."
_FORM_CARRIED = "If you sign in as the same operator, you can then send what you entered."

Page = Callable[[Request, Context, PageContext], Awaitable[Reply]]


def cookie(secret: str) -> Header:
    return set_cookie(OPERATOR_COOKIE, secret, same_site="Strict")


FORGET: Header = delete_cookie(OPERATOR_COOKIE, same_site="Strict")


def session_hash(request: Request) -> bytes | None:
    """Returns the hash of the session cookie, or None without a valid one."""
    secret = read_cookies(request).get(OPERATOR_COOKIE)
    return operator_login.session_hash_of(secret) if secret is not None else None


def form(request: Request) -> dict[str, str]:
    """Returns the plain fields of a form, from the body only."""
    return {name: value for name, value in request.body_params().items() if isinstance(value, str)}


def get_submitted_code(fields: dict[str, str], name: str = "code") -> str:
    """Returns the submitted authenticator code, or else the recovery code."""
    return fields.get(name) or fields.get("recovery_code", "")


def require_same_origin(handler: Handler) -> Handler:
    """Wraps a form handler that needs no session; the form must come from our own origin."""

    @wraps(handler)
    async def answer(request: Request, ctx: Context) -> Reply:
        check_same_origin(request, ctx)
        return await handler(request, ctx)

    return answer


class OperatorGuard:
    """Wraps handlers so that only signed-in operators reach them."""

    def __init__(self, *, has_mailbox: bool) -> None:
        self._has_mailbox = has_mailbox
        self.find_permission: PermissionFinder = lambda _method, _path: SELF
        """Returns the permission of a route of the dashboard; set when all routes are built."""

    def page(self, handler: Page, permission: str, *, fresh: bool = False) -> Handler:
        """Wraps the handler of a page that needs the permission; `fresh` requires a recent password confirmation."""

        @wraps(handler)
        async def answer(request: Request, ctx: Context) -> Reply:
            page_context = await self._load_page_context(request, ctx)
            if page_context is None:
                return sign_in_page(request, ctx, 401, next_path=_current_path(request))
            if not page_context.can(permission):
                return _forbidden_page(page_context, permission)
            if fresh and not page_context.operator_session.is_fresh:
                return _confirm_again(_current_path(request))
            return await handler(request, ctx, page_context)

        return answer

    def act(self, handler: Page, title: str, permission: str, *, back: str | None = None) -> Handler:
        """Wraps the handler of a form that needs the permission. `back` requires a recent password confirmation, which
        returns to that page.

        A form that needs a sign-in or a confirmation first is carried through it, and can then be sent again.
        The CSRF token is checked before the session: a forged form does not learn whether an operator is signed in.
        """

        @wraps(handler)
        async def answer(request: Request, ctx: Context) -> Reply:
            check_same_origin(request, ctx)
            token_hash = session_hash(request)
            token = form(request).get("csrf", "")
            if token_hash is None or not is_csrf_token(ctx.shared.keys, token_hash, token):
                raise Forbidden(_STALE_FORM)
            page_context = await self._load_page_context(request, ctx)
            if page_context is None:
                return await _sign_in_again(request, ctx, token_hash, title)
            if not page_context.can(permission):
                return _forbidden_page(page_context, permission)
            if back is not None and not page_context.operator_session.is_fresh:
                return await _confirm_form(request, ctx, page_context, title, back.format(**request.path_params))
            return await handler(request, ctx, page_context)

        return answer

    def admit(self, permission: str) -> Callable[[Request, Context], Awaitable[None]]:
        """Returns what authorizes an upload before its body is read; `act` then checks the form like any other."""

        async def admit(request: Request, ctx: Context) -> None:
            check_same_origin(request, ctx)
            if session_hash(request) is None:
                raise Forbidden(_STALE_FORM)
            page_context = await self._load_page_context(request, ctx)
            if page_context is None:
                raise Unauthenticated(_SESSION_ENDED)
            if not page_context.can(permission):
                raise Forbidden(missing_permission(permission))

        return admit

    async def show_error(self, error: ShopError, request: Request, ctx: Context) -> Reply | None:
        """Returns the error page with the menu for a signed-in operator; None if the error needs no page of its own.

        For everyone else, a path that does not exist looks like one that needs a sign-in.
        """
        page_context = await self._load_page_context(request, ctx)
        if page_context is not None:
            return error_page_with_menu(error, request.id, page_context)
        method, is_public = request.scope["method"], request.scope["path"].startswith("/admin/static/")
        if not isinstance(error, NotFound | InvalidMethod) or is_public or method not in {"GET", "HEAD", "POST"}:
            return None
        if method == "POST":
            return error_page(Forbidden(_STALE_FORM), request.id, HTML)
        return sign_in_page(request, ctx, 401, next_path=_current_path(request))

    async def _load_page_context(self, request: Request, ctx: Context) -> PageContext | None:
        token_hash = session_hash(request)
        operator_session = await operator_login.find_session(ctx, token_hash) if token_hash else None
        if token_hash is None or operator_session is None:
            return None
        ctx.actor = Actor("operator", operator_session.operator.id)
        shared = ctx.shared
        origin = request.origin(shared.settings.public_url)
        csrf = csrf_token(shared.keys, token_hash)
        path, permissions = str(request.scope["path"]), permissions_of(operator_session.role)
        return PageContext(
            operator_session, permissions, csrf, shared.shop, origin, path, self._has_mailbox, self.find_permission
        )


def missing_permission(permission: str) -> str:
    return f"Your role lacks the permission {permission} ({describe_permission(permission)}). Ask an owner for it."


def require_permission(page_context: PageContext, permission: str) -> None:
    """Refuses an operator whose role lacks a permission that depends on the form."""
    if not page_context.can(permission):
        raise Forbidden(missing_permission(permission))


def _forbidden_page(page_context: PageContext, permission: str) -> Reply:
    return page("access/forbidden.html", page_context, 403, sentence=missing_permission(permission))


def sign_in_page(
    request: Request, ctx: Context, status: int = 200, *, next_path: str = "/admin", **values: str | None
) -> Reply:
    """Returns the sign-in page. `interrupted` is a form to carry through the sign-in."""
    headers = (_CHALLENGE,) if status == 401 else ()
    values = {"email": "", "error_message": None, "interrupted": "", **values}
    party, _ = find_relying_party(ctx.shared.settings.public_url, request.origin(None))
    shop, next_path = ctx.shared.shop, local_path(next_path)
    return bare_page(
        "access/sign_in.html", status, headers, shop=shop, next=next_path, offers_passkeys=party is not None, **values
    )


async def confirm_page(
    request: Request,
    ctx: Context,
    page_context: PageContext,
    status: int = 200,
    *,
    next_path: str,
    interrupted: str = "",
    error_message: str | None = None,
) -> Reply:
    """Returns the page that asks for the password or, if the operator has one here, a passkey."""
    party, _ = find_relying_party(ctx.shared.settings.public_url, request.origin(None))
    own = await list_passkeys(ctx, page_context.operator_session.operator.id) if party else []
    has_passkey = any(party and passkey.rp_id == party.id for passkey in own)
    values = {"next": local_path(next_path), "interrupted": interrupted, "error_message": error_message}
    return page("access/confirm.html", page_context, status, has_passkey=has_passkey, **values)


def refuse_sign_in(
    request: Request, ctx: Context, fields: Mapping[str, str], error: InvalidSignIn, email: str = ""
) -> Reply:
    """Returns the sign-in page again, with the error and the form that waits for the sign-in."""
    next_path, interrupted = fields.get("next", ""), fields.get("interrupted", "")
    return sign_in_page(
        request, ctx, 401, next_path=next_path, interrupted=interrupted, email=email, error_message=error.sentence
    )


async def refuse_confirmation(
    request: Request, ctx: Context, page_context: PageContext, fields: Mapping[str, str], error: InvalidSignIn
) -> Reply:
    """Returns the page that asks for the password again, with the error and the form that waits for it."""
    carried = {"next_path": fields.get("next", ""), "interrupted": fields.get("interrupted", "")}
    return await confirm_page(request, ctx, page_context, 401, **carried, error_message=error.sentence)


async def session_reply(
    ctx: Context, operator_id: UUID, secret: str, fields: Mapping[str, str], *headers: Header
) -> Reply:
    """Sets the cookie of a new session; shows the form that the sign-in interrupted, or redirects to the next page."""
    interrupted_form = await open_form(ctx, operator_id, fields.get("interrupted", ""))
    headers = (cookie(secret), *headers)
    if interrupted_form is None:
        return redirect(local_path(fields.get("next")), *headers)
    csrf = csrf_token(ctx.shared.keys, secret_hash(secret))
    return bare_page("access/send_again.html", 200, headers, shop=ctx.shared.shop, form=interrupted_form, csrf=csrf)


async def _sign_in_again(request: Request, ctx: Context, token_hash: bytes, title: str) -> Reply:
    """Returns the sign-in page, which carries the form if the session's former operator is known."""
    interrupted_form = build_form(_current_path(request), title, request.form_fields())
    operator_id = await find_former_operator(ctx, token_hash) if interrupted_form else None
    sealed_form = await seal_form(ctx, operator_id, interrupted_form) if interrupted_form and operator_id else None
    notice = f"{_SESSION_ENDED} {_FORM_CARRIED}" if sealed_form else _SESSION_ENDED
    return sign_in_page(request, ctx, 401, notice=notice, interrupted=sealed_form or "")


async def _confirm_form(request: Request, ctx: Context, page_context: PageContext, title: str, back: str) -> Reply:
    """Asks for the password, on a page that carries the form if it has values."""
    interrupted_form = build_form(_current_path(request), title, request.form_fields())
    operator_id = page_context.operator_session.operator.id
    sealed_form = await seal_form(ctx, operator_id, interrupted_form) if interrupted_form else None
    if sealed_form is None:
        return _confirm_again(back)
    return await confirm_page(request, ctx, page_context, 401, next_path=back, interrupted=sealed_form)


def _current_path(request: Request) -> str:
    query = f"?{request.query_string.decode('latin-1')}" if request.query_string else ""
    return local_path(quote(str(request.scope["path"])) + query)


def _confirm_again(path: str) -> Reply:
    return redirect(f"/admin/confirm?next={quote(local_path(path), safe='/')}")
