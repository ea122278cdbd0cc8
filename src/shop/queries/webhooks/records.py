"""Attempts to deliver webhooks as Spree's API lists them: one record for each request."""

from uuid import UUID

from sqlalchemy import and_, func, literal_column, select

from shop.models.webhooks.deliveries import WebhookAttempt
from shop.models.webhooks.deliveries import webhook_attempts as attempts
from shop.models.webhooks.deliveries import webhook_deliveries as deliveries
from shop.models.webhooks.endpoints import webhook_endpoints as endpoints
from shop.queries.records import Records


class WebhookEvent(WebhookAttempt, frozen=True, kw_only=True):
    """An attempt with the type of its event and the endpoint that it was sent to."""

    name: str
    url: str
    subscriber_id: UUID
    success: bool


_is_own = deliveries.c.id == attempts.c.delivery_id
_is_success = and_(
    attempts.c.error.is_(None), attempts.c.status >= literal_column("200"), attempts.c.status < literal_column("300")
)
WEBHOOK_EVENTS = Records(
    table=attempts,
    row=WebhookEvent,
    extras={
        "name": select(deliveries.c.event_type).where(_is_own).scalar_subquery(),
        "url": select(endpoints.c.url)
        .where(_is_own, endpoints.c.id == deliveries.c.endpoint_id)
        .correlate(attempts)
        .scalar_subquery(),
        "subscriber_id": select(deliveries.c.endpoint_id).where(_is_own).scalar_subquery(),
        # Without a response, the status is null.
        "success": func.coalesce(_is_success, literal_column("false")),
    },
)
