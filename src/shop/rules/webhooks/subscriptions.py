"""Which events an endpoint receives: by type, and by the attributes that an update changes."""

import re
from collections.abc import Collection

MAX_PATTERNS = 100
MAX_FIELDS = 100
_PATTERN = re.compile(r"\*|[a-z][a-z_]{0,63}\.(\*|[a-z][a-z_]{0,63})", re.ASCII)
_FIELD = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)


def pattern_error(pattern: str, event_types: Collection[str]) -> str | None:
    """Returns why an endpoint cannot subscribe to a pattern; None if some event type matches it."""
    if not _PATTERN.fullmatch(pattern):
        return "must be an event type, like order.completed, or order.* or *"
    if not any(matches_type(pattern, event_type) for event_type in event_types):
        return "matches no event type"
    return None


def patterns_error(patterns: Collection[str], event_types: Collection[str]) -> str | None:
    """Returns the first error of the patterns of an endpoint."""
    if not patterns:
        return "must contain at least one event type"
    if len(patterns) > MAX_PATTERNS:
        return f"must contain at most {MAX_PATTERNS} event types"
    errors = ((pattern, pattern_error(pattern, event_types)) for pattern in patterns)
    return next((f"{pattern[:64]!r} {error}" for pattern, error in errors if error), None)


def fields_error(fields: Collection[str]) -> str | None:
    """Returns the first error of the attribute names of a filter; an empty filter accepts every event."""
    if len(fields) > MAX_FIELDS:
        return f"must contain at most {MAX_FIELDS} attributes"
    return next(
        (f"{name[:64]!r} is not the name of an attribute" for name in fields if not _FIELD.fullmatch(name)), None
    )


def matches_type(pattern: str, event_type: str) -> bool:
    return pattern in {"*", event_type} or (pattern.endswith(".*") and event_type.startswith(pattern[:-1]))


def is_subscribed(
    patterns: Collection[str], fields: Collection[str], event_type: str, changes: Collection[str] | None
) -> bool:
    """Returns whether an endpoint receives an event.

    `changes` has the attributes that an update changes, and is empty or None for an event of another kind. If the
    endpoint has `fields`, it receives only updates of one of these attributes.
    """
    if fields and not set(fields).intersection(changes or ()):
        return False
    return any(matches_type(pattern, event_type) for pattern in patterns)
