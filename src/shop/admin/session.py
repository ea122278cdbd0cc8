"""Operator sessions: cookie, CSRF protection and password confirmation."""

from collections.abc import Awaitable, Callable
from functools import wraps
from urllib.parse import quote

from shop.actions.access import operator_login
from shop.actions.context import Context
from shop.admin.pages import PageContext, PermissionFinder, bare_page, page, redirect
from shop.base.actor import Actor
from shop.base.errors import Forbidden, Unauthenticated
from shop.rules.access.operators import csrf_token, is_csrf_token, local_path
from shop.rules.access.permissions import SELF, describe_permission
from shop.rules.access.roles import permissions_of
from shop.web.cookies import delete_cookie, read_cookies, set_cookie
from shop.web.endpoint import Handler
from shop.web.input.request import Request
from shop.web.reply import Header, Reply
from shop.web.same_origin import check_same_origin

COOKIE = "__Host-shop_operator"
_CHALLENGE: Header = (b"www-authenticate", b'Cookie realm="dashboard"')
_STALE_FORM = "This form belongs to another session. Reload the page and try again. Nothing was changed."
_SESSION_ENDED = "Your session has ended, and nothing was changed. Sign in again."

Page = Callable[[Request, Context, PageContext], Awaitable[Reply]]


def cookie(secret: str) -> Header:
    return set_cookie(COOKIE, secret, same_site="Strict")


FORGET: Header = delete_cookie(COOKIE, same_site="Strict")


def session_hash(request: Request) -> bytes | None:
    """Returns the hash of the session cookie, or None without a valid one."""
    secret = read_cookies(request).get(COOKIE)
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
                return sign_in_page(ctx, 401, next_path=_current_path(request))
            if not page_context.can(permission):
                return _forbidden_page(page_context, permission)
            if fresh and not page_context.operator_session.is_fresh:
                return _confirm_again(_current_path(request))
            return await handler(request, ctx, page_context)

        return answer

    def act(self, handler: Page, permission: str, *, back: str | None = None) -> Handler:
        """Wraps the handler of a form that needs the permission. `back` requires a recent password confirmation, which
        returns to that page.

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
                return sign_in_page(ctx, 401, notice=_SESSION_ENDED)
            if not page_context.can(permission):
                return _forbidden_page(page_context, permission)
            if back is not None and not page_context.operator_session.is_fresh:
                return _confirm_again(back.format(**request.path_params))
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


def _forbidden_page(page_context: PageContext, permission: str) -> Reply:
    return page("access/forbidden.html", page_context, 403, sentence=missing_permission(permission))


def sign_in_page(
    ctx: Context,
    status: int = 200,
    *,
    next_path: str = "/admin",
    **values: str | None,
) -> Reply:
    headers = (_CHALLENGE,) if status == 401 else ()
    values = {"email": "", "error_message": None, **values}
    return bare_page("access/sign_in.html", status, headers, shop=ctx.shared.shop, next=local_path(next_path), **values)


def _current_path(request: Request) -> str:
    query = f"?{request.query_string.decode('latin-1')}" if request.query_string else ""
    return local_path(quote(str(request.scope["path"])) + query)


def _confirm_again(path: str) -> Reply:
    return redirect(f"/admin/confirm?next={quote(local_path(path), safe='/')}")
