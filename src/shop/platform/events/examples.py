"""Examples of events: example rows, rendered as the event of a real change is."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints
from uuid import UUID

import msgspec

from shop.actions.context import Shared
from shop.models.events import Event
from shop.platform.events.bodies import SUBJECTS, EventBody, render_event
from shop.rules.access.permissions import BUILT_IN, OWNER_ID
from shop.rules.event_types import EventType

_ID = UUID("01890a5d-ac96-774b-bcce-b302099a8057")
_TIME = datetime(2026, 1, 31, 12, tzinfo=UTC)
_BY_TYPE: Mapping[type, Any] = {
    UUID: str(_ID),
    datetime: _TIME.isoformat(),
    date: "2026-01-31",
    Decimal: "19.99",
    bool: True,
    int: 1,
    float: 1.5,
    str: "Lamp",
}
_BY_COLUMN: Mapping[str, Any] = {
    "amount": 1999,
    "currencies": ["USD"],
    "currency": "USD",
    "default_country": "US",
    "default_locale": "en-US",
    "time_zone": "Europe/Berlin",
    "email": "grace@example.com",
    "item_total": 1999,
    "number": "R123456789",
    "payment_total": 1999,
    "total": 1999,
    "types": ["order.*"],
    "url": "https://example.com/hook",
}
"""Values of columns without a default, or whose default says little."""
_CHANGES: Mapping[str, Mapping[str, tuple[Any, Any]]] = {
    "order.approved": {"approved_at": (None, _TIME.isoformat())},
    "order.canceled": {"state": ("complete", "canceled"), "canceled_at": (None, _TIME.isoformat())},
    "order.completed": {"state": ("confirm", "complete"), "completed_at": (None, _TIME.isoformat())},
    "order.paid": {"payment_state": ("balance_due", "paid")},
    "order.resumed": {"state": ("canceled", "resumed"), "canceled_at": (_TIME.isoformat(), None)},
    "order.shipped": {"shipment_state": ("ready", "shipped")},
    "order.updated": {"special_instructions": (None, "Ring twice")},
    "payment.authorized": {"state": ("processing", "pending")},
    "payment.captured": {"state": ("pending", "completed")},
    "payment.failed": {"state": ("processing", "failed")},
    "payment.voided": {"state": ("pending", "void")},
    "shipment.ready": {"state": ("pending", "ready")},
    "shipment.shipped": {"state": ("ready", "shipped"), "shipped_at": (None, _TIME.isoformat())},
    "shipment.delivered": {"delivered_at": (None, _TIME.isoformat())},
    "shipment.canceled": {"state": ("ready", "canceled")},
    "shipment.tracking_changed": {"tracking": (None, "1Z999AA10123456784")},
    "customer.verified": {"verified_at": (None, _TIME.isoformat())},
    "customer.disabled": {"disabled_at": (None, _TIME.isoformat())},
    "customer.enabled": {"disabled_at": (_TIME.isoformat(), None)},
    "operator.disabled": {"disabled_at": (None, _TIME.isoformat())},
    "operator.enabled": {"disabled_at": (_TIME.isoformat(), None)},
    "operator.updated": {"role_id": (str(OWNER_ID), str(BUILT_IN["support"].id))},
    "role.updated": {"name": ("Helpers", "Support at night")},
    "application.revoked": {"revoked_at": (None, _TIME.isoformat())},
    "price.changed": {"amount": (2499, 1999)},
    "stock.changed": {"count_on_hand": (5, 4)},
    "stock.sold_out": {"count_on_hand": (1, 0)},
    "stock.back": {"count_on_hand": (0, 12)},
    "settings.updated": {"name": ("Lamps", "Lamps and more")},
    "webhook_endpoint.disabled": {"enabled": (True, False), "disabled_at": (None, _TIME.isoformat())},
}
_COMPLETED_ORDER = {
    "state": "complete",
    "completed_at": _TIME.isoformat(),
    "item_count": 1,
    "payment_state": "paid",
    "shipment_state": "ready",
}
_UPDATES: Mapping[str, tuple[Any, Any]] = {
    "name": ("Lantern", "Lamp"),
    "presentation": ("Lantern", "Lamp"),
    "title": ("Lantern", "Lamp"),
    "first_name": (None, "Grace"),
    "city": ("London", "York"),
    "description": ("", "Our warehouse"),
    "memo": ("Gift", "Late delivery"),
    "min_quantity": (5, 10),
    "quantity": (2, 1),
    "position": (2, 1),
    "cost": (2999, 1999),
    "preferences": ({"amount": "10.00"}, {"amount": "20.00"}),
}
"""Columns that change in the example of an update, with their values before and after: the first that the row has."""


def render_example(shared: Shared, type_: EventType, origin: str) -> EventBody:
    """Returns the body of an event of this type, as a reader of the log gets it."""
    values = _example_row(SUBJECTS[type_.subject_type].records.row)
    if type_.type.startswith("order."):
        values |= _COMPLETED_ORDER
    changes = _list_changes(type_.type, values)
    event = Event(
        id=_ID,
        type=type_.type,
        occurred_at=_TIME,
        actor_kind="application",
        actor_id=_ID,
        subject_type=type_.subject_type,
        subject_id=_ID,
        row={**values, **{name: after for name, (_, after) in changes.items()}},
        before={name: before for name, (before, _) in changes.items()},
        position=4711,
    )
    return render_event(shared, event, origin)


def _list_changes(type_: str, values: Mapping[str, Any]) -> Mapping[str, tuple[Any, Any]]:
    """Returns the columns that change, each with its values before and after."""
    if type_ in _CHANGES or not type_.endswith(".updated"):
        return _CHANGES.get(type_, {})
    name = next(name for name in _UPDATES if name in values)
    return {name: _UPDATES[name]}


def _example_row(row: type[msgspec.Struct]) -> dict[str, Any]:
    hints = get_type_hints(row)
    return {field.name: _example_value(field, hints[field.name]) for field in msgspec.structs.fields(row)}


def _example_value(field: msgspec.structs.FieldInfo, kind: Any) -> Any:
    if field.name in _BY_COLUMN:
        return _BY_COLUMN[field.name]
    if field.default is not msgspec.NODEFAULT:
        return msgspec.to_builtins(field.default)
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    # The type of an optional column is the first of its union.
    plain_kind = (get_args(kind) or (kind,))[0] if isinstance(kind, UnionType) else kind
    return _BY_TYPE[plain_kind] if plain_kind in _BY_TYPE else (get_origin(plain_kind) or plain_kind)()
