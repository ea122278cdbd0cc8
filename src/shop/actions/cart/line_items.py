"""Line item operations: add, change, remove, empty, and change the currency."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from uuid import UUID

import msgspec

from shop.actions.cart.access import find_bearers_cart
from shop.actions.cart.discounts import apply_promotions
from shop.actions.catalog.reservations import release_stock
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound, PaymentInProgress, Unauthenticated
from shop.base.ids import new_id
from shop.models.cart.orders import CartLine, Order
from shop.models.cart.orders import orders as order_table
from shop.models.cart.quotes import Quote
from shop.queries import writes
from shop.queries.cart import carts, orders
from shop.queries.cart import line_items as queries
from shop.queries.cart.promotions import delete_order_codes
from shop.queries.catalog import prices, quotes, stock
from shop.queries.catalog.prices import Pricing
from shop.queries.checkout import adjustments
from shop.queries.checkout.store_credit import drop_payments
from shop.queries.payments import payments
from shop.queries.setup import taxes
from shop.rules.cart.cart_merge import Merge
from shop.rules.cart.line_items import (
    MOST_AMOUNT,
    MOST_LINES,
    MOST_PIECES,
    CartWarning,
    LineItemInput,
    add_held_stock,
    apply_quote,
    refusal,
    taxable,
    warnings_of,
    with_amounts,
)
from shop.rules.cart.totals import total_order
from shop.rules.metadata import CART_METADATA_ERROR, MAX_CART_METADATA_BYTES, METADATA, cart_metadata_bytes

PACKED_STATES = ("delivery", "payment", "confirm")
"""States in which the shopper has seen the full total, and stock may be reserved."""


class Cart(msgspec.Struct, frozen=True):
    """An order with its lines and their warnings."""

    order: Order
    lines: Sequence[CartLine] = ()
    warnings: Sequence[CartWarning] = ()


class LockedCart(msgspec.Struct, frozen=True):
    """A locked cart with its lines and pricing."""

    order: Order
    lines: Sequence[CartLine]
    pricing: Pricing


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
    lines = await queries.list_lines(ctx.db, order.id)
    if order.completed_at is not None:
        return Cart(order, lines)
    variant_quotes = await _quotes(ctx, await get_pricing(ctx, order), lines)
    if order.state in PACKED_STATES and ctx.shared.settings.hold_seconds:
        variant_quotes = add_held_stock(variant_quotes, await stock.list_reserved_quantities(ctx.db, order.id))
    return Cart(order, lines, warnings_of(lines, variant_quotes))


async def add_items(ctx: Context, wishes: Sequence[LineItemInput], *, is_one: bool) -> Cart:
    """Adds all items or none. Errors are keyed by item index, or by field alone if `is_one`."""
    async with ctx.transaction() as once:
        order = await lock_cart(ctx)
        if once.done:
            return await load_cart(ctx, order)
        locked_cart = await prepare_lines(ctx, order)
        cart = await add_lines(ctx, locked_cart, wishes, is_one=is_one)
        once.made(locked_cart.order.id)
        return cart


async def add_lines(ctx: Context, locked_cart: LockedCart, wishes: Sequence[LineItemInput], *, is_one: bool) -> Cart:
    quantities = {line.variant_id: line.quantity for line in locked_cart.lines}
    for wish in wishes:
        quantities[wish.variant_id] = quantities.get(wish.variant_id, 0) + wish.quantity
    variant_quotes = await quotes.list_quotes(ctx.db, locked_cart.pricing, quantities)
    _check_wishes(wishes, quantities, variant_quotes, is_one=is_one)
    now = datetime.now(UTC)
    lines = {line.variant_id: line for line in locked_cart.lines}
    for wish in wishes:
        line = lines.get(wish.variant_id) or _new_line(locked_cart.order, variant_quotes[wish.variant_id], now)
        line = apply_quote(line, variant_quotes[wish.variant_id], quantities[wish.variant_id], now)
        lines[wish.variant_id] = _with_metadata(line, wish)
    if len(lines) > MOST_LINES:
        raise Invalid({"base": [f"a cart holds at most {MOST_LINES} lines"]})
    if any(wish.public_metadata or wish.private_metadata for wish in wishes):
        check_metadata(lines.values())
    return await save_lines(ctx, locked_cart, list(lines.values()), variant_quotes)


def check_metadata(lines: Iterable[CartLine]) -> None:
    if cart_metadata_bytes(lines) > MAX_CART_METADATA_BYTES:
        raise Invalid({"base": [CART_METADATA_ERROR]})


async def set_quantity(ctx: Context, line_item_id: UUID | None, quantity: int) -> Cart:
    async with ctx.transaction() as once:
        order = await lock_cart(ctx)
        if once.done:
            return await load_cart(ctx, order)
        locked_cart = await prepare_lines(ctx, order)
        cart = await change_quantity(ctx, locked_cart, line_item_id, quantity)
        once.made(locked_cart.order.id)
        return cart


async def change_quantity(ctx: Context, locked_cart: LockedCart, line_item_id: UUID | None, quantity: int) -> Cart:
    line = _get_line(locked_cart, line_item_id)
    quantities = {each.variant_id: each.quantity for each in locked_cart.lines} | {line.variant_id: quantity}
    variant_quotes = await quotes.list_quotes(ctx.db, locked_cart.pricing, quantities)
    why = refusal(variant_quotes[line.variant_id], quantity)
    if why:
        raise Invalid({why[1]: [why[2]]}, code=why[0])
    updated_line = apply_quote(line, variant_quotes[line.variant_id], quantity, datetime.now(UTC))
    return await save_lines(
        ctx, locked_cart, [updated_line if each is line else each for each in locked_cart.lines], variant_quotes
    )


async def remove_line(ctx: Context, line_item_id: UUID | None) -> Cart:
    async with ctx.db.transaction():
        return await drop_line(ctx, await lock_cart_with_lines(ctx), line_item_id)


async def drop_line(ctx: Context, locked_cart: LockedCart, line_item_id: UUID | None) -> Cart:
    line = _get_line(locked_cart, line_item_id)
    remaining_lines = [each for each in locked_cart.lines if each is not line]
    return await save_lines(ctx, locked_cart, remaining_lines, await _quotes(ctx, locked_cart.pricing, remaining_lines))


async def empty(ctx: Context, order_id: UUID | None = None) -> Cart:
    async with ctx.transaction() as once:
        order = await lock_cart(ctx, order_id)
        if once.done:
            return await load_cart(ctx, order)
        locked_cart = await prepare_lines(ctx, order)
        once.made(order.id)
        await delete_order_codes(ctx.db, order.id)
        return await save_lines(ctx, locked_cart, [], {}) if locked_cart.lines else Cart(locked_cart.order)


async def change_currency(ctx: Context, currency: str) -> Cart:
    """Requotes every line in the currency; a line without a price there stays, with a warning."""
    if currency not in ctx.shared.shop.currencies:
        raise Invalid(
            {"new_currency": [f"must be one of {', '.join(ctx.shared.shop.currencies)}"]}, code="currency_not_supported"
        )
    async with ctx.transaction() as once:
        order = await lock_cart(ctx)
        if once.done:
            return await load_cart(ctx, order)
        locked_cart = await prepare_lines(ctx, order)
        pricing = await get_pricing(ctx, locked_cart.order, currency)
        variant_quotes, now = await _quotes(ctx, pricing, locked_cart.lines), datetime.now(UTC)
        lines = [_in_currency(line, variant_quotes.get(line.variant_id), currency, now) for line in locked_cart.lines]
        new_order = msgspec.structs.replace(order, currency=currency)
        if order.manual_total and currency != order.currency:
            # Manual adjustments were entered in the other currency.
            await adjustments.drop_manual(ctx.db, order.id)
            await writes.update_record(ctx.db, order_table, order.id, {"manual_total": 0})
            new_order = msgspec.structs.replace(new_order, manual_total=0)
        cart = await save_lines(ctx, LockedCart(new_order, locked_cart.lines, pricing), lines, variant_quotes)
        once.made(locked_cart.order.id)
        return cart


async def requote(ctx: Context, locked_cart: LockedCart) -> Cart:
    """Updates every line to the owner's current price; a line no longer sold keeps its quoted price."""
    if not locked_cart.lines:
        return Cart(locked_cart.order)
    variant_quotes, now = await _quotes(ctx, locked_cart.pricing, locked_cart.lines), datetime.now(UTC)
    lines = [
        apply_quote(line, quote, line.quantity, now)
        if (quote := variant_quotes.get(line.variant_id)) and quote.is_sold
        else line
        for line in locked_cart.lines
    ]
    return await save_lines(ctx, locked_cart, lines, variant_quotes)


async def save_lines(
    ctx: Context, locked_cart: LockedCart, lines: Sequence[CartLine], variant_quotes: Mapping[UUID, Quote]
) -> Cart:
    """Saves the cart's lines and totals. Existing shipments no longer match: they are removed, and the checkout returns
    to the address step.
    """
    order = locked_cart.order
    discounts = await apply_promotions(ctx, order, lines, quotes=variant_quotes)
    totals = total_order(
        [taxable(line) for line in discounts.lines],
        [],
        await taxes.list_rates(ctx.db, order.ship_address_id) if lines else [],
        order_promo_total=discounts.order_promo_total,
        manual_total=order.manual_total,
    )
    if totals.item_total > MOST_AMOUNT:
        raise Invalid({"base": ["exceeds the maximum order total"]}, "The cart exceeds the maximum order total.")
    after = [with_amounts(line, amounts) for line, amounts in zip(discounts.lines, totals.lines, strict=True)]
    before = {line.id: line for line in locked_cart.lines}
    line_ids = {line.id for line in after}
    saved_order = await queries.write_lines(
        ctx.db,
        order.id,
        put=[line for line in after if before.get(line.id) != line],
        removed_ids=[line_id for line_id in before if line_id not in line_ids],
        unpacks=order.state != "cart",
        order={
            **totals.columns,
            **discounts.columns,
            "state": "address" if after and order.state != "cart" else "cart",
            "currency": order.currency,
        },
    )
    return Cart(saved_order, after, warnings_of(after, variant_quotes))


def merge_lines(
    order: Order,
    own: Sequence[CartLine],
    others: Sequence[CartLine],
    merge: Merge,
    variant_quotes: Mapping[UUID, Quote],
) -> list[CartLine]:
    """Returns the lines of a merged cart at its owner's prices; a line no longer sold is unchanged, so that it gets a
    warning.
    """
    now = datetime.now(UTC)
    own_lines, other_lines = ({line.variant_id: line for line in lines} for lines in (own, others))
    merged_lines = []
    for merge_line in merge.lines:
        line = own_lines.get(merge_line.variant_id) or _move_to_order(other_lines[merge_line.variant_id], order, now)
        quote = variant_quotes.get(merge_line.variant_id)
        if quote is None or not quote.is_sold:
            merged_lines.append(msgspec.structs.replace(line, quantity=merge_line.quantity))
        else:
            merged_lines.append(apply_quote(line, quote, merge_line.quantity, now))
    return merged_lines


def _move_to_order(line: CartLine, order: Order, now: datetime) -> CartLine:
    price = line.price if line.currency == order.currency else None
    return msgspec.structs.replace(
        line, id=new_id(), order_id=order.id, currency=order.currency, price=price, created_at=now
    )


async def _quotes(ctx: Context, pricing: Pricing, lines: Sequence[CartLine]) -> Mapping[UUID, Quote]:
    return await quotes.list_quotes(ctx.db, pricing, {line.variant_id: line.quantity for line in lines})


def _get_line(locked_cart: LockedCart, line_item_id: UUID | None) -> CartLine:
    line_item = next((line for line in locked_cart.lines if line.id == line_item_id), None)
    if line_item is None:
        raise NotFound()
    return line_item


def _new_line(order: Order, quote: Quote, now: datetime) -> CartLine:
    return CartLine(
        id=new_id(),
        order_id=order.id,
        variant_id=quote.variant_id,
        quantity=1,
        quoted_at=now,
        name=quote.name,
        slug=quote.slug,
        created_at=now,
        updated_at=now,
        currency=order.currency,
    )


def _with_metadata(line: CartLine, wish: LineItemInput) -> CartLine:
    metadata = {name: value for name in METADATA if (value := getattr(wish, name)) is not None}
    return msgspec.structs.replace(line, **metadata)


def _in_currency(line: CartLine, quote: Quote | None, currency: str, now: datetime) -> CartLine:
    new_line = msgspec.structs.replace(line, currency=currency)
    if quote is None:
        return msgspec.structs.replace(new_line, price=None, compare_at_price=None, price_list_id=None, quoted_at=now)
    return apply_quote(new_line, quote, line.quantity, now)


def _check_wishes(
    wishes: Sequence[LineItemInput],
    quantities: Mapping[UUID, int],
    variant_quotes: Mapping[UUID, Quote],
    *,
    is_one: bool,
) -> None:
    errors: dict[str, list[str]] = {}
    codes = []
    for index, wish in enumerate(wishes):
        prefix = "" if is_one else f"items.{index}."
        quote = variant_quotes.get(wish.variant_id)
        if quote is None or quote.is_deleted:
            if is_one:
                raise NotFound()
            errors.setdefault(f"{prefix}variant_id", []).append("is not a variant")
            continue
        if quantities[wish.variant_id] > MOST_PIECES:
            errors.setdefault(f"{prefix}quantity", []).append(f"must be at most {MOST_PIECES}")
            continue
        why = refusal(quote, quantities[wish.variant_id])
        if why:
            codes.append(why[0])
            errors.setdefault(f"{prefix}{why[1]}", []).append(why[2])
    if errors:
        raise Invalid(errors, code=codes[0] if is_one and codes else None)
