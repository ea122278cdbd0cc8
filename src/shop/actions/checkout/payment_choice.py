"""Payment method and source selection; no provider is called before the order is completed."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.cart.access import account_of, require_owner
from shop.actions.cart.order_state import Checkout
from shop.actions.context import Context
from shop.base.errors import Invalid
from shop.base.ids import as_uuid, new_id, new_payment_number
from shop.base.texts import is_line
from shop.models.cart.orders import Order
from shop.models.checkout.payments import STORE_CREDIT_METHOD, CreditCard, PaymentMethod, payment_sources, payments
from shop.queries import writes
from shop.queries.payments import payments as queries
from shop.queries.payments import saved_cards

Values = Mapping[str, Any]
LONGEST = 255
MOST_PAYMENTS = 50
"""Per order, because reading an order reads all of them. Only failed ones add up; a replaced choice is removed."""


class PaymentInput(msgspec.Struct, frozen=True):
    """A payment method with its source: one of the user's own, or the data a provider's form gave the client."""

    payment_method_id: UUID | None
    source_id: UUID | None = None
    source: Values | None = None


def build_payment_input(values: Values, sources: Values) -> PaymentInput:
    method = values.get("payment_method_id")
    source = values.get("source_attributes") or (sources.get(method) if isinstance(method, str) else None)
    if source is not None and not isinstance(source, dict):
        raise Invalid({"source_attributes": ["must be an object"]})
    source_id = as_uuid(values.get("source_id"))
    if values.get("source_id") is not None and source_id is None:
        source_id = UUID(int=0)  # An invalid id matches no source.
    return PaymentInput(as_uuid(method), source_id, source)


async def choose_payment(ctx: Context, checkout: Checkout, wish: PaymentInput) -> Checkout:
    """Selects a payment for the order total less store credit, replacing earlier choices that were not tried."""
    order = checkout.order
    if wish.source_id:
        require_owner(ctx, order)
    if sum(payment.state != "invalid" for payment in checkout.payments) >= MOST_PAYMENTS:
        raise Invalid({"base": [f"an order has at most {MOST_PAYMENTS} payments; start a new cart"]})
    # A card entered by a caller other than the owner is not saved for the owner.
    payer = account_of(ctx, order)
    card = await _own_card(ctx, payer, wish) if wish.source_id else None
    method_id = wish.payment_method_id or (card.payment_method_id if card else None)
    method = await queries.find_method(ctx.db, method_id) if method_id else None
    if method is None or method.id == STORE_CREDIT_METHOD or not ctx.can_pay_with(method.type):
        raise Invalid({"payment_method_id": ["is not an available payment method"]}, code="payment_method_not_found")
    if card and card.payment_method_id != method.id:
        raise _not_theirs()
    source_id = card.id if card else await _new_source(ctx, order, method, payer, wish)
    await queries.remove_untried(ctx.db, order.id)
    fields = {
        "order_id": order.id,
        "payment_method_id": method.id,
        "source_id": source_id,
        "number": new_payment_number(),
        "amount": order.total_minus_store_credits,
    }
    await writes.insert_record(ctx.db, payments, new_id(), fields)
    return msgspec.structs.replace(checkout, payments=await queries.list_payments(ctx.db, order.id))


def _not_theirs() -> Invalid:
    return Invalid({"source_id": ["is not one of your sources for this payment method"]}, code="source_not_found")


async def _own_card(ctx: Context, payer: UUID | None, wish: PaymentInput) -> CreditCard:
    card = await saved_cards.find_card(ctx.db, payer, wish.source_id) if payer and wish.source_id else None
    if card is None:
        raise _not_theirs()
    return card


async def _new_source(
    ctx: Context, order: Order, method: PaymentMethod, payer: UUID | None, wish: PaymentInput
) -> UUID | None:
    provider = ctx.providers[method.type]
    if not provider.needs_source:
        return None
    fields = _read_source(wish.source or {})
    if why := provider.source_error(fields.get("reference")):
        raise Invalid({"source_attributes.gateway_payment_profile_id": [why]})
    source_id = new_id()
    record = {**fields, "order_id": order.id, "user_id": payer, "payment_method_id": method.id}
    await writes.insert_record(ctx.db, payment_sources, source_id, record)
    return source_id


def _read_source(values: Values) -> dict[str, Any]:
    """Reads the card data from a provider's form; full card numbers are not accepted."""
    errors: dict[str, list[str]] = {}
    fields: dict[str, Any] = {}
    for name, field in (
        ("gateway_payment_profile_id", "reference"),
        ("cc_type", "cc_type"),
        ("last_digits", "last_digits"),
        ("name", "name"),
    ):
        value = values.get(name)
        if value is None:
            continue
        if not isinstance(value, str) or len(value) > LONGEST or not is_line(value):
            errors[f"source_attributes.{name}"] = [f"must be one line of at most {LONGEST} characters"]
        fields[field] = value
    digits = fields.get("last_digits", "0000")
    if isinstance(digits, str) and not (digits.isascii() and digits.isdigit() and len(digits) == 4):
        errors["source_attributes.last_digits"] = ["must be the last four digits only"]
    for name, least, most in (("month", 1, 12), ("year", 2000, 2200)):
        number = _number(values.get(name))
        if values.get(name) is not None and (number is None or not least <= number <= most):
            errors[f"source_attributes.{name}"] = [f"must be a number from {least} to {most}"]
        fields[name] = number
    if errors:
        raise Invalid(errors)
    return fields


def _number(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 6:
        return int(value)
    return value if type(value) is int else None
