"""Line item operations: add, change, remove, empty, and change the currency."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from uuid import UUID

import msgspec
from msgspec import UNSET

from shop.actions.cart.locked_carts import (
    Cart,
    DetailsNotRead,
    LockedCart,
    get_pricing,
    list_line_quotes,
    load_cart,
    lock_cart,
    lock_cart_with_lines,
    prepare_lines,
    save_lines,
)
from shop.actions.catalog.quotes import list_base_quotes
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound
from shop.base.ids import new_id
from shop.base.input_types import MAX_UNITS
from shop.models.cart.inputs import MAX_LINES, CartItemInput
from shop.models.cart.orders import CartLine, Order
from shop.models.cart.orders import orders as order_table
from shop.models.cart.quotes import Quote
from shop.queries import writes
from shop.queries.cart.line_items import OrderConflict
from shop.queries.cart.promotions import delete_order_codes
from shop.queries.cart.snapshots import find_snapshot
from shop.queries.catalog import quotes
from shop.queries.catalog.prices import Pricing
from shop.queries.checkout import adjustments
from shop.rules.cart.cart_merge import Merge
from shop.rules.cart.line_items import (
    apply_quote,
    find_refusal,
)
from shop.rules.cart.quotes import requote_available_lines
from shop.rules.metadata import CART_METADATA_ERROR, MAX_CART_METADATA_BYTES, METADATA, cart_metadata_bytes

_UNRESERVED_STATES = ("cart", "address")
"""States in which a cart has neither reserved stock nor a payment in progress."""


async def add_items(ctx: Context, items: Sequence[CartItemInput], *, is_one: bool, with_details: bool = True) -> Cart:
    """Adds all items or none. Errors are keyed by item index, or by field alone if `is_one`. Without details, the
    lines that stay as they are may be of the type `SummarizedLine`.
    """
    if ctx.request_key is None and ctx.claim.cart_id and not ctx.claim.bearer:
        with_details = with_details or any(item.public_metadata or item.private_metadata for item in items)
        cart = await _add_without_lock(ctx, items, is_one=is_one, with_details=with_details)
        if cart is not None:
            return cart
    async with ctx.transaction() as idempotency:
        order = await lock_cart(ctx)
        if idempotency.existing_id:
            return await load_cart(ctx, order)
        locked_cart = await prepare_lines(ctx, order)
        cart = await add_lines(ctx, locked_cart, items, is_one=is_one)
        idempotency.record(locked_cart.order.id)
        return cart


async def _add_without_lock(
    ctx: Context, items: Sequence[CartItemInput], *, is_one: bool, with_details: bool
) -> Cart | None:
    """Adds items to a guest's cart; returns None if that requires a lock, because another request changes the cart at
    the same time, or because reservations or payments must be released first.
    """
    added_ids = [item.variant_id for item in items]
    snapshot = await find_snapshot(ctx.db, ctx.claim, added_ids, with_details=with_details)
    if snapshot is None or snapshot.order.state not in _UNRESERVED_STATES or snapshot.order.store_credit_total:
        return None
    order, cart_lines, ctx.setup_version = snapshot.order, snapshot.cart_lines, snapshot.setup_version
    variant_ids = [*added_ids, *(line.variant_id for line in cart_lines.lines)]
    variant_quotes = await list_base_quotes(ctx, order.currency, variant_ids, cart_lines.stocks, cart_lines.catalog)
    unlocked_cart = LockedCart(order, cart_lines.lines, Pricing(order.currency), snapshot, cart_lines.catalog)
    try:
        return await _add_quoted(ctx, unlocked_cart, items, variant_quotes, is_one=is_one)
    except DetailsNotRead:
        return await _add_without_lock(ctx, items, is_one=is_one, with_details=True)
    except OrderConflict:
        return None


async def add_lines(ctx: Context, locked_cart: LockedCart, items: Sequence[CartItemInput], *, is_one: bool) -> Cart:
    quantities = Counter({line.variant_id: line.quantity for line in locked_cart.lines})
    for item in items:
        quantities[item.variant_id] += item.quantity
    variant_quotes = await quotes.list_quotes(ctx.db, locked_cart.pricing, quantities)
    return await _add_quoted(ctx, locked_cart, items, variant_quotes, is_one=is_one)


async def _add_quoted(
    ctx: Context,
    locked_cart: LockedCart,
    items: Sequence[CartItemInput],
    variant_quotes: Mapping[UUID, Quote],
    *,
    is_one: bool,
) -> Cart:
    # By integers, whose hash does not run Python code.
    lines = {line.variant_id.int: line for line in locked_cart.lines}
    quantities = Counter({item.variant_id: 0 for item in items})
    for item in items:
        quantities[item.variant_id] += item.quantity
    for variant_id in quantities:
        if line := lines.get(variant_id.int):
            quantities[variant_id] += line.quantity
    _check_items(items, quantities, variant_quotes, is_one=is_one)
    now = datetime.now(UTC)
    for item in items:
        line = lines.get(item.variant_id.int) or _new_line(locked_cart.order, variant_quotes[item.variant_id], now)
        line = apply_quote(line, variant_quotes[item.variant_id], quantities[item.variant_id], now)
        lines[item.variant_id.int] = _with_metadata(line, item)
    if len(lines) > MAX_LINES:
        raise Invalid({"base": [f"a cart holds at most {MAX_LINES} lines"]})
    if any(item.public_metadata or item.private_metadata for item in items):
        check_metadata(lines.values())
    return await save_lines(ctx, locked_cart, list(lines.values()), variant_quotes)


def check_metadata(lines: Iterable[CartLine]) -> None:
    if cart_metadata_bytes(lines) > MAX_CART_METADATA_BYTES:
        raise Invalid({"base": [CART_METADATA_ERROR]})


async def set_quantity(ctx: Context, line_item_id: UUID | None, quantity: int) -> Cart:
    async with ctx.transaction() as idempotency:
        order = await lock_cart(ctx)
        if idempotency.existing_id:
            return await load_cart(ctx, order)
        locked_cart = await prepare_lines(ctx, order)
        cart = await change_quantity(ctx, locked_cart, line_item_id, quantity)
        idempotency.record(locked_cart.order.id)
        return cart


async def change_quantity(ctx: Context, locked_cart: LockedCart, line_item_id: UUID | None, quantity: int) -> Cart:
    line = _get_line(locked_cart, line_item_id)
    quantities = {each.variant_id: each.quantity for each in locked_cart.lines} | {line.variant_id: quantity}
    variant_quotes = await quotes.list_quotes(ctx.db, locked_cart.pricing, quantities)
    rejection = find_refusal(variant_quotes[line.variant_id], quantity)
    if rejection:
        raise Invalid({rejection[1]: [rejection[2]]}, code=rejection[0])
    updated_line = apply_quote(line, variant_quotes[line.variant_id], quantity, datetime.now(UTC))
    return await save_lines(
        ctx, locked_cart, [updated_line if each is line else each for each in locked_cart.lines], variant_quotes
    )


async def accept_changes(ctx: Context) -> Cart:
    """Applies current prices and stock to all lines: removes unavailable ones and reduces quantities."""
    async with ctx.db.transaction():
        return await apply_current_quotes(ctx, await lock_cart_with_lines(ctx))


async def apply_current_quotes(ctx: Context, locked_cart: LockedCart) -> Cart:
    """Applies current prices and stock in the caller's transaction, like `accept_changes`."""
    variant_quotes = await list_line_quotes(ctx, locked_cart.pricing, locked_cart.lines)
    lines = requote_available_lines(locked_cart.lines, variant_quotes, datetime.now(UTC))
    return await save_lines(ctx, locked_cart, lines, variant_quotes)


async def remove_line(ctx: Context, line_item_id: UUID | None) -> Cart:
    async with ctx.db.transaction():
        return await drop_line(ctx, await lock_cart_with_lines(ctx), line_item_id)


async def drop_line(ctx: Context, locked_cart: LockedCart, line_item_id: UUID | None) -> Cart:
    line = _get_line(locked_cart, line_item_id)
    remaining_lines = [each for each in locked_cart.lines if each is not line]
    return await save_lines(
        ctx, locked_cart, remaining_lines, await list_line_quotes(ctx, locked_cart.pricing, remaining_lines)
    )


async def empty_cart(ctx: Context, order_id: UUID | None = None) -> Cart:
    async with ctx.transaction() as idempotency:
        order = await lock_cart(ctx, order_id)
        if idempotency.existing_id:
            return await load_cart(ctx, order)
        locked_cart = await prepare_lines(ctx, order)
        idempotency.record(order.id)
        had_codes = await delete_order_codes(ctx.db, order.id)
        return await save_lines(ctx, locked_cart, [], {}) if locked_cart.lines or had_codes else Cart(order)


async def change_currency(ctx: Context, currency: str) -> Cart:
    """Requotes every line in the currency; a line without a price there stays, with a warning."""
    if currency not in ctx.shared.shop.currencies:
        raise Invalid(
            {"new_currency": [f"must be one of {', '.join(ctx.shared.shop.currencies)}"]}, code="currency_not_supported"
        )
    async with ctx.transaction() as idempotency:
        order = await lock_cart(ctx)
        if idempotency.existing_id:
            return await load_cart(ctx, order)
        locked_cart = await prepare_lines(ctx, order)
        pricing = await get_pricing(ctx, locked_cart.order, currency)
        variant_quotes, now = await list_line_quotes(ctx, pricing, locked_cart.lines), datetime.now(UTC)
        lines = [_in_currency(line, variant_quotes.get(line.variant_id), currency, now) for line in locked_cart.lines]
        new_order = msgspec.structs.replace(order, currency=currency)
        if order.manual_total and currency != order.currency:
            # Manual adjustments were entered in the other currency.
            await adjustments.drop_manual(ctx.db, order.id)
            await writes.update_record(ctx.db, order_table, order.id, {"manual_total": 0})
            new_order = msgspec.structs.replace(new_order, manual_total=0)
        cart = await save_lines(ctx, LockedCart(new_order, locked_cart.lines, pricing), lines, variant_quotes)
        idempotency.record(locked_cart.order.id)
        return cart


async def requote(ctx: Context, locked_cart: LockedCart) -> Cart:
    """Updates every line to the owner's current price; a line no longer sold keeps its quoted price."""
    if not locked_cart.lines:
        return Cart(locked_cart.order)
    variant_quotes, now = await list_line_quotes(ctx, locked_cart.pricing, locked_cart.lines), datetime.now(UTC)
    lines = [
        apply_quote(line, quote, line.quantity, now)
        if (quote := variant_quotes.get(line.variant_id)) and quote.is_sold
        else line
        for line in locked_cart.lines
    ]
    return await save_lines(ctx, locked_cart, lines, variant_quotes)


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


def _with_metadata(line: CartLine, item: CartItemInput) -> CartLine:
    metadata = {name: value for name in METADATA if (value := getattr(item, name)) is not UNSET}
    return msgspec.structs.replace(line, **metadata)


def _in_currency(line: CartLine, quote: Quote | None, currency: str, now: datetime) -> CartLine:
    new_line = msgspec.structs.replace(line, currency=currency)
    if quote is None:
        return msgspec.structs.replace(new_line, price=None, compare_at_price=None, price_list_id=None, quoted_at=now)
    return apply_quote(new_line, quote, line.quantity, now)


def _check_items(
    items: Sequence[CartItemInput],
    quantities: Mapping[UUID, int],
    variant_quotes: Mapping[UUID, Quote],
    *,
    is_one: bool,
) -> None:
    errors: dict[str, list[str]] = {}
    codes = []
    for index, item in enumerate(items):
        prefix = "" if is_one else f"items.{index}."
        quote = variant_quotes.get(item.variant_id)
        if quote is None or quote.is_deleted:
            if is_one:
                raise NotFound()
            errors.setdefault(f"{prefix}variant_id", []).append("is not a variant")
            continue
        if quantities[item.variant_id] > MAX_UNITS:
            errors.setdefault(f"{prefix}quantity", []).append(f"must be at most {MAX_UNITS}")
            continue
        rejection = find_refusal(quote, quantities[item.variant_id])
        if rejection:
            codes.append(rejection[0])
            errors.setdefault(f"{prefix}{rejection[1]}", []).append(rejection[2])
    if errors:
        raise Invalid(errors, code=codes[0] if is_one and codes else None)
