"""The vocabulary in which a wire type is declared: attributes, amounts, computed fields, relations.

A resource is a frozen value: no base class, no hooks. `encoder.py` prepares what draws it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args, get_type_hints
from uuid import UUID

import msgspec

from shop.jsonapi.deprecation import Deprecation


class Scene(msgspec.Struct, frozen=True):
    """What documents of one request are drawn with; computed fields take what they need from `props`."""

    locale: str
    props: Any = None


class Attribute(msgspec.Struct, frozen=True):
    """A field that stands on the row under the same name."""

    name: str


class Money(msgspec.Struct, frozen=True):
    """Minor units on the row; a decimal string and `display_` text on the wire. Where the row may have none, both are
    null.
    """

    name: str
    of: Callable[[Any], int] | None = None
    """How the amount is worked out, where it does not stand on the row under its name."""


class Computed(msgspec.Struct, frozen=True):
    """A field made from the row and the scene."""

    name: str
    make: Callable[[Any, Scene], Any]
    kind: Any = str


class Relation(msgspec.Struct, frozen=True):
    """A relation by name; `type` is what its records are called on the wire."""

    name: str
    type: str
    is_many: bool
    others: tuple[str, ...] = ()
    """Further wire types that its records may have; each record then names its own."""

    @property
    def types(self) -> tuple[str, ...]:
        return self.type, *self.others


def money(name: str, of: Callable[[Any], int] | None = None) -> Money:
    return Money(name, of)


def computed(name: str, make: Callable[[Any, Scene], Any], kind: Any = str) -> Computed:
    return Computed(name, make, kind)


def many(name: str, type: str) -> Relation:  # noqa: A002  It is the wire's own word.
    return Relation(name, type, is_many=True)


def one(name: str, type: str) -> Relation:  # noqa: A002
    return Relation(name, type, is_many=False)


def one_of(name: str, *types: str) -> Relation:
    """A relation to one record of any of these types."""
    return Relation(name, types[0], is_many=False, others=types[1:])


class Resource(msgspec.Struct, frozen=True, eq=False):
    """A declared wire type; declared once, so it is itself or another."""

    type: str
    fields: Sequence[Attribute | Money | Computed]
    hints: dict[str, Any]
    """The row's annotations by name."""
    relations: dict[str, Relation]
    id_kind: Any = UUID
    deprecated: Mapping[str, Deprecation] = {}
    """Attributes that will be removed, by their names on the wire."""

    def kinds(self) -> dict[str, Any]:
        """Each attribute's Python type by its name on the wire, `Money` for amounts."""
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
    deprecated: Mapping[str, Deprecation] | None = None,
) -> Resource:
    """Declares a wire type over a row type; a bare name reads the row's field of that name."""
    fields = [Attribute(item) if isinstance(item, str) else item for item in attributes]
    by_name = {relation.name: relation for relation in relations}
    return Resource(type, fields, get_type_hints(row), by_name, id_kind, deprecated or {})
