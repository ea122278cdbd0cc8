"""Discontinued products and variants: still shown, but never as purchasable."""

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.builders import Make
from tests.db.processes import until
from tests.shopper import Shopper
from tests.storefront.product_lists import CatalogSection, ids, word

PAST = (datetime.now(UTC) - timedelta(days=1)).isoformat()


async def test_a_discontinued_variant_is_neither_the_default_nor_purchasable(
    make: Make, catalog_section: CatalogSection
) -> None:
    product = await make.product(taxons=[catalog_section.root], on_hand=3, options={word(): ["s", "m"]})
    first, second = product.variants
    before = await catalog_section.guest.get(f"/products/{product.slug}", include="variants")

    await make.change("variants", first, "variant", discontinue_on=PAST)

    after = await catalog_section.guest.get(f"/products/{product.slug}", include="variants")
    default = [answer.json["data"]["relationships"]["default_variant"]["data"]["id"] for answer in (before, after)]
    assert default == [first, second]
    attributes = {each["id"]: each["attributes"] for each in after.json["included"]}
    assert [(attributes[each]["purchasable"], attributes[each]["in_stock"]) for each in (first, second)] == [
        (False, True),
        (True, True),
    ]
    assert (after["purchasable"], after["in_stock"]) == (True, True)
    await make.change("variants", second, "variant", discontinue_on=PAST)
    last = await catalog_section.guest.get(f"/products/{product.slug}")
    assert (last["purchasable"], last["in_stock"]) == (False, False)
    assert ids(await catalog_section.get(**{"filter[purchasable]": "true"})) == []


async def test_a_discontinued_product_is_not_purchasable(make: Make, catalog_section: CatalogSection) -> None:
    product = await make.product(taxons=[catalog_section.root], on_hand=3, discontinue_on=PAST)
    filters = {"filter[show_discontinued]": "true"}

    response = await catalog_section.get(**filters)

    assert ids(response) == [product.id]
    attributes = response.json["data"][0]["attributes"]
    assert (attributes["available"], attributes["purchasable"], attributes["in_stock"]) == (False, False, True)
    assert ids(await catalog_section.get(**filters, **{"filter[purchasable]": "true"})) == []


async def test_a_scheduled_discontinuation_takes_effect_without_a_write(
    make: Make, catalog_section: CatalogSection, guest: Shopper, db: Any
) -> None:
    product = await make.product(taxons=[catalog_section.root], on_hand=3, options={word(): ["s", "m"]})
    first, second = product.variants
    soon = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
    await make.change("variants", first, "variant", discontinue_on=soon)

    async def is_second() -> bool:
        page = await guest.get(f"/products/{product.slug}")
        return bool(page.json["data"]["relationships"]["default_variant"]["data"]["id"] == second)

    assert not await is_second()
    await until(is_second)


async def test_a_non_filterable_option_or_property_can_still_be_used_in_a_filter(
    make: Make, catalog_section: CatalogSection
) -> None:
    kind = word()
    product = await make.product(taxons=[catalog_section.root], options={kind: ["s", "m"]}, properties={kind: "Clay"})
    type_id = (await make.machine.get(f"/option_types?filter[name_eq]={kind}")).json["data"][0]["id"]
    property_id = (await make.machine.get(f"/properties?filter[name_eq]={kind}")).json["data"][0]["id"]
    await make.change("option_types", type_id, "option_type", filterable=False)
    await make.change("properties", property_id, "property", filterable=False)

    assert ids(await catalog_section.get(**{f"filter[options][{kind}]": "s"})) == [product.id]
    assert ids(await catalog_section.get(**{f"filter[properties][{kind}]": "Clay"})) == [product.id]
    filters = (await catalog_section.get()).json["meta"]["filters"]
    assert kind not in str(filters)
