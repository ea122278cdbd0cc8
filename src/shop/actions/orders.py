"""What shoppers do with what they have bought: look at it."""

from shop.actions.context import Context
from shop.base.errors import NotFound
from shop.base.listing import Page, Sort
from shop.models.orders import Order
from shop.queries import orders

SORTS = orders.SORTS
NEWEST = Sort("completed_at", is_descending=True)


async def list_completed(ctx: Context, page: Page, sort: Sort | None) -> tuple[list[Order], int]:
    user = (await ctx.signed_in()).user
    total = await orders.count_completed(ctx.db, user.id)
    return await orders.list_completed(ctx.db, user.id, page, sort or NEWEST), total


async def get_completed(ctx: Context, number: str) -> Order:
    order = await orders.find_completed(ctx.db, (await ctx.signed_in()).user.id, number)
    if order is None:
        raise NotFound()
    return order
