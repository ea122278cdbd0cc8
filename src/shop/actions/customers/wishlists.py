"""Wishlist actions: of customers on their own lists, and of applications on all lists.

A customer is identified by their `Pricing`, which holds the user id and determines their prices.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from shop.actions.context import Context
from shop.actions.event_subjects import WISHED_ITEM, WISHLIST
from shop.actions.events import note_change, note_deletion, note_rows
from shop.base.errors import Invalid, NotFound, Unauthenticated
from shop.base.ids import new_id
from shop.base.input_types import MAX_UNITS
from shop.base.values import REQUIRED
from shop.models.catalog.products import variants
from shop.models.customers.inputs import (
    MAX_WISHED_ITEMS,
    OwnWishedItemInput,
    OwnWishlistFields,
    OwnWishlistUpdateFields,
    WishedItemInput,
    WishedQuantityInput,
    WishlistInput,
    read_wishlist_name,
)
from shop.models.customers.wishlists import WishedItem, WishedItemView, Wishlist, wished_items, wishlists
from shop.queries import writes
from shop.queries.catalog.prices import Pricing
from shop.queries.customers import users
from shop.queries.customers import wishlists as queries
from shop.rules.customers.wishlists import DEFAULT_NAME, MAX_LISTS, NO_MORE_ITEMS, NO_MORE_LISTS

T = TypeVar("T")


class WishlistRef(msgspec.Struct, frozen=True):
    """A wishlist token and the pricing of the caller."""

    token: str
    pricing: Pricing


async def list_lists(ctx: Context, pricing: Pricing) -> list[Wishlist]:
    return await queries.list_lists(ctx.db, _owner(pricing))


async def make_list(ctx: Context, pricing: Pricing, values: OwnWishlistFields) -> Wishlist:
    owner_id = _owner(pricing)
    async with ctx.transaction() as idempotency:
        if idempotency.existing_id:
            return _require(await queries.find_own(ctx.db, owner_id, idempotency.existing_id))
        await users.lock_user(ctx.db, owner_id)
        wishlist = await _insert_list(ctx, owner_id, values)
        idempotency.record(wishlist.id)
        return wishlist


async def get_default(ctx: Context, pricing: Pricing) -> Wishlist:
    """Returns the user's default wishlist; creates it if missing."""
    owner_id = _owner(pricing)
    wishlist = await queries.find_default(ctx.db, owner_id)
    if wishlist:
        return wishlist
    async with ctx.db.transaction():
        # Of concurrent calls the first creates the list, and the others find it.
        await users.lock_user(ctx.db, owner_id)
        wishlist = await queries.find_default(ctx.db, owner_id)
        return wishlist or await _insert_list(ctx, owner_id, OwnWishlistFields(DEFAULT_NAME, is_default=True))


async def get_visible_list(ctx: Context, wishlist_ref: WishlistRef) -> Wishlist:
    """Returns a wishlist that is public or belongs to the caller."""
    return _require(await queries.find_visible_list(ctx.db, wishlist_ref.token, wishlist_ref.pricing.user_id))


async def get_own_list(ctx: Context, wishlist_ref: WishlistRef) -> Wishlist:
    """Returns a wishlist of the caller; another user's list is not found, even if it is public."""
    wishlist = await get_visible_list(ctx, wishlist_ref)
    if wishlist.user_id != _owner(wishlist_ref.pricing):
        raise NotFound()
    return wishlist


async def get_own_item(ctx: Context, wishlist_ref: WishlistRef, item_id: UUID) -> WishedItem:
    wishlist = await get_own_list(ctx, wishlist_ref)
    items = await queries.list_items(ctx.db, [wishlist.id])
    return _require(next((item for item in items if item.id == item_id), None))


async def change_list(ctx: Context, wishlist_ref: WishlistRef, values: OwnWishlistUpdateFields) -> Wishlist:
    changes = {name: value for name, value in msgspec.structs.asdict(values).items() if value is not UNSET}
    async with ctx.transaction() as idempotency:
        # Lock the user before the list, to serialize concurrent changes of the default list.
        await users.lock_user(ctx.db, _owner(wishlist_ref.pricing))
        wishlist = await _lock_own_list(ctx, wishlist_ref)
        if idempotency.existing_id:
            return wishlist
        note_change(ctx, WISHLIST, wishlist.id, wishlist)
        await _change(ctx, wishlist.user_id, wishlist.id, changes)
        idempotency.record(wishlist.id)
        return msgspec.structs.replace(wishlist, **changes)


async def remove_list(ctx: Context, wishlist_ref: WishlistRef) -> None:
    async with ctx.db.transaction():
        wishlist = _require(await queries.delete_list(ctx.db, _owner(wishlist_ref.pricing), wishlist_ref.token))
        note_deletion(ctx, WISHLIST, wishlist)


async def add_item(ctx: Context, wishlist_ref: WishlistRef, item: OwnWishedItemInput) -> WishedItemView:
    """Adds a variant to a wishlist; an existing item keeps its quantity."""
    async with ctx.transaction() as idempotency:
        wishlist = await _lock_own_list(ctx, wishlist_ref)
        item_id = idempotency.existing_id or await _ensure_item(ctx, wishlist, item)
        if not idempotency.existing_id:
            idempotency.record(item_id)
        return _require(await queries.find_priced_item(ctx.db, item_id, wishlist_ref.pricing))


async def add_to_default(ctx: Context, pricing: Pricing, item: OwnWishedItemInput) -> Wishlist:
    """Adds a variant to the user's default wishlist, and returns the list."""
    wishlist = await get_default(ctx, pricing)
    await add_item(ctx, WishlistRef(wishlist.token, pricing), item)
    return wishlist


async def _ensure_item(ctx: Context, wishlist: Wishlist, item: OwnWishedItemInput) -> UUID:
    rows = {each.variant_id: each for each in await queries.list_items(ctx.db, [wishlist.id])}
    if row := rows.get(item.variant_id):
        note_change(ctx, WISHED_ITEM, row.id, row)
        await _set_notify(ctx, wishlist, [item])
        return row.id
    await _check_new(ctx, {each.variant_id: each.id for each in rows.values()}, {"variant_id": item.variant_id})
    (item_id,) = await queries.add_items(ctx.db, wishlist.id, [item])
    note_change(ctx, WISHED_ITEM, item_id)
    await _set_notify(ctx, wishlist, [item])
    return item_id


async def add_items(ctx: Context, wishlist_ref: WishlistRef, items: Sequence[OwnWishedItemInput]) -> Wishlist:
    """Adds items, or sets the quantity of existing ones; all or none. The last entry for a variant wins."""
    async with ctx.transaction() as idempotency:
        wishlist = await _lock_own_list(ctx, wishlist_ref)
        if idempotency.existing_id:
            return wishlist
        rows = await queries.list_items(ctx.db, [wishlist.id])
        present = {row.variant_id: row.id for row in rows}
        new = {
            f"wished_items.{index}.variant_id": item.variant_id
            for index, item in enumerate(items)
            if item.variant_id not in present
        }
        await _check_new(ctx, present, new)
        variant_ids = {item.variant_id for item in items}
        for row in rows:
            if row.variant_id in variant_ids:
                note_change(ctx, WISHED_ITEM, row.id, row)
        for item_id in await queries.add_items(
            ctx.db, wishlist.id, list({item.variant_id: item for item in items}.values())
        ):
            note_change(ctx, WISHED_ITEM, item_id)
        await _set_notify(ctx, wishlist, items)
        idempotency.record(wishlist.id)
        return wishlist


async def _check_new(ctx: Context, present: Mapping[UUID, UUID], new: Mapping[str, UUID]) -> None:
    """Checks that new variants are for sale and that the list has room.

    Unknown and unpublished variants get the same error, by field.
    """
    sold_ids = await queries.list_purchasable_ids(ctx.db, list(set(new.values())))
    errors = {field: ["is not an available variant"] for field, variant_id in new.items() if variant_id not in sold_ids}
    if len({*present, *new.values()}) > MAX_WISHED_ITEMS:
        errors["base"] = [NO_MORE_ITEMS]
    if errors:
        raise Invalid(errors)


async def change_item(
    ctx: Context, wishlist_ref: WishlistRef, item_id: UUID, values: WishedQuantityInput
) -> WishedItemView:
    """Sets the quantity of an item, or whether its owner waits for stock, and returns the item."""
    if values.quantity is UNSET and values.notify_when_in_stock is UNSET:
        raise Invalid({"quantity": [REQUIRED]})
    async with ctx.transaction() as idempotency:
        wishlist = await _lock_own_list(ctx, wishlist_ref)
        if not idempotency.existing_id:
            await note_rows(ctx, WISHED_ITEM, [item_id])
            quantity, notify = _or_none(values.quantity), _or_none(values.notify_when_in_stock)
            if not await queries.update_item(ctx.db, wishlist.id, item_id, quantity=quantity, notify=notify):
                raise NotFound()
            idempotency.record(item_id)
        return _require(await queries.find_priced_item(ctx.db, item_id, wishlist_ref.pricing))


async def _set_notify(ctx: Context, wishlist: Wishlist, items: Sequence[OwnWishedItemInput]) -> None:
    """Sets whether the owner waits for stock, for the items that say so; their changes are noted already."""
    by_variant = {
        item.variant_id: notify for item in items if (notify := _or_none(item.notify_when_in_stock)) is not None
    }
    if not by_variant:
        return
    for row in await queries.list_items(ctx.db, [wishlist.id]):
        if row.variant_id in by_variant:
            notify = by_variant[row.variant_id]
            await queries.update_item(ctx.db, wishlist.id, row.id, quantity=None, notify=notify)


async def remove_item(ctx: Context, wishlist_ref: WishlistRef, item_id: UUID) -> WishedItemView:
    """Removes an item and returns its last state."""
    async with ctx.db.transaction():
        wishlist = await _lock_own_list(ctx, wishlist_ref)
        await _note_removals(ctx, wishlist, [item_id])
        item = await queries.find_priced_item(ctx.db, item_id, wishlist_ref.pricing)
        if item is None or not await queries.remove_items(ctx.db, wishlist.id, [item.id]):
            raise NotFound()
        return item


async def remove_items(ctx: Context, wishlist_ref: WishlistRef, ids: Sequence[UUID]) -> Wishlist:
    """Removes items; ignores ids that are not on the list."""
    async with ctx.db.transaction():
        wishlist = await _lock_own_list(ctx, wishlist_ref)
        await _note_removals(ctx, wishlist, ids)
        await queries.remove_items(ctx.db, wishlist.id, ids)
        return wishlist


async def _note_removals(ctx: Context, wishlist: Wishlist, ids: Sequence[UUID]) -> None:
    """Notes that these items are removed, as far as they are on the locked list."""
    present_ids = {item.id for item in await queries.list_items(ctx.db, [wishlist.id])}
    await note_rows(ctx, WISHED_ITEM, [item_id for item_id in ids if item_id in present_ids], is_deleted=True)


async def list_items(ctx: Context, lists: Sequence[Wishlist]) -> list[WishedItem]:
    return await queries.list_items(ctx.db, [each.id for each in lists])


async def list_priced_items(ctx: Context, lists: Sequence[Wishlist], pricing: Pricing) -> list[WishedItemView]:
    """Returns the items with the caller's prices. Others do not see what the owner of a public list waits for."""
    own_ids = {each.id for each in lists if each.user_id == pricing.user_id}
    items = await queries.list_priced_items(ctx.db, [each.id for each in lists], pricing)
    return [
        item if item.wishlist_id in own_ids else msgspec.structs.replace(item, notify_when_in_stock=False)
        for item in items
    ]


async def create_list(ctx: Context, values: WishlistInput) -> UUID:
    """Creates a list for `user_id`. Like the actions below, runs in the caller's transaction."""
    _check_name(values)
    owner_id = values["user_id"]
    fields = OwnWishlistFields(values["name"], values.get("is_private", True), values.get("is_default", False))
    await users.lock_user(ctx.db, owner_id)
    return (await _insert_list(ctx, owner_id, fields)).id


async def lock_wishlist_owner(ctx: Context, list_id: UUID) -> None:
    await queries.lock_owner(ctx.db, list_id)


async def update_list(ctx: Context, list_id: UUID, values: WishlistInput) -> None:
    _check_name(values)
    owner_id = await writes.find_value(ctx.db, wishlists, list_id, "user_id")
    await _change(ctx, owner_id, list_id, values)


async def create_item(ctx: Context, values: WishedItemInput) -> UUID:
    """Adds any existing variant, for sale or not."""
    _check_quantity(values)
    list_id = values["wishlist_id"]
    if not await queries.lock_list(ctx.db, list_id):
        raise Invalid({"wishlist_id": ["is not a wishlist"]})
    if len(await queries.list_items(ctx.db, [list_id])) >= MAX_WISHED_ITEMS:
        raise Invalid({"base": [NO_MORE_ITEMS]})
    if await writes.find_value(ctx.db, variants, values["variant_id"], "deleted_at"):
        raise Invalid({"variant_id": ["is not a variant"]})
    item_id = new_id()
    await writes.insert_record(ctx.db, wished_items, item_id, values)
    return item_id


async def update_item(ctx: Context, item_id: UUID, values: WishedItemInput) -> None:
    _check_quantity(values)
    await writes.update_record(ctx.db, wished_items, item_id, values)


def _owner(pricing: Pricing) -> UUID:
    if pricing.user_id is None:
        raise Unauthenticated("Send a user token with this request.")
    return pricing.user_id


def _or_none(value: T | UnsetType) -> T | None:
    return None if isinstance(value, UnsetType) else value


def _require(record: T | None) -> T:
    if record is None:
        raise NotFound()
    return record


async def _lock_own_list(ctx: Context, wishlist_ref: WishlistRef) -> Wishlist:
    """Locks the caller's own list; another user's list is not found, even if it is public."""
    return _require(await queries.lock_own(ctx.db, _owner(wishlist_ref.pricing), wishlist_ref.token))


async def _insert_list(ctx: Context, owner_id: UUID, values: OwnWishlistFields) -> Wishlist:
    """Inserts a list. The caller has locked the owner, so that concurrent inserts respect the maximum."""
    if await queries.count_lists(ctx.db, owner_id) >= MAX_LISTS:
        raise Invalid({"base": [NO_MORE_LISTS]})
    if values.is_default:
        await _clear_default(ctx, owner_id)
    wishlist = await queries.insert_list(
        ctx.db, owner_id, name=values.name, is_private=values.is_private, is_default=values.is_default
    )
    note_change(ctx, WISHLIST, wishlist.id)
    return wishlist


async def _clear_default(ctx: Context, owner_id: UUID) -> None:
    for wishlist in await queries.clear_default(ctx.db, owner_id):
        note_change(ctx, WISHLIST, wishlist.id, msgspec.structs.replace(wishlist, is_default=True))


async def _change(ctx: Context, owner_id: UUID, list_id: UUID, values: Mapping[str, object]) -> None:
    if values.get("is_default"):
        await _clear_default(ctx, owner_id)
    if values:
        await writes.update_record(ctx.db, wishlists, list_id, values)


def _check_name(values: WishlistInput) -> None:
    try:
        read_wishlist_name(values.get("name", DEFAULT_NAME))
    except ValueError as error:
        raise Invalid({"name": [str(error)]}) from None


def _check_quantity(values: WishedItemInput) -> None:
    if not 0 < values.get("quantity", 1) <= MAX_UNITS:
        raise Invalid({"quantity": [f"must be a whole number from 1 to {MAX_UNITS}"]})
