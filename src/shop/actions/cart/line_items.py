"""What shoppers do with the lines of a cart: add, change, remove, empty, in another currency."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from uuid import UUID

import msgspec

from shop.actions.cart.access import find_bearers_cart
from shop.actions.cart.discounts import discounted
from shop.actions.catalog.reservations import give_back
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound, PaymentInProgress, Unauthenticated
from shop.base.ids import new_id
from shop.models.cart.orders import CartLine, Order
from shop.models.cart.orders import orders as order_table
from shop.models.cart.quotes import Quote
from shop.queries import writes
from shop.queries.cart import carts, orders
from shop.queries.cart import line_items as queries
from shop.queries.cart.promotions import take_off
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
    Wish,
    quoted,
    refusal,
    taxable,
    warnings_of,
    with_amounts,
    with_held,
)
from shop.rules.cart.totals import total_order
from shop.rules.metadata import CART_METADATA_ERROR, MAX_CART_METADATA_BYTES, METADATA, cart_metadata_bytes

PACKED = ("delivery", "payment", "confirm")
"""From here on the shopper was told what everything comes to, and goods may be held."""


class Cart(msgspec.Struct, frozen=True):
    """An order with its lines, and what must be said of them."""

    order: Order
    lines: Sequence[CartLine] = ()
    warnings: Sequence[CartWarning] = ()


class Held(msgspec.Struct, frozen=True):
    """A cart that nobody else can change meanwhile."""

    order: Order
    lines: Sequence[CartLine]
    pricing: Pricing


async def hold_cart(ctx: Context, order_id: UUID | None = None, *, may_be_paid: bool = False) -> Order:
    """Locks the open cart that is named, or that the credentials lead to: the order token's first, else the bearer's
    newest. Only whoever completes it may come while it is being paid.
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
    # Its token may have been replaced between the two statements, and then opens it for its owner alone.
    if cart and bearers.cart and cart.user_id != bearers.user_id and cart.token_version != bearers.cart.token_version:
        return None
    return cart


async def refuse_while_paying(ctx: Context, cart: Order) -> None:
    """What a provider was asked to take the money for stays as it is until it has answered."""
    if cart.state == "confirm" and await payments.is_paying(ctx.db, cart.id):
        raise PaymentInProgress()


async def hold(ctx: Context, order_id: UUID | None = None) -> Held:
    return await prepare_lines(ctx, await hold_cart(ctx, order_id))


async def prepare_lines(ctx: Context, order: Order) -> Held:
    """The lines of a cart that is locked, about to be changed."""
    await unsettle(ctx, order)
    lines = await queries.list_lines(ctx.db, order.id) if order.item_count else []
    return Held(order, lines, await pricing_of(ctx, order))


async def unsettle(ctx: Context, order: Order) -> None:
    """Lines are about to change: what was held for them as they were counts for them as they will be, and what was set
    aside to pay them with was for another sum.
    """
    if order.state in PACKED:
        await give_back(ctx, order)
    if order.store_credit_total:
        await drop_payments(ctx.db, order.id)


async def pricing_of(ctx: Context, order: Order, currency: str | None = None) -> Pricing:
    """Whose prices count: those of the cart's owner."""
    wanted = currency or order.currency
    return await prices.find_pricing(ctx.db, order.user_id, wanted) if order.user_id else Pricing(wanted)


async def seen(ctx: Context, order: Order) -> Cart:
    """A cart as it is shown: nothing of it is looked up when there is nothing in it."""
    if not order.item_count:
        return Cart(order)
    lines = await queries.list_lines(ctx.db, order.id)
    if order.completed_at is not None:
        return Cart(order, lines)
    known = await _quotes(ctx, await pricing_of(ctx, order), lines)
    if order.state in PACKED and ctx.shared.settings.hold_seconds:
        known = with_held(known, await stock.list_held(ctx.db, order.id))
    return Cart(order, lines, warnings_of(lines, known))


async def add_items(ctx: Context, wishes: Sequence[Wish], *, is_one: bool) -> Cart:
    """All of them or none. What is wrong is told of each by its place, or of the only one by itself."""
    async with ctx.transaction() as once:
        order = await hold_cart(ctx)
        if once.done:
            return await seen(ctx, order)
        held = await prepare_lines(ctx, order)
        cart = await put_in(ctx, held, wishes, is_one=is_one)
        once.made(held.order.id)
        return cart


async def put_in(ctx: Context, held: Held, wishes: Sequence[Wish], *, is_one: bool) -> Cart:
    wanted = {line.variant_id: line.quantity for line in held.lines}
    for wish in wishes:
        wanted[wish.variant_id] = wanted.get(wish.variant_id, 0) + wish.quantity
    known = await quotes.list_quotes(ctx.db, held.pricing, wanted)
    _check_wishes(wishes, wanted, known, is_one=is_one)
    now = datetime.now(UTC)
    lines = {line.variant_id: line for line in held.lines}
    for wish in wishes:
        line = lines.get(wish.variant_id) or _new_line(held.order, known[wish.variant_id], now)
        line = quoted(line, known[wish.variant_id], wanted[wish.variant_id], now)
        lines[wish.variant_id] = _said(line, wish)
    if len(lines) > MOST_LINES:
        raise Invalid({"base": [f"a cart holds at most {MOST_LINES} lines"]})
    if any(wish.public_metadata or wish.private_metadata for wish in wishes):
        check_metadata(lines.values())
    return await keep(ctx, held, list(lines.values()), known)


def check_metadata(lines: Iterable[CartLine]) -> None:
    if cart_metadata_bytes(lines) > MAX_CART_METADATA_BYTES:
        raise Invalid({"base": [CART_METADATA_ERROR]})


async def set_quantity(ctx: Context, line_item_id: UUID | None, quantity: int) -> Cart:
    async with ctx.transaction() as once:
        order = await hold_cart(ctx)
        if once.done:
            return await seen(ctx, order)
        held = await prepare_lines(ctx, order)
        cart = await change_quantity(ctx, held, line_item_id, quantity)
        once.made(held.order.id)
        return cart


async def change_quantity(ctx: Context, held: Held, line_item_id: UUID | None, quantity: int) -> Cart:
    line = _get_line(held, line_item_id)
    wanted = {each.variant_id: each.quantity for each in held.lines} | {line.variant_id: quantity}
    known = await quotes.list_quotes(ctx.db, held.pricing, wanted)
    why = refusal(known[line.variant_id], quantity)
    if why:
        raise Invalid({why[1]: [why[2]]}, code=why[0])
    changed = quoted(line, known[line.variant_id], quantity, datetime.now(UTC))
    return await keep(ctx, held, [changed if each is line else each for each in held.lines], known)


async def remove_line(ctx: Context, line_item_id: UUID | None) -> Cart:
    async with ctx.db.transaction():
        return await take_out(ctx, await hold(ctx), line_item_id)


async def take_out(ctx: Context, held: Held, line_item_id: UUID | None) -> Cart:
    line = _get_line(held, line_item_id)
    left = [each for each in held.lines if each is not line]
    return await keep(ctx, held, left, await _quotes(ctx, held.pricing, left))


async def empty(ctx: Context, order_id: UUID | None = None) -> Cart:
    async with ctx.transaction() as once:
        order = await hold_cart(ctx, order_id)
        if once.done:
            return await seen(ctx, order)
        held = await prepare_lines(ctx, order)
        once.made(order.id)
        await take_off(ctx.db, order.id)
        return await keep(ctx, held, [], {}) if held.lines else Cart(held.order)


async def change_currency(ctx: Context, currency: str) -> Cart:
    """Every line is quoted anew; one without a price there stays, and says so."""
    if currency not in ctx.shared.shop.currencies:
        raise Invalid(
            {"new_currency": [f"must be one of {', '.join(ctx.shared.shop.currencies)}"]}, code="currency_not_supported"
        )
    async with ctx.transaction() as once:
        order = await hold_cart(ctx)
        if once.done:
            return await seen(ctx, order)
        held = await prepare_lines(ctx, order)
        pricing = await pricing_of(ctx, held.order, currency)
        known, now = await _quotes(ctx, pricing, held.lines), datetime.now(UTC)
        lines = [_in_currency(line, known.get(line.variant_id), currency, now) for line in held.lines]
        converted = msgspec.structs.replace(order, currency=currency)
        if order.manual_total and currency != order.currency:
            # What was entered by hand was meant in the other currency.
            await adjustments.drop_manual(ctx.db, order.id)
            await writes.update_record(ctx.db, order_table, order.id, {"manual_total": 0})
            converted = msgspec.structs.replace(converted, manual_total=0)
        cart = await keep(ctx, Held(converted, held.lines, pricing), lines, known)
        once.made(held.order.id)
        return cart


async def requote(ctx: Context, held: Held) -> Cart:
    """Every line at the price that the cart's owner pays now; what is not sold any more stays as it was quoted."""
    if not held.lines:
        return Cart(held.order)
    known, now = await _quotes(ctx, held.pricing, held.lines), datetime.now(UTC)
    lines = [
        quoted(line, quote, line.quantity, now) if (quote := known.get(line.variant_id)) and quote.is_sold else line
        for line in held.lines
    ]
    return await keep(ctx, held, lines, known)


async def keep(ctx: Context, held: Held, lines: Sequence[CartLine], known: Mapping[UUID, Quote]) -> Cart:
    """Writes what a cart's lines are from now on, with the totals that follow. Parcels were packed for other lines:
    they are unpacked, and the checkout goes back to the address.
    """
    order = held.order
    less = await discounted(ctx, order, lines, quotes=known)
    totals = total_order(
        [taxable(line) for line in less.lines],
        [],
        await taxes.list_rates(ctx.db, order.ship_address_id) if lines else [],
        order_promo_total=less.order_promo_total,
        manual_total=order.manual_total,
    )
    if totals.item_total > MOST_AMOUNT:
        raise Invalid({"base": ["comes to more than an order may"]}, "The cart would come to more than an order may.")
    after = [with_amounts(line, amounts) for line, amounts in zip(less.lines, totals.lines, strict=True)]
    before = {line.id: line for line in held.lines}
    kept = {line.id for line in after}
    written = await queries.write_lines(
        ctx.db,
        order.id,
        put=[line for line in after if before.get(line.id) != line],
        gone=[line_id for line_id in before if line_id not in kept],
        unpacks=order.state != "cart",
        order={
            **totals.columns,
            **less.columns,
            "state": "address" if after and order.state != "cart" else "cart",
            "currency": order.currency,
        },
    )
    return Cart(written, after, warnings_of(after, known))


def joined(
    order: Order, own: Sequence[CartLine], others: Sequence[CartLine], merge: Merge, known: Mapping[UUID, Quote]
) -> list[CartLine]:
    """The lines of a cart that another was joined with, as its owner pays them; what is not sold any more stays as it
    was, to be told of.
    """
    now = datetime.now(UTC)
    mine, theirs = ({line.variant_id: line for line in lines} for lines in (own, others))
    found = []
    for wanted in merge.lines:
        line = mine.get(wanted.variant_id) or _moved(theirs[wanted.variant_id], order, now)
        quote = known.get(wanted.variant_id)
        if quote is None or not quote.is_sold:
            found.append(msgspec.structs.replace(line, quantity=wanted.quantity))
        else:
            found.append(quoted(line, quote, wanted.quantity, now))
    return found


def _moved(line: CartLine, order: Order, now: datetime) -> CartLine:
    price = line.price if line.currency == order.currency else None
    return msgspec.structs.replace(
        line, id=new_id(), order_id=order.id, currency=order.currency, price=price, created_at=now
    )


async def _quotes(ctx: Context, pricing: Pricing, lines: Sequence[CartLine]) -> Mapping[UUID, Quote]:
    return await quotes.list_quotes(ctx.db, pricing, {line.variant_id: line.quantity for line in lines})


def _get_line(held: Held, line_item_id: UUID | None) -> CartLine:
    found = next((line for line in held.lines if line.id == line_item_id), None)
    if found is None:
        raise NotFound()
    return found


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


def _said(line: CartLine, wish: Wish) -> CartLine:
    said = {name: value for name in METADATA if (value := getattr(wish, name)) is not None}
    return msgspec.structs.replace(line, **said)


def _in_currency(line: CartLine, quote: Quote | None, currency: str, now: datetime) -> CartLine:
    renamed = msgspec.structs.replace(line, currency=currency)
    if quote is None:
        return msgspec.structs.replace(renamed, price=None, compare_at_price=None, price_list_id=None, quoted_at=now)
    return quoted(renamed, quote, line.quantity, now)


def _check_wishes(
    wishes: Sequence[Wish], wanted: Mapping[UUID, int], known: Mapping[UUID, Quote], *, is_one: bool
) -> None:
    errors: dict[str, list[str]] = {}
    codes = []
    for place, wish in enumerate(wishes):
        prefix = "" if is_one else f"items.{place}."
        quote = known.get(wish.variant_id)
        if quote is None or quote.is_deleted:
            if is_one:
                raise NotFound()
            errors.setdefault(f"{prefix}variant_id", []).append("is not a variant")
            continue
        if wanted[wish.variant_id] > MOST_PIECES:
            errors.setdefault(f"{prefix}quantity", []).append(f"must be at most {MOST_PIECES}")
            continue
        why = refusal(quote, wanted[wish.variant_id])
        if why:
            codes.append(why[0])
            errors.setdefault(f"{prefix}{why[1]}", []).append(why[2])
    if errors:
        raise Invalid(errors, code=codes[0] if is_one and codes else None)
