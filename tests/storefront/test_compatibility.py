"""Behavior that storefronts written for the Spree API v2 rely on."""

from typing import Any
from uuid import uuid4

import httpx2
import pytest

from shop.base.crypto.secrets import USER_REFRESH, new_bytes, secret_text
from tests.accounts import Member, sign_in
from tests.builders import Make
from tests.checkout_builders import ADDRESS, Buyer, CheckoutSetup
from tests.image_files import png
from tests.platform.client import Machine
from tests.shopper import PREFIX, Answer, Shopper
from tests.storefront.product_lists import CatalogSection, ids, included, related_ids, word


@pytest.fixture
async def member(http: httpx2.AsyncClient) -> Member:
    return await sign_in(http)


async def upload(machine: Machine, **fields: Any) -> Answer:
    return await machine.ask("POST", "/images", files={"attachment": ("a.png", png(200, 100))}, data=fields)


@pytest.fixture
async def product_with_images(make: Make) -> Any:
    """A product, the id of its image, and the id of its variant's image."""
    product = await make.product(options={word(): ["s", "m"]}, price="10.0", on_hand=5)
    own = await upload(make.machine, product_id=product.id)
    of_variant = await upload(make.machine, viewable_type="Spree::Variant", viewable_id=product.variant_id)
    assert (own.status, of_variant.status) == (201, 201), (own, of_variant)
    return product, own.id, of_variant.id


async def test_the_master_has_the_products_images_and_a_variant_its_own(
    guest: Shopper, product_with_images: Any
) -> None:
    product, own, of_variant = product_with_images

    page = await guest.get(f"/products/{product.id}", include="primary_variant.images,variants.images,images")

    variants = included(page, "variant")
    images = {key: related_ids(variant, "images") for key, variant in variants.items()}
    master = related_ids(page.json["data"], "primary_variant")
    assert related_ids(page.json["data"], "images") == [own, of_variant]
    assert (images[master], images[product.variant_id]) == ([own], [of_variant])


async def test_an_image_removed_from_its_variant_belongs_to_the_master(
    writer: Machine, product_with_images: Any
) -> None:
    product, own, of_variant = product_with_images

    image = await writer.patch(f"/images/{of_variant}", {"image": {"variant_id": None}})

    master = (await writer.get(f"/images/{own}")).json["data"]["relationships"]["variant"]["data"]
    assert image.json["data"]["relationships"]["variant"]["data"] == master
    assert image["viewable_id"] == master["id"] != product.variant_id


async def test_an_image_cannot_belong_to_another_kind_of_record(writer: Machine) -> None:
    refusal = await upload(writer, viewable_type="Spree::Order", viewable_id=str(uuid4()))

    assert (refusal.status, list(refusal.json["errors"])) == (422, ["viewable_type"])


async def test_image_urls_have_the_same_form_in_catalog_and_cart(
    guest: Shopper, service: Any, product_with_images: Any
) -> None:
    product, _, of_variant = product_with_images
    size = "&image_transformation[size]=100x50"
    await guest.post("/cart")
    await guest.post("/cart/add_item", variant_id=product.variant_id)

    catalog = await guest.get(f"/products/{product.id}?include=variants.images{size}")
    cart = await guest.get(f"/cart?include=line_items.variant.images{size}")

    images = [included(answer, "image")[of_variant]["attributes"] for answer in (catalog, cart)]
    assert images[0] == images[1]
    assert [style["url"] for style in images[0]["styles"]][:1] == [f"/media/{of_variant}/48.webp"]
    assert images[0]["transformed_url"] == f"/media/{of_variant}/160.webp"
    assert images[0]["original_url"] == f"{service.url}/media/{of_variant}/200.webp"


async def test_a_property_filter_accepts_several_values_slugs_and_blanks(
    make: Make, catalog_section: CatalogSection
) -> None:
    name, taxons = f"Burns {word()} for", [catalog_section.root]
    short, long, none = [
        await make.product(taxons=taxons, price="1.0", properties={name: value} if value else {})
        for value in ("2 hours", "Ten hours", "")
    ]
    slug = name.lower().replace(" ", "-")

    either = await catalog_section.get(**{f"filter[properties][{name}]": "2 hours,Ten hours,1 day"})
    one = await catalog_section.get(**{f"filter[properties][{slug}]": "ten-hours"})
    blank = await catalog_section.get(**{f"filter[properties][{slug}]": ""})
    nothing = await catalog_section.get(**{f"filter[properties][{slug}]": "1 day,2 days"})

    assert (set(ids(either)), ids(one)) == ({short.id, long.id}, [long.id])
    assert (set(ids(blank)), ids(nothing)) == ({short.id, long.id, none.id}, [])


async def test_every_invalid_address_field_is_reported(member: Member) -> None:
    address = {"firstname": 7, "country_iso": "US", "zipcode": "9501", "state_id": str(uuid4()), "address1": "1 Loop"}

    in_country = await member.post("/account/addresses", address=address)
    nowhere = await member.post("/account/addresses", address={"firstname": "Ada", "country_iso": "??"})

    assert set(in_country.json["errors"]) == {"firstname", "lastname", "zipcode", "state_id", "city"}
    assert set(nowhere.json["errors"]) == {"lastname", "address1", "city", "country_iso"}


async def test_a_zip_code_of_another_state_is_reported_on_the_state(member: Member) -> None:
    elsewhere = {**ADDRESS, "country_iso": "US", "state_name": "California", "zipcode": "10001"}

    refusal = await member.post("/account/addresses", address=elsewhere)

    assert refusal.json["errors"] == {"state_name": ["does not match the ZIP code"]}


async def test_a_cart_is_created_with_metadata(guest: Shopper) -> None:
    cart = await guest.post("/cart", public_metadata={"campaign": "spring"}, private_metadata={"secret": 1})

    read = await guest.get("/cart")
    assert (cart.status, read["public_metadata"]) == (201, {"campaign": "spring"})
    assert "private_metadata" not in read.json["data"]["attributes"]


@pytest.mark.security("H-10")
async def test_cart_metadata_is_limited(guest: Shopper) -> None:
    refusal = await guest.post("/cart", public_metadata={"x": "y" * 17_000}, private_metadata=[])

    assert (refusal.status, sorted(refusal.json["errors"])) == (422, ["private_metadata", "public_metadata"])


async def test_creating_a_cart_again_does_not_change_its_metadata(guest: Shopper) -> None:
    first = await guest.post("/cart", public_metadata={"a": 1})
    token = {"X-Spree-Order-Token": first["token"]}

    again = await guest.post("/cart", headers=token, public_metadata={"b": 2})

    assert (again.id, again["public_metadata"]) == (first.id, {"a": 1})


async def test_a_deleted_variant_is_not_found(guest: Shopper, make: Make, writer: Machine) -> None:
    product = await make.product(price="5.0", on_hand=9)
    await guest.post("/cart")
    before = await guest.post("/cart/add_item", variant_id=product.variant_id)

    await writer.delete(f"/products/{product.id}")
    after = await guest.post("/cart/add_item", variant_id=product.variant_id)

    assert (before.status, after.status, after.code) == (200, 404, "not_found")


async def test_put_changes_a_checkout_like_patch(buyer: Buyer, checkout_setup: CheckoutSetup) -> None:
    await buyer.post("/cart")
    await buyer.post("/cart/add_item", variant_id=(await checkout_setup.product()).variant_id)

    cart = await buyer.ask("PUT", "/checkout", json={"order": {"email": "ada@example.org"}})

    assert (cart.status, cart["email"]) == (200, "ada@example.org")


async def test_a_form_may_contain_a_list_of_objects(guest: Shopper, make: Make) -> None:
    mug, pot = [await make.product(price="3.0", on_hand=9) for _ in range(2)]
    await guest.post("/cart")
    items = ((mug.variant_id, 2), (pot.variant_id, 3))
    form = "&".join(f"items[][variant_id]={variant_id}&items[][quantity]={quantity}" for variant_id, quantity in items)
    kind = {"Content-Type": "application/x-www-form-urlencoded"}

    cart = await guest.ask("POST", "/cart/add_items", headers=kind, content=form)

    assert (cart.status, cart["item_count"]) == (200, 5)


async def test_amounts_are_also_shown_in_cents(buyer: Buyer, checkout_setup: CheckoutSetup) -> None:
    mug = await checkout_setup.product(price="12.34")
    await buyer.post("/cart")

    cart = await buyer.post("/cart/add_item", variant_id=mug.variant_id, quantity=2)

    names = ("subtotal", "ship_total", "store_credit_total", "promo_total", "tax_total", "total")
    cents = {name: cart[f"{name}_cents"] for name in (*names, "total_minus_store_credits")}
    assert cents == {
        **dict.fromkeys(names, 0),
        "subtotal": 2468,
        "total": 2468,
        "total_minus_store_credits": 2468,
    }
    assert cart.json["data"]["relationships"]["gift_card"] == {"data": None}


async def test_a_shipping_rate_includes_its_shipping_method(buyer: Buyer, checkout_setup: CheckoutSetup) -> None:
    await buyer.ready((await checkout_setup.product(), 1))

    rates = await buyer.get("/checkout/shipping_rates", include="shipping_rates.shipping_method")
    cart = await buyer.get("/cart", include="shipments.selected_shipping_rate.shipping_method")

    assert {each["attributes"]["name"] for each in included(rates, "shipping_method").values()}
    assert len(included(cart, "shipping_method")) == 1
    assert set(included(cart, "shipping_method")) <= set(included(rates, "shipping_method"))
    (rate, *_) = included(rates, "shipping_rate").values()
    assert rate["attributes"]["final_price_cents"] == round(float(rate["attributes"]["final_price"]) * 100)


@pytest.mark.parametrize("prefix", ["shop_oauth", "spree_oauth"])
async def test_a_users_session_is_refreshed_without_client_credentials(
    http: httpx2.AsyncClient, member: Member, prefix: str
) -> None:
    grant = {"grant_type": "refresh_token", "refresh_token": member.refresh_token}

    fresh = await http.post(f"/{prefix}/token", data=grant)

    assert (fresh.status_code, fresh.headers["pragma"]) == (200, "no-cache")
    bearer = {"Authorization": f"Bearer {fresh.json()['access_token']}"}
    assert (await http.get(f"{PREFIX}/account", headers=bearer)).status_code == 200


async def test_an_unknown_refresh_token_is_an_invalid_grant(http: httpx2.AsyncClient) -> None:
    grant = {"grant_type": "refresh_token", "refresh_token": secret_text(USER_REFRESH, new_bytes())}

    refusal = await http.post("/spree_oauth/token", data=grant)

    assert (refusal.status_code, refusal.json()["error"]) == (400, "invalid_grant")


async def test_accounts_are_not_created_with_a_password(guest: Shopper) -> None:
    refusal = await guest.post("/account", user={"email": "ada@example.org", "password": "secret"})

    assert refusal.status == 404
    assert "/auth" in refusal.json["error"]


async def test_paths_with_a_trailing_slash_are_accepted(http: httpx2.AsyncClient, make: Make, member: Member) -> None:
    _, root = await make.taxonomy()
    permalink = (await make.machine.get(f"/taxons/{root}"))["permalink"]

    taxon = await http.get(f"{PREFIX}/taxons/{permalink}/")
    response = await http.delete(f"{PREFIX}/auth/{member.access_token}/")

    assert (taxon.status_code, response.status_code) == (200, 200)
    assert (await member.get("/account")).status == 401
