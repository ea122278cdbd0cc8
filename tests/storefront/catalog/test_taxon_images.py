"""Images of taxons in the storefront: available with every taxon, and up to date at once."""

from typing import Any

import pytest

from tests.builders import Make
from tests.image_files import png
from tests.service import Service
from tests.shopper import Answer, Shopper
from tests.storefront.product_lists import CatalogSection, included, related_ids


async def upload(make: Make, taxon_id: str, alt: str = "A shelf") -> str:
    files = {"attachment": ("a.png", png(200, 100))}
    image = await make.machine.ask("POST", "/images", files=files, data={"taxon_id": taxon_id, "alt": alt})
    assert image.status == 201, image
    return image.id


@pytest.fixture
async def taxon(make: Make, catalog_section: CatalogSection) -> str:
    return await make.taxon("Lanterns", catalog_section.root)


async def list_tree(guest: Shopper, catalog_section: CatalogSection, **params: str) -> Answer:
    return await guest.ask("GET", "/taxons", params={"filter[taxonomy_id]": catalog_section.taxonomy_id, **params})


def statements_of(service: Service, answer: Answer) -> int:
    return int(service.request_line(answer.request_id)["statements"])


async def test_a_taxon_names_its_image_in_lists_alone_and_with_products(
    make: Make, guest: Shopper, catalog_section: CatalogSection, taxon: str
) -> None:
    image = await upload(make, taxon)
    product = await make.product(taxons=[taxon])

    listing = await list_tree(guest, catalog_section)
    alone = await guest.get(f"/taxons/{taxon}")
    by_permalink = await guest.get(f"/taxons/{alone['permalink']}")
    with_product = await guest.get(f"/products/{product.id}", include="taxons")

    assert {item["id"]: related_ids(item, "image") for item in listing.json["data"]} == {
        catalog_section.root: None,
        taxon: image,
    }
    assert related_ids(alone.json["data"], "image") == related_ids(by_permalink.json["data"], "image") == image
    assert related_ids(included(with_product, "taxon")[taxon], "image") == image


async def test_an_included_image_has_paths_and_the_requested_size(
    make: Make, guest: Shopper, service: Service, catalog_section: CatalogSection, taxon: str
) -> None:
    image, product = await upload(make, taxon), await make.product(taxons=[taxon])
    size: dict[str, Any] = {"image_transformation[size]": "100x50"}

    answers = [
        await list_tree(guest, catalog_section, include="image", **size),
        await guest.get(f"/taxons/{taxon}", include="image", **size),
        await guest.get(f"/taxons/{catalog_section.root}", include="children.image", **size),
        await guest.get(f"/products/{product.id}", include="taxons.image", **size),
    ]

    for attributes in [included(answer, "image")[image]["attributes"] for answer in answers]:
        assert [style["url"] for style in attributes["styles"]] == [
            f"/media/{image}/{width}.webp" for width in (48, 160, 200)
        ]
        assert (attributes["alt"], attributes["transformed_url"]) == ("A shelf", f"/media/{image}/160.webp")
        assert attributes["original_url"] == f"{service.url}/media/{image}/200.webp"


async def test_a_cached_list_shows_a_changed_image_at_once(
    make: Make, guest: Shopper, catalog_section: CatalogSection, taxon: str
) -> None:
    async def list_images() -> tuple[Any, list[str]]:
        answer = await list_tree(guest, catalog_section, include="image")
        alts = [image["attributes"]["alt"] for image in included(answer, "image").values()]
        return related_ids(answer.json["data"][1], "image"), alts

    assert await list_images() == (None, [])
    first = await upload(make, taxon, "First")
    assert await list_images() == (first, ["First"])
    await make.change("images", first, "image", alt="Changed")
    assert await list_images() == (first, ["Changed"])
    second = await upload(make, taxon, "Second")
    assert await list_images() == (second, ["Second"])
    await make.remove("images", second)
    assert await list_images() == (None, [])


async def test_a_new_image_changes_the_etag(make: Make, guest: Shopper, taxon: str) -> None:
    before = await guest.get(f"/taxons/{taxon}")
    tag = {"If-None-Match": before.headers["etag"]}

    await upload(make, taxon)

    again = await guest.get(f"/taxons/{taxon}", headers=tag)
    assert (again.status, again["updated_at"] > before["updated_at"]) == (200, True)


async def test_images_cost_one_statement_and_only_where_they_are_included(
    make: Make, guest: Shopper, service: Service, catalog_section: CatalogSection, taxon: str
) -> None:
    # Each request has another page size, so that none gets a cached page.
    without = statements_of(service, await list_tree(guest, catalog_section, per_page="11"))
    none_to_include = statements_of(service, await list_tree(guest, catalog_section, per_page="12", include="image"))
    for each in (taxon, catalog_section.root):
        await upload(make, each)

    linked_only = statements_of(service, await list_tree(guest, catalog_section, per_page="13"))
    with_images = statements_of(service, await list_tree(guest, catalog_section, per_page="14", include="image"))

    assert (none_to_include, linked_only, with_images) == (without, without, without + 1)
