"""The filters that a product list offers, and those that are active."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from shop.base.money import currency_digits, money_text
from shop.models.catalog.storefront import Facet
from shop.website.catalog.filters import ListFilters, Pairs

MAX_GROUPS = 10
MAX_VALUES = 40
_PARAMETERS = {"option": ("o", "options"), "property": ("p", "properties")}
"""By the kind of a facet: its parameter in the URL, and the field of `ListFilters`."""
_NUMBER = re.compile(r"([0-9]{1,18})")


class FacetChoice(msgspec.Struct, frozen=True):
    """A value that a list can be filtered by."""

    value: str
    label: str
    is_selected: bool


class FacetGroup(msgspec.Struct, frozen=True):
    """An option type or a property with its values; `param` is the name of its form field."""

    param: str
    label: str
    selected: str
    choices: Sequence[FacetChoice]


class ActiveFilter(msgspec.Struct, frozen=True):
    """An active filter, with the address of the list without it."""

    label: str
    url: str


def build_groups(facets: Iterable[Facet], filters: ListFilters) -> list[FacetGroup]:
    """Builds the groups in the order of the option types; properties follow by name."""
    by_owner: dict[Any, list[Facet]] = {}
    for facet in facets:
        by_owner.setdefault(facet.owner_id, []).append(facet)
    owners = sorted(by_owner.values(), key=_owner_order)
    return [_build_group(values, filters) for values in owners if len(values) > 1 or _is_used(values[0], filters)][
        :MAX_GROUPS
    ]


def _owner_order(values: list[Facet]) -> tuple[bool, int, str]:
    return values[0].kind != "option", values[0].owner_position, values[0].owner_name


def _is_used(facet: Facet, filters: ListFilters) -> bool:
    return facet.owner_name in dict(_pairs(filters, facet.kind))


def _pairs(filters: ListFilters, kind: str) -> Pairs:
    pairs: Pairs = getattr(filters, _PARAMETERS[kind][1])
    return pairs


def _build_group(values: list[Facet], filters: ListFilters) -> FacetGroup:
    owner = values[0]
    selected = dict(_pairs(filters, owner.kind)).get(owner.owner_name, "")
    is_option = owner.kind == "option"
    values.sort(key=lambda facet: (facet.position, facet.name) if is_option else (0, _by_number(facet.presentation)))
    choices = [FacetChoice(facet.name, facet.presentation, facet.name == selected) for facet in values[:MAX_VALUES]]
    param = f"{_PARAMETERS[owner.kind][0]}[{owner.owner_name}]"
    return FacetGroup(param, owner.owner_presentation, selected, choices)


def _by_number(text: str) -> list[tuple[int, str]]:
    """Returns the sort key of a value: 9 hours come before 12 hours."""
    parts = _NUMBER.split(text.casefold())
    return [(int(part), "") if index % 2 else (-1, part) for index, part in enumerate(parts)]


def list_active(
    facets: Iterable[Facet], filters: ListFilters, path: str, currency: str, locale: str
) -> list[ActiveFilter]:
    """Returns the active filters in words; an unknown one shows as in the URL, so that it can be removed too."""
    labels = {(facet.kind, facet.owner_name, facet.name): facet for facet in facets}
    active = []
    for kind, (_, field) in _PARAMETERS.items():
        pairs = _pairs(filters, kind)
        for pair in pairs:
            facet = labels.get((kind, *pair))
            label = f"{facet.owner_presentation}: {facet.presentation}" if facet else f"{pair[0]}: {pair[1]}"
            others = tuple(other for other in pairs if other != pair)
            active.append(ActiveFilter(label, filters.url(path, **{field: others})))
    if price := _price_label(filters, currency, locale):
        active.append(ActiveFilter(price, filters.url(path, price_min=None, price_max=None)))
    if filters.in_stock:
        active.append(ActiveFilter("In stock", filters.url(path, in_stock=False)))
    return active


def _price_label(filters: ListFilters, currency: str, locale: str) -> str:
    format_amount, digits = money_text(currency, locale), currency_digits(currency)
    low, high = (
        None if bound is None else format_amount(int(bound.scaleb(digits)))
        for bound in (filters.price_min, filters.price_max)
    )
    if low and high:
        return f"{low} to {high}"
    return f"From {low}" if low else f"Up to {high}" if high else ""
