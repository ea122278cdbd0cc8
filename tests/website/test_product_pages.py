"""Product pages of the website: prices, stock hints, options, images, related products and shipping estimates."""

import html
import re
from typing import Any

import httpx2
import pytest

from tests.accounts import sign_in
from tests.builders import Make
from tests.checkout_builders import CheckoutSetup, set_stock
from tests.db.processes import until
from tests.service import Service
from tests.storefront.product_lists import word
from tests.website.catalog_pages import HOSTILE, CatalogPage, CatalogVisitor, Section, add_image
from tests.website.visitor import SESSION


@pytest.mark.security("W-06", "W-07")
async def test_a_product_page_shows_price_text_and_properties(
    make: Make, visitor: CatalogVisitor, section: Section, service: Service
) -> None:
    lamps = await make.taxon("Lamps", section.root)
    name = f"Lamp {word()} {HOSTILE}"
    product = await make.product(
        name,
        price="12.50",
        compare_at_price="20",
        on_hand=9,
        sku=word(),
        taxons=[lamps],
        description=f"First line.\n\nSecond line {HOSTILE}.",
        properties={word(): f"Oak {HOSTILE}"},
    )
    image = await add_image(make, product.master, alt="A lamp")

    page = await visitor.product(product)

    assert page.find(r"<h1>(.*?)</h1>") == name
    assert page.price == "Now $12.50 Before $20.00"
    assert page.stock == "In stock"
    assert page.breadcrumbs == ["Home", "Lamps", name]
    assert "<p>First line.</p>" in page.main
    assert "<script>alert" not in page.text
    assert 'alt="A lamp"' in page.main
    assert page.text.count('fetchpriority="high"') == 1
    data = page.structured_data["Product"]
    offer = data["offers"]
    assert (offer["price"], offer["priceCurrency"], offer["availability"]) == (
        "12.50",
        "USD",
        "https://schema.org/InStock",
    )
    assert (data["url"], data["image"]) == (
        f"{service.url}/products/{product.slug}",
        [f"{service.url}/media/{image}/600.webp"],
    )
    assert page.canonical == data["url"]
    assert f'property="og:image" content="{service.url}/media/{image}/600.webp"' in page.text


async def test_a_description_with_tags_is_shown_as_paragraphs(make: Make, visitor: CatalogVisitor) -> None:
    product = await make.product(description="<p>One &amp; two</p><ul><li>Three</li></ul><br>5 < 6")

    page = await visitor.product(product)

    section = page.find(r'<section class="description" aria-labelledby="description">(.*?)</section>')
    assert section == "Description One & two Three 5 < 6"
    assert 'content="One &amp; two Three 5 &lt; 6"' in page.text


async def test_meta_fields_replace_title_and_description(make: Make, visitor: CatalogVisitor) -> None:
    product = await make.product(meta_title="Buy this", meta_description="Do it", description="Long. " * 60)
    other = await make.product("Plain", description="Word " * 60)

    page, plain = await visitor.product(product), await visitor.product(other)

    assert page.find(r"<title>(.*?)</title>") == "Buy this \u2013 Tested"
    assert 'name="description" content="Do it"' in page.text
    description = plain.find(r'<meta name="description" content="([^"]*)"')
    assert len(description) <= 160
    assert description.endswith("Word…")


async def test_the_stock_hint_says_what_can_be_bought(make: Make, visitor: CatalogVisitor, db: Any) -> None:
    plenty, few, none = [await make.product(on_hand=count) for count in (6, 5, 0)]
    later = await make.product()
    await make.stock(later.master, 0, backorderable=True)
    untracked = await make.product(track_inventory=False)

    pages = [await visitor.product(product) for product in (plenty, few, later, untracked, none)]

    assert [page.stock for page in pages] == ["In stock", "Only 5 left", "Ships later", "In stock", "Sold out"]
    offers = [page.structured_data["Product"]["offers"]["availability"].rpartition("/")[2] for page in pages]
    assert offers == ["InStock", "InStock", "BackOrder", "InStock", "OutOfStock"]
    assert re.search(r"<button [^>]*data-buy disabled>", pages[-1].main)


async def test_the_number_left_is_current_within_seconds(make: Make, visitor: CatalogVisitor, db: Any) -> None:
    product = await make.product(on_hand=4)
    assert (await visitor.product(product)).stock == "Only 4 left"

    # A sale that is not the last one does not change the catalog.
    await set_stock(db, product.master, 3)

    async def is_current() -> bool:
        return (await visitor.product(product)).stock == "Only 3 left"

    await until(is_current, 5)


async def test_a_discontinued_product_stays_visible_but_cannot_be_bought(make: Make, visitor: CatalogVisitor) -> None:
    product = await make.product(on_hand=5, available_on="2020-01-01T00:00:00Z", discontinue_on="2020-02-01T00:00:00Z")

    page = await visitor.product(product)

    assert "no longer available" in page.main
    assert 'action="/cart/items"' not in page.main


async def test_options_show_what_is_sold_out_with_the_selected_variant(make: Make, visitor: CatalogVisitor) -> None:
    size, color = "a" + word(), "b" + word()
    options = {size: ["small", "large"], color: ["red", "blue"]}
    product = await make.product(price="10", on_hand=7, options=options)
    small_red, small_blue, large_red, large_blue = product.variants
    await make.change("variants", large_red, "variant", price="30")
    for variant in (small_blue,):
        item = (await make.machine.get(f"/stock_items?filter[variant_id_eq]={variant}")).json["data"][0]["id"]
        await make.change("stock_items", item, "stock_item", count_on_hand=0)

    first = await visitor.product(product)
    second = await visitor.product(product, variant=large_red)
    sold_out = await visitor.product(product, variant=small_blue)

    assert first.options == {"Small": "selected", "Large": "", "Red": "selected", "Blue": "sold out"}
    assert second.options == {"Small": "", "Large": "selected", "Red": "selected", "Blue": ""}
    assert [page.price for page in (first, second)] == ["$10.00", "$30.00"]
    assert sold_out.stock == "Sold out"
    assert re.search(r"<button [^>]*data-buy>Add to cart", sold_out.main), "another combination can be bought"
    assert f'name="product_id" value="{product.id}"' in first.main
    assert f'name="option[{size}]" value="small"' in first.main
    assert {each["id"]: (each["price"], each["purchasable"]) for each in first.variants} == {
        small_red: ("$10.00", True),
        small_blue: ("$10.00", False),
        large_red: ("$30.00", True),
        large_blue: ("$10.00", True),
    }
    assert first.variants[0]["options"] == {size: "small", color: "red"}
    urls = [offer["url"] for offer in first.structured_data["Product"]["offers"]]
    assert urls[0].endswith(f"?variant={small_red}")


async def test_a_product_without_options_posts_its_variant(make: Make, visitor: CatalogVisitor) -> None:
    product = await make.product(on_hand=5)

    page = await visitor.product(product, variant="nonsense", image="-3")

    assert f'<input type="hidden" name="variant_id" value="{product.master}">' in page.main
    assert 'name="product_id"' not in page.main
    assert page.main.count('toolname="add_to_cart"') == 1
    assert 'action="/account/wishlists/items"' in page.main


async def test_the_gallery_works_without_a_script(make: Make, visitor: CatalogVisitor) -> None:
    product = await make.product(on_hand=5, options={word(): ["one", "two"]})
    images = [await add_image(make, owner, width=1000) for owner in (product.master, product.variants[1])]

    def main_image(page: CatalogPage) -> str:
        return page.find(r'<a class="gallery-main" href="/media/([^/]*)/')

    first = await visitor.product(product)
    assert main_image(first) == images[0]
    second_url = html.unescape(re.findall(r'<li><a href="([^"]*)"', first.main)[-1])
    assert main_image(await visitor.show(second_url)) == images[1]
    assert main_image(await visitor.product(product, variant=product.variants[1])) == images[1]
    assert main_image(await visitor.product(product, variant=product.variants[1], image="1")) == images[0]
    assert [each["image"] for each in first.variants] == [None, 1]
    assert "data-zoom" in first.main


async def test_a_customer_sees_the_own_price_and_its_reason(
    make: Make, http: httpx2.AsyncClient, visitor: CatalogVisitor
) -> None:
    product = await make.product(price="10", on_hand=9)
    member = await sign_in(http)
    await make.price_list(name=f"Friends {HOSTILE}", users=[await member.id()], entries={product.master: "8"})

    page = await CatalogVisitor(http, **{SESSION: member.access_token}).product(product)
    public = await visitor.product(product)

    assert page.price == "Now $8.00 Before $10.00"
    assert f"Your price from {html.escape(f'Friends {HOSTILE}')}" in page.main
    assert page.headers["cache-control"] == "private, no-store"
    assert public.price == "$10.00"
    assert public.headers["cache-control"] == "public, no-cache"


async def test_related_products_follow_in_the_same_category(
    make: Make, visitor: CatalogVisitor, section: Section
) -> None:
    lamps = await make.taxon("Lamps", section.root)
    names = [word() for _ in range(6)]
    products = [await make.product(name, taxons=[section.root, lamps]) for name in names]
    await make.product("Elsewhere", taxons=[section.root])

    middle, last = await visitor.product(products[2]), await visitor.product(products[5])

    assert middle.card_names == [names[3], names[4], names[5], names[0]]
    assert last.card_names == names[:4]


async def test_a_product_page_estimates_shipping(checkout_setup: CheckoutSetup, visitor: CatalogVisitor) -> None:
    product = await checkout_setup.product()

    page = await visitor.product(product)

    estimate = page.find(r'<div class="shipping-estimate">(.*?)</div>')
    assert estimate == "Shipping from $5.00 Post $5.00, Express $9.00"


async def test_a_former_address_of_a_product_names_the_current_one(
    make: Make, visitor: CatalogVisitor, service: Service
) -> None:
    product, slug = await make.product(slug=word()), word()
    await make.change("products", product.id, "product", slug=slug)

    page = await visitor.show(f"/products/{product.slug}")

    assert page.canonical == f"{service.url}/products/{slug}"
