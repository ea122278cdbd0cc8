"""What shoppers do with their wishlists, and machines with anybody's.

A shopper is known by the pricing that was asked for with their token: whose lists they are, and what things cost them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound, Unauthenticated
from shop.base.ids import new_id
from shop.models.catalog.products import variants
from shop.models.customers.wishlists import SeenItem, WishedItem, Wishlist, wished_items, wishlists
from shop.queries import writes
from shop.queries.catalog.prices import Pricing
from shop.queries.customers import users
from shop.queries.customers import wishlists as queries
from shop.rules.cart.line_items import NOT_POSITIVE, Wish, read_pieces
from shop.rules.customers.wishlists import (
    DEFAULT_NAME,
    MOST_ITEMS,
    MOST_LISTS,
    NO_MORE_ITEMS,
    NO_MORE_LISTS,
    name_error,
)

T = TypeVar("T")
Values = Mapping[str, Any]


class Chosen(msgspec.Struct, frozen=True):
    """A list by its token, as somebody asks for it."""

    token: str
    pricing: Pricing


async def list_lists(ctx: Context, pricing: Pricing) -> list[Wishlist]:
    return await queries.list_lists(ctx.db, _owner(pricing))


async def make_list(ctx: Context, pricing: Pricing, values: Values) -> Wishlist:
    owner_id = _owner(pricing)
    async with ctx.transaction() as once:
        if once.done:
            return _found(await queries.find_own(ctx.db, owner_id, once.done))
        await users.lock_known_user(ctx.db, owner_id)
        made = await _made(ctx, owner_id, values)
        once.made(made.id)
        return made


async def get_default(ctx: Context, pricing: Pricing) -> Wishlist:
    """The one that there is, or a new one."""
    owner_id = _owner(pricing)
    found = await queries.find_default(ctx.db, owner_id)
    if found:
        return found
    async with ctx.db.transaction():
        # Of many calls at once the first makes the list, and the others find it.
        await users.lock_known_user(ctx.db, owner_id)
        found = await queries.find_default(ctx.db, owner_id)
        return found or await _made(ctx, owner_id, {"name": DEFAULT_NAME, "is_default": True})


async def get_seen(ctx: Context, chosen: Chosen) -> Wishlist:
    """Anybody's that is public, or one's own."""
    return _found(await queries.find_seen(ctx.db, chosen.token, chosen.pricing.user_id))


async def change_list(ctx: Context, chosen: Chosen, values: Values) -> Wishlist:
    async with ctx.transaction() as once:
        # The user before the list: of two lists that are made the default at once, one comes after the other.
        await users.lock_known_user(ctx.db, _owner(chosen.pricing))
        held = await _hold(ctx, chosen)
        if once.done:
            return held
        await _change(ctx, held.user_id, held.id, values)
        once.made(held.id)
        return msgspec.structs.replace(held, **values)


async def remove_list(ctx: Context, chosen: Chosen) -> None:
    if not await queries.delete_list(ctx.db, _owner(chosen.pricing), chosen.token):
        raise NotFound()


async def add_item(ctx: Context, chosen: Chosen, wish: Wish) -> SeenItem:
    """One that stands on the list already stays as it is."""
    async with ctx.transaction() as once:
        held = await _hold(ctx, chosen)
        item_id = once.done or await _added(ctx, held, wish)
        if not once.done:
            once.made(item_id)
        return _found(await queries.see_item(ctx.db, item_id, chosen.pricing))


async def _added(ctx: Context, held: Wishlist, wish: Wish) -> UUID:
    present = {item.variant_id: item.id for item in await queries.list_items(ctx.db, [held.id])}
    if wish.variant_id in present:
        return present[wish.variant_id]
    await _check_new(ctx, present, {"variant_id": wish.variant_id})
    (item_id,) = await queries.put_items(ctx.db, held.id, [wish])
    return item_id


async def put_items(ctx: Context, chosen: Chosen, wishes: Sequence[Wish]) -> Wishlist:
    """All of them or none; those that are there get the quantity that is wished. Of one variant the last counts."""
    async with ctx.transaction() as once:
        held = await _hold(ctx, chosen)
        if once.done:
            return held
        present = {item.variant_id: item.id for item in await queries.list_items(ctx.db, [held.id])}
        new = {
            f"wished_items.{place}.variant_id": wish.variant_id
            for place, wish in enumerate(wishes)
            if wish.variant_id not in present
        }
        await _check_new(ctx, present, new)
        await queries.put_items(ctx.db, held.id, list({wish.variant_id: wish for wish in wishes}.values()))
        once.made(held.id)
        return held


async def _check_new(ctx: Context, present: Mapping[UUID, UUID], new: Mapping[str, UUID]) -> None:
    """What is put on a list must be something that is sold, and there must be room for it. What never was and what
    nobody may see yet are told alike, by the field that names them.
    """
    sold = await queries.list_sold(ctx.db, list(set(new.values())))
    errors = {field: ["is not a variant that is sold"] for field, asked in new.items() if asked not in sold}
    if len({*present, *new.values()}) > MOST_ITEMS:
        errors["base"] = [NO_MORE_ITEMS]
    if errors:
        raise Invalid(errors)


async def set_quantity(ctx: Context, chosen: Chosen, item_id: UUID | None, quantity: int) -> SeenItem:
    """How many are wished for from now on."""
    async with ctx.transaction() as once:
        held = await _hold(ctx, chosen)
        if item_id is None:
            raise NotFound()
        if not once.done:
            if not await queries.set_quantity(ctx.db, held.id, item_id, quantity):
                raise NotFound()
            once.made(item_id)
        return _found(await queries.see_item(ctx.db, item_id, chosen.pricing))


async def remove_item(ctx: Context, chosen: Chosen, item_id: UUID | None) -> SeenItem:
    """As it was."""
    async with ctx.db.transaction():
        held = await _hold(ctx, chosen)
        seen = await queries.see_item(ctx.db, item_id, chosen.pricing) if item_id else None
        if seen is None or not await queries.remove_items(ctx.db, held.id, [seen.id]):
            raise NotFound()
        return seen


async def remove_items(ctx: Context, chosen: Chosen, ids: Sequence[UUID]) -> Wishlist:
    """Ids of what stands elsewhere are passed over."""
    async with ctx.db.transaction():
        held = await _hold(ctx, chosen)
        await queries.remove_items(ctx.db, held.id, ids)
        return held


async def list_items(ctx: Context, lists: Sequence[Wishlist]) -> list[WishedItem]:
    return await queries.list_items(ctx.db, [each.id for each in lists])


async def see_items(ctx: Context, lists: Sequence[Wishlist], pricing: Pricing) -> list[SeenItem]:
    """At the prices of whoever looks."""
    return await queries.see_items(ctx.db, [each.id for each in lists], pricing)


async def create_list(ctx: Context, values: Values) -> UUID:
    """For the user that is named; like what follows a part of the caller's transaction."""
    _check_name(values)
    said = {name: value for name, value in values.items() if name != "user_id"}
    await users.lock_known_user(ctx.db, values["user_id"])
    return (await _made(ctx, values["user_id"], said)).id


async def hold_owner(ctx: Context, list_id: UUID) -> None:
    await queries.lock_owner(ctx.db, list_id)


async def update_list(ctx: Context, list_id: UUID, values: Values) -> None:
    _check_name(values)
    owner_id = await writes.find_value(ctx.db, wishlists, list_id, "user_id")
    await _change(ctx, owner_id, list_id, values)


async def create_item(ctx: Context, values: Values) -> UUID:
    """Of any variant that there is, sold or not."""
    _check_quantity(values)
    list_id = values["wishlist_id"]
    if not await queries.lock_list(ctx.db, list_id):
        raise Invalid({"wishlist_id": ["is not a wishlist"]})
    if len(await queries.list_items(ctx.db, [list_id])) >= MOST_ITEMS:
        raise Invalid({"base": [NO_MORE_ITEMS]})
    if await writes.find_value(ctx.db, variants, values["variant_id"], "deleted_at"):
        raise Invalid({"variant_id": ["is not a variant"]})
    item_id = new_id()
    await writes.insert_record(ctx.db, wished_items, item_id, values)
    return item_id


async def update_item(ctx: Context, item_id: UUID, values: Values) -> None:
    _check_quantity(values)
    await writes.update_record(ctx.db, wished_items, item_id, values)


def _owner(pricing: Pricing) -> UUID:
    if pricing.user_id is None:
        raise Unauthenticated("Send a user token with this request.")
    return pricing.user_id


def _found(thing: T | None) -> T:
    if thing is None:
        raise NotFound()
    return thing


async def _hold(ctx: Context, chosen: Chosen) -> Wishlist:
    """Another's list is not there, be it public or not: who may look at one may not write on it."""
    return _found(await queries.lock_own(ctx.db, _owner(chosen.pricing), chosen.token))


async def _made(ctx: Context, owner_id: UUID, values: Values) -> Wishlist:
    """The owner is held by the caller: lists that are made at once are counted one after the other."""
    if await queries.count_lists(ctx.db, owner_id) >= MOST_LISTS:
        raise Invalid({"base": [NO_MORE_LISTS]})
    wanted = {"is_private": True, "is_default": False, **values}
    if wanted["is_default"]:
        await queries.clear_default(ctx.db, owner_id)
    return await queries.insert_list(ctx.db, owner_id, **wanted)


async def _change(ctx: Context, owner_id: UUID, list_id: UUID, values: Values) -> None:
    if values.get("is_default"):
        await queries.clear_default(ctx.db, owner_id)
    if values:
        await writes.update_record(ctx.db, wishlists, list_id, values)


def _check_name(values: Values) -> None:
    wrong = name_error(values["name"]) if "name" in values else None
    if wrong:
        raise Invalid({"name": [wrong]})


def _check_quantity(values: Values) -> None:
    if "quantity" in values and read_pieces(values["quantity"]) is None:
        raise Invalid({"quantity": [NOT_POSITIVE]})
