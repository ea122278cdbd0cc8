"""What lists of products are chosen from is kept on write: it always is what a fresh computation would give."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple
from uuid import uuid4

import asyncpg
import httpx
import msgspec
import pytest

from shop.queries.catalog import product_index
from tests.cli.command import external
from tests.cluster import Cluster
from tests.platform.catalog_builders import change, links, master_of, new, removed, reposition, root_of, send, shown
from tests.platform.client import Machine, new_machine
from tests.service import Service
from tests.shopper import Answer

LISTED = """select (to_jsonb(l) - 'sold_count')::text from listings l join products p on p.id = l.product_id
    where p.deleted_at is null and ($1::uuid is null or p.id = $1) order by product_id"""
# Facets counted by hand: how many active listings have each, in each scope.
COUNTED = """select scope_id, facet_id, count(*) from listings l,
    unnest(l.within_taxon_ids || '00000000-0000-0000-0000-000000000000'::uuid) scope_id, unnest(l.facet_ids) facet_id
    where l.is_active group by 1, 2 order by 1, 2"""
KEPT = "select scope_id, facet_id, product_count from listing_facets where product_count <> 0 order by 1, 2"


def plain(row: Any) -> Any:
    """A listing; what has no order of its own is compared without one."""
    values = json.loads(row[0])
    return {**values, **{name: sorted(values[name]) for name in ("within_taxon_ids", "facet_ids")}}


async def assert_fresh(db: Any) -> None:
    """Compares what is kept with what is made anew from all the rest, and takes that back."""
    ids = [row["id"] for row in await db.fetch("select id from products")]
    stored_listings, stored_facets = await db.fetch(LISTED, None), await db.fetch(KEPT)
    transaction = db.transaction()
    await transaction.start()
    try:
        await db.execute("delete from listings")
        await db.execute("delete from listing_facets")
        await db.fetch(product_index._REFRESH.sql, *product_index._REFRESH.arguments({"ids": ids}))
        fresh, facets = await db.fetch(LISTED, None), await db.fetch(COUNTED)
    finally:
        await transaction.rollback()
    assert [plain(row) for row in stored_listings] == [plain(row) for row in fresh]
    assert [tuple(row) for row in stored_facets] == [tuple(row) for row in facets]


class Small(NamedTuple):
    """A shop, its database, and a machine that writes to it."""

    http: httpx.AsyncClient
    db: Any
    writer: Machine


@pytest.fixture(scope="module")
async def small(cluster: Cluster, worker_name: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Small]:
    """A shop of its own: all that it lists is made anew again and again, so there had better be little."""
    with cluster.database(f"listings_{worker_name}") as url:
        db = await asyncpg.connect(url)
        await db.execute("update shops set currencies = '{USD,EUR}'")
        data_dir = str(tmp_path_factory.mktemp("listings"))
        service = Service(**external(url, SHOP_DATA_DIR=data_dir, SHOP_DRAIN_SECONDS="0"))
        async with service.client() as http:
            yield Small(http, db, await new_machine(http, db))
        service.stop()
        await db.close()


@pytest.fixture
def db(small: Small) -> Any:
    return small.db


@pytest.fixture
def writer(small: Small) -> Machine:
    return small.writer


class World(msgspec.Struct):
    """An active product with one of everything that its listing shows."""

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


async def build(machine: Machine) -> World:
    taxonomy = (await new(machine, "taxonomy")).id
    root = await root_of(machine, taxonomy)
    parent = (await new(machine, "taxon", parent_id=root)).id
    taxon = (await new(machine, "taxon", parent_id=parent)).id
    kind = (await new(machine, "option_type")).id
    value = (await new(machine, "option_value", option_type_id=kind)).id
    material, place = (await new(machine, "property")).id, (await new(machine, "stock_location")).id
    product = (await new(machine, "product", status="active", price="5")).id
    variant = (await new(machine, "variant", product_id=product, option_value_ids=[value], sku=uuid4().hex)).id
    fields = {"product_id": product, "property_id": material, "value": "Wool"}
    product_property_id = (await new(machine, "product_property", **fields)).id
    stands = (await new(machine, "classification", product_id=product, taxon_id=taxon)).id
    item = (await new(machine, "stock_item", variant_id=variant, stock_location_id=place, count_on_hand=3)).id
    return World(
        product, variant, kind, value, material, product_property_id, taxonomy, root, parent, taxon, stands, place, item
    )  # fmt: skip


Act = Callable[[Machine, World], Awaitable[Answer]]
ACTS: dict[str, Act] = {
    "an option value is renamed": lambda m, w: change(m, "option_value", w.option_value, presentation=uuid4().hex),
    "a property is another": lambda m, w: change(m, "product_property", w.product_property, value="Silk"),
    "a property is not shown": lambda m, w: change(m, "product_property", w.product_property, show_property=False),
    "a property is taken away": lambda m, w: removed(m, "product_property", w.product_property),
    "a taxon is renamed": lambda m, w: change(m, "taxon", w.taxon, name=uuid4().hex),
    "a taxon above is renamed": lambda m, w: change(m, "taxon", w.parent, name=uuid4().hex),
    "a taxon is moved": lambda m, w: reposition(m, w.taxon, w.root, 0),
    "a taxon is hung elsewhere": lambda m, w: change(m, "taxon", w.taxon, parent_id=w.root),
    "a taxon is cut": lambda m, w: removed(m, "taxon", w.taxon),
    "a taxon above is cut": lambda m, w: removed(m, "taxon", w.parent),
    "a taxonomy is renamed": lambda m, w: change(m, "taxonomy", w.taxonomy, name=uuid4().hex),
    "a taxonomy is removed": lambda m, w: removed(m, "taxonomy", w.taxonomy),
    "a product is put into a taxon": lambda m, w: send(m, "classification", product_id=w.product, taxon_id=w.parent),
    "a product is taken from a taxon": lambda m, w: removed(m, "classification", w.classification),
    "a product's taxons are said": lambda m, w: change(m, "product", w.product, taxon_ids=[w.root]),
    "a place is closed": lambda m, w: change(m, "stock_location", w.stock_location, active=False),
    "the last are sold": lambda m, w: send(m, "stock_movement", stock_item_id=w.stock_item, quantity=-3),
    "none is counted": lambda m, w: change(m, "stock_item", w.stock_item, count_on_hand=0),
    "more may be sold": lambda m, w: change(m, "stock_item", w.stock_item, backorderable=True),
    "a variant is removed": lambda m, w: removed(m, "variant", w.variant),
    "a variant is added": lambda m, w: send(m, "variant", product_id=w.product, position=-1),
    "a variant has another sku": lambda m, w: change(m, "variant", w.variant, sku=uuid4().hex),
    "a variant has no options": lambda m, w: change(m, "variant", w.variant, option_value_ids=[]),
    "a product is archived": lambda m, w: change(m, "product", w.product, status="archived"),
    "a product is renamed": lambda m, w: change(m, "product", w.product, name=uuid4().hex),
    "a product has tags": lambda m, w: change(m, "product", w.product, tags=["wool"]),
    "a product is removed": lambda m, w: removed(m, "product", w.product),
}


# Each is a trigger of its own; every third is enough to see that they fire.
@pytest.mark.parametrize(
    "act", [pytest.param(act, marks=() if number % 3 == 0 else pytest.mark.torture) for number, act in enumerate(ACTS)]
)
async def test_a_listing_follows_when(writer: Machine, db: Any, act: str) -> None:
    world = await build(writer)
    before = await db.fetch(LISTED, world.product)

    answer = await ACTS[act](writer, world)

    assert answer.status in {200, 201, 204}, answer
    assert [plain(row) for row in await db.fetch(LISTED, world.product)] != [plain(row) for row in before]
    await assert_fresh(db)


async def test_a_product_looks_different_when_what_it_shows_does(writer: Machine) -> None:
    world = await build(writer)
    shows = {"property": world.property, "option_type": world.option_type, "option_value": world.option_value}

    for kind, record_id in shows.items():
        before = await shown(writer, "product", world.product)
        assert (await change(writer, kind, record_id, presentation=uuid4().hex)).status == 200
        assert (await shown(writer, "product", world.product))["updated_at"] > before["updated_at"], kind


async def share(machine: Machine, world: World) -> World:
    """Another product with the same option value, property value, taxon and place."""
    product = (await new(machine, "product", status="active")).id
    ids = {"product_id": product}
    variant = (await new(machine, "variant", **ids, option_value_ids=[world.option_value])).id
    product_property_id = (await new(machine, "product_property", **ids, property_id=world.property, value="Wool")).id
    stands = (await new(machine, "classification", **ids, taxon_id=world.taxon)).id
    item = (await new(machine, "stock_item", variant_id=variant, stock_location_id=world.stock_location)).id
    return msgspec.structs.replace(
        world,
        product=product,
        variant=variant,
        product_property=product_property_id,
        classification=stands,
        stock_item=item,
    )


# What neither ends what the others act on, nor is the same when it is done again.
AGAIN: list[Act] = [
    lambda m, w: change(m, "option_type", w.option_type, filterable=random.random() < 0.5),
    lambda m, w: change(m, "property", w.property, filterable=random.random() < 0.5),
    lambda m, w: change(m, "product_property", w.product_property, value=random.choice(["Wool", "Silk"])),
    lambda m, w: change(m, "taxon", w.taxon, parent_id=random.choice([w.root, w.parent])),
    lambda m, w: change(m, "product", w.product, taxon_ids=random.choice([[w.taxon], [w.parent, w.taxon], []])),
    lambda m, w: change(m, "stock_location", w.stock_location, active=random.random() < 0.5),
    lambda m, w: send(m, "stock_movement", stock_item_id=w.stock_item, quantity=random.choice([-2, 3])),
    lambda m, w: change(m, "variant", w.variant, option_value_ids=random.choice([[], [w.option_value]])),
    lambda m, w: send(m, "variant", product_id=w.product),
    lambda m, w: send(m, "classification", product_id=w.product, taxon_id=w.parent),
    lambda m, w: send(m, "product", status="active", taxon_ids=[w.taxon]),
    lambda m, w: change(m, "product", w.product, status=random.choice(["active", "archived"])),
    lambda m, w: change(m, "product", w.product, sku=uuid4().hex, price=str(random.randrange(9))),
    lambda m, w: change(m, "option_value", w.option_value, presentation=uuid4().hex),
]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.torture) for seed in (1, 2))])
async def test_listings_and_facets_are_right_after_any_writes_at_once(writer: Machine, db: Any, seed: int) -> None:
    random.seed(seed)
    first = await build(writer)
    worlds = [first, await share(writer, first)]

    for _ in range(5):
        acts = [random.choice(AGAIN)(writer, random.choice(worlds)) for _ in range(4)]
        answers = await asyncio.gather(*acts)
        assert {answer.status for answer in answers} <= {200, 201, 422}, answers
        await assert_fresh(db)


async def test_writers_to_one_product_at_once_all_succeed(writer: Machine, db: Any) -> None:
    world = await build(writer)
    master_id = await master_of(writer, world.product)

    answers = await asyncio.gather(
        *(send(writer, "variant", product_id=world.product) for _ in range(4)),
        change(writer, "product", world.product, sku=uuid4().hex, price="7"),
        change(writer, "variant", master_id, price="8", weight="2"),
        send(writer, "price", variant_id=master_id, currency="EUR", amount="3"),
        send(writer, "stock_movement", stock_item_id=world.stock_item, quantity=2),
    )

    assert [answer.status for answer in answers] == [201] * 4 + [200, 200, 201, 201], answers
    assert len(links(await shown(writer, "product", world.product), "variants")) == 5
    await assert_fresh(db)
