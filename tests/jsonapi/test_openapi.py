"""The OpenAPI description: valid, complete, and true of the documents that are served."""

import json
import re
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
import openapi_spec_validator
import pytest
from jsonschema import Draft202012Validator, FormatChecker  # type: ignore[import-untyped]

from shop.base.loaded import Link, Loaded
from shop.jsonapi.document import Drawing, document
from shop.jsonapi.openapi import Operation, openapi
from shop.jsonapi.resource import Resource, Scene, computed, many, money, one, resource


class Book(msgspec.Struct, frozen=True, kw_only=True):
    id: UUID = UUID(int=1)
    title: str = "Walden"
    pages: int = 352
    is_new: bool = False
    subtitle: str | None = None
    shelf: int | None = None
    currency: str = "USD"
    price: int = -1250
    printed_at: datetime = datetime(2022, 11, 8, tzinfo=UTC)
    sold_at: datetime | None = None


BOOK = resource(
    "book",
    Book,
    attributes=[
        *("title", "pages", "is_new", "subtitle", "shelf", "currency", "printed_at", "sold_at"),
        money("price"),
        computed("label", lambda row, _scene: row.title.upper()),
        computed("weight", lambda _row, _scene: None, int | None),
    ],
    relations=[one("author", "person"), many("readers", "person")],
)
PERSON = resource("person", Book, attributes=["title"])
RESOURCES: dict[str, Resource] = {"book": BOOK, "person": PERSON}
MEDIA = "application/vnd.api+json"


def operation(method: str, path: str, shows: str | None = "book", **others: Any) -> Operation:
    told: dict[str, Any] = {
        "summary": "Do it",
        "security": (),
        "status": 200 if shows else 204,
        "errors": (400, 404),
        "media": MEDIA,
        "is_idempotent": method in {"POST", "PATCH"},
    }
    return Operation(method, path, shows=shows, **(told | others))


OPERATIONS = (
    operation("GET", "/books/{id}"),
    operation("PATCH", "/books/{id}", security=("order_token",)),
    operation("DELETE", "/books/{id}", None),
    operation("POST", "/books", status=201, errors=(400, 401, 403, 404, 409, 413, 415, 422, 429)),
    operation("GET", "/books/{book_id}/readers/{id}", "person"),
)


def described() -> Any:
    return json.loads(msgspec.json.encode(openapi("Books", "7", OPERATIONS, RESOURCES)))


def parameters(method: str, path: str) -> dict[tuple[str, str], Any]:
    return {(row["in"], row["name"]): row for row in described()["paths"][path][method]["parameters"]}


def attributes_of(type_: str) -> Any:
    data = described()["components"]["schemas"][type_]["properties"]["data"]
    return data["properties"]["attributes"]["properties"]


def failures(record: Book, links: dict[str, Link]) -> list[str]:
    """What the described schema has against the document of a record."""
    shown = json.loads(document(BOOK, Loaded(record, links), Drawing(RESOURCES, Scene("en-US"))))
    checker = Draft202012Validator(described()["components"]["schemas"]["book"], format_checker=FormatChecker())
    return [error.message for error in checker.iter_errors(shown)]


def test_the_description_is_valid_openapi() -> None:
    openapi_spec_validator.validate(described())


def test_the_description_says_what_it_describes() -> None:
    assert described()["openapi"] == "3.1.0"
    assert (described()["info"]["title"], described()["info"]["version"]) == ("Books", "7")


def test_every_operation_stands_under_its_address_and_method_with_an_id_of_its_own() -> None:
    paths = described()["paths"]

    assert {(method.upper(), path) for path, methods in paths.items() for method in methods} == {
        (row.method, row.path) for row in OPERATIONS
    }
    assert len({row["operationId"] for methods in paths.values() for row in methods.values()}) == len(OPERATIONS)


@pytest.mark.parametrize("type_", ["book", "person"])
def test_every_attribute_is_named(type_: str) -> None:
    assert attributes_of(type_).keys() == RESOURCES[type_].kinds().keys()


def test_every_kind_of_attribute_has_its_schema() -> None:
    amount = {"type": "string", "pattern": r"^-?[0-9]+\.[0-9]+$"}

    assert attributes_of("book") == {
        "title": {"type": "string"},
        "pages": {"type": "integer"},
        "is_new": {"type": "boolean"},
        "subtitle": {"type": ["string", "null"]},
        "shelf": {"type": ["integer", "null"]},
        "currency": {"type": "string"},
        "printed_at": {"type": "string", "format": "date-time"},
        "sold_at": {"type": ["string", "null"], "format": "date-time"},
        "price": amount,
        "display_price": {"type": "string"},
        "label": {"type": "string"},
        "weight": {"type": ["integer", "null"]},
    }


def test_a_document_is_as_described() -> None:
    ann = Loaded(Book(id=UUID(int=5)))

    assert failures(Book(), {"author": None, "readers": []}) == []
    assert failures(Book(subtitle="or", shelf=3, sold_at=datetime.now(UTC)), {"author": ann, "readers": [ann]}) == []


def test_a_document_that_is_not_as_described_is_seen() -> None:
    strange: Any = {"pages": None, "is_new": "no", "subtitle": 7}

    said = failures(Book(**strange), {"author": None, "readers": []})

    assert sorted(said) == [
        "'no' is not of type 'boolean'",
        "7 is not of type 'string', 'null'",
        "None is not of type 'integer'",
    ]


def test_the_parameters_of_an_address_are_required_in_their_order() -> None:
    told = parameters("get", "/books/{book_id}/readers/{id}")

    assert [mark for mark in told if mark[0] == "path"] == [("path", "book_id"), ("path", "id")]
    assert all(row["required"] for (place, _), row in told.items() if place == "path")


def test_include_is_described_with_its_names_where_there_are_relations() -> None:
    pattern = parameters("get", "/books/{id}")["query", "include"]["schema"]["pattern"]

    allowed, refused = ["", "author", "readers,author", "author.home,readers.home.mayor"], ["publisher", "author,title"]
    assert [text for text in allowed + refused if re.search(pattern, text)] == allowed
    assert ("query", "include") not in parameters("get", "/books/{book_id}/readers/{id}")


def test_fields_are_described_for_the_type_that_is_shown() -> None:
    assert ("query", "fields[book]") in parameters("post", "/books")
    assert ("query", "fields[person]") in parameters("get", "/books/{book_id}/readers/{id}")
    assert parameters("delete", "/books/{id}").keys() == {("path", "id")}


def test_only_work_that_is_done_once_takes_an_idempotency_key() -> None:
    key = ("header", "Idempotency-Key")

    assert key in parameters("post", "/books")
    assert key in parameters("patch", "/books/{id}")
    assert key not in parameters("get", "/books/{id}")
    assert key not in parameters("delete", "/books/{id}")


def test_every_failure_has_a_meaning_and_the_one_body_of_errors() -> None:
    responses = described()["paths"]["/books"]["post"]["responses"]

    told = {"201", "400", "401", "403", "404", "409", "413", "415", "422", "429", "503"}
    assert responses.keys() == told
    for status in told - {"201"}:
        assert responses[status]["description"].endswith(".")
        assert responses[status]["content"][MEDIA]["schema"] == {"$ref": "#/components/schemas/error"}


def test_an_answer_shows_its_type_and_an_empty_one_nothing() -> None:
    paths = described()["paths"]

    shown = paths["/books/{id}"]["get"]["responses"]["200"]["content"]
    assert shown == {MEDIA: {"schema": {"$ref": "#/components/schemas/book"}}}
    assert "content" not in paths["/books/{id}"]["delete"]["responses"]["204"]


def test_a_credential_is_told_where_one_is_needed() -> None:
    assert described()["paths"]["/books/{id}"]["patch"]["security"] == [{"order_token": []}]
    assert "security" not in described()["paths"]["/books/{id}"]["get"]
    scheme = described()["components"]["securitySchemes"]["order_token"]
    assert scheme == {"type": "apiKey", "in": "header", "name": "X-Shop-Order-Token"}
