"""The shopper of a request: session, cart and cookies; wraps the handlers of pages and forms."""

import re
from collections.abc import Awaitable, Callable
from functools import wraps
from urllib.parse import quote, unquote

import msgspec

from shop.actions.access import login
from shop.actions.access.sessions import UserTokens
from shop.actions.context import Context
from shop.base.actor import GUEST, Claim
from shop.base.crypto.order_tokens import is_current, order_token, read_order_token
from shop.base.crypto.secrets import USER_ACCESS, is_secret, secret_hash
from shop.base.errors import InvalidRefreshToken, InvalidToken, ShopError
from shop.models.access.users import User
from shop.models.cart.orders import Order
from shop.web.cookies import delete_cookie, read_cookies, set_cookie
from shop.web.endpoint import Handler
from shop.web.input.request import Request
from shop.web.reply import Header, Reply
from shop.web.same_origin import check_same_origin
from shop.website.layout import render_error

CART_COOKIE = "__Host-shop_cart"
SESSION_COOKIE = "__Host-shop_session"
REFRESH_COOKIE = "__Host-shop_refresh"
ORDER_COOKIE = "__Host-shop_order"
"""The token of a link to the status of an order."""
PAYMENT_COOKIE = "__Host-shop_payment"
"""The token of a link to the payment of an order. Neither opens the page of the other."""
COUNT_COOKIE = "__Host-shop_count"
"""The number of items in the cart, for the script that shows it; pages in shared caches cannot contain it."""
_SAME_SITE = "Lax"
MAX_PATH_LENGTH = 1000
_LOCAL_PATH = re.compile(r"/[A-Za-z0-9_.~%@:/-]*(?:\?[A-Za-z0-9/_.?=&%+~@:,\[\]-]*)?", re.ASCII)
_OTHER_SITES = ("/admin", "/api", "/mailbox", "/docs", "/test_card", "/sign-in")


class Visit(msgspec.Struct):
    """The shopper of one request, and the cookies that the response sets."""

    cookies: dict[str, str]
    path: str
    """The path and query of the request, to return to after sign-in."""
    user: User | None = None
    new_cookies: list[Header] = []

    def save_cart(self, ctx: Context, order: Order) -> None:
        """Stores the order token of a guest's cart, and the number of items. A user's cart is found by its owner."""
        age = ctx.shared.settings.cart_idle_ttl
        if order.user_id is None or self.user is None:
            token = order_token(ctx.shared.keys, order.id, order.token_version)
            ctx.claim = msgspec.structs.replace(
                ctx.claim, order_token_sent=True, cart_id=order.id, token_version=order.token_version, order_token=token
            )
            self._set(CART_COOKIE, token, age)
        self._set(COUNT_COOKIE, str(order.item_count), age, is_readable=True)

    def forget_cart(self) -> None:
        self._delete(CART_COOKIE)
        self._delete(COUNT_COOKIE)

    def save_session(self, ctx: Context, pair: UserTokens) -> None:
        age = ctx.shared.settings.refresh_idle_ttl
        ctx.claim = msgspec.structs.replace(ctx.claim, bearer=secret_hash(pair.access_token))
        self._set(SESSION_COOKIE, pair.access_token, age)
        self._set(REFRESH_COOKIE, pair.refresh_token, age)

    def forget_session(self) -> None:
        self._delete(SESSION_COOKIE)
        self._delete(REFRESH_COOKIE)
        self.user = None

    def save_order_link(self, token: str, max_age: int) -> None:
        self._set(ORDER_COOKIE, token, max_age)

    def save_payment_link(self, token: str, max_age: int) -> None:
        self._set(PAYMENT_COOKIE, token, max_age)

    def forget_order_links(self) -> None:
        self._delete(ORDER_COOKIE)
        self._delete(PAYMENT_COOKIE)

    def _set(self, name: str, value: str, max_age: int, *, is_readable: bool = False) -> None:
        self.cookies[name] = value
        cookie = set_cookie(name, value, same_site=_SAME_SITE, max_age=max_age, is_readable=is_readable)
        self.new_cookies.append(cookie)

    def _delete(self, name: str) -> None:
        if self.cookies.pop(name, None) is not None:
            self.new_cookies.append(delete_cookie(name, same_site=_SAME_SITE))

    def with_cookies(self, reply: Reply) -> Reply:
        return (
            msgspec.structs.replace(reply, headers=(*reply.headers, *self.new_cookies)) if self.new_cookies else reply
        )


Page = Callable[[Request, Context, Visit], Awaitable[Reply]]


def page(handler: Page) -> Handler:
    """Wraps the handler of a personal page; `visit.user` is None for a guest."""

    @wraps(handler)
    async def answer(request: Request, ctx: Context) -> Reply:
        visit = await start_visit(request, ctx)
        return await reply_with_cookies(request, ctx, visit, handler(request, ctx, visit))

    return answer


def form(handler: Page) -> Handler:
    """Wraps the handler of a form, which must come from our own origin."""

    @wraps(handler)
    async def answer(request: Request, ctx: Context) -> Reply:
        check_same_origin(request, ctx)
        visit = await start_visit(request, ctx)
        return await reply_with_cookies(request, ctx, visit, handler(request, ctx, visit))

    return answer


async def reply_with_cookies(request: Request, ctx: Context, visit: Visit, answer: Awaitable[Reply]) -> Reply:
    """Sends new cookies with an error page too: a refreshed session cannot be refreshed again with the old token."""
    try:
        reply = await answer
    except ShopError as error:
        if not visit.new_cookies:
            raise
        reply = render_error(ctx.shared, error, request.id)
    return visit.with_cookies(reply)


async def start_visit(request: Request, ctx: Context) -> Visit:
    """Reads the cookies, refreshes an expired session, and sets the claim that the actions check."""
    visit = Visit(read_cookies(request), here(request), new_cookies=[])
    ctx.claim = request.claim = read_cookie_claim(visit.cookies, ctx)
    if ctx.claim.bearer is not None or REFRESH_COOKIE in visit.cookies:
        await _sign_in(ctx, visit)
        request.claim = ctx.claim
    return visit


def read_cookie_claim(cookies: dict[str, str], ctx: Context) -> Claim:
    access_token, token = cookies.get(SESSION_COOKIE, ""), cookies.get(CART_COOKIE, "")
    bearer = secret_hash(access_token) if is_secret(USER_ACCESS, access_token) else None
    keys = ctx.shared.keys
    opens = read_order_token(keys, token) if token else None
    if opens is None:
        return Claim(bearer=bearer) if bearer else GUEST
    return Claim(True, *opens, token if is_current(keys, token) else None, bearer)


async def _sign_in(ctx: Context, visit: Visit) -> None:
    if ctx.claim.bearer is not None:
        try:
            visit.user = (await ctx.signed_in()).user
            return
        except InvalidToken:
            ctx.claim = msgspec.structs.replace(ctx.claim, bearer=None)
    refresh_token = visit.cookies.get(REFRESH_COOKIE)
    if refresh_token:
        try:
            # In a context of its own: what the handler writes is not a second write after this commit.
            visit.save_session(ctx, await login.refresh(ctx.with_new_session(), None, refresh_token))
            visit.user = (await ctx.signed_in()).user
            return
        except (InvalidRefreshToken, InvalidToken):
            ctx.claim = msgspec.structs.replace(ctx.claim, bearer=None)
    visit.forget_session()


def here(request: Request) -> str:
    """Returns the path and query of the request."""
    query = f"?{request.query_string.decode('latin-1')}" if request.query_string else ""
    return local_path(quote(str(request.scope["path"])) + query)


def local_path(path: str | None, default: str = "/") -> str:
    """Returns the path if it is a page of the website, else `default`; prevents open redirects."""
    if not path or len(path) > MAX_PATH_LENGTH or not _LOCAL_PATH.fullmatch(path) or path.startswith(_OTHER_SITES):
        return default
    # Browsers resolve dot segments, encoded ones too: `/%2e/admin` would lead to the dashboard.
    plain = unquote(path)
    return default if "//" in plain or "/." in plain else path


def plain_fields(request: Request) -> dict[str, str]:
    """Returns the plain fields of a form, from the body only."""
    return {name: value for name, value in request.body_params().items() if isinstance(value, str)}
