"""Pages and forms that require a session. A form that arrives after the session ended is kept: after sign-in, the
shopper sends it again with one button.
"""

import re
from collections.abc import Mapping
from functools import wraps
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import msgspec

from shop.actions.context import Context
from shop.base.errors import RateLimitError
from shop.web.cookies import read_cookies
from shop.web.input.parameters import MAX_PARAMS
from shop.web.input.request import Request
from shop.web.reply import Reply
from shop.website.layout import show_page
from shop.website.pages import redirect
from shop.website.visits import REFRESH_COOKIE, SESSION_COOKIE, Page, Visit, local_path

ACCOUNT = "/account"
MAX_FORM_SIZE = 16 * 1024
"""The largest form that is kept, in bytes of its encoded fields."""
_FORM_PATH = re.compile(r"/(?:account|cart|checkout|orders)(?:/[A-Za-z0-9_-]+)+", re.ASCII)


class SignInDestination(msgspec.Struct, frozen=True):
    """Where the shopper continues after sign-in: a page, or a form that was sent without a session."""

    path: str = ACCOUNT
    form: str = ""
    """The encoded fields of the form; empty for a page."""
    is_form_lost: bool = False
    """Whether a form was too large to keep."""

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The fields of the form by name, in their order."""
        return parse_qsl(self.form, keep_blank_values=True, max_num_fields=MAX_PARAMS)


def read_destination(fields: Mapping[str, Any]) -> SignInDestination:
    """Reads `next` and `resume`; a destination that is not a page or form of the website becomes the account."""
    path, form = fields.get("next"), fields.get("resume")
    path = local_path(path if isinstance(path, str) else None, ACCOUNT)
    if not isinstance(form, str) or not form:
        return SignInDestination(path)
    return SignInDestination(path, form) if _is_form(path, form) else SignInDestination()


def _is_form(path: str, form: str) -> bool:
    """Whether the path can belong to a form of the website, and the fields can be sent to it again."""
    if len(form) > MAX_FORM_SIZE or not form.isascii() or not _FORM_PATH.fullmatch(path):
        return False
    try:
        return bool(parse_qsl(form, keep_blank_values=True, strict_parsing=True, max_num_fields=MAX_PARAMS))
    except ValueError:
        return False


def require_user(handler: Page) -> Page:
    """Wraps a page: a guest signs in first, and then returns to it."""

    @wraps(handler)
    async def answer(request: Request, ctx: Context, visit: Visit) -> Reply:
        if visit.user is None:
            return redirect(sign_in_url(visit.path))
        return await handler(request, ctx, visit)

    return answer


def require_user_form(handler: Page) -> Page:
    """Wraps a form: a guest, or a shopper whose session has ended, signs in first, and then sends it again."""

    @wraps(handler)
    async def answer(request: Request, ctx: Context, visit: Visit) -> Reply:
        if visit.user is None:
            return await ask_to_sign_in(request, ctx, visit)
        return await handler(request, ctx, visit)

    return answer


def sign_in_url(path: str) -> str:
    return f"/sign-in?next={quote(path, safe='/')}"


def has_lost_session(request: Request, visit: Visit) -> bool:
    """Whether the shopper was signed in, and the session has ended."""
    cookies = read_cookies(request)
    return visit.user is None and (SESSION_COOKIE in cookies or REFRESH_COOKIE in cookies)


async def ask_to_sign_in(request: Request, ctx: Context, visit: Visit) -> Reply:
    """Shows the sign-in page, which keeps the form that was just sent."""
    return await show_sign_in(request, ctx, visit, keep_form(request, visit), 401)


def keep_form(request: Request, visit: Visit) -> SignInDestination:
    form = request.body.decode("ascii", "replace") if request.is_form else ""
    if _is_form(visit.path, form):
        return SignInDestination(visit.path, form)
    return SignInDestination(_page_of_form(request), is_form_lost=bool(request.body))


def _page_of_form(request: Request) -> str:
    """Returns the page that the form was on, by the Referer, which only our own pages send."""
    referer = urlsplit(request.headers.get(b"referer", b"").decode("latin-1"))
    return local_path(f"{referer.path}?{referer.query}" if referer.query else referer.path, ACCOUNT)


async def show_sign_in(
    request: Request, ctx: Context, visit: Visit, destination: SignInDestination, status: int = 200, **values: Any
) -> Reply:
    """Shows the page that asks for the e-mail address."""
    page = {"title": "Sign in", "destination": destination, "email": "", **values}
    return await show_page(ctx, request, visit, "account/sign_in.html", status, **page)


def with_retry_after(reply: Reply, error: RateLimitError) -> Reply:
    headers = (*reply.headers, (b"retry-after", str(error.retry_after).encode()))
    return msgspec.structs.replace(reply, headers=headers)
