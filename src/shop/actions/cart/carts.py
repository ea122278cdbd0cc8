"""What can be done with a cart: open, show, abandon, and join with another at sign-in."""

from collections import Counter
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from shop.actions import rate_limits
from shop.actions.cart import line_items
from shop.actions.cart.access import find_bearers_cart, require_owner
from shop.actions.cart.line_items import Cart, Held
from shop.actions.cart.order_state import change_order
from shop.actions.catalog.reservations import drop_cart, give_back
from shop.actions.context import Context
from shop.base.actor import GUEST
from shop.base.errors import Invalid, NotFound, Unauthenticated, Unavailable
from shop.base.ids import ORDER_NUMBER_DIGITS, new_id, new_order_number
from shop.models.access.users import User
from shop.models.cart.orders import CartLine, Order
from shop.queries.cart import carts, orders
from shop.queries.cart import line_items as line_queries
from shop.queries.catalog import prices, quotes
from shop.queries.customers import users
from shop.rules.cart.cart_merge import Line, Merge, Strategy, merge_carts
from shop.rules.limits import Limit
from shop.rules.metadata import cart_metadata_bytes


async def open_cart(ctx: Context, currency: str | None, metadata: Mapping[str, Any] | None = None) -> Order:
    """The cart the caller already has, or a new one with this metadata; a new one made with a bearer is that user's."""
    is_plain = ctx.once_key is None and not metadata
    if ctx.claim is GUEST and is_plain:
        return await _new_guests_cart(ctx, currency)
    cart, user_id = await _find_cart(ctx)
    if cart and ctx.once_key is None:
        return cart
    if is_plain and user_id is None:
        return await _new_guests_cart(ctx, currency)
    if cart is None:
        # Counted before a transaction holds a connection: a second one for the count would starve the pool.
        await rate_limits.count_cart(ctx)
    async with ctx.transaction() as once:
        if once.done:
            return await _get_opened_cart(ctx, once.done, user_id)
        if user_id and cart is None:
            # Of many calls at once by one user the first makes the cart, and the others find it.
            await users.lock_known_user(ctx.db, user_id)
            cart, _ = await _find_cart(ctx)
        if cart is None:
            cart = await change_order(ctx, await new_cart(ctx, currency, user_id), **(metadata or {}))
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
    async with ctx.db.transaction():
        # Held before it is looked at: who began to pay meanwhile is seen only by a statement that comes after.
        held = await line_items.hold_cart(ctx, may_be_paid=True)
        require_owner(ctx, held)
        if not await drop_cart(ctx, held):
            raise Invalid({"base": ["is being paid"]}, "The cart is being paid.", code="cart_has_payment")


class Joined(msgspec.Struct, frozen=True):
    """The cart that survived a sign-in, and what happened to the other."""

    cart: Cart
    merge: Merge
    closed: Order | None
    is_repetition: bool = False
    """Done before; what happened to the other was told then."""


class _Tried(Exception):
    """Ends a transaction that was only to show what would happen."""

    def __init__(self, joined: Joined) -> None:
        self.joined = joined


async def join_carts(
    ctx: Context, guest_token: tuple[UUID, int] | None, strategy: Strategy, *, dry_run: bool
) -> Joined:
    """Gives a guest's cart to the signed-in user; their other open cart joins it, or stays, as the strategy says. Older
    tokens of both carts open them no more. To show what would happen it is done and taken back.

    A repeated request, by its Idempotency-Key or with the token that was replaced in the last ten minutes, is shown the
    cart again.
    """
    user = (await ctx.signed_in()).user
    if guest_token is None:
        raise NotFound()
    try:
        async with ctx.db.transaction() if dry_run else ctx.transaction() as once:
            if once and once.done:
                return await _repeated(ctx, await _get_opened_cart(ctx, once.done, user.id), strategy)
            await users.lock_known_user(ctx.db, user.id)
            guest = await carts.lock_guests_cart(ctx.db, *guest_token)
            if guest is None:
                joined = await _repeated(ctx, await carts.find_associated(ctx.db, user.id, guest_token), strategy)
            else:
                joined = await _join(ctx, user, guest, strategy, dry_run=dry_run)
            if dry_run:
                raise _Tried(joined)
            if once:
                once.made(joined.cart.order.id)
            return joined
    except _Tried as tried:
        return tried.joined


async def _repeated(ctx: Context, cart: Order | None, strategy: Strategy) -> Joined:
    if cart is None:
        raise NotFound()
    return Joined(await line_items.seen(ctx, cart), merge_carts(strategy, [], None, {}), None, is_repetition=True)


async def _join(ctx: Context, user: User, guest: Order, strategy: Strategy, *, dry_run: bool) -> Joined:
    if guest.user_id not in {None, user.id}:
        raise NotFound()
    other = await orders.lock_other_cart(ctx.db, user.id, guest.id)
    guests, others = [await line_queries.list_lines(ctx.db, cart.id) if cart else [] for cart in (guest, other)]
    keeps_users = strategy == "keep_user" and other is not None
    currency = other.currency if other is not None and keeps_users else guest.currency
    pricing = await prices.find_pricing(ctx.db, user.id, currency)
    pieces = Counter({line.variant_id: line.quantity for line in guests})
    pieces.update({line.variant_id: line.quantity for line in others})
    known = await quotes.list_quotes(ctx.db, pricing, pieces)
    available = {quote.variant_id: quote.most for quote in known.values() if quote.most is not None}
    merge = merge_carts(strategy, _merged(guests), None if other is None else _merged(others), available)
    survivor, closed, own = (other, guest, others) if other is not None and keeps_users else (guest, other, guests)
    for cart in (survivor, closed):
        if cart:
            await line_items.refuse_while_paying(ctx, cart)
            await give_back(ctx, cart)
    if closed and not await drop_cart(ctx, closed):
        await carts.end_tokens(ctx.db, closed.id)
    # The next token must not be shown before it counts: whoever tries a dry run could keep it for later.
    owned = await carts.give_to_user(ctx.db, survivor.id, user.id, user.email, ends_tokens=not dry_run)
    if owned is None:
        raise AssertionError("a cart that is held cannot be gone")
    await carts.note_associated(ctx.db, user.id, (guest.id, guest.token_version), survivor.id)
    if not own and not merge.lines:
        return Joined(Cart(owned), merge, closed)
    joined = line_items.joined(owned, own, others, merge, known)
    return Joined(await line_items.keep(ctx, Held(owned, own, pricing), joined, known), merge, closed)


def _merged(found: Sequence[CartLine]) -> list[Line]:
    return [Line(line.variant_id, line.quantity, cart_metadata_bytes([line])) for line in found]


async def _find_cart(ctx: Context) -> tuple[Order | None, UUID | None]:
    """The open cart the credentials lead to, and the bearer's user."""
    claim = ctx.claim
    if claim.bearer:
        found = await find_bearers_cart(ctx)
        return found.cart, found.user_id
    return (await carts.find_by_token(ctx.db, claim) if claim.cart_id else None), None


async def _get_opened_cart(ctx: Context, cart_id: UUID, user_id: UUID | None) -> Order:
    """The cart that was opened under the same Idempotency-Key, unless it became a user's since: the key of whoever
    opened it does not give them the token that the user was given then.
    """
    claim, cart = ctx.claim, await orders.find_open_cart(ctx.db, cart_id)
    if cart is None:
        raise NotFound()
    is_owner = cart.user_id is not None and cart.user_id == user_id
    is_opened = claim.cart_id == cart.id and claim.token_version == cart.token_version
    if not is_owner and not is_opened and (cart.user_id is not None or cart.token_version):
        raise NotFound()
    return cart


def _new_guests_cart(ctx: Context, currency: str | None) -> Awaitable[Order]:
    limits = rate_limits.cart_limits(ctx)
    return _new_counted_cart(ctx, currency, limits) if limits else new_cart(ctx, currency, None)


async def _new_counted_cart(ctx: Context, currency: str | None, limits: Sequence[Limit]) -> Order:
    """Counted and made by one statement."""
    for digits in ORDER_NUMBER_DIGITS:
        cart, counts = await orders.insert_counted_cart(
            ctx.db, limits, cart_id=new_id(), number=new_order_number(digits), currency=_sold_in(ctx, currency)
        )
        if cart:
            return cart
        if counts:
            await rate_limits.refuse_cart(ctx, limits, counts)
    raise Unavailable()


def _sold_in(ctx: Context, currency: str | None) -> str:
    currencies = ctx.shared.shop.currencies
    return currency if currency in currencies else currencies[0]


async def new_cart(ctx: Context, currency: str | None, user_id: UUID | None) -> Order:
    chosen = _sold_in(ctx, currency)
    for digits in ORDER_NUMBER_DIGITS:
        number = new_order_number(digits)
        cart = await orders.insert_cart(ctx.db, cart_id=new_id(), number=number, currency=chosen, user_id=user_id)
        if cart:
            return cart
    raise Unavailable()
