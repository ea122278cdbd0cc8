"""Sign-in with a code from an e-mail, and sign-out."""

from typing import Any

from shop.actions.access import login
from shop.actions.access import sessions as tokens
from shop.actions.cart.sign_in import sign_in
from shop.actions.context import Context
from shop.base.email import Email, read_email
from shop.base.errors import Invalid, InvalidCode, RateLimitError
from shop.models.access.inputs import LoginCodeUser, LoginUser
from shop.web.input.inputs import read_input
from shop.web.input.request import Request
from shop.web.reply import Reply
from shop.website.account.access import SignInDestination, read_destination, show_sign_in, with_retry_after
from shop.website.layout import show_page
from shop.website.pages import notice_of, redirect
from shop.website.visits import REFRESH_COOKIE, SESSION_COOKIE, Visit, plain_fields

RESEND_SECONDS = 30
_WRONG_ADDRESS = "Enter your e-mail address, like name@example.com."
_WRONG_CODE = "This code is wrong, used or expired. Use the code in our newest e-mail, or send a new one."
_TOO_MANY = "There were too many attempts. Please wait a few minutes and try again."


async def show(request: Request, ctx: Context, visit: Visit) -> Reply:
    # A kept form is read from a body only: a link cannot prepare one.
    destination = read_destination({"next": request.query.get("next")})
    if visit.user is not None:
        return redirect(destination.path)
    notice = notice_of(request, {"signed-out": "You are signed out."})
    return await show_sign_in(request, ctx, visit, destination, notice=notice)


async def send_code(request: Request, ctx: Context, visit: Visit) -> Reply:
    """Sends a code and asks for it; the page is the same for known and unknown addresses."""
    fields = plain_fields(request)
    destination, address = read_destination(fields), fields.get("email", "")
    email = _read_email(address)
    if email is None:
        values: dict[str, Any] = {"email": address, "errors": {"email": [_WRONG_ADDRESS]}}
        return await show_sign_in(request, ctx, visit, destination, 422, **values)
    try:
        await login.request_code(ctx, email, login.UserNames())
    except RateLimitError as error:
        values = {"email": address, "errors": {"email": [_TOO_MANY]}}
        return with_retry_after(await show_sign_in(request, ctx, visit, destination, 429, **values), error)
    notice = "We sent a new code." if "resend" in fields else None
    return await _show_code_page(request, ctx, visit, destination, email, notice=notice)


async def exchange_code(request: Request, ctx: Context, visit: Visit) -> Reply:
    """Signs in with the code, joins the carts, and continues where the shopper was."""
    fields = plain_fields(request)
    destination, email = read_destination(fields), _read_email(fields.get("email", ""))
    if email is None:
        return await show_sign_in(request, ctx, visit, destination, 422, errors={"email": [_WRONG_ADDRESS]})
    if visit.user is not None and visit.user.email_key == email.key:
        # The form was sent twice, and the code of the second is used.
        return await _continue(request, ctx, visit, destination)
    try:
        code = read_input(LoginUser, {"email": email.address, "code": fields.get("code", "")}).code
        result = await sign_in(ctx, email, code, visit.cookies.get(SESSION_COOKIE))
    except (Invalid, InvalidCode):
        errors = {"code": [_WRONG_CODE]}
        return await _show_code_page(request, ctx, visit, destination, email, 401, errors=errors)
    except RateLimitError as error:
        errors = {"code": [_TOO_MANY]}
        page = await _show_code_page(request, ctx, visit, destination, email, 429, errors=errors)
        return with_retry_after(page, error)
    visit.save_session(ctx, result.tokens)
    visit.user = result.user
    if not result.keeps_guest_cart:
        visit.forget_cart()
    if result.cart is not None:
        visit.save_cart(ctx, result.cart)
    return await _continue(request, ctx, visit, destination)


async def sign_out(_request: Request, ctx: Context, visit: Visit) -> Reply:
    """Ends the session and deletes all cookies of the shopper."""
    token = visit.cookies.get(SESSION_COOKIE) or visit.cookies.get(REFRESH_COOKIE)
    if token:
        await tokens.end_session_of(ctx, tokens.USER, token)
    visit.forget_session()
    visit.forget_cart()
    visit.forget_order_links()
    return redirect("/sign-in?done=signed-out")


def _read_email(text: str) -> Email | None:
    try:
        return read_email(read_input(LoginCodeUser, {"email": text}).email)
    except Invalid:
        return None


async def _show_code_page(
    request: Request,
    ctx: Context,
    visit: Visit,
    destination: SignInDestination,
    email: Email,
    status: int = 200,
    **values: Any,
) -> Reply:
    settings = ctx.shared.settings
    page = {
        "title": "Enter your code",
        "destination": destination,
        "email": email.address,
        "minutes": max(1, settings.login_code_ttl // 60),
        "resend_seconds": RESEND_SECONDS,
        "has_mailbox": ctx.is_try_out and settings.mailbox != "off",
        **values,
    }
    return await show_page(ctx, request, visit, "account/code.html", status, **page)


async def _continue(request: Request, ctx: Context, visit: Visit, destination: SignInDestination) -> Reply:
    """Redirects to the page, or offers to send the kept form again."""
    if not destination.form:
        return redirect(destination.path)
    return await show_page(ctx, request, visit, "account/continue.html", title="Continue", destination=destination)
