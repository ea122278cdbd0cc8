"""What storefronts written for the Spree API v2 rely on."""

from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.make import Make
from tests.pictures import png
from tests.platform.machine import Machine
from tests.shopper import PREFIX, Answer, Shopper
from tests.shoppers import Member, sign_in
from tests.storefront.shelf import Shelf, ids, included, linked, word
from tests.till import ADDRESS, Buyer, Till


@pytest.fixture
async def member(http: httpx.AsyncClient) -> Member:
    return await sign_in(http)


async def upload(machine: Machine, **fields: Any) -> Answer:
    return await machine.ask("POST", "/images", files={"attachment": ("a.png", png(200, 100))}, data=fields)


@pytest.fixture
async def pictured(make: Make) -> Any:
    """A product with an image of its own and one of its variant."""
    made = await make.product(options={word(): ["s", "m"]}, price="10.0", on_hand=5)
    own = await upload(make.machine, product_id=made.id)
    of_variant = await upload(make.machine, viewable_type="Spree::Variant", viewable_id=made.sold)
    assert (own.status, of_variant.status) == (201, 201), (own, of_variant)
    return made, own.id, of_variant.id


async def test_the_master_has_the_products_images_and_a_variant_its_own(guest: Shopper, pictured: Any) -> None:
    made, own, of_variant = pictured

    shown = await guest.get(f"/products/{made.id}", include="primary_variant.images,variants.images,images")

    variants = included(shown, "variant")
    images = {key: linked(variant, "images") for key, variant in variants.items()}
    master = linked(shown.json["data"], "primary_variant")
    assert linked(shown.json["data"], "images") == [own, of_variant]
    assert (images[master], images[made.sold]) == ([own], [of_variant])


async def test_an_image_that_is_taken_from_its_variant_becomes_the_masters(writer: Machine, pictured: Any) -> None:
    made, own, of_variant = pictured

    changed = await writer.patch(f"/images/{of_variant}", {"image": {"variant_id": None}})

    master = (await writer.get(f"/images/{own}")).json["data"]["relationships"]["variant"]["data"]
    assert changed.json["data"]["relationships"]["variant"]["data"] == master
    assert changed["viewable_id"] == master["id"] != made.sold


async def test_an_image_is_of_a_variant_a_product_or_a_taxon(writer: Machine) -> None:
    refused = await upload(writer, viewable_type="Spree::Order", viewable_id=str(uuid4()))

    assert (refused.status, list(refused.json["errors"])) == (422, ["viewable_type"])


async def test_addresses_of_images_have_one_form_everywhere(guest: Shopper, service: Any, pictured: Any) -> None:
    made, _, of_variant = pictured
    size = "&image_transformation[size]=100x50"
    await guest.post("/cart")
    await guest.post("/cart/add_item", variant_id=made.sold)

    catalog = await guest.get(f"/products/{made.id}?include=variants.images{size}")
    cart = await guest.get(f"/cart?include=line_items.variant.images{size}")

    shown = [included(answer, "image")[of_variant]["attributes"] for answer in (catalog, cart)]
    assert shown[0] == shown[1]
    assert [style["url"] for style in shown[0]["styles"]][:1] == [f"/media/{of_variant}/48.webp"]
    assert shown[0]["transformed_url"] == f"/media/{of_variant}/160.webp"
    assert shown[0]["original_url"] == f"{service.url}/media/{of_variant}/200.webp"


async def test_a_property_filter_takes_several_values_a_slug_and_blanks(make: Make, shelf: Shelf) -> None:
    name, taxons = f"Burns {word()} for", [shelf.root]
    short, long, none = [
        await make.product(taxons=taxons, price="1.0", properties={name: value} if value else {})
        for value in ("2 hours", "Ten hours", "")
    ]
    slug = name.lower().replace(" ", "-")

    either = await shelf.get(**{f"filter[properties][{name}]": "2 hours,Ten hours,1 day"})
    one = await shelf.get(**{f"filter[properties][{slug}]": "ten-hours"})
    blank = await shelf.get(**{f"filter[properties][{slug}]": ""})
    nothing = await shelf.get(**{f"filter[properties][{slug}]": "1 day,2 days"})

    assert (set(ids(either)), ids(one)) == ({short.id, long.id}, [long.id])
    assert (set(ids(blank)), ids(nothing)) == ({short.id, long.id, none.id}, [])


async def test_every_failing_field_of_an_address_is_named(member: Member) -> None:
    typed = {"firstname": 7, "country_iso": "US", "zipcode": "9501", "state_id": str(uuid4()), "address1": "1 Loop"}

    in_country = await member.post("/account/addresses", address=typed)
    nowhere = await member.post("/account/addresses", address={"firstname": "Ada", "country_iso": "??"})

    assert set(in_country.json["errors"]) == {"firstname", "lastname", "zipcode", "state_id", "city"}
    assert set(nowhere.json["errors"]) == {"lastname", "address1", "city", "country_iso"}


async def test_a_zip_code_of_another_state_is_reported_on_the_state(member: Member) -> None:
    elsewhere = {**ADDRESS, "country_iso": "US", "state_name": "California", "zipcode": "10001"}

    refused = await member.post("/account/addresses", address=elsewhere)

    assert refused.json["errors"] == {"state_name": ["does not match the ZIP code"]}


async def test_a_cart_is_opened_with_metadata(guest: Shopper) -> None:
    opened = await guest.post("/cart", public_metadata={"campaign": "spring"}, private_metadata={"secret": 1})

    read = await guest.get("/cart")
    assert (opened.status, read["public_metadata"]) == (201, {"campaign": "spring"})
    assert "private_metadata" not in read.json["data"]["attributes"]


@pytest.mark.security("H-10")
async def test_metadata_of_a_cart_is_bounded(guest: Shopper) -> None:
    refused = await guest.post("/cart", public_metadata={"x": "y" * 17_000}, private_metadata=[])

    assert (refused.status, sorted(refused.json["errors"])) == (422, ["private_metadata", "public_metadata"])


async def test_metadata_does_not_change_a_cart_that_is_open(guest: Shopper) -> None:
    first = await guest.post("/cart", public_metadata={"a": 1})
    token = {"X-Spree-Order-Token": first["token"]}

    again = await guest.post("/cart", headers=token, public_metadata={"b": 2})

    assert (again.id, again["public_metadata"]) == (first.id, {"a": 1})


async def test_a_deleted_variant_is_not_found(guest: Shopper, make: Make, writer: Machine) -> None:
    made = await make.product(price="5.0", on_hand=9)
    await guest.post("/cart")
    before = await guest.post("/cart/add_item", variant_id=made.sold)

    await writer.delete(f"/products/{made.id}")
    after = await guest.post("/cart/add_item", variant_id=made.sold)

    assert (before.status, after.status, after.code) == (200, 404, "not_found")


async def test_put_changes_a_checkout_like_patch(buyer: Buyer, till: Till) -> None:
    await buyer.post("/cart")
    await buyer.post("/cart/add_item", variant_id=(await till.product()).sold)

    changed = await buyer.ask("PUT", "/checkout", json={"order": {"email": "ada@example.org"}})

    assert (changed.status, changed["email"]) == (200, "ada@example.org")


async def test_a_form_may_have_a_list_of_groups(guest: Shopper, make: Make) -> None:
    mug, pot = [await make.product(price="3.0", on_hand=9) for _ in range(2)]
    await guest.post("/cart")
    form = f"items[][variant_id]={mug.sold}&items[][quantity]=2&items[][variant_id]={pot.sold}&items[][quantity]=3"
    kind = {"Content-Type": "application/x-www-form-urlencoded"}

    added = await guest.ask("POST", "/cart/add_items", headers=kind, content=form)

    assert (added.status, added["item_count"]) == (200, 5)


async def test_amounts_are_shown_in_hundredths_too(buyer: Buyer, till: Till) -> None:
    mug = await till.product(price="12.34")
    await buyer.post("/cart")

    cart = await buyer.post("/cart/add_item", variant_id=mug.sold, quantity=2)

    names = ("subtotal", "ship_total", "store_credit_total", "promo_total", "tax_total", "total")
    cents = {name: cart[f"{name}_cents"] for name in (*names, "total_minus_store_credits")}
    assert cents == {
        **dict.fromkeys(names, 0),
        "subtotal": 2468,
        "total": 2468,
        "total_minus_store_credits": 2468,
    }
    assert cart.json["data"]["relationships"]["gift_card"] == {"data": None}


async def test_a_rate_names_its_shipping_method(buyer: Buyer, till: Till) -> None:
    await buyer.ready((await till.product(), 1))

    rates = await buyer.get("/checkout/shipping_rates", include="shipping_rates.shipping_method")
    cart = await buyer.get("/cart", include="shipments.selected_shipping_rate.shipping_method")

    assert {each["attributes"]["name"] for each in included(rates, "shipping_method").values()}
    assert len(included(cart, "shipping_method")) == 1
    assert set(included(cart, "shipping_method")) <= set(included(rates, "shipping_method"))
    (rate, *_) = included(rates, "shipping_rate").values()
    assert rate["attributes"]["final_price_cents"] == round(float(rate["attributes"]["final_price"]) * 100)


@pytest.mark.parametrize("prefix", ["shop_oauth", "spree_oauth"])
async def test_a_shoppers_session_is_refreshed_without_a_client(
    http: httpx.AsyncClient, member: Member, prefix: str
) -> None:
    grant = {"grant_type": "refresh_token", "refresh_token": member.refresh_token}

    fresh = await http.post(f"/{prefix}/token", data=grant)

    assert (fresh.status_code, fresh.headers["pragma"]) == (200, "no-cache")
    bearer = {"Authorization": f"Bearer {fresh.json()['access_token']}"}
    assert (await http.get(f"{PREFIX}/account", headers=bearer)).status_code == 200


async def test_a_refresh_token_that_is_nobodys_is_an_invalid_grant(http: httpx.AsyncClient) -> None:
    grant = {"grant_type": "refresh_token", "refresh_token": "shprt_" + "a" * 43}

    refused = await http.post("/spree_oauth/token", data=grant)

    assert (refused.status_code, refused.json()["error"]) in {(400, "invalid_grant"), (401, "invalid_client")}


async def test_accounts_are_not_created_with_a_password(guest: Shopper) -> None:
    refused = await guest.post("/account", user={"email": "ada@example.org", "password": "secret"})

    assert refused.status == 404
    assert "/auth" in refused.json["error"]


async def test_the_rest_of_an_address_may_end_in_a_slash(http: httpx.AsyncClient, make: Make, member: Member) -> None:
    _, root = await make.taxonomy()
    permalink = (await make.machine.get(f"/taxons/{root}"))["permalink"]

    taxon = await http.get(f"{PREFIX}/taxons/{permalink}/")
    ended = await http.delete(f"{PREFIX}/auth/{member.access_token}/")

    assert (taxon.status_code, ended.status_code) == (200, 200)
    assert (await member.get("/account")).status == 401
