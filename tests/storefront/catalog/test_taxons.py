"""Taxons as a shopper sees them: the trees in their order, one by its permalink or id, and the products in it."""

from uuid import uuid4

import pytest

from tests.builders import Make
from tests.service import Service
from tests.shopper import Answer, Shopper
from tests.storefront.product_lists import CatalogSection, ids, included, names, related_ids

ATTRIBUTES = {
    "name",
    "pretty_name",
    "permalink",
    "seo_title",
    "description",
    "meta_title",
    "meta_description",
    "meta_keywords",
    "left",
    "right",
    "position",
    "depth",
    "updated_at",
    "is_root",
    "is_child",
    "is_leaf",
    "public_metadata",
    "localized_slugs",
    "has_products",
    "header_url",
}
UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"


class Tree:
    """root ─ b ─ (b2, b1) and a."""

    def __init__(self, catalog_section: CatalogSection, **taxons: str) -> None:
        self.taxonomy_id = catalog_section.taxonomy_id
        self.root = catalog_section.root
        self.b, self.b2, self.b1, self.a = (taxons[name] for name in ("b", "b2", "b1", "a"))
        self.in_order = [catalog_section.root, self.b, self.b2, self.b1, self.a]


@pytest.fixture
async def tree(make: Make, catalog_section: CatalogSection) -> Tree:
    b = await make.taxon("Moths & Wasps", catalog_section.root, meta_title="All moths", public_metadata={"n": 1})
    return Tree(
        catalog_section,
        b=b,
        b2=await make.taxon("Zebra moth", b),
        b1=await make.taxon("Amber moth", b),
        a=await make.taxon("Ants", catalog_section.root),
    )


async def list_taxons(guest: Shopper, **filters: str) -> Answer:
    params = {f"filter[{name}]": value for name, value in filters.items()}
    return await guest.ask("GET", "/taxons", params={"per_page": "500", **params})


async def test_a_taxon_has_the_documented_attributes_and_relations(guest: Shopper, tree: Tree) -> None:
    answer = await guest.get(f"/taxons/{tree.b}")

    data = answer.json["data"]
    root = (await guest.get(f"/taxons/{tree.root}"))["name"]
    assert set(data["attributes"]) == ATTRIBUTES
    assert set(data["relationships"]) == {"parent", "taxonomy", "children", "products", "image"}
    assert {name: answer[name] for name in ("name", "pretty_name", "seo_title", "meta_title", "public_metadata")} == {
        "name": "Moths & Wasps",
        "pretty_name": f"{root} -> Moths & Wasps",
        "seo_title": "All moths",
        "meta_title": "All moths",
        "public_metadata": {"n": 1},
    }
    assert answer["permalink"].endswith("/moths-wasps")
    assert [answer[name] for name in ("left", "right", "depth", "position")] == [2, 7, 1, 0]
    assert [answer[name] for name in ("is_root", "is_child", "is_leaf")] == [False, True, False]
    assert related_ids(data, "parent") == tree.root
    assert related_ids(data, "taxonomy") == tree.taxonomy_id
    assert related_ids(data, "children") == [tree.b2, tree.b1]


async def test_taxons_are_listed_in_tree_order_regardless_of_sort(guest: Shopper, tree: Tree) -> None:
    listing = await list_taxons(guest, taxonomy_id=tree.taxonomy_id)
    sorted_by_name = await guest.get(f"/taxons?sort=-name&filter[taxonomy_id]={tree.taxonomy_id}")

    assert ids(listing) == ids(sorted_by_name) == tree.in_order
    assert [record["attributes"]["left"] for record in listing.json["data"]] == [1, 2, 3, 5, 8]
    assert [record["attributes"]["is_leaf"] for record in listing.json["data"]] == [False, False, True, True, True]
    assert all(
        set(record["relationships"]) == {"parent", "taxonomy", "children", "image"} for record in listing.json["data"]
    )


async def test_each_filter_works_alone_and_combined(guest: Shopper, tree: Tree) -> None:
    permalink = (await guest.get(f"/taxons/{tree.b}"))["permalink"]
    mine = {"taxonomy_id": tree.taxonomy_id}

    assert ids(await list_taxons(guest, ids=f"{tree.a},{tree.b1},{uuid4()}")) == [tree.b1, tree.a]
    assert ids(await list_taxons(guest, parent_id=tree.root)) == [tree.b, tree.a]
    assert ids(await list_taxons(guest, parent_permalink=permalink)) == [tree.b2, tree.b1]
    assert ids(await list_taxons(guest, name="MOTH", **mine)) == [tree.b, tree.b2, tree.b1]
    assert ids(await list_taxons(guest, name="hs & w", **mine)) == [tree.b]
    assert ids(await list_taxons(guest, roots="1", **mine)) == [tree.root]
    assert ids(await list_taxons(guest, roots="", **mine)) == tree.in_order
    assert ids(await list_taxons(guest, roots="true", parent_id=tree.root)) == []
    assert tree.root in ids(await list_taxons(guest, roots="true"))
    assert tree.a not in ids(await list_taxons(guest, roots="true"))


@pytest.mark.parametrize("name", ["%", "_", "\\", "b%e", "b_e", "'"])
async def test_pattern_characters_in_a_name_filter_are_plain_text(
    guest: Shopper, make: Make, catalog_section: CatalogSection, name: str
) -> None:
    await make.taxon("Plain moth", catalog_section.root)
    taxon_id = await make.taxon(f"Odd {name} one", catalog_section.root)

    assert ids(await list_taxons(guest, name=name, taxonomy_id=catalog_section.taxonomy_id)) == [taxon_id]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ids", "x"),
        ("ids", f"{UNKNOWN_ID},"),
        ("parent_id", "'"),
        ("parent_id", f"{UNKNOWN_ID},{UNKNOWN_ID}"),
        ("taxonomy_id", "1"),
    ],
)
async def test_a_malformed_id_is_refused(guest: Shopper, name: str, value: str) -> None:
    refusal = await list_taxons(guest, **{name: value})

    assert (refusal.status, refusal.code) == (400, "bad_filter")
    assert name in refusal.json["error"]


async def test_an_unknown_filter_is_refused_with_the_allowed_names(guest: Shopper) -> None:
    refusal = await list_taxons(guest, parents="x")

    assert (refusal.status, refusal.code) == (400, "unknown_filter")
    assert all(
        name in refusal.json["error"]
        for name in ("ids", "parent_id", "parent_permalink", "taxonomy_id", "name", "roots", "parents")
    )


@pytest.mark.parametrize("value", ["x" * 3000, "'; --", "\x01", "9" * 40, "{}", "٣"])
@pytest.mark.parametrize("shape", ["", "[]", "[a]", "[a][b]"])
async def test_no_filter_value_causes_a_server_error(guest: Shopper, shape: str, value: str) -> None:
    for name in ("ids", "parent_id", "parent_permalink", "taxonomy_id", "name", "roots"):
        answer = await guest.ask("GET", "/taxons", params={f"filter[{name}]{shape}": value})
        assert answer.status in {200, 400}, (name, answer)


async def test_a_taxon_is_found_by_id_and_by_its_permalink_with_slashes(guest: Shopper, tree: Tree) -> None:
    taxon = await guest.get(f"/taxons/{tree.b1}")

    permalink = taxon["permalink"]
    assert permalink.count("/") == 2
    assert (await guest.get(f"/taxons/{permalink}")).json == taxon.json
    missing = [
        await guest.get(f"/taxons/{key}") for key in (f"{permalink}/more", "moths-wasps", uuid4(), "a//b", "%00")
    ]
    assert [answer.status for answer in missing] == [404] * 5
    assert len({answer.json["error"] for answer in missing}) == 1


async def test_a_permalink_changes_when_its_taxon_is_moved(make: Make, guest: Shopper, tree: Tree) -> None:
    await make.change("taxons", tree.b1, "taxon", parent_id=tree.a)

    taxon = await guest.get(f"/taxons/{tree.b1}")

    assert taxon["permalink"].endswith("/ants/amber-moth")
    assert (await guest.get(f"/taxons/{taxon['permalink']}")).id == tree.b1
    assert ids(await list_taxons(guest, taxonomy_id=tree.taxonomy_id)) == [tree.root, tree.b, tree.b2, tree.a, tree.b1]


async def test_a_tree_whose_name_has_no_latin_letter_is_found_by_its_permalink(make: Make, guest: Shopper) -> None:
    _, root = await make.taxonomy("".join(chr(0x4E00 + byte) for byte in uuid4().bytes))
    below = await make.taxon("お茶", root)

    for taxon in (root, below):
        page = await guest.get(f"/taxons/{taxon}")
        assert (await guest.get(f"/taxons/{page['permalink']}")).id == taxon


async def test_a_taxon_lists_the_products_in_it_and_below_by_position(make: Make, guest: Shopper, tree: Tree) -> None:
    in_a = await make.product("In a", taxons=[tree.a])
    below = await make.product("Below", taxons=[tree.b1])
    last, first = await make.product("Last"), await make.product("First")
    for product, position in ((last, 5), (first, 1)):
        classification = {"product_id": product.id, "taxon_id": tree.b, "position": position}
        await make.machine.post("/classifications", {"classification": classification})

    b = await guest.get(f"/taxons/{tree.b}", include="products.primary_variant")
    root = await guest.get(f"/taxons/{tree.root}")

    assert related_ids(b.json["data"], "products") == [first.id, last.id, below.id]
    assert set(included(b, "product")) == {first.id, last.id, below.id}
    assert set(included(b, "variant")) == {first.master, last.master, below.master}
    assert len(related_ids(root.json["data"], "products")) == 4
    assert related_ids((await guest.get(f"/taxons/{tree.a}")).json["data"], "products") == [in_a.id]
    assert related_ids((await guest.get(f"/taxons/{tree.a}", currency="EUR")).json["data"], "products") == []


async def test_has_products_is_true_if_a_taxon_or_a_descendant_has_visible_products(
    make: Make, guest: Shopper, tree: Tree
) -> None:
    async def with_products() -> list[str]:
        listing = await list_taxons(guest, taxonomy_id=tree.taxonomy_id)
        return [item["id"] for item in listing.json["data"] if item["attributes"]["has_products"]]

    product = await make.product(taxons=[tree.b1])
    await make.product(taxons=[tree.a], status="draft")

    assert await with_products() == [tree.root, tree.b, tree.b1]
    assert (await guest.get(f"/taxons/{tree.root}"))["has_products"] is True
    await make.change("products", product.id, "product", taxon_ids=[])
    assert await with_products() == []


async def test_relations_are_included_to_any_allowed_depth(guest: Shopper, tree: Tree) -> None:
    taxon = await guest.get(f"/taxons/{tree.b1}", include="parent.parent,parent.children,taxonomy")
    listing = await guest.get(f"/taxons?include=children&filter[ids]={tree.b}")

    assert set(included(taxon, "taxon")) == {tree.b, tree.root, tree.b2}
    assert list(included(taxon, "taxonomy")) == [tree.taxonomy_id]
    assert list(included(listing, "taxon")) == [tree.b2, tree.b1]
    assert names(listing) == ["Moths & Wasps"]


async def test_products_cannot_be_included_in_a_list_of_taxons(guest: Shopper) -> None:
    refusal = await guest.get("/taxons", include="products")

    assert (refusal.status, refusal.code) == (400, "unknown_include")


async def test_lists_are_paged_in_a_constant_number_of_statements(guest: Shopper, tree: Tree, service: Service) -> None:
    path = f"/taxons?include=children,parent&filter[taxonomy_id]={tree.taxonomy_id}"

    one, five = await guest.get(f"{path}&per_page=1&page=2"), await guest.get(f"{path}&per_page=5")

    assert ids(one) == [tree.b]
    assert one.json["meta"] == {"count": 1, "total_count": 5, "total_pages": 5}
    assert set(one.json["links"]) == {"self", "next", "prev", "last", "first"}
    counts = [service.request_line(answer.request_id)["statements"] for answer in (one, five)]
    assert counts[1] <= counts[0] <= 4
