"""Loads the demo shop into an empty database: images first, then everything else in one transaction.

If it is interrupted, it leaves only image files that are recorded as orphans, and no database rows of the shop.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.audit import audit
from shop.actions.catalog import images as media
from shop.actions.catalog import prices as pricing
from shop.actions.catalog import stock, taxons
from shop.actions.catalog.products import create_product, create_property, create_variant, defer_refresh
from shop.actions.context import Context
from shop.actions.customers import admin
from shop.base.ids import new_id
from shop.demo import shop
from shop.demo.artwork import draw_good
from shop.demo.deals import create_demo_promotions, grant_demo_credit
from shop.demo.goods import CURRENCIES, STOCK, DemoGood, combinations, prices
from shop.demo.pages import make_pages
from shop.demo.till import create_checkout_setup
from shop.models.access.users import customer_group_members, customer_groups
from shop.models.catalog.inputs import NewImageInput, PriceInput, PriceListEntryInput, ProductInput, StockItemInput
from shop.models.catalog.prices import price_list_groups, price_list_users
from shop.models.catalog.products import option_types, option_values, properties
from shop.queries import writes
from shop.queries.catalog.products import find_master
from shop.queries.setup import shop as setup
from shop.rules.catalog.images import Picture

ProgressCallback = Callable[[int, int], None]
"""Progress callback: completed steps, total steps."""


class DemoRecords(msgspec.Struct, frozen=True):
    """Ids of the records that products refer to."""

    taxons: Mapping[str, UUID]
    values: Mapping[tuple[str, str], UUID]
    properties: Mapping[str, UUID]
    locations: tuple[UUID, ...]


class DemoProduct(msgspec.Struct, frozen=True):
    """A product with its category and SKU."""

    shelf: str
    good: DemoGood
    sku: str


Images = Mapping[tuple[str, ...], tuple[UUID, Picture]]
"""Images by the option values of a variant; the empty tuple is the product's own image."""


class DemoVariant(msgspec.Struct, frozen=True):
    """A purchasable variant and its option values."""

    variant_id: UUID
    good: DemoGood
    values: tuple[str, ...]


async def load_demo(ctx: Context, tell: ProgressCallback) -> bool:
    """Loads the demo shop if the database is empty; returns whether it did."""
    if not await setup.is_empty(ctx.db):
        return False
    goods = [
        DemoProduct(shelf, good, f"{shelf[:3].upper()}-{number:03}")
        for number, (shelf, good) in enumerate(shop.all_goods(), 1)
    ]
    images: dict[str, Images] = {}
    image_slots = asyncio.Semaphore(media.IMAGE_THREADS)
    for work in asyncio.as_completed([_save_images(ctx, image_slots, demo_product) for demo_product in goods]):
        sku, product_images = await work
        images[sku] = product_images
        tell(len(images), 2 * len(goods))
    shelf_images = await _save_shelf_images(ctx, goods, images)
    async with ctx.db.transaction():
        # Of two concurrent starts, the second waits here and then finds a shop.
        if not await setup.fill_shop(ctx.db, name=shop.NAME, currencies=list(CURRENCIES)):
            return False
        async with defer_refresh(ctx):
            fittings, contract_variants = await _create_fittings(ctx), []
            for number, demo_product in enumerate(goods, 1):
                variants = await _create_demo_product(ctx, fittings, demo_product, images[demo_product.sku])
                contract_variants += variants if demo_product.shelf in shop.CONTRACT_GOODS else []
                tell(len(goods) + number, 2 * len(goods))
        for shelf, (image_id, picture) in shelf_images.items():
            image: NewImageInput = {"taxon_id": fittings.taxons[shelf], "alt": shelf, "position": 1}
            await media.insert_image(ctx, image_id, picture, image)
        await _create_customers_and_price_lists(ctx, contract_variants)
        await create_demo_promotions(ctx, fittings.taxons)
        await make_pages(ctx, fittings.taxons)
        await create_checkout_setup(ctx)
        await audit(ctx, "demo_loaded", "done", detail={"products": len(goods)})
    return True


async def _save_images(ctx: Context, image_slots: asyncio.Semaphore, demo_product: DemoProduct) -> tuple[str, Images]:
    """Saves the images of a product and its variants; variants of one color share an image."""
    good, pictures, images = (
        demo_product.good,
        dict[str | None, Picture](),
        dict[tuple[str, ...], tuple[UUID, Picture]](),
    )
    for values in ((), *combinations(good)):
        tint = dict(zip(good.options, values, strict=False)).get("colour")
        # More drawings at once than image threads would only wait for each other.
        async with image_slots:
            if tint not in pictures:
                png = await asyncio.to_thread(draw_good, demo_product.shelf, good.name, good.moon, tint)
                pictures[tint] = await media.process_image(png)
        images[values] = (new_id(), pictures[tint])
        await media.save_files(ctx.shared, *images[values])
    return demo_product.sku, images


async def _save_shelf_images(
    ctx: Context, goods: Sequence[DemoProduct], images: Mapping[str, Images]
) -> dict[str, tuple[UUID, Picture]]:
    """Saves an image for the taxon of each category: a copy of the image of its first product."""
    shelf_images: dict[str, tuple[UUID, Picture]] = {}
    for demo_product in goods:
        if demo_product.shelf not in shelf_images:
            shelf_images[demo_product.shelf] = (new_id(), images[demo_product.sku][()][1])
            await media.save_files(ctx.shared, *shelf_images[demo_product.shelf])
    return shelf_images


async def _create_fittings(ctx: Context) -> DemoRecords:
    facts = dict.fromkeys(name for _, good in shop.all_goods() for name in good.facts)
    values: dict[tuple[str, str], UUID] = {}
    for place, (name, presentations) in enumerate(shop.OPTIONS.items()):
        type_id = await _insert(ctx, option_types, name=name, presentation=name.capitalize(), position=place)
        for position, (value, presentation) in enumerate(presentations.items()):
            fields = {"option_type_id": type_id, "name": value, "presentation": presentation, "position": position}
            values[name, value] = await _insert(ctx, option_values, **fields)
    locations = [await stock.create_location(ctx, location) for location in shop.LOCATIONS]
    property_ids = {name: await _insert(ctx, properties, name=name.lower(), presentation=name) for name in facts}
    return DemoRecords(await _create_taxons(ctx), values, property_ids, tuple(locations))


async def _create_taxons(ctx: Context) -> dict[str, UUID]:
    """Creates the taxons and returns their ids by name."""
    taxon_ids: dict[str, UUID] = {}
    departments = await taxons.create_taxonomy(ctx, {"name": "Departments", "position": 0})
    for department, shelves in shop.DEPARTMENTS.items():
        above = await taxons.create_taxon(ctx, {"name": department, "taxonomy_id": departments})
        for shelf in shelves:
            taxon_ids[shelf] = await taxons.create_taxon(ctx, {"name": shelf, "parent_id": above})
    moons = await taxons.create_taxonomy(ctx, {"name": "By the moon", "position": 1})
    for moon in shop.MOONS:
        taxon_ids[moon] = await taxons.create_taxon(ctx, {"name": moon, "taxonomy_id": moons})
    return taxon_ids


async def _create_demo_product(
    ctx: Context, fittings: DemoRecords, demo_product: DemoProduct, images: Images
) -> list[DemoVariant]:
    """Creates a product with variants, prices, stock, properties and images; returns its purchasable variants."""
    good, places = demo_product.good, (demo_product.shelf, demo_product.good.moon)
    fields: ProductInput = {
        "name": good.name,
        "description": good.says,
        "status": "active",
        "sku": demo_product.sku,
        "tags": list(good.tags),
        "taxon_ids": [fittings.taxons[place] for place in places],
    }
    product_id = await create_product(ctx, fields)
    for position, (name, value) in enumerate(good.facts.items()):
        property_id = fittings.properties[name]
        await create_property(
            ctx, {"product_id": product_id, "property_id": property_id, "value": value, "position": position}
        )
    master = await find_master(ctx.db, product_id)
    assert master  # noqa: S101  create_product creates it.
    await _price(ctx, master.id, good, ())
    variants = [
        await _create_demo_variant(ctx, fittings, demo_product, product_id, values) for values in combinations(good)
    ]
    for position, item in enumerate([DemoVariant(master.id, good, ()), *variants], 1):
        image: NewImageInput = {
            "product_id": product_id,
            "variant_id": item.variant_id,
            "position": position,
            "alt": " ".join((good.name, *item.values)),
        }
        await media.insert_image(ctx, *images[item.values], image)
    variants = variants or [DemoVariant(master.id, good, ())]
    for item in variants:
        await _stock(ctx, fittings, item)
    return variants


async def _create_demo_variant(
    ctx: Context, fittings: DemoRecords, demo_product: DemoProduct, product_id: UUID, values: tuple[str, ...]
) -> DemoVariant:
    good = demo_product.good
    option_value_ids = [fittings.values[name, value] for name, value in zip(good.options, values, strict=True)]
    sku = "-".join((demo_product.sku, *(value.upper() for value in values)))
    variant_id = await create_variant(ctx, {"product_id": product_id, "sku": sku, "option_value_ids": option_value_ids})
    await _price(ctx, variant_id, good, values)
    return DemoVariant(variant_id, good, values)


async def _price(ctx: Context, variant_id: UUID, good: DemoGood, values: tuple[str, ...]) -> None:
    for currency, (amount, was) in prices(good, values).items():
        price: PriceInput = {
            "variant_id": variant_id,
            "currency": currency,
            "amount": amount,
            "compare_at_amount": was,
        }
        await pricing.create_price(ctx, price)


async def _stock(ctx: Context, fittings: DemoRecords, item: DemoVariant) -> None:
    counts, backorderable = STOCK[item.good.stock]
    for location_id, count in zip(fittings.locations, counts, strict=True):
        fields: StockItemInput = {
            "variant_id": item.variant_id,
            "stock_location_id": location_id,
            "count_on_hand": count,
            "backorderable": backorderable,
        }
        await stock.create_item(ctx, fields)


async def _create_customers_and_price_lists(ctx: Context, contract_variants: list[DemoVariant]) -> None:
    """Creates the customers with their group, price lists and store credit."""
    users = {
        person: await admin.create_user(
            ctx, {"email": person.email, "first_name": person.first_name, "last_name": person.last_name}
        )
        for person in shop.SHOPPERS
    }
    group_id = await _insert(ctx, customer_groups, name=shop.GROUP)
    await _insert(ctx, customer_group_members, customer_group_id=group_id, user_id=users[shop.WHOLESALE])
    trade_id = await pricing.create_list(ctx, shop.TRADE_LIST)
    await _insert(ctx, price_list_groups, price_list_id=trade_id, customer_group_id=group_id)
    contract_id = await pricing.create_list(ctx, shop.CONTRACT_LIST)
    await _insert(ctx, price_list_users, price_list_id=contract_id, user_id=users[shop.CONTRACT])
    for item in contract_variants:
        usual, _ = prices(item.good, item.values)["USD"]
        for quantity, share in shop.CONTRACT_STEPS.items():
            entry: PriceListEntryInput = {
                "price_list_id": contract_id,
                "variant_id": item.variant_id,
                "min_quantity": quantity,
                "amount": round(usual * share, 2),
            }
            await pricing.create_entry(ctx, entry)
    await grant_demo_credit(ctx, users[shop.PLAIN])


async def _insert(ctx: Context, table: Any, **values: Any) -> UUID:
    record_id = new_id()
    await writes.insert_record(ctx.db, table, record_id, values)
    return record_id
