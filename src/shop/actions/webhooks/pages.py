"""Loads the webhook pages of the dashboard, and creates endpoints from its form."""

from collections.abc import Sequence
from uuid import UUID

import msgspec
from msgspec.structs import replace

from shop.actions import records
from shop.actions.context import Context
from shop.actions.webhooks.endpoints import WEBHOOK_ENDPOINT, insert_endpoint
from shop.actions.webhooks.secrets import list_secrets
from shop.base.errors import Invalid, NotFound
from shop.models.events import Event
from shop.models.webhooks.deliveries import WebhookAttempt, WebhookDelivery
from shop.models.webhooks.endpoints import WebhookSecret
from shop.models.webhooks.inputs import WebhookEndpointInput
from shop.queries.webhooks import deliveries, pages, secrets
from shop.queries.webhooks.pages import EndpointWithHealth


class DeliveryDetails(msgspec.Struct, frozen=True):
    """A delivery with its event, if that is still stored, and its attempts, newest first."""

    delivery: WebhookDelivery
    event: Event | None
    attempts: Sequence[WebhookAttempt]


async def get_endpoint(ctx: Context, endpoint_id: UUID) -> EndpointWithHealth:
    endpoint = await pages.find_endpoint(ctx.db, endpoint_id)
    if endpoint is None:
        raise NotFound()
    return endpoint


async def list_valid_secrets(ctx: Context, endpoint_id: UUID) -> Sequence[WebhookSecret]:
    """Returns the valid secrets, newest first; they are encrypted."""
    return await secrets.list_valid(ctx.db, endpoint_id)


async def create_from_form(ctx: Context, endpoint_id: UUID, values: WebhookEndpointInput) -> str | None:
    """Creates an endpoint and returns its secret.

    Returns None if the id exists: a form submitted twice creates one endpoint and shows its secret once.
    """

    async def create(ctx: Context, values: WebhookEndpointInput) -> UUID:
        return await insert_endpoint(ctx, endpoint_id, values)

    try:
        await records.create(ctx, replace(WEBHOOK_ENDPOINT, create=create), values)
    except Invalid as error:
        if "id" in error.errors:
            return None
        raise
    return await read_newest_secret(ctx, endpoint_id)


async def read_newest_secret(ctx: Context, endpoint_id: UUID) -> str | None:
    """Returns the newest secret, to show it once after it was created."""
    return next(iter(await list_secrets(ctx.shared, ctx.db, endpoint_id)), None)


async def get_delivery(ctx: Context, endpoint_id: UUID, delivery_id: UUID) -> DeliveryDetails:
    """Returns a delivery to this endpoint; raises NotFound for one to another endpoint."""
    row = await deliveries.find_with_event(ctx.db, delivery_id)
    if row is None or row.delivery.endpoint_id != endpoint_id:
        raise NotFound()
    return DeliveryDetails(row.delivery, row.event, await pages.list_attempts(ctx.db, delivery_id))
