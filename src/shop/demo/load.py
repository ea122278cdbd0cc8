"""Loads the demo shop into an empty database: images first, then everything else in one transaction.

If it is interrupted, it leaves only image files that are recorded as orphans, and no database rows of the shop.
"""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.audit import audit
from shop.actions.catalog import images as image_actions
from shop.actions.catalog import prices as price_actions
from shop.actions.catalog import stock, taxons
from shop.actions.catalog.products import create_product, create_property, create_variant, defer_refresh
from shop.actions.context import Context
from shop.actions.customers import users as user_actions
from shop.base.ids import new_id
from shop.demo import shop
from shop.demo.checkout_setup import create_checkout_setup
from shop.demo.pages import make_pages
from shop.demo.pictures import Pictures, all_drawings, product_drawing
from shop.demo.products import CURRENCIES, STOCK, DemoProduct, combinations, prices
from shop.demo.promotions import create_demo_promotions, grant_demo_credit
from shop.demo.website import create_website, save_images
from shop.models.access.users import customer_group_members, customer_groups
from shop.models.catalog.inputs import NewImageInput, PriceInput, PriceListEntryInput, ProductInput, StockItemInput
from shop.models.catalog.prices import price_list_groups, price_list_users
from shop.models.catalog.products import option_types, option_values, properties
from shop.queries import writes
from shop.queries.catalog.products import find_master
from shop.queries.setup import demo as fills
from shop.queries.setup import shop as shop_queries
from shop.rules.catalog.images import Picture

ProgressCallback = Callable[[int, int], None]
"""Progress callback: completed steps, total steps."""


class DemoRecords(msgspec.Struct, frozen=True):
    """Ids of the records that products refer to."""

    taxons: Mapping[str, UUID]
    values: Mapping[tuple[str, str], UUID]
    properties: Mapping[str, UUID]
    locations: tuple[UUID, ...]


class DemoProductEntry(msgspec.Struct, frozen=True):
    """A product with its category and SKU."""

    category: str
    product: DemoProduct
    sku: str


Images = Mapping[tuple[str, ...], tuple[UUID, Picture]]
"""Images by the option values of a variant; the empty tuple is the product's own image."""


class DemoVariant(msgspec.Struct, frozen=True):
    """A purchasable variant and its option values."""

    variant_id: UUID
    product: DemoProduct
    values: tuple[str, ...]


async def load_demo(ctx: Context, report_progress: ProgressCallback, pictures: Pictures | None = None) -> bool:
    """Loads the demo shop if the database is empty; returns whether it did. Draws the images that are not in
    `pictures` yet.
    """
    if not await shop_queries.is_empty(ctx.db):
        return False
    ctx.logs_events = False
    pictures = pictures or Pictures()
    try:
        return await _load(ctx, report_progress, pictures)
    finally:
        pictures.close()


async def _load(ctx: Context, report_progress: ProgressCallback, pictures: Pictures) -> bool:
    pictures.draw(all_drawings())
    entries = [DemoProductEntry(*product) for product in shop.products_with_skus()]
    images: dict[str, Images] = {}
    taxon_images, hero = await save_images(ctx, pictures)
    for entry in entries:
        images[entry.sku] = await _save_images(ctx, pictures, entry)
        report_progress(len(images), 2 * len(entries))
    async with ctx.db.transaction():
        # Of two concurrent starts, the second waits here and then finds a shop.
        if not await shop_queries.fill_shop(ctx.db, name=shop.NAME, currencies=list(CURRENCIES)):
            return False
        async with defer_refresh(ctx):
            records, contract_variants = await _create_records(ctx), []
            for number, entry in enumerate(entries, 1):
                variants = await _create_demo_product(ctx, records, entry, images[entry.sku])
                contract_variants += variants if entry.category in shop.CONTRACT_CATEGORIES else []
                report_progress(len(entries) + number, 2 * len(entries))
        for name, (image_id, picture) in taxon_images.items():
            image: NewImageInput = {"taxon_id": records.taxons[name], "alt": name, "position": 1}
            await image_actions.insert_image(ctx, image_id, picture, image)
        await _create_customers_and_price_lists(ctx, contract_variants)
        promotion_ids = await create_demo_promotions(ctx, records.taxons)
        await make_pages(ctx, records.taxons)
        await create_checkout_setup(ctx)
        await create_website(ctx, records.taxons, promotion_ids, hero)
        # The worker adds the historical orders when the shop serves.
        await fills.start_fill(ctx.db)
        await audit(ctx, "demo_loaded", "done", detail={"products": len(entries)})
    return True


async def _save_images(ctx: Context, pictures: Pictures, entry: DemoProductEntry) -> Images:
    """Saves the images of a product and its variants."""
    images: dict[tuple[str, ...], tuple[UUID, Picture]] = {}
    for values in ((), *combinations(entry.product)):
        picture = await pictures.find(product_drawing(entry.category, entry.product, values))
        images[values] = (new_id(), picture)
        await image_actions.save_files(ctx.shared, *images[values])
    return images


async def _create_records(ctx: Context) -> DemoRecords:
    property_names = dict.fromkeys(name for _, product in shop.all_products() for name in product.properties)
    values: dict[tuple[str, str], UUID] = {}
    for type_position, (name, presentations) in enumerate(shop.OPTIONS.items()):
        type_id = await _insert(ctx, option_types, name=name, presentation=name.capitalize(), position=type_position)
        for position, (value, presentation) in enumerate(presentations.items()):
            fields = {"option_type_id": type_id, "name": value, "presentation": presentation, "position": position}
            values[name, value] = await _insert(ctx, option_values, **fields)
    locations = [await stock.create_location(ctx, location) for location in shop.LOCATIONS]
    property_ids = {
        name: await _insert(ctx, properties, name=name.lower(), presentation=name) for name in property_names
    }
    return DemoRecords(await _create_taxons(ctx), values, property_ids, tuple(locations))


async def _create_taxons(ctx: Context) -> dict[str, UUID]:
    """Creates the taxons and returns their ids by name."""
    taxon_ids: dict[str, UUID] = {}
    taxonomy_id = await taxons.create_taxonomy(ctx, {"name": "Departments", "position": 0})
    for department, categories in shop.DEPARTMENTS.items():
        department_id = await taxons.create_taxon(ctx, {"name": department, "taxonomy_id": taxonomy_id})
        taxon_ids[department] = department_id
        for category in categories:
            taxon_ids[category] = await taxons.create_taxon(ctx, {"name": category, "parent_id": department_id})
    moon_taxonomy_id = await taxons.create_taxonomy(ctx, {"name": "By the moon", "position": 1})
    for moon in shop.MOONS:
        taxon_ids[moon] = await taxons.create_taxon(ctx, {"name": moon, "taxonomy_id": moon_taxonomy_id})
    return taxon_ids


async def _create_demo_product(
    ctx: Context, records: DemoRecords, entry: DemoProductEntry, images: Images
) -> list[DemoVariant]:
    """Creates a product with variants, prices, stock, properties and images; returns its purchasable variants."""
    product, taxon_names = entry.product, (entry.category, entry.product.moon)
    fields: ProductInput = {
        "name": product.name,
        "description": product.description,
        "status": "active",
        "sku": entry.sku,
        "tags": list(product.tags),
        "taxon_ids": [records.taxons[name] for name in taxon_names],
    }
    product_id = await create_product(ctx, fields)
    for position, (name, value) in enumerate(product.properties.items()):
        property_id = records.properties[name]
        await create_property(
            ctx, {"product_id": product_id, "property_id": property_id, "value": value, "position": position}
        )
    master = await find_master(ctx.db, product_id)
    assert master  # noqa: S101  create_product creates it.
    await _price(ctx, master.id, product, ())
    variants = [await _create_demo_variant(ctx, records, entry, product_id, values) for values in combinations(product)]
    for position, item in enumerate([DemoVariant(master.id, product, ()), *variants], 1):
        image: NewImageInput = {
            "product_id": product_id,
            "variant_id": item.variant_id,
            "position": position,
            "alt": " ".join((product.name, *item.values)),
        }
        await image_actions.insert_image(ctx, *images[item.values], image)
    variants = variants or [DemoVariant(master.id, product, ())]
    for item in variants:
        await _stock(ctx, records, item)
    return variants


async def _create_demo_variant(
    ctx: Context, records: DemoRecords, entry: DemoProductEntry, product_id: UUID, values: tuple[str, ...]
) -> DemoVariant:
    product = entry.product
    option_value_ids = [records.values[name, value] for name, value in zip(product.options, values, strict=True)]
    sku = shop.variant_sku(entry.sku, values)
    variant_id = await create_variant(ctx, {"product_id": product_id, "sku": sku, "option_value_ids": option_value_ids})
    await _price(ctx, variant_id, product, values)
    return DemoVariant(variant_id, product, values)


async def _price(ctx: Context, variant_id: UUID, product: DemoProduct, values: tuple[str, ...]) -> None:
    for currency, (amount, compare_at_price) in prices(product, values).items():
        price: PriceInput = {
            "variant_id": variant_id,
            "currency": currency,
            "amount": amount,
            "compare_at_amount": compare_at_price,
        }
        await price_actions.create_price(ctx, price)


async def _stock(ctx: Context, records: DemoRecords, item: DemoVariant) -> None:
    counts, backorderable = STOCK[item.product.stock]
    for location_id, count in zip(records.locations, counts, strict=True):
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
        person: await user_actions.create_user(
            ctx, {"email": person.email, "first_name": person.first_name, "last_name": person.last_name}
        )
        for person in shop.SHOPPERS
    }
    group_id = await _insert(ctx, customer_groups, name=shop.GROUP)
    await _insert(ctx, customer_group_members, customer_group_id=group_id, user_id=users[shop.WHOLESALE])
    trade_id = await price_actions.create_list(ctx, shop.TRADE_LIST)
    await _insert(ctx, price_list_groups, price_list_id=trade_id, customer_group_id=group_id)
    contract_id = await price_actions.create_list(ctx, shop.CONTRACT_LIST)
    await _insert(ctx, price_list_users, price_list_id=contract_id, user_id=users[shop.CONTRACT])
    for item in contract_variants:
        regular_price, _ = prices(item.product, item.values)["USD"]
        for quantity, share in shop.CONTRACT_STEPS.items():
            entry: PriceListEntryInput = {
                "price_list_id": contract_id,
                "variant_id": item.variant_id,
                "min_quantity": quantity,
                "amount": round(regular_price * share, 2),
            }
            await price_actions.create_entry(ctx, entry)
    await grant_demo_credit(ctx, users[shop.PLAIN])


async def _insert(ctx: Context, table: Any, **values: Any) -> UUID:
    record_id = new_id()
    await writes.insert_record(ctx.db, table, record_id, values)
    return record_id
