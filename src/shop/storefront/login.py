"""Signing in and out: one address for the three operations of a sign-in, one for its end."""

from collections.abc import Mapping
from typing import Any

from shop.actions import login
from shop.actions.context import Context
from shop.base.errors import Invalid, Malformed
from shop.rules.codes import typed_code
from shop.storefront.inputs import email_of, wrapped
from shop.web.reply import Reply, json_reply
from shop.web.request import Request

NOTICE = {"message": "If this address can receive mail, a code is on its way."}


async def sign_in(request: Request, ctx: Context) -> Reply:
    """What the body's `user` holds selects the operation: a code, a refresh token, or neither."""
    user = wrapped(request, "user")
    if "code" in user and "refresh_token" in user:
        raise Malformed("Send either a code or a refresh_token, not both.")
    if "code" in user:
        return json_reply(await login.exchange_code(ctx, email_of(user), _code(user)))
    if "refresh_token" in user:
        return json_reply(await login.refresh(ctx, email_of(user), _text(user, "refresh_token")))
    await login.request_code(ctx, email_of(user), _names(user))
    return json_reply(NOTICE)


async def sign_out(request: Request, ctx: Context) -> Reply:
    await login.end_session_of(ctx, request.path_params["token"])
    return json_reply({})


def _code(user: Mapping[str, Any]) -> str:
    code = user.get("code")
    typed = typed_code(code) if isinstance(code, str) else None
    if typed is None:
        raise Invalid({"code": ["must be the digits of the mail, or its long code"]})
    return typed


def _text(user: Mapping[str, Any], name: str) -> str:
    value = user.get(name)
    if not isinstance(value, str) or not value:
        raise Invalid({name: ["must be text"]})
    return value


def _names(user: Mapping[str, Any]) -> login.Names:
    names = {name: user.get(name) for name in ("first_name", "last_name")}
    errors = {name: ["must be one line of at most 255 characters"] for name, value in names.items() if not _fits(value)}
    if errors:
        raise Invalid(errors)
    return login.Names(**names)


def _fits(name: Any) -> bool:
    return name is None or (isinstance(name, str) and len(name) <= 255 and name.isprintable())
