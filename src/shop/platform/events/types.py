"""All types of events: those with a meaning of their own, and those of every declared resource."""

from collections.abc import Sequence

from shop.platform.resources.registry import COLLECTIONS
from shop.rules.event_types import NAMED_TYPES, EventType
from shop.rules.events import event_name

_VERBS = {"create": "created", "update": "updated", "delete": "deleted"}


def _derive_types() -> Sequence[EventType]:
    types = list(NAMED_TYPES)
    for resource_type, collection in COLLECTIONS.items():
        actions = collection.actions
        if not actions.has_events or resource_type in {"order", "price", "stock_item"}:
            continue
        name = event_name(resource_type)
        article = "An" if name[0] in "aeiou" else "A"
        types += [
            EventType(f"{name}.{verb}", resource_type, f"{article} {name.replace('_', ' ')} was {verb}.")
            for action, verb in _VERBS.items()
            if getattr(actions, action) is not None
        ]
    return tuple(sorted(types, key=lambda each: each.type))


EVENT_TYPES = _derive_types()
