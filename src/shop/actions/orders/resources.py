"""Lists completed orders for customers; creates, updates and deletes orders for applications."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from shop.actions.cart.carts import new_cart
from shop.actions.cart.orders import Checkout, load_checkouts
from shop.actions.catalog.reservations import discard_cart
from shop.actions.context import Context
from shop.actions.orders.assignment import ASSIGNABLE_FIELDS, assign
from shop.actions.orders.nested_attributes import NESTED_FIELDS, update_nested_attributes
from shop.base.errors import Invalid, NotFound
from shop.base.listing import Keyset, Page, Sort
from shop.models.cart.orders import Order
from shop.models.cart.orders import orders as table
from shop.models.checkout.record_inputs import OrderInput
from shop.queries import writes
from shop.queries.cart import orders
from shop.rules.metadata import METADATA

SORTS = orders.SORTS
NEWEST = Sort("completed_at", is_descending=True)
OWN_FIELDS = ("email", "special_instructions", "internal_note", *METADATA)
"""Fields that can always be set."""


class ListedOrders(msgspec.Struct, frozen=True):
    """One page of a user's orders, with the total count or the cursor of the next page."""

    orders: list[Order]
    total: int = 0
    next_cursor: tuple[object, UUID] | None = None


async def list_completed(ctx: Context, page: Page | Keyset, sort: Sort) -> ListedOrders:
    user = (await ctx.signed_in()).user
    user_orders = await orders.list_completed(ctx.db, user.id, page, sort)
    if isinstance(page, Page):
        return ListedOrders(user_orders, await orders.count_completed(ctx.db, user.id))
    page_orders, more = user_orders[: page.size], user_orders[page.size :]
    return ListedOrders(
        page_orders, next_cursor=(getattr(page_orders[-1], sort.name), page_orders[-1].id) if more else None
    )


async def get_completed(ctx: Context, number: str) -> Order:
    order = await orders.find_completed(ctx.db, (await ctx.signed_in()).user.id, number)
    if order is None:
        raise NotFound()
    return order


async def list_parts(ctx: Context, page_orders: Sequence[Order]) -> list[Checkout]:
    """Returns each order with its parts."""
    return await load_checkouts(ctx, page_orders)


async def create_order(ctx: Context, values: OrderInput) -> UUID:
    """Creates an open cart, without an owner unless the values name one."""
    currency = values.get("currency")
    if currency is not None and currency not in ctx.shared.shop.currencies:
        raise Invalid({"currency": [f"must be one of {', '.join(ctx.shared.shop.currencies)}"]})
    order = await new_cart(ctx, currency, None)
    await update_order(ctx, order.id, values)
    return order.id


async def update_order(ctx: Context, order_id: UUID, values: OrderInput) -> None:
    own = {name: value for name, value in values.items() if name in OWN_FIELDS}
    if own:
        await writes.update_record(ctx.db, table, order_id, own)
    if values.keys() & set(ASSIGNABLE_FIELDS):
        await assign(ctx, order_id, values)
    if values.keys() & set(NESTED_FIELDS):
        await update_nested_attributes(ctx, order_id, values)


async def delete_order(ctx: Context, order_id: UUID) -> None:
    cart = await orders.lock_open_cart(ctx.db, order_id)
    if cart is None or not await discard_cart(ctx, cart):
        raise Invalid({"base": ["is completed and cannot be deleted"]})
