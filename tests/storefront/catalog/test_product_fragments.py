"""Products and lists of them are joined from cached fragments, and equal those that are rendered as a whole."""

from itertools import product as combinations
from typing import Any
from uuid import UUID

import asyncpg
import httpx2
import msgspec
import pytest

from shop.actions.catalog import storefront
from shop.actions.context import Context
from shop.base.caches import response_cache
from shop.base.caches.sized_cache import SizedCache
from shop.jsonapi.document import RenderOptions, document, list_document
from shop.jsonapi.query import read_document_query
from shop.jsonapi.resource import RenderContext
from shop.queries.catalog.prices import find_pricing
from shop.storefront.resources.catalog import PRODUCT
from shop.storefront.resources.registry import RESOURCES
from shop.storefront.resources.viewer import Viewer
from shop.web.image_urls import ImageOptions
from tests.accounts import sign_in
from tests.builders import Make, ProductIds
from tests.storefront.catalog_workers import Worker
from tests.storefront.product_lists import CatalogSection, word
from tests.website.catalog_pages import add_image

WHOLE = (
    "default_variant.images,variants.option_values.option_type,option_types.option_values,product_properties,"
    "taxons.image,taxons.taxonomy,taxons.children,images"
)
_OWN_VARIANTS = "variant_id in (select id from variants where product_id = $1)"
_OWN_TAXONS = "select taxon_id from classifications where product_id = $1"
_OWN_VALUES = f"select option_value_id from variant_option_values where {_OWN_VARIANTS}"
CHANGES = {
    "the name": "update products set name = name || '!' where id = $1",
    "the prices": f"update prices set amount = amount + 1 where {_OWN_VARIANTS}",
    "a sale": f"update prices set compare_at_amount = amount + 500 where {_OWN_VARIANTS}",
    "a barcode": "update variants set barcode = '4006381333931' where product_id = $1",
    "the listing": "update listings set sku = 'other' where product_id = $1",
    "the last unit is sold": f"update stock_items set count_on_hand = 0 where {_OWN_VARIANTS}",
    "a delivery": f"update stock_items set count_on_hand = 7 where {_OWN_VARIANTS}",
    "a closed stock location": "update stock_locations set active = false where id in "
    f"(select stock_location_id from stock_items where {_OWN_VARIANTS})",
    "an open stock location": "update stock_locations set active = true where id in "
    f"(select stock_location_id from stock_items where {_OWN_VARIANTS})",
    "the end of the variants": "update variants set discontinue_on = now() - interval '1 hour' where product_id = $1",
    "variants for sale again": "update variants set discontinue_on = null where product_id = $1",
    "backorders": f"update stock_items set backorderable = true where {_OWN_VARIANTS}",
    "the text of an image": f"update images set alt = 'From above' where {_OWN_VARIANTS} or product_id = $1",
    "an image less": f"delete from images where {_OWN_VARIANTS} or product_id = $1",
    "the value of a property": "update product_properties set value = 'Wood' where product_id = $1",
    "the name of a property": "update properties set presentation = presentation || '!' where id in "
    "(select property_id from product_properties where product_id = $1)",
    "an option value": f"update option_values set presentation = presentation || '!' where id in ({_OWN_VALUES})",
    "an option type": "update option_types set presentation = presentation || '!' where id in "
    f"(select option_type_id from option_values where id in ({_OWN_VALUES}))",
    "one more option value": "insert into option_values "
    "(id, option_type_id, name, presentation, created_at, updated_at) "
    "select gen_random_uuid(), option_type_id, 'xxl', 'XXL', now(), now() from product_option_types "
    "where product_id = $1",
    "a variant without options": f"delete from variant_option_values where {_OWN_VARIANTS}",
    "the name of a taxon": f"update taxons set name = name || '!' where id in ({_OWN_TAXONS})",
    "the image of a taxon": "insert into images (id, taxon_id, width, height, created_at, updated_at) "
    f"select gen_random_uuid(), taxon_id, 10, 10, now(), now() from ({_OWN_TAXONS}) own",
    "the name of a taxonomy": "update taxonomies set name = name || '!' where id in "
    f"(select taxonomy_id from taxons where id in ({_OWN_TAXONS}))",
    "a taxon without products": f"update listing_facets set product_count = 0 where scope_id in ({_OWN_TAXONS})",
}
"""Changes by other programs: no action of the shop takes part in any of them."""


async def new_product(make: Make, section: CatalogSection) -> ProductIds:
    product = await make.product(
        word(),
        on_hand=5,
        options={word(): ["s", "m"]},
        properties={word(): "Clay"},
        prices={"EUR": "8.00"},
        taxons=[await make.taxon(word(), section.root)],
        # It looks like a text that is inserted later.
        description='"_amounts":"\\u0000" "\\u0000/media "price":"1.0"',
        public_metadata={"price": "1.0", "_amounts": "\\u0000", "display_price": "$1.00"},
    )
    await add_image(make, product.master)
    await add_image(make, product.variant_id)
    return product


LIST_OR_PRODUCT = pytest.mark.parametrize("is_list", [True, False], ids=["list", "product"])


def address(product: ProductIds, section: CatalogSection, *, is_list: bool, **params: str) -> dict[str, Any]:
    """The arguments of a request for a list with the product, or for the product alone."""
    if is_list:
        return {"params": {"filter[taxons]": section.root, **params}}
    return {"params": params, "slug": product.slug}


@LIST_OR_PRODUCT
async def test_every_change_is_in_the_next_response_of_every_worker(
    make: Make, catalog_section: CatalogSection, workers: list[Worker], db: Any, is_list: bool
) -> None:
    product, _ = [await new_product(make, catalog_section) for _ in range(2)]
    page = address(product, catalog_section, is_list=is_list, include=WHOLE)
    before = [await worker.get(**page) for worker in workers]

    for name, change in CHANGES.items():
        await db.execute(change, UUID(product.id))
        after = [await worker.get(**page) for worker in workers]
        assert after[0] == after[1] != before[0], name
        workers[0].forget()
        assert await workers[0].get(**page) == after[0], name
        before = after


async def test_a_product_is_read_again_only_if_it_has_changed_or_its_slug_has_moved(
    make: Make, catalog_section: CatalogSection, workers: list[Worker], db: Any
) -> None:
    product, other = [await new_product(make, catalog_section) for _ in range(2)]
    page = address(product, catalog_section, is_list=False)
    first = await workers[0].get(**page)
    (fragment,) = workers[0].fragments

    await db.execute(CHANGES["the name"], UUID(other.id))
    assert await workers[0].get(**page) == first
    assert [each is fragment for each in workers[0].fragments] == [True]

    # In one transaction, so that both products have the same version.
    async with db.transaction():
        await db.execute("update products set slug = $1 where id = $2", word(), UUID(product.id))
        await db.execute("update products set slug = $1 where id = $2", product.slug, UUID(other.id))
    assert msgspec.json.decode(await workers[0].get(**page))["data"]["id"] == other.id


async def test_every_product_request_confirms_what_is_served_during_an_outage(
    make: Make, catalog_section: CatalogSection, workers: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    products = [await new_product(make, catalog_section) for _ in range(2)]
    for now, product in enumerate(products):
        monkeypatch.setattr(response_cache, "monotonic", lambda now=now: 1000.0 * now)
        await workers[0].get(**address(product, catalog_section, is_list=False))

    cache = workers[0].shared.response_cache
    assert [cache.find_stale(key, 60) is not None for key in cache._entries._entries] == [True, True]


@LIST_OR_PRODUCT
async def test_a_change_is_visible_although_another_transaction_has_locked_the_version(
    make: Make, catalog_section: CatalogSection, workers: list[Worker], db: Any, database_url: str, is_list: bool
) -> None:
    product = await new_product(make, catalog_section)
    page = address(product, catalog_section, is_list=is_list)
    before = await workers[0].get(**page)
    second = await asyncpg.connect(database_url, server_settings={"lock_timeout": "100ms"})
    try:
        async with db.transaction():
            await db.execute("select from product_versions where product_id = $1 for update", UUID(product.id))
            await second.execute("update products set name = 'Second' where id = $1", UUID(product.id))
            assert b'"Second"' not in before
            assert b'"Second"' in await workers[0].get(**page)
    finally:
        await second.close()


@LIST_OR_PRODUCT
async def test_a_product_that_has_not_changed_since_the_upgrade_needs_no_version(
    make: Make, catalog_section: CatalogSection, workers: list[Worker], db: Any, is_list: bool
) -> None:
    product = await new_product(make, catalog_section)
    await db.execute("delete from product_versions where product_id = $1", UUID(product.id))
    page = address(product, catalog_section, is_list=is_list)
    await workers[0].get(**page)

    await db.execute("update products set name = 'First change' where id = $1", UUID(product.id))

    assert b'"First change"' in await workers[0].get(**page)


@LIST_OR_PRODUCT
async def test_a_date_that_has_passed_is_seen_before_the_product_is_refreshed(
    make: Make, catalog_section: CatalogSection, workers: list[Worker], db: Any, is_list: bool
) -> None:
    product = await new_product(make, catalog_section)
    more = {"filter[show_discontinued]": "true"} if is_list else {}
    page = address(product, catalog_section, is_list=is_list, include="variants", **more)
    async with db.transaction():
        soon = "clock_timestamp() + interval '2 seconds'"
        await db.execute(f"update variants set discontinue_on = {soon} where product_id = $1", UUID(product.id))
        await db.execute(f"update listings set next_look_at = {soon} where product_id = $1", UUID(product.id))
    async with db.transaction():
        # The lock keeps the worker from updating the listing.
        await db.execute("select from listings where product_id = $1 for update", UUID(product.id))
        before = await workers[0].get(**page)
        await db.execute("select pg_sleep(2.1)")
        after = await workers[0].get(**page)

    assert [is_purchasable(body) for body in (before, after)] == [{True}, {False}]


def is_purchasable(body: bytes) -> set[bool]:
    variants = [item for item in msgspec.json.decode(body)["included"] if item["type"] == "variant"]
    return {item["attributes"]["purchasable"] for item in variants}


INCLUDES = (
    "",
    "images,default_variant",
    "default_variant,images",
    WHOLE,
    "variants.product.taxons.parent,primary_variant.product",
)
FIELDS: tuple[dict[str, str], ...] = (
    {},
    {"fields[product]": "name,price", "fields[variant]": "display_price,sku", "fields[image]": "original_url"},
    {"fields[product]": "compare_at_price,images", "fields[variant]": "sku", "image_transformation[size]": "300x200"},
    {"fields[product]": "nothing"},
)


async def test_a_list_or_a_product_equals_one_that_is_rendered_as_a_whole(
    make: Make, catalog_section: CatalogSection, workers: list[Worker], http: httpx2.AsyncClient
) -> None:
    products = [await new_product(make, catalog_section) for _ in range(3)]
    member = await sign_in(http)
    entries = {products[0].variants[0]: "3.00", products[1].variants[1]: "4.00"}
    await make.price_list(users=[await member.id()], entries=entries, percent_off="10")
    bearer = {"Authorization": f"Bearer {member.access_token}"}
    worker, pages = workers[0], 0

    for include, fields, currency in combinations(INCLUDES, FIELDS, ("USD", "EUR")):
        params = {"filter[taxons]": catalog_section.root, "include": include, "currency": currency, **fields}
        for headers, user_id in (({}, None), (bearer, UUID(str(await member.id())))):
            # Some of the fragments of the whole list are cached, and others are not.
            await worker.get({**params, "per_page": "1", "sort": "name"}, **headers)
            body = await worker.get(params, **headers)
            assert body.startswith(await render_whole(worker.ctx, params, body, user_id) + b',"meta":{"count":3,')
            params_of_one = {name: value for name, value in params.items() if name != "filter[taxons]"}
            body = await worker.get(params_of_one, slug=products[0].slug, **headers)
            assert body == await render_whole(worker.ctx, params_of_one, body, user_id)
            pages += 1

    assert pages == len(INCLUDES) * len(FIELDS) * 2 * 2


async def render_whole(ctx: Context, params: dict[str, str], body: bytes, user_id: UUID | None) -> bytes:
    """The document without fragments: a product, or the members `data` and `included` of a list in its order."""
    nested: dict[str, Any] = {"include": params["include"], "fields": {}}
    for name, value in params.items():
        if name.startswith("fields["):
            nested["fields"][name[7:-1]] = value
    size = (300, 200) if "image_transformation[size]" in params else None
    viewer = Viewer(ctx.shared.keys, image_options=ImageOptions("http://shop", size))
    query = read_document_query(nested, PRODUCT, RESOURCES)
    options = RenderOptions(RESOURCES, RenderContext(ctx.shared.shop.default_locale, viewer), query)
    data = msgspec.json.decode(body)["data"]
    ids = [UUID(record["id"]) for record in (data if isinstance(data, list) else [data])]
    db, currency = ctx.shared.database.session(), params["currency"]
    pricing = await find_pricing(db, user_id or UUID(int=0), currency)
    assert pricing.is_personal == (user_id is not None and currency == "USD")
    records = await storefront.load_products(ctx, ids, query.include or {}, pricing)
    records.sort(key=lambda record: ids.index(record.row.id))
    return (
        list_document(PRODUCT, records, options)[:-1]
        if isinstance(data, list)
        else document(PRODUCT, records[0], options)
    )


async def test_the_fragments_of_24_of_25_products_are_used_again_when_one_has_changed(
    make: Make, catalog_section: CatalogSection, workers: list[Worker], db: Any
) -> None:
    products = [await make.product(word(), taxons=[catalog_section.root]) for _ in range(25)]
    worker, params = workers[0], {"filter[taxons]": catalog_section.root, "include": "default_variant,images"}
    await worker.get(params)
    before = {id(fragment): fragment for fragment in worker.fragments}

    await db.execute("update prices set amount = 77 where variant_id = $1", UUID(products[7].master))
    body = await worker.get(params)

    used_again = [fragment for fragment in worker.fragments if id(fragment) in before]
    parts = [part for fragment in used_again for part in (fragment.data, *fragment.included)]
    data_size = len(body[: body.index(b',"meta":')])
    assert (len(before), len(used_again)) == (25, 24)
    assert sum(len(part.body) for part in parts) >= 0.95 * data_size
    assert b'"price":"0.77"' in body


async def test_the_host_of_one_request_is_in_no_response_to_another(
    make: Make, catalog_section: CatalogSection, workers: list[Worker]
) -> None:
    await new_product(make, catalog_section)
    params = {"filter[taxons]": catalog_section.root, "include": "images,variants.images"}

    forged = await workers[0].get(params, Host="evil.example")
    own = await workers[0].get(params)

    assert forged.count(b'"original_url":"http://evil.example/media/') == 2
    assert own == forged.replace(b"evil.example", b"shop")
    assert all(b"example" not in part.body for fragment in workers[0].fragments for part in fragment.included)


def test_the_fragments_are_bounded_and_those_that_were_not_used_are_removed_first() -> None:
    cache = SizedCache(100_000)
    for number in range(100):
        cache.save(number, b"", 1000)
        assert cache.find(0) is not None
        assert cache.size <= 100_000

    assert len(cache) == 100_000 // (1000 + SizedCache.ENTRY_BYTES)
    cache.save(0, b"large", 100_000 // 16 + 1)
    assert cache.find(0) is None
    assert cache.peek(99) == b""
    cache.save(99, b"other", 500)
    assert cache.size == (len(cache) - 1) * (1000 + SizedCache.ENTRY_BYTES) + 500 + SizedCache.ENTRY_BYTES
