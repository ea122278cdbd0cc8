"""The OpenAPI description is valid and complete, and matches the documents of the API."""

import json
import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
import openapi_spec_validator
import pytest
from jsonschema import Draft202012Validator, FormatChecker  # type: ignore[import-untyped]

from shop.base.record import Link, Record
from shop.jsonapi.document import RenderOptions, document
from shop.jsonapi.filtering import Filterable
from shop.jsonapi.openapi import BODY_MEDIA, Api, Operation, openapi
from shop.jsonapi.resource import Money, RenderContext, Resource, computed, many, money, one, resource


class Book(msgspec.Struct, frozen=True, kw_only=True):
    id: UUID = UUID(int=1)
    title: str = "Walden"
    pages: int = 352
    is_new: bool = False
    subtitle: str | None = None
    shelf: int | None = None
    currency: str = "USD"
    price: int = -1250
    weight: float = 0.4
    rating: float | None = None
    series_id: UUID | None = None
    words: list[str] = []
    seen_at: list[datetime] | None = None
    notes: dict[str, Any] = {}
    extra: dict[str, Any] | None = None
    binding: Literal["cloth", "paper"] = "paper"
    cover: Literal["hard", "soft"] | None = None
    printed_at: datetime = datetime(2022, 11, 8, tzinfo=UTC)
    sold_at: datetime | None = None


BOOK = resource(
    "book",
    Book,
    attributes=[
        *("title", "pages", "is_new", "subtitle", "shelf", "currency", "printed_at", "sold_at"),
        *("weight", "rating", "series_id", "words", "seen_at", "notes", "extra", "binding", "cover"),
        money("price"),
        computed("label", lambda row, _context: row.title.upper()),
        computed("shelf_weight", lambda _row, _context: None, int | None),
        computed("best_price", lambda _row, _context: None, Money | None),
        computed("due_at", lambda _row, _context: None, datetime | None),
    ],
    relations=[one("author", "person"), many("readers", "person")],
)
PERSON = resource("person", Book, attributes=["title"])
RESOURCES: dict[str, Resource] = {"book": BOOK, "person": PERSON}
SCHEMA_RESOURCES: dict[str, Resource] = {"Book": BOOK, "Person": PERSON}
MEDIA = "application/vnd.api+json"


class BookFields(msgspec.Struct):
    title: Annotated[str, msgspec.Meta(max_length=20, description="On the cover.", examples=["Walden"])]
    pages: int | msgspec.UnsetType = msgspec.UNSET


class NewBook(msgspec.Struct):
    """A book to create."""

    book: BookFields
    in_stock: bool = False


class LostBook(msgspec.Struct):
    is_lost: bool


class Search(msgspec.Struct):
    words: str = ""


class SearchResult(msgspec.Struct):
    count: int


def operation(method: str, path: str, shows: Any = "Book", **others: Any) -> Operation:
    fields: dict[str, Any] = {
        "id": method.lower() + path,
        "summary": "Do it",
        "tag": "Books",
        "status": 200 if shows else 204,
        "errors": {400: ("malformed",), 404: ()},
        "media": MEDIA,
        "is_idempotent": method in {"POST", "PATCH"},
    }
    return Operation(method=method, path=path, shows=shows, **(fields | others))


FAILURES = dict.fromkeys((400, 401, 403, 404, 409, 410, 413, 415, 422, 429, 503), ("gone_wrong",))
TOKEN = {"type": "apiKey", "in": "header", "name": "X-Token"}
OPERATIONS = (
    operation("GET", "/books", "Book[]", sorts=("title", "pages")),
    operation("GET", "/books/{id}"),
    operation("PATCH", "/books/{id}", takes=NewBook | LostBook, security=({"token": ()}, {})),
    operation("DELETE", "/books/{id}", None),
    operation("POST", "/books", status=201, takes=NewBook, errors=FAILURES),
    operation("GET", "/books/{book_id}/readers/{id}", "Person", tag="People"),
    operation(
        "POST", "/search", SearchResult, takes=Search, error_body="OAuthErrorBody", errors={400: ("invalid_request",)}
    ),
)
API = Api("Books", "7", "All of them.", {"Books": "To read."}, {"token": TOKEN}, {"id": "Which one."})


def build_description() -> Any:
    return json.loads(msgspec.json.encode(openapi(API, OPERATIONS, SCHEMA_RESOURCES)))


def parameters(method: str, path: str) -> dict[tuple[str, str], Any]:
    return {(row["in"], row["name"]): row for row in build_description()["paths"][path][method]["parameters"]}


def attributes_of(type_: str) -> Any:
    return build_description()["components"]["schemas"][f"{type_.capitalize()}Attributes"]["properties"]


def failures(record: Book, links: dict[str, Link]) -> list[str]:
    """The errors of the document of a record by its schema in the description."""
    payload = json.loads(document(BOOK, Record(record, links), RenderOptions(RESOURCES, RenderContext("en-US"))))
    schema = {"$ref": "#/components/schemas/BookDocument", "components": build_description()["components"]}
    checker = Draft202012Validator(schema, format_checker=FormatChecker())
    return [error.message for error in checker.iter_errors(payload)]


def test_the_description_is_valid_openapi() -> None:
    openapi_spec_validator.validate(build_description())


def test_the_description_has_version_title_and_tags() -> None:
    assert build_description()["openapi"] == "3.1.0"
    assert (build_description()["info"]["title"], build_description()["info"]["version"]) == ("Books", "7")
    assert build_description()["tags"] == [
        {"name": "Books", "description": "To read."},
        {"name": "People", "description": ""},
    ]


def test_every_operation_is_listed_by_path_and_method_with_a_unique_id() -> None:
    paths = build_description()["paths"]

    assert {(method.upper(), path) for path, methods in paths.items() for method in methods} == {
        (row.method, row.path) for row in OPERATIONS
    }
    assert len({row["operationId"] for methods in paths.values() for row in methods.values()}) == len(OPERATIONS)


@pytest.mark.parametrize("type_", ["book", "person"])
def test_every_attribute_is_described(type_: str) -> None:
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
        "weight": {"type": "number"},
        "rating": {"type": ["number", "null"]},
        "series_id": {"type": ["string", "null"], "format": "uuid"},
        "words": {"type": "array", "items": {"type": "string"}},
        "seen_at": {"type": ["array", "null"], "items": {"type": "string", "format": "date-time"}},
        "notes": {"type": "object", "additionalProperties": True},
        "extra": {"type": ["object", "null"], "additionalProperties": True},
        "binding": {"enum": ["cloth", "paper"]},
        "cover": {"anyOf": [{"enum": ["hard", "soft"]}, {"type": "null"}]},
        "shelf_weight": {"type": ["integer", "null"]},
        "best_price": {**amount, "type": ["string", "null"]},
        "due_at": {"type": ["string", "null"], "format": "date-time"},
    }


def test_a_document_matches_the_description() -> None:
    ann = Record(Book(id=UUID(int=5)))

    assert failures(Book(), {"author": None, "readers": []}) == []
    assert failures(Book(subtitle="or", shelf=3, sold_at=datetime.now(UTC)), {"author": ann, "readers": [ann]}) == []


def test_a_document_that_does_not_match_the_description_is_detected() -> None:
    wrong_values: Any = {"pages": None, "is_new": "no", "subtitle": 7}

    messages = failures(Book(**wrong_values), {"author": None, "readers": []})

    assert sorted(messages) == [
        "'no' is not of type 'boolean'",
        "7 is not of type 'string', 'null'",
        "None is not of type 'integer'",
    ]


def test_path_parameters_are_required_and_in_order() -> None:
    params = parameters("get", "/books/{book_id}/readers/{id}")

    assert [key for key in params if key[0] == "path"] == [("path", "book_id"), ("path", "id")]
    assert all(row["required"] for (location, _), row in params.items() if location == "path")
    assert params["path", "id"]["description"] == "Which one."


def test_include_is_described_with_the_names_of_the_relations() -> None:
    pattern = parameters("get", "/books/{id}")["query", "include"]["schema"]["pattern"]

    valid, invalid = ["", "author", "readers,author", "author.home,readers.home.mayor"], ["publisher", "author,title"]
    assert [text for text in valid + invalid if re.search(pattern, text)] == valid
    assert ("query", "include") not in parameters("get", "/books/{book_id}/readers/{id}")


def test_fields_are_described_for_the_type_of_the_response() -> None:
    assert ("query", "fields[book]") in parameters("post", "/books")
    assert ("query", "fields[person]") in parameters("get", "/books/{book_id}/readers/{id}")
    assert parameters("delete", "/books/{id}").keys() == {("path", "id")}


def test_only_idempotent_operations_accept_an_idempotency_key() -> None:
    key = ("header", "Idempotency-Key")

    assert key in parameters("post", "/books")
    assert key in parameters("patch", "/books/{id}")
    assert key not in parameters("get", "/books/{id}")
    assert key not in parameters("delete", "/books/{id}")


def test_a_list_has_parameters_for_page_page_size_and_sort() -> None:
    params = parameters("get", "/books")

    assert {name for location, name in params if location == "query"} >= {"page", "per_page", "sort"}
    pattern = params["query", "sort"]["schema"]["pattern"]
    valid, invalid = ["", "title", "-pages,title"], ["weight", "title,-", "+title"]
    assert [text for text in valid + invalid if re.search(pattern, text)] == valid
    assert ("query", "sort") not in parameters("get", "/books/{id}")


def test_every_error_has_a_description_and_the_error_body_with_its_codes() -> None:
    responses = build_description()["paths"]["/books"]["post"]["responses"]

    assert responses.keys() == {"201", *map(str, FAILURES)}
    for status in FAILURES:
        assert responses[str(status)]["description"].endswith(".")
        assert responses[str(status)]["content"][MEDIA]["schema"] == {
            "$ref": "#/components/schemas/ErrorBody",
            "properties": {"code": {"enum": ["gone_wrong"]}},
        }


def test_an_error_without_codes_has_a_plain_body_and_oauth_errors_their_own() -> None:
    paths = build_description()["paths"]

    unknown = paths["/books/{id}"]["get"]["responses"]["404"]["content"][MEDIA]["schema"]
    assert unknown == {"$ref": "#/components/schemas/ErrorBody"}
    assert paths["/search"]["post"]["responses"]["400"]["content"][MEDIA]["schema"] == {
        "$ref": "#/components/schemas/OAuthErrorBody",
        "properties": {"error": {"enum": ["invalid_request"]}},
    }


def test_a_response_refers_to_its_type_and_an_empty_one_has_no_content() -> None:
    paths = build_description()["paths"]

    record_content = paths["/books/{id}"]["get"]["responses"]["200"]["content"]
    assert record_content == {MEDIA: {"schema": {"$ref": "#/components/schemas/BookDocument"}}}
    page_content = paths["/books"]["get"]["responses"]["200"]["content"]
    assert page_content == {MEDIA: {"schema": {"$ref": "#/components/schemas/BookPage"}}}
    search_content = paths["/search"]["post"]["responses"]["200"]["content"]
    assert search_content == {MEDIA: {"schema": {"$ref": "#/components/schemas/SearchResult"}}}
    assert "content" not in paths["/books/{id}"]["delete"]["responses"]["204"]


def test_a_body_is_described_in_each_accepted_media_type() -> None:
    body = build_description()["paths"]["/books"]["post"]["requestBody"]

    assert tuple(body["content"]) == BODY_MEDIA
    assert {media["schema"]["$ref"] for media in body["content"].values()} == {"#/components/schemas/NewBook"}
    assert build_description()["components"]["schemas"]["BookFields"] == {
        "title": "BookFields",
        "type": "object",
        "properties": {
            "title": {"type": "string", "maxLength": 20, "description": "On the cover.", "examples": ["Walden"]},
            "pages": {"type": "integer"},
        },
        "required": ["title"],
    }


def test_a_body_without_required_fields_is_optional() -> None:
    paths = build_description()["paths"]

    assert paths["/books"]["post"]["requestBody"]["required"] is True
    assert paths["/search"]["post"]["requestBody"]["required"] is False
    assert "requestBody" not in paths["/books/{id}"]["get"]


def test_a_union_body_is_any_of_its_types() -> None:
    body = build_description()["paths"]["/books/{id}"]["patch"]["requestBody"]

    choices = [{"$ref": f"#/components/schemas/{name}"} for name in ("NewBook", "LostBook")]
    assert body["content"]["application/json"]["schema"] == {"anyOf": choices}


def test_operations_list_their_security_schemes() -> None:
    assert build_description()["paths"]["/books/{id}"]["patch"]["security"] == [{"token": []}, {}]
    assert build_description()["paths"]["/books/{id}"]["get"]["security"] == []
    assert build_description()["components"]["securitySchemes"] == {"token": TOKEN}


def test_two_structs_of_one_name_have_separate_components() -> None:
    other = msgspec.defstruct("SearchResult", [("pages", int)], module="elsewhere")
    spec = openapi(API, [operation("GET", "/a", SearchResult), operation("GET", "/b", other)], SCHEMA_RESOURCES)

    refs = [spec["paths"][path]["get"]["responses"]["200"]["content"][MEDIA]["schema"]["$ref"] for path in ("/a", "/b")]
    fields = [list(spec["components"]["schemas"][ref.rpartition("/")[2]]["properties"]) for ref in refs]
    assert fields == [["count"], ["pages"]]


def test_only_referenced_schemas_are_components() -> None:
    spec = openapi(API, [operation("GET", "/books/{id}")], SCHEMA_RESOURCES)

    names = spec["components"]["schemas"].keys()
    assert {"Book", "BookDocument", "PersonIdentifier", "PersonLink", "PersonLinks", "ErrorBody"} <= names
    assert not names & {"Person", "BookPage", "OAuthErrorBody", "PageMeta"}


def test_a_filter_of_each_field_is_declared_with_its_type() -> None:
    fields = {
        "pages": Filterable(("pages",), int),
        "title": Filterable(("title",), str),
        "sold_at": Filterable(("sold_at",), datetime | None),
        "author_id": Filterable(("author", "id"), UUID),
        "author_name": Filterable(("author", "name"), str),
    }
    spec = openapi(API, [operation("GET", "/books", "Book[]", filters=fields, has_predicates=True)], SCHEMA_RESOURCES)
    rows = {row["name"]: row["schema"] for row in spec["paths"]["/books"]["get"]["parameters"]}

    assert rows["filter[pages_gteq]"] == {"type": "integer"}
    assert rows["filter[title_cont]"] == rows["filter[pages_in]"] == {"type": "string"}
    assert rows["filter[sold_at_null]"] == {"type": "boolean"}
    assert rows["filter[sold_at_lt]"] == {"type": "string", "format": "date-time"}
    assert rows["filter[author_id_eq]"] == {"type": "string", "format": "uuid"}
    assert rows["filter[author_name_cont]"] == {"type": "string"}
    assert "filter[author_name_start]" not in rows
    assert not rows.keys() & {"filter[pages_cont]", "filter[pages_null]", "filter[author_id_gt]", "filter"}


def test_a_filter_by_name_is_declared_with_its_type() -> None:
    kinds = {"ids": list[UUID], "options": dict[str, str], "in_stock": bool, "name": str}
    spec = openapi(API, [operation("GET", "/books", "Book[]", filters=kinds)], SCHEMA_RESOURCES)
    rows = {row["name"]: row for row in spec["paths"]["/books"]["get"]["parameters"]}

    assert rows["filter[ids]"]["schema"] == rows["filter[name]"]["schema"] == {"type": "string"}
    assert rows["filter[in_stock]"]["schema"] == {"type": "boolean"}
    assert rows["filter[options]"]["style"] == "deepObject"


def test_a_union_response_is_one_of_its_types() -> None:
    spec = openapi(API, [operation("POST", "/search", SearchResult | LostBook)], SCHEMA_RESOURCES)

    schema = spec["paths"]["/search"]["post"]["responses"]["200"]["content"][MEDIA]["schema"]
    assert schema == {"oneOf": [{"$ref": f"#/components/schemas/{name}"} for name in ("SearchResult", "LostBook")]}
