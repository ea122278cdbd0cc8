"""Merges a duplicate account into another one of the same customer: the account at once, its orders in batches that can
be resumed.
"""

from contextlib import suppress
from uuid import UUID

import msgspec

from shop.actions.audit import audit
from shop.actions.catalog.resources import CUSTOMER_GROUP_MEMBER, PRICE_LIST_USER
from shop.actions.context import Context, Shared
from shop.actions.customers.customers import list_linked_ids, replace_links
from shop.actions.event_subjects import ADDRESS, CUSTOMER, ORDER, STORE_CREDIT, WISHLIST
from shop.actions.events import note_event, note_locked, note_rows
from shop.base.actor import SHOP_ACTOR
from shop.base.email import read_email
from shop.base.errors import Conflict, Invalid, NotFound, TransactionConflict, Unavailable
from shop.base.ids import new_id
from shop.models.access.users import User, users
from shop.queries import writes
from shop.queries.accounts import erasures, merges
from shop.queries.accounts.merges import MergePreview
from shop.queries.customers import customers
from shop.queries.customers import users as user_queries
from shop.rules.accounts.erasures import erased_account
from shop.rules.accounts.merges import merge_details
from shop.rules.form_values import fingerprint

BATCH = 100
BATCHES_AT_ONCE = 3
"""How many batches of orders the request moves itself; the worker moves the others."""
_CHANGED = "The account changed while you were reading. This is what would move now."
_BEING_PAID = "An order of this account is being paid right now. Try again in some minutes."
UNFINISHED = "has orders of another account that still move to it"
_LINKS = ((CUSTOMER_GROUP_MEMBER, "customer_group_id"), (PRICE_LIST_USER, "price_list_id"))
_SUBJECTS = {"addresses": ADDRESS, "wishlists": WISHLIST, "store_credits": STORE_CREDIT}


async def preview_merge(ctx: Context, survivor: User, typed_email: str) -> tuple[User, MergePreview]:
    """Returns the account with this address, and what of it would move."""
    email = read_email(typed_email)
    ids = await customers.find_by_keys(ctx.db, [email.key] if email else [])
    duplicate = await user_queries.find_user(ctx.db, ids[email.key]) if email and ids else None
    if duplicate is None:
        raise Invalid({"email": ["is not the address of a customer"]})
    _check_pair(survivor, duplicate)
    merge_details(survivor, duplicate)
    if await merges.list_merges(ctx.db, duplicate.id):
        # The orders that still move to it would stay behind.
        raise Invalid({"email": [f"{UNFINISHED}; try again in some minutes"]})
    return duplicate, await merges.preview_merge(ctx.db, duplicate.id)


def fingerprint_merge(duplicate: User, preview: MergePreview) -> str:
    """Returns a fingerprint for the form; a merge is refused if it would move something else."""
    details = {name: getattr(duplicate, name) for name in ("id", "email", "first_name", "last_name", "phone", "note")}
    return fingerprint({**details, "tags": duplicate.tags, **msgspec.structs.asdict(preview)})


async def merge_customers(ctx: Context, survivor_id: UUID, typed_email: str, *, expected_fingerprint: str) -> bool:
    """Moves everything of the account with this address to the survivor, and closes it. This cannot be undone.

    The account closes first: nobody can sign in to it or order with it while its orders move. Returns whether all of
    them have moved.
    """
    async with ctx.db.transaction():
        survivor, duplicate = await _lock_pair(ctx, survivor_id, typed_email)
        # After the users, as everywhere: a checkout that has a cart locked ends before, and its order moves too.
        carts = await merges.lock_carts(ctx.db, duplicate.id, most=BATCH)
        duplicate, preview = await preview_merge(ctx, survivor, typed_email)
        if fingerprint_merge(duplicate, preview) != expected_fingerprint:
            raise Conflict(_CHANGED)
        if await merges.is_being_paid(ctx.db, duplicate.id):
            raise Conflict(_BEING_PAID)
        remaining_count = preview.orders + preview.carts - len(carts)
        await merges.insert_merge(ctx.db, new_id(), duplicate.id, survivor.id, remaining_count)
        await merges.move_orders(ctx.db, [cart.id for cart in carts], survivor.id)
        await note_locked(ctx, CUSTOMER, survivor.id)
        await _move_records(ctx, duplicate.id, survivor.id)
        await writes.update_record(ctx.db, users, survivor.id, merge_details(survivor, duplicate))
        await _close_account(ctx, duplicate, survivor.id)
        detail = {"duplicate_id": str(duplicate.id), "orders": preview.orders}
        await audit(ctx, "customer_merged", "done", subject_id=survivor.id, detail=detail)
    # The worker repeats what fails, such as a batch with an order that another request locks for long.
    with suppress(Unavailable, TransactionConflict):
        for _ in range(BATCHES_AT_ONCE):
            if not await _move_batch(ctx, duplicate.id):
                return not await merges.list_merges(ctx.db, duplicate.id)
    ctx.shared.work_signals.wake("merges")
    return False


async def move_next_batch(shared: Shared) -> bool:
    """Continues a merge that is not finished; returns whether there may be more to do."""
    ctx = Context(shared)
    ctx.actor = SHOP_ACTOR
    return await _move_batch(ctx, None)


async def _move_batch(ctx: Context, duplicate_id: UUID | None) -> bool:
    """Moves the next orders of one account, or of the one that waits longest; ends the merge after the last one."""
    async with ctx.db.transaction():
        merge = await merges.lock_next(ctx.db, duplicate_id)
        if merge is None:
            return False
        orders = await merges.lock_orders(ctx.db, merge.duplicate_id, most=BATCH)
        await note_rows(ctx, ORDER, [order.id for order in orders if order.completed_at])
        await merges.move_orders(ctx.db, [order.id for order in orders], merge.survivor_id)
        if orders:
            await merges.save_progress(ctx.db, merge, len(orders))
        else:
            # A refund of an order that had not moved can have left credit.
            await user_queries.lock_user(ctx.db, merge.survivor_id)
            await _move_records(ctx, merge.duplicate_id, merge.survivor_id)
            await merges.end_merge(ctx.db, merge)
    return bool(orders)


async def _move_records(ctx: Context, duplicate_id: UUID, survivor_id: UUID) -> None:
    """Moves everything but orders."""
    for name, subject in _SUBJECTS.items():
        await note_rows(ctx, subject, await merges.lock_rows(ctx.db, name, duplicate_id))
    await _move_links(ctx, duplicate_id, survivor_id)
    await merges.move_rows(ctx.db, duplicate_id, survivor_id)


async def _lock_pair(ctx: Context, survivor_id: UUID, typed_email: str) -> tuple[User, User]:
    """Locks both accounts in the order of their ids; two operators who merge them in both directions never wait for
    each other.
    """
    email = read_email(typed_email)
    ids = await customers.find_by_keys(ctx.db, [email.key] if email else [])
    if not ids:
        raise Invalid({"email": ["is not the address of a customer"]})
    pair_ids = {survivor_id, *ids.values()}
    pair = {user_id: await user_queries.lock_user(ctx.db, user_id) for user_id in sorted(pair_ids)}
    survivor: User | None = pair[survivor_id]
    if survivor is None:
        raise NotFound()
    duplicate = next(iter(pair[user_id] for user_id in ids.values()))
    _check_pair(survivor, duplicate)
    return survivor, duplicate


def _check_pair(survivor: User, duplicate: User) -> None:
    if survivor.id == duplicate.id:
        raise Invalid({"email": ["is the address of this account; enter that of the other one"]})
    if survivor.erased_at or duplicate.erased_at:
        raise Conflict("This account is closed already.")
    if survivor.disabled_at or duplicate.disabled_at:
        # Closing a blocked account would free its address.
        raise Invalid({"email": ["cannot be merged while one of the accounts is blocked; unblock it first"]})


async def _move_links(ctx: Context, duplicate_id: UUID, survivor_id: UUID) -> None:
    for actions, column in _LINKS:
        ids = await list_linked_ids(ctx, actions, column, duplicate_id)
        if ids:
            own_ids = await list_linked_ids(ctx, actions, column, survivor_id)
            await replace_links(ctx, actions, column, survivor_id, sorted({*own_ids, *ids}))
            await replace_links(ctx, actions, column, duplicate_id, [])


async def _close_account(ctx: Context, duplicate: User, survivor_id: UUID) -> None:
    """Frees the address, and lets the event log forget whom the account belonged to."""
    remains = erased_account(duplicate.id)
    await writes.update_record(ctx.db, users, duplicate.id, remains)
    await merges.close_account(ctx.db, duplicate.id, survivor_id)
    await merges.remember_address(ctx.db, new_id(), duplicate.id, survivor_id, duplicate.email_key)
    await erasures.forget_account(ctx.db, duplicate.id, remains)
    await erasures.erase_address_rows(ctx.db, duplicate.email_key)
    note_event(ctx, "customer.merged", CUSTOMER, duplicate.id)
