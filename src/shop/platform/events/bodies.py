"""Renders events in the words of the Platform API: the same body in the feed, in the stream and in webhooks."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from shop.actions.context import Shared
from shop.actions.event_subjects import INVOICE, OPERATOR, ROLE, SHOP, ShopSettings
from shop.actions.relations import rebuild
from shop.base.ids import event_id
from shop.jsonapi.encoder import encoder
from shop.jsonapi.resource import RenderContext, Resource, money, resource
from shop.models.access.operators import Operator
from shop.models.access.roles import Role
from shop.models.documents.invoices import InvoiceSummary
from shop.models.events import Event
from shop.platform.collection import Collection
from shop.platform.resources.registry import COLLECTIONS, COST_ATTRIBUTES
from shop.queries.records import Records
from shop.web.image_urls import ImageOptions

MAX_DATA_BYTES = 16 * 1024
_VOLATILE = frozenset({"updated_at"})


class SubjectKind(msgspec.Struct, frozen=True, eq=False):
    """A kind of record that events are about, as they show it."""

    records: Records
    resource: Resource
    path: str | None = None
    """The path of its collection; None for records that the Platform API does not list."""


def _kind_of(collection: Collection) -> SubjectKind:
    return SubjectKind(collection.actions.records, collection.resource, collection.path)


SUBJECTS: dict[str, SubjectKind] = {
    **{type_: _kind_of(collection) for type_, collection in COLLECTIONS.items()},
    "operator": SubjectKind(
        OPERATOR.records, resource("operator", Operator, attributes=["email", "role_id", "created_at", "disabled_at"])
    ),
    "role": SubjectKind(
        ROLE.records, resource("role", Role, attributes=["name", "permissions", "refund_limit", "created_at"])
    ),
    "invoice": SubjectKind(
        INVOICE.records,
        resource(
            "invoice",
            InvoiceSummary,
            attributes=["kind", "number", "order_id", "refund_id", "currency", money("total"), "issued_at"],
        ),
    ),
    "shop": SubjectKind(
        SHOP.records,
        resource(
            "shop",
            ShopSettings,
            attributes=[
                "name",
                "currencies",
                "default_country",
                "default_locale",
                "time_zone",
                "website",
                "mails",
                "documents",
                "low_stock_threshold",
                "order_prefix",
                "order_digits",
                "weight_unit",
                "dimension_unit",
            ],
        ),
    ),
}


def add_subject(collection: Collection) -> None:
    """Adds the records of an extension."""
    SUBJECTS[collection.resource.type] = _kind_of(collection)


class EventActor(msgspec.Struct, frozen=True):
    """Who caused an event: a customer, guest, application, operator, or the shop itself."""

    type: str
    id: str | None


class EventBody(msgspec.Struct, frozen=True):
    """An event: what happened, when, to which record, and the record after the change."""

    id: str
    type: str
    timestamp: datetime
    position: int
    actor: EventActor
    data: dict[str, Any]
    """The record as the Platform API shows it: `id`, `type`, `attributes` and `relationships`; without attributes and
    with `truncated` and its address if it is larger than 16 KiB.
    """
    changes: dict[str, list[Any]]
    """Each attribute that an update changed, with its value before and after."""


def render_event(shared: Shared, event: Event, origin: str, has_costs: bool = True) -> EventBody:
    """Renders an event; `has_costs` is whether the reader may see cost prices."""
    data, changes = _render_subject(shared, event, origin, has_costs)
    return EventBody(
        event_id(event.id),
        event.type,
        event.occurred_at,
        event.position or 0,
        EventActor(event.actor_kind, str(event.actor_id) if event.actor_id else None),
        data,
        changes,
    )


def _render_subject(
    shared: Shared, event: Event, origin: str, has_costs: bool
) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    kind = SUBJECTS.get(event.subject_type)
    reference = {"id": str(event.subject_id), "type": event.subject_type}
    if kind is None:
        return reference, {}
    if event.row is None:
        return _truncate(reference, kind, origin), {}
    context = RenderContext(shared.shop.default_locale, ImageOptions(origin))
    changes: dict[str, list[Any]] = {}
    fields = None if has_costs else frozenset([*kind.resource.kinds(), *kind.resource.relations]) - COST_ATTRIBUTES
    try:
        data = _render_record(kind, event.row, event.links, context, fields)
        if event.before:
            former = _render_record(kind, {**event.row, **event.before}, event.links, context, fields)
            changes = _compare(former["attributes"], data["attributes"])
    except msgspec.ValidationError:
        # Another version of the program wrote the row, with other columns: readers must not stop there.
        return _truncate(reference, kind, origin), {}
    size = len(msgspec.json.encode(data))
    return (data if size <= MAX_DATA_BYTES else _truncate(reference, kind, origin)), changes


def _render_record(
    kind: SubjectKind,
    row: Mapping[str, Any],
    links: Mapping[str, Any],
    context: RenderContext,
    fields: frozenset[str] | None,
) -> dict[str, Any]:
    record = rebuild(kind.records, row, links)
    rendered: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(encoder(kind.resource, fields)(record, context)))
    return rendered


def _compare(former: Mapping[str, Any], current: Mapping[str, Any]) -> dict[str, list[Any]]:
    return {
        name: [former[name], value]
        for name, value in current.items()
        if name not in _VOLATILE and former[name] != value
    }


def truncate_data(event: Event, origin: str) -> dict[str, Any]:
    """Returns the data of an event without attributes."""
    kind = SUBJECTS.get(event.subject_type)
    reference = {"id": str(event.subject_id), "type": event.subject_type}
    return _truncate(reference, kind, origin) if kind else reference


def _truncate(reference: Mapping[str, Any], kind: SubjectKind, origin: str) -> dict[str, Any]:
    url = f"{origin}/api/v2/platform/{kind.path}/{reference['id']}" if kind.path else None
    return {**reference, "truncated": True, "url": url}
