"""Carts with their lines: locks, loads and saves them."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from uuid import UUID

import msgspec

from shop.actions.cart.access import find_bearers_cart
from shop.actions.cart.promotions import DiscountedCart, apply_promotions
from shop.actions.catalog.quotes import list_base_quotes
from shop.actions.catalog.reservations import release_stock
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound, PaymentInProgress, Unauthenticated
from shop.models.cart.orders import CartLine, Order, SummarizedLine
from shop.models.cart.quotes import CatalogMoment, Quote
from shop.queries.cart import carts, orders, snapshots
from shop.queries.cart import line_items as queries
from shop.queries.cart.snapshots import CartSnapshot
from shop.queries.catalog import prices, quotes, stock
from shop.queries.catalog.prices import Pricing
from shop.queries.checkout.store_credit import drop_payments
from shop.queries.payments import payments
from shop.queries.setup import taxes
from shop.rules.cart.line_items import (
    MAX_CART_AMOUNT,
    CartWarning,
    add_reserved_stock,
    taxable,
    warnings_of,
    with_amounts,
    without_taxes,
)
from shop.rules.cart.totals import Rate, Totals, total_order, total_untaxed

PACKED_STATES = ("delivery", "payment", "confirm")
"""States in which the shopper has seen the full total, and stock may be reserved."""


class DetailsNotRead(Exception):
    """A line changes that was read without its details."""


class Cart(msgspec.Struct, frozen=True):
    """An order with its lines and their warnings."""

    order: Order
    lines: Sequence[CartLine] = ()
    warnings: Sequence[CartWarning] = ()
    catalog: CatalogMoment | None = None
    """The version of the catalog that quoted the lines, unless prices are those of an owner."""


class LockedCart(msgspec.Struct, frozen=True):
    """A cart with its lines and pricing, about to be changed. It is locked, unless it is a snapshot."""

    order: Order
    lines: Sequence[CartLine]
    pricing: Pricing
    snapshot: CartSnapshot | None = None
    """If set, the cart is not locked: saving it raises OrderConflict if another request has changed it, and
    DetailsNotRead if a line changes that was read without its details.
    """
    catalog: CatalogMoment | None = None
    """The version of the catalog that quoted the lines, if they were read with it."""


async def lock_cart(ctx: Context, order_id: UUID | None = None, *, may_be_paid: bool = False) -> Order:
    """Locks the given open cart, or the caller's: the order token's first, else the bearer's newest. Raises while the
    cart is being paid, unless `may_be_paid` is set, as completion does.
    """
    cart = await orders.lock_open_cart(ctx.db, order_id) if order_id else await _lock_callers_cart(ctx)
    if cart is None:
        raise NotFound()
    if not may_be_paid:
        await refuse_while_paying(ctx, cart)
    return cart


async def _lock_callers_cart(ctx: Context) -> Order | None:
    claim = ctx.claim
    if not claim.bearer:
        if not claim.order_token_sent:
            raise Unauthenticated()
        return await carts.lock_by_token(ctx.db, claim) if claim.cart_id else None
    bearers = await find_bearers_cart(ctx)
    cart = await orders.lock_open_cart(ctx.db, bearers.cart.id) if bearers.cart else None
    # The token may have been replaced between the two statements; then only the owner may open the cart.
    if cart and bearers.cart and cart.user_id != bearers.user_id and cart.token_version != bearers.cart.token_version:
        return None
    return cart


async def refuse_while_paying(ctx: Context, cart: Order) -> None:
    """Raises while a payment is processing: the cart must not change until the provider answers."""
    if cart.state == "confirm" and await payments.is_paying(ctx.db, cart.id):
        raise PaymentInProgress()


async def lock_cart_with_lines(ctx: Context, order_id: UUID | None = None) -> LockedCart:
    return await prepare_lines(ctx, await lock_cart(ctx, order_id))


async def prepare_lines(ctx: Context, order: Order) -> LockedCart:
    """Loads the lines of a locked cart for a change, and releases its reservations."""
    await release_reservations(ctx, order)
    lines = await queries.list_lines(ctx.db, order.id) if order.item_count else []
    return LockedCart(order, lines, await get_pricing(ctx, order))


async def release_reservations(ctx: Context, order: Order) -> None:
    """Releases reserved stock and store credit before lines change: the stock becomes available to the new lines, and
    the credit was reserved for another total.
    """
    if order.state in PACKED_STATES:
        await release_stock(ctx, order)
    if order.store_credit_total:
        await drop_payments(ctx.db, order.id)


async def get_pricing(ctx: Context, order: Order, currency: str | None = None) -> Pricing:
    """Returns the pricing of the cart's owner."""
    currency_code = currency or order.currency
    return await prices.find_pricing(ctx.db, order.user_id, currency_code) if order.user_id else Pricing(currency_code)


async def load_cart(ctx: Context, order: Order) -> Cart:
    """Loads a cart with its lines and warnings; an empty cart needs no queries."""
    if not order.item_count:
        return Cart(order)
    if order.completed_at is not None:
        return Cart(order, await queries.list_lines(ctx.db, order.id))
    variant_quotes: Mapping[UUID, Quote]
    catalog = None
    if order.user_id is None:
        quotable = await snapshots.list_stocked_lines(ctx.db, order)
        lines, catalog = quotable.lines, quotable.catalog
        variant_ids = [line.variant_id for line in lines]
        variant_quotes = await list_base_quotes(ctx, order.currency, variant_ids, quotable.stocks, catalog)
    else:
        lines = await queries.list_lines(ctx.db, order.id)
        variant_quotes = await list_line_quotes(ctx, await get_pricing(ctx, order), lines)
    if order.state in PACKED_STATES and ctx.shared.settings.hold_seconds:
        variant_quotes = add_reserved_stock(variant_quotes, await stock.list_reserved_quantities(ctx.db, order.id))
    return Cart(order, lines, warnings_of(lines, variant_quotes), catalog)


async def save_lines(
    ctx: Context, locked_cart: LockedCart, lines: Sequence[CartLine], variant_quotes: Mapping[UUID, Quote]
) -> Cart:
    """Saves the cart's lines and totals. Removes existing shipments, which no longer match, and returns the checkout to
    the address step.
    """
    order, snapshot = locked_cart.order, locked_cart.snapshot
    facts = snapshot.facts if snapshot else None
    discounts = await apply_promotions(ctx, order, lines, quotes=variant_quotes, facts=facts)
    after, totals = _total_lines(order, discounts, await _list_rates(ctx, locked_cart) if lines else [])
    if totals.item_total > MAX_CART_AMOUNT:
        raise Invalid({"base": ["exceeds the maximum order total"]}, "The cart exceeds the maximum order total.")
    put, removed_ids = _compare_lines(locked_cart.lines, after)
    if any(isinstance(line, SummarizedLine) for line in put):
        raise DetailsNotRead()
    saved_order = await queries.write_lines(
        ctx.db,
        order.id,
        put=put,
        removed_ids=removed_ids,
        unpacks=order.state != "cart",
        order={
            **totals.columns,
            **discounts.columns,
            "state": "address" if after and order.state != "cart" else "cart",
            "currency": order.currency,
        },
        row_version=snapshot.row_version if snapshot else None,
    )
    return Cart(saved_order, after, warnings_of(after, variant_quotes), locked_cart.catalog)


def _compare_lines(before: Sequence[CartLine], after: Sequence[CartLine]) -> tuple[list[CartLine], list[UUID]]:
    """Returns the lines that are new or changed, and the ids of those that are removed."""
    # A line that stays as it is remains the same object, and mostly at the same place: the others are few.
    pairs = [(was, now) for was, now in zip_longest(before, after) if was is not now]
    objects_before, objects_after = {id(was) for was, _ in pairs}, {id(now) for _, now in pairs}
    old_lines = {was.id: was for was, _ in pairs if was is not None and id(was) not in objects_after}
    new_lines = {now.id: now for _, now in pairs if now is not None and id(now) not in objects_before}
    put = [line for line in new_lines.values() if old_lines.get(line.id) != line]
    return put, [line_id for line_id in old_lines if line_id not in new_lines]


def _total_lines(
    order: Order, discounts: DiscountedCart[CartLine], rates: Sequence[Rate]
) -> tuple[list[CartLine], Totals]:
    """Returns the lines with their amounts, and the totals of the cart."""
    order_promo_total, manual_total = discounts.order_promo_total, order.manual_total
    if not rates and not order.manual_shares:
        totals = total_untaxed(discounts.lines, order_promo_total=order_promo_total, manual_total=manual_total)
        return [without_taxes(line) for line in discounts.lines], totals
    totals = total_order(
        [taxable(line) for line in discounts.lines],
        [],
        rates,
        order_promo_total=order_promo_total,
        manual_total=manual_total,
        manual_shares=order.manual_shares,
    )
    return [with_amounts(line, amounts) for line, amounts in zip(discounts.lines, totals.lines, strict=True)], totals


async def _list_rates(ctx: Context, locked_cart: LockedCart) -> Sequence[Rate]:
    if locked_cart.snapshot is not None:
        return await ctx.read_setup(taxes.list_rates_at, *(locked_cart.snapshot.destination or (None, None)))
    return await taxes.list_rates(ctx.db, locked_cart.order.ship_address_id)


async def list_line_quotes(ctx: Context, pricing: Pricing, lines: Sequence[CartLine]) -> Mapping[UUID, Quote]:
    return await quotes.list_quotes(ctx.db, pricing, {line.variant_id: line.quantity for line in lines})
