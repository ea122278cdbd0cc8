"""Sign-in and sign-out endpoints; one endpoint serves the three sign-in operations."""

from typing import cast

from shop.actions.access import login, sessions
from shop.actions.context import Context
from shop.base.email import Email, read_email
from shop.base.errors import Malformed
from shop.models.access.inputs import LoginCodeUser, LoginUser, TokenRefreshUser
from shop.storefront.inputs import LoginNotice
from shop.web.input.inputs import get_object, read_input
from shop.web.input.request import Request
from shop.web.reply import EmptyObject, Reply, json_reply, token_reply

NOTICE = LoginNotice("If this address can receive e-mail, a code is sent to it.")


async def sign_in(request: Request, ctx: Context) -> Reply:
    """Selects the operation by the members of `user`: a code, a refresh token, or neither."""
    # Read the body only: a code or token in a URL would appear in logs.
    members = get_object(request.body_params(), "user")
    if "code" in members and "refresh_token" in members:
        raise Malformed("Send either a code or a refresh_token, not both.")
    if "code" in members:
        user = read_input(LoginUser, members)
        return token_reply(await login.exchange_code(ctx, _email(user.email), user.code))
    if "refresh_token" in members:
        session = read_input(TokenRefreshUser, members)
        return token_reply(await login.refresh(ctx, _email(session.email), session.refresh_token))
    new_user = read_input(LoginCodeUser, members)
    names = login.UserNames(new_user.first_name, new_user.last_name)
    await login.request_code(ctx, _email(new_user.email), names)
    return json_reply(NOTICE)


async def sign_out(request: Request, ctx: Context) -> Reply:
    await sessions.end_session_of(ctx, sessions.USER, request.path_params["token"])
    return json_reply(EmptyObject())


def _email(address: str) -> Email:
    """Returns the identity of an address that `read_input` has accepted."""
    return cast(Email, read_email(address))
