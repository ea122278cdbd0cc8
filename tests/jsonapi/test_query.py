"""The parameters of a document: `include` and `fields`."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shop.base.errors import Malformed
from shop.jsonapi.query import FULL, DocumentQuery, read_document_query
from shop.jsonapi.resource import Resource, many, one, resource


class Row(msgspec.Struct, frozen=True):
    id: int
    name: str


BOOK = resource("book", Row, attributes=["name"], relations=[one("author", "person"), many("prints", "print")])
PERSON = resource("person", Row, attributes=["name"], relations=[one("home", "city"), many("books", "book")])
CITY = resource("city", Row, attributes=["name"])
RESOURCES: dict[str, Resource] = {"book": BOOK, "person": PERSON, "city": CITY}


def read(**params: Any) -> DocumentQuery:
    return read_document_query(params, BOOK, RESOURCES)


def error_of(include: str) -> Malformed:
    with pytest.raises(Malformed) as excinfo:
        read(include=include)
    return excinfo.value


def test_a_request_without_include_and_fields_is_answered_in_full() -> None:
    assert read(page="2", filter={"name": "x"}) is FULL
    assert (FULL.include, FULL.fields) == (None, {})


@pytest.mark.parametrize(
    ("include", "tree"),
    [
        ("author", {"author": {}}),
        ("author,prints", {"author": {}, "prints": {}}),
        (" author , prints ", {"author": {}, "prints": {}}),
        ("author.home", {"author": {"home": {}}}),
        ("author,author.home", {"author": {"home": {}}}),
        ("author.home,author", {"author": {"home": {}}}),
        ("author.home,author.books,author.home", {"author": {"home": {}, "books": {}}}),
        ("author.books.author.home", {"author": {"books": {"author": {"home": {}}}}}),
    ],
)
def test_include_paths_are_merged_into_a_tree(include: str, tree: dict[str, Any]) -> None:
    assert read(include=include).include == tree


@pytest.mark.parametrize("include", ["", " ", "\t", None, [], ["author"], {"author": "1"}, 7])
def test_a_blank_or_malformed_include_is_ignored(include: Any) -> None:
    assert read(include=include).include is None


@pytest.mark.parametrize(
    ("include", "path", "allowed_names"),
    [
        ("publisher", "publisher", "author, prints"),
        ("author,publisher", "publisher", "author, prints"),
        ("Author", "Author", "author, prints"),
        ("name", "name", "author, prints"),
        ("author.planet", "author.planet", "home, books"),
        ("author.home.mayor", "author.home.mayor", "none"),
        ("author.", "author.", "home, books"),
        (".author", ".author", "author, prints"),
        ("author home", "author home", "author, prints"),
        ("prints.shop", "prints.shop", "none"),
    ],
)
def test_an_unknown_include_is_refused_with_the_allowed_names(include: str, path: str, allowed_names: str) -> None:
    error = error_of(include)

    assert (error.status, error.code) == (400, "unknown_include")
    assert error.sentence == f"There is no include {path!r}; allowed here: {allowed_names}."


def test_a_long_unknown_include_is_quoted_in_part_only() -> None:
    assert len(error_of("x" * 100_000).sentence) < 250


def test_a_very_long_circular_path_is_refused() -> None:
    assert error_of(".".join(["author", "books"] * 500)).status == 400


@given(st.text(max_size=60) | st.lists(st.sampled_from(["author", "home", "books", ".", ",", " "])).map("".join))
def test_any_include_is_read_or_refused(include: str) -> None:
    code = None
    try:
        read(include=include)
    except Malformed as error:
        code = error.code

    assert code in {None, "unknown_include"}


def test_fields_are_read_by_type() -> None:
    query = read(fields={"book": "name, author,,name", "city": ""})

    assert query.fields == {"book": {"name", "author", ""}, "city": {""}}
    assert query.include is None


@pytest.mark.parametrize("fields", ["abc", "", None, [], ["name"], 5, {"book": {"name": "1"}}, {"book": ["name"]}])
def test_malformed_fields_are_ignored(fields: Any) -> None:
    assert read(fields=fields).fields == {}


def test_one_malformed_entry_of_fields_does_not_affect_the_others() -> None:
    assert read(fields={"book": ["name"], "city": "name"}).fields == {"city": {"name"}}


def test_include_and_fields_are_read_together() -> None:
    query = read(include="author", fields={"person": "name"})

    assert query == DocumentQuery({"author": {}}, {"person": frozenset({"name"})})
