"""Sign-in and sign-out endpoints; one endpoint serves the three sign-in operations."""

from collections.abc import Mapping
from typing import Any

from shop.actions.access import login, tokens
from shop.actions.context import Context
from shop.base.email import Email, read_email
from shop.base.errors import Invalid, Malformed
from shop.base.texts import is_line
from shop.rules.access.codes import typed_code
from shop.storefront.inputs import LoginNotice, read_wrapped_object
from shop.web.reply import EmptyObject, Reply, json_reply, token_reply
from shop.web.request import Request

NOTICE = LoginNotice("If this address can receive mail, a code is on its way.")


async def sign_in(request: Request, ctx: Context) -> Reply:
    """Select the operation by the body's `user`: with a code, with a refresh token, or with neither."""
    # Read the body only: a code or token in a URL would appear in logs.
    user = read_wrapped_object(request.body_params(), "user")
    if "code" in user and "refresh_token" in user:
        raise Malformed("Send either a code or a refresh_token, not both.")
    fields = _Fields(user)
    email = fields.email()
    if "code" in user:
        code = fields.code()
        return token_reply(await login.exchange_code(ctx, fields.require_valid(email), code))
    if "refresh_token" in user:
        token = fields.text("refresh_token")
        return token_reply(await login.refresh(ctx, fields.require_valid(email), token))
    names = login.UserNames(fields.name("first_name"), fields.name("last_name"))
    await login.request_code(ctx, fields.require_valid(email), names)
    return json_reply(NOTICE)


async def sign_out(request: Request, ctx: Context) -> Reply:
    await tokens.end_session_of(ctx, tokens.USER, request.path_params["token"])
    return json_reply(EmptyObject())


class _Fields:
    """Reads the fields of `user` and collects the errors of all of them."""

    def __init__(self, user: Mapping[str, Any]) -> None:
        self._user = user
        self._errors: dict[str, list[str]] = {}

    def require_valid(self, email: Email | None) -> Email:
        if self._errors or email is None:
            raise Invalid(self._errors)
        return email

    def email(self) -> Email | None:
        text = self._user.get("email")
        email = read_email(text) if isinstance(text, str) else None
        if email is None:
            self._errors["email"] = ["must be one e-mail address"]
        return email

    def code(self) -> str:
        code = self._user.get("code")
        login_code = typed_code(code) if isinstance(code, str) else None
        if login_code is None:
            self._errors["code"] = ["must be the digits of the mail, or its long code"]
        return login_code or ""

    def text(self, name: str) -> str:
        value = self._user.get(name)
        if not isinstance(value, str) or not value:
            self._errors[name] = ["must be text"]
            return ""
        return value

    def name(self, name: str) -> str | None:
        value = self._user.get(name)
        if value is None or (isinstance(value, str) and len(value) <= 255 and is_line(value)):
            return value
        self._errors[name] = ["must be one line of at most 255 characters"]
        return None
