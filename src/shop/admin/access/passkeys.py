"""Pages of passkeys: add, rename and remove them, sign in and confirm with one. They need a script by nature."""

from collections.abc import Mapping
from typing import Any

import msgspec

from shop.actions.access import passkeys
from shop.actions.access.passkeys import Ceremony
from shop.actions.context import Context
from shop.admin.access.account import PATH
from shop.admin.fields import id_of
from shop.admin.pages import PageContext, page, redirect
from shop.admin.session import form, refuse_confirmation, refuse_sign_in, session_hash, session_reply
from shop.base.crypto.passkeys import RelyingParty
from shop.base.crypto.secrets import new_bytes
from shop.base.errors import Conflict, Invalid, InvalidSignIn, Malformed
from shop.rules.access.passkeys import CHALLENGE_SECONDS, find_relying_party
from shop.web.cookies import delete_cookie, read_cookies, set_cookie
from shop.web.input.request import Request
from shop.web.input.strict_json import load_json
from shop.web.reply import DASHBOARD_HEADERS, Header, Reply, json_reply

COOKIE = "__Host-shop_passkey"
"""Binds the challenge of a sign-in to the browser that asked for it."""
_FORGET = delete_cookie(COOKIE, same_site="Strict")


async def start_sign_in(request: Request, ctx: Context) -> Reply:
    browser = new_bytes(16).hex()
    options = await passkeys.new_sign_in_options(ctx, _ceremony(request, ctx, browser))
    return _json(options, set_cookie(COOKIE, browser, same_site="Strict", max_age=CHALLENGE_SECONDS))


async def sign_in(request: Request, ctx: Context) -> Reply:
    fields = form(request)
    ceremony = _ceremony(request, ctx, read_cookies(request).get(COOKIE, ""))
    try:
        entry = await passkeys.sign_in(ctx, ceremony, _credential(fields))
    except InvalidSignIn as error:
        return refuse_sign_in(request, ctx, fields, error)
    return await session_reply(ctx, entry.operator_id, entry.secret or "", fields, _FORGET)


async def start_confirmation(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    ceremony = _session_ceremony(request, ctx)
    return _json(await passkeys.new_confirmation_options(ctx, page_context.operator_session, ceremony))


async def confirm(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields, operator_session = form(request), page_context.operator_session
    try:
        secret = await passkeys.confirm(ctx, operator_session, _session_ceremony(request, ctx), _credential(fields))
    except InvalidSignIn as error:
        return await refuse_confirmation(request, ctx, page_context, fields, error)
    return await session_reply(ctx, operator_session.operator.id, secret, fields)


async def show_new(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    return _new_page(request, ctx, page_context, "")


async def start_registration(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    ceremony = _session_ceremony(request, ctx)
    return _json(await passkeys.new_registration_options(ctx, page_context.operator_session, ceremony))


async def add(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields = form(request)
    name, ceremony = fields.get("name", ""), _session_ceremony(request, ctx)
    try:
        await passkeys.add_passkey(ctx, page_context.operator_session, ceremony, _credential(fields), name)
    except Invalid as error:
        return _new_page(request, ctx, page_context, name, 422, errors=error.errors)
    except Conflict as error:
        return _new_page(request, ctx, page_context, name, 409, error_message=error.sentence)
    return redirect(f"{PATH}?done=passkey-added")


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    passkey = await passkeys.get_passkey(ctx, page_context.operator_session.operator.id, id_of(request, "passkey_id"))
    return page("access/passkey.html", page_context, passkey=passkey, name=passkey.name)


async def rename(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    operator_id, passkey_id = page_context.operator_session.operator.id, id_of(request, "passkey_id")
    name = form(request).get("name", "")
    try:
        await passkeys.rename_passkey(ctx, operator_id, passkey_id, name)
    except Invalid as error:
        passkey = await passkeys.get_passkey(ctx, operator_id, passkey_id)
        return page("access/passkey.html", page_context, 422, passkey=passkey, name=name, errors=error.errors)
    return redirect(f"{PATH}?done=passkey-renamed")


async def remove(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    await passkeys.remove_passkey(ctx, page_context.operator_session, id_of(request, "passkey_id"))
    return redirect(f"{PATH}?done=passkey-removed")


def unavailable_reason(request: Request, ctx: Context) -> str:
    """Returns why passkeys cannot be used at this address; empty if they can."""
    return _find_party(request, ctx)[1]


def _find_party(request: Request, ctx: Context) -> tuple[RelyingParty | None, str]:
    return find_relying_party(ctx.shared.settings.public_url, request.origin(None))


def _ceremony(request: Request, ctx: Context, browser: str) -> Ceremony:
    party, reason = _find_party(request, ctx)
    if party is None:
        raise Conflict(reason)
    return Ceremony(party, browser)


def _session_ceremony(request: Request, ctx: Context) -> Ceremony:
    return _ceremony(request, ctx, (session_hash(request) or b"").hex())


def _credential(fields: Mapping[str, str]) -> Mapping[str, Any]:
    """Returns what the authenticator answered, as the script sends it."""
    credential = load_json(fields.get("credential", "").encode())
    if not isinstance(credential, dict) or not isinstance(credential.get("response"), dict):
        raise Malformed("The answer of the authenticator cannot be read.")
    return credential


def _json(options: Mapping[str, Any], *headers: Header) -> Reply:
    reply = json_reply(options)
    return msgspec.structs.replace(reply, headers=(*reply.headers, *headers), security=DASHBOARD_HEADERS)


def _new_page(
    request: Request, ctx: Context, page_context: PageContext, name: str, status: int = 200, **values: Any
) -> Reply:
    values = {"error_message": None, **values}
    reason = unavailable_reason(request, ctx)
    return page("access/passkey_new.html", page_context, status, name=name, reason=reason, **values)
