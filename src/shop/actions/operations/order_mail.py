"""Builds the template values of the order confirmation: totals, addresses, shipping and payments."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from shop.actions.cart.orders import build_payment_amounts
from shop.actions.checkout.views import can_pay_online
from shop.actions.context import Context, Shared
from shop.actions.orders.status import build_link
from shop.base.money import MoneyText, money_text
from shop.db.pool import DatabaseSession
from shop.models.cart.orders import Order
from shop.models.checkout.payments import Payment, PaymentMethod, PaymentSource
from shop.queries.cart import line_items as line_queries
from shop.queries.checkout import shipments
from shop.queries.customers import users
from shop.queries.payments import payments, saved_cards
from shop.rules.checkout.payments import is_valid
from shop.rules.customers.addresses import address_lines


class PaymentRequest(msgspec.Struct, frozen=True):
    """A payment that the customer still has to make by check or transfer."""

    amount: str
    method: str
    instructions: Sequence[str]


async def describe_order(shared: Shared, db: DatabaseSession, order: Order, base_url: str | None) -> dict[str, object]:
    """Returns the template values; `base_url` is the address of the website, without which there is no link. Lines,
    shipping and discounts exclude additional tax, which is a separate sum.
    """
    money = money_text(order.currency, shared.shop.default_locale)
    line_items = await line_queries.list_lines(db, order.id)
    valid_payments = [
        payment for payment in await payments.list_payments(db, order.id) if is_valid(build_payment_amounts(payment))
    ]
    methods = await payments.list_methods_of(db, [payment.payment_method_id for payment in valid_payments])
    sources = await saved_cards.list_sources_of(
        db, [payment.source_id for payment in valid_payments if payment.source_id]
    )
    requests = [
        _request(payment, methods[payment.payment_method_id], money)
        for payment in valid_payments
        if _is_awaited(payment, methods[payment.payment_method_id])
    ]
    rates = await shipments.list_shipping_rates(db, order.id)
    return {
        "number": order.number,
        "lines": [(line.quantity, line.name, line.options_text, money(line.amount)) for line in line_items],
        "sums": [(label, money(amount)) for label, amount in _sums(order)],
        "total": money(order.total),
        "included": money(order.included_tax_total) if order.included_tax_total else None,
        "payments": [
            (_payment_label(payment, methods[payment.payment_method_id], sources), money(payment.amount))
            for payment in valid_payments
        ],
        "requests": requests,
        "payment_url": await _payment_url(shared, db, order, base_url) if requests else None,
        "shipping_methods": ""
        if order.pickup_location_id
        else ", ".join(dict.fromkeys(rate.name for rate in rates if rate.is_selected)),
        "addresses": await _addresses(db, order),
    }


async def _payment_url(shared: Shared, db: DatabaseSession, order: Order, base_url: str | None) -> str | None:
    """Returns the link to the payment page, where the customer can pay by card instead."""
    if base_url is None or shared.settings.website == "off" or order.canceled_at is not None:
        return None
    ctx = Context(shared)
    ctx.db = db
    if not await can_pay_online(ctx):
        return None
    return f"{base_url.rstrip('/')}/order-payment/{build_link(shared, order, 'payment')}"


def _sums(order: Order) -> list[tuple[str, int]]:
    discounts = [
        (f"{entry['name']} ({entry['code'].upper()})" if entry["code"] else str(entry["name"]), entry["amount"])
        for entry in order.promoted.values()
    ]
    tax = [("Tax", order.additional_tax_total)] if order.additional_tax_total else []
    shipping = [] if order.pickup_location_id else [("Shipping", order.ship_total)]
    return [("Items", order.item_total), *shipping, *discounts, *tax]


def _payment_label(payment: Payment, method: PaymentMethod, sources: Mapping[UUID, PaymentSource]) -> str:
    source = sources.get(payment.source_id) if payment.source_id else None
    if source is None or not source.last_digits:
        return method.name
    return f"{method.name} ({source.cc_type or 'card'} ending in {source.last_digits})"


def _is_awaited(payment: Payment, method: PaymentMethod) -> bool:
    """Returns whether the customer must pay: no provider collects a check or transfer."""
    return payment.state == "pending" and method.type == "check"


def _request(payment: Payment, method: PaymentMethod, money: MoneyText) -> PaymentRequest:
    return PaymentRequest(money(payment.amount), method.name, (method.description or "").splitlines())


async def _addresses(db: DatabaseSession, order: Order) -> list[tuple[str, Sequence[str]]]:
    """Returns each address with its heading; one entry if both are the same."""
    ids = [address_id for address_id in (order.ship_address_id, order.bill_address_id) if address_id]
    addresses = await users.find_addresses(db, ids)
    lines_by_id = {key: address_lines(msgspec.structs.asdict(address)) for key, address in addresses.items()}

    def find(address_id: UUID | None) -> Sequence[str]:
        return lines_by_id.get(address_id, ()) if address_id else ()

    shipping, billing = find(order.ship_address_id), find(order.bill_address_id)
    if shipping == billing:
        return [("Shipping and billing address", shipping)] if shipping else []
    both = (("Pickup" if order.pickup_location_id else "Shipping address", shipping), ("Billing address", billing))
    return [(heading, address_text) for heading, address_text in both if address_text]
