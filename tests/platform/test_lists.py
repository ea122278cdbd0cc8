"""Lists of every resource: filters, sorts and both kinds of paging, compared with a computation in Python."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shop.base.input_types import split_kind
from shop.jsonapi.filtering import COMPARISONS, LIST_PREDICATES, TEXT_PREDICATES, UNARY, YES_OR_NO
from shop.jsonapi.resource import Money
from shop.platform.collection import Collection, all_filters
from shop.platform.resources.registry import COLLECTIONS
from tests.platform.builders import ALL, sample, shared_sample
from tests.platform.catalog_builders import master_of, new
from tests.platform.client import Machine
from tests.platform.customers.test_addresses import new_address
from tests.platform.test_resources import each
from tests.sampling import first
from tests.shopper import Answer

Item = dict[str, Any]
# The suite tests one field of each kind; `make torture` tests every field.
FIELD_SELECTION = pytest.mark.parametrize(
    "is_whole", first(1, [False, True]), ids=lambda whole: "all" if whole else "one of a kind"
)
EXAMPLES: dict[Any, str] = {
    str: "a",
    int: "1",
    bool: "true",
    UUID: str(uuid4()),
    datetime: "2026-01-31T12:00:00Z",
    Money: "1.50",
    Decimal: "1.50",
}


def select_fields(kinds: Mapping[str, Any], is_whole: bool) -> dict[str, Any]:
    """Fields by their kind: all of them, or the last of each kind."""
    last = {kind: name for name, kind in kinds.items()}
    return {name: kind for name, kind in kinds.items() if is_whole or last[kind] == name}


def predicates_of(kind: Any) -> list[str]:
    """The predicates for a kind of field."""
    plain = split_kind(kind)[0]
    unary = [word for word in UNARY if word not in YES_OR_NO or plain is bool]
    return [*COMPARISONS, *LIST_PREDICATES, *unary, *(TEXT_PREDICATES if plain is str else ())]


def value_of(item: Item, name: str, kind: Any) -> Any:
    """The value of a field for comparisons, from its JSON."""
    text = text_of(item, name)
    if text is None:
        return None
    plain = split_kind(kind)[0]
    if plain in {Money, Decimal}:
        return Decimal(text)
    return datetime.fromisoformat(text) if plain is datetime else text


def text_of(item: Item, name: str) -> Any:
    """The JSON of a field: an attribute, or the id of a relation."""
    relation = name.removesuffix("_id")
    if relation in item["relationships"]:
        return (item["relationships"][relation]["data"] or {}).get("id")
    return item["id"] if name == "id" else item["attributes"][name]


async def items_of(machine: Machine, collection: Collection, ids: Sequence[str], **filters: str) -> list[Item]:
    params = {"filter[id_in]": ",".join(ids), "per_page": "500"}
    params |= {f"filter[{name}]": value for name, value in filters.items()}
    answer = await machine.get(f"/{collection.path}", params)
    assert answer.status == 200, answer
    items: list[Item] = answer.json["data"]
    return items


MATCHES: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda value, operand: value is not None and value == operand,
    "not_eq": lambda value, operand: value != operand,
    "gteq": lambda value, operand: value is not None and value >= operand,
    "in": lambda value, operand: value is not None and value == operand,
    "null": lambda value, _operand: value is None,
    "cont": lambda value, operand: value is not None and prefix_of(operand).lower() in value.lower(),
}


def prefix_of(text: str) -> str:
    """A text without its last character, unless it has only one."""
    return text[: max(len(text) - 1, 1)]


@FIELD_SELECTION
@each(ALL)
async def test_every_filter_returns_the_matching_records(
    writer: Machine, db: Any, collection: Collection, is_whole: bool
) -> None:
    ids = await shared_sample(writer, db, collection)
    items = await items_of(writer, collection, ids)
    fields = select_fields({name: field.kind for name, field in collection.own_filters.items()}, is_whole)

    for name, kind in fields.items():
        valued_items = [item for item in items if value_of(item, name, kind) is not None]
        predicates = [word for word in MATCHES if word in predicates_of(kind)] if valued_items else ["null"]
        if split_kind(kind)[0] is datetime:
            # Documents have times in milliseconds, the database in microseconds: none is equal to its JSON.
            predicates = [word for word in predicates if word in {"gteq", "null"}]
        for predicate in predicates:
            operand = value_of(valued_items[-1], name, kind) if valued_items else None
            text = str(text_of(valued_items[-1], name)) if valued_items else ""
            param = {"null": "1", "cont": prefix_of(text)}.get(predicate, text)

            matches = await items_of(writer, collection, ids, **{f"{name}_{predicate}": param})

            expected_ids = {item["id"] for item in items if MATCHES[predicate](value_of(item, name, kind), operand)}
            assert {item["id"] for item in matches} == expected_ids, (name, predicate, text)


@FIELD_SELECTION
@each(ALL)
async def test_every_field_accepts_every_predicate_of_its_type(
    writer: Machine, collection: Collection, is_whole: bool
) -> None:
    kinds = {name: field.kind for name, field in all_filters(collection, COLLECTIONS).items()}
    filters = [
        (f"filter[{name}_{predicate}]", "1" if predicate in UNARY else EXAMPLES[split_kind(kind)[0]])
        for name, kind in select_fields(kinds, is_whole).items()
        for predicate in predicates_of(kind)
    ]

    for start in range(0, len(filters), 20):
        answer = await writer.get(f"/{collection.path}", {**dict(filters[start : start + 20]), "page[after]": ""})
        assert answer.status == 200, answer


@pytest.mark.security("C-02")
@each(ALL)
async def test_an_unknown_filter_or_sort_is_refused_with_the_valid_names(
    writer: Machine, collection: Collection
) -> None:
    refusal = await writer.get(f"/{collection.path}", {"filter[nothing_eq]": "1"})
    sorted_ = await writer.get(f"/{collection.path}", {"sort": "nothing"})

    assert (refusal.status, refusal.code) == (400, "unknown_filter")
    assert all(name in refusal.json["error"] for name in all_filters(collection, COLLECTIONS))
    assert (sorted_.status, sorted_.code) == (400, "unknown_sort")
    assert all(name in sorted_.json["error"] for name in collection.all_sorts)


async def test_filters_may_be_combined_with_or(writer: Machine, db: Any) -> None:
    users = COLLECTIONS["user"]
    ids = await sample(writer, db, users, 3)
    first, second, _ = await items_of(writer, users, sorted(ids))
    filters = {"filter[email_eq]": first["attributes"]["email"], "filter[id_eq]": second["id"]}

    either = await writer.get("/users", {**filters, "filter[m]": "or"})
    both = [await writer.get("/users", {**filters, **more}) for more in ({}, {"filter[m]": "and"}, {"filter[m]": ""})]

    assert {item["id"] for item in either.json["data"]} == {first["id"], second["id"]}
    assert [answer.json["data"] for answer in both] == [[], [], []]


async def test_a_combination_other_than_or_and_and_is_refused(writer: Machine) -> None:
    answer = await writer.get("/users", {"filter[m]": "xor", "filter[email_eq]": "a@b.example"})

    assert (answer.status, answer.code) == (400, "bad_filter")


async def test_records_are_filtered_by_related_records(writer: Machine, db: Any) -> None:
    user_id, _ = await sample(writer, db, COLLECTIONS["user"], 2)
    address_id, other_id = await sample(writer, db, COLLECTIONS["address"], 2)
    email = (await writer.get(f"/users/{user_id}"))["email"]
    await db.execute("update addresses set user_id = $2 where id = $1", address_id, user_id)

    addresses = await writer.get("/addresses", {"filter[user_email_eq]": email})
    users = await writer.get("/users", {"filter[addresses_id_in]": f"{address_id},{other_id}"})

    assert [item["id"] for item in addresses.json["data"]] == [address_id]
    assert [item["id"] for item in users.json["data"]] == [user_id]


async def test_a_filter_may_follow_two_relations_and_join_two_fields_with_or(writer: Machine) -> None:
    name, sku = uuid4().hex, uuid4().hex
    products = [await new(writer, "product", name=f"Mug {name}"), await new(writer, "product", sku=sku)]
    location = (await new(writer, "stock_location")).id
    masters = [await master_of(writer, product.id) for product in products]
    items = [(await new(writer, "stock_item", variant_id=master, stock_location_id=location)).id for master in masters]

    field = "filter[variant_product_name_or_variant_sku_cont]"
    responses = [await writer.get("/stock_items", {field: text}) for text in (name, sku, f"{name}{sku}")]

    assert [ids_of(answer) for answer in responses] == [[items[0]], [items[1]], []]


async def test_several_filters_over_a_relation_apply_to_the_same_record(writer: Machine) -> None:
    word, location = uuid4().hex, (await new(writer, "stock_location")).id
    products = [await new(writer, "product", name=f"{name} {word}", sku=f"{name}-{word}") for name in ("Mug", "Jug")]
    masters = [await master_of(writer, product.id) for product in products]
    items = [(await new(writer, "stock_item", variant_id=master, stock_location_id=location)).id for master in masters]
    mugs_name, jugs_sku = f"Mug {word}", f"Jug-{word}"

    async def find_ids(**filters: str) -> set[str]:
        params = {f"filter[{name}]": value for name, value in filters.items()}
        return set(ids_of(await writer.get("/stock_items", {**params, "filter[stock_location_id_eq]": location})))

    name_filters = {"variant_product_name_eq": mugs_name, "variant_product_slug_not_null": "1"}
    assert await find_ids(**name_filters) == {items[0]}
    assert await find_ids(**name_filters, variant_sku_eq=f"Mug-{word}") == {items[0]}
    assert await find_ids(**name_filters, variant_sku_eq=jugs_sku) == set()
    either = {"filter[variant_product_name_eq]": mugs_name, "filter[variant_sku_eq]": jugs_sku, "filter[m]": "or"}
    assert set(ids_of(await writer.get("/stock_items", either))) == set(items)


async def test_products_are_filtered_by_master_sku(writer: Machine) -> None:
    sku = uuid4().hex
    product = await new(writer, "product", sku=sku)
    await new(writer, "variant", product_id=product.id, sku=f"{sku}-2")

    responses = [await writer.get("/products", {"filter[master_sku_eq]": text}) for text in (sku, f"{sku}-2")]

    assert [ids_of(answer) for answer in responses] == [[product.id], []]


async def test_orders_are_filtered_by_either_of_their_addresses(writer: Machine, db: Any) -> None:
    names = [uuid4().hex for _ in range(3)]
    addresses = [(await new_address(writer, firstname=name)).id for name in names]
    ids = [(await writer.post("/orders", {"order": {}})).id for _ in range(2)]
    statement = "update orders set bill_address_id = $2, ship_address_id = $3 where id = $1"
    await db.execute(statement, ids[0], addresses[0], addresses[1])
    await db.execute(statement, ids[1], addresses[1], addresses[2])

    responses = [await writer.get("/orders", {"filter[addresses_firstname_eq]": name, "sort": "id"}) for name in names]

    assert [ids_of(answer) for answer in responses] == [[ids[0]], ids, [ids[1]]]


async def test_orders_are_filtered_by_considered_risky(writer: Machine, db: Any) -> None:
    orders = COLLECTIONS["order"]
    ids = [(await writer.post("/orders", {"order": {}})).id for _ in range(2)]
    await db.execute("update orders set considered_risky = true where id = $1", ids[0])

    matches = [await items_of(writer, orders, ids, considered_risky_true=word) for word in ("1", "0")]

    assert [[item["id"] for item in items] for items in matches] == [[ids[0]], [ids[1]]]
    assert matches[0][0]["attributes"]["considered_risky"] is True


async def test_variants_are_filtered_by_weight_and_dimensions(writer: Machine) -> None:
    variants = COLLECTIONS["variant"]
    sizes = {"weight": "1.5", "height": "2.5", "width": "3.5", "depth": "4.5"}
    product_id = (await new(writer, "product")).id
    ids = [(await new(writer, "variant", product_id=product_id, **fields)).id for fields in (sizes, {})]

    matches = [await items_of(writer, variants, ids, **{f"{name}_gteq": size}) for name, size in sizes.items()]

    assert [[item["id"] for item in items] for items in matches] == [[ids[0]]] * 4


async def test_filtering_by_deleted_at_is_refused(writer: Machine) -> None:
    answer = await writer.get("/products", {"filter[deleted_at_not_null]": "1"})

    assert (answer.status, answer.code) == (400, "unknown_filter")


async def test_amounts_are_filtered_in_the_units_of_their_currency(writer: Machine, db: Any) -> None:
    ids = [(await writer.post("/orders", {"order": {"currency": code}})).id for code in ("USD", "JPY")]
    await db.execute("update orders set item_total = 1250, total = 1250 where id = any($1)", ids)

    matches = [
        await items_of(writer, COLLECTIONS["order"], ids, **{filter_: value})
        for filter_, value in {"total_eq": "12.5", "total_gt": "12.5", "total_in": "1250,9"}.items()
    ]

    assert [[item["id"] for item in items] for items in matches] == [[ids[0]], [ids[1]], [ids[1]]]


@pytest.mark.security("C-02")
@pytest.mark.parametrize("text", ["%", "_", "\\", "'", "a%b", "' or 1=1 --"])
async def test_wildcards_and_quotes_in_a_filter_are_literal(writer: Machine, text: str) -> None:
    order = await writer.post("/orders", {"order": {"special_instructions": "x", "email": None}})
    await writer.post("/tax_categories", {"tax_category": {"name": f"{text} {order.id}"}})

    response = await writer.get(
        "/tax_categories", {"filter[name_cont]": f"{text} {order.id}", "filter[name_start]": text}
    )

    assert [item["attributes"]["name"] for item in response.json["data"]] == [f"{text} {order.id}"]


async def next_page(machine: Machine, answer: Answer) -> Answer:
    return await machine.get(answer.json["links"]["next"].partition("/api/v2/platform")[2])


def ids_of(answer: Answer) -> list[str]:
    assert answer.status == 200, answer
    return [item["id"] for item in answer.json["data"]]


async def list_by_page(machine: Machine, path: str, params: dict[str, str]) -> list[str]:
    """The ids of the records of all pages, by the links to the next page."""
    answer = await machine.get(f"/{path}", params)
    ids = ids_of(answer)
    for _ in range(answer.json["meta"]["total_pages"] - 1):
        answer = await next_page(machine, answer)
        ids += ids_of(answer)
    return ids


async def list_by_cursor(machine: Machine, path: str, params: dict[str, str]) -> list[str]:
    answer = await machine.get(f"/{path}", {**params, "page[after]": ""})
    ids = ids_of(answer)
    while "next" in answer.json["links"]:
        answer = await next_page(machine, answer)
        ids += ids_of(answer)
    return ids


def is_ascending(values: Iterable[Any]) -> bool:
    """Whether values ascend; None counts as the largest."""
    keys = [(value is None, value) for value in values]
    return all(
        first[0] < second[0] or (first[0] == second[0] and (first[0] or first[1] <= second[1]))
        for first, second in pairwise(keys)
    )


@FIELD_SELECTION
@each(ALL)
async def test_both_kinds_of_paging_return_each_record_once_in_every_sort_order(
    writer: Machine, db: Any, collection: Collection, is_whole: bool
) -> None:
    ids = await shared_sample(writer, db, collection)
    items = {item["id"]: item for item in await items_of(writer, collection, ids)}
    columns = collection.columns
    visible = {name for name in columns if name == "id" or name in collection.resource.kinds()}

    for name in select_fields({name: columns[name] for name in collection.all_sorts}, is_whole):
        params = {"filter[id_in]": ",".join(ids), "per_page": "3", "sort": name}
        up = await list_by_page(writer, collection.path, params)
        cursor_ids = await list_by_cursor(writer, collection.path, params)
        down = await list_by_cursor(writer, collection.path, {**params, "sort": f"-{name}"})

        assert up == cursor_ids == down[::-1], name
        assert sorted(up) == sorted(ids)
        if name in visible:
            assert is_ascending(value_of(items[record_id], name, columns[name]) for record_id in up), name


MOMENTS = {0: None, 1: datetime(2026, 1, 31, 12, 0, 0, 1, tzinfo=UTC), 100: datetime(2026, 1, 31, 12, tzinfo=UTC)}
rows = st.lists(
    st.tuples(st.sampled_from([None, "", "a", "b", "ä"]), st.sampled_from([0, 1, 100])), min_size=1, max_size=9
)


@settings(
    max_examples=25,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(rows=rows, sort=st.sampled_from(["special_instructions", "total", "completed_at", "id"]), size=st.integers(1, 4))
async def test_keyset_paging_returns_the_sorted_list(
    writer: Machine, db: Any, rows: list[tuple[str | None, int]], sort: str, size: int
) -> None:
    ids = [uuid4() for _ in rows]
    await db.executemany(
        "insert into orders (id, number, currency, special_instructions, item_total, total, completed_at, created_at,"
        " updated_at) values ($1, $2, 'USD', $3, $4, $4, $5, now(), now())",
        [(key, f"H{key.hex}", note, amount, MOMENTS[amount]) for key, (note, amount) in zip(ids, rows, strict=True)],
    )

    params = {"filter[id_in]": ",".join(map(str, ids)), "per_page": str(size)}
    up = await list_by_cursor(writer, "orders", {**params, "sort": sort})
    down = await list_by_cursor(writer, "orders", {**params, "sort": f"-{sort}"})

    listed_rows = await db.fetch(f"select id::text from orders where id = any($1) order by {sort}, id", ids)
    await db.execute("delete from orders where id = any($1)", ids)
    assert up == [row[0] for row in listed_rows]
    assert down == up[::-1]


async def test_a_list_is_sorted_by_several_fields_but_keyset_paging_allows_one(writer: Machine, db: Any) -> None:
    rows = [("b", 1), ("a", 2), ("b", 3), ("a", 4), (None, 5)]
    ids = [uuid4() for _ in rows]
    await db.executemany(
        "insert into orders (id, number, currency, special_instructions, item_total, total, created_at, updated_at)"
        " values ($1, $2, 'USD', $3, $4, $4, now(), now())",
        [(key, f"S{key.hex}", note, amount) for key, (note, amount) in zip(ids, rows, strict=True)],
    )
    path = f"/orders?filter[id_in]={','.join(map(str, ids))}"

    down = await writer.get(f"{path}&sort=special_instructions,-total")
    up = await writer.get(f"{path}&sort=-special_instructions,total")
    refusal = await writer.get(f"{path}&sort=state,-total&page[after]=")
    wrong = [
        await writer.get(f"{path}&sort={sort}") for sort in ("state,nope", "total,-total", "state,total,id,number")
    ]

    def totals(answer: Answer) -> list[str]:
        return [record["attributes"]["total"] for record in answer.json["data"]]

    assert totals(down) == ["0.04", "0.02", "0.03", "0.01", "0.05"]
    assert totals(up) == ["0.05", "0.01", "0.03", "0.02", "0.04"]
    assert (refusal.status, refusal.code) == (400, "bad_page")
    assert [(answer.status, answer.code) for answer in wrong] == [(400, "unknown_sort")] * 3


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ("filter[total_gt]=1.5", ["3 EUR", "200 JPY"]),
        ("filter[total_eq]=3", ["3 EUR"]),
        ("filter[total_lteq]=1.234", ["1.234 KWD", "1 USD"]),
        ("filter[total_in]=1,200", ["200 JPY", "1 USD"]),
        ("filter[total_not_in]=1,200", ["1.234 KWD", "3 EUR"]),
        ("filter[total_not_eq]=3.00", ["1.234 KWD", "200 JPY", "1 USD"]),
    ],
)
async def test_amounts_of_different_currencies_are_compared_as_decimals(
    writer: Machine, db: Any, filters: str, expected: list[str]
) -> None:
    rows = {"1 USD": ("USD", 100), "3 EUR": ("EUR", 300), "200 JPY": ("JPY", 200), "1.234 KWD": ("KWD", 1234)}
    ids = {name: uuid4() for name in rows}
    await db.executemany(
        "insert into orders (id, number, currency, item_total, total, created_at, updated_at)"
        " values ($1, $2, $3, $4, $4, now(), now())",
        [(ids[name], f"A{ids[name].hex}", *row) for name, row in rows.items()],
    )

    response = await writer.get(f"/orders?filter[id_in]={','.join(map(str, ids.values()))}&{filters}")

    names = {str(key): name for name, key in ids.items()}
    assert sorted(names[record["id"]] for record in response.json["data"]) == sorted(expected)


# In two hours, two of them equal; the first and the last are at the edges of an hour. All are in the future, because
# housekeeping deletes carts that have not changed for a month.
UPDATE_TIMES = [
    "2036-03-01T09:59:59.999999Z",
    *["2036-03-01T10:00:00Z"] * 2,
    "2036-03-01T10:30:00Z",
    "2036-03-01T11:00:00Z",
]


async def test_orders_are_sorted_paged_and_filtered_by_their_last_update(writer: Machine, db: Any) -> None:
    ids = sorted(str(uuid4()) for _ in UPDATE_TIMES)
    await db.executemany(
        "insert into orders (id, number, currency, created_at, updated_at) values ($1, $2, 'USD', now(), $3)",
        [(key, f"U{key}", datetime.fromisoformat(at)) for key, at in zip(ids, UPDATE_TIMES, strict=True)],
    )
    id_filter = {"filter[id_in]": ",".join(ids)}

    async def list_ids(**filters: str) -> list[str]:
        params = {f"filter[updated_at_{name}]": at for name, at in filters.items()}
        response = await writer.get(f"/orders?{urlencode({**id_filter, **params, 'sort': 'id'})}")
        return [record["id"] for record in response.json["data"]]

    up = await list_by_cursor(writer, "orders", {**id_filter, "per_page": "2", "sort": "updated_at"})
    down = await list_by_cursor(writer, "orders", {**id_filter, "per_page": "2", "sort": "-updated_at"})
    sorted_page = await writer.get(f"/orders?{urlencode({**id_filter, 'sort': '-updated_at'})}")
    results = [
        await list_ids(gt=UPDATE_TIMES[1]),
        await list_ids(gteq=UPDATE_TIMES[1]),
        await list_ids(lt=UPDATE_TIMES[1]),
        await list_ids(lteq=UPDATE_TIMES[3]),
        await list_ids(eq=UPDATE_TIMES[1]),
        await list_ids(gt=UPDATE_TIMES[0], lt=UPDATE_TIMES[4]),
    ]

    assert (up, down) == (ids, ids[::-1])
    assert [record["id"] for record in sorted_page.json["data"]] == ids[::-1]
    assert results == [ids[3:], ids[1:], ids[:1], ids[:4], ids[1:3], ids[1:4]]
