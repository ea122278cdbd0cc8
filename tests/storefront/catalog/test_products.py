"""Products as a shopper sees them: visibility, attributes, prices, relations and availability."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from tests.builders import Make
from tests.shopper import Answer, Shopper
from tests.storefront.product_lists import CatalogSection, ids, included, related_ids, word

ATTRIBUTES = {
    "name",
    "description",
    "available_on",
    "slug",
    "meta_description",
    "meta_keywords",
    "updated_at",
    "sku",
    "barcode",
    "purchasable",
    "in_stock",
    "backorderable",
    "available",
    "currency",
    "price",
    "display_price",
    "compare_at_price",
    "display_compare_at_price",
    "public_metadata",
    "localized_slugs",
    "tags",
    "labels",
}
RELATIONS = {
    "variants",
    "option_types",
    "product_properties",
    "taxons",
    "images",
    "default_variant",
    "primary_variant",
}


def in_days(count: int) -> str:
    return (datetime.now(UTC) + timedelta(days=count)).isoformat()


async def test_a_product_has_the_documented_attributes_and_relations(make: Make, guest: Shopper) -> None:
    kind, fact, code = word(), word(), word()
    product = await make.product(
        "Tea Mug",
        price="1234.50",
        compare_at_price="1500",
        options={kind: ["small"]},
        properties={fact: "Bone China"},
        description="For tea.",
        sku=code,
        barcode="4006381333931",
        tags=["new"],
        available_on="2024-02-03T04:05:06.789Z",
        meta_description="A mug",
        meta_keywords="mug, tea",
        public_metadata={"shelf": 7},
        private_metadata={"cost": 3},
    )

    page = await guest.get(f"/products/{product.slug}")

    data = page.json["data"]
    assert page.status == 200
    assert page.headers["content-type"] == "application/vnd.api+json; charset=utf-8"
    assert (data["id"], data["type"]) == (product.id, "product")
    assert data["attributes"] == {
        "name": "Tea Mug",
        "description": "For tea.",
        "available_on": "2024-02-03T04:05:06.789Z",
        "slug": product.slug,
        "meta_description": "A mug",
        "meta_keywords": "mug, tea",
        "updated_at": data["attributes"]["updated_at"],
        "sku": code,
        "barcode": "4006381333931",
        "purchasable": False,
        "in_stock": False,
        "backorderable": False,
        "available": True,
        "currency": "USD",
        "price": "1234.5",
        "display_price": "$1,234.50",
        "compare_at_price": None,
        "display_compare_at_price": None,
        "tags": ["new"],
        "labels": [],
        "public_metadata": {"shelf": 7},
        "localized_slugs": {"en-US": product.slug},
    }
    assert set(data["attributes"]) == ATTRIBUTES
    assert set(data["relationships"]) == RELATIONS
    assert all(set(relation) == {"data"} for relation in data["relationships"].values())
    assert "cost" not in page.response.text


async def test_a_list_shows_a_product_exactly_as_its_page_does(
    make: Make, guest: Shopper, catalog_section: CatalogSection
) -> None:
    product = await make.product(price="7", compare_at_price="9.5", taxons=[catalog_section.root], on_hand=1)

    listing, page = await catalog_section.get(), await guest.get(f"/products/{product.id}")

    assert listing.json["data"] == [page.json["data"]]
    assert (page["compare_at_price"], page["display_compare_at_price"]) == ("9.5", "$9.50")


HIDDEN_FIELDS: dict[str, dict[str, Any]] = {
    "draft": {"status": "draft"},
    "archived": {"status": "archived"},
    "not yet available": {"available_on": in_days(1)},
}


@pytest.mark.parametrize("why", HIDDEN_FIELDS)
async def test_a_hidden_product_is_in_no_list_and_its_page_is_404(
    make: Make, guest: Shopper, catalog_section: CatalogSection, why: str
) -> None:
    product = await make.product("Seen", taxons=[catalog_section.root])
    hidden_product = await make.product("Hidden", taxons=[catalog_section.root], **HIDDEN_FIELDS[why])

    listing = await catalog_section.get(**{"filter[show_deleted]": "true", "filter[show_discontinued]": "true"})

    assert ids(listing) == [product.id]
    assert listing.json["meta"]["total_count"] == 1
    missing = [await guest.get(f"/products/{key}") for key in (hidden_product.id, hidden_product.slug, uuid4(), word())]
    missing += [await guest.get(f"/products/{key}/variants") for key in (hidden_product.id, word())]
    assert {answer.status for answer in missing} == {404}
    assert len({(answer.json["error"], answer.code) for answer in missing}) == 1
    taxon = await guest.get(f"/taxons/{catalog_section.root}", include="products")
    assert related_ids(taxon.json["data"], "products") == list(included(taxon, "product")) == [product.id]


async def test_a_deleted_product_is_neither_listed_nor_found(
    make: Make, guest: Shopper, catalog_section: CatalogSection
) -> None:
    product = await make.product(taxons=[catalog_section.root])

    await make.remove("products", product.id)

    assert ids(await catalog_section.get(**{"filter[show_deleted]": "true"})) == []
    assert (await guest.get(f"/products/{product.id}")).status == 404
    assert (await guest.get(f"/products/{product.slug}")).status == 404


async def test_an_active_product_with_a_past_available_on_is_listed(
    make: Make, catalog_section: CatalogSection
) -> None:
    past = await make.product(taxons=[catalog_section.root], available_on=in_days(-1))

    assert ids(await catalog_section.get()) == [past.id]


async def test_a_discontinued_product_is_listed_on_request_and_keeps_its_page(
    make: Make, guest: Shopper, catalog_section: CatalogSection
) -> None:
    product = await make.product(taxons=[catalog_section.root], available_on=in_days(-9), discontinue_on=in_days(-1))

    page = await guest.get(f"/products/{product.slug}")

    assert (page.status, page["available"]) == (200, False)
    assert ids(await catalog_section.get()) == []
    assert ids(await catalog_section.get(**{"filter[show_discontinued]": "1"})) == [product.id]


async def test_a_product_without_a_price_in_the_currency_is_not_listed_and_its_price_is_null(
    make: Make, guest: Shopper, catalog_section: CatalogSection
) -> None:
    dollars = await make.product("Dollars", taxons=[catalog_section.root])
    both = await make.product("Both", taxons=[catalog_section.root], prices={"EUR": "8.50"})
    neither = await make.product("Neither", price=None, taxons=[catalog_section.root])

    page = await guest.get(f"/products/{dollars.id}", currency="EUR")

    assert ids(await catalog_section.get()) == [both.id, dollars.id]
    assert ids(await catalog_section.get(currency="EUR")) == [both.id]
    assert (await guest.get(f"/products/{neither.id}"))["price"] is None
    assert [page[name] for name in ("currency", "price", "display_price", "compare_at_price")] == [
        "EUR",
        None,
        None,
        None,
    ]


async def test_a_product_with_only_a_name_is_a_draft_hidden_from_shoppers(make: Make, guest: Shopper) -> None:
    name = word()

    product = await make.new("products", "product", name=name)

    assert (product["status"], product["price"]) == ("draft", None)
    for query in (f"filter[name]={name}", f"filter[ids]={product.id}", f"q={name}"):
        assert ids(await guest.get(f"/products?{query}")) == []
    for path in (f"/products/{product.id}", f"/products/{product['slug']}", f"/products/{product.id}/variants"):
        assert (await guest.get(path)).status == 404
    await guest.post("/cart")
    refusal = await guest.post("/cart/add_item", variant_id=related_ids(product.json["data"], "primary_variant"))
    assert (refusal.status, refusal.code) == (422, "not_purchasable")


async def test_an_active_product_without_a_price_is_neither_listed_nor_purchasable(make: Make, guest: Shopper) -> None:
    product = await make.product(word(), price=None, on_hand=1)
    await guest.post("/cart")

    refusal = await guest.post("/cart/add_item", variant_id=product.variant_id)

    assert ids(await guest.get(f"/products?filter[ids]={product.id}")) == []
    assert (refusal.status, refusal.code) == (422, "no_price_in_currency")


@pytest.mark.parametrize(
    ("currency_param", "currency", "price", "display"),
    [
        ("EUR", "EUR", "8.5", "€8.50"),
        ("eur", "EUR", "8.5", "€8.50"),
        ("jpy", "JPY", "900.0", "¥900"),
        ("CHF", "USD", "10.0", "$10.00"),
        ("nonsense", "USD", "10.0", "$10.00"),
        ("", "USD", "10.0", "$10.00"),
    ],
)
async def test_prices_are_in_the_requested_currency_if_the_shop_supports_it(
    make: Make,
    guest: Shopper,
    catalog_section: CatalogSection,
    currency_param: str,
    currency: str,
    price: str,
    display: str,
) -> None:
    product = await make.product(
        price="10", prices={"EUR": "8.50", "JPY": "900", "CHF": "1"}, taxons=[catalog_section.root]
    )

    answers = [
        (await guest.get(f"/products/{product.id}", currency=currency_param)).json["data"],
        (await catalog_section.get(currency=currency_param)).json["data"][0],
        (await catalog_section.get(**{"filter[currency]": currency_param})).json["data"][0],
        (await guest.get(f"/products/{product.id}/variants", currency=currency_param)).json["data"][0],
    ]

    for record in answers:
        attributes = record["attributes"]
        assert (attributes["currency"], attributes["price"], attributes["display_price"]) == (currency, price, display)


async def test_a_product_is_found_by_id_slug_and_former_slugs(make: Make, guest: Shopper) -> None:
    first, second, third = word(), word(), word()
    product = await make.product(slug=first)
    await make.change("products", product.id, "product", slug=second)
    await make.change("products", product.id, "product", slug=third)

    pages = [await guest.get(f"/products/{key}") for key in (product.id, product.id.upper(), first, second, third)]

    assert [(answer.status, answer.id, answer["slug"]) for answer in pages] == [(200, product.id, third)] * 5


async def test_a_former_slug_that_another_product_uses_finds_that_product(make: Make, guest: Shopper) -> None:
    slug = word()
    old = await make.product(slug=slug)
    await make.change("products", old.id, "product", slug=word())
    new = await make.product(slug=slug)

    assert (await guest.get(f"/products/{slug}")).id == new.id


@pytest.mark.parametrize("form", ["hex", "urn"])
async def test_a_slug_that_looks_like_an_id_is_found(make: Make, guest: Shopper, form: str) -> None:
    slug = str(getattr(uuid4(), form)).removeprefix("urn:uuid:")
    product = await make.product(slug=slug)

    assert (await guest.get(f"/products/{slug}")).id == product.id
    assert (await guest.get(f"/products/{slug}/variants")).status == 200


async def test_without_variants_the_master_is_the_default_and_primary_variant(make: Make, guest: Shopper) -> None:
    product = await make.product(on_hand=1)

    data = (await guest.get(f"/products/{product.id}")).json["data"]

    assert related_ids(data, "variants") == []
    assert related_ids(data, "default_variant") == related_ids(data, "primary_variant") == product.master


@pytest.mark.parametrize(
    ("on_hand", "expected"), [((0, 0, 0), 0), ((0, 0, 2), 2), ((0, 3, 2), 1), ((1, 3, 2), 0), ((None, None, 1), 2)]
)
async def test_the_default_variant_is_the_first_purchasable_one_or_else_the_first(
    make: Make, guest: Shopper, on_hand: tuple[int | None, ...], expected: int
) -> None:
    product = await make.product("Shirt", price="5", on_hand=9)
    others = [
        await make.variant(product.id, {word(): "x"}, price=str(10 + index), on_hand=count, position=index)
        for index, count in enumerate(on_hand)
    ]

    page = await guest.get(f"/products/{product.id}")

    data = page.json["data"]
    assert related_ids(data, "variants") == others
    assert related_ids(data, "default_variant") == others[expected]
    assert related_ids(data, "primary_variant") == product.master
    assert page["price"] == f"{10 + expected}.0"
    # The stock of the master does not count while the product has other variants.
    assert page["in_stock"] == page["purchasable"] == any(on_hand)


def availability_of(answer: Answer) -> tuple[bool, bool, bool]:
    return answer["in_stock"], answer["backorderable"], answer["purchasable"]


async def test_availability_depends_on_stock_and_stock_location(make: Make, guest: Shopper) -> None:
    product = await make.product()
    path, location_id = f"/products/{product.id}", (await make.new("stock_locations", "stock_location", name=word())).id
    availability = [availability_of(await guest.get(path))]

    stock_item_id = await make.stock(product.master, 2, location_id=location_id)
    availability.append(availability_of(await guest.get(path)))
    await make.change("stock_items", stock_item_id, "stock_item", count_on_hand=0)
    availability.append(availability_of(await guest.get(path)))
    await make.change("stock_items", stock_item_id, "stock_item", backorderable=True)
    availability.append(availability_of(await guest.get(path)))
    await make.change("stock_locations", location_id, "stock_location", active=False)
    availability.append(availability_of(await guest.get(path)))
    await make.change("products", product.id, "product", track_inventory=False)
    availability.append(availability_of(await guest.get(path)))

    nothing, in_stock, beyond = (False, False, False), (True, False, True), (False, True, True)
    assert availability == [nothing, in_stock, nothing, beyond, nothing, in_stock]


async def test_stock_of_several_stock_locations_is_combined(make: Make, guest: Shopper) -> None:
    product = await make.product()
    item = await make.stock(product.master, 3)
    other = (await make.new("stock_locations", "stock_location", name=word())).id
    await make.stock(product.master, 0, backorderable=True, location_id=other)
    await make.new("stock_movements", "stock_movement", stock_item_id=item, quantity=-3)

    assert availability_of(await guest.get(f"/products/{product.id}")) == (False, True, True)
