"""What the platform shows of the shop's own set-up and doings: tax categories, applications, the audit."""

from shop.actions.records import Noun, plain
from shop.jsonapi.resource import resource
from shop.models.applications import Application, applications
from shop.models.journal import AuditEvent, audit_events
from shop.models.taxes import TaxCategory, tax_categories
from shop.platform.collection import Collection, kinds
from shop.queries.records import Records

TAX_CATEGORY = resource(
    "tax_category",
    TaxCategory,
    attributes=["name", "description", "tax_code", "is_default", "created_at", "updated_at"],
)
_TAX_RECORDS = Records(table=tax_categories, row=TaxCategory)
TAX_CATEGORIES = Collection(
    path="tax_categories",
    resource=TAX_CATEGORY,
    noun=Noun("tax_category", _TAX_RECORDS, **plain(_TAX_RECORDS)),
    writable=kinds(TaxCategory, "name", "description", "tax_code", "is_default"),
    required=("name",),
    filters=("name", "tax_code", "is_default"),
)

APPLICATION = resource(
    "application",
    Application,
    attributes=["name", "client_id", "access_level", "created_at", "updated_at", "last_used_at", "revoked_at"],
)
APPLICATIONS = Collection(
    path="applications",
    resource=APPLICATION,
    noun=Noun("application", Records(table=applications, row=Application)),
    filters=("name", "client_id", "access_level", "last_used_at", "revoked_at"),
    sorts=("name", "last_used_at"),
)

AUDIT_EVENT = resource(
    "audit_event",
    AuditEvent,
    attributes=["at", "actor_kind", "actor_id", "action", "outcome", "subject_id", "source", "request_id", "detail"],
)
AUDIT_EVENTS = Collection(
    path="audit_events",
    resource=AUDIT_EVENT,
    noun=Noun("audit_event", Records(table=audit_events, row=AuditEvent)),
    filters=("at", "actor_kind", "actor_id", "action", "outcome", "subject_id", "request_id"),
    sorts=("at",),
)
