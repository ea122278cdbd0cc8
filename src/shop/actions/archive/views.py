"""Shows archived orders to those who could see them before."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar
from uuid import UUID

import msgspec

from shop.actions.archive.archived_orders import get_archived, read_archived
from shop.actions.context import Context
from shop.actions.customers import export
from shop.actions.orders.resources import ListedOrders, list_completed
from shop.base.email import read_email
from shop.base.errors import NotFound
from shop.base.listing import Keyset, Page, Sort
from shop.models.access.users import User
from shop.models.cart.archived_orders import ArchivedOrder
from shop.models.customers.exports import CompletePersonalData, ExportedOrder, PersonalData
from shop.queries.archive import archived_orders as queries
from shop.queries.archive import order_lists
from shop.queries.cart import orders
from shop.queries.customers import customer_orders

T = TypeVar("T")
MAX_RESULTS = 20
_BATCH = 50
"""How many archived orders are in the tables at once."""


async def read_any(ctx: Context, key: str, read: Callable[[], Awaitable[T]]) -> T:
    """Returns what `read` reads of an order, by number or id, which may be archived."""
    try:
        return await read()
    except NotFound:
        return await read_archived(ctx, [await get_archived(ctx, key)], read)


async def read_own(ctx: Context, number: str, read: Callable[[], Awaitable[T]]) -> T:
    """Returns what `read` reads of an order, which may be archived if it belongs to the signed-in customer."""
    try:
        return await read()
    except NotFound:
        order = await queries.find_archived(ctx.db, number) if ctx.claim.bearer else None
        if order is None or order.user_id != (await ctx.signed_in()).user.id:
            raise
        return await read_archived(ctx, [order], read)


async def search_archived(ctx: Context, words: str) -> Sequence[ArchivedOrder]:
    """Returns archived orders by number or e-mail address."""
    email = read_email(words)
    return await queries.search_archived(ctx.db, words.strip(), email.budget_key if email else None, most=MAX_RESULTS)


async def read_list(ctx: Context, page: Page | Keyset, sort: Sort, read: Callable[[ListedOrders], Awaitable[T]]) -> T:
    """Returns what `read` reads of a page of the signed-in customer's completed orders, archived ones among them."""
    user_id = (await ctx.signed_in()).user.id
    archived_count = await order_lists.count_archived(ctx.db, user_id) if ctx.shared.settings.archive_url else 0
    if not archived_count:
        return await read(await list_completed(ctx, page, sort))
    total = archived_count + await orders.count_completed(ctx.db, user_id) if isinstance(page, Page) else 0
    keys = await order_lists.list_keys(ctx.db, user_id, page, sort)
    keys, more = keys[: page.size], keys[page.size :]
    old_orders = await order_lists.list_archived(ctx.db, [key.id for key in keys if key.is_archived])

    async def read_page() -> T:
        page_orders = await order_lists.list_orders(ctx.db, [key.id for key in keys])
        return await read(ListedOrders(page_orders, total, (keys[-1].value, keys[-1].id) if more else None))

    return await read_archived(ctx, old_orders, read_page) if old_orders else await read_page()


async def list_own(ctx: Context, page: Page | Keyset, sort: Sort) -> ListedOrders:
    """Returns a page of the signed-in customer's completed orders, archived ones among them, without their parts."""

    async def keep(listing: ListedOrders) -> ListedOrders:
        return listing

    return await read_list(ctx, page, sort, keep)


async def export_personal_data(ctx: Context) -> PersonalData:
    """Returns everything the shop stores about the signed-in customer, archived orders included."""
    personal_data, user_id = await export.export_personal_data(ctx), (await ctx.signed_in()).user.id
    old_orders = [each for each in await _list_archived(ctx, user_id, personal_data) if each.user_id == user_id]
    return msgspec.structs.replace(personal_data, orders=[*personal_data.orders, *await _export(ctx, old_orders)])


async def export_for_operator(ctx: Context, user: User) -> CompletePersonalData:
    """Returns the same with notes, tags, e-mails, carts, and orders that a guest placed with the verified address."""
    personal_data = await export.export_for_operator(ctx, user)
    old_orders = await _list_archived(ctx, user.id, personal_data)
    return msgspec.structs.replace(personal_data, orders=[*personal_data.orders, *await _export(ctx, old_orders)])


async def _list_archived(ctx: Context, user_id: UUID, personal_data: PersonalData) -> list[ArchivedOrder]:
    if ctx.shared.settings.archive_url is None:
        return []
    most = max(0, export.MAX_ORDERS - len(personal_data.orders))
    return await customer_orders.list_archived(ctx.db, user_id, most=most)


async def _export(ctx: Context, old_orders: Sequence[ArchivedOrder]) -> list[ExportedOrder]:
    export_rows: list[ExportedOrder] = []
    for start in range(0, len(old_orders), _BATCH):
        batch = old_orders[start : start + _BATCH]

        async def read(batch: Sequence[ArchivedOrder] = batch) -> list[ExportedOrder]:
            return await export.export_orders(ctx, await order_lists.list_orders(ctx.db, [order.id for order in batch]))

        export_rows += await read_archived(ctx, batch, read)
    return export_rows
