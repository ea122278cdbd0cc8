"""Storefront endpoints of extensions, as routes."""

from typing import Any

from shop.actions.context import Context
from shop.actions.extensions.declarations import ExtensionRequest, StorefrontEndpoint
from shop.actions.extensions.extension_context import ExtensionContext
from shop.actions.extensions.isolation import run_isolated
from shop.actions.installed_extensions import InstalledExtension
from shop.web.endpoint import Handler, Route
from shop.web.input.inputs import read_input
from shop.web.input.request import Request
from shop.web.reply import JSON, NO_CONTENT, Reply, json_reply

_READ = (400, 401, 404)
_WRITE = (400, 401, 404, 409, 413, 415, 422)
_BODY_LIMIT = 64 * 1024


def build_endpoint(extension: InstalledExtension, endpoint: StorefrontEndpoint) -> Route:
    """Returns the route of an endpoint, below the path of its extension."""
    path = f"/api/v2/storefront/x/{extension.name}/{endpoint.path.strip('/')}".rstrip("/")
    return Route(
        endpoint.method,
        path,
        _make_handler(extension, endpoint),
        endpoint.who,
        endpoint.summary,
        endpoint.shows,
        200 if endpoint.shows else 204,
        _READ if endpoint.method == "GET" else _WRITE,
        JSON,
        _BODY_LIMIT,
        takes=endpoint.takes,
    )


def _make_handler(extension: InstalledExtension, endpoint: StorefrontEndpoint) -> Handler:
    part = f"{endpoint.method} {endpoint.path}"

    async def answer(request: Request, ctx: Context) -> Reply:
        user_id = (await ctx.signed_in()).user.id if endpoint.who == "user" or ctx.claim.bearer else None
        body: Any = read_input(endpoint.takes, request.body_params()) if endpoint.takes else None
        params = {name: value for name, value in request.params.items() if isinstance(value, str)}
        extension_request = ExtensionRequest(path_params=request.path_params, params=params, body=body, user_id=user_id)
        work = endpoint.handler(ExtensionContext(ctx, extension), extension_request)
        value = await run_isolated(extension.name, part, work)
        return NO_CONTENT if value is None else json_reply(value)

    return answer
