"""Checkout operations, each in one transaction or one statement that writes."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from decimal import Decimal
from uuid import UUID

from shop.actions.cart.access import acts_for_owner, require_owner
from shop.actions.cart.orders import Checkout, NeedsLock, find_checkout
from shop.actions.checkout import steps, store_credit
from shop.actions.checkout.coupons import apply_coupon, count_unknown_codes, read_code
from shop.actions.checkout.payments import choose_payment
from shop.actions.checkout.shipments import choose_rate, ensure_packed, select_rates
from shop.actions.checkout.stock_holds import reserve_items
from shop.actions.context import Context
from shop.actions.customers import account
from shop.base.errors import Invalid
from shop.base.money import minor_units
from shop.models.checkout.inputs import CheckoutFields, CheckoutPaymentInput, PaymentSourceInput, ShippingRateChoice
from shop.queries.cart.line_items import OrderConflict
from shop.queries.customers import users
from shop.rules.checkout.steps import STATES


async def update(
    ctx: Context,
    fields: CheckoutFields,
    payment_sources: Mapping[str, PaymentSourceInput],
    invalid: Invalid | None = None,
) -> Checkout:
    """Sets e-mail, addresses, shipping rates, coupon and payment. `invalid` has the errors of fields that could not be
    parsed; they are raised together with those of the addresses.
    """
    if (checkout := await _update_without_lock(ctx, fields, invalid)) is not None:
        return checkout
    guessing = count_unknown_codes(ctx) if fields.coupon_code is not None else nullcontext()
    async with guessing, ctx.transaction() as idempotency:
        checkout = await steps.lock_open_checkout(ctx)
        if not idempotency.existing_id:
            checkout = await steps.update_details(ctx, checkout, fields, invalid)
            checkout = await select_rates(ctx, checkout, fields.shipments_attributes or [])
            if fields.coupon_code is not None:
                checkout = await apply_coupon(ctx, checkout, read_code(fields.coupon_code))
            checkout = await _choose_payments(ctx, checkout, fields, payment_sources)
            idempotency.record(checkout.order.id)
    return checkout


async def _update_without_lock(ctx: Context, fields: CheckoutFields, invalid: Invalid | None) -> Checkout | None:
    """Sets e-mail and addresses of a guest's cart that has no address yet, with one write. Returns None if that
    requires a lock, because another request changes the cart at the same time, or because more than that changes.
    """
    has_others = fields.coupon_code is not None or fields.shipments_attributes
    if has_others or fields.payments_attributes or fields.existing_card:
        return None
    checkout = await _find_guests_checkout(ctx)
    if checkout is None or checkout.shipments or checkout.order.bill_address_id or checkout.order.ship_address_id:
        return None
    try:
        return await steps.update_details(ctx, checkout, fields, invalid)
    except (OrderConflict, NeedsLock):
        return None


async def _find_guests_checkout(ctx: Context) -> Checkout | None:
    """Returns a guest's checkout without payments and reserved stock, read without a lock. Whoever adds these to it, or
    changes what a write depends on, updates the row of the order.
    """
    if ctx.request_key is not None or ctx.claim.cart_id is None or ctx.claim.bearer is not None:
        return None
    checkout = await find_checkout(ctx)
    if checkout is None or checkout.order.user_id is not None or checkout.order.author_id is not None:
        return None
    return None if checkout.payments or checkout.has_reservations else checkout


async def enter_address(
    ctx: Context, fields: CheckoutFields, invalid: Invalid | None = None, *, saves_address: bool = False
) -> Checkout:
    """Sets e-mail and addresses, and moves to the delivery step. Saves nothing if a value is invalid or nothing can be
    sent to the address; `invalid` has the errors of fields that could not be parsed. With `saves_address`, the owner
    finds the shipping address in the address book from now on.
    """
    async with ctx.db.transaction():
        if saves_address and ctx.claim.bearer:
            # The common lock order: the user first, then the cart.
            await users.lock_user(ctx.db, (await ctx.signed_in()).user.id)
        checkout = await steps.update_details(ctx, await steps.lock_open_checkout(ctx), fields, invalid)
        order = checkout.order
        if saves_address and order.user_id and order.ship_address_id and acts_for_owner(ctx, order):
            await account.save_copy(ctx, order.user_id, order.ship_address_id)
        return await _advance(ctx, checkout, "delivery")


async def enter_delivery(ctx: Context, choices: Sequence[ShippingRateChoice]) -> Checkout:
    """Selects the shipping rates, and moves to the payment step."""
    async with ctx.db.transaction():
        checkout = await select_rates(ctx, await steps.lock_open_checkout(ctx), choices)
        return await _advance(ctx, checkout, "payment")


async def _advance(ctx: Context, checkout: Checkout, state: str) -> Checkout:
    """Moves to the state unless the checkout is past it; raises the error of a missing requirement."""
    if STATES.index(checkout.order.state) >= STATES.index(state):
        return checkout
    checkout, error = await steps.advance_to(ctx, checkout, upto=state)
    if error:
        raise error
    return checkout


async def next_step(ctx: Context, order_id: UUID | None = None) -> Checkout:
    async with ctx.db.transaction():
        return await steps.enter_next_step(ctx, await steps.lock_open_checkout(ctx, order_id))


async def advance(ctx: Context, order_id: UUID | None = None, *, state: str | None = None) -> Checkout:
    """Moves as far as possible. A missing requirement is an error only if the checkout does not reach `state`."""
    async with ctx.db.transaction():
        checkout, error = await steps.advance_to(ctx, await steps.lock_open_checkout(ctx, order_id))
        if error and state is not None and checkout.order.state != state:
            raise error
    return checkout


async def create_payment(ctx: Context, choice: CheckoutPaymentInput) -> Checkout:
    if (checkout := await _pay_without_lock(ctx, choice)) is not None:
        return checkout
    async with ctx.transaction() as idempotency:
        checkout = await steps.lock_open_checkout(ctx)
        if not idempotency.existing_id:
            checkout = await reserve_items(ctx, await _choose_payment(ctx, checkout, choice))
            idempotency.record(checkout.order.id)
    return checkout


async def _choose_payment(ctx: Context, checkout: Checkout, choice: CheckoutPaymentInput) -> Checkout:
    checkout, _ = await steps.advance_to(ctx, checkout, upto="payment", saves_state=False)
    return await choose_payment(ctx, checkout, choice)


async def _pay_without_lock(ctx: Context, choice: CheckoutPaymentInput) -> Checkout | None:
    """Selects the payment of a guest's cart that has none yet, with one write. Returns None if that requires a lock,
    because another request changes the cart at the same time, or because cards or stock are to be saved too.
    """
    has_source = choice.source_id or (choice.source_attributes and choice.source_attributes != PaymentSourceInput())
    if has_source or ctx.shared.settings.hold_seconds:
        return None
    checkout = await _find_guests_checkout(ctx)
    if checkout is None or not checkout.shipments:
        return None
    try:
        return await _choose_payment(ctx, checkout, choice)
    except (OrderConflict, NeedsLock):
        return None


async def validate_for_payment(ctx: Context, *, skips_state: bool) -> tuple[Checkout, list[str]]:
    async with ctx.db.transaction():
        return await steps.validate(ctx, skips_state=skips_state)


async def select_shipping_method(ctx: Context, method_id: UUID, shipment_id: UUID | None) -> Checkout:
    """Selects a method for one shipment, or for all if `shipment_id` is None."""
    async with ctx.db.transaction():
        checkout = await ensure_packed(ctx, await steps.lock_open_checkout(ctx))
        shipments = [each for each in checkout.shipments if shipment_id in (None, each.id)]
        if not shipments:
            raise Invalid({"shipment_id": ["is not a shipment of this order"]}, code="shipment_not_found")
        for shipment in shipments:
            rates = [rate for rate in checkout.rates if rate.shipment_id == shipment.id]
            rate = next((rate for rate in rates if rate.shipping_method_id == method_id), None)
            if rate is None:
                sentence = f"is not offered for shipment {shipment.number}"
                raise Invalid({"shipping_method_id": [sentence]}, code="shipping_method_not_found")
            checkout = await choose_rate(ctx, checkout, shipment.id, rate)
    return checkout


async def add_store_credit(ctx: Context, amount: Decimal | None) -> Checkout:
    """Reserves the owner's credit for the cart: `amount`, or as much as the total needs."""
    async with ctx.transaction() as idempotency:
        checkout = await steps.lock_open_checkout(ctx)
        require_owner(ctx, checkout.order)
        if not idempotency.existing_id:
            checkout = await _use_credit(ctx, checkout, amount)
            idempotency.record(checkout.order.id)
    return checkout


async def add_store_credit_to(ctx: Context, order_id: UUID, amount: Decimal | None) -> None:
    """Reserves credit for an order that an operator or application names."""
    async with ctx.db.transaction():
        await _use_credit(ctx, await steps.lock_open_checkout(ctx, order_id), amount)


async def remove_store_credit(ctx: Context) -> Checkout:
    async with ctx.transaction() as idempotency:
        checkout = await steps.lock_open_checkout(ctx)
        require_owner(ctx, checkout.order)
        if not idempotency.existing_id:
            checkout = await store_credit.release_credit(ctx, checkout)
            idempotency.record(checkout.order.id)
    return checkout


async def withdraw_store_credit(ctx: Context, credit_id: UUID, reason: str) -> None:
    async with ctx.db.transaction():
        await store_credit.withdraw_credit(ctx, credit_id, reason)


async def _use_credit(ctx: Context, checkout: Checkout, amount: Decimal | None) -> Checkout:
    minor = None if amount is None else _minor(amount, checkout.order.currency)
    checkout, error = await steps.advance_to(ctx, checkout, upto="payment")
    if error and checkout.order.state == "cart":
        raise error
    return await store_credit.reserve_credit(ctx, checkout, minor)


def _minor(amount: Decimal, currency: str) -> int:
    try:
        minor = minor_units(amount, currency)
    except ValueError as error:
        raise Invalid({"amount": [str(error)]}) from None
    if not minor:
        raise Invalid({"amount": ["must be greater than 0"]})
    return minor


async def _choose_payments(
    ctx: Context, checkout: Checkout, fields: CheckoutFields, sources: Mapping[str, PaymentSourceInput]
) -> Checkout:
    """Selects the payments; a saved card determines its payment method."""
    card_id = fields.existing_card
    sources = {method_id.lower(): source for method_id, source in sources.items()}
    for payment in fields.payments_attributes or ([CheckoutPaymentInput(None)] if card_id else []):
        has_source = payment.source_attributes and payment.source_attributes != PaymentSourceInput()
        source = payment.source_attributes if has_source else sources.get(str(payment.payment_method_id))
        choice = CheckoutPaymentInput(payment.payment_method_id, card_id or payment.source_id, source)
        checkout = await reserve_items(ctx, await _choose_payment(ctx, checkout, choice))
    return checkout
