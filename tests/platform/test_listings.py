"""The index of product lists, updated with every write, always equals a new computation of it."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple
from uuid import uuid4

import asyncpg
import httpx2
import msgspec
import pytest

from shop.queries.catalog import product_index
from tests.cli.command import external
from tests.cluster import Cluster
from tests.platform.catalog_builders import (
    delete_record,
    get_record,
    links,
    master_of,
    new,
    patch_record,
    post_record,
    reposition,
    root_of,
)
from tests.platform.client import Machine, new_machine
from tests.service import Service
from tests.shopper import Answer

SELECT_LISTINGS = """select (to_jsonb(l) - 'sold_count')::text from listings l join products p on p.id = l.product_id
    where p.deleted_at is null and ($1::uuid is null or p.id = $1) order by product_id"""
# The number of active listings with each facet, in each scope.
COUNT_FACETS = """select scope_id, facet_id, count(*) from listings l,
    unnest(l.within_taxon_ids || '00000000-0000-0000-0000-000000000000'::uuid) scope_id, unnest(l.facet_ids) facet_id
    where l.is_active group by 1, 2 order by 1, 2"""
SELECT_FACETS = "select scope_id, facet_id, product_count from listing_facets where product_count <> 0 order by 1, 2"


def comparable(row: Any) -> Any:
    """A listing for a comparison: arrays without a defined order are sorted."""
    values = json.loads(row[0])
    return {**values, **{name: sorted(values[name]) for name in ("within_taxon_ids", "facet_ids")}}


async def assert_up_to_date(db: Any) -> None:
    """Compares the stored index with a new computation, which is then rolled back."""
    ids = [row["id"] for row in await db.fetch("select id from products")]
    stored_listings, stored_facets = await db.fetch(SELECT_LISTINGS, None), await db.fetch(SELECT_FACETS)
    transaction = db.transaction()
    await transaction.start()
    try:
        await db.execute("delete from listings")
        await db.execute("delete from listing_facets")
        await db.fetch(product_index._REFRESH.sql, *product_index._REFRESH.arguments({"ids": ids}))
        fresh, facets = await db.fetch(SELECT_LISTINGS, None), await db.fetch(COUNT_FACETS)
    finally:
        await transaction.rollback()
    assert [comparable(row) for row in stored_listings] == [comparable(row) for row in fresh]
    assert [tuple(row) for row in stored_facets] == [tuple(row) for row in facets]


class SmallShop(NamedTuple):
    """A shop, its database, and an application that may write."""

    http: httpx2.AsyncClient
    db: Any
    writer: Machine


@pytest.fixture(scope="module")
async def small_shop(
    cluster: Cluster, worker_name: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[SmallShop]:
    """A separate shop with few products, because the tests compute its whole index many times."""
    with cluster.database(f"listings_{worker_name}") as url:
        db = await asyncpg.connect(url)
        await db.execute("update shops set currencies = '{USD,EUR}'")
        data_dir = str(tmp_path_factory.mktemp("listings"))
        service = Service(**external(url, SHOP_DATA_DIR=data_dir, SHOP_DRAIN_SECONDS="0"))
        async with service.client() as http:
            yield SmallShop(http, db, await new_machine(http, db))
        service.stop()
        await db.close()


@pytest.fixture
def db(small_shop: SmallShop) -> Any:
    return small_shop.db


@pytest.fixture
def writer(small_shop: SmallShop) -> Machine:
    return small_shop.writer


class ListingRecords(msgspec.Struct):
    """The ids of an active product and of one record of each kind that its listing shows."""

    product: str
    variant: str
    option_type: str
    option_value: str
    property: str
    product_property: str
    taxonomy: str
    root: str
    parent: str
    taxon: str
    classification: str
    stock_location: str
    stock_item: str


async def build(machine: Machine) -> ListingRecords:
    taxonomy = (await new(machine, "taxonomy")).id
    root = await root_of(machine, taxonomy)
    parent = (await new(machine, "taxon", parent_id=root)).id
    taxon = (await new(machine, "taxon", parent_id=parent)).id
    kind = (await new(machine, "option_type")).id
    value = (await new(machine, "option_value", option_type_id=kind)).id
    material, location = (await new(machine, "property")).id, (await new(machine, "stock_location")).id
    product = (await new(machine, "product", status="active", price="5")).id
    variant = (await new(machine, "variant", product_id=product, option_value_ids=[value], sku=uuid4().hex)).id
    fields = {"product_id": product, "property_id": material, "value": "Wool"}
    product_property_id = (await new(machine, "product_property", **fields)).id
    classification = (await new(machine, "classification", product_id=product, taxon_id=taxon)).id
    item = (await new(machine, "stock_item", variant_id=variant, stock_location_id=location, count_on_hand=3)).id
    return ListingRecords(
        product, variant, kind, value, material, product_property_id, taxonomy, root, parent, taxon,
        classification, location, item,
    )  # fmt: skip


Change = Callable[[Machine, ListingRecords], Awaitable[Answer]]
CHANGES: dict[str, Change] = {
    "an option value is renamed": lambda m, r: patch_record(
        m, "option_value", r.option_value, presentation=uuid4().hex
    ),
    "a property has another value": lambda m, r: patch_record(m, "product_property", r.product_property, value="Silk"),
    "a property is hidden": lambda m, r: patch_record(m, "product_property", r.product_property, show_property=False),
    "a property is deleted": lambda m, r: delete_record(m, "product_property", r.product_property),
    "a taxon is renamed": lambda m, r: patch_record(m, "taxon", r.taxon, name=uuid4().hex),
    "a parent taxon is renamed": lambda m, r: patch_record(m, "taxon", r.parent, name=uuid4().hex),
    "a taxon is moved": lambda m, r: reposition(m, r.taxon, r.root, 0),
    "a taxon has another parent": lambda m, r: patch_record(m, "taxon", r.taxon, parent_id=r.root),
    "a taxon is deleted": lambda m, r: delete_record(m, "taxon", r.taxon),
    "a parent taxon is deleted": lambda m, r: delete_record(m, "taxon", r.parent),
    "a taxonomy is renamed": lambda m, r: patch_record(m, "taxonomy", r.taxonomy, name=uuid4().hex),
    "a taxonomy is deleted": lambda m, r: delete_record(m, "taxonomy", r.taxonomy),
    "a product is added to a taxon": lambda m, r: post_record(
        m, "classification", product_id=r.product, taxon_id=r.parent
    ),
    "a product is removed from a taxon": lambda m, r: delete_record(m, "classification", r.classification),
    "a product's taxons are set": lambda m, r: patch_record(m, "product", r.product, taxon_ids=[r.root]),
    "a stock location is deactivated": lambda m, r: patch_record(m, "stock_location", r.stock_location, active=False),
    "the last items are sold": lambda m, r: post_record(m, "stock_movement", stock_item_id=r.stock_item, quantity=-3),
    "the count is set to zero": lambda m, r: patch_record(m, "stock_item", r.stock_item, count_on_hand=0),
    "a stock item is backorderable": lambda m, r: patch_record(m, "stock_item", r.stock_item, backorderable=True),
    "a variant is deleted": lambda m, r: delete_record(m, "variant", r.variant),
    "a variant is added": lambda m, r: post_record(m, "variant", product_id=r.product, position=-1),
    "a variant has another sku": lambda m, r: patch_record(m, "variant", r.variant, sku=uuid4().hex),
    "a variant has no options": lambda m, r: patch_record(m, "variant", r.variant, option_value_ids=[]),
    "a product is archived": lambda m, r: patch_record(m, "product", r.product, status="archived"),
    "a product is renamed": lambda m, r: patch_record(m, "product", r.product, name=uuid4().hex),
    "a product has tags": lambda m, r: patch_record(m, "product", r.product, tags=["wool"]),
    "a product is deleted": lambda m, r: delete_record(m, "product", r.product),
}


# Each tests another trigger; every third is enough for the suite.
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(change, marks=() if number % 3 == 0 else pytest.mark.torture)
        for number, change in enumerate(CHANGES)
    ],
)
async def test_a_listing_is_updated_when(writer: Machine, db: Any, change: str) -> None:
    records = await build(writer)
    before = await db.fetch(SELECT_LISTINGS, records.product)

    answer = await CHANGES[change](writer, records)

    assert answer.status in {200, 201, 204}, answer
    assert [comparable(row) for row in await db.fetch(SELECT_LISTINGS, records.product)] != [
        comparable(row) for row in before
    ]
    await assert_up_to_date(db)


async def test_updated_at_of_a_product_follows_its_properties_and_options(writer: Machine) -> None:
    records = await build(writer)
    shows = {
        "property": records.property,
        "option_type": records.option_type,
        "option_value": records.option_value,
    }

    for kind, record_id in shows.items():
        before = await get_record(writer, "product", records.product)
        assert (await patch_record(writer, kind, record_id, presentation=uuid4().hex)).status == 200
        assert (await get_record(writer, "product", records.product))["updated_at"] > before["updated_at"], kind


async def add_product(machine: Machine, records: ListingRecords) -> ListingRecords:
    """Another product with the same option value, property value, taxon and stock location."""
    product = (await new(machine, "product", status="active")).id
    ids = {"product_id": product}
    variant = (await new(machine, "variant", **ids, option_value_ids=[records.option_value])).id
    product_property_id = (await new(machine, "product_property", **ids, property_id=records.property, value="Wool")).id
    classification = (await new(machine, "classification", **ids, taxon_id=records.taxon)).id
    item = (await new(machine, "stock_item", variant_id=variant, stock_location_id=records.stock_location)).id
    return msgspec.structs.replace(
        records,
        product=product,
        variant=variant,
        product_property=product_property_id,
        classification=classification,
        stock_item=item,
    )


# Changes that delete no record which others need, and that change something each time.
REPEATABLE_CHANGES: list[Change] = [
    lambda m, r: patch_record(m, "option_type", r.option_type, filterable=random.random() < 0.5),
    lambda m, r: patch_record(m, "property", r.property, filterable=random.random() < 0.5),
    lambda m, r: patch_record(m, "product_property", r.product_property, value=random.choice(["Wool", "Silk"])),
    lambda m, r: patch_record(m, "taxon", r.taxon, parent_id=random.choice([r.root, r.parent])),
    lambda m, r: patch_record(m, "product", r.product, taxon_ids=random.choice([[r.taxon], [r.parent, r.taxon], []])),
    lambda m, r: patch_record(m, "stock_location", r.stock_location, active=random.random() < 0.5),
    lambda m, r: post_record(m, "stock_movement", stock_item_id=r.stock_item, quantity=random.choice([-2, 3])),
    lambda m, r: patch_record(m, "variant", r.variant, option_value_ids=random.choice([[], [r.option_value]])),
    lambda m, r: post_record(m, "variant", product_id=r.product),
    lambda m, r: post_record(m, "classification", product_id=r.product, taxon_id=r.parent),
    lambda m, r: post_record(m, "product", status="active", taxon_ids=[r.taxon]),
    lambda m, r: patch_record(m, "product", r.product, status=random.choice(["active", "archived"])),
    lambda m, r: patch_record(m, "product", r.product, sku=uuid4().hex, price=str(random.randrange(9))),
    lambda m, r: patch_record(m, "option_value", r.option_value, presentation=uuid4().hex),
]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.torture) for seed in (1, 2))])
async def test_listings_and_facets_are_correct_after_concurrent_writes(writer: Machine, db: Any, seed: int) -> None:
    random.seed(seed)
    first = await build(writer)
    record_sets = [first, await add_product(writer, first)]

    for _ in range(5):
        requests = [random.choice(REPEATABLE_CHANGES)(writer, random.choice(record_sets)) for _ in range(4)]
        answers = await asyncio.gather(*requests)
        assert {answer.status for answer in answers} <= {200, 201, 422}, answers
        await assert_up_to_date(db)


async def test_concurrent_writes_to_one_product_all_succeed(writer: Machine, db: Any) -> None:
    records = await build(writer)
    master_id = await master_of(writer, records.product)

    answers = await asyncio.gather(
        *(post_record(writer, "variant", product_id=records.product) for _ in range(4)),
        patch_record(writer, "product", records.product, sku=uuid4().hex, price="7"),
        patch_record(writer, "variant", master_id, price="8", weight="2"),
        post_record(writer, "price", variant_id=master_id, currency="EUR", amount="3"),
        post_record(writer, "stock_movement", stock_item_id=records.stock_item, quantity=2),
    )

    assert [answer.status for answer in answers] == [201] * 4 + [200, 200, 201, 201], answers
    assert len(links(await get_record(writer, "product", records.product), "variants")) == 5
    await assert_up_to_date(db)
