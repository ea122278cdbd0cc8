"""Erases the personal data of a customer: the account at once, its orders and the logs in batches that can be resumed.

Issued invoices and credit notes remain as they are, because the law requires it. `rules/accounts/erasures.py` says what
remains of other records.
"""

from uuid import UUID

from shop.actions.audit import audit
from shop.actions.context import Context, Shared
from shop.actions.event_subjects import CUSTOMER, ORDER
from shop.actions.events import note_event
from shop.actions.payments.saved_cards import remove_cards_of
from shop.base.actor import SHOP_ACTOR
from shop.base.email import read_email
from shop.base.errors import Conflict, Invalid, NotFound
from shop.base.ids import new_id
from shop.models.access.users import User, users
from shop.models.cart.orders import Order
from shop.queries import writes
from shop.queries.accounts import erasures, merges
from shop.queries.accounts.archived_orders import list_archived
from shop.queries.customers import users as user_queries
from shop.queries.imports.csv_imports import delete_customer_imports
from shop.queries.operations import order_index
from shop.rules.accounts.erasures import erased_account

BATCH = 100
BATCHES_AT_ONCE = 3
"""How many batches the request erases itself; the worker erases the others."""
MAX_UNFINISHED = 20
_IN_USE = "The customer has orders that are not finished."
_MERGING = "Orders of another account still move to this one."


async def list_unfinished_orders(ctx: Context, user: User) -> list[Order]:
    """Returns orders that must be shipped, paid, refunded or canceled before the customer can be erased."""
    return await erasures.list_unfinished_orders(ctx.db, user.id, user.email_key, most=MAX_UNFINISHED)


async def is_merging(ctx: Context, user_id: UUID) -> bool:
    """Whether orders still move to this account; an erasure would miss them."""
    return bool(await merges.list_merges(ctx.db, user_id))


async def erase_customer(ctx: Context, user_id: UUID, typed_email: str) -> None:
    """Erases a customer, if the operator typed their address. This cannot be undone."""
    user = await _get_erasable(ctx, user_id, typed_email)
    # Before the account: the providers' references are erased with it. A repetition deletes the remaining cards.
    await remove_cards_of(ctx, user_id)
    async with ctx.db.transaction():
        # First: an import locks its file before its customers. Without its file, it ends.
        await delete_customer_imports(ctx.db)
        await user_queries.lock_user(ctx.db, user_id)
        user = await _get_erasable(ctx, user_id, typed_email)
        await erasures.insert_erasure(ctx.db, new_id(), user_id, user.email_key)
        await erasures.erase_account_rows(ctx.db, user_id)
        await writes.update_record(ctx.db, users, user_id, erased_account(user_id))
        await erasures.erase_address_rows(ctx.db, user.email_key)
        note_event(ctx, "customer.erased", CUSTOMER, user_id)
        await audit(ctx, "customer_erased", "done", subject_id=user_id)
    for _ in range(BATCHES_AT_ONCE):
        if not await _erase_batch(ctx, user_id):
            return
    ctx.shared.work_signals.wake("erasures")


async def erase_next_batch(shared: Shared) -> bool:
    """Continues an erasure that is not finished; returns whether there may be more to do."""
    ctx = Context(shared)
    ctx.actor = SHOP_ACTOR
    return await _erase_batch(ctx, None)


async def _get_erasable(ctx: Context, user_id: UUID, typed_email: str) -> User:
    user = await user_queries.find_user(ctx.db, user_id)
    if user is None:
        raise NotFound()
    if user.erased_at:
        raise Conflict("This customer is erased already.")
    email = read_email(typed_email)
    if email is None or email.key != user.email_key:
        raise Invalid({"email": ["is not the address of this customer"]})
    if await is_merging(ctx, user_id):
        raise Invalid({"base": [_MERGING]})
    if await list_unfinished_orders(ctx, user):
        raise Invalid({"base": [_IN_USE]})
    return user


async def _erase_batch(ctx: Context, user_id: UUID | None) -> bool:
    """Erases the next orders of one customer, or of the one who waits longest; ends the erasure after the last one."""
    async with ctx.db.transaction():
        erasure = await erasures.lock_next(ctx.db, user_id)
        if erasure is None:
            return False
        batch = await erasures.lock_orders(ctx.db, erasure, most=BATCH)
        if batch:
            for order in batch:
                if order.completed_at:
                    note_event(ctx, "order.updated", ORDER, order.id)
            await erasures.erase_orders(ctx.db, batch)
            await order_index.refresh(ctx.db, [order.id for order in batch if order.completed_at])
            own_ids = [order.id for order in batch if order.user_id == erasure.user_id]
            last_id = own_ids[-1] if own_ids else erasure.last_order_id
            await erasures.save_progress(ctx.db, erasure, last_id, len(batch))
        elif await list_archived(ctx.db, erasure.user_id):
            # The worker restores them first.
            return False
        else:
            await erasures.forget_account(ctx.db, erasure.user_id, erased_account(erasure.user_id))
            for address in await erasures.list_addresses(ctx.db, erasure.user_id, erasure.email or ""):
                await erasures.erase_address_rows(ctx.db, address)
            await erasures.end_erasure(ctx.db, erasure)
    return True
