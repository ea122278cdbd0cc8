"""Documents of products: included records, sparse fields, pages and links, and the number of statements."""

from itertools import product as combinations

import pytest

from tests.builders import Make, ProductIds
from tests.service import Service
from tests.shopper import Answer, Shopper
from tests.storefront.product_lists import CatalogSection, ids, included, prices, related_ids, word


async def rich_product(make: Make, catalog_section: CatalogSection) -> ProductIds:
    size, color = word(), word()
    return await make.product(
        options={size: ["s", "m"], color: ["red", "blue"]},
        taxons=[await make.taxon(word(), catalog_section.root)],
        properties={word(): "Wool", word(): "Blue"},
        on_hand=1,
    )


async def test_every_relation_can_be_included_and_nested(
    make: Make, guest: Shopper, catalog_section: CatalogSection
) -> None:
    rich = await rich_product(make, catalog_section)
    paths = (
        "variants.option_values.option_type,default_variant.product,primary_variant.images,option_types.option_values,"
        "product_properties,taxons.parent.taxonomy,taxons.children,images"
    )

    for answer in (await guest.get(f"/products/{rich.id}", include=paths), await catalog_section.get(include=paths)):
        data = answer.json["data"]
        product = data[0] if isinstance(data, list) else data
        assert set(included(answer, "variant")) == {rich.master, *rich.variants}
        assert set(included(answer, "option_type")) == set(related_ids(product, "option_types"))
        assert len(included(answer, "option_value")) == 4
        assert set(included(answer, "product_property")) == set(related_ids(product, "product_properties"))
        assert set(included(answer, "taxon")) == {*related_ids(product, "taxons"), catalog_section.root}
        assert list(included(answer, "taxonomy")) == [catalog_section.taxonomy_id]
        assert included(answer, "product") == {}, "primary data is repeated in included"


async def test_included_records_are_listed_once_and_nested_ones_before_their_parents(
    make: Make, guest: Shopper, catalog_section: CatalogSection
) -> None:
    products = [await rich_product(make, catalog_section) for _ in range(3)]

    answer = await catalog_section.get(include="variants.option_values.option_type,taxons.parent")

    record_keys = [(record["type"], record["id"]) for record in answer.json["included"]]
    assert len(record_keys) == len(set(record_keys)) == 12 + 12 + 6 + 4
    index = {key: number for number, key in enumerate(record_keys)}
    for variant in included(answer, "variant").values():
        for value in related_ids(variant, "option_values"):
            assert index["option_value", value] < index["variant", variant["id"]]
    for value in included(answer, "option_value").values():
        assert index["option_type", related_ids(value, "option_type")] < index["option_value", value["id"]]
    assert sorted(ids(answer)) == sorted(product.id for product in products)


async def test_two_relations_of_one_type_each_get_their_own_includes(
    make: Make, catalog_section: CatalogSection
) -> None:
    await rich_product(make, catalog_section)

    one_way = await catalog_section.get(include="default_variant.option_values.option_type,variants.option_values")
    the_other = await catalog_section.get(include="variants.option_values,default_variant.option_values.option_type")

    for answer in (one_way, the_other):
        assert len(included(answer, "option_value")) == 4
        assert len(included(answer, "option_type")) == 2


async def test_included_is_absent_without_include_and_empty_without_records(
    make: Make, catalog_section: CatalogSection
) -> None:
    await make.product(taxons=[catalog_section.root])

    assert "included" not in (await catalog_section.get()).json
    assert "included" not in (await catalog_section.get(include="")).json
    assert (await catalog_section.get(include="images")).json["included"] == []


@pytest.mark.parametrize("include", ["vendor", "variants.vendor", "product_properties.product", "images.x", "."])
async def test_an_unknown_include_is_refused_with_the_allowed_ones(guest: Shopper, include: str) -> None:
    refusal = await guest.get("/products", include=include)

    assert (refusal.status, refusal.code) == (400, "unknown_include")
    assert include in refusal.json["error"]
    assert "allowed" in refusal.json["error"]


async def test_sparse_fields_apply_to_data_and_included_records(make: Make, catalog_section: CatalogSection) -> None:
    await rich_product(make, catalog_section)

    answer = await catalog_section.get(
        include="default_variant",
        **{"fields[product]": "name,price,default_variant,nonsense", "fields[variant]": "display_price"},
    )

    (product,), (variant,) = answer.json["data"], answer.json["included"]
    assert set(product["attributes"]) == {"name", "price"}
    assert set(product["relationships"]) == {"default_variant"}
    assert (set(variant["attributes"]), variant["relationships"]) == ({"display_price"}, {})


async def test_pages_have_meta_and_five_links_that_can_be_followed(
    make: Make, guest: Shopper, catalog_section: CatalogSection
) -> None:
    product_ids = [(await make.product(taxons=[catalog_section.root])).id for _ in range(5)]

    first = await catalog_section.get(per_page="2", sort="id", **{"filter[in_stock]": ""})

    assert ids(first) == product_ids[:2]
    assert {name: first.json["meta"][name] for name in ("count", "total_count", "total_pages")} == {
        "count": 2,
        "total_count": 5,
        "total_pages": 3,
    }
    links = first.json["links"]
    assert set(links) == {"self", "next", "prev", "last", "first"}
    second = Answer(await guest.http.get(links["next"]))
    assert ids(second) == product_ids[2:4]
    last = Answer(await guest.http.get(links["last"]))
    assert ids(last) == product_ids[4:]
    assert last.json["links"]["next"] == links["last"]
    assert links["prev"] == links["first"] == second.json["links"]["prev"]
    assert ids(Answer(await guest.http.get(links["self"]))) == product_ids[:2]
    beyond = await catalog_section.get(per_page="2", page="9")
    assert (ids(beyond), beyond.json["meta"]["total_count"]) == ([], 5)


async def test_page_links_keep_the_search_currency_and_sort(
    make: Make, guest: Shopper, catalog_section: CatalogSection
) -> None:
    mine = word()
    for number in range(3):
        await make.product(f"{mine} {number}", prices={"EUR": str(number + 1)}, taxons=[catalog_section.root])
    await make.product("Another", prices={"EUR": "9"}, taxons=[catalog_section.root])

    first = await catalog_section.get(q=mine, currency="eur", sort_by="price-high-to-low", per_page="2")
    second = Answer(await guest.http.get(first.json["links"]["next"]))

    assert (prices(first), prices(second)) == (["3.0", "2.0"], ["1.0"])


async def test_an_invalid_page_size_is_replaced_by_the_default(make: Make, catalog_section: CatalogSection) -> None:
    for _ in range(26):
        await make.product(taxons=[catalog_section.root])

    sizes = {
        size: len(ids(await catalog_section.get(per_page=size)))
        for size in ("0", "-1", "501", "many", "", "2.5", "9" * 30)
    }

    assert set(sizes.values()) == {25}
    assert len(ids(await catalog_section.get(per_page="500"))) == 26
    assert len(ids(await catalog_section.get(per_page="1"))) == 1


async def test_an_empty_list_has_counts_of_zero(catalog_section: CatalogSection) -> None:
    answer = await catalog_section.get()

    assert answer.json["data"] == []
    assert {name: answer.json["meta"][name] for name in ("count", "total_count", "total_pages")} == {
        "count": 0,
        "total_count": 0,
        "total_pages": 0,
    }


async def test_the_number_of_statements_depends_on_neither_page_size_nor_records(
    make: Make, service: Service, catalog_section: CatalogSection
) -> None:
    for _ in range(4):
        await rich_product(make, catalog_section)
    includes = ("", "default_variant", "variants.option_values.option_type,images,taxons,product_properties")

    async def count_statements(include: str, size: str) -> int:
        answer = await catalog_section.get(include=include, per_page=size)
        return int(service.request_line(answer.request_id)["statements"])

    counts = {
        (include, size): await count_statements(include, size)
        for include, size in combinations(includes, ("1", "2", "4"))
    }

    # The first list also reads the facets, and which products are in the taxon.
    assert [counts[includes[0], size] for size in ("1", "2", "4")] == [5, 3, 3]
    assert [counts[includes[1], size] for size in ("1", "2", "4")] == [4, 4, 4]
    assert len({counts[includes[2], size] for size in ("1", "2", "4")}) == 1
    assert counts[includes[2], "4"] <= 12


async def test_circular_includes_are_read_once(make: Make, service: Service, catalog_section: CatalogSection) -> None:
    await rich_product(make, catalog_section)
    await catalog_section.get()  # Reads the facets.

    once = await catalog_section.get(include="variants.product", per_page="1")
    around = await catalog_section.get(include="variants.product.variants.product.variants.product", per_page="1")

    assert around.json["data"] == once.json["data"]
    counts = [service.request_line(answer.request_id)["statements"] for answer in (once, around)]
    assert counts[1] == counts[0]


async def test_an_include_of_too_many_relations_is_refused(guest: Shopper) -> None:
    steps = ("variants", "default_variant", "primary_variant")
    paths = [f"{one}.product.{two}.product.{three}" for one, two, three in combinations(steps, steps, steps)]

    refusal = await guest.get("/products", include=",".join(paths))

    assert (refusal.status, refusal.code) == (400, "unknown_include")
    assert "30" in refusal.json["error"]
