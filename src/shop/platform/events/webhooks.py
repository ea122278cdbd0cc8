"""Platform resources of webhooks: endpoints, deliveries and their attempts; and endpoints and attempts under Spree's
names.
"""

from datetime import datetime

from msgspec.structs import replace

from shop.actions.context import Context
from shop.actions.records import ResourceActions
from shop.actions.webhooks.endpoints import WEBHOOK_ENDPOINT, ShownEndpoint
from shop.actions.webhooks.secrets import list_secrets
from shop.actions.webhooks.subscribers import SUBSCRIBER
from shop.base.ids import event_id
from shop.base.record import Record
from shop.jsonapi.resource import computed, many, one, resource
from shop.models.webhooks.deliveries import WebhookAttempt, WebhookDelivery, webhook_attempts, webhook_deliveries
from shop.models.webhooks.inputs import SubscriberInput, WebhookEndpointInput
from shop.platform.collection import Collection, kinds
from shop.queries.records import Records
from shop.queries.webhooks.records import WEBHOOK_EVENTS, WebhookEvent

_STAMPS = ("created_at", "updated_at")


async def reveal_secret(ctx: Context, record: Record) -> Record:
    """Adds the newest secret to an endpoint that was created, or whose secret was rotated."""
    secrets = await list_secrets(ctx.shared, ctx.db, record.row.id)
    return replace(record, row=replace(record.row, secret=secrets[0] if secrets else None))


WEBHOOK_ENDPOINTS = Collection(
    path="webhook_endpoints",
    access="events",
    resource=resource(
        "webhook_endpoint",
        ShownEndpoint,
        attributes=[
            "url",
            "description",
            "types",
            "fields",
            "enabled",
            "failing_since",
            "paused_until",
            "disabled_at",
            "disabled_reason",
            "secret",
            *_STAMPS,
        ],
    ),
    actions=WEBHOOK_ENDPOINT,
    writable=kinds(WebhookEndpointInput),
    required=("url",),
    filters=("url", "description", "enabled", "failing_since", "disabled_at"),
    reveal=reveal_secret,
)
WEBHOOK_DELIVERIES = Collection(
    path="webhook_deliveries",
    access="events",
    resource=resource(
        "webhook_delivery",
        WebhookDelivery,
        attributes=[
            computed("event_id", lambda delivery, _context: event_id(delivery.event_id)),
            "event_type",
            "position",
            "state",
            "attempt_count",
            "next_at",
            "created_at",
            "ended_at",
        ],
        relations=[one("endpoint", "webhook_endpoint"), many("attempts", "webhook_attempt")],
    ),
    actions=ResourceActions("webhook_delivery", Records(table=webhook_deliveries, row=WebhookDelivery)),
    filters=("endpoint_id", "state", "event_type", "position", "next_at", "ended_at"),
    sorts=("position", "next_at"),
    alone=("attempts",),
)
WEBHOOK_ATTEMPTS = Collection(
    path="webhook_attempts",
    access="events",
    resource=resource(
        "webhook_attempt",
        WebhookAttempt,
        attributes=["number", "status", "milliseconds", "response", "error", "created_at"],
    ),
    actions=ResourceActions("webhook_attempt", Records(table=webhook_attempts, row=WebhookAttempt)),
)
SUBSCRIBERS = Collection(
    path="webhooks/subscribers",
    access="events",
    resource=resource(
        "subscriber",
        ShownEndpoint,
        attributes=[
            "url",
            computed("active", lambda endpoint, _context: endpoint.enabled, bool),
            computed("subscriptions", lambda endpoint, _context: endpoint.types, list[str]),
            computed("secret_key", lambda endpoint, _context: endpoint.secret, str | None),
            *_STAMPS,
        ],
    ),
    actions=SUBSCRIBER,
    writable=kinds(SubscriberInput),
    required=("url",),
    filters=("url",),
    filtered_as={"active": "enabled"},
    reveal=reveal_secret,
)
SUBSCRIBER_EVENTS = Collection(
    path="webhooks/events",
    access="events",
    resource=resource(
        "event",
        WebhookEvent,
        attributes=[
            computed("execution_time", lambda attempt, _context: attempt.milliseconds, int),
            "name",
            computed("request_errors", lambda attempt, _context: attempt.error or "", str),
            computed("response_code", lambda attempt, _context: str(attempt.status or "") or None, str | None),
            "success",
            "url",
            "created_at",
            computed("updated_at", lambda attempt, _context: attempt.created_at, datetime),
        ],
        relations=[one("subscriber", "subscriber")],
    ),
    actions=ResourceActions("event", WEBHOOK_EVENTS),
    filters=("name", "subscriber_id", "success"),
    filtered_as={"response_code": "status", "request_errors": "error"},
)
