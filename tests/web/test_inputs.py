"""The struct that describes a body or a query is the struct that is read, and every error is under its path."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Meta, UnsetType

from shop.base.errors import Invalid, Malformed
from shop.base.input_types import Amount, EmailAddress, Line, LookupId, Metadata, Quantity
from shop.base.values import EMPTY, NO_RECORD, NOT_BOOLEAN, NOT_ID, NOT_INTEGER, REQUIRED
from shop.rules.metadata import METADATA_ERROR
from shop.web.input.inputs import MAX_ITEM_LENGTH, MAX_ITEMS, read_filters, read_input, read_value

ID = UUID("0192f0c1-8b6e-7a51-9f3c-2b7d4f6a8e01")
OTHER_ID = UUID("0192f0c1-8b6e-7a51-9f3c-2b7d4f6a8e02")


class Item(msgspec.Struct, frozen=True):
    """An item of a list."""

    variant_id: UUID
    quantity: Annotated[int, Meta(ge=1)] = 1


class Size(msgspec.Struct, frozen=True):
    """A nested struct."""

    width: Annotated[int, Meta(ge=1, le=100)]
    unit: Literal["cm", "in"] = "cm"


class ExampleInput(msgspec.Struct, frozen=True, kw_only=True):
    """A struct with one field of each type."""

    name: Line
    note: str = ""
    email: EmailAddress | UnsetType = UNSET
    count: int = 0
    is_gift: bool = False
    order_id: LookupId | None = None
    at: datetime | None = None
    amount: Amount | None = None
    public_metadata: Metadata | UnsetType = UNSET
    size: Size | UnsetType = UNSET
    items: Annotated[list[Item], Meta(min_length=1, max_length=3)] | UnsetType = UNSET
    sizes: dict[str, Size] | UnsetType = UNSET
    tags: list[str] | UnsetType = UNSET
    ids: list[UUID] | UnsetType = UNSET
    numbers: Annotated[list[int], Meta(max_length=2)] | UnsetType = UNSET


class Presence(msgspec.Struct, frozen=True, kw_only=True):
    """A required field and the ways in which a field is optional."""

    required: int
    optional: int | UnsetType = UNSET
    nullable: int | None = None
    clearable: int | UnsetType | None = UNSET
    text: str | UnsetType | None = UNSET


class Coded(msgspec.Struct, frozen=True, kw_only=True):
    """Fields with an error code, and one without."""

    quantity: Annotated[int, Meta(ge=1, extra={"code": "quantity_not_positive"})] = 1
    units: Annotated[int, Meta(ge=1, extra={"code": "quantity_not_positive"})] = 1
    currency: Annotated[str, Meta(min_length=1, extra={"code": "currency_not_supported"})] = "USD"
    count: int = 0


class Wrapped(msgspec.Struct, frozen=True):
    """A body whose fields are in an object."""

    size: Size


class Special(msgspec.Struct, frozen=True):
    """Fields with a value for absence, and with a function that reads them."""

    token: Annotated[str, Meta(extra={"absent": ""})]
    line_item_id: Annotated[LookupId, Meta(extra={"absent": NO_RECORD})]
    code: Annotated[str, Meta(extra={"read": lambda value: str(value).upper()})] = ""


class ListFilters(msgspec.Struct, frozen=True):
    """The filters of a list."""

    ids: list[UUID] | None = None
    in_stock: bool | None = None
    name: str | None = None


def errors_of(kind: type[object], **members: Any) -> dict[str, list[str]]:
    with pytest.raises(Invalid) as error:
        read_input(kind, members)
    return {name: list(messages) for name, messages in error.value.errors.items()}


def code_of(**members: Any) -> str:
    with pytest.raises(Invalid) as error:
        read_input(Coded, members)
    return error.value.code


def invalid_fields(members: dict[str, Any]) -> set[str]:
    try:
        read_input(ExampleInput, members)
    except Invalid as error:
        return {path.partition(".")[0] for path in error.errors}
    return set()


def test_json_and_text_are_read_alike() -> None:
    texts = {
        "name": "Mug",
        "note": "two\nlines",
        "email": " grace@example.org ",
        "count": "2",
        "is_gift": "yes",
        "order_id": str(ID),
        "at": "2026-01-31T12:00:00Z",
        "amount": "19.99",
        "public_metadata": {"color": "red"},
        "size": {"width": "10", "unit": "in"},
        "items": [{"variant_id": str(ID), "quantity": "2"}, {"variant_id": str(OTHER_ID)}],
        "sizes": {"box": {"width": "5"}},
        "tags": "red, green,,",
        "ids": f"{ID},{OTHER_ID}",
        "numbers": "1,2",
    }
    json = texts | {
        "count": 2,
        "is_gift": True,
        "amount": 19.99,
        "size": {"width": 10, "unit": "in"},
        "items": [{"variant_id": str(ID), "quantity": 2}, {"variant_id": str(OTHER_ID), "quantity": 1}],
        "sizes": {"box": {"width": 5, "unit": "cm"}},
        "tags": ["red", "green"],
        "ids": [str(ID), str(OTHER_ID)],
        "numbers": [1, 2],
    }

    assert read_input(ExampleInput, texts) == ExampleInput(
        name="Mug",
        note="two\nlines",
        email="grace@example.org",
        count=2,
        is_gift=True,
        order_id=ID,
        at=datetime(2026, 1, 31, 12, tzinfo=UTC),
        amount=Decimal("19.99"),
        public_metadata={"color": "red"},
        size=Size(10, "in"),
        items=[Item(ID, 2), Item(OTHER_ID)],
        sizes={"box": Size(5)},
        tags=["red", "green"],
        ids=[ID, OTHER_ID],
        numbers=[1, 2],
    )
    assert read_input(ExampleInput, json) == read_input(ExampleInput, texts)


def test_members_without_a_field_are_ignored() -> None:
    assert read_input(ExampleInput, {"name": "Mug", "color": "red"}) == ExampleInput(name="Mug")


def test_every_error_is_reported_under_the_path_of_its_field() -> None:
    members = {
        "name": "two\nlines",
        "count": "many",
        "is_gift": "maybe",
        "public_metadata": [],
        "size": {"width": 101, "unit": "m"},
        "items": [{"variant_id": str(ID)}, {"quantity": 0}, {"variant_id": "x"}],
        "sizes": {"box": {"width": "wide"}, "bag": "small"},
    }

    assert errors_of(ExampleInput, **members) == {
        "name": ["must be one line of at most 255 characters"],
        "count": [NOT_INTEGER],
        "is_gift": [NOT_BOOLEAN],
        "public_metadata": [METADATA_ERROR],
        "size.width": ["must be a whole number from 1 to 100"],
        "size.unit": ["must be one of cm, in"],
        "items.1.variant_id": [REQUIRED],
        "items.1.quantity": ["must be 1 or more"],
        "items.2.variant_id": [NOT_ID],
        "sizes.box.width": [NOT_INTEGER],
        "sizes.bag": ["must be an object"],
    }


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("size", "large", "must be an object"),
        ("sizes", ["large"], "must be an object"),
        ("items", {}, "must be a list of 1 to 3 objects"),
        ("items", "a,b", "must be a list of 1 to 3 objects"),
        ("items", [], "must be a list of 1 to 3 objects"),
        ("items", [{"variant_id": str(ID)}] * 4, "must be a list of 1 to 3 objects"),
        ("tags", ["a" * (MAX_ITEM_LENGTH + 1)], f"must be a list of at most {MAX_ITEMS} texts"),
        ("tags", ["a"] * (MAX_ITEMS + 1), f"must be a list of at most {MAX_ITEMS} texts"),
        ("tags", [5], f"must be a list of at most {MAX_ITEMS} texts"),
        ("ids", "a,b", f"must be a list of at most {MAX_ITEMS} ids"),
        ("ids", [str(ID), None], f"must be a list of at most {MAX_ITEMS} ids"),
        ("numbers", "1,2,3", "must be a list of at most 2 whole numbers"),
        ("numbers", ["x"], "must be a list of at most 2 whole numbers"),
    ],
)
def test_an_object_or_list_of_the_wrong_form_is_one_error(field: str, value: Any, message: str) -> None:
    assert errors_of(ExampleInput, name="Mug", **{field: value}) == {field: [message]}


def test_an_absent_field_has_its_default() -> None:
    assert read_input(Presence, {"required": 1}) == Presence(required=1)


def test_null_clears_a_nullable_field() -> None:
    values = read_input(Presence, {"required": 1, "nullable": None, "clearable": None})

    assert (values.nullable, values.clearable, values.optional) == (None, None, UNSET)


@pytest.mark.parametrize(("value", "message"), [(None, EMPTY), ("", NOT_INTEGER)])
def test_null_and_empty_are_errors_of_other_fields(value: Any, message: str) -> None:
    assert errors_of(Presence, required=value, optional=value) == {"required": [REQUIRED], "optional": [message]}


def test_a_required_field_that_is_absent_is_an_error() -> None:
    assert errors_of(Presence, optional=1) == {"required": [REQUIRED]}


def test_an_empty_string_is_a_valid_text() -> None:
    assert read_input(Presence, {"required": 1, "text": ""}).text == ""
    assert read_input(Presence, {"required": 1, "text": None}).text is None


def test_the_errors_of_a_wrapped_object_have_the_names_of_its_fields() -> None:
    assert read_input(Wrapped, {"size": {"width": 1}}) == Wrapped(Size(1))
    assert errors_of(Wrapped, size={}) == {"width": [REQUIRED]}


@pytest.mark.parametrize("members", [{}, {"size": None}, {"size": "large"}, {"size": []}, {"width": 1}])
def test_a_body_without_a_required_object_is_malformed(members: dict[str, Any]) -> None:
    with pytest.raises(Malformed, match='must have an object "size"'):
        read_input(Wrapped, members)


def test_the_error_code_is_the_common_code_of_all_invalid_fields_or_the_default() -> None:
    assert code_of(quantity=0) == code_of(quantity="x", units=0) == "quantity_not_positive"
    assert code_of(currency="") == "currency_not_supported"
    assert code_of(quantity=0, currency="") == code_of(quantity=0, count="x") == code_of(count="x") == Invalid.code


def test_a_required_field_may_have_a_value_for_its_absence() -> None:
    for values in (read_input(Special, {}), read_input(Special, {"token": None, "line_item_id": ""})):
        assert (values.token, values.line_item_id) == ("", NO_RECORD)


def test_a_malformed_id_to_look_up_matches_no_record() -> None:
    assert read_input(Special, {"line_item_id": "x"}).line_item_id == NO_RECORD


def test_a_field_may_be_read_by_a_function_of_its_own() -> None:
    assert read_input(Special, {"code": "spring"}).code == "SPRING"


def test_one_value_is_read_by_its_type() -> None:
    assert read_value("5", int) == 5
    assert read_value("", int | None) is None
    assert read_value("", str) == ""
    with pytest.raises(ValueError, match=EMPTY):
        read_value(None, int)
    with pytest.raises(ValueError, match=NOT_INTEGER):
        read_value("x", int | None)


@pytest.mark.parametrize("params", [{}, {"filter": None}, {"filter": ""}, {"filter": {"in_stock": "", "ids": []}}])
def test_filters_that_are_absent_or_empty_are_not_set(params: dict[str, Any]) -> None:
    assert read_filters(ListFilters, params) == ListFilters()


def test_filters_are_read_by_their_types() -> None:
    filters = {"ids": f"{ID}, {OTHER_ID}", "in_stock": "1", "name": "mug"}

    assert read_filters(ListFilters, {"filter": filters}) == ListFilters([ID, OTHER_ID], True, "mug")


@pytest.mark.parametrize("filters", ["mug", ["mug"], {"color": "red"}, {"name": "mug", "color": ""}])
def test_an_unknown_filter_is_malformed(filters: Any) -> None:
    with pytest.raises(Malformed) as error:
        read_filters(ListFilters, {"filter": filters})

    assert error.value.code == "unknown_filter"


def test_every_invalid_filter_is_reported() -> None:
    with pytest.raises(Malformed) as error:
        read_filters(ListFilters, {"filter": {"in_stock": "maybe", "ids": "x", "name": "mug"}})

    assert error.value.code == "bad_filter"
    assert "'in_stock' must be true or false." in error.value.sentence
    assert "'ids' must be a list of" in error.value.sentence


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(ExampleInput.__struct_fields__), JSON))
def test_any_input_is_read_or_refused_field_by_field(members: dict[str, Any]) -> None:
    assert invalid_fields(members) <= {*members, "name"}


def test_a_second_annotation_keeps_the_limits_of_the_first() -> None:
    with pytest.raises(ValueError, match="from 1 to"):
        read_value(-5, Annotated[Quantity, Meta(description="units")])


def test_an_empty_string_clears_a_nullable_field_and_is_invalid_elsewhere() -> None:
    assert read_value("", int | None) is None
    assert errors_of(Presence, required=1, optional="") == {"optional": [NOT_INTEGER]}
