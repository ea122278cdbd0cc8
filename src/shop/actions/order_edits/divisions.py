"""Divides a shipment that was not sent, or merges it into another one of its stock location. Totals do not change."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from shop.actions.audit import audit
from shop.actions.cart.orders import Checkout, load_checkout
from shop.actions.context import Context
from shop.actions.order_edits.edits import lock_editable
from shop.actions.orders.operations import illegal_transition
from shop.actions.orders.shipments import move_items
from shop.base.errors import Invalid, NotFound
from shop.models.cart.orders import CartLine, Order
from shop.models.checkout.shipments import Shipment, ShipmentItem
from shop.rules.orders.shipments import find_division_refusal, list_targets

LEAVE_ONE = "Leave at least one unit in the shipment, or move everything to an existing one."


class DivisibleShipment(msgspec.Struct, frozen=True):
    """A shipment with its items, and the shipments that can take them."""

    shipment: Shipment
    items: Sequence[tuple[CartLine, ShipmentItem]]
    targets: Sequence[Shipment]
    refusal: str | None
    """Why it can neither be divided nor merged."""


async def load_divisible(ctx: Context, order: Order, shipment_id: UUID) -> DivisibleShipment:
    checkout = await load_checkout(ctx, order)
    source = _get_source(checkout, shipment_id)
    lines = {line.id: line for line in checkout.lines}
    items = [(lines[item.line_item_id], item) for item in checkout.items if item.shipment_id == source.id]
    return DivisibleShipment(source, items, list_targets(checkout.shipments, source), _find_refusal(checkout, source))


def _find_refusal(checkout: Checkout, source: Shipment) -> str | None:
    return find_division_refusal(checkout.order, source, checkout.shipments, checkout.items)


def _get_source(checkout: Checkout, shipment_id: UUID) -> Shipment:
    source = next((each for each in checkout.shipments if each.id == shipment_id), None)
    if source is None:
        raise NotFound()
    return source


async def move_units(
    ctx: Context, order_id: UUID, shipment_id: UUID, quantities: Mapping[UUID, int], target_id: UUID | None
) -> None:
    """Moves units, by shipment item, to another shipment of the same stock location, or to a new one."""
    async with ctx.db.transaction():
        checkout = await lock_editable(ctx, order_id)
        source = _get_source(checkout, shipment_id)
        if refusal := _find_refusal(checkout, source):
            raise illegal_transition(refusal)
        target = next((each for each in list_targets(checkout.shipments, source) if each.id == target_id), None)
        if target_id and target is None:
            raise Invalid({"target": ["is not another shipment of this stock location that was not sent"]})
        moves = _check_moves(checkout, source, quantities)
        left = sum(item.quantity for item in checkout.items if item.shipment_id == source.id)
        if target is None and sum(quantity for _, quantity in moves) == left:
            raise Invalid({"base": [LEAVE_ONE]}, LEAVE_ONE)
        location_id = source.stock_location_id
        for item, quantity in moves:
            new_target_id = await move_items(ctx, checkout, item, quantity, location_id, target, is_new=target is None)
            checkout = await load_checkout(ctx, checkout.order)
            target = next(each for each in checkout.shipments if each.id == new_target_id)
        detail = {"shipment": source.number, "target": target.number if target else None}
        await audit(ctx, "shipment_divide", "done", subject_id=order_id, detail=detail, record_id=source.id)


def _check_moves(
    checkout: Checkout, source: Shipment, quantities: Mapping[UUID, int]
) -> list[tuple[ShipmentItem, int]]:
    items = {item.id: item for item in checkout.items if item.shipment_id == source.id}
    moves = []
    for item_id, quantity in quantities.items():
        most = items[item_id].quantity if item_id in items else 0
        if quantity > most:
            sentence = "The shipment has fewer units than you want to move; it may have changed meanwhile."
            raise Invalid({"base": [sentence]}, sentence)
        if quantity:
            moves.append((items[item_id], quantity))
    if not moves:
        sentence = "Enter how many units to move."
        raise Invalid({"base": [sentence]}, sentence)
    return moves
