"""Product lists by every filter and sort, compared with the model in `catalog_model.py`; and invalid filters."""

import random
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import asyncpg
import httpx2
import pytest

from shop.storefront.product_filters import FILTERS, SORTS
from tests.builders import Make
from tests.checkout_builders import Buyer, new_checkout_setup
from tests.cluster import Cluster
from tests.http_client import SharedTransport
from tests.platform.client import new_machine
from tests.service import KEYS, Service
from tests.shopper import Answer, Shopper
from tests.storefront.catalog_model import (
    COLORS,
    FITS,
    MATERIALS,
    SIZES,
    TAGS,
    ModelShop,
    create_model_shop,
    expected,
    is_visible,
)
from tests.storefront.product_lists import CatalogSection, ids, word

SORT_BY = {
    "default": "",
    "manual": "position",
    "name-a-z": "name",
    "name-z-a": "-name",
    "newest-first": "-seen",
    "oldest-first": "seen",
    "price-high-to-low": "-price",
    "price-low-to-high": "price",
}


@pytest.fixture(scope="module")
async def model_shop(
    cluster: Cluster, worker_name: str, tmp_path_factory: pytest.TempPathFactory, shared_transport: SharedTransport
) -> AsyncIterator[tuple[ModelShop, Shopper]]:
    """A shop that has only the products of the model."""
    with cluster.database(f"catalog_model_{worker_name}") as url:
        db = await asyncpg.connect(url)
        await db.execute("update shops set currencies = '{USD,EUR}'")
        service = Service(
            SHOP_DATA_DIR=str(tmp_path_factory.mktemp("catalog_model")),
            SHOP_DATABASE_URL=url,
            SHOP_SECRET_KEYS=KEYS,
            SHOP_MAILBOX="on",
            SHOP_DRAIN_SECONDS="0",
        )
        try:
            async with service.client(transport=shared_transport) as http:
                yield await create_model_shop(Make(await new_machine(http, db)), db), Shopper(http)
        finally:
            await db.close()
            service.stop()


async def list_products(guest: Shopper, params: dict[str, str]) -> Answer:
    answer = await guest.ask("GET", "/products", params={"per_page": "500", **params})
    assert answer.status == 200, answer
    assert answer.json["meta"]["total_count"] == len(ids(answer))
    return answer


def random_values(model_shop: ModelShop, chance: random.Random) -> dict[str, str]:
    """A value for each filter, which some products match and some do not."""
    taxons, options = list(model_shop.taxons.values()), list(model_shop.options.values())
    products = model_shop.products
    skus = [sku for product in products for sku in product.skus]
    return {
        "filter[ids]": ",".join(product.id for product in chance.sample(products, 9)),
        "filter[skus]": ",".join([*chance.sample(skus, 8), "no such"]),
        "filter[tags]": ",".join(chance.sample(TAGS, chance.choice([1, 2]))),
        "filter[slug]": chance.choice(products).row["slug"],
        "filter[name]": chance.choice(["mug", "MU", "lam 1", "teapot", "eclair", "É", "ug", "2"]),
        "filter[taxons]": ",".join(chance.sample(taxons, chance.choice([1, 2]))),
        "filter[concat_taxons]": ",".join(chance.sample(taxons, chance.choice([1, 2, 3]))),
        "filter[vendor_ids]": "1",
        "filter[price]": chance.choice(["5,15", "10,Infinity", "10,", ",8", "7.5", "7.51,8.01", "0,0", "20,10"]),
        "filter[currency]": "EUR",
        "filter[options][size]": chance.choice([*SIZES, "xxl"]),
        "filter[options][color]": chance.choice(COLORS),
        "filter[option_value_ids]": ",".join(chance.sample(options, chance.choice([1, 2, 3]))),
        "filter[properties][material]": chance.choice([*MATERIALS, "bone-china"]),
        "filter[properties][lining]": chance.choice(MATERIALS),
        "filter[in_stock]": chance.choice(["true", "1"]),
        "filter[backorderable]": chance.choice(["true", "yes"]),
        "filter[purchasable]": chance.choice(["true", "TRUE"]),
        "filter[show_deleted]": "true",
        "filter[show_discontinued]": chance.choice(["true", "1"]),
    }


def test_the_model_covers_every_filter_and_sort(model_shop: tuple[ModelShop, Shopper]) -> None:
    filter_names = {name.split("[")[1].rstrip("]") for name in random_values(model_shop[0], random.Random(0))}

    assert filter_names == set(FILTERS)
    assert {name.split("[")[1].rstrip("]") for name in FITS} <= set(FILTERS)


@pytest.mark.parametrize("seed", range(3))
async def test_each_filter_alone_agrees_with_the_model(model_shop: tuple[ModelShop, Shopper], seed: int) -> None:
    model, guest = model_shop

    for name, value in random_values(model, random.Random(seed)).items():
        product_ids = ids(await list_products(guest, {name: value}))

        assert product_ids == expected(model, {name: value}), (name, value)


async def test_each_filter_matches_some_products_and_not_all(model_shop: tuple[ModelShop, Shopper]) -> None:
    """Filters that match all products or none would not test the list."""
    model, _ = model_shop
    everything = expected(model, {})

    assert 15 < len(everything) < len(model.products) - 5
    for name in FITS.keys() - {"filter[vendor_ids]", "filter[show_deleted]"}:
        sizes = {len(expected(model, {name: random_values(model, random.Random(seed))[name]})) for seed in range(12)}
        assert any(0 < size < len(everything) for size in sizes), name


@pytest.mark.parametrize("sort", [f"{sign}{name}" for name in SORTS for sign in ("", "-")])
async def test_each_sort_agrees_with_the_model(model_shop: tuple[ModelShop, Shopper], sort: str) -> None:
    model, guest = model_shop
    params = {"sort": sort, "filter[taxons]": model.taxons["a"]}

    assert ids(await list_products(guest, params)) == expected(model, params)


@pytest.mark.parametrize("sort_by", SORT_BY)
async def test_each_sort_by_value_equals_a_sort(model_shop: tuple[ModelShop, Shopper], sort_by: str) -> None:
    model, guest = model_shop
    scope = {"filter[taxons]": model.taxons["a"]}

    product_ids = ids(await list_products(guest, {"sort_by": sort_by, **scope}))

    assert product_ids == expected(model, {"sort": SORT_BY[sort_by], **scope} if SORT_BY[sort_by] else scope)


async def test_best_selling_products_come_first_after_their_first_sale(
    make: Make, catalog_section: CatalogSection, http: httpx2.AsyncClient
) -> None:
    checkout_setup = await new_checkout_setup(make)
    mug, bowl, jar = [await checkout_setup.product(taxons=[catalog_section.root]) for _ in range(3)]
    before = ids(await catalog_section.get(sort_by="best-selling"))
    for product, quantity in ((bowl, 2), (jar, 3)):
        buyer = Buyer(http, checkout_setup)
        await buyer.ready((product, quantity))
        assert (await buyer.complete())["state"] == "complete"

    after = await catalog_section.get(sort_by="best-selling")

    assert before != ids(after) == [jar.id, bowl.id, mug.id]
    assert after.headers["etag"]


async def test_positions_sort_products_only_within_one_taxon(model_shop: tuple[ModelShop, Shopper]) -> None:
    model, guest = model_shop

    assert ids(await list_products(guest, {"sort": "position"})) == expected(model, {"sort": "id"})


async def test_combined_filters_and_sorts_agree_with_the_model(model_shop: tuple[ModelShop, Shopper]) -> None:
    model, guest = model_shop
    chance = random.Random(5)
    hits = 0
    for _ in range(150):
        filters = random_values(model, chance)
        params = {name: filters[name] for name in chance.sample(sorted(filters), chance.randrange(4))}
        sorts = chance.sample([name for name in SORTS if name != "position"], chance.randrange(4))
        if sorts:
            params["sort"] = ",".join(chance.choice(["", "-"]) + name for name in sorts)

        product_ids = ids(await list_products(guest, params))

        assert product_ids == expected(model, params), params
        hits += bool(product_ids)
    assert hits > 40


async def test_pages_of_any_size_are_slices_of_one_list(model_shop: tuple[ModelShop, Shopper]) -> None:
    model, guest = model_shop

    for sort in ("", "price", "-name", "available_on"):
        for size in (1, 4, 7):
            params = {"sort": sort, "per_page": str(size)} if sort else {"per_page": str(size)}
            whole = expected(model, {"sort": sort} if sort else {})
            pages = [
                await guest.ask("GET", "/products", params={**params, "page": str(number)})
                for number in range(1, -(-len(whole) // size) + 1)
            ]
            assert [record for page in pages for record in ids(page)] == whole
            assert {page.json["meta"]["total_count"] for page in pages} == {len(whole)}


async def test_facets_cover_all_visible_products_or_those_of_the_taxons(
    model_shop: tuple[ModelShop, Shopper],
) -> None:
    model, guest = model_shop
    for scope in ({}, {"filter[taxons]": model.taxons["a"]}, {"filter[taxons]": model.taxons["b"]}):
        products = [
            product
            for product in model.products
            if is_visible(product, {})
            and (not scope or FITS["filter[taxons]"](model, product, scope["filter[taxons]"]))
        ]
        options = {pair for product in products for item in product.variants for pair in item.options.items()}
        facts = {pair for product in products for pair in product.properties.items()}

        filters = (await list_products(guest, {**scope, "filter[name]": "nothing at all"})).json["meta"]["filters"]

        assert set(filters) == {"option_types", "product_properties"}
        kinds, properties = filters["option_types"], filters["product_properties"]
        assert {(kind["name"], value["name"]) for kind in kinds for value in kind["option_values"]} == options
        assert {(fact["name"], value["value"]) for fact in properties for value in fact["values"]} == facts
        for kind in kinds:
            assert kind["presentation"] == kind["name"].capitalize()
            for value in kind["option_values"]:
                assert value["id"] == model.options[kind["name"], value["name"]]
                assert set(value) == {"id", "name", "presentation", "position"}
        assert all(value["filter_param"] for fact in properties for value in fact["values"])
    assert any(not is_visible(product, {}) for product in model.products)


async def facets(catalog_section: CatalogSection) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    filters = (await catalog_section.get()).json["meta"]["filters"]
    return (
        {kind["name"]: [value["presentation"] for value in kind["option_values"]] for kind in filters["option_types"]},
        {fact["name"]: [value["value"] for value in fact["values"]] for fact in filters["product_properties"]},
    )


async def test_facets_are_updated_with_every_write(make: Make, catalog_section: CatalogSection) -> None:
    size, material = word(), word()
    assert await facets(catalog_section) == ({}, {})
    product = await make.product(
        options={size: ["s", "m"]}, properties={material: "Wool"}, taxons=[catalog_section.root]
    )
    assert await facets(catalog_section) == ({size: ["M", "S"]}, {material: ["Wool"]})

    await make.change("option_values", await make.option(size, "s"), "option_value", presentation="Small", position=-1)
    assert await facets(catalog_section) == ({size: ["Small", "M"]}, {material: ["Wool"]})
    await make.remove("variants", product.variants[1])
    assert await facets(catalog_section) == ({size: ["Small"]}, {material: ["Wool"]})
    await make.change("properties", await make.property(material), "property", filterable=False)
    assert await facets(catalog_section) == ({size: ["Small"]}, {})
    await make.change("properties", await make.property(material), "property", filterable=True)
    await make.change("option_types", await make.option_type(size), "option_type", filterable=False)
    assert await facets(catalog_section) == ({}, {material: ["Wool"]})
    await make.change("option_types", await make.option_type(size), "option_type", filterable=True)
    other = await make.product(properties={material: "Silk"}, taxons=[catalog_section.root])
    assert await facets(catalog_section) == ({size: ["Small"]}, {material: ["Silk", "Wool"]})
    await make.change("products", product.id, "product", status="archived")
    assert await facets(catalog_section) == ({}, {material: ["Silk"]})
    await make.change("products", product.id, "product", status="active", taxon_ids=[])
    assert await facets(catalog_section) == ({}, {material: ["Silk"]})
    await make.change("products", product.id, "product", taxon_ids=[await make.taxon("Below", catalog_section.root)])
    assert await facets(catalog_section) == ({size: ["Small"]}, {material: ["Silk", "Wool"]})
    await make.remove("products", other.id)
    await make.remove("products", product.id)
    assert await facets(catalog_section) == ({}, {})


@pytest.mark.security("C-02")
@pytest.mark.parametrize(
    ("name", "code"),
    [("filter[nmae]", "unknown_filter"), ("filter[price_from]", "unknown_filter"), ("sort", "unknown_sort")],
)
async def test_an_unknown_filter_or_sort_is_refused_with_the_allowed_names(
    guest: Shopper, name: str, code: str
) -> None:
    refusal = await guest.ask("GET", "/products", params={name: "nonsense"})

    assert (refusal.status, refusal.code) == (400, code)
    assert all(each in refusal.json["error"] for each in (FILTERS if name != "sort" else SORTS))


async def test_an_unknown_sort_by_is_refused_with_the_allowed_values(guest: Shopper) -> None:
    refusal = await guest.get("/products", sort_by="cheapest")

    assert (refusal.status, refusal.code) == (400, "unknown_sort")
    assert all(name in refusal.json["error"] for name in (*SORT_BY, "best-selling", "cheapest"))


async def test_one_unknown_sort_among_known_ones_is_refused(guest: Shopper) -> None:
    assert (await guest.get("/products", sort="name,-nonsense,price")).code == "unknown_sort"
    assert (await guest.get("/products", sort="--name")).code == "unknown_sort"


HOSTILE = {
    "quotes": "'; drop table products; --",
    "double quotes": "\"'`\\",
    "commas": ",,,",
    "brackets": "[{()}]<>",
    "long": "x" * 7_000,
    "many": ",".join(["1"] * 2_000),
    "huge": "9" * 39,
    "huge fraction": "0." + "9" * 37,
    "negative": "-1,-2",
    "scientific": "1e400,1e401",
    "not a number": "NaN,-Infinity",
    "wild cards": "%_\\%",
    "search words": "!a & b | (c <-> d):*",
    "other digits": "٣,٤",
    "bidirectional": "\u202eabc\u2066",
    "replacement character": "\ufffd",
    "an id": str(uuid4()),
    "ids": f"{uuid4()},x",
    "bytes": "\x01\x1f\x7f",
}
SHAPES = ("", "[]", "[a]", "[a][b]", "[a][]", "[a][b][c][d]")
NAMES = [f"filter[{name}]" for name in FILTERS] + [
    "page",
    "per_page",
    "sort",
    "sort_by",
    "q",
    "currency",
    "include",
    "fields",
    "fields[product]",
    "explain",
    "image_transformation",
    "image_transformation[size]",
    "locale",
]


@pytest.mark.security("C-02")
@pytest.mark.torture
@pytest.mark.parametrize(
    "has_all_shapes", [False, pytest.param(True, marks=pytest.mark.torture)], ids=["one shape", "all shapes"]
)
@pytest.mark.parametrize("kind", HOSTILE)
async def test_no_parameter_value_causes_a_server_error(guest: Shopper, kind: str, has_all_shapes: bool) -> None:
    shapes = SHAPES if len(HOSTILE[kind]) < 100 else SHAPES[:2]
    first = list(HOSTILE).index(kind)
    for number, name in enumerate(NAMES, first):
        # Each value with each name; without `has_all_shapes` in one shape only, which differs from name to name.
        for shape in shapes if has_all_shapes else [shapes[number % len(shapes)]]:
            answer = await guest.ask("GET", "/products", params={name + shape: HOSTILE[kind], "per_page": "1"})

            assert answer.status in {200, 400}, (name + shape, answer)
            if answer.status == 400:
                assert answer.code != "internal_error"
                assert len(answer.json["error"]) < 700


@pytest.mark.parametrize("query", ["filter[name]=%00", "q=a%00b", "filter[options][%00]=x", "sort=name%00"])
async def test_a_nul_is_refused(guest: Shopper, query: str) -> None:
    assert (await guest.get(f"/products?{query}")).status == 400


async def test_a_query_of_sixty_thousand_characters_is_too_long(guest: Shopper) -> None:
    assert (await guest.get(f"/products?q={'x' * 60_000}")).status == 414


async def test_price_filters_accept_amounts_larger_than_any_price(make: Make, catalog_section: CatalogSection) -> None:
    product = await make.product(price="9999999999999.99", taxons=[catalog_section.root])

    assert ids(await catalog_section.get(**{"filter[price]": f"0,{'9' * 20}"})) == [product.id]
    assert ids(await catalog_section.get(**{"filter[price]": f"{'9' * 20},"})) == []


async def test_a_blank_filter_is_ignored(make: Make, catalog_section: CatalogSection) -> None:
    product = await make.product(taxons=[catalog_section.root])
    blanks: dict[str, Any] = {name: "" for name in NAMES if name.startswith("filter") and "taxons]" not in name}

    assert ids(await catalog_section.get(**blanks, q=" ", sort="", sort_by="")) == [product.id]
