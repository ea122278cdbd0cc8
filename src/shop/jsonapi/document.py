"""How loaded records become a JSON:API document."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from shop.base.loaded import Loaded
from shop.jsonapi.encoder import ResourceObject, encoder, linked
from shop.jsonapi.query import FULL, DocumentQuery, Resources, Tree
from shop.jsonapi.resource import Resource, Scene

_encode = msgspec.json.Encoder().encode


class Drawing(msgspec.Struct, frozen=True):
    """What a document is drawn with: the door's types, the client's wishes, the scene."""

    resources: Resources
    scene: Scene
    query: DocumentQuery = FULL


class Extras(msgspec.Struct, frozen=True):
    """What may stand beside the data."""

    meta: Mapping[str, Any] | None = None
    links: Mapping[str, str] | None = None
    error: Mapping[str, Any] = {}
    """The members of an error body, for a refusal that also shows the record."""


NO_EXTRAS = Extras()


def document(resource: Resource, record: Loaded, drawing: Drawing, extras: Extras = NO_EXTRAS) -> bytes:
    """The document of one record."""
    if drawing.query.include is None and extras is NO_EXTRAS:
        return _encode({"data": _object(resource, record, drawing)})
    return _encode(
        {
            "data": _object(resource, record, drawing),
            **_included(resource, [record], drawing),
            **_beside(extras),
        }
    )


def list_document(resource: Resource, records: Sequence[Loaded], drawing: Drawing, extras: Extras = NO_EXTRAS) -> bytes:
    """The document of several records."""
    return _encode(
        {
            "data": [_object(resource, record, drawing) for record in records],
            **_included(resource, records, drawing),
            **_beside(extras),
        }
    )


def _beside(extras: Extras) -> dict[str, Any]:
    shown = {"meta": extras.meta, "links": extras.links}
    return {**extras.error, **{name: value for name, value in shown.items() if value is not None}}


def _included(resource: Resource, records: Sequence[Loaded], drawing: Drawing) -> dict[str, Any]:
    if drawing.query.include is None:
        return {}
    found: dict[tuple[str, Any], ResourceObject] = {}
    walked: set[tuple[str, Any, int]] = set()
    for record in records:
        _collect(resource, record, drawing.query.include, drawing, (found, walked))
    for record in records:
        found.pop((resource.type, record.row.id), None)  # What stands in `data` must not stand in the document twice.
    return {"included": list(found.values())}


def _object(resource: Resource, record: Loaded, drawing: Drawing) -> ResourceObject:
    return encoder(resource, drawing.query.fields.get(resource.type))(record, drawing.scene)


def _collect(
    resource: Resource,
    record: Loaded,
    tree: Tree,
    drawing: Drawing,
    gathered: tuple[dict[tuple[str, Any], ResourceObject], set[tuple[str, Any, int]]],
) -> None:
    """Each record once, and those nested in it before it: clients of this family resolve in one pass."""
    included, walked = gathered
    for name, deeper in tree.items():
        relation = resource.relations.get(name)
        if relation is None:
            continue  # Of records of several types, some may not have it.
        for item in linked(record, relation):
            type_ = item.type or relation.type
            mark = (type_, item.row.id)
            # Relations lead in circles: at each place of the tree a record is entered once, whoever leads to it.
            if (*mark, id(deeper)) in walked:
                continue
            walked.add((*mark, id(deeper)))
            related = drawing.resources[type_]
            _collect(related, item, deeper, drawing, gathered)
            if mark not in included:
                included[mark] = _object(related, item, drawing)
