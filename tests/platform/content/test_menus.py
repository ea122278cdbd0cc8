"""Menus over the Platform API: their trees are right after every change, and items link to existing records."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from shop.rules.content.menus import MAX_ITEMS, MAX_LEVELS
from tests.platform.catalog_builders import (
    change_record,
    delete_record,
    get_record,
    links,
    move,
    new,
    patch_record,
    post_record,
    root_of,
    run_concurrently,
)
from tests.platform.client import Machine
from tests.platform.invalid_values import INVALID_VALUES, assert_refused


async def new_menu(machine: Machine, **fields: Any) -> tuple[str, str]:
    """A menu and its root."""
    menu = await new(machine, "menu", **{"location": f"header-{uuid4().hex}", **fields})
    return menu.id, links(menu, "menu_items")[0]


async def item_under(machine: Machine, menu_id: str, parent_id: str | None = None, **fields: Any) -> str:
    return (await new(machine, "menu_item", menu_id=menu_id, parent_id=parent_id, **fields)).id


async def assert_consistent(machine: Machine, menu_id: str) -> list[str]:
    """Numbers nest, depths follow from parents, positions have no gaps. Returns the ids in order."""
    response = await machine.get("/menu_items", {"filter[menu_id_eq]": menu_id, "sort": "lft", "per_page": "500"})
    rows = {item["id"]: item["attributes"] for item in response.json["data"]}
    parents = {item["id"]: (item["relationships"]["parent"]["data"] or {}).get("id") for item in response.json["data"]}
    assert sorted(n for row in rows.values() for n in (row["lft"], row["rgt"])) == list(range(1, 2 * len(rows) + 1))
    for item_id, row in rows.items():
        above = rows.get(parents[item_id] or "")
        assert (above is None) == row["is_root"]
        if above:
            assert above["lft"] < row["lft"] < row["rgt"] < above["rgt"]
            assert row["depth"] == above["depth"] + 1
        siblings = [rows[other]["position"] for other in rows if parents[other] == parents[item_id]]
        assert siblings == list(range(len(siblings)))
    return list(rows)


async def test_a_menu_is_created_renamed_and_deleted_together_with_its_items(writer: Machine) -> None:
    menu_id, root_id = await new_menu(writer)
    item_id = await item_under(writer, menu_id)

    await change_record(writer, "menu", menu_id, name="Another")
    root = await get_record(writer, "menu_item", root_id)

    assert [root[name] for name in ("name", "item_type", "is_root", "is_leaf")] == ["Another", "Container", True, False]
    assert_refused(await delete_record(writer, "menu_item", root_id), "base")
    assert (await delete_record(writer, "menu", menu_id)).status == 204
    assert [(await get_record(writer, "menu_item", each)).status for each in (root_id, item_id)] == [404, 404]


async def test_a_location_has_one_menu_per_locale(writer: Machine) -> None:
    location = f"footer-{uuid4().hex}"
    await new_menu(writer, location=location, locale="de")

    await new_menu(writer, location=location, locale="fr")
    assert_refused(await post_record(writer, "menu", location=location, locale="de"), "location")
    assert_refused(await post_record(writer, "menu", location="Über", locale="x"), "location", "locale")
    assert_refused(await post_record(writer, "menu"), "location")


async def test_a_new_item_is_the_last_child_of_its_parent_or_of_the_root(writer: Machine) -> None:
    menu_id, root_id = await new_menu(writer)
    first = await item_under(writer, menu_id)
    second = await item_under(writer, menu_id)
    below = await item_under(writer, menu_id, first)

    item = await get_record(writer, "menu_item", below)

    assert await assert_consistent(writer, menu_id) == [root_id, first, below, second]
    assert (links(item, "parent"), links(item, "menu")) == ([first], [menu_id])
    assert [item[name] for name in ("depth", "is_child", "is_leaf")] == [2, True, True]
    assert links(await get_record(writer, "menu_item", first), "children") == [below]
    await delete_record(writer, "menu_item", first)
    assert await assert_consistent(writer, menu_id) == [root_id, second]


async def test_an_item_is_moved_to_a_position_and_to_another_parent(writer: Machine) -> None:
    menu_id, root_id = await new_menu(writer)
    one, two, three = [await item_under(writer, menu_id) for _ in range(3)]

    response = await move(writer, "menu_item", three, root_id, 0)
    assert (response.status, response["position"]) == (200, 0)
    assert await assert_consistent(writer, menu_id) == [root_id, three, one, two]
    await move(writer, "menu_item", three, root_id, 1)
    assert await assert_consistent(writer, menu_id) == [root_id, one, three, two]
    await move(writer, "menu_item", one, root_id, 99)
    assert await assert_consistent(writer, menu_id) == [root_id, three, two, one]
    await move(writer, "menu_item", two, root_id, 99)
    await move(writer, "menu_item", one, three, 99)
    assert await assert_consistent(writer, menu_id) == [root_id, three, one, two]
    await change_record(writer, "menu_item", three, parent_id=two)
    assert await assert_consistent(writer, menu_id) == [root_id, two, three, one]


async def test_a_move_below_itself_into_another_menu_or_of_the_root_is_refused(writer: Machine) -> None:
    menu_id, root_id = await new_menu(writer)
    _, other_root = await new_menu(writer)
    above = await item_under(writer, menu_id)
    below = await item_under(writer, menu_id, above)

    for parent_id in (above, below):
        assert_refused(await move(writer, "menu_item", above, parent_id, 0), "parent_id")
        assert_refused(await patch_record(writer, "menu_item", above, parent_id=parent_id), "parent_id")
    assert_refused(await move(writer, "menu_item", root_id, above, 0), "parent_id")
    assert_refused(await patch_record(writer, "menu_item", above, parent_id=None), "parent_id")
    assert_refused(await patch_record(writer, "menu_item", above, parent_id=other_root), "parent_id")
    assert_refused(await post_record(writer, "menu_item", menu_id=menu_id, parent_id=other_root), "parent_id")
    for parent_id in (other_root, str(uuid4())):
        assert (await move(writer, "menu_item", above, parent_id, 0)).status == 404
    assert (await move(writer, "menu_item", str(uuid4()), root_id, 0)).status == 404
    assert await assert_consistent(writer, menu_id) == [root_id, above, below]


@pytest.mark.parametrize("value", [None, *INVALID_VALUES["id"]])
async def test_an_invalid_parent_or_position_is_refused_with_a_field_error(writer: Machine, value: Any) -> None:
    menu_id, _ = await new_menu(writer)
    item_id = await item_under(writer, menu_id)

    assert_refused(await move(writer, "menu_item", item_id, value, "x"), "new_parent_id", "new_position_idx")
    assert (await writer.patch(f"/menu_items/{item_id}/reposition", {"menu_item": 7})).status == 400


async def test_a_move_is_audited_and_done_once_per_idempotency_key(writer: Machine, db: Any) -> None:
    menu_id, _ = await new_menu(writer)
    first, second = [await item_under(writer, menu_id) for _ in range(2)]
    body = {"menu_item": {"new_parent_id": first, "new_position_idx": 0}}
    key = {"Idempotency-Key": uuid4().hex}

    answers = [await writer.patch(f"/menu_items/{second}/reposition", body, headers=key) for _ in range(2)]

    assert answers[0].json == answers[1].json
    events = "select detail from audit_events where subject_id = $1 and action = 'menu_item_repositioned'"
    assert len(await db.fetch(events, second)) == 1


async def test_of_two_concurrent_moves_below_each_other_one_is_refused(writer: Machine, db: Any) -> None:
    menu_id, _ = await new_menu(writer)
    one, other = [await item_under(writer, menu_id) for _ in range(2)]

    lock = "select id from menus where id = any($1) for update"
    moves = (move(writer, "menu_item", one, other, 0), move(writer, "menu_item", other, one, 0))
    answers = await run_concurrently(db, lock, [menu_id], *moves)

    assert sorted(answer.status for answer in answers) == [200, 422], answers
    await assert_consistent(writer, menu_id)


async def test_concurrent_changes_leave_a_consistent_tree(writer: Machine) -> None:
    menu_id, _ = await new_menu(writer)
    ids = [await item_under(writer, menu_id) for _ in range(6)]

    answers = await asyncio.gather(
        move(writer, "menu_item", ids[0], ids[1], 0),
        move(writer, "menu_item", ids[1], ids[0], 0),
        patch_record(writer, "menu_item", ids[2], parent_id=ids[3]),
        patch_record(writer, "menu_item", ids[3], parent_id=ids[2]),
        post_record(writer, "menu_item", menu_id=menu_id, parent_id=ids[4]),
        delete_record(writer, "menu_item", ids[5]),
    )

    assert sorted(answer.status for answer in answers) == [200, 200, 201, 204, 422, 422], answers
    assert len(await assert_consistent(writer, menu_id)) == 7


async def test_the_depth_of_a_menu_is_limited_for_new_and_moved_items(writer: Machine) -> None:
    menu_id, root_id = await new_menu(writer)
    trail = [root_id]
    for _ in range(MAX_LEVELS):
        trail.append(await item_under(writer, menu_id, trail[-1]))
    above = await item_under(writer, menu_id)
    below = await item_under(writer, menu_id, above)

    assert_refused(await post_record(writer, "menu_item", menu_id=menu_id, parent_id=trail[-1]), "parent_id")
    assert_refused(await move(writer, "menu_item", above, trail[-2], 0), "parent_id")
    assert_refused(await patch_record(writer, "menu_item", above, parent_id=trail[-2]), "parent_id")
    assert (await move(writer, "menu_item", below, trail[-2], 0)).status == 200
    await assert_consistent(writer, menu_id)


async def test_the_number_of_items_of_a_menu_is_limited(writer: Machine, db: Any) -> None:
    menu_id, root_id = await new_menu(writer)
    await db.execute(
        "insert into menu_items (id, menu_id, parent_id, name, created_at, updated_at)"
        " select gen_random_uuid(), $1, $2, 'x', now(), now() from generate_series(2, $3)",
        menu_id,
        root_id,
        MAX_ITEMS,
    )

    await item_under(writer, menu_id)

    assert_refused(await post_record(writer, "menu_item", menu_id=menu_id), "menu_id")
    await assert_consistent(writer, menu_id)


async def test_an_item_links_to_a_taxon_a_product_a_page_or_a_url(writer: Machine) -> None:
    menu_id, _ = await new_menu(writer)
    product, page = await new(writer, "product"), await new(writer, "cms_page", title=f"Page {uuid4().hex}")
    taxon = await get_record(writer, "taxon", await root_of(writer, (await new(writer, "taxonomy")).id))
    targets = {
        "taxon": (taxon.id, f"/t/{taxon['permalink']}"),
        "product": (product.id, f"/products/{product['slug']}"),
        "cms_page": (page.id, f"/pages/{page['slug']}"),
    }
    for kind, (record_id, link) in targets.items():
        spree = "Spree::" + {"cms_page": "CmsPage"}.get(kind, kind.capitalize())
        for name in (kind, spree):
            target = {"linked_resource_type": name, "linked_resource_id": record_id}
            item = await new(writer, "menu_item", menu_id=menu_id, **target)

            assert (item["linked_resource_type"], item["link"]) == (kind, link)
            assert item.json["data"]["relationships"]["linked_resource"]["data"] == {"id": record_id, "type": kind}
            alone = await get_record(writer, "menu_item", item.id, include="linked_resource,menu,parent")
            assert {"menu", "menu_item", kind} == {each["type"] for each in alone.json["included"]}

    again = await change_record(
        writer, "menu_item", item.id, linked_resource_type="URL", destination="https://e.example/"
    )
    assert (again["link"], again["linked_resource_type"], links(again, "linked_resource")) == (
        "https://e.example/",
        "url",
        [],
    )


async def test_a_link_to_an_unknown_record_or_of_an_unknown_type_is_refused(writer: Machine) -> None:
    menu_id, _ = await new_menu(writer)
    product, deleted_product = await new(writer, "product"), await new(writer, "product")
    await delete_record(writer, "product", deleted_product.id)
    item = await new(writer, "menu_item", menu_id=menu_id)

    for kind, record_id in (
        ("taxon", product.id),
        ("product", deleted_product.id),
        ("cms_page", None),
        ("url", product.id),
    ):
        target = {"linked_resource_type": kind, "linked_resource_id": record_id}
        assert_refused(await post_record(writer, "menu_item", menu_id=menu_id, **target), "linked_resource_id")
        assert_refused(await patch_record(writer, "menu_item", item.id, **target), "linked_resource_id")
    assert_refused(
        await patch_record(writer, "menu_item", item.id, linked_resource_id=product.id), "linked_resource_id"
    )
    assert_refused(
        await post_record(writer, "menu_item", menu_id=menu_id, linked_resource_type="x"), "linked_resource_type"
    )
    assert_refused(await post_record(writer, "menu_item", menu_id=menu_id, item_type="Row"), "item_type")
    assert_refused(await post_record(writer, "menu_item", menu_id=str(uuid4())), "menu_id")


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JAVASCRIPT:alert(1)",
        " javascript:alert(1)",
        "java\tscript:x",
        "data:text/html,x",
        "http://e.example/",
        "//evil.example",
        "/\\evil.example",
        "https:\\\\evil.example",
        "https://",
        "shop",
        "/a b",
        "/" + "x" * 2000,
    ],
)
async def test_a_destination_that_is_not_https_mailto_or_a_path_is_refused(writer: Machine, address: str) -> None:
    menu_id, _ = await new_menu(writer)

    assert_refused(await post_record(writer, "menu_item", menu_id=menu_id, destination=address), "destination")


@pytest.mark.parametrize(
    "address", ["https://e.example/a?b=c#d", "mailto:a@e.example", "/about", "/", "#top", "", None]
)
async def test_a_destination_that_is_https_mailto_or_a_path_is_accepted(writer: Machine, address: str | None) -> None:
    menu_id, _ = await new_menu(writer)

    assert (await new(writer, "menu_item", menu_id=menu_id, destination=address))["destination"] == address
