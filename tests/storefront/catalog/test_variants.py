"""The variants of a product: their attributes, their order, and filters by option."""

from tests.builders import Make
from tests.shopper import Shopper
from tests.storefront.product_lists import ids, related_ids, word

VARIANT_ATTRIBUTES = {
    "sku",
    "barcode",
    "weight",
    "height",
    "width",
    "depth",
    "is_master",
    "options_text",
    "options",
    "purchasable",
    "in_stock",
    "backorderable",
    "currency",
    "price",
    "display_price",
    "compare_at_price",
    "display_compare_at_price",
    "public_metadata",
}


async def test_variants_have_the_documented_attributes_and_their_options(make: Make, guest: Shopper) -> None:
    size, color = sorted([word(), word()])
    product = await make.product(options={size: ["s"], color: ["red"]}, price="12", weight="1.50", height="2")

    master, other = (await guest.get(f"/products/{product.id}/variants")).json["data"]

    assert set(master["attributes"]) == set(other["attributes"]) == VARIANT_ATTRIBUTES
    assert set(other["relationships"]) == {"product", "images", "option_values"}
    assert (master["attributes"]["is_master"], other["attributes"]["is_master"]) == (True, False)
    assert (master["attributes"]["weight"], master["attributes"]["height"]) == ("1.5", "2.0")
    assert other["attributes"]["options_text"] == f"{size.capitalize()}: S, {color.capitalize()}: Red"
    assert other["attributes"]["options"] == [
        {"name": size, "value": "s", "presentation": "S"},
        {"name": color, "value": "red", "presentation": "Red"},
    ]
    assert (other["attributes"]["price"], other["attributes"]["display_price"]) == ("12.0", "$12.00")
    assert related_ids(other, "product") == product.id


async def test_variants_are_filtered_by_all_of_the_options(make: Make, guest: Shopper) -> None:
    size, color = word(), word()
    product = await make.product(options={size: ["s", "m"], color: ["red", "blue"]})
    path = f"/products/{product.id}/variants"

    async def list_matching(**options: str) -> list[str]:
        params = {f"filter[options][{name}]": value for name, value in options.items()}
        return ids(await guest.ask("GET", path, params=params))

    assert await list_matching(**{size: "m"}) == list(product.variants[2:])
    assert await list_matching(**{size: "m", color: "red"}) == [product.variants[2]]
    assert await list_matching(**{size: "xl"}) == []
    assert (await guest.get(f"{path}?filter[size]=m")).code == "unknown_filter"


async def test_variants_are_paged(make: Make, guest: Shopper) -> None:
    product = await make.product(options={word(): list("abcd")})

    second = await guest.get(f"/products/{product.id}/variants", page="2", per_page="2")

    assert ids(second) == list(product.variants[1:3])
    assert second.json["meta"] == {"count": 2, "total_count": 5, "total_pages": 3}


async def test_variants_are_sorted_by_position(make: Make, guest: Shopper) -> None:
    product = await make.product()
    last = await make.variant(product.id, {word(): "x"}, position=5)
    first = await make.variant(product.id, {word(): "y"}, position=1)

    listing = await guest.get(f"/products/{product.id}/variants")

    assert ids(listing) == [product.master, first, last]
    assert related_ids((await guest.get(f"/products/{product.id}")).json["data"], "variants") == [first, last]


async def test_a_deleted_variant_is_not_shown(make: Make, guest: Shopper) -> None:
    product = await make.product(options={word(): ["a", "b"]}, on_hand=1)

    await make.remove("variants", product.variants[0])

    data = (await guest.get(f"/products/{product.id}")).json["data"]
    assert related_ids(data, "variants") == [product.variants[1]]
    assert related_ids(data, "default_variant") == product.variants[1]
    assert ids(await guest.get(f"/products/{product.id}/variants")) == [product.master, product.variants[1]]
