"""Encodes one record as a JSON:API resource object.

Rendering documents is the hot path, so an encoder is built once for each selection of fields: the attributes become a
struct that msgspec encodes in one call, filled with the record's values in the order of the struct.
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

from shop.base.money import currency_digits, money_text, wire_decimal
from shop.base.record import Link, Record, Reference
from shop.jsonapi.resource import Attribute, Computed, Money, Relation, RenderContext, Resource

_MAX_CACHED_AMOUNTS = 2048
_write = msgspec.json.Encoder().encode
_EMPTY_MANY: dict[str, Any] = {"data": []}
_EMPTY_ONE: dict[str, Any] = {"data": None}
MARK = "\0"
"""Stands for a text that is inserted later. No text of the database contains it, so that a quotation mark followed by
its escape sequence occurs only where a text begins with it.
"""
ENCODED_MARK = b'"\\u0000'


class RelationNotLoaded(LookupError):
    """A document shows a relation that no query loaded: a bug in the endpoint."""


class Identifier(msgspec.Struct, frozen=True, gc=False):
    """A JSON:API resource identifier object."""

    id: UUID
    type: str


class ResourceObject(msgspec.Struct, frozen=True, gc=False):
    """A JSON:API resource object, in `data` or `included`."""

    id: UUID
    type: str
    attributes: Any
    relationships: dict[str, Any] | msgspec.Raw


def encoder(resource: Resource, field_names: frozenset[str] | None) -> "Encoder":
    """Returns the encoder for all fields or for the selected ones; unknown names are ignored."""
    valid_names = field_names and field_names & (resource.kinds().keys() | resource.relations.keys())
    return _cached_encoder(resource, valid_names)


@lru_cache(maxsize=512)
def _cached_encoder(resource: Resource, field_names: frozenset[str] | None) -> "Encoder":
    return Encoder(resource, field_names)


class Encoder:
    """Encodes the records of one resource with one selection of fields."""

    __slots__ = (
        "_amount_mask",
        "_amounts",
        "_around_amounts",
        "_attributes",
        "_compute",
        "_empty",
        "_empty_json",
        "_links",
        "_only_amounts",
        "_plain",
        "_relations",
        "_times",
        "_type",
        "_unlinked",
    )

    def __init__(self, resource: Resource, field_names: frozenset[str] | None) -> None:
        def is_selected(name: str) -> bool:
            return field_names is None or name in field_names

        plain = [field.name for field in resource.fields if isinstance(field, Attribute) and is_selected(field.name)]
        times = [name for name in plain if _is_time(resource.hints[name])]
        plain = [name for name in plain if name not in times]
        amounts_of = [field for field in resource.fields if isinstance(field, Money)]
        amounts_of = [field for field in amounts_of if is_selected(field.name) or is_selected(f"display_{field.name}")]
        pairs = [(field.name, f"display_{field.name}") for field in amounts_of]
        computed_fields = [
            field for field in resource.fields if isinstance(field, Computed) and is_selected(field.name)
        ]
        amounts = [name for pair in pairs for name in pair if is_selected(name)]
        self._type = resource.type
        self._plain = _reader(plain)
        self._times = _reader(times)
        self._amounts = _amount_reader(amounts_of)
        # Amounts are read in pairs of decimal and display text; the mask drops the ones that are not selected.
        self._amount_mask = (
            None if len(amounts) == 2 * len(pairs) else [is_selected(name) for pair in pairs for name in pair]
        )
        self._compute = [field.make for field in computed_fields]
        self._relations = [relation for name, relation in resource.relations.items() if is_selected(name)]
        self._links = _picker([relation.name for relation in self._relations])
        self._empty = {relation.name: _EMPTY_MANY if relation.is_many else _EMPTY_ONE for relation in self._relations}
        self._empty_json = msgspec.Raw(msgspec.json.encode(self._empty))
        self._unlinked: Mapping[str, Any] | None = None
        names = [*plain, *times, *amounts, *(field.name for field in computed_fields)]
        self._attributes = msgspec.defstruct("Attributes", names, frozen=True, gc=False)
        names = [*plain, *times, *(["_amounts"] if amounts else []), *(field.name for field in computed_fields)]
        self._around_amounts = msgspec.defstruct("Attributes", names, frozen=True, gc=False)
        self._only_amounts = msgspec.defstruct("Amounts", amounts, frozen=True, gc=False)

    @property
    def has_amounts(self) -> bool:
        return bool(self._only_amounts.__struct_fields__)

    def encode_around_amounts(self, record: Record, render_context: RenderContext) -> tuple[bytes, bytes]:
        """Encodes a record without its amounts; returns what precedes and what follows them."""
        row = record.row
        attributes = self._around_amounts(
            *self._plain(row),
            *map(wire_time, self._times(row)),
            *([MARK] if self.has_amounts else []),
            *[make(row, render_context) for make in self._compute],
        )
        encoded = _write(ResourceObject(row.id, self._type, attributes, self._linkages(record)))
        before, _, after = encoded.partition(b'"_amounts":' + ENCODED_MARK + b'"')
        return before, after

    def encode_amounts(self, row: Any, render_context: RenderContext) -> bytes:
        """Encodes the amounts of a row, as they stand among the other attributes."""
        return _write(self._only_amounts(*self._amount_texts(row, render_context)))[1:-1]

    def __call__(self, record: Record, render_context: RenderContext) -> ResourceObject:
        row = record.row
        attributes = self._attributes(
            *self._plain(row),
            *map(wire_time, self._times(row)),
            *self._amount_texts(row, render_context),
            *[make(row, render_context) for make in self._compute],
        )
        return ResourceObject(row.id, self._type, attributes, self._linkages(record))

    def _amount_texts(self, row: Any, render_context: RenderContext) -> Iterable[str | None]:
        amounts = self._amounts(row)
        if not amounts:
            return ()
        both = _amount_texts(row.currency, render_context.locale)[amounts]
        return compress(both, self._amount_mask) if self._amount_mask else both

    def _linkages(self, record: Record) -> dict[str, Any] | msgspec.Raw:
        if record.links is self._unlinked:
            return self._empty_json
        try:
            if not any(self._links(record.links)):
                # An immutable mapping need not be checked again: all new carts share the same empty links.
                if isinstance(record.links, MappingProxyType):
                    self._unlinked = record.links
                return self._empty_json
        except KeyError as missing:
            raise RelationNotLoaded(f"{type(record.row).__name__}.{missing.args[0]}") from None
        linkages = {
            relation.name: _linkage(link, relation)
            for relation in self._relations
            if (link := record.links[relation.name])
        }
        return self._empty | linkages


class _AmountTexts(dict[tuple[int | None, ...], tuple[str | None, ...]]):
    """A cache of the amounts of a row, each as decimal and display text, in one currency and locale. The same few
    amounts are common: those of every new cart are all zero.
    """

    def __init__(self, currency: str, locale: str) -> None:
        super().__init__()
        self._digits, self._text = currency_digits(currency), money_text(currency, locale)

    def __missing__(self, amounts: tuple[int | None, ...]) -> tuple[str | None, ...]:
        if len(self) >= _MAX_CACHED_AMOUNTS:
            self.clear()
        # Many amounts of a row are equal, such as its totals without taxes and discounts.
        pairs: dict[int | None, tuple[str | None, str | None]] = {
            minor: (None, None) if minor is None else (wire_decimal(minor, self._digits), self._text(minor))
            for minor in set(amounts)
        }
        self[amounts] = both = tuple(chain.from_iterable([pairs[minor] for minor in amounts]))
        return both


@lru_cache(maxsize=512)
def _amount_texts(currency: str, locale: str) -> _AmountTexts:
    return _AmountTexts(currency, locale)


def wire_time(moment: datetime | None) -> str | None:
    """Formats a time as `2022-11-08T19:34:36.444Z`: UTC, milliseconds. The database returns UTC, which msgspec encodes
    several times faster than `isoformat`: with microseconds, or without a fraction if they are zero.
    """
    if moment is None:
        return None
    encoded_time = _write(moment)
    return encoded_time[1:24].decode() + "Z" if moment.microsecond else encoded_time[1:20].decode() + ".000Z"


def related_records(record: Record, relation: Relation) -> Sequence[Record]:
    """Returns the records of a relation to one or to many."""
    try:
        link = record.links[relation.name]
    except KeyError:
        raise RelationNotLoaded(f"{type(record.row).__name__}.{relation.name}") from None
    if not link:
        return ()
    items = [link] if isinstance(link, Record | UUID) else link
    return [Record(Reference(item)) if isinstance(item, UUID) else item for item in items]


def _linkage(link: Link, relation: Relation) -> dict[str, Any]:
    type_ = relation.type
    items: Any = link if relation.is_many else (link,)
    if relation.is_many and set(map(type, items)) == {UUID}:
        # A cart links to a hundred lines: as texts they take half the time.
        ids = _write(items)[2:-2].replace(b'","', f'","type":"{type_}"}},{{"id":"'.encode())
        return {"data": msgspec.Raw(b'[{"id":"%b","type":"%b"}]' % (ids, type_.encode()))}
    identifiers = [
        Identifier(item, type_) if isinstance(item, UUID) else Identifier(item.row.id, item.type or type_)
        for item in items
    ]
    return {"data": identifiers if relation.is_many else identifiers[0]}


def _is_time(hint: Any) -> bool:
    return datetime in {hint, *getattr(hint, "__args__", ())}


def _reader(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda row: tuple(getattr(row, name) for name in names)


def _amount_reader(fields: Sequence[Money]) -> Callable[[Any], tuple[int | None, ...]]:
    plain = [field for field in fields if isinstance(field.of, str)]
    read_plain = _reader([str(field.of or field.name) for field in plain])
    readers = [field.of for field in fields if not isinstance(field.of, str)]
    if not readers:
        return read_plain
    # One call reads all fields of the row; the computed amounts follow, and all are put into their order.
    places = {field.name: place for place, field in enumerate(sorted(fields, key=lambda field: field not in plain))}
    put_in_order = _picker([places[field.name] for field in fields])
    return lambda row: put_in_order((*read_plain(row), *[read(row) for read in readers]))


def _picker(keys: Sequence[Any]) -> Callable[[Any], tuple[Any, ...]]:
    if len(keys) > 1:
        return itemgetter(*keys)
    return lambda items: tuple(items[key] for key in keys)
