"""Trees of taxons: their numbers and permalinks are right after every change."""

import asyncio
import random
from typing import Any
from uuid import uuid4

import pytest

from tests.platform.catalog_builders import (
    change_record,
    delete_record,
    get_record,
    links,
    new,
    patch_record,
    post_record,
    reposition,
    root_of,
    run_concurrently,
    taxon_under,
)
from tests.platform.client import Machine
from tests.platform.invalid_values import INVALID_VALUES, assert_refused


async def new_tree(machine: Machine) -> tuple[str, str]:
    """A taxonomy and its root."""
    taxonomy = await new(machine, "taxonomy")
    return taxonomy.id, await root_of(machine, taxonomy.id)


async def assert_consistent(machine: Machine, taxonomy_id: str) -> list[str]:
    """Numbers nest, depths and permalinks follow from parents, positions have no gaps. Returns the ids in order."""
    response = await machine.get("/taxons", {"filter[taxonomy_id_eq]": taxonomy_id, "sort": "lft", "per_page": "500"})
    rows = {item["id"]: item["attributes"] for item in response.json["data"]}
    parents = {item["id"]: (item["relationships"]["parent"]["data"] or {}).get("id") for item in response.json["data"]}
    assert sorted(n for row in rows.values() for n in (row["lft"], row["rgt"])) == list(range(1, 2 * len(rows) + 1))
    for taxon_id, row in rows.items():
        above = rows.get(parents[taxon_id] or "")
        assert row["rgt"] - row["lft"] == 2 * len([r for r in rows.values() if row["lft"] < r["lft"] < row["rgt"]]) + 1
        assert row["permalink"] == (f"{above['permalink']}/{row['slug']}" if above else row["slug"])
        assert row["depth"] == (above["depth"] + 1 if above else 0)
        assert above is None or above["lft"] < row["lft"] < row["rgt"] < above["rgt"]
        siblings = [rows[other]["position"] for other in rows if parents[other] == parents[taxon_id]]
        assert siblings == list(range(len(siblings)))
        assert (row["is_root"], row["is_leaf"]) == (above is None, row["rgt"] == row["lft"] + 1)
    return list(rows)


@pytest.mark.parametrize("seed", range(3))
async def test_a_tree_is_consistent_after_random_changes(writer: Machine, seed: int) -> None:
    randomizer = random.Random(seed)
    taxonomy_id, root_id = await new_tree(writer)
    for _ in range(14):
        ids = [item for item in await assert_consistent(writer, taxonomy_id) if item != root_id]
        act = randomizer.choice(["add", "add", "add", "move", "move", "update", "delete"]) if ids else "add"
        one, other = randomizer.choice(ids or [root_id]), randomizer.choice([*ids, root_id])
        match act:
            case "add":
                position = {"position": randomizer.randrange(4)} if randomizer.random() < 0.5 else {}
                answer = await post_record(writer, "taxon", parent_id=other, **position)
            case "move":
                answer = await reposition(writer, one, other, randomizer.randrange(4))
            case "update":
                answer = await patch_record(writer, "taxon", one, parent_id=other, position=randomizer.randrange(4))
            case _:
                answer = await delete_record(writer, "taxon", one)
        # A move of a branch below itself is refused, and changes nothing.
        assert answer.status in {200, 201, 204, 422}, answer
    await assert_consistent(writer, taxonomy_id)


async def test_a_moved_taxon_gets_its_position_and_takes_its_descendants_along(writer: Machine) -> None:
    _, root_id = await new_tree(writer)
    first, second, third = [await taxon_under(writer, root_id) for _ in range(3)]
    leaf = await taxon_under(writer, third)

    response = await reposition(writer, third, second, 5)
    again = await reposition(writer, second, root_id, 0)

    assert (response.status, links(response, "parent"), response["position"]) == (200, [second], 0)
    assert (again["position"], (await get_record(writer, "taxon", first))["position"]) == (0, 1)
    permalink = (await get_record(writer, "taxon", leaf))["permalink"].split("/")
    slugs = [(await get_record(writer, "taxon", taxon_id))["slug"] for taxon_id in (root_id, second, third, leaf)]
    assert permalink == slugs


async def test_taxons_are_ordered_by_position_and_not_by_name(writer: Machine) -> None:
    _, root_id = await new_tree(writer)
    a, b, c = [await taxon_under(writer, root_id, name=f"{letter} {uuid4().hex}") for letter in "abc"]

    await change_record(writer, "taxon", a, position=1)
    first = await taxon_under(writer, root_id, position=0)

    assert links(await get_record(writer, "taxon", root_id), "children") == [first, b, a, c]


async def test_a_move_to_an_unknown_parent_or_below_itself_is_refused(writer: Machine) -> None:
    _, root_id = await new_tree(writer)
    _, other_root = await new_tree(writer)
    branch = await taxon_under(writer, root_id)
    leaf = await taxon_under(writer, branch)

    for unknown_id in (str(uuid4()), other_root):
        assert (await reposition(writer, branch, unknown_id, 0)).status == 404
        assert_refused(await patch_record(writer, "taxon", branch, parent_id=unknown_id), "parent_id")
    assert (await reposition(writer, str(uuid4()), root_id, 0)).status == 404
    for own in (branch, leaf):
        assert_refused(await reposition(writer, branch, own, 0), "parent_id")
        assert_refused(await patch_record(writer, "taxon", branch, parent_id=own), "parent_id")
    assert_refused(await reposition(writer, root_id, branch, 0), "parent_id")


@pytest.mark.parametrize("value", [None, *INVALID_VALUES["id"]])
async def test_an_invalid_parent_or_position_is_refused_with_a_field_error(writer: Machine, value: Any) -> None:
    _, root_id = await new_tree(writer)
    taxon_id = await taxon_under(writer, root_id)

    assert_refused(await reposition(writer, taxon_id, value, "x"), "new_parent_id", "new_position_idx")
    assert (await writer.patch(f"/taxons/{taxon_id}/reposition", {"taxon": 7})).status == 400


async def test_a_move_is_audited_and_done_once_per_idempotency_key(writer: Machine, db: Any) -> None:
    _, root_id = await new_tree(writer)
    first, second = [await taxon_under(writer, root_id) for _ in range(2)]
    body = {"taxon": {"new_parent_id": first, "new_position_idx": 0}}
    key = {"Idempotency-Key": uuid4().hex}

    answers = [await writer.patch(f"/taxons/{second}/reposition", body, headers=key) for _ in range(2)]

    assert answers[0].json == answers[1].json
    statement = "select detail from audit_events where subject_id = $1 and action = 'taxon_repositioned'"
    assert len(await db.fetch(statement, second)) == 1


async def test_of_two_concurrent_moves_below_each_other_one_is_refused(writer: Machine, db: Any) -> None:
    taxonomy_id, root_id = await new_tree(writer)
    one, other = [await taxon_under(writer, root_id) for _ in range(2)]

    lock = "select id from taxons where id = any($1) for update"
    moves = (reposition(writer, one, other, 0), reposition(writer, other, one, 0))
    answers = await run_concurrently(db, lock, [one, other], *moves)

    assert sorted(answer.status for answer in answers) == [200, 422], answers
    await assert_consistent(writer, taxonomy_id)


async def test_concurrent_moves_leave_a_consistent_tree(writer: Machine) -> None:
    taxonomy_id, root_id = await new_tree(writer)
    ids = [await taxon_under(writer, root_id) for _ in range(6)]

    answers = await asyncio.gather(
        reposition(writer, ids[0], ids[1], 0),
        reposition(writer, ids[1], ids[0], 0),
        patch_record(writer, "taxon", ids[2], parent_id=ids[3]),
        patch_record(writer, "taxon", ids[3], parent_id=ids[2]),
        post_record(writer, "taxon", parent_id=ids[4]),
        delete_record(writer, "taxon", ids[5]),
    )

    # Of each pair of moves below each other, the later one is refused.
    assert sorted(answer.status for answer in answers) == [200, 200, 201, 204, 422, 422], answers
    assert len(await assert_consistent(writer, taxonomy_id)) == 7


async def test_a_taxonomy_is_created_renamed_and_deleted_together_with_its_taxons(writer: Machine) -> None:
    taxonomy_id, root_id = await new_tree(writer)
    leaf = await taxon_under(writer, root_id)
    name = f"Brands {uuid4().hex}"

    await change_record(writer, "taxonomy", taxonomy_id, name=name)
    assert (await get_record(writer, "taxon", leaf))["permalink"].startswith(name.lower().replace(" ", "-"))
    assert_refused(await delete_record(writer, "taxon", root_id), "base")
    assert_refused(await post_record(writer, "taxonomy", name=name.replace("B", "b").replace("a", "ä")), "name")

    assert (await delete_record(writer, "taxonomy", taxonomy_id)).status == 204
    assert (await get_record(writer, "taxon", leaf)).status == 404


async def test_siblings_with_the_same_slug_are_refused(writer: Machine) -> None:
    _, root_id = await new_tree(writer)
    one, other = await taxon_under(writer, root_id, name="Mugs"), await taxon_under(writer, root_id)
    same = await taxon_under(writer, other, name="Mugs")

    assert_refused(await post_record(writer, "taxon", parent_id=root_id, name="Mugs"), "slug")
    assert_refused(await reposition(writer, same, root_id, 0), "new_parent_id")
    assert (await get_record(writer, "taxon", one)).status == 200


async def test_a_permalink_has_a_maximum_length(writer: Machine) -> None:
    _, parent_id = await new_tree(writer)
    for _ in range(9):
        parent_id = await taxon_under(writer, parent_id, name="x" * 100)

    assert_refused(await post_record(writer, "taxon", parent_id=parent_id, name="x" * 100), "base")


async def test_a_list_of_taxons_links_products_only_if_they_are_included(writer: Machine) -> None:
    taxonomy_id, root_id = await new_tree(writer)
    product = await new(writer, "product", taxon_ids=[root_id])
    params = {"filter[taxonomy_id_eq]": taxonomy_id}

    alone = await get_record(writer, "taxon", root_id)
    listed_taxon = (await writer.get("/taxons", params)).json["data"][0]
    included = (await writer.get("/taxons", {**params, "include": "products"})).json

    assert links(alone, "products") == [product.id]
    assert set(listed_taxon["relationships"]) == {"parent", "taxonomy", "children", "image"}
    assert [item["id"] for item in included["data"][0]["relationships"]["products"]["data"]] == [product.id]
    assert [item["id"] for item in included["included"]] == [product.id]
