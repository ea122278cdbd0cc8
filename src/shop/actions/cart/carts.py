"""Cart operations: open, show, abandon, and merge with another cart at sign-in."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from uuid import UUID

import msgspec
from msgspec import UNSET

from shop.actions import rate_limits
from shop.actions.cart import line_items, locked_carts
from shop.actions.cart.access import find_bearers_cart, require_owner
from shop.actions.cart.locked_carts import Cart, LockedCart
from shop.actions.cart.orders import change_order
from shop.actions.catalog.reservations import discard_cart, release_stock
from shop.actions.context import Context
from shop.base.actor import GUEST
from shop.base.errors import Invalid, NotFound, Unauthenticated, Unavailable
from shop.base.ids import new_id, new_order_numbers
from shop.models.access.users import User
from shop.models.cart.inputs import CartInput, CartItemInput, Strategy
from shop.models.cart.orders import CartLine, Order
from shop.queries.cart import carts, orders
from shop.queries.cart import line_items as line_queries
from shop.queries.catalog import prices, quotes
from shop.queries.customers import users
from shop.rules.cart.cart_merge import Merge, MergeLine, merge_carts
from shop.rules.metadata import METADATA, cart_metadata_bytes


async def open_cart(ctx: Context, values: CartInput) -> Order:
    """Returns the caller's cart, or a new one with this metadata; with a bearer, the new cart belongs to that user."""
    currency = values.currency.upper() if values.currency else None
    metadata = {name: value for name in METADATA if (value := getattr(values, name)) is not UNSET}
    is_plain = ctx.request_key is None and not metadata
    if ctx.claim is GUEST and is_plain:
        return await _new_guests_cart(ctx, currency)
    cart, user_id = await _find_cart(ctx)
    if cart and ctx.request_key is None:
        return cart
    if is_plain and user_id is None:
        return await _new_guests_cart(ctx, currency)
    if cart is None:
        # Count before the transaction takes a connection: a second connection for the count would starve the pool.
        await rate_limits.count_cart(ctx)
    async with ctx.transaction() as idempotency:
        if idempotency.existing_id:
            return await _get_opened_cart(ctx, idempotency.existing_id, user_id)
        if user_id and cart is None:
            # Of concurrent calls by one user, the first creates the cart and the others find it.
            await users.lock_user(ctx.db, user_id)
            cart, _ = await _find_cart(ctx)
        if cart is None:
            cart = await change_order(ctx, await new_cart(ctx, currency, user_id), **metadata)
        idempotency.record(cart.id)
        return cart


async def get_cart(ctx: Context) -> Order:
    """Returns the order token's cart, or else the bearer's newest open cart."""
    if not ctx.claim.order_token_sent and not ctx.claim.bearer:
        raise Unauthenticated()
    cart, _ = await _find_cart(ctx)
    if cart is None:
        raise NotFound()
    return cart


async def add_to_cart(ctx: Context, item: CartItemInput) -> Cart:
    """Adds an item to the caller's cart, or to a new one if there is none."""
    return await change_cart(ctx, lambda locked_cart: line_items.add_lines(ctx, locked_cart, [item], is_one=True))


async def change_cart(ctx: Context, change: Callable[[LockedCart], Awaitable[Cart]]) -> Cart:
    """Changes the lines of the caller's cart, or of a new one; if the change fails, no new cart remains."""
    cart, user_id = await _find_cart(ctx)
    if cart is None:
        await rate_limits.count_cart(ctx)
    async with ctx.db.transaction():
        if cart is None and user_id:
            # Of concurrent calls by one user, the first creates the cart and the others find it.
            await users.lock_user(ctx.db, user_id)
            cart, _ = await _find_cart(ctx)
        new = None if cart else await new_cart(ctx, None, user_id)
        order = await locked_carts.lock_cart(ctx, new.id if new else None)
        return await change(await locked_carts.prepare_lines(ctx, order))


async def abandon_cart(ctx: Context) -> None:
    async with ctx.db.transaction():
        # Lock before reading: only a later statement sees a payment that began in the meantime.
        cart = await locked_carts.lock_cart(ctx, may_be_paid=True)
        require_owner(ctx, cart)
        if not await discard_cart(ctx, cart):
            raise Invalid({"base": ["is being paid"]}, "The cart is being paid.", code="cart_has_payment")


class CartMergeResult(msgspec.Struct, frozen=True):
    """The cart that remains after sign-in, with the outcome for the other cart."""

    cart: Cart
    merge: Merge
    closed: Order | None
    is_repetition: bool = False
    """Whether this is a repeated request; the first response reported the outcome for the other cart."""


class _DryRunRollback(Exception):
    """Rolls back the transaction of a dry run."""

    def __init__(self, result: CartMergeResult) -> None:
        self.joined = result


async def join_carts(
    ctx: Context, guest_token: tuple[UUID, int] | None, strategy: Strategy, *, dry_run: bool
) -> CartMergeResult:
    """Assigns a guest cart to the signed-in user and merges the user's other open cart according to the strategy. Older
    tokens of both carts stop working. A dry run performs the merge and rolls it back.

    A repeated request, by Idempotency-Key or with a token replaced in the last ten minutes, returns the cart again.
    """
    user = (await ctx.signed_in()).user
    if guest_token is None:
        raise NotFound()
    try:
        async with ctx.db.transaction() if dry_run else ctx.transaction() as idempotency:
            if idempotency and idempotency.existing_id:
                return await _repeat_result(
                    ctx, await _get_opened_cart(ctx, idempotency.existing_id, user.id), strategy
                )
            await users.lock_user(ctx.db, user.id)
            guest = await carts.lock_guests_cart(ctx.db, *guest_token)
            if guest is None:
                result = await _repeat_result(ctx, await carts.find_association(ctx.db, user.id, guest_token), strategy)
            else:
                result = await _join(ctx, user, guest, strategy, dry_run=dry_run)
            if dry_run:
                raise _DryRunRollback(result)
            if idempotency:
                idempotency.record(result.cart.order.id)
            return result
    except _DryRunRollback as end:
        return end.joined


async def _repeat_result(ctx: Context, cart: Order | None, strategy: Strategy) -> CartMergeResult:
    if cart is None:
        raise NotFound()
    return CartMergeResult(
        await locked_carts.load_cart(ctx, cart), merge_carts(strategy, [], None, {}), None, is_repetition=True
    )


async def _join(ctx: Context, user: User, guest_cart: Order, strategy: Strategy, *, dry_run: bool) -> CartMergeResult:
    if guest_cart.user_id not in {None, user.id}:
        raise NotFound()
    user_cart = await orders.lock_other_cart(ctx.db, user.id, guest_cart.id)
    guest_lines, user_lines = [
        await line_queries.list_lines(ctx.db, cart.id) if cart else [] for cart in (guest_cart, user_cart)
    ]
    keeps_user_cart = strategy == "keep_user" and user_cart is not None
    currency = user_cart.currency if user_cart is not None and keeps_user_cart else guest_cart.currency
    pricing = await prices.find_pricing(ctx.db, user.id, currency)
    quantities = Counter({line.variant_id: line.quantity for line in guest_lines})
    quantities.update({line.variant_id: line.quantity for line in user_lines})
    variant_quotes = await quotes.list_quotes(ctx.db, pricing, quantities)
    available = {quote.variant_id: quote.most for quote in variant_quotes.values() if quote.most is not None}
    merge = merge_carts(
        strategy, _to_merge_lines(guest_lines), None if user_cart is None else _to_merge_lines(user_lines), available
    )
    survivor, closed_cart, own = (
        (user_cart, guest_cart, user_lines)
        if user_cart is not None and keeps_user_cart
        else (guest_cart, user_cart, guest_lines)
    )
    for cart in (survivor, closed_cart):
        if cart:
            await locked_carts.refuse_while_paying(ctx, cart)
            await release_stock(ctx, cart)
    if closed_cart and not await discard_cart(ctx, closed_cart):
        await carts.end_tokens(ctx.db, closed_cart.id)
    # A dry run must not issue the next token: the caller could store it and use it later.
    merged_cart = await carts.assign_to_user(ctx.db, survivor.id, user.id, user.email, ends_tokens=not dry_run)
    if merged_cart is None:
        raise AssertionError("a locked cart cannot be deleted")
    await carts.record_association(ctx.db, user.id, (guest_cart.id, guest_cart.token_version), survivor.id)
    if not own and not merge.lines:
        return CartMergeResult(Cart(merged_cart), merge, closed_cart)
    lines = line_items.merge_lines(merged_cart, own, user_lines, merge, variant_quotes)
    saved_cart = await locked_carts.save_lines(ctx, LockedCart(merged_cart, own, pricing), lines, variant_quotes)
    return CartMergeResult(saved_cart, merge, closed_cart)


def _to_merge_lines(lines: Sequence[CartLine]) -> list[MergeLine]:
    return [MergeLine(line.variant_id, line.quantity, cart_metadata_bytes([line])) for line in lines]


async def _find_cart(ctx: Context) -> tuple[Order | None, UUID | None]:
    """Returns the open cart for the credentials, and the bearer's user id."""
    claim = ctx.claim
    if claim.bearer:
        bearer = await find_bearers_cart(ctx)
        return bearer.cart, bearer.user_id
    return (await carts.find_by_token(ctx.db, claim) if claim.cart_id else None), None


async def _get_opened_cart(ctx: Context, cart_id: UUID, user_id: UUID | None) -> Order:
    """Returns the cart opened under the same Idempotency-Key, unless a user has taken it over since: the key must not
    reveal the token issued to that user.
    """
    claim, cart = ctx.claim, await orders.find_open_cart(ctx.db, cart_id)
    if cart is None:
        raise NotFound()
    is_owner = cart.user_id is not None and cart.user_id == user_id
    is_opened = claim.cart_id == cart.id and claim.token_version == cart.token_version
    if not is_owner and not is_opened and (cart.user_id is not None or cart.token_version):
        raise NotFound()
    return cart


async def _new_guests_cart(ctx: Context, currency: str | None) -> Order:
    await rate_limits.count_cart(ctx)
    return await new_cart(ctx, currency, None)


def _new_numbers(ctx: Context) -> Iterator[str]:
    shop = ctx.shared.shop
    return new_order_numbers(shop.order_prefix, shop.order_digits)


def _supported_currency(ctx: Context, currency: str | None) -> str:
    currencies = ctx.shared.shop.currencies
    return currency if currency in currencies else currencies[0]


async def new_cart(ctx: Context, currency: str | None, user_id: UUID | None) -> Order:
    cart_currency = _supported_currency(ctx, currency)
    for number in _new_numbers(ctx):
        cart = await orders.insert_cart(
            ctx.db, cart_id=new_id(), number=number, currency=cart_currency, user_id=user_id
        )
        if cart:
            return cart
    raise Unavailable()
