"""Orders with their parts: lines, shipments with their rates, and payments."""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar
from uuid import UUID

import msgspec

from shop.actions.catalog.quotes import list_base_quotes
from shop.actions.context import Context
from shop.models.cart.orders import CartLine, Order, orders
from shop.models.cart.quotes import CatalogMoment, Quote
from shop.models.checkout.payments import STORE_CREDIT_METHOD, Payment
from shop.models.checkout.shipments import Shipment, ShipmentItem, ShippingRate
from shop.queries import writes
from shop.queries.cart import line_items as line_queries
from shop.queries.cart.promotions import PromotionFacts
from shop.queries.cart.snapshots import StockedLines
from shop.queries.checkout import parts as part_queries
from shop.queries.checkout import shipments as shipment_queries
from shop.queries.checkout.parts import CheckoutParts, ShippingDestination, find_parts, list_lines_and_parts
from shop.queries.payments import payments as payment_queries
from shop.rules.cart.line_items import CartWarning
from shop.rules.checkout.payments import Balance, PaymentAmounts, balance_of, is_valid
from shop.rules.checkout.steps import CheckoutFacts
from shop.rules.setup.shipping import LocationStock


class NeedsLock(Exception):
    """A change of an order that was read without a lock takes more than one write."""


class OrderPart(Protocol):
    """A record that belongs to an order."""

    @property
    def order_id(self) -> UUID: ...


P = TypeVar("P", bound=OrderPart)


class Checkout(msgspec.Struct, frozen=True):
    """An order with everything the checkout steps need."""

    order: Order
    lines: Sequence[CartLine]
    shipments: Sequence[Shipment] = ()
    items: Sequence[ShipmentItem] = ()
    rates: Sequence[ShippingRate] = ()
    payments: Sequence[Payment] = ()
    warnings: Sequence[CartWarning] = ()
    """Warnings for the caller about the change."""
    quotes: Mapping[UUID, Quote] | None = None
    """The quotes of the lines, if they were read with them."""
    stock: Sequence[LocationStock] | None = None
    """The stock of the lines at active locations, if it was read with them."""
    promotion_facts: PromotionFacts | None = None
    """The facts for promotions, if they were read with the order."""
    destination: ShippingDestination | None = None
    """The country and state of the shipping address, if they were read with the order."""
    catalog: CatalogMoment | None = None
    """The version of the catalog that quoted the lines, if they were read with it."""
    has_reservations: bool = True
    """Whether stock may be reserved for the order."""
    is_blocked: bool = False
    """Whether an operator blocked its customer, or the account with its e-mail address."""
    row_version: str | None = None
    """If set, the order was read without a lock: a save raises OrderConflict unless its row still has this version."""

    @property
    def covered(self) -> int:
        """The amount that the chosen payments cover: store credit covers its own amount, any other method the rest."""
        valid_payments = [payment for payment in self.payments if is_valid(build_payment_amounts(payment))]
        if any(not is_credit(payment) for payment in valid_payments):
            return self.order.total
        return sum(payment.amount for payment in valid_payments)

    @property
    def balance(self) -> Balance:
        """The amounts paid and still due for a completed order."""
        payments = [build_payment_amounts(payment) for payment in self.payments]
        return balance_of(payments, self.order.total, is_canceled=self.order.canceled_at is not None)

    @property
    def facts(self) -> CheckoutFacts:
        order = self.order
        rated_ids = {rate.shipment_id for rate in self.rates if rate.is_selected}
        is_pickup = order.pickup_location_id is not None
        return CheckoutFacts(
            state=order.state,
            item_count=order.item_count,
            total=order.total,
            # Customers who pick up their goods often pay at the counter, and leave no address of any kind.
            has_email=bool(order.email) or is_pickup,
            has_bill_address=order.bill_address_id is not None or is_pickup,
            has_ship_address=order.ship_address_id is not None,
            shipment_count=len(self.shipments),
            unrated=sum(shipment.id not in rated_ids for shipment in self.shipments),
            covered=self.covered,
            unpriced=sum(line.price is None for line in self.lines),
        )


def is_credit(payment: Payment) -> bool:
    """Returns whether the payment uses store credit."""
    return payment.payment_method_id == STORE_CREDIT_METHOD


def build_payment_amounts(payment: Payment) -> PaymentAmounts:
    return PaymentAmounts(payment.state, payment.amount, payment.captured_amount, payment.refunded_amount)


async def load_checkout(ctx: Context, order: Order) -> Checkout:
    """Loads an order with its lines and other parts, in one statement."""
    cart_lines, parts = await list_lines_and_parts(ctx.db, order)
    return _build_checkout(ctx, order, cart_lines.lines, parts)


async def load_quoted_checkout(ctx: Context, order: Order) -> Checkout:
    """Loads an open order with its parts, and the quotes and stock of its lines. The quotes of an owner, whose prices
    depend on price lists, are read when they are needed.
    """
    return await _add_quotes(ctx, order, *await list_lines_and_parts(ctx.db, order))


async def find_checkout(ctx: Context, *, with_quotes: bool = True) -> Checkout | None:
    """Returns the open cart of the order token like `load_quoted_checkout`, in one statement and without a lock; not
    whether its customer is blocked.
    """
    cart = await part_queries.find_checkout(ctx.db, ctx.claim)
    if cart is None:
        return None
    checkout = await _add_quotes(ctx, cart.order, cart.cart_lines, cart.parts, with_quotes=with_quotes)
    return msgspec.structs.replace(checkout, row_version=cart.row_version)


async def _add_quotes(
    ctx: Context, order: Order, cart_lines: StockedLines, parts: CheckoutParts, *, with_quotes: bool = True
) -> Checkout:
    quotes = None
    if with_quotes and order.user_id is None:
        variant_ids = [line.variant_id for line in cart_lines.lines]
        quotes = await list_base_quotes(ctx, order.currency, variant_ids, cart_lines.stocks, cart_lines.catalog)
    checkout = _build_checkout(ctx, order, cart_lines.lines, parts)
    return msgspec.structs.replace(checkout, quotes=quotes, stock=cart_lines.location_stock)


async def load_parts(ctx: Context, order: Order, lines: Sequence[CartLine]) -> Checkout:
    """Loads the parts of an order besides its lines, and the version of the setup."""
    return _build_checkout(ctx, order, lines, await find_parts(ctx.db, order))


def _build_checkout(ctx: Context, order: Order, lines: Sequence[CartLine], parts: CheckoutParts) -> Checkout:
    ctx.setup_version = parts.setup_version
    facts = PromotionFacts(parts.now, parts.promotion_version, [], False, {}, parts.codes)
    return Checkout(
        order,
        lines,
        parts.shipments,
        parts.items,
        parts.rates,
        parts.payments,
        promotion_facts=facts if order.user_id is None else None,
        destination=parts.destination,
        has_reservations=parts.has_reservations,
        is_blocked=parts.is_blocked,
    )


async def load_checkouts(ctx: Context, orders: Sequence[Order]) -> list[Checkout]:
    """Loads several orders with as many statements as one order needs."""
    ids = [order.id for order in orders]
    if not ids:
        return []
    lines = await line_queries.list_lines_of(ctx.db, ids)
    shipments = await shipment_queries.list_shipments(ctx.db, *ids)
    items = await shipment_queries.list_items(ctx.db, *ids)
    rates = await shipment_queries.list_shipping_rates(ctx.db, *ids)
    payments = await payment_queries.list_payments(ctx.db, *ids)
    return [
        Checkout(
            order,
            _parts_of(order, lines),
            _parts_of(order, shipments),
            _parts_of(order, items),
            _parts_of(order, rates),
            _parts_of(order, payments),
        )
        for order in orders
    ]


def _parts_of(order: Order, parts: Sequence[P]) -> list[P]:
    return [part for part in parts if part.order_id == order.id]


async def change_order(ctx: Context, order: Order, **values: object) -> Order:
    if not values:
        return order
    await writes.update_record(ctx.db, orders, order.id, values)
    return msgspec.structs.replace(order, **values)
