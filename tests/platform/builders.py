"""Records of every declared resource, for the tests that run over all of them.

A new resource needs one row here: what a new record is made from, and what may be changed of it.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4

import msgspec

from shop.platform.collection import Collection
from shop.platform.resources.known import COLLECTIONS
from tests.platform.machine import Machine, new_app
from tests.shoppers import new_email

Body = Mapping[str, Any]
Find = Callable[[Machine, Any, int], Awaitable[Sequence[str]]]


class Builder(msgspec.Struct, frozen=True):
    """How tests come by records: by a body for `POST` and one for `PATCH`, or where nothing is written, by `find`."""

    body: Callable[[int], Body] | None = None
    """Of the n-th record: the odd ones have the same texts, every third has nothing but what it must."""
    change: Body = {}
    find: Find | None = None


def _order(number: int) -> Body:
    if number % 3 == 2:
        return {}
    note = "leave at the door" if number % 2 else f"note {number}"
    return {"email": new_email(), "special_instructions": note, "currency": "EUR", "public_metadata": {"n": number}}


def _user(number: int) -> Body:
    if number % 3 == 2:
        return {"email": new_email()}
    return {"email": new_email(), "first_name": "ada" if number % 2 else f"ada {number}", "last_name": "lovelace"}


def _address(number: int) -> Body:
    must = {"firstname": "ada", "lastname": "lovelace", "address1": f"{number} main street", "city": "springfield"}
    place = {"zipcode": "62701", "country_iso": "US", "state_code": "IL"}
    return {**must, **place} if number % 3 == 2 else {**must, **place, "company": "engines", "label": f"home {number}"}


def _tax_category(number: int) -> Body:
    must = {"name": f"category {uuid4().hex}"}
    return must if number % 3 == 2 else {**must, "tax_code": "a" if number % 2 else "b", "is_default": True}


async def _first(machine: Machine, path: str, count: int) -> Sequence[str]:
    return [item["id"] for item in (await machine.get(f"/{path}", {"per_page": count})).json["data"]]


async def _countries(machine: Machine, _db: Any, count: int) -> Sequence[str]:
    return await _first(machine, "countries", count)


async def _states(machine: Machine, _db: Any, count: int) -> Sequence[str]:
    return await _first(machine, "states", count)


async def _applications(_machine: Machine, db: Any, count: int) -> Sequence[str]:
    return [str((await new_app(db)).id) for _ in range(count)]


async def _audit_events(machine: Machine, _db: Any, count: int) -> Sequence[str]:
    for number in range(count):
        await machine.post("/orders", {"order": _order(number)})
    return await _first(machine, "audit_events", count)


BUILDERS = {
    "order": Builder(_order, {"internal_note": "called", "private_metadata": {"risk": "low"}}),
    "user": Builder(_user, {"first_name": "grace", "public_metadata": {"tier": 1}}),
    "address": Builder(_address, {"lastname": "hopper", "label": None}),
    "tax_category": Builder(_tax_category, {"description": "books", "is_default": False}),
    "country": Builder(find=_countries),
    "state": Builder(find=_states),
    "application": Builder(find=_applications),
    "audit_event": Builder(find=_audit_events),
}


def builder_of(collection: Collection) -> Builder:
    found = BUILDERS.get(collection.resource.type)
    assert found, f"{collection.resource.type} has no row in tests/platform/builders.py: say how one is made"
    return found


def new_body(collection: Collection, number: int = 0) -> dict[str, Body]:
    make = builder_of(collection).body
    assert make, f"{collection.resource.type} can be made, and tests/platform/builders.py does not say from what"
    return {collection.resource.type: make(number)}


def changed_body(collection: Collection) -> dict[str, Body]:
    change = builder_of(collection).change
    assert change, f"{collection.resource.type} can be changed, and tests/platform/builders.py does not say how"
    return {collection.resource.type: change}


async def make(machine: Machine, collection: Collection, number: int = 0) -> str:
    made = await machine.post(f"/{collection.path}", new_body(collection, number))
    assert made.status == 201, made
    return made.id


async def sample(machine: Machine, db: Any, collection: Collection, count: int = 5) -> list[str]:
    """Ids of some records, with ties and gaps where the resource allows any."""
    builder = builder_of(collection)
    if builder.find:
        return list(await builder.find(machine, db, count))
    return [await make(machine, collection, number) for number in range(count)]


ALL = list(COLLECTIONS.values())
CREATED = [collection for collection in ALL if collection.noun.create]
CHANGED = [collection for collection in ALL if collection.noun.update]
REMOVED = [collection for collection in ALL if collection.noun.delete]
