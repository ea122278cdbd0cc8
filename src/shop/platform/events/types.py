"""All types of events: those with a meaning of their own, and those of every declared resource."""

from collections.abc import Sequence

from shop.platform.collection import Collection
from shop.platform.resources.registry import COLLECTIONS
from shop.rules.event_types import NAMED_TYPES, EventType
from shop.rules.events import event_name

_VERBS = {"create": "created", "update": "updated", "delete": "deleted"}


def _derive_types(collection: Collection) -> Sequence[EventType]:
    actions, resource_type = collection.actions, collection.resource.type
    if not actions.has_events or resource_type in {"order", "price", "stock_item"}:
        return ()
    name = event_name(resource_type)
    article = "An" if name[0] in "aeiou" else "A"
    return [
        EventType(f"{name}.{verb}", resource_type, f"{article} {name.replace('_', ' ')} was {verb}.")
        for action, verb in _VERBS.items()
        if getattr(actions, action) is not None
    ]


def _by_name(event_type: EventType) -> str:
    return event_type.type


EVENT_TYPES = sorted(
    [*NAMED_TYPES, *(each for collection in COLLECTIONS.values() for each in _derive_types(collection))], key=_by_name
)


def add_types(collection: Collection) -> None:
    """Adds the types of events about the records of an extension."""
    EVENT_TYPES.extend(_derive_types(collection))
    EVENT_TYPES.sort(key=_by_name)
