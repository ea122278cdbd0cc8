"""Documents: the JSON of a record and of its related records."""

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
import pytest

from shop.base.record import Link, Record
from shop.jsonapi.document import Extras, RenderOptions, document, list_document
from shop.jsonapi.encoder import RelationNotLoaded, wire_time
from shop.jsonapi.query import read_document_query
from shop.jsonapi.resource import RenderContext, Resource, computed, many, money, one, resource


class Book(msgspec.Struct, frozen=True, kw_only=True):
    id: UUID
    title: str = "Walden"
    pages: int = 352
    is_new: bool = False
    subtitle: str | None = None
    currency: str = "USD"
    price: int = 1250
    discount: int = -100
    printed_at: datetime = datetime(2022, 11, 8, 19, 34, 36, 444_999, UTC)
    sold_at: datetime | None = None


class Person(msgspec.Struct, frozen=True, kw_only=True):
    id: UUID
    name: str


class City(msgspec.Struct, frozen=True, kw_only=True):
    id: UUID
    name: str = "Concord"


BOOK = resource(
    "book",
    Book,
    attributes=[
        *("title", "pages", "is_new", "subtitle", "currency", "printed_at", "sold_at"),
        money("price"),
        money("discount"),
        computed("label", lambda row, context: f"{row.title} ({context.props})"),
    ],
    relations=[one("author", "person"), many("readers", "person"), many("sequels", "book")],
)
PERSON = resource("person", Person, attributes=["name"], relations=[one("home", "city"), many("books", "book")])
CITY = resource("city", City, attributes=["name"])
RESOURCES: dict[str, Resource] = {"book": BOOK, "person": PERSON, "city": CITY}
NO_LINKS: dict[str, Link] = {"author": None, "readers": [], "sequels": []}


def id_of(number: int) -> UUID:
    return UUID(int=number)


def book(number: int = 1, **links: Link) -> Record:
    return Record(Book(id=id_of(number)), NO_LINKS | links)


def person(number: int, name: str = "Ann", home: Record | None = None) -> Record:
    return Record(Person(id=id_of(number), name=name), {"home": home, "books": []})


def city(number: int) -> Record:
    return Record(City(id=id_of(number)))


def render_options(locale: str = "en-US", **params: Any) -> RenderOptions:
    return RenderOptions(
        RESOURCES, RenderContext(locale, "first edition"), read_document_query(params, BOOK, RESOURCES)
    )


def render(record: Record, **params: Any) -> Any:
    return json.loads(document(BOOK, record, render_options(**params)))


def included_of(payload: Any) -> list[tuple[str, int]]:
    return [(item["type"], UUID(item["id"]).int) for item in payload["included"]]


def test_a_record_is_shown_with_id_type_every_attribute_and_every_relationship() -> None:
    payload = render(book())

    assert payload == {
        "data": {
            "id": "00000000-0000-0000-0000-000000000001",
            "type": "book",
            "attributes": {
                "title": "Walden",
                "pages": 352,
                "is_new": False,
                "subtitle": None,
                "currency": "USD",
                "printed_at": "2022-11-08T19:34:36.444Z",
                "sold_at": None,
                "price": "12.5",
                "display_price": "$12.50",
                "discount": "-1.0",
                "display_discount": "-$1.00",
                "label": "Walden (first edition)",
            },
            "relationships": {"author": {"data": None}, "readers": {"data": []}, "sequels": {"data": []}},
        }
    }


def test_a_record_without_relations_has_empty_relationships() -> None:
    payload = json.loads(document(CITY, city(7), render_options()))

    assert payload["data"]["relationships"] == {}


def test_a_list_shows_its_records_in_the_order_given() -> None:
    payload = json.loads(list_document(BOOK, [book(3), book(1), book(2)], render_options()))

    assert [UUID(item["id"]).int for item in payload["data"]] == [3, 1, 2]
    assert payload.keys() == {"data"}


def test_an_empty_list_has_empty_data_and_included() -> None:
    assert json.loads(list_document(BOOK, [], render_options(include="author"))) == {"data": [], "included": []}


def test_meta_and_links_are_members_of_the_document_if_given() -> None:
    extras = Extras(meta={"count": 1}, links={"self": "https://shop.example/books"})

    payload = json.loads(list_document(CITY, [city(7)], render_options(), extras))

    assert payload.keys() == {"data", "meta", "links"}
    assert (payload["meta"], payload["links"]) == ({"count": 1}, {"self": "https://shop.example/books"})


def test_relationships_contain_ids_and_types_in_order() -> None:
    payload = render(book(1, author=person(5), readers=[person(7), person(6)]))

    ann = {"id": str(id_of(5)), "type": "person"}
    others = [{"id": str(id_of(7)), "type": "person"}, {"id": str(id_of(6)), "type": "person"}]
    relationships = {"author": {"data": ann}, "readers": {"data": others}, "sequels": {"data": []}}
    assert payload["data"]["relationships"] == relationships


def test_relationships_of_one_record_do_not_leak_into_the_next() -> None:
    payload = json.loads(
        list_document(BOOK, [book(1, author=person(5), readers=[person(6)]), book(2)], render_options())
    )

    assert payload["data"][1]["relationships"] == {
        "author": {"data": None},
        "readers": {"data": []},
        "sequels": {"data": []},
    }


@pytest.mark.parametrize("missing", ["author", "readers", "sequels"])
def test_rendering_a_relation_that_was_not_loaded_raises(missing: str) -> None:
    record = Record(Book(id=id_of(1)), {name: link for name, link in NO_LINKS.items() if name != missing})

    with pytest.raises(RelationNotLoaded, match=f"^Book.{missing}$"):
        render(record)


def test_rendering_a_single_relation_that_was_not_loaded_raises() -> None:
    with pytest.raises(RelationNotLoaded, match=r"^Book\.author$"):
        render(Record(Book(id=id_of(1))), fields={"book": "author"})


def test_including_through_a_relation_that_was_not_loaded_raises() -> None:
    ann = Record(Person(id=id_of(5), name="Ann"), {"books": []})

    with pytest.raises(RelationNotLoaded, match=r"^Person\.home$"):
        render(book(1, author=ann), include="author.home", fields={"person": "name"})


def test_a_relation_that_is_not_shown_need_not_be_loaded() -> None:
    payload = render(Record(Book(id=id_of(1))), fields={"book": "title"})

    assert payload["data"]["attributes"] == {"title": "Walden"}
    assert payload["data"]["relationships"] == {}


@pytest.mark.parametrize("params", [{}, {"include": ""}, {"include": "  "}, {"include": None}, {"include": ["author"]}])
def test_nothing_is_included_without_include(params: dict[str, Any]) -> None:
    assert "included" not in render(book(1, author=person(5)), **params)


def test_included_is_an_empty_list_if_there_are_no_related_records() -> None:
    assert render(book(), include="author,readers")["included"] == []


def test_an_included_record_is_shown_in_full() -> None:
    payload = render(book(1, author=person(5, home=city(9))), include="author")

    assert payload["included"] == [
        {
            "id": str(id_of(5)),
            "type": "person",
            "attributes": {"name": "Ann"},
            "relationships": {"home": {"data": {"id": str(id_of(9)), "type": "city"}}, "books": {"data": []}},
        }
    ]


def test_a_dotted_path_includes_every_record_of_the_path_nested_ones_first() -> None:
    payload = render(book(1, author=person(5, home=city(9))), include="author.home")

    assert included_of(payload) == [("city", 9), ("person", 5)]


def test_nested_records_come_before_each_of_their_parents() -> None:
    ann, bob, carl = person(5, home=city(9)), person(6, home=city(8)), person(7)
    second = book(2, author=bob, readers=[carl])

    payload = render(book(1, author=ann, sequels=[second]), include="sequels.author.home,sequels.readers,author.home")

    assert included_of(payload) == [("city", 8), ("person", 6), ("person", 7), ("book", 2), ("city", 9), ("person", 5)]


def test_each_record_is_included_once_however_often_it_is_linked() -> None:
    home = city(9)
    ann, bob = person(5, home=home), person(6, home=home)
    records = [book(1, author=ann, readers=[bob, ann, bob]), book(2, author=ann, readers=[bob])]

    payload = json.loads(list_document(BOOK, records, render_options(include="author.home,readers.home")))

    assert included_of(payload) == [("city", 9), ("person", 5), ("person", 6)]


def test_records_of_two_types_may_have_the_same_id() -> None:
    payload = render(book(1, author=person(5, home=city(5))), include="author.home")

    assert included_of(payload) == [("city", 5), ("person", 5)]


def test_circular_relations_are_walked_once_per_path() -> None:
    visits = 0

    class CountingLinks(dict[str, Link]):
        def __getitem__(self, name: str) -> Link:
            nonlocal visits
            visits += name == "books"
            return super().__getitem__(name)

    links = CountingLinks({"home": None, "books": []})
    author = Record(Person(id=id_of(5), name="Ann"), links)
    links["books"] = [book(number, author=author) for number in range(100, 150)]

    payload = render(book(1, author=author), include="author.books.author.books.author.books")

    assert len(payload["included"]) == 51
    # Three levels of the tree, and a few more to render the one author.
    assert visits < 10


def test_primary_data_is_not_repeated_in_included() -> None:
    inner = Record(Person(id=id_of(5), name="Ann"), {"home": None, "books": [book(1), book(2)]})

    payload = render(book(1, author=inner), include="author.books")

    assert included_of(payload) == [("book", 2), ("person", 5)]


def test_fields_select_attributes_and_relationships() -> None:
    payload = render(book(1, author=person(5)), fields={"book": "title,author"})

    assert payload["data"]["attributes"] == {"title": "Walden"}
    assert payload["data"]["relationships"] == {"author": {"data": {"id": str(id_of(5)), "type": "person"}}}


def test_fields_of_an_included_type_do_not_affect_the_primary_data() -> None:
    payload = render(book(1, author=person(5, home=city(9))), include="author", fields={"person": "home"})

    assert payload["included"][0]["attributes"] == {}
    assert payload["included"][0]["relationships"].keys() == {"home"}
    assert payload["data"]["attributes"].keys() == BOOK.kinds().keys()
    assert payload["data"]["relationships"].keys() == {"author", "readers", "sequels"}


def test_fields_of_the_primary_type_apply_to_included_records_of_that_type() -> None:
    payload = render(book(1, sequels=[book(2)]), include="sequels", fields={"book": "pages"})

    assert payload["included"] == [
        {"id": str(id_of(2)), "type": "book", "attributes": {"pages": 352}, "relationships": {}}
    ]


def test_a_record_is_included_even_where_its_relationship_is_not_shown() -> None:
    payload = render(book(1, author=person(5)), include="author", fields={"book": "title"})

    assert payload["data"]["relationships"] == {}
    assert included_of(payload) == [("person", 5)]


def test_unknown_fields_and_types_are_ignored() -> None:
    payload = render(book(), fields={"book": "pages,weight,id,type,__class__", "planet": "mass"})

    assert payload["data"]["attributes"] == {"pages": 352}
    assert payload["data"]["id"] == str(id_of(1))


@pytest.mark.parametrize("names", ["", " ", ",", "weight"])
def test_fields_without_a_known_name_select_nothing(names: str) -> None:
    payload = render(book(), fields={"book": names})

    assert payload["data"] == {"id": str(id_of(1)), "type": "book", "attributes": {}, "relationships": {}}


@pytest.mark.parametrize("fields", ["abc", "", ["title"], None, {"book": {"title": "x"}}, {"book": ["title"]}])
def test_malformed_fields_are_ignored(fields: Any) -> None:
    assert render(book(), fields=fields) == render(book())


@pytest.mark.parametrize(
    ("names", "attributes"),
    [
        ("price", {"price": "12.5"}),
        ("display_price", {"display_price": "$12.50"}),
        ("display_price,discount", {"display_price": "$12.50", "discount": "-1.0"}),
        ("price,display_price", {"price": "12.5", "display_price": "$12.50"}),
        ("price,discount,display_discount", {"price": "12.5", "discount": "-1.0", "display_discount": "-$1.00"}),
        ("sold_at", {"sold_at": None}),
        ("printed_at,label", {"printed_at": "2022-11-08T19:34:36.444Z", "label": "Walden (first edition)"}),
    ],
)
def test_an_amount_and_its_display_text_are_selected_separately(names: str, attributes: dict[str, Any]) -> None:
    assert render(book(), fields={"book": names})["data"]["attributes"] == attributes


def test_amounts_use_the_currency_of_the_row_and_the_locale_of_the_context() -> None:
    yen = Record(Book(id=id_of(1), currency="JPY", price=123_456), NO_LINKS)

    payload = render(yen, locale="de-DE")

    assert payload["data"]["attributes"]["price"] == "123456.0"
    assert payload["data"]["attributes"]["display_price"] == "123.456\xa0\xa5"


def test_more_amounts_than_the_cache_holds_are_rendered_correctly() -> None:
    books = [Record(Book(id=id_of(cents), price=cents), NO_LINKS) for cents in range(5000)]

    payload = json.loads(list_document(BOOK, [*books, *books], render_options(fields={"book": "price"})))

    expected = [f"{cents / 100:.2f}".rstrip("0") + "0" * (cents % 100 == 0) for cents in range(5000)]
    assert [item["attributes"]["price"] for item in payload["data"]] == expected * 2


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2022, 11, 8, 19, 34, 36, 444_999, UTC), "2022-11-08T19:34:36.444Z"),
        (datetime(2022, 11, 8, 19, 34, 36, 999, UTC), "2022-11-08T19:34:36.000Z"),
        (datetime(2024, 2, 29, tzinfo=UTC), "2024-02-29T00:00:00.000Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000Z"),
        (datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC), "9999-12-31T23:59:59.999Z"),
        (None, None),
    ],
)
def test_a_time_is_utc_with_truncated_milliseconds(moment: datetime | None, text: str | None) -> None:
    assert wire_time(moment) == text
