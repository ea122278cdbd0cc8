"""What can be done with a cart: open, show, abandon, and join with another at sign-in."""

from uuid import UUID

import msgspec

from shop.actions import attempts
from shop.actions.context import Context
from shop.base.errors import InvalidToken, NotFound, Unauthenticated, Unavailable
from shop.base.ids import ORDER_NUMBER_DIGITS, new_id, new_order_number
from shop.models.orders import Order
from shop.queries import orders, people
from shop.rules.merging import Merge, Strategy, merge_carts


async def open_cart(ctx: Context, currency: str | None) -> Order:
    """The cart the caller already has, or a new one; a new one made with a bearer is that user's."""
    cart, user_id = await _find_cart(ctx)
    if cart:
        return cart
    # Counted before a transaction holds a connection: a second one for the count would starve the pool.
    await attempts.count_cart(ctx)
    if ctx.once_key is None and user_id is None:
        return await new_cart(ctx, currency, None)
    async with ctx.transaction() as once:
        if once.done:
            return await _get_cart(ctx, once.done)
        if user_id:
            # Of many calls at once by one user the first makes the cart, and the others find it.
            await people.lock_known_user(ctx.db, user_id)
            cart, _ = await _find_cart(ctx)
        cart = cart or await new_cart(ctx, currency, user_id)
        once.made(cart.id)
        return cart


async def get_cart(ctx: Context) -> Order:
    """By the order token first, else the bearer's newest open one."""
    if not ctx.claim.order_token_sent and not ctx.claim.bearer:
        raise Unauthenticated()
    cart, _ = await _find_cart(ctx)
    if cart is None:
        raise NotFound()
    return cart


async def abandon_cart(ctx: Context) -> None:
    cart_id = (await get_cart(ctx)).id if ctx.claim.bearer else _claimed_cart(ctx)
    if not await orders.delete_open_cart(ctx.db, cart_id):
        raise NotFound()


class Joined(msgspec.Struct, frozen=True):
    """The cart that survived a sign-in, and what happened to the other."""

    cart: Order
    merge: Merge
    closed: Order | None
    is_repetition: bool = False
    """Done before under the same key; what happened to the other was told then."""


async def join_carts(ctx: Context, guest_cart_id: UUID | None, strategy: Strategy, *, dry_run: bool) -> Joined:
    """Gives a guest's cart to the signed-in user; their other open cart joins it, or stays, as the strategy says."""
    user = (await ctx.signed_in()).user
    if guest_cart_id is None:
        raise NotFound()
    async with ctx.db.transaction() if dry_run else ctx.transaction() as once:
        if once and once.done:
            return Joined(
                await _get_cart(ctx, once.done), merge_carts(strategy, [], None, {}), None, is_repetition=True
            )
        await people.lock_known_user(ctx.db, user.id)
        guest = await orders.lock_open_cart(ctx.db, guest_cart_id)
        if guest is None or guest.user_id not in {None, user.id}:
            raise NotFound()
        other = await orders.lock_other_cart(ctx.db, user.id, guest.id)
        merge = merge_carts(strategy, [], None if other is None else [], {})
        survivor, closed = (guest, other) if merge.survivor == "guest" or other is None else (other, guest)
        if not dry_run:
            if closed:
                await orders.delete_open_cart(ctx.db, closed.id)
            survivor = await orders.give_cart_to(ctx.db, survivor.id, user.id) or survivor
        if once:
            once.made(survivor.id)
    return Joined(survivor, merge, closed)


async def _find_cart(ctx: Context) -> tuple[Order | None, UUID | None]:
    """The open cart the credentials lead to, and the bearer's user."""
    claim = ctx.claim
    if claim.bearer:
        found = await orders.find_bearers_cart(ctx.db, claim.bearer, claim.cart_id)
        if found is None:
            raise InvalidToken()
        return found.cart, found.user_id
    return (await orders.find_open_cart(ctx.db, claim.cart_id) if claim.cart_id else None), None


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


async def new_cart(ctx: Context, currency: str | None, user_id: UUID | None) -> Order:
    shop = ctx.shared.shop
    chosen = currency if currency in shop.currencies else shop.currencies[0]
    for digits in ORDER_NUMBER_DIGITS:
        number = new_order_number(digits)
        cart = await orders.insert_cart(ctx.db, cart_id=new_id(), number=number, currency=chosen, user_id=user_id)
        if cart:
            return cart
    raise Unavailable()
