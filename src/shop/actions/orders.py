"""What shoppers do with what they have bought: look at it."""

from shop.actions.context import Context
from shop.base.errors import NotFound
from shop.base.listing import Page
from shop.models.orders import Order
from shop.queries import orders


async def list_completed(ctx: Context, page: Page) -> tuple[list[Order], int]:
    user = (await ctx.signed_in()).user
    total = await orders.count_completed(ctx.db, user.id)
    return await orders.list_completed(ctx.db, user.id, offset=page.offset, size=page.size), total


async def get_completed(ctx: Context, number: str) -> Order:
    order = await orders.find_completed(ctx.db, (await ctx.signed_in()).user.id, number)
    if order is None:
        raise NotFound()
    return order
