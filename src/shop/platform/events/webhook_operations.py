"""Operations on webhook endpoints and deliveries beyond CRUD: rotate a secret, replay, test, resend."""

from functools import partial
from typing import TypeVar
from uuid import UUID

import msgspec
from msgspec import UNSET

from shop.actions.access import oauth
from shop.actions.context import Context
from shop.actions.webhooks import deliveries
from shop.actions.webhooks.endpoints import WEBHOOK_ENDPOINT
from shop.actions.webhooks.secrets import rotate_secret
from shop.jsonapi.document import RenderOptions
from shop.models.webhooks.inputs import SecretRotationInput, WebhookReplayInput
from shop.platform.collection import Collection
from shop.platform.crud import build_document_reply, get_record_id, read_render_options
from shop.platform.events.webhook_bodies import render_webhook
from shop.platform.events.webhooks import WEBHOOK_DELIVERIES, WEBHOOK_ENDPOINTS
from shop.platform.operations import read_operation
from shop.platform.order_operations import EmptyBody
from shop.web.endpoint import Handler, Route
from shop.web.input.request import Request
from shop.web.reply import Reply

S = TypeVar("S", bound=msgspec.Struct)
_ERRORS = (400, 401, 403, 404, 409, 413, 415, 422)
_CODES = {409: ("conflict",)}


async def _read(
    request: Request, ctx: Context, collection: Collection, takes: type[S]
) -> tuple[RenderOptions, UUID, S]:
    await oauth.authorize(ctx, "write")
    options = read_render_options(request, ctx, collection)
    record_id = await get_record_id(ctx, collection, request.path_params["id"])
    return options, record_id, await read_operation(request, ctx, collection, options, record_id, takes)


async def rotate(request: Request, ctx: Context) -> Reply:
    options, endpoint_id, body = await _read(request, ctx, WEBHOOK_ENDPOINTS, SecretRotationInput)
    await rotate_secret(ctx, endpoint_id, None if body.overlap_hours is UNSET else body.overlap_hours)
    return await build_document_reply(ctx, WEBHOOK_ENDPOINTS, options, "id", endpoint_id, is_revealed=True)


async def replay(request: Request, ctx: Context) -> Reply:
    options, endpoint_id, body = await _read(request, ctx, WEBHOOK_ENDPOINTS, WebhookReplayInput)
    await deliveries.replay(ctx, endpoint_id, body)
    return await build_document_reply(ctx, WEBHOOK_ENDPOINTS, options, "id", endpoint_id)


async def test(request: Request, ctx: Context) -> Reply:
    """Sends a test event and shows its delivery with the attempt."""
    await oauth.authorize(ctx, "write")
    options = read_render_options(request, ctx, WEBHOOK_DELIVERIES)
    endpoint_id = await get_record_id(ctx, WEBHOOK_ENDPOINTS, request.path_params["id"])
    await read_operation(request, ctx, WEBHOOK_ENDPOINTS, options, endpoint_id, EmptyBody)
    render = partial(render_webhook, ctx.shared, origin=request.origin(None))
    delivery_id = await deliveries.send_test(ctx, endpoint_id, WEBHOOK_ENDPOINT.subject, render)
    return await build_document_reply(ctx, WEBHOOK_DELIVERIES, options, "id", delivery_id, status=201)


async def resend(request: Request, ctx: Context) -> Reply:
    options, delivery_id, _ = await _read(request, ctx, WEBHOOK_DELIVERIES, EmptyBody)
    new_delivery_id = await deliveries.resend(ctx, delivery_id)
    return await build_document_reply(ctx, WEBHOOK_DELIVERIES, options, "id", new_delivery_id, status=201)


def _route(
    path: str, handler: Handler, summary: str, shows: str, takes: type[msgspec.Struct], status: int = 200
) -> Route:
    who = "application: write"
    address = f"/api/v2/platform/{path}"
    return Route("POST", address, handler, who, summary, shows, status, _ERRORS, takes=takes, codes=_CODES)


_ENDPOINT, _DELIVERY = "webhook_endpoint", "webhook_delivery"
ROUTES = (
    _route(
        "webhook_endpoints/{id}/rotate_secret",
        rotate,
        "Rotate the secret of a webhook endpoint",
        _ENDPOINT,
        SecretRotationInput,
    ),
    _route(
        "webhook_endpoints/{id}/replay",
        replay,
        "Replay events to a webhook endpoint",
        _ENDPOINT,
        WebhookReplayInput,
    ),
    _route("webhook_endpoints/{id}/test", test, "Send a test event to a webhook endpoint", _DELIVERY, EmptyBody, 201),
    _route("webhook_deliveries/{id}/resend", resend, "Resend a webhook delivery", _DELIVERY, EmptyBody, 201),
)
