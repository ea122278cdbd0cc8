"""Platform resources of administration: applications and audit events."""

from shop.actions.records import ResourceActions
from shop.jsonapi.resource import resource
from shop.models.access.applications import Application
from shop.models.journal import AuditEvent, audit_events
from shop.platform.collection import Collection
from shop.queries.access.records import APPLICATIONS as APPLICATION_RECORDS
from shop.queries.records import Records

APPLICATION = resource(
    "application",
    Application,
    attributes=["name", "client_id", "access_level", "created_at", "updated_at", "last_used_at", "revoked_at"],
)
APPLICATIONS = Collection(
    path="applications",
    access="integrations",
    resource=APPLICATION,
    actions=ResourceActions("application", APPLICATION_RECORDS),
    filters=("name", "client_id", "access_level", "last_used_at", "revoked_at"),
    sorts=("name", "last_used_at"),
)

AUDIT_EVENT = resource(
    "audit_event",
    AuditEvent,
    attributes=[
        *("at", "actor_kind", "actor_id", "action", "outcome", "subject_type", "subject_id", "source", "request_id"),
        *("detail", "changes"),
    ],
)
AUDIT_EVENTS = Collection(
    path="audit_events",
    access="audit",
    resource=AUDIT_EVENT,
    actions=ResourceActions("audit_event", Records(table=audit_events, row=AuditEvent)),
    filters=("at", "actor_kind", "actor_id", "action", "outcome", "subject_type", "subject_id", "request_id"),
    sorts=("at",),
)
