"""Builds the rows of a historical order with the rules of the shop: prices, discounts, taxes, totals and states."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.cart.orders import Checkout
from shop.actions.cart.promotions import apply_discounts, build_basket
from shop.actions.checkout.shipments import explain_totals
from shop.actions.checkout.store_credit import CANCELED_REASON
from shop.base.ids import new_id, new_order_number, new_payment_number, shipment_number
from shop.demo.order_history.history import Fate, PlannedOrder
from shop.models.cart.orders import CartLine, Order
from shop.models.cart.quotes import Quote
from shop.models.checkout.payments import Payment, PaymentMethod, PaymentSource, Refund
from shop.models.checkout.shipments import Shipment, ShipmentItem, ShippingRate
from shop.queries.cart.promotions import PromotableVariant, PromotionFacts
from shop.rules.cart.line_items import with_amounts
from shop.rules.cart.promotions import CompiledPromotion, calculate_discounts
from shop.rules.cart.totals import Rate, Taxable, Totals, tax_on
from shop.rules.checkout.adjustments import adjustment_rows
from shop.rules.checkout.payments import PaymentAmounts, balance_of, shipment_state
from shop.rules.setup.shipping import Package, PackageItem, ShippingOption, list_offers

Rows = dict[str, list[dict[str, Any]]]
"""Rows by table, in the order in which they are inserted."""
_SHIPPED: frozenset[Fate] = frozenset({"shipped", "refunded", "partly refunded"})
_REASONS = ("Arrived damaged", "Did not fit", "Came too late", "Changed their mind")


class OrderFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The records that one planned order refers to."""

    until: datetime
    user_id: UUID | None
    address_id: UUID
    variant_ids: Mapping[str, UUID]
    quotes: Mapping[UUID, Quote]
    variants: Mapping[UUID, PromotableVariant]
    promotions: Sequence[CompiledPromotion]
    rates: Sequence[Rate]
    shipping: Sequence[ShippingOption]
    location_ids: Sequence[UUID]
    method: PaymentMethod


def build_order(plan: PlannedOrder, facts: OrderFacts) -> Rows:
    """Returns the rows of an order; none if nothing of it is sold any more."""
    order = _start_order(plan, facts)
    lines = _build_lines(plan, facts, order)
    if not lines:
        return {}
    checkout = _pack(plan, facts, order, lines)
    if not checkout.shipments:
        return {}
    checkout, totals = _total(plan, facts, checkout)
    payment, refunds = _pay(plan, facts, checkout)
    source = _build_source(plan, facts, payment)
    final_order = _finish_order(plan, facts, checkout, payment, refunds)
    adjustments = [{"id": new_id(), **row, **_stamps(plan.at)} for row in adjustment_rows(order.id, totals.steps)]
    return {
        "orders": [_row(final_order, without=("explained",))],
        "line_items": [_row(line, without=("currency",)) for line in checkout.lines],
        "shipments": [_row(each) for each in checkout.shipments],
        "shipment_items": [_row(each) for each in checkout.items],
        "shipping_rates": [_row(each) for each in checkout.rates],
        "payment_sources": [_row(source)] if source else [],
        "payments": [_row(msgspec.structs.replace(payment, source_id=source and source.id))],
        "refunds": [_row(each) for each in refunds],
        "adjustments": adjustments,
        "order_promotions": _build_codes(plan, final_order),
    }


def _row(struct: msgspec.Struct, without: Sequence[str] = ()) -> dict[str, Any]:
    return {name: value for name, value in msgspec.structs.asdict(struct).items() if name not in without}


def _stamps(at: datetime) -> dict[str, datetime]:
    return {"created_at": at, "updated_at": at}


def _start_order(plan: PlannedOrder, facts: OrderFacts) -> Order:
    created_at = plan.at - timedelta(minutes=4 + plan.at.second % 30)
    return Order(
        id=new_id(),
        number=new_order_number("R", 10),
        state="complete",
        user_id=facts.user_id,
        bill_address_id=facts.address_id,
        ship_address_id=facts.address_id,
        currency=plan.currency,
        email=plan.email,
        created_at=created_at,
        updated_at=plan.at,
        completed_at=plan.at,
        confirmation_delivered=True,
    )


def _build_lines(plan: PlannedOrder, facts: OrderFacts, order: Order) -> list[CartLine]:
    lines = []
    for sku, quantity in plan.lines:
        quote = facts.quotes.get(facts.variant_ids.get(sku, order.id))
        if quote is None or quote.price is None:
            continue
        lines.append(
            CartLine(
                id=new_id(),
                order_id=order.id,
                variant_id=quote.variant_id,
                quantity=quantity,
                price=quote.price,
                quoted_at=order.created_at,
                price_list_id=quote.price_list_id,
                compare_at_price=quote.compare_at_price,
                name=quote.name,
                sku=quote.sku,
                slug=quote.slug,
                options_text=quote.options_text,
                tax_category_id=quote.tax_category_id,
                created_at=order.created_at,
                updated_at=plan.at,
                currency=order.currency,
            )
        )
    return lines


def _pack(plan: PlannedOrder, facts: OrderFacts, order: Order, lines: Sequence[CartLine]) -> Checkout:
    """Packs the lines into one shipment, or into two if only a part of the order was shipped."""
    is_split = plan.fate == "partly shipped" and len(lines) > 1
    parts = [lines[:1], lines[1:]] if is_split else [lines]
    shipments: list[Shipment] = []
    items: list[ShipmentItem] = []
    rates: list[ShippingRate] = []
    for number, part in enumerate(parts):
        shipment = _build_shipment(plan, facts, order, number)
        offers = list_offers(_package(facts, shipment, part), facts.shipping)
        if not offers:
            continue
        selected_offer = offers[-1 if plan.is_express else 0]
        shipments.append(msgspec.structs.replace(shipment, cost=selected_offer.cost))
        items += [_build_item(plan, shipment, line) for line in part]
        for offer in offers:
            taxable = Taxable(shipment.id, offer.name, offer.cost, tax_category_id=offer.tax_category_id)
            rates.append(
                ShippingRate(
                    id=new_id(),
                    order_id=order.id,
                    shipment_id=shipment.id,
                    shipping_method_id=offer.shipping_method_id,
                    name=offer.name,
                    cost=offer.cost,
                    tax_amount=tax_on(taxable, facts.rates),
                    tax_category_id=offer.tax_category_id,
                    is_selected=offer is selected_offer,
                    created_at=order.created_at,
                )
            )
    return Checkout(order, lines, shipments, items, rates)


def _package(facts: OrderFacts, shipment: Shipment, lines: Sequence[CartLine]) -> Package:
    quotes = facts.quotes
    items = [
        PackageItem(line.id, line.variant_id, line.quantity, False, quotes[line.variant_id].weight, None)
        for line in lines
    ]
    return Package(shipment.stock_location_id, quotes[lines[0].variant_id].shipping_category_id, False, items)


def _build_shipment(plan: PlannedOrder, facts: OrderFacts, order: Order, number: int) -> Shipment:
    shipment_id = new_id()
    is_shipped = plan.fate in _SHIPPED or (plan.fate == "partly shipped" and number == 0)
    shipped_at = _later(plan, facts.until, timedelta(hours=20 + plan.at.second % 24)) if is_shipped else None
    return Shipment(
        id=shipment_id,
        order_id=order.id,
        number=shipment_number(shipment_id),
        state="shipped" if is_shipped else _UNSHIPPED.get(plan.fate, "ready"),
        stock_location_id=facts.location_ids[number % len(facts.location_ids)],
        tracking=f"LL{shipment_id.int % 10**10:010}" if is_shipped else None,
        shipped_at=shipped_at,
        created_at=order.created_at,
        updated_at=shipped_at or plan.at,
    )


_UNSHIPPED: dict[Fate, str] = {
    "unpaid": "pending",
    "backordered": "pending",
    "canceled": "canceled",
    "void": "canceled",
}


def _later(plan: PlannedOrder, until: datetime, delay: timedelta) -> datetime:
    """Returns a time after the order, and before the last one."""
    return plan.at + min(delay, (until - plan.at) * 0.8)


def _build_item(plan: PlannedOrder, shipment: Shipment, line: CartLine) -> ShipmentItem:
    return ShipmentItem(
        id=new_id(),
        order_id=shipment.order_id,
        shipment_id=shipment.id,
        line_item_id=line.id,
        variant_id=line.variant_id,
        quantity=line.quantity,
        backordered=line.quantity if plan.fate == "backordered" else 0,
    )


def _total(plan: PlannedOrder, facts: OrderFacts, checkout: Checkout) -> tuple[Checkout, Totals]:
    """Applies promotions and taxes; returns the order with its amounts and their calculation."""
    order = checkout.order
    promotion_facts = PromotionFacts(plan.at, 0, [], True, {}, [])
    basket = build_basket(order, checkout.lines, checkout.shipments, promotion_facts, facts.variants)
    promotions = [promotion for promotion in facts.promotions if promotion.code is None or plan.code]
    cart = apply_discounts(order, checkout.lines, checkout.shipments, calculate_discounts(basket, promotions))
    order = msgspec.structs.replace(order, order_promo_total=cart.order_promo_total, promoted=dict(cart.promoted))
    checkout = msgspec.structs.replace(checkout, order=order, lines=cart.lines, shipments=cart.shipments)
    totals = explain_totals(checkout, facts.rates)
    amounts = {each.id: each for each in totals.shipments}
    shipments = [
        msgspec.structs.replace(
            shipment,
            adjustment_total=amounts[shipment.id].adjustment_total,
            additional_tax_total=amounts[shipment.id].additional_tax_total,
            included_tax_total=amounts[shipment.id].included_tax_total,
            pre_tax_amount=amounts[shipment.id].pre_tax_amount,
        )
        for shipment in checkout.shipments
    ]
    lines = [with_amounts(line, each) for line, each in zip(checkout.lines, totals.lines, strict=True)]
    order = msgspec.structs.replace(order, **totals.columns)
    return msgspec.structs.replace(checkout, order=order, lines=lines, shipments=shipments), totals


def _pay(plan: PlannedOrder, facts: OrderFacts, checkout: Checkout) -> tuple[Payment, list[Refund]]:
    order = checkout.order
    is_paid = plan.fate not in {"unpaid", "void"}
    returned_amount = {"refunded": order.total, "canceled": order.total}.get(plan.fate, 0)
    if plan.fate == "partly refunded":
        returned_amount = min(line.price or 0 for line in checkout.lines) or order.total // 4
    refunded_at = _later(plan, facts.until, timedelta(hours=60))
    payment = Payment(
        id=new_id(),
        order_id=order.id,
        payment_method_id=facts.method.id,
        number=new_payment_number(),
        state="completed" if is_paid else "void" if plan.fate == "void" else "pending",
        amount=order.total,
        captured_amount=order.total if is_paid else 0,
        refunded_amount=returned_amount,
        created_at=plan.at,
        updated_at=refunded_at if returned_amount else plan.at,
    )
    if facts.method.type != "check":
        payment = msgspec.structs.replace(payment, response_code=f"test-{payment.id.hex[-12:]}")
    if not returned_amount:
        return payment, []
    refund = Refund(
        id=new_id(),
        order_id=order.id,
        payment_id=payment.id,
        amount=returned_amount,
        reason=CANCELED_REASON if plan.fate == "canceled" else _REASONS[plan.at.second % len(_REASONS)],
        state="completed",
        reference=str(new_id()),
        created_at=refunded_at,
        updated_at=refunded_at,
    )
    return payment, [refund]


def _build_source(plan: PlannedOrder, facts: OrderFacts, payment: Payment) -> PaymentSource | None:
    """Returns the card of a payment; it cannot be used again."""
    if facts.method.type == "check":
        return None
    return PaymentSource(
        id=new_id(),
        order_id=payment.order_id,
        payment_method_id=facts.method.id,
        reference="approve",
        cc_type="visa" if plan.at.second % 3 else "mastercard",
        last_digits="4242" if plan.at.second % 3 else "4444",
        month=1 + plan.at.second % 12,
        year=plan.at.year + 3,
        name=f"{plan.first_name} {plan.last_name}",
        created_at=plan.at,
        updated_at=plan.at,
    )


def _finish_order(
    plan: PlannedOrder, facts: OrderFacts, checkout: Checkout, payment: Payment, refunds: Sequence[Refund]
) -> Order:
    """Returns the order with the states that follow from its payment and its shipments."""
    order, is_canceled = checkout.order, plan.fate in {"canceled", "void"}
    amounts = PaymentAmounts(payment.state, payment.amount, payment.captured_amount, payment.refunded_amount)
    balance = balance_of([amounts], order.total, is_canceled=is_canceled)
    canceled_at = _later(plan, facts.until, timedelta(hours=60)) if is_canceled else None
    times = [plan.at, *(each.updated_at for each in checkout.shipments), *(each.updated_at for each in refunds)]
    updated_at = max([*times, canceled_at] if canceled_at else times)
    states = [shipment.state for shipment in checkout.shipments]
    return msgspec.structs.replace(
        order,
        state="canceled" if is_canceled else "complete",
        canceled_at=canceled_at,
        payment_total=balance.payment_total,
        payment_state=balance.state,
        shipment_state=shipment_state(states, has_backordered=plan.fate == "backordered"),
        updated_at=updated_at,
        updated_hour=int(updated_at.timestamp() // 3600),
    )


def _build_codes(plan: PlannedOrder, order: Order) -> list[dict[str, Any]]:
    """Returns the coupon code of an order that it gave a discount."""
    return [
        {
            "id": new_id(),
            "order_id": order.id,
            "promotion_id": UUID(promotion_id),
            "code": entry["code"],
            "created_at": plan.at,
        }
        for promotion_id, entry in order.promoted.items()
        if entry["code"]
    ]
