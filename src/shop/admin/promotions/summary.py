"""What a condition or a benefit says, in words: its kind, and what is settled for it."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.promotions.pages import NAMED, PartRow, PromotionParts
from shop.admin.pages import money
from shop.base.ids import as_uuid
from shop.rules.promotions.settings import KINDS, settled

GONE = "no longer there"
_WRONG = "It cannot be worked with, so nothing is given."
_MOST_NAMES = 3


class Said(msgspec.Struct, frozen=True):
    """One condition or benefit as it is told."""

    id: UUID
    label: str
    text: str
    is_right: bool
    has_form: bool
    """There is something to settle, by a form that this program has."""


def said_all(found: PromotionParts, locale: str) -> dict[str, list[Said]]:
    return {
        "condition": [said("condition", part, found.names, locale) for part in found.conditions],
        "benefit": [said("benefit", part, found.names, locale) for part in found.benefits],
    }


def said(what: str, part: PartRow, names: Mapping[UUID, str], locale: str) -> Said:
    kind, found = KINDS[what].get(part.type), settled(what, part.type, part.preferences)
    if kind is None or found is None:
        return Said(part.id, kind.label if kind else part.type, _WRONG, is_right=False, has_form=kind is not None)
    texts = [
        _text(name, form, part.preferences[name], found.settings[name], names, locale)
        for name, form in kind.settings.items()
    ]
    return Said(part.id, kind.label, ", ".join(texts), is_right=True, has_form=bool(kind.settings))


def _text(name: str, form: str, kept: Any, value: Any, names: Mapping[UUID, str], locale: str) -> str:
    if form in NAMED:
        return _listed([names.get(each, GONE) for each in map(as_uuid, kept) if each])
    match form:
        case "amounts":
            return " or ".join(money(minor, currency, locale) for currency, minor in value.items())
        case "percent":
            return f"{kept}% off"
    return f"{name.replace('_', ' ')} {value}"


def _listed(names: Sequence[str]) -> str:
    """`Mug, Bowl, Jug and 12 more`"""
    if len(names) <= _MOST_NAMES + 1:
        return ", ".join(names)
    return f"{', '.join(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES} more"
