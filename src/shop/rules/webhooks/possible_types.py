"""Which types of events a subscription can name."""

from collections.abc import Collection

from shop.rules.event_types import NAMED_TYPES

_VERBS = ("created", "updated", "deleted")
_WITHOUT_VERBS = frozenset({"order", "payment", "refund", "stock", "price"})
"""The names whose events are all in `NAMED_TYPES`."""


def list_possible_types(patterns: Collection[str]) -> set[str]:
    """Returns the types with a meaning of their own, and the creation, update and deletion of the kinds of records that
    the patterns name. Which kinds there are is known only to the Platform API.
    """
    names = {pattern.partition(".")[0] for pattern in patterns} - _WITHOUT_VERBS
    return {each.type for each in NAMED_TYPES} | {f"{name}.{verb}" for name in names for verb in _VERBS}
