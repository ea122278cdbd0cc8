"""Tests of all resources: they cover a new resource as soon as it is declared."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from shop.platform.collection import Collection
from shop.rules.metadata import MAX_METADATA_BYTES, METADATA
from shop.rules.personal_data import is_personal
from tests.platform.builders import (
    ALL,
    CREATABLE,
    DELETABLE,
    SUITE_PATHS,
    UPDATABLE,
    builder_of,
    make,
    new_body,
    shared_sample,
    update_body,
)
from tests.platform.client import PREFIX, Machine
from tests.sampling import common_cases
from tests.service import Service
from tests.shopper import Answer

SECRETS = {"secret", "secret_key"}


def each(collections: list[Collection]) -> pytest.MarkDecorator:
    selection = common_cases(collections, lambda collection: collection.path in SUITE_PATHS)
    return pytest.mark.parametrize("collection", selection, ids=lambda collection: collection.path)


def values_of(answer: Answer) -> dict[str, Any]:
    """The values of a record by the names of a request: the relation `product` is `product_id`."""
    links = {name: link["data"] for name, link in answer.json["data"]["relationships"].items()}
    link_ids = {f"{name}_id": link["id"] for name, link in links.items() if isinstance(link, dict)}
    return {**answer.json["data"]["attributes"], **link_ids}


def visible_fields(body: Mapping[str, Any], answer: Answer) -> dict[str, Any]:
    """The fields of a request body that the record has too."""
    return {name: value for name, value in body.items() if name in values_of(answer)}


@each(ALL)
async def test_a_list_has_records_meta_and_five_links(writer: Machine, db: Any, collection: Collection) -> None:
    await shared_sample(writer, db, collection, 3)

    answer = await writer.get(f"/{collection.path}", {"per_page": 2})

    assert answer.status == 200
    assert {item["type"] for item in answer.json["data"]} == {collection.resource.type}
    assert answer.json["meta"]["count"] == len(answer.json["data"]) == 2
    assert answer.json["meta"]["total_pages"] == -(-answer.json["meta"]["total_count"] // 2)
    assert set(answer.json["links"]) == {"self", "next", "prev", "last", "first"}
    assert set(answer.json["data"][0]["attributes"]) == set(collection.resource.kinds())


@each(ALL)
async def test_a_record_is_found_by_its_id_and_its_other_keys(writer: Machine, db: Any, collection: Collection) -> None:
    (record_id,) = await shared_sample(writer, db, collection, 1)

    answer = await writer.get(f"/{collection.path}/{record_id}")
    names = [answer[name] for name in collection.find_by if name != "id"]

    assert (answer.status, answer.id) == (200, record_id)
    assert set(answer.json["data"]["relationships"]) == set(collection.resource.relations)
    for name in names:
        assert (await writer.get(f"/{collection.path}/{name}")).json == answer.json


@each(ALL)
async def test_an_unknown_record_is_404(writer: Machine, collection: Collection) -> None:
    methods = [
        "GET",
        *(["PATCH", "PUT"] if collection.actions.update else []),
        *(["DELETE"] if collection.actions.delete else []),
    ]
    for key in (str(uuid4()), "nothing", "%00", "%FF"):
        for method in methods:
            body = update_body(collection) if method.startswith("P") else None

            answer = await writer.ask(method, f"/{collection.path}/{key}", json=body)

            assert (answer.status, answer.code) == (404, "not_found"), (method, key)


@each(CREATABLE)
async def test_a_created_record_has_the_values_of_the_request(writer: Machine, collection: Collection) -> None:
    body = await new_body(writer, collection)

    response = await writer.post(f"/{collection.path}", body)

    assert response.status == 201
    assert visible_fields(body[collection.resource.type], response) != {}
    assert visible_fields(body[collection.resource.type], response).items() <= values_of(response).items()
    created = response.json
    # A secret is shown only once.
    created["data"]["attributes"].update((name, None) for name in SECRETS & created["data"]["attributes"].keys())
    assert (await writer.get(f"/{collection.path}/{response.id}")).json == created


@pytest.mark.security("H-10")
@each([collection for collection in UPDATABLE if set(METADATA) & set(collection.writable)])
async def test_metadata_beyond_16_kib_is_refused_with_a_field_error(writer: Machine, collection: Collection) -> None:
    record_id = await make(writer, collection)
    largest = {"k": "x" * (MAX_METADATA_BYTES - len('{"k":""}'))}
    path, kind = f"/{collection.path}/{record_id}", collection.resource.type

    for name in set(METADATA) & set(collection.writable):
        beyond = await writer.patch(path, {kind: {name: {"k": largest["k"] + "x"}}})
        fits = await writer.patch(path, {kind: {name: largest}})

        assert (beyond.status, list(beyond.json["errors"])) == (422, [name])
        assert (fits.status, fits[name]) == (200, largest)


@each(UPDATABLE)
@pytest.mark.parametrize("method", ["PATCH", "PUT"])
async def test_an_update_changes_only_the_fields_of_the_request(
    writer: Machine, collection: Collection, method: str
) -> None:
    record_id = await make(writer, collection)
    before = (await writer.get(f"/{collection.path}/{record_id}")).json["data"]["attributes"]

    response = await writer.ask(method, f"/{collection.path}/{record_id}", json=update_body(collection))

    builder = builder_of(collection)
    after = {**before, **builder.change, **builder.follows, "updated_at": response["updated_at"]}
    assert response.status == 200
    assert response.json["data"]["attributes"] == after
    assert (await writer.get(f"/{collection.path}/{record_id}")).json == response.json


@each([collection for collection in DELETABLE if builder_of(collection).body])
async def test_a_deleted_record_is_404(writer: Machine, collection: Collection) -> None:
    record_id = await make(writer, collection)

    response = await writer.delete(f"/{collection.path}/{record_id}")

    assert (response.status, response.response.content) == (204, b"")
    assert (await writer.get(f"/{collection.path}/{record_id}")).status == 404
    assert (await writer.delete(f"/{collection.path}/{record_id}")).status == 404


@pytest.mark.security("P-03")
@each(ALL)
async def test_every_request_needs_a_token_and_every_write_a_write_scope(
    http: httpx2.AsyncClient, writer: Machine, reader: Machine, db: Any, collection: Collection
) -> None:
    (record_id,) = await shared_sample(writer, db, collection, 1)
    one, actions = f"/{collection.path}/{record_id}", collection.actions
    reads = [("GET", f"/{collection.path}"), ("GET", one)]
    writes = [("POST", f"/{collection.path}")] * bool(actions.create)
    writes += [("PATCH", one), ("PUT", one)] * bool(actions.update) + [("DELETE", one)] * bool(actions.delete)

    for method, path in reads + writes:
        response = await http.request(method, PREFIX + path)
        assert (response.status_code, response.headers["www-authenticate"]) == (401, 'Bearer realm="shop"')
        assert response.json()["code"] == "unauthenticated"
    for method, path in reads:
        assert (await reader.ask(method, path)).status == 200
    for method, path in writes:
        refusal = await reader.ask(method, path)
        assert (refusal.status, refusal.code) == (403, "insufficient_scope")
        assert refusal.headers["www-authenticate"] == 'Bearer realm="shop", error="insufficient_scope", scope="write"'
    assert (await writer.get(one)).status == 200


@each(ALL)
async def test_an_unsupported_method_is_405(writer: Machine, db: Any, collection: Collection) -> None:
    (record_id,) = await shared_sample(writer, db, collection, 1)
    actions = collection.actions
    has_own = builder_of(collection).upload
    verbs = {"PATCH": actions.update, "PUT": actions.update, "DELETE": actions.delete or has_own}
    allowed_methods = {"GET", "HEAD", *(method for method, verb in verbs.items() if verb)}

    for method in verbs.keys() - allowed_methods:
        answer = await writer.ask(method, f"/{collection.path}/{record_id}", json={})
        assert (answer.status, answer.code) == (405, "method_not_allowed")
        assert set(answer.headers["allow"].split(", ")) == allowed_methods
    # A refund calls a payment provider, for which no transaction may wait: it has a separate endpoint.
    if actions.create is None and not has_own and collection.path != "refunds":
        assert (await writer.post(f"/{collection.path}", {})).status == 405


GUESSES: dict[str, Any] = {
    "id": "00000000-0000-7000-8000-000000000001",
    "number": "R000000001",
    "state": "complete",
    "currency": "JPY",
    "email_key": "root@shop.example",
    "access_level": "write",
    "hash": "00",
}
MOMENT = "2001-02-03T04:05:06.000Z"


def guess(name: str) -> Any:
    """A value that would be accepted if the field could be set."""
    if name in GUESSES:
        return GUESSES[name]
    return MOMENT if name.endswith("_at") else GUESSES["id"] if name.endswith("_id") else 7


def protected_fields(collection: Collection, *, is_new: bool) -> dict[str, Any]:
    names = {*collection.actions.records.table.c.keys(), *collection.resource.kinds(), "token", "spending"}
    settable = set(collection.writable) - (set() if is_new else set(collection.create_only))
    return {name: guess(name) for name in sorted(names - settable)}


@pytest.mark.security("C-02")
@each(CREATABLE)
async def test_protected_fields_cannot_be_set(writer: Machine, db: Any, collection: Collection) -> None:
    name, table = collection.resource.type, collection.actions.records.table.name
    body, extra = (await new_body(writer, collection))[name], protected_fields(collection, is_new=True)

    refusal = await writer.post(f"/{collection.path}", {name: {**extra, **body}})
    record = await writer.post(f"/{collection.path}", {name: body})

    assert (refusal.status, set(refusal.json["errors"]), record.status) == (422, set(extra), 201)
    if collection.actions.update:
        before = dict(await db.fetchrow(f"select * from {table} where id = $1", record.id))
        update_fields = protected_fields(collection, is_new=False)
        response = await writer.patch(
            f"/{collection.path}/{record.id}", {name: {**builder_of(collection).change, **update_fields}}
        )
        assert (response.status, set(response.json["errors"])) == (422, set(update_fields))
        assert dict(await db.fetchrow(f"select * from {table} where id = $1", record.id)) == before


@each(UPDATABLE)
async def test_a_record_can_be_sent_back_as_it_was_read(writer: Machine, collection: Collection) -> None:
    record_id = await make(writer, collection)
    response = await writer.get(f"/{collection.path}/{record_id}")
    body = {"id": record_id, **values_of(response)}

    wrapped_response = await writer.patch(f"/{collection.path}/{record_id}", {collection.resource.type: body})
    bare = await writer.ask("PUT", f"/{collection.path}/{record_id}", json=body)

    for answer in (wrapped_response, bare):
        assert answer.status == 200, answer
        assert {**values_of(answer), "updated_at": None} == {**values_of(response), "updated_at": None}


@each(ALL)
async def test_every_relation_can_be_included_and_others_are_refused(
    writer: Machine, db: Any, collection: Collection
) -> None:
    (record_id,) = await shared_sample(writer, db, collection, 1)
    relations = collection.resource.relations

    for path in (f"/{collection.path}", f"/{collection.path}/{record_id}"):
        answer = await writer.get(path, {"include": ",".join(relations), "per_page": 3})
        refusal = await writer.get(path, {"include": "nothing"})

        assert answer.status == 200
        assert ("included" in answer.json) == bool(relations)
        assert {item["type"] for item in answer.json.get("included", ())} <= {
            type_ for relation in relations.values() for type_ in relation.types
        }
        assert (refusal.status, refusal.code) == (400, "unknown_include")
        assert all(name in refusal.json["error"] for name in relations)


@each(ALL)
async def test_sparse_fieldsets_limit_the_attributes(writer: Machine, db: Any, collection: Collection) -> None:
    (record_id,) = await shared_sample(writer, db, collection, 1)
    fields = f"fields[{collection.resource.type}]"
    *_, last = collection.resource.kinds()

    answers = [await writer.get(f"/{collection.path}/{record_id}", {fields: names}) for names in (last, "", "nothing")]

    assert [list(answer.json["data"]["attributes"]) for answer in answers] == [[last], [], []]
    assert [answer.json["data"].get("relationships") or {} for answer in answers] == [{}, {}, {}]


@pytest.mark.security("A-02")
@each(CREATABLE)
async def test_every_change_is_audited_with_the_values_before_and_after(
    writer: Machine, collection: Collection
) -> None:
    record_id = await make(writer, collection)
    if collection.actions.update:
        before = (await writer.get(f"/{collection.path}/{record_id}")).json["data"]["attributes"]
        await writer.patch(f"/{collection.path}/{record_id}", update_body(collection))
        await writer.patch(f"/{collection.path}/{record_id}", update_body(collection))
    if collection.actions.delete:
        await writer.delete(f"/{collection.path}/{record_id}")

    events = (await writer.get("/audit_events", {"filter[subject_id_eq]": record_id, "sort": "id"})).json["data"]

    attributes_by_action = {event["attributes"]["action"]: event["attributes"] for event in events}
    actions = collection.actions
    verbs = {"created": actions.create, "updated": actions.update, "deleted": actions.delete}
    assert [event["attributes"]["action"] for event in events] == [
        f"{actions.name}_{verb}" for verb in verbs if verbs[verb]
    ]
    assert {(event["outcome"], event["actor_kind"]) for event in attributes_by_action.values()} == {
        ("done", "application")
    }
    change = builder_of(collection).change
    if collection.actions.update:
        assert attributes_by_action[f"{actions.name}_updated"]["changes"] == {
            name: None if is_personal(actions.name, name) else [before[name], value] for name, value in change.items()
        }


@each(ALL)
async def test_a_list_needs_as_many_statements_for_many_records_as_for_few(
    writer: Machine, db: Any, service: Service, collection: Collection
) -> None:
    ids = await shared_sample(writer, db, collection, 6)
    include = ",".join(collection.resource.relations)

    responses = [
        await writer.get(f"/{collection.path}", {"filter[id_in]": ",".join(ids[:count]), "include": include})
        for count in (2, 6)
    ]

    assert [len(answer.json["data"]) for answer in responses] == [2, 6]
    few_statements, many_statements = [service.request_line(answer.request_id)["statements"] for answer in responses]
    relations = collection.actions.records.relation_links
    assert (
        few_statements
        == many_statements
        <= 3 + len(relations) + sum(len(relations[name].records.relation_links) for name in relations)
    )
