"""How the demo shop gets into an empty database: pictures first, then everything else in one transaction.

Killed half-way, it leaves files that are noted as loose, and of the shop nothing.
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
from shop.actions.catalog.products import create_product, create_property, create_variant, refreshing_once
from shop.actions.context import Context
from shop.actions.customers import admin
from shop.base.ids import new_id
from shop.demo import shop
from shop.demo.artwork import draw_good
from shop.demo.deals import make_deals, owe
from shop.demo.goods import CURRENCIES, STOCK, Good, combinations, prices
from shop.demo.pages import make_pages
from shop.demo.till import open_till
from shop.models.access.users import customer_group_members, customer_groups
from shop.models.catalog.prices import price_list_groups, price_list_users
from shop.models.catalog.products import option_types, option_values, properties
from shop.queries import writes
from shop.queries.catalog.products import find_master
from shop.queries.setup import shop as setup
from shop.rules.catalog.images import Picture

Tell = Callable[[int, int], None]
"""Told how far the work is, and how far it goes."""


class Fittings(msgspec.Struct, frozen=True):
    """Ids of what the goods are put up with."""

    taxons: Mapping[str, UUID]
    values: Mapping[tuple[str, str], UUID]
    properties: Mapping[str, UUID]
    locations: tuple[UUID, ...]


class Shelved(msgspec.Struct, frozen=True):
    """A good on its shelf."""

    shelf: str
    good: Good
    sku: str


Images = Mapping[tuple[str, ...], tuple[UUID, Picture]]
"""By the values of a variant's options; without any, the product's own."""


class Sold(msgspec.Struct, frozen=True):
    """What can be bought: a variant, and the values by which it differs from its kin."""

    variant_id: UUID
    good: Good
    values: tuple[str, ...]


async def load_demo(ctx: Context, tell: Tell) -> bool:
    """Whether the database was empty and has the demo shop now."""
    if not await setup.is_empty(ctx.db):
        return False
    goods = [
        Shelved(shelf, good, f"{shelf[:3].upper()}-{number:03}")
        for number, (shelf, good) in enumerate(shop.all_goods(), 1)
    ]
    images: dict[str, Images] = {}
    easels = asyncio.Semaphore(media.EASELS)
    for work in asyncio.as_completed([_save_images(ctx, easels, shelved) for shelved in goods]):
        sku, saved = await work
        images[sku] = saved
        tell(len(images), 2 * len(goods))
    shelf_images = await _save_shelf_images(ctx, goods, images)
    async with ctx.db.transaction():
        # Of two that start at once, the second waits here and then finds a shop.
        if not await setup.fill_shop(ctx.db, name=shop.NAME, currencies=list(CURRENCIES)):
            return False
        async with refreshing_once(ctx):
            fittings, sold = await _fit_out(ctx), []
            for number, shelved in enumerate(goods, 1):
                found = await _put_up(ctx, fittings, shelved, images[shelved.sku])
                sold += found if shelved.shelf in shop.CONTRACT_GOODS else []
                tell(len(goods) + number, 2 * len(goods))
        for shelf, (image_id, picture) in shelf_images.items():
            owner = {"taxon_id": fittings.taxons[shelf], "alt": shelf, "position": 1}
            await media.insert_image(ctx, image_id, picture, owner)
        await _make_terms(ctx, sold)
        await make_deals(ctx, fittings.taxons)
        await make_pages(ctx, fittings.taxons)
        await open_till(ctx)
        await audit(ctx, "demo_loaded", "done", detail={"products": len(goods)})
    return True


async def _save_images(ctx: Context, easels: asyncio.Semaphore, shelved: Shelved) -> tuple[str, Images]:
    """Of the product, and of each variant in its colour: sizes and packs of one colour look alike."""
    good, drawn, saved = shelved.good, dict[str | None, Picture](), dict[tuple[str, ...], tuple[UUID, Picture]]()
    for values in ((), *combinations(good)):
        tint = dict(zip(good.options, values, strict=False)).get("colour")
        # No more at once than can be made smaller at once: the others would only take turns.
        async with easels:
            if tint not in drawn:
                png = await asyncio.to_thread(draw_good, shelved.shelf, good.name, good.moon, tint)
                drawn[tint] = await media.draw(png)
        saved[values] = (new_id(), drawn[tint])
        await media.save_files(ctx.shared, *saved[values])
    return shelved.sku, saved


async def _save_shelf_images(
    ctx: Context, goods: Sequence[Shelved], images: Mapping[str, Images]
) -> dict[str, tuple[UUID, Picture]]:
    """For the taxon of each shelf: the picture of its first good, in files of its own."""
    saved: dict[str, tuple[UUID, Picture]] = {}
    for shelved in goods:
        if shelved.shelf not in saved:
            saved[shelved.shelf] = (new_id(), images[shelved.sku][()][1])
            await media.save_files(ctx.shared, *saved[shelved.shelf])
    return saved


async def _fit_out(ctx: Context) -> Fittings:
    facts = dict.fromkeys(name for _, good in shop.all_goods() for name in good.facts)
    values: dict[tuple[str, str], UUID] = {}
    for place, (name, shown) in enumerate(shop.OPTIONS.items()):
        type_id = await _insert(ctx, option_types, name=name, presentation=name.capitalize(), position=place)
        for position, (value, presentation) in enumerate(shown.items()):
            fields = {"option_type_id": type_id, "name": value, "presentation": presentation, "position": position}
            values[name, value] = await _insert(ctx, option_values, **fields)
    locations = [await stock.create_location(ctx, location) for location in shop.LOCATIONS]
    named = {name: await _insert(ctx, properties, name=name.lower(), presentation=name) for name in facts}
    return Fittings(await _grow_trees(ctx), values, named, tuple(locations))


async def _grow_trees(ctx: Context) -> dict[str, UUID]:
    """The taxons that goods stand in, by name."""
    found: dict[str, UUID] = {}
    departments = await taxons.create_taxonomy(ctx, {"name": "Departments", "position": 0})
    for department, shelves in shop.DEPARTMENTS.items():
        above = await taxons.create_taxon(ctx, {"name": department, "taxonomy_id": departments})
        for shelf in shelves:
            found[shelf] = await taxons.create_taxon(ctx, {"name": shelf, "parent_id": above})
    moons = await taxons.create_taxonomy(ctx, {"name": "By the moon", "position": 1})
    for moon in shop.MOONS:
        found[moon] = await taxons.create_taxon(ctx, {"name": moon, "taxonomy_id": moons})
    return found


async def _put_up(ctx: Context, fittings: Fittings, shelved: Shelved, images: Images) -> list[Sold]:
    """A good with its variants, prices, stock, facts and pictures; what of it can be bought."""
    good, places = shelved.good, (shelved.shelf, shelved.good.moon)
    fields = {"name": good.name, "description": good.says, "status": "active", "sku": shelved.sku}
    taxon_ids = [fittings.taxons[place] for place in places]
    product_id = await create_product(ctx, {**fields, "tags": list(good.tags), "taxon_ids": taxon_ids})
    for position, (name, value) in enumerate(good.facts.items()):
        fact = {"product_id": product_id, "property_id": fittings.properties[name], "value": value}
        await create_property(ctx, {**fact, "position": position})
    master = await find_master(ctx.db, product_id)
    assert master  # noqa: S101  It was made with the product.
    await _price(ctx, master.id, good, ())
    sold = [await _put_up_variant(ctx, fittings, shelved, product_id, values) for values in combinations(good)]
    for position, item in enumerate([Sold(master.id, good, ()), *sold], 1):
        place = {"product_id": product_id, "variant_id": item.variant_id, "position": position}
        await media.insert_image(ctx, *images[item.values], {**place, "alt": " ".join((good.name, *item.values))})
    sold = sold or [Sold(master.id, good, ())]
    for item in sold:
        await _stock(ctx, fittings, item)
    return sold


async def _put_up_variant(
    ctx: Context, fittings: Fittings, shelved: Shelved, product_id: UUID, values: tuple[str, ...]
) -> Sold:
    good = shelved.good
    chosen = [fittings.values[name, value] for name, value in zip(good.options, values, strict=True)]
    sku = "-".join((shelved.sku, *(value.upper() for value in values)))
    variant_id = await create_variant(ctx, {"product_id": product_id, "sku": sku, "option_value_ids": chosen})
    await _price(ctx, variant_id, good, values)
    return Sold(variant_id, good, values)


async def _price(ctx: Context, variant_id: UUID, good: Good, values: tuple[str, ...]) -> None:
    for currency, (amount, was) in prices(good, values).items():
        price = {"currency": currency, "amount": amount, "compare_at_amount": was}
        await pricing.create_price(ctx, {"variant_id": variant_id, **price})


async def _stock(ctx: Context, fittings: Fittings, item: Sold) -> None:
    counts, backorderable = STOCK[item.good.stock]
    for location_id, count in zip(fittings.locations, counts, strict=True):
        lies = {"variant_id": item.variant_id, "stock_location_id": location_id, "count_on_hand": count}
        await stock.create_item(ctx, {**lies, "backorderable": backorderable})


async def _make_terms(ctx: Context, contracted: list[Sold]) -> None:
    """The shoppers, and who of them pays what."""
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
    for item in contracted:
        usual, _ = prices(item.good, item.values)["USD"]
        for quantity, share in shop.CONTRACT_STEPS.items():
            step = {"variant_id": item.variant_id, "min_quantity": quantity, "amount": round(usual * share, 2)}
            await pricing.create_entry(ctx, {"price_list_id": contract_id, **step})
    await owe(ctx, users[shop.PLAIN])


async def _insert(ctx: Context, table: Any, **values: Any) -> UUID:
    record_id = new_id()
    await writes.insert_record(ctx.db, table, record_id, values)
    return record_id
