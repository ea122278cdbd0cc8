"""Taxons: create trees, and order, move and remove their taxons."""

import re
from typing import Any
from uuid import UUID

from tests.admin.catalog_forms import TAXONS, error_messages, field, id_of, new_product, saved_message, unique_word
from tests.admin.dashboard import UNKNOWN_ID, Dashboard, events


async def new_tree(dashboard: Dashboard, db: Any, *names: str) -> tuple[str, str, list[str]]:
    """Creates a tree; returns its name, the id of its root and the ids of the root's children."""
    name = f"Tree {unique_word()}"
    assert saved_message(await dashboard.post(TAXONS, tree_name=name)) == "tree"
    root = str(await db.fetchval("select id from taxons where name = $1", name))
    for child in names:
        assert saved_message(await dashboard.post(f"{TAXONS}/add", taxon_name=child, parent_id=root)) == "added"
    return name, root, await children_of(db, root)


async def children_of(db: Any, parent: str) -> list[str]:
    rows = await db.fetch("select id from taxons where parent_id = $1 order by lft", UUID(parent))
    return [str(row["id"]) for row in rows]


async def test_a_tree_is_created_and_shown(dashboard: Dashboard, db: Any) -> None:
    name, _, (kitchen, table) = await new_tree(dashboard, db, "Kitchen", "Table")
    saved_message(await dashboard.post(f"{TAXONS}/add", taxon_name="Mugs", parent_id=kitchen))
    (mugs,) = await children_of(db, kitchen)

    page = (await dashboard.get(TAXONS)).text

    tree_html = page.partition(f">{name}</h2>")[2].partition("</section>")[0]
    assert re.findall(r'id="taxon-([^"]+)" class="(depth-\d)"', tree_html) == [
        (kitchen, "depth-0"), (mugs, "depth-1"), (table, "depth-0"),
    ]  # fmt: skip
    row = await db.fetchrow("select permalink, pretty_name from taxons where id = $1", UUID(mugs))
    assert row["permalink"].endswith("/kitchen/mugs")
    assert row["pretty_name"] == f"{name} -> Kitchen -> Mugs"
    assert ("taxon_created", "done") in await events(db, actor=dashboard.id, subject=UUID(mugs))


async def test_an_invalid_name_is_refused_with_a_field_error(dashboard: Dashboard, db: Any) -> None:
    name, root, _ = await new_tree(dashboard, db, "Kitchen")

    answers = [
        await dashboard.post(TAXONS, tree_name=" "),
        await dashboard.post(TAXONS, tree_name=name),
        await dashboard.post(TAXONS, tree_name="n" * 101),
        await dashboard.post(f"{TAXONS}/add", taxon_name="", parent_id=root),
        await dashboard.post(f"{TAXONS}/add", taxon_name="Kitchen", parent_id=root),
        await dashboard.post(f"{TAXONS}/add", taxon_name="Kept", parent_id=""),
    ]

    assert [answer.status_code for answer in answers] == [422] * 6
    assert [text for answer in answers for text in error_messages(answer)] == [
        "Category tree name is required.",
        "Category tree name is taken.",
        "Category tree name must be one line of at most 100 characters.",
        "Category name is required.",
        "Category name is taken.",
        "Category name needs a category tree.",
    ]
    assert field(answers[1].text, "tree_name") == name
    assert field(answers[5].text, "taxon_name") == "Kept"
    assert (await dashboard.post(f"{TAXONS}/add", taxon_name="x", parent_id=UNKNOWN_ID)).status_code == 404


async def test_a_taxon_is_moved_up_and_down_within_its_siblings(dashboard: Dashboard, db: Any) -> None:
    _, root, (a, b, c) = await new_tree(dashboard, db, "A", "B", "C")

    for verb, taxon, order in (
        ("down", a, [b, a, c]), ("up", c, [b, c, a]), ("up", b, [b, c, a]), ("down", a, [b, c, a]),
        ("up", a, [b, a, c]),
    ):  # fmt: skip
        assert saved_message(await dashboard.post(f"{TAXONS}/{taxon}/{verb}")) == "moved"
        assert await children_of(db, root) == order
    assert ("taxon_repositioned", "done") in await events(db, actor=dashboard.id, subject=UUID(a))


async def test_a_taxon_is_renamed_and_moved_to_another_parent(dashboard: Dashboard, db: Any) -> None:
    _, root, (kitchen, mugs) = await new_tree(dashboard, db, "Kitchen", "Mugs")
    page = (await dashboard.get(f"{TAXONS}/{mugs}")).text
    assert field(page, "name") == "Mugs"

    fields = {"name": "Cups", "slug": "cups", "description": "To drink from.", "parent_id": kitchen}
    assert saved_message(await dashboard.post(f"{TAXONS}/{mugs}", **fields)) == "saved"

    row = await db.fetchrow("select * from taxons where id = $1", UUID(mugs))
    assert (row["name"], str(row["parent_id"]), row["description"]) == ("Cups", kitchen, "To drink from.")
    assert row["permalink"].endswith("/kitchen/cups")
    loop = await dashboard.post(f"{TAXONS}/{kitchen}", name="Kitchen", slug="kitchen", parent_id=mugs)
    assert error_messages(loop) == ["Parent category is a descendant of this taxon."]
    assert await children_of(db, root) == [kitchen]
    assert mugs not in re.findall(r'<option value="([^"]+)"', (await dashboard.get(f"{TAXONS}/{kitchen}")).text)


async def test_a_tree_is_renamed_and_deleted_with_its_root(dashboard: Dashboard, db: Any) -> None:
    _, root, (kitchen,) = await new_tree(dashboard, db, "Kitchen")
    product, name = await new_product(dashboard), f"New {unique_word()}"
    saved_message(await dashboard.post(f"{product}/taxons", **{"taxon_ids[]": [kitchen]}))

    assert saved_message(await dashboard.post(f"{TAXONS}/{root}", name=name)) == "saved"
    assert await db.fetchval("select name from taxonomies where name = $1", name)
    question = (await dashboard.get(f"{TAXONS}/{root}/remove")).text
    assert "1 category below it" in question
    assert saved_message(await dashboard.post(f"{TAXONS}/{root}/remove")) == "removed"

    assert await db.fetchval("select count(*) from taxons where id = any($1)", [UUID(root), UUID(kitchen)]) == 0
    assert await db.fetchval("select taxon_ids from listings where product_id = $1", id_of(product)) == []
    assert (await dashboard.get(product)).status_code == 200


async def test_deleting_a_taxon_deletes_its_descendants(dashboard: Dashboard, db: Any) -> None:
    _, root, (kitchen, table) = await new_tree(dashboard, db, "Kitchen", "Table")
    saved_message(await dashboard.post(f"{TAXONS}/add", taxon_name="Mugs", parent_id=kitchen))

    assert saved_message(await dashboard.post(f"{TAXONS}/{kitchen}/remove")) == "removed"

    assert await children_of(db, root) == [table]
    assert ("taxon_deleted", "done") in await events(db, actor=dashboard.id, subject=UUID(kitchen))


async def test_an_unknown_taxon_is_404(dashboard: Dashboard, db: Any) -> None:
    _, root, _ = await new_tree(dashboard, db)

    for path in ("", "/remove"):
        assert (await dashboard.get(f"{TAXONS}/{UNKNOWN_ID}{path}")).status_code == 404
    for path in ("", "/up", "/down", "/remove"):
        assert (await dashboard.post(f"{TAXONS}/{UNKNOWN_ID}{path}", name="x")).status_code == 404
    assert (await dashboard.post(f"{TAXONS}/{root}/up")).status_code == 404
