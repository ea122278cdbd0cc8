"""The form of a webhook endpoint: its URL, and the events to send."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from shop.admin.fields import Fields
from shop.models.webhooks.endpoints import WebhookEndpoint
from shop.models.webhooks.inputs import WebhookEndpointInput
from shop.rules.event_types import EventType, title_type
from shop.rules.form_values import split_words

LABELS = {
    "base": "The endpoint",
    "url": "URL",
    "description": "Description",
    "types": "Events",
    "fields": "Changed attributes",
}
ALL = "*"
MAX_URL_LENGTH = 2000
MAX_FIELDS_LENGTH = 2000
MAIN_GROUPS = ("order", "payment", "refund", "shipment", "customer", "product", "variant", "price", "stock")
"""The groups that most receivers need; the form shows them first."""


class TypeGroup(msgspec.Struct, frozen=True):
    """The types of events with one prefix, such as `order`."""

    name: str
    pattern: str
    types: Sequence[EventType]

    def count(self, patterns: Collection[str]) -> int:
        """Returns how many choices of this group are selected."""
        return sum(each in patterns for each in (self.pattern, *(each.type for each in self.types)))


def group_types(types: Sequence[EventType]) -> tuple[Sequence[TypeGroup], Sequence[TypeGroup]]:
    """Returns the main groups, and all others by name."""
    by_name: dict[str, list[EventType]] = {}
    for each in types:
        by_name.setdefault(each.type.partition(".")[0], []).append(each)
    groups = {name: TypeGroup(title_type(name), f"{name}.*", members) for name, members in by_name.items()}
    main = [groups[name] for name in MAIN_GROUPS if name in groups]
    return main, [groups[name] for name in sorted(groups) if name not in MAIN_GROUPS]


def list_unknown(types: Sequence[EventType], patterns: Collection[str]) -> Sequence[str]:
    """Returns the patterns for which the form has no choice, such as those that an application has set."""
    choices = {ALL, *(each.type for each in types), *(f"{each.type.partition('.')[0]}.*" for each in types)}
    return [pattern for pattern in patterns if pattern not in choices]


def read_endpoint(fields: Fields) -> WebhookEndpointInput:
    """Reads the form; whether URL, types and attributes are valid is not checked here."""
    return {
        "url": fields.line("url", most=MAX_URL_LENGTH, required=True),
        "description": fields.line("description"),
        "types": _read_types(fields),
        "fields": split_words(fields.line("fields", most=MAX_FIELDS_LENGTH)),
    }


def _read_types(fields: Fields) -> list[str]:
    if fields.texts.get("scope") == "all":
        return [ALL]
    types = list(dict.fromkeys(fields.lines("types")))
    if not types:
        fields.refuse("types", "Choose at least one event.")
    return types


def new_values() -> Mapping[str, Any]:
    return {"url": "", "description": "", "scope": "chosen", "types": [], "fields": ""}


def endpoint_values(endpoint: WebhookEndpoint) -> Mapping[str, Any]:
    """Returns the values of the form for an endpoint."""
    return {
        "url": endpoint.url,
        "description": endpoint.description,
        "scope": "all" if ALL in endpoint.types else "chosen",
        "types": endpoint.types,
        "fields": ", ".join(endpoint.fields),
    }


def form_values(fields: Fields) -> Mapping[str, Any]:
    """Returns the values as they were submitted."""
    texts = {name: fields.texts.get(name, "") for name in ("url", "description", "scope", "fields")}
    return {**texts, "types": fields.lines("types")}
