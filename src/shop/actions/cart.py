"""What can be done with a cart: open, show, abandon."""

from uuid import UUID

from shop.actions.context import Context
from shop.base.errors import NotFound, Unauthenticated, Unavailable
from shop.base.ids import ORDER_NUMBER_DIGITS, new_id, new_order_number
from shop.models.orders import Order
from shop.queries import orders


async def open_cart(ctx: Context, currency: str | None) -> Order:
    """The cart the caller already has, or a new one."""
    if ctx.claim.cart_id:
        cart = await orders.find_open_cart(ctx.db, ctx.claim.cart_id)
        if cart:
            return cart
    if ctx.once_key is None:
        return await _new_cart(ctx, currency)
    async with ctx.transaction() as once:
        if once.done:
            return await _get_cart(ctx, once.done)
        cart = await _new_cart(ctx, currency)
        once.made(cart.id)
        return cart


async def get_cart(ctx: Context) -> Order:
    return await _get_cart(ctx, _claimed_cart(ctx))


async def abandon_cart(ctx: Context) -> None:
    if not await orders.delete_open_cart(ctx.db, _claimed_cart(ctx)):
        raise NotFound()


def _claimed_cart(ctx: Context) -> UUID:
    if not ctx.claim.order_token_sent:
        raise Unauthenticated()
    if not ctx.claim.cart_id:
        raise NotFound()
    return ctx.claim.cart_id


async def _get_cart(ctx: Context, cart_id: UUID) -> Order:
    cart = await orders.find_open_cart(ctx.db, cart_id)
    if cart is None:
        raise NotFound()
    return cart


async def _new_cart(ctx: Context, currency: str | None) -> Order:
    shop = ctx.shared.shop
    chosen = currency if currency in shop.currencies else shop.currencies[0]
    for digits in ORDER_NUMBER_DIGITS:
        cart = await orders.insert_cart(ctx.db, cart_id=new_id(), number=new_order_number(digits), currency=chosen)
        if cart:
            return cart
    raise Unavailable()
