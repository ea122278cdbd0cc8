"""How one record becomes a JSON:API resource object.

The document is the hot path, so an encoder is prepared once for each selection of fields: its attributes become a
struct that msgspec writes in one go, and a record is drawn by reading its values in the struct's order.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import chain, compress
from operator import attrgetter, itemgetter
from types import MappingProxyType
from typing import Any
from uuid import UUID

import msgspec

from shop.base.loaded import Loaded
from shop.base.money import currency_digits, money_text, wire_decimal
from shop.jsonapi.resource import Attribute, Computed, Money, Relation, Resource, Scene

_AMOUNTS_KEPT = 2048
_write = msgspec.json.Encoder().encode
_EMPTY_MANY: dict[str, Any] = {"data": []}
_EMPTY_ONE: dict[str, Any] = {"data": None}


class NotLoaded(LookupError):
    """A document was to show a relation that no query had loaded: a defect of the endpoint."""


class ResourceObject(msgspec.Struct, frozen=True, gc=False):
    """What stands in `data` and in `included`."""

    id: UUID
    type: str
    attributes: Any
    relationships: dict[str, Any] | msgspec.Raw


def encoder(resource: Resource, wanted: frozenset[str] | None) -> "Encoder":
    """The encoder of all fields, or of the wanted ones; unknown names are passed over."""
    known = wanted and wanted & (resource.kinds().keys() | resource.relations.keys())
    return _prepared(resource, known)


@lru_cache(maxsize=512)
def _prepared(resource: Resource, wanted: frozenset[str] | None) -> "Encoder":
    return Encoder(resource, wanted)


class Encoder:
    """Draws the records of one resource with one selection of fields."""

    __slots__ = (
        "_amounts",
        "_attributes",
        "_empty",
        "_links",
        "_made",
        "_plain",
        "_relations",
        "_shown",
        "_times",
        "_type",
        "_unlinked",
        "_written",
    )

    def __init__(self, resource: Resource, wanted: frozenset[str] | None) -> None:
        def shown(name: str) -> bool:
            return wanted is None or name in wanted

        plain = [field.name for field in resource.fields if isinstance(field, Attribute) and shown(field.name)]
        times = [name for name in plain if _is_time(resource.hints[name])]
        plain = [name for name in plain if name not in times]
        amounts_of = [field for field in resource.fields if isinstance(field, Money)]
        amounts_of = [field for field in amounts_of if shown(field.name) or shown(f"display_{field.name}")]
        pairs = [(field.name, f"display_{field.name}") for field in amounts_of]
        made = [field for field in resource.fields if isinstance(field, Computed) and shown(field.name)]
        amounts = [name for pair in pairs for name in pair if shown(name)]
        self._type = resource.type
        self._plain = _reader(plain)
        self._times = _reader(times)
        self._amounts = _amount_reader(amounts_of)
        # Amounts are read in pairs of decimal and display text; this leaves out what is not shown.
        self._shown = None if len(amounts) == 2 * len(pairs) else [shown(name) for pair in pairs for name in pair]
        self._made = [field.make for field in made]
        self._relations = [relation for name, relation in resource.relations.items() if shown(name)]
        self._links = _picker([relation.name for relation in self._relations])
        self._empty = {relation.name: _EMPTY_MANY if relation.is_many else _EMPTY_ONE for relation in self._relations}
        self._written = msgspec.Raw(msgspec.json.encode(self._empty))
        self._unlinked: Mapping[str, Any] | None = None
        names = [*plain, *times, *amounts, *(field.name for field in made)]
        self._attributes = msgspec.defstruct("Attributes", names, frozen=True, gc=False)

    def __call__(self, record: Loaded, scene: Scene) -> ResourceObject:
        row = record.row
        attributes = self._attributes(
            *self._plain(row),
            *map(wire_time, self._times(row)),
            *self._amount_texts(row, scene),
            *[make(row, scene) for make in self._made],
        )
        return ResourceObject(row.id, self._type, attributes, self._linkages(record))

    def _amount_texts(self, row: Any, scene: Scene) -> Iterable[str | None]:
        amounts = self._amounts(row)
        if not amounts:
            return ()
        both = _amount_texts(row.currency, scene.locale)[amounts]
        return compress(both, self._shown) if self._shown else both

    def _linkages(self, record: Loaded) -> dict[str, Any] | msgspec.Raw:
        if record.links is self._unlinked:
            return self._written
        try:
            if not any(self._links(record.links)):
                # What cannot be changed need not be looked at again: every new cart is linked with the same nothing.
                if isinstance(record.links, MappingProxyType):
                    self._unlinked = record.links
                return self._written
        except KeyError as missing:
            raise NotLoaded(f"{type(record.row).__name__}.{missing.args[0]}") from None
        found = {
            relation.name: _linkage(record, relation) for relation in self._relations if record.links[relation.name]
        }
        return self._empty | found


class _AmountTexts(dict[tuple[int | None, ...], tuple[str | None, ...]]):
    """The amounts of a row, each as decimal and as display text, in one currency and locale; kept, because a shop shows
    the same few again and again: every new cart's are all nothing.
    """

    def __init__(self, currency: str, locale: str) -> None:
        super().__init__()
        self._digits, self._text = currency_digits(currency), money_text(currency, locale)

    def __missing__(self, amounts: tuple[int | None, ...]) -> tuple[str | None, ...]:
        if len(self) >= _AMOUNTS_KEPT:
            self.clear()
        pairs = (
            (None, None) if minor is None else (wire_decimal(minor, self._digits), self._text(minor))
            for minor in amounts
        )
        self[amounts] = both = tuple(chain.from_iterable(pairs))
        return both


@lru_cache(maxsize=512)
def _amount_texts(currency: str, locale: str) -> _AmountTexts:
    return _AmountTexts(currency, locale)


def wire_time(moment: datetime | None) -> str | None:
    """`2022-11-08T19:34:36.444Z`: UTC, milliseconds. The database gives UTC, which msgspec writes several times faster
    than `isoformat`: to the microsecond, or to the second where there are none.
    """
    if moment is None:
        return None
    written = _write(moment)
    return written[1:24].decode() + "Z" if moment.microsecond else written[1:20].decode() + ".000Z"


def linked(record: Loaded, relation: Relation) -> Sequence[Loaded]:
    """The records of a relation, whether it is to one or to many."""
    try:
        found = record.links[relation.name]
    except KeyError:
        raise NotLoaded(f"{type(record.row).__name__}.{relation.name}") from None
    if not found:
        return ()
    return [found] if isinstance(found, Loaded) else found


def _linkage(record: Loaded, relation: Relation) -> dict[str, Any]:
    marks = [{"id": item.row.id, "type": item.type or relation.type} for item in linked(record, relation)]
    return {"data": marks if relation.is_many else marks[0]}


def _is_time(hint: Any) -> bool:
    return datetime in {hint, *getattr(hint, "__args__", ())}


def _reader(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda row: tuple(getattr(row, name) for name in names)


def _amount_reader(fields: Sequence[Money]) -> Callable[[Any], tuple[int | None, ...]]:
    if not any(field.of for field in fields):
        return _reader([field.name for field in fields])
    readers = [field.of or attrgetter(field.name) for field in fields]
    return lambda row: tuple(read(row) for read in readers)


def _picker(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return itemgetter(*names)
    return lambda mapping: tuple(mapping[name] for name in names)
