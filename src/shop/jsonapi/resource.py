"""Declares wire types: attributes, amounts, computed fields, relations.

A resource is a frozen value: no base class, no hooks. `encoder.py` builds its encoders.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args, get_type_hints
from uuid import UUID

import msgspec

from shop.jsonapi.deprecation import Deprecation


class RenderContext(msgspec.Struct, frozen=True):
    """The render context of one request; computed fields read their own data from `props`."""

    locale: str
    props: Any = None


class Attribute(msgspec.Struct, frozen=True):
    """A field of the row, under the same name."""

    name: str


class Money(msgspec.Struct, frozen=True):
    """Minor units on the row; a decimal string and `display_` text on the wire, both null without an amount."""

    name: str
    of: str | Callable[[Any], int] = ""
    """The field of the row if it has another name, or a function that computes the amount."""


class Computed(msgspec.Struct, frozen=True):
    """A field computed from the row and the render context."""

    name: str
    make: Callable[[Any, RenderContext], Any]
    kind: Any = str


class Relation(msgspec.Struct, frozen=True):
    """A relation; `type` is the wire type of its records."""

    name: str
    type: str
    is_many: bool
    others: tuple[str, ...] = ()
    """Further wire types that its records may have; each record then carries its own type."""

    @property
    def types(self) -> tuple[str, ...]:
        return self.type, *self.others


def money(name: str, of: str | Callable[[Any], int] = "") -> Money:
    return Money(name, of)


def computed(name: str, make: Callable[[Any, RenderContext], Any], kind: Any = str) -> Computed:
    return Computed(name, make, kind)


def many(name: str, type: str) -> Relation:  # noqa: A002  JSON:API calls it `type`.
    return Relation(name, type, is_many=True)


def one(name: str, type: str) -> Relation:  # noqa: A002
    return Relation(name, type, is_many=False)


def one_of(name: str, *types: str) -> Relation:
    """Declares a relation to one record of any of these types."""
    return Relation(name, types[0], is_many=False, others=types[1:])


class Resource(msgspec.Struct, frozen=True, eq=False):
    """A declared wire type; compared by identity."""

    type: str
    fields: Sequence[Attribute | Money | Computed]
    hints: dict[str, Any]
    """The row's annotations by name."""
    relations: dict[str, Relation]
    id_kind: Any = UUID
    deprecated: Mapping[str, Deprecation] = {}
    """Deprecated attributes by wire name."""

    def kinds(self) -> dict[str, Any]:
        """Returns the Python type of each attribute by wire name, `Money` for amounts."""
        kinds: dict[str, Any] = {}
        for field in self.fields:
            match field:
                case Attribute(name):
                    kinds[name] = self.hints[name]
                case Money(name, _) if type(None) in get_args(self.hints.get(name)):
                    kinds |= {name: Money | None, f"display_{name}": str | None}
                case Money(name, _):
                    kinds |= {name: Money, f"display_{name}": str}
                case Computed(name, _, kind):
                    kinds[name] = kind
        return kinds


def resource(
    type: str,  # noqa: A002
    row: type[Any],
    *,
    attributes: Sequence[str | Money | Computed],
    relations: Sequence[Relation] = (),
    id_kind: Any = UUID,
    deprecations: Mapping[str, Deprecation] | None = None,
) -> Resource:
    """Declares a wire type for a row type; a plain string names a field of the row."""
    fields = [Attribute(item) if isinstance(item, str) else item for item in attributes]
    by_name = {relation.name: relation for relation in relations}
    return Resource(type, fields, get_type_hints(row), by_name, id_kind, deprecations or {})
