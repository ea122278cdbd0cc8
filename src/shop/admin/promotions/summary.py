"""Summaries of promotion conditions and benefits: the kind and its settings as text."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.promotions.pages import REFERENCE_FORMS, PartRow, PromotionParts
from shop.admin.pages import money
from shop.base.ids import as_uuid
from shop.rules.promotions.settings import KINDS, parse_part

MISSING_NAME = "deleted"
_WRONG = "Invalid settings: no discount is given."
_MAX_NAMES = 3


class PartSummary(msgspec.Struct, frozen=True):
    """The summary of one condition or benefit."""

    id: UUID
    label: str
    text: str
    is_right: bool
    has_form: bool
    """The part has settings and its kind has a form."""


def summarize_parts(parts: PromotionParts, locale: str) -> dict[str, list[PartSummary]]:
    return {
        "condition": [summarize_part("condition", part, parts.names, locale) for part in parts.conditions],
        "benefit": [summarize_part("benefit", part, parts.names, locale) for part in parts.benefits],
    }


def summarize_part(what: str, part: PartRow, names: Mapping[UUID, str], locale: str) -> PartSummary:
    kind, compiled_part = KINDS[what].get(part.type), parse_part(what, part.type, part.preferences)
    if kind is None or compiled_part is None:
        return PartSummary(
            part.id, kind.label if kind else part.type, _WRONG, is_right=False, has_form=kind is not None
        )
    texts = [
        _text(name, form, part.preferences[name], compiled_part.settings[name], names, locale)
        for name, form in kind.settings.items()
    ]
    return PartSummary(part.id, kind.label, ", ".join(texts), is_right=True, has_form=bool(kind.settings))


def _text(name: str, form: str, raw: Any, value: Any, names: Mapping[UUID, str], locale: str) -> str:
    if form in REFERENCE_FORMS:
        return _join_names([names.get(each, MISSING_NAME) for each in map(as_uuid, raw) if each])
    match form:
        case "amounts":
            return " or ".join(money(minor, currency, locale) for currency, minor in value.items())
        case "percent":
            return f"{raw}% off"
    return f"{name.replace('_', ' ')} {value}"


def _join_names(names: Sequence[str]) -> str:
    """Joins names like `Mug, Bowl, Jug and 12 more`."""
    if len(names) <= _MAX_NAMES + 1:
        return ", ".join(names)
    return f"{', '.join(names[:_MAX_NAMES])} and {len(names) - _MAX_NAMES} more"
