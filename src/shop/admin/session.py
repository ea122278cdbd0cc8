"""Operator sessions: cookie, CSRF protection and password confirmation."""

from collections.abc import Awaitable, Callable
from functools import wraps
from urllib.parse import quote

from shop.actions.access import operator_login
from shop.actions.context import Context
from shop.admin.pages import PageContext, bare_page, redirect
from shop.base.actor import Actor
from shop.base.errors import Forbidden, Unauthenticated
from shop.rules.access.operators import csrf_token, is_csrf_token, local_path
from shop.rules.access.passkeys import find_relying_party
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

    def page(self, handler: Page, *, fresh: bool = False) -> Handler:
        """Wraps the handler of a page; `fresh` requires a recent password confirmation."""

        @wraps(handler)
        async def answer(request: Request, ctx: Context) -> Reply:
            page_context = await self._load_page_context(request, ctx)
            if page_context is None:
                return sign_in_page(request, ctx, 401, next_path=_current_path(request))
            if fresh and not page_context.operator_session.is_fresh:
                return _confirm_again(_current_path(request))
            return await handler(request, ctx, page_context)

        return answer

    def act(self, handler: Page, *, back: str | None = None) -> Handler:
        """Wraps the handler of a form. `back` requires a recent password confirmation, which returns to that page.

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
                return sign_in_page(request, ctx, 401, notice=_SESSION_ENDED)
            if back is not None and not page_context.operator_session.is_fresh:
                return _confirm_again(back.format(**request.path_params))
            return await handler(request, ctx, page_context)

        return answer

    async def admit(self, request: Request, ctx: Context) -> None:
        """Authorizes an upload before its body is read; `act` then checks the form like any other."""
        check_same_origin(request, ctx)
        token_hash = session_hash(request)
        if token_hash is None:
            raise Forbidden(_STALE_FORM)
        if await operator_login.find_session(ctx, token_hash) is None:
            raise Unauthenticated(_SESSION_ENDED)

    async def _load_page_context(self, request: Request, ctx: Context) -> PageContext | None:
        token_hash = session_hash(request)
        operator_session = await operator_login.find_session(ctx, token_hash) if token_hash else None
        if token_hash is None or operator_session is None:
            return None
        ctx.actor = Actor("operator", operator_session.operator.id)
        shared = ctx.shared
        origin = request.origin(shared.settings.public_url)
        csrf = csrf_token(shared.keys, token_hash)
        return PageContext(operator_session, csrf, shared.shop, origin, str(request.scope["path"]), self._has_mailbox)


def sign_in_page(
    request: Request,
    ctx: Context,
    status: int = 200,
    *,
    next_path: str = "/admin",
    **values: str | None,
) -> Reply:
    headers = (_CHALLENGE,) if status == 401 else ()
    values = {"email": "", "error_message": None, **values}
    party, _ = find_relying_party(ctx.shared.settings.public_url, request.origin(None))
    return bare_page(
        "access/sign_in.html",
        status,
        headers,
        shop=ctx.shared.shop,
        next=local_path(next_path),
        offers_passkeys=party is not None,
        **values,
    )


def _current_path(request: Request) -> str:
    query = f"?{request.query_string.decode('latin-1')}" if request.query_string else ""
    return local_path(quote(str(request.scope["path"])) + query)


def _confirm_again(path: str) -> Reply:
    return redirect(f"/admin/confirm?next={quote(local_path(path), safe='/')}")
