"""Pages, policies and menus as a shopper sees them: public, cached, and without hidden records."""

from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.accounts import sign_in
from tests.builders import Make
from tests.service import Service
from tests.shopper import Answer, Shopper
from tests.storefront.product_lists import included, related_ids


async def new_page(make: Make, **fields: Any) -> Answer:
    return await make.new("cms_pages", "cms_page", **{"title": f"Page {uuid4().hex}", **fields})


async def new_policy(make: Make, **fields: Any) -> Answer:
    return await make.new("policies", "policy", **{"name": f"Policy {uuid4().hex}", **fields})


async def new_menu(make: Make, **fields: Any) -> str:
    values = {"name": "Main", "location": f"header-{uuid4().hex}", **fields}
    return (await make.new("menus", "menu", **values)).id


async def new_item(make: Make, menu_id: str, name: str, kind: str = "url", record_id: Any = None, **more: Any) -> str:
    target = {"linked_resource_type": kind, "linked_resource_id": record_id}
    return (await make.new("menu_items", "menu_item", menu_id=menu_id, name=name, **target, **more)).id


async def list_records(guest: Shopper, path: str, filters: dict[str, str], **params: str) -> Answer:
    filter_params = {f"filter[{name}]": value for name, value in filters.items()}
    return await guest.ask("GET", path, params={**filter_params, **params})


async def items_of(guest: Shopper, menu_id: str) -> dict[str, Any]:
    """The items of a menu by name, without the root."""
    answer = await guest.get(f"/menus/{menu_id}", include="menu_items")
    assert answer.status == 200, answer
    records = included(answer, "menu_item").values()
    return {item["attributes"]["name"]: item for item in records if not item["attributes"]["is_root"]}


async def test_a_page_has_sprees_attributes_and_safe_html(make: Make, guest: Shopper) -> None:
    text = "Hello *you* <script>x</script> [a](https://e.example)"
    record = await new_page(make, content=text, meta_title="Title", meta_description="About it", locale="de")

    page = await guest.get(f"/cms_pages/{record['slug']}")

    assert page.json["data"]["attributes"] == {
        "title": record["title"],
        "slug": record["slug"],
        "locale": "de",
        "type": "standard",
        "meta_title": "Title",
        "meta_description": "About it",
        "content": "<p>Hello <em>you</em> &lt;script&gt;x&lt;/script&gt; "
        '<a href="https://e.example" rel="noopener noreferrer">a</a></p>\n',
    }
    assert (await guest.get(f"/cms_pages/{record.id}")).json == page.json
    assert (await guest.get("/cms_pages", include="cms_sections")).status == 200


async def test_a_policy_shows_plain_text_and_html(make: Make, guest: Shopper) -> None:
    record = await new_policy(make, body="# Terms\n\nRead **this**.", show_in_checkout_footer=True)

    policy = await guest.get(f"/policies/{record['slug']}")

    assert set(policy.json["data"]["attributes"]) == {
        "name",
        "slug",
        "body",
        "body_html",
        "show_in_checkout_footer",
        "created_at",
        "updated_at",
    }
    assert policy["body"] == "Terms\n\nRead this."
    assert policy["body_html"] == "<h1>Terms</h1>\n<p>Read <strong>this</strong>.</p>\n"
    assert (await guest.get(f"/policies/{record.id}")).json == policy.json
    assert record.id in [item["id"] for item in (await guest.get("/policies", per_page="500")).json["data"]]


async def test_an_invisible_page_is_404_and_not_listed(make: Make, guest: Shopper) -> None:
    word = uuid4().hex
    page = await new_page(make, title=f"Hidden {word}", visible=False)

    assert (await guest.get(f"/cms_pages/{page.id}")).status == 404
    assert (await guest.get(f"/cms_pages/{page['slug']}")).status == 404
    assert (await list_records(guest, "/cms_pages", {"title": word})).json["data"] == []


@pytest.mark.parametrize("path", ["cms_pages", "policies", "menus"])
async def test_unknown_records_are_404_and_unknown_filters_sorts_and_includes_are_refused(
    guest: Shopper, path: str
) -> None:
    for key in ("nothing", uuid4(), "%00", "a'b", "x" * 300):
        assert (await guest.get(f"/{path}/{key}")).status == 404
    assert (await list_records(guest, f"/{path}", {"nothing": "x"})).code == "unknown_filter"
    assert (await guest.get(f"/{path}", sort="title")).code == "unknown_sort"
    assert (await guest.get(f"/{path}", include="nothing")).code == "unknown_include"


async def test_pages_are_filtered_and_paged(make: Make, guest: Shopper) -> None:
    word = uuid4().hex
    first = await new_page(make, title=f"A_b {word}", type="homepage", locale="de")
    second = await new_page(make, title=f"Axb {word}", locale="de")

    async def list_ids(**filters: str) -> list[str]:
        return [item["id"] for item in (await list_records(guest, "/cms_pages", filters)).json["data"]]

    assert await list_ids(title=word) == [first.id, second.id]
    assert await list_ids(title=f"A_B {word}") == [first.id]
    assert await list_ids(title=word, type="homepage") == await list_ids(title=word, type="home") == [first.id]
    assert await list_ids(title=word, type="Spree::Cms::Pages::StandardPage") == [second.id]
    assert (await list_ids(title=word, locale="fr"), await list_ids(title=word, locale="")) == (
        [],
        [first.id, second.id],
    )
    page = await list_records(guest, "/cms_pages", {"title": word}, per_page="1", page="2")
    beyond = await list_records(guest, "/cms_pages", {"title": word}, per_page="1", page="9")
    assert [item["id"] for item in page.json["data"]] == [second.id]
    assert page.json["meta"] == {"count": 1, "total_count": 2, "total_pages": 2}
    assert beyond.json["meta"] == {"count": 0, "total_count": 2, "total_pages": 2}


@pytest.mark.parametrize("shape", ["", "[]", "[a]"])
@pytest.mark.parametrize("value", ["x" * 3000, "'; --", "\x01", "{}"])
async def test_no_filter_value_causes_a_server_error(guest: Shopper, shape: str, value: str) -> None:
    for path, names in {"cms_pages": ("title", "type", "locale"), "menus": ("location", "locale", "name")}.items():
        for name in names:
            answer = await guest.ask("GET", f"/{path}", params={f"filter[{name}]{shape}": value})
            assert answer.status in {200, 400}, (path, name, answer)


async def test_a_menu_is_found_by_its_location_and_is_a_tree_of_links(make: Make, guest: Shopper) -> None:
    location = f"footer-{uuid4().hex}"
    menu_id = await new_menu(make, location=location, locale="de")
    await new_menu(make, location=location, locale="fr")
    group = await new_item(make, menu_id, "Group", item_type="Container", code="g", subtitle="All")
    await new_item(make, menu_id, "Blog", parent_id=group, destination="https://e.example/", new_window=True)

    response = await list_records(guest, "/menus", {"location": location, "locale": "de"}, include="menu_items")

    (menu,) = response.json["data"]
    items = included(response, "menu_item")
    root, first, second = [items[each] for each in related_ids(menu, "menu_items")]
    assert menu["attributes"] == {"name": "Main", "location": location, "locale": "de"}
    assert [root["attributes"][name] for name in ("name", "is_root", "is_container", "lft", "rgt")] == [
        "Main",
        True,
        True,
        1,
        6,
    ]
    assert (related_ids(root, "children"), related_ids(first, "children")) == ([first["id"]], [second["id"]])
    assert second["attributes"] == {
        "name": "Blog",
        "code": None,
        "subtitle": None,
        "item_type": "Link",
        "link": "https://e.example/",
        "destination": "https://e.example/",
        "new_window": True,
        "lft": 3,
        "rgt": 4,
        "depth": 2,
        "is_container": False,
        "is_root": False,
        "is_child": True,
        "is_leaf": True,
    }
    assert (related_ids(second, "parent"), related_ids(second, "menu"), related_ids(second, "icon")) == (
        first["id"],
        menu_id,
        None,
    )


async def test_menu_items_link_to_taxons_products_and_pages_that_can_be_included(make: Make, guest: Shopper) -> None:
    menu_id = await new_menu(make)
    _, taxon = await make.taxonomy()
    mug, page = await make.product("Mug"), await new_page(make)
    home = await new_page(make, type="homepage")
    for name, kind, record_id in (
        ("Taxon", "taxon", taxon),
        ("Mug", "product", mug.id),
        ("Page", "cms_page", page.id),
        ("Home", "cms_page", home.id),
    ):
        await new_item(make, menu_id, name, kind, record_id)

    whole = await guest.get(f"/menus/{menu_id}", include="menu_items.linked_resource,menu_items.children")
    items = await items_of(guest, menu_id)

    permalink = (await guest.get(f"/taxons/{taxon}"))["permalink"]
    assert {name: item["attributes"]["link"] for name, item in items.items()} == {
        "Taxon": f"/t/{permalink}",
        "Mug": f"/products/{mug.slug}",
        "Page": f"/pages/{page['slug']}",
        "Home": "/",
    }
    assert items["Mug"]["relationships"]["linked_resource"]["data"] == {"id": mug.id, "type": "product"}
    assert included(whole, "product")[mug.id]["attributes"]["display_price"] == "$10.00"
    assert set(included(whole, "taxon")) == {taxon}
    assert set(included(whole, "cms_page")) == {page.id, home.id}


async def test_menu_items_with_a_hidden_target_are_omitted_with_their_descendants(make: Make, guest: Shopper) -> None:
    menu_id = await new_menu(make)
    _, root = await make.taxonomy()
    taxon = await make.taxon("Gone", root)
    draft, deleted_product, mug = await make.product(status="draft"), await make.product(), await make.product()
    hidden_page, page = await new_page(make, visible=False), await new_page(make)
    for name, kind, record_id in (
        ("draft", "product", draft.id),
        ("gone", "product", deleted_product.id),
        ("taxon", "taxon", taxon),
        ("hidden", "cms_page", hidden_page.id),
        ("page", "cms_page", page.id),
        ("mug", "product", mug.id),
    ):
        above = await new_item(make, menu_id, name, kind, record_id)
        await new_item(make, menu_id, f"below {name}", parent_id=above)
    await make.remove("products", deleted_product.id)
    await make.remove("taxons", taxon)
    await make.remove("cms_pages", page.id)

    items = await items_of(guest, menu_id)

    assert list(items) == ["mug", "below mug"]
    assert [items["mug"]["attributes"][name] for name in ("lft", "rgt", "is_leaf")] == [2, 5, False]


CHANGES: dict[str, Any] = {
    "the page is changed": lambda make, ids: make.change("cms_pages", ids["page"], "cms_page", title="Another"),
    "the page is hidden": lambda make, ids: make.change("cms_pages", ids["page"], "cms_page", visible=False),
    "the policy is changed": lambda make, ids: make.change("policies", ids["policy"], "policy", body="Another"),
    "the menu is renamed": lambda make, ids: make.change("menus", ids["menu"], "menu", name="Another"),
    "an item is changed": lambda make, ids: make.change("menu_items", ids["item"], "menu_item", subtitle="Another"),
    "an item is removed": lambda make, ids: make.remove("menu_items", ids["item"]),
    "the product has another slug": lambda make, ids: make.change(
        "products", ids["product"], "product", slug=f"mug-{uuid4().hex}"
    ),
    "the product is removed": lambda make, ids: make.remove("products", ids["product"]),
    "the product is a draft": lambda make, ids: make.change("products", ids["product"], "product", status="draft"),
    "the taxon is renamed": lambda make, ids: make.change("taxons", ids["taxon"], "taxon", slug=f"t-{uuid4().hex}"),
    "the taxon is removed": lambda make, ids: make.remove("taxons", ids["taxon"]),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_the_next_response_is_up_to_date_when(make: Make, guest: Shopper, change: str) -> None:
    menu_id, page, policy = await new_menu(make), await new_page(make), await new_policy(make)
    mug, (_, root) = await make.product(), await make.taxonomy()
    taxon = await make.taxon("Mugs", root)
    await new_item(make, menu_id, "Mug", "product", mug.id)
    item = await new_item(make, menu_id, "Taxon", "taxon", taxon)
    ids = {"menu": menu_id, "item": item, "page": page.id, "policy": policy.id, "product": mug.id, "taxon": taxon}

    async def load_documents() -> list[Any]:
        paths = (f"/cms_pages/{page.id}", f"/policies/{policy.id}", f"/menus/{menu_id}?include=menu_items")
        return [(await guest.get(path)).json for path in paths]

    before = await load_documents()
    assert await load_documents() == before

    await CHANGES[change](make, ids)

    assert await load_documents() != before


async def test_a_response_is_public_and_revalidated_by_its_etag(make: Make, guest: Shopper, service: Service) -> None:
    page = await new_page(make)
    path = f"/cms_pages/{page.id}"

    first = await guest.get(path)
    again = await guest.get(path, headers={"If-None-Match": first.headers["etag"]})

    assert first.headers["cache-control"] == "public, no-cache"
    assert (again.status, again.response.content) == (304, b"")
    assert service.request_line(again.request_id)["statements"] == 1


async def test_a_response_to_a_bearer_token_is_not_cacheable(make: Make, http: httpx2.AsyncClient) -> None:
    page, shopper = await new_page(make), await sign_in(http)

    answer = await shopper.get(f"/cms_pages/{page.id}")

    assert (answer.status, answer.headers["cache-control"]) == (200, "private, no-store")


async def test_a_list_costs_as_many_statements_for_many_records_as_for_few(
    make: Make, guest: Shopper, service: Service
) -> None:
    word = uuid4().hex
    for number in range(3):
        menu_id = await new_menu(make, name=word, location=f"place-{number}-{word}")
        for _ in range(3):
            await new_item(make, menu_id, "x", destination="/x")
        await new_page(make, title=f"{word} {number}")

    async def cost(path: str, filters: dict[str, str], **params: str) -> int:
        answer = await list_records(guest, path, filters, **params)
        return int(service.request_line(answer.request_id)["statements"])

    for path, filters in {"/menus": {"name": word}, "/cms_pages": {"title": word}, "/policies": {}}.items():
        include = "menu_items.children" if path == "/menus" else ""
        costs = [await cost(path, filters, per_page=size, include=include) for size in ("1", "3")]
        # The version of the catalog, the records, and for menus their items.
        assert costs[0] == costs[1] <= 3
        assert await cost(path, filters, page="9") <= 3
