"""OAuth for applications: client authentication, token grants, refresh and introspection."""

from collections.abc import Iterable

import msgspec

from shop.actions import rate_limits
from shop.actions.access import sessions
from shop.actions.audit import audit
from shop.actions.context import Context
from shop.base.actor import Actor
from shop.base.crypto.secrets import CLIENT_SECRET, PLATFORM_ACCESS, PLATFORM_REFRESH, is_secret, secret_hash
from shop.base.errors import InsufficientScope, InvalidClient, InvalidGrant, InvalidScope
from shop.models.access.applications import Application
from shop.queries.access import applications
from shop.queries.access.applications import LiveToken
from shop.rules.access.permissions import Act, can_read_everything, can_write_everything, is_grantable, scope_words

MAX_ID_LENGTH = 200


class Client(msgspec.Struct, frozen=True):
    """Client credentials of an application."""

    id: str
    secret: str

    def __repr__(self) -> str:
        return "Client(…)"


async def authenticate(ctx: Context, client: Client | None) -> Application:
    """Returns the application; an unknown id and a wrong secret raise the same error."""
    application = None
    if client and is_secret(CLIENT_SECRET, client.secret) and len(client.id) <= MAX_ID_LENGTH:
        application = await applications.authenticate(
            ctx.db, client_id=client.id, secret_hash=secret_hash(client.secret)
        )
    if application is None:
        await rate_limits.record_bad_client(ctx, client.id[:MAX_ID_LENGTH] if client else None)
        raise InvalidClient()
    ctx.actor = Actor("application", application.id)
    return application


async def authorize(ctx: Context, act: Act) -> None:
    """Checks that the application's token allows `act`; audits a denial."""
    try:
        await ctx.application(act)
    except InsufficientScope as error:
        await rate_limits.record_denial(ctx, error.needed)
        raise


def can_read(ctx: Context, resource: str) -> bool:
    """Returns whether the application's token reads a resource."""
    return ctx.scope is None or can_read_everything(ctx.scope) or f"{resource}:read" in scope_words(ctx.scope)


def can_write(ctx: Context, resource: str) -> bool:
    """Returns whether the application's token, which is authorized to write, writes a resource."""
    return ctx.scope is None or can_write_everything(ctx.scope) or f"{resource}:write" in scope_words(ctx.scope)


def check_reading(ctx: Context, resources: Iterable[str]) -> None:
    """Checks that the application's token reads these resources, which a request includes or filters by."""
    for resource in resources:
        if not can_read(ctx, resource):
            raise InsufficientScope(f"{resource}:read")


class PlatformTokens(msgspec.Struct, frozen=True):
    """The token response for applications."""

    access_token: str
    token_type: str
    expires_in: int
    refresh_token: str
    created_at: int
    scope: str


async def grant(ctx: Context, application: Application, scope: str | None) -> PlatformTokens:
    """Grants a token for the requested scope, within the application's access level."""
    if not scope or not is_grantable(scope, application.access_level, application.permissions):
        raise InvalidScope()
    await rate_limits.count_token(ctx, application.client_id)
    async with ctx.db.transaction():
        pair = await sessions.new_session(ctx, sessions.PLATFORM, application_id=application.id, scope=scope)
        await applications.record_use(ctx.db, application.id)
        await audit(ctx, "token_granted", "done", subject_id=application.id, detail={"scope": scope})
    return PlatformTokens(**msgspec.structs.asdict(pair), scope=scope)


async def refresh(ctx: Context, application: Application, token: str, scope: str | None) -> PlatformTokens:
    """Returns the next token pair, for the same scope or a narrower one. A refusal does not consume the token."""
    await rate_limits.count_token(ctx, application.client_id)
    result = await sessions.refresh(ctx, sessions.PLATFORM, application.client_id, token, scope)
    if result.pair is None:
        await rate_limits.record_bad_refresh(ctx, {"reason": result.reason})
        raise InvalidScope() if result.reason == "scope" else InvalidGrant()
    return PlatformTokens(**msgspec.structs.asdict(result.pair), scope=result.scope or "")


async def introspect(ctx: Context, application: Application, token: str) -> LiveToken | None:
    """Returns the live token if it belongs to the calling application, else None."""
    for kind, prefix in {"access": PLATFORM_ACCESS, "refresh": PLATFORM_REFRESH}.items():
        if is_secret(prefix, token):
            return await applications.introspect(ctx.db, kind, secret_hash(token), application.id)
    return None
