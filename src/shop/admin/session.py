"""Who is at the dashboard: the cookie, the proof that a form is ours, and the password again where it matters."""

from collections.abc import Awaitable, Callable
from functools import wraps
from urllib.parse import quote

from shop.actions.access import operator_login
from shop.actions.context import Context
from shop.admin.pages import Visit, bare_page, redirect
from shop.base.actor import Actor
from shop.base.errors import Forbidden, Unauthenticated
from shop.rules.access.operators import csrf_token, is_csrf_token, local_path
from shop.web.endpoint import Handler
from shop.web.reply import Header, Reply
from shop.web.request import Request

COOKIE = "__Host-shop_operator"
_ATTRIBUTES = "Path=/; Secure; HttpOnly; SameSite=Strict"
_CHALLENGE: Header = (b"www-authenticate", b'Cookie realm="dashboard"')
_NOT_THIS_SESSION = "This form is not of your present session; open its page again. Nothing was changed."
_ENDED = "Your session has ended, and nothing was changed. Sign in again."

Page = Callable[[Request, Context, Visit], Awaitable[Reply]]


def cookie(secret: str) -> Header:
    return (b"set-cookie", f"{COOKIE}={secret}; {_ATTRIBUTES}".encode())


FORGET: Header = (b"set-cookie", f"{COOKIE}=; Max-Age=0; {_ATTRIBUTES}".encode())


def session_hash(request: Request) -> bytes | None:
    """What is kept of the cookie's secret. Two cookies of the name are none: someone else set one of them."""
    sent = b";".join(value for name, value in request.scope["headers"] if name == b"cookie").decode("latin-1")
    pairs = [part.strip().partition("=") for part in sent.split(";")]
    found = {value for name, _, value in pairs if name == COOKIE}
    return operator_login.session_hash_of(found.pop()) if len(found) == 1 else None


def form(request: Request) -> dict[str, str]:
    """The plain fields of a form, from the body alone."""
    return {name: value for name, value in request.body_params().items() if isinstance(value, str)}


def typed_code(fields: dict[str, str], name: str = "code") -> str:
    """The authenticator's code, or the recovery code that was typed in its place."""
    return fields.get(name) or fields.get("recovery_code", "")


def check_same_origin(request: Request, ctx: Context) -> None:
    """A form of ours says where it comes from; what says nothing is not a form of ours."""
    site = request.headers.get(b"sec-fetch-site")
    if site is not None:
        is_ours = site == b"same-origin"
    else:
        own = request.origin(ctx.shared.settings.public_url).encode("latin-1")
        is_ours = request.headers.get(b"origin") == own
    if not is_ours:
        raise Forbidden("This form was sent from another site, or does not say from where; nothing was changed.")


def outside(handler: Handler) -> Handler:
    """A form of someone who is not signed in: it must come from our own page."""

    @wraps(handler)
    async def answer(request: Request, ctx: Context) -> Reply:
        check_same_origin(request, ctx)
        return await handler(request, ctx)

    return answer


class Gate:
    """Lets operators through to their pages."""

    def __init__(self, *, has_mailbox: bool) -> None:
        self._has_mailbox = has_mailbox

    def page(self, handler: Page, *, fresh: bool = False) -> Handler:
        """A page to look at."""

        @wraps(handler)
        async def answer(request: Request, ctx: Context) -> Reply:
            visit = await self._visit(request, ctx)
            if visit is None:
                return sign_in_page(ctx, 401, following=_here(request))
            if fresh and not visit.who.is_fresh:
                return _ask_again(_here(request))
            return await handler(request, ctx, visit)

        return answer

    def act(self, handler: Page, *, back: str | None = None) -> Handler:
        """A form that changes something. With `back`, the password must be fresh, and that page is where to go on.

        The form is looked at before the session: a forged one learns nothing, not even whether someone is signed in.
        """

        @wraps(handler)
        async def answer(request: Request, ctx: Context) -> Reply:
            check_same_origin(request, ctx)
            sent = session_hash(request)
            token = form(request).get("csrf", "")
            if sent is None or not is_csrf_token(ctx.shared.keys, sent, token):
                raise Forbidden(_NOT_THIS_SESSION)
            visit = await self._visit(request, ctx)
            if visit is None:
                return sign_in_page(ctx, 401, notice=_ENDED)
            if back is not None and not visit.who.is_fresh:
                return _ask_again(back.format(**request.path_params))
            return await handler(request, ctx, visit)

        return answer

    async def admit(self, request: Request, ctx: Context) -> None:
        """Asked before a form with files is read; the form itself is looked at as any other afterwards."""
        check_same_origin(request, ctx)
        sent = session_hash(request)
        if sent is None:
            raise Forbidden(_NOT_THIS_SESSION)
        if await operator_login.find_signed_in(ctx, sent) is None:
            raise Unauthenticated(_ENDED)

    async def _visit(self, request: Request, ctx: Context) -> Visit | None:
        sent = session_hash(request)
        who = await operator_login.find_signed_in(ctx, sent) if sent else None
        if sent is None or who is None:
            return None
        ctx.actor = Actor("operator", who.operator.id)
        shared = ctx.shared
        origin = request.origin(shared.settings.public_url)
        csrf = csrf_token(shared.keys, sent)
        return Visit(who, csrf, shared.shop, origin, str(request.scope["path"]), self._has_mailbox)


def sign_in_page(
    ctx: Context,
    status: int = 200,
    *,
    following: str = "/admin",
    **values: str | None,
) -> Reply:
    headers = (_CHALLENGE,) if status == 401 else ()
    values = {"email": "", "refused": None, **values}
    return bare_page("sign_in.html", status, headers, shop=ctx.shared.shop, next=local_path(following), **values)


def _here(request: Request) -> str:
    query = f"?{request.query_string.decode('latin-1')}" if request.query_string else ""
    return local_path(quote(str(request.scope["path"])) + query)


def _ask_again(path: str) -> Reply:
    return redirect(f"/admin/confirm?next={quote(local_path(path), safe='/')}")
