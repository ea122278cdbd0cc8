"""What machines do with what is in a shipment: put in, take out, send from elsewhere, send with another.

An order that is not completed is packed anew when its lines change. One that is keeps its lines and what it cost;
pieces that were not sent yet can go in another parcel, and the goods are then taken from that place.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from shop.actions.audit import audit
from shop.actions.cart.line_items import change_quantity, hold, put_in, refuse_while_paying, take_out
from shop.actions.cart.order_state import Checkout, read
from shop.actions.catalog.reservations import exchange
from shop.actions.checkout.shipments import choose_rate, pack_order
from shop.actions.context import Context
from shop.actions.payments.settlement import refigure
from shop.base.errors import Invalid, NotFound
from shop.base.ids import as_uuid, new_id, shipment_number
from shop.models.catalog.products import variants
from shop.models.checkout.shipments import Shipment, ShipmentItem, shipments
from shop.queries import bulk, writes
from shop.queries.cart import orders
from shop.queries.catalog import stock
from shop.rules.cart.line_items import Wish

Values = Mapping[str, Any]
MOVABLE = ("pending", "ready")


def _refused(field: str, sentence: str, code: str = "validation_failed") -> Invalid:
    return Invalid({field: [sentence]}, code=code)


async def create_shipment(ctx: Context, values: Values) -> UUID:
    """Puts pieces of a variant into an open order, to be sent from a place."""
    key = as_uuid(values["order_id"])
    order = await (orders.find_order(ctx.db, key) if key else orders.find_by_number(ctx.db, values["order_id"]))
    if order is None or order.completed_at is not None:
        raise _refused("order_id", "is not an order that can still be changed", "order_not_found")
    if await writes.find_value(ctx.db, variants, values["variant_id"], "product_id") is None:
        raise _refused("variant_id", "is not a variant", "variant_not_found")
    place = await stock.find_location(ctx.db, values["stock_location_id"])
    if place is None or not place.active:
        raise _refused("stock_location_id", "is not a place from which is sold", "stock_location_not_found")
    quantity = values.get("quantity", 1)
    checkout = await _more(ctx, order.id, values["variant_id"], quantity)
    source, item = _holding(checkout, values["variant_id"])
    if source.stock_location_id == place.id:
        return source.id
    return await _move(ctx, checkout, source, item, min(quantity, item.quantity), place.id, None)


async def add_item(ctx: Context, shipment_id: UUID, variant_id: UUID, quantity: int) -> UUID:
    """The shipment that has them then: the order was packed anew."""
    async with ctx.db.transaction():
        held = await _held(ctx, shipment_id)
        checkout = await _more(ctx, _open(held).order.id, variant_id, quantity)
        return _holding(checkout, variant_id)[0].id


async def remove_item(ctx: Context, shipment_id: UUID, variant_id: UUID, quantity: int | None) -> UUID | None:
    """All of them without a quantity. None when the shipment is gone with its last piece."""
    async with ctx.db.transaction():
        held = _open(await _held(ctx, shipment_id))
        line = next((line for line in held.lines if line.variant_id == variant_id), None)
        if line is None or not any(
            each.variant_id == variant_id for each in held.items if each.shipment_id == shipment_id
        ):
            raise _refused("variant_id", "is not in this shipment", "variant_not_found")
        cart = await hold(ctx, held.order.id)
        if quantity is None or quantity >= line.quantity:
            left = await take_out(ctx, cart, line.id)
        else:
            left = await change_quantity(ctx, cart, line.id, line.quantity - quantity)
        if not left.lines:
            return None
        packed = await pack_order(ctx, await read(ctx, left.order))
        return packed.shipments[0].id


async def transfer(
    ctx: Context, shipment_id: UUID, variant_id: UUID, quantity: int, *, place_id: UUID | None, number: str | None
) -> UUID:
    """Pieces that were not sent yet go from another place, or with another shipment of the order; says with which."""
    async with ctx.db.transaction():
        held = await _held(ctx, shipment_id)
        source = next(each for each in held.shipments if each.id == shipment_id)
        item = next(
            (each for each in held.items if each.shipment_id == source.id and each.variant_id == variant_id), None
        )
        if source.state not in MOVABLE:
            raise _refused("base", f"A shipment that is {source.state} cannot be changed.", "illegal_transition")
        if item is None:
            raise _refused("variant_id", "is not in this shipment", "variant_not_found")
        if not 0 < quantity <= item.quantity:
            raise _refused("quantity", f"must be from 1 to {item.quantity}")
        target = None
        if number is not None:
            target = next((each for each in held.shipments if each.number == number and each.id != source.id), None)
            if target is None or target.state not in MOVABLE:
                raise _refused("target_shipment_number", "is not another shipment of this order", "shipment_not_found")
            place_id = target.stock_location_id
        place = await stock.find_location(ctx.db, place_id) if place_id else None
        if place is None or not place.active:
            raise _refused("stock_location_id", "is not a place from which is sold", "stock_location_not_found")
        moved = await _move(ctx, held, source, item, quantity, place.id, target)
        await audit(ctx, "shipment_transfer", "done", subject_id=held.order.id, detail={"shipment": source.number})
        return moved


async def update_shipment(ctx: Context, shipment_id: UUID, values: Values) -> None:
    """Its number at the carrier; and before the order is completed, how it is sent."""
    rate_id = values.get("selected_shipping_rate_id")
    said = {name: value for name, value in values.items() if name != "selected_shipping_rate_id"}
    if rate_id is not None:
        held = _open(await _held(ctx, shipment_id))
        rate = next((each for each in held.rates if each.id == rate_id and each.shipment_id == shipment_id), None)
        if rate is None:
            raise _refused("selected_shipping_rate_id", "is not a rate of this shipment")
        await choose_rate(ctx, held, shipment_id, rate)
    if said:
        await writes.update_record(ctx.db, shipments, shipment_id, said)


async def hold_order(ctx: Context, shipment_id: UUID) -> None:
    """Locked before its shipment, as everybody locks them."""
    await _held(ctx, shipment_id)


async def _held(ctx: Context, shipment_id: UUID) -> Checkout:
    order_id = await writes.find_value(ctx.db, shipments, shipment_id, "order_id")
    order = await orders.lock_order(ctx.db, order_id) if order_id else None
    if order is None:
        raise NotFound()
    if order.completed_at is None:
        await refuse_while_paying(ctx, order)
    held = await read(ctx, order)
    if all(shipment.id != shipment_id for shipment in held.shipments):
        raise NotFound()  # Packed anew while we waited.
    return held


def _open(held: Checkout) -> Checkout:
    if held.order.completed_at is not None:
        sentence = "The order is completed: its lines stay, and pieces can only be sent otherwise."
        raise _refused("base", sentence, "illegal_transition")
    return held


async def _more(ctx: Context, order_id: UUID, variant_id: UUID, quantity: int) -> Checkout:
    try:
        cart = await put_in(ctx, await hold(ctx, order_id), [Wish(variant_id, quantity)], is_one=True)
    except NotFound:
        raise _refused("variant_id", "is not a variant", "variant_not_found") from None
    return await pack_order(ctx, await read(ctx, cart.order))


def _holding(checkout: Checkout, variant_id: UUID) -> tuple[Shipment, ShipmentItem]:
    item = next(each for each in checkout.items if each.variant_id == variant_id)
    return next(each for each in checkout.shipments if each.id == item.shipment_id), item


async def _move(
    ctx: Context,
    held: Checkout,
    source: Shipment,
    item: ShipmentItem,
    quantity: int,
    place_id: UUID,
    target: Shipment | None,
) -> UUID:
    """What it costs to send the order stays: a parcel that is made for this costs nothing, and one that is empty then
    leaves its cost to the other.
    """
    if held.order.completed_at is not None and source.stock_location_id != place_id:
        await exchange(ctx, held.order, item.variant_id, quantity, source.stock_location_id, place_id)
    others = [each for each in held.shipments if each.id != source.id and each.state in MOVABLE]
    target = target or next((each for each in others if each.stock_location_id == place_id), None)
    is_empty = quantity == item.quantity and all(
        each.id == item.id for each in held.items if each.shipment_id == source.id
    )
    if target is None and is_empty:
        await writes.update_record(ctx.db, shipments, source.id, {"stock_location_id": place_id})
        return source.id
    target_id = target.id if target else new_id()
    if target is None:
        fields = {"order_id": held.order.id, "number": shipment_number(target_id), "stock_location_id": place_id}
        await writes.insert_record(ctx.db, shipments, target_id, fields)
        await _send_alike(ctx, held, source, target_id)
    await _put(ctx, held, item, quantity, target_id)
    if is_empty and target:
        await _leave_cost(ctx, source, target)
    await _refigured(ctx, held)
    return target_id


async def _send_alike(ctx: Context, held: Checkout, source: Shipment, target_id: UUID) -> None:
    """By the way that was chosen for the other."""
    rate = next((each for each in held.rates if each.shipment_id == source.id and each.is_selected), None)
    if rate:
        row = {
            "id": new_id(),
            "order_id": held.order.id,
            "shipment_id": target_id,
            "shipping_method_id": rate.shipping_method_id,
            "name": rate.name,
            "cost": 0,
            "tax_amount": 0,
            "tax_category_id": rate.tax_category_id,
            "is_selected": True,
        }
        await bulk.insert_rows(ctx.db, "shipping_rates", [row])


async def _put(ctx: Context, held: Checkout, item: ShipmentItem, quantity: int, target_id: UUID) -> None:
    there = next(
        (each for each in held.items if each.shipment_id == target_id and each.line_item_id == item.line_item_id), None
    )
    waiting = min(item.backordered, quantity)
    if quantity == item.quantity:
        await bulk.delete_rows(ctx.db, "shipment_items", [item.id])
    else:
        left = {"quantity": item.quantity - quantity, "backordered": item.backordered - waiting}
        await bulk.update_rows(ctx.db, "shipment_items", [{"id": item.id, **left}])
    if there:
        more = {"quantity": there.quantity + quantity, "backordered": there.backordered + waiting}
        await bulk.update_rows(ctx.db, "shipment_items", [{"id": there.id, **more}])
        return
    row = {
        "id": new_id(),
        "order_id": held.order.id,
        "shipment_id": target_id,
        "line_item_id": item.line_item_id,
        "variant_id": item.variant_id,
        "quantity": quantity,
        "backordered": waiting,
    }
    await bulk.insert_rows(ctx.db, "shipment_items", [row])


async def _leave_cost(ctx: Context, source: Shipment, target: Shipment) -> None:
    sums = ("cost", "promo_total", "adjustment_total", "additional_tax_total", "included_tax_total", "pre_tax_amount")
    both = {name: getattr(source, name) + getattr(target, name) for name in sums}
    await bulk.update_rows(ctx.db, "shipments", [{"id": target.id, **both}])
    await bulk.delete_rows(ctx.db, "shipments", [source.id])


async def _refigured(ctx: Context, held: Checkout) -> None:
    order = await orders.lock_order(ctx.db, held.order.id)
    if order and order.completed_at is not None:
        await refigure(ctx, await read(ctx, order))
