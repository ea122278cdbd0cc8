"""The OAuth token endpoints of applications (RFC 6749, 7009, 7662 and 8414)."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote_plus

from shop.actions.access import login, oauth, sessions
from shop.actions.access.oauth import Client
from shop.actions.context import Context
from shop.base.errors import InvalidGrant, InvalidRefreshToken, Malformed, UnsupportedGrant
from shop.platform.inputs import AuthorizationServer, TokenState
from shop.rules.access.permissions import SCOPE_WORDS
from shop.web.credentials import check_repeated
from shop.web.input.request import Request
from shop.web.reply import EmptyObject, Reply, json_reply, token_reply

_GRANTS = ["client_credentials", "refresh_token"]
_BY_SECRET = ["client_secret_basic", "client_secret_post"]


async def token(request: Request, ctx: Context) -> Reply:
    fields = _fields(request)
    grant_type, scope, refresh_token = (fields.get(name) for name in ("grant_type", "scope", "refresh_token"))
    if not grant_type:
        raise Malformed("Send the grant_type.")
    if grant_type not in _GRANTS:
        raise UnsupportedGrant()
    if grant_type == "refresh_token" and not refresh_token:
        raise Malformed("Send the refresh_token.")
    client = _client(request, fields)
    if grant_type == "refresh_token" and client is None and sessions.is_token_of(sessions.USER, refresh_token or ""):
        return token_reply(await _refresh_shopper(ctx, refresh_token or ""))
    application = await oauth.authenticate(ctx, client)
    if grant_type == "refresh_token":
        return token_reply(await oauth.refresh(ctx, application, refresh_token or "", scope))
    return token_reply(await oauth.grant(ctx, application, scope))


async def _refresh_shopper(ctx: Context, refresh_token: str) -> sessions.UserTokens:
    """Refreshes a shopper's session by the token alone, without a client, as Spree clients do."""
    try:
        return await login.refresh(ctx, None, refresh_token)
    except InvalidRefreshToken:
        raise InvalidGrant() from None


async def revoke(request: Request, ctx: Context) -> Reply:
    """Revokes a token. The bearer of a shopper's token can revoke it. Only the authenticated application can revoke its
    platform token (RFC 7009, 2.1), so that a leaked token cannot be used to sign the application out.
    """
    fields = _fields(request)
    token = _token(fields)
    if sessions.is_token_of(sessions.PLATFORM, token):
        application = await oauth.authenticate(ctx, _client(request, fields))
        if await oauth.introspect(ctx, application, token):
            await sessions.end_session_of(ctx, sessions.PLATFORM, token)
    else:
        await sessions.end_session_of(ctx, sessions.USER, token)
    return json_reply(EmptyObject())


async def introspect(request: Request, ctx: Context) -> Reply:
    fields = _fields(request)
    token = _token(fields)
    application = await oauth.authenticate(ctx, _client(request, fields))
    state = await oauth.introspect(ctx, application, token)
    if state is None:
        return json_reply(TokenState(False))
    return json_reply(TokenState(True, state.scope, application.client_id, "Bearer", state.issued_at, state.expires_at))


async def metadata(request: Request, ctx: Context) -> Reply:
    issuer = request.url(ctx.shared.settings.public_url).partition("/.well-known/")[0]
    return json_reply(
        AuthorizationServer(
            issuer=issuer,
            token_endpoint=f"{issuer}/shop_oauth/token",
            token_endpoint_auth_methods_supported=[*_BY_SECRET, "none"],
            grant_types_supported=_GRANTS,
            response_types_supported=[],
            scopes_supported=list(SCOPE_WORDS),
            revocation_endpoint=f"{issuer}/shop_oauth/revoke",
            revocation_endpoint_auth_methods_supported=[*_BY_SECRET, "none"],
            introspection_endpoint=f"{issuer}/shop_oauth/introspect",
            introspection_endpoint_auth_methods_supported=_BY_SECRET,
            service_documentation=f"{issuer}/docs",
        )
    )


def _fields(request: Request) -> Mapping[str, str]:
    """Returns the body parameters, all text. URLs are logged by proxies, so query parameters are rejected."""
    check_repeated(request.scope["headers"])
    if request.query_string:
        raise Malformed("Send the parameters in the body, not in the URL.")
    if request.is_form:
        names = [name for name, _ in parse_qsl(request.body.decode("latin-1"), keep_blank_values=True)]
        if len(names) != len(set(names)):
            raise Malformed("A parameter was sent twice.")
    fields: Mapping[str, Any] = request.body_params()
    for name, value in fields.items():
        if not isinstance(value, str):
            raise Malformed(f"The parameter {name[:100]!r} must be text.")
    return fields


def _token(fields: Mapping[str, str]) -> str:
    token = fields.get("token")
    if not token:
        raise Malformed("Send the token in the body as `token`.")
    return token


def _client(request: Request, fields: Mapping[str, str]) -> Client | None:
    """Returns the client credentials from HTTP Basic or the body; raises if they are sent twice or differ."""
    basic = _basic(request.headers.get(b"authorization"))
    if basic is None:
        secret = fields.get("client_secret")
        return Client(fields.get("client_id", ""), secret) if secret else None
    if "client_secret" in fields or fields.get("client_id", basic.id) != basic.id:
        raise Malformed("Send the client's id and secret once: in the header or in the body.")
    return basic


def _basic(authorization: bytes | None) -> Client | None:
    scheme, _, credentials = (authorization or b"").partition(b" ")
    if scheme.lower() != b"basic":
        return None
    try:
        client_id, colon, secret = base64.b64decode(credentials.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        raise Malformed("The Authorization header is not valid HTTP Basic.") from None
    client = Client(unquote_plus(client_id), unquote_plus(secret))
    if not colon or "\x00" in client.id + client.secret:
        raise Malformed("The Authorization header is not valid HTTP Basic.")
    return client
