"""Decides what the audit stores: which changes of which record, and under which entry."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from shop.rules.events import UNIMPORTANT
from shop.rules.personal_data import SECRETS, is_personal

Change = Sequence[Any] | None
"""The values of an attribute before and after; None for personal data."""
AUDITED_ACTORS = frozenset({"operator", "application", "command line"})
"""The actors whose changes are all audited; those of customers only where an action says so."""
_MAX_LENGTH = 5_000
_OBVIOUS = UNIMPORTANT | {"id", "created_at"}


def compare_values(
    subject_type: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> dict[str, Change]:
    """Returns the attributes that differ, as the audit stores them. `before` is None for a new record, `after` for a
    deleted one; attributes that have no value on the only side are left out.
    """
    if before is None or after is None:
        values = before or after or {}
        names = [name for name, value in values.items() if value not in (None, "", [], {}) and name not in _OBVIOUS]
    else:
        names = [name for name in before if name in after and before[name] != after[name] and name not in UNIMPORTANT]
    changes = {name: ((before or {}).get(name), (after or {}).get(name)) for name in names}
    return hide_values(subject_type, changes)


def hide_values(subject_type: str, changes: Mapping[str, Sequence[Any]]) -> dict[str, Change]:
    """Removes secrets and the values of personal data, and shortens long values."""
    return {
        name: None if is_personal(subject_type, name) else [_shorten(value) for value in values]
        for name, values in changes.items()
        if name not in SECRETS
    }


def name_action(subject_type: str, event_types: Sequence[str]) -> str:
    """Returns the action of a change that no action of the shop names, such as `order_updated`."""
    verbs = [type_.rpartition(".")[2] for type_ in event_types]
    return f"{subject_type}_{next((verb for verb in verbs if verb != 'updated'), verbs[0])}"


def _shorten(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _MAX_LENGTH else value[:_MAX_LENGTH] + "..."
    if isinstance(value, dict | list) and len(text := msgspec.json.encode(value)) > _MAX_LENGTH:
        return text[:_MAX_LENGTH].decode("utf-8", "ignore") + "..."
    return value
