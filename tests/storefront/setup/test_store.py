"""The store resource: its name, currencies, country and language."""

from typing import Any

import pytest

from tests.shopper import Shopper
from tests.storefront.product_lists import included, related_ids

ATTRIBUTES = {
    "name",
    "url",
    "code",
    "meta_description",
    "meta_keywords",
    "seo_title",
    "default_currency",
    "default",
    "supported_currencies",
    "facebook",
    "twitter",
    "instagram",
    "default_locale",
    "supported_locales",
    "customer_support_email",
    "description",
    "address",
    "contact_phone",
    "logo",
    "mailer_logo",
    "favicon_path",
    "default_country_id",
}


async def test_the_store_shows_the_shop_settings(guest: Shopper, db: Any) -> None:
    shop = await db.fetchrow("select * from shops")

    store = await guest.get("/store")

    assert store.json["data"]["type"] == "store"
    assert set(store.json["data"]["attributes"]) == ATTRIBUTES
    assert (store["name"], store["default_locale"], store["default"]) == (shop["name"], shop["default_locale"], True)
    assert store["supported_currencies"] == ",".join(shop["currencies"])
    assert store["default_currency"] == shop["currencies"][0]
    assert store["url"] == str(guest.http.base_url).rstrip("/")


async def test_the_store_names_its_country_and_includes_it(guest: Shopper) -> None:
    store, full = await guest.get("/store"), await guest.get("/store", include="default_country")

    country = related_ids(store.json["data"], "default_country")
    assert list(included(full, "country")) == [country] == [store["default_country_id"]]
    assert included(full, "country")[country]["attributes"]["iso"] == "US"
    assert (await guest.get("/countries/default")).id == country


async def test_the_store_is_found_by_its_code(guest: Shopper) -> None:
    store = await guest.get("/store")

    assert (await guest.get(f"/stores/{store['code']}")).json == store.json
    assert (await guest.get("/stores/default")).json == store.json


@pytest.mark.parametrize("code", ["another", "%FF", "%00", "'", "x" * 1000])
async def test_an_unknown_store_is_404(guest: Shopper, code: str) -> None:
    assert (await guest.get(f"/stores/{code}")).status == 404
