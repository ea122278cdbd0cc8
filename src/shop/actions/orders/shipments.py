"""Edits shipments for applications: adds and removes items, and transfers them between locations and shipments.

An open order is packed again when its lines change. A completed order keeps its lines and its totals; items that have
not shipped can move to another shipment, and are then taken from the stock of its location.
"""

from uuid import UUID

from shop.actions.audit import audit
from shop.actions.cart.line_items import add_lines, change_quantity, drop_line
from shop.actions.cart.locked_carts import lock_cart_with_lines, refuse_while_paying
from shop.actions.cart.order_events import note_order_changes
from shop.actions.cart.orders import Checkout, load_checkout
from shop.actions.catalog.reservations import move_reservation
from shop.actions.checkout.shipments import choose_rate, pack_order
from shop.actions.context import Context
from shop.actions.event_subjects import SHIPMENT
from shop.actions.events import note_change, note_rows
from shop.actions.payments.settlement import update_order_states
from shop.base.errors import Invalid, NotFound
from shop.base.ids import as_uuid, new_id, shipment_number
from shop.models.cart.inputs import CartItemInput
from shop.models.catalog.products import variants
from shop.models.checkout.record_inputs import ShipmentInput
from shop.models.checkout.shipments import Shipment, ShipmentItem, shipments
from shop.queries import bulk, writes
from shop.queries.cart import orders
from shop.queries.catalog import stock
from shop.rules.orders.shipments import MOVABLE_STATES


def _error(field: str, sentence: str, code: str = "validation_failed") -> Invalid:
    return Invalid({field: [sentence]}, code=code)


async def create_shipment(ctx: Context, values: ShipmentInput) -> UUID:
    """Adds a variant to an open order, to be shipped from a stock location; returns the shipment's id."""
    key = as_uuid(values["order_id"])
    order = await (orders.find_order(ctx.db, key) if key else orders.find_by_number(ctx.db, values["order_id"]))
    if order is None or order.completed_at is not None:
        raise _error("order_id", "is not an order that can still be changed", "order_not_found")
    if await writes.find_value(ctx.db, variants, values["variant_id"], "product_id") is None:
        raise _error("variant_id", "is not a variant", "variant_not_found")
    location = await stock.find_location(ctx.db, values["stock_location_id"])
    if location is None or not location.active:
        raise _error("stock_location_id", "is not an active stock location", "stock_location_not_found")
    quantity = values.get("quantity", 1)
    checkout = await _add_units(ctx, order.id, values["variant_id"], quantity)
    source, item = _find_item(checkout, values["variant_id"])
    if source.stock_location_id == location.id:
        return source.id
    return await move_items(ctx, checkout, item, min(quantity, item.quantity), location.id, None)


async def add_item(ctx: Context, shipment_id: UUID, variant_id: UUID, quantity: int) -> UUID:
    """Adds items and packs the order again; returns the id of the shipment that then holds them."""
    async with ctx.db.transaction():
        checkout = await _lock_checkout(ctx, shipment_id)
        repacked_checkout = await _add_units(ctx, _require_open(checkout).order.id, variant_id, quantity)
        return _find_item(repacked_checkout, variant_id)[0].id


async def remove_item(ctx: Context, shipment_id: UUID, variant_id: UUID, quantity: int | None) -> UUID | None:
    """Removes items, or all of the variant without a quantity; returns None if the order is then empty."""
    async with ctx.db.transaction():
        checkout = _require_open(await _lock_checkout(ctx, shipment_id))
        line = next((line for line in checkout.lines if line.variant_id == variant_id), None)
        if line is None or not any(
            each.variant_id == variant_id for each in checkout.items if each.shipment_id == shipment_id
        ):
            raise _error("variant_id", "is not in this shipment", "variant_not_found")
        cart = await lock_cart_with_lines(ctx, checkout.order.id)
        if quantity is None or quantity >= line.quantity:
            remaining_cart = await drop_line(ctx, cart, line.id)
        else:
            remaining_cart = await change_quantity(ctx, cart, line.id, line.quantity - quantity)
        if not remaining_cart.lines:
            return None
        repacked_checkout = await pack_order(ctx, await load_checkout(ctx, remaining_cart.order))
        return repacked_checkout.shipments[0].id


async def transfer(
    ctx: Context, shipment_id: UUID, variant_id: UUID, quantity: int, *, location_id: UUID | None, number: str | None
) -> UUID:
    """Moves items that have not shipped to another stock location or shipment; returns the target shipment's id."""
    async with ctx.db.transaction():
        checkout = await _lock_checkout(ctx, shipment_id)
        source = next(each for each in checkout.shipments if each.id == shipment_id)
        item = next(
            (each for each in checkout.items if each.shipment_id == source.id and each.variant_id == variant_id), None
        )
        if source.state not in MOVABLE_STATES:
            raise _error("base", f"A shipment that is {source.state} cannot be changed.", "illegal_transition")
        if item is None:
            raise _error("variant_id", "is not in this shipment", "variant_not_found")
        if not 0 < quantity <= item.quantity:
            raise _error("quantity", f"must be from 1 to {item.quantity}")
        target = None
        if number is not None:
            target = next((each for each in checkout.shipments if each.number == number and each.id != source.id), None)
            if target is None or target.state not in MOVABLE_STATES:
                raise _error("target_shipment_number", "is not another shipment of this order", "shipment_not_found")
            location_id = target.stock_location_id
        location = await stock.find_location(ctx.db, location_id) if location_id else None
        if location is None or not location.active:
            raise _error("stock_location_id", "is not an active stock location", "stock_location_not_found")
        target_id = await move_items(ctx, checkout, item, quantity, location.id, target)
        detail = {"shipment": source.number}
        await audit(ctx, "shipment_transfer", "done", subject_id=checkout.order.id, detail=detail, record_id=source.id)
        return target_id


async def merge_shipment(ctx: Context, shipment_id: UUID) -> None:
    """Deletes a pending shipment of a completed order: another unshipped shipment takes its items and its cost."""
    checkout = await _lock_checkout(ctx, shipment_id)
    source = next(each for each in checkout.shipments if each.id == shipment_id)
    if source.state != "pending":
        raise _error("base", f"cannot be deleted: it is {source.state}; cancel the shipment instead")
    target = next((each for each in checkout.shipments if each.id != source.id and each.state in MOVABLE_STATES), None)
    if target is None:
        raise _error("base", "cannot be deleted: no other shipment can take its items; cancel the order instead")
    while item := next((each for each in checkout.items if each.shipment_id == source.id), None):
        await move_items(ctx, checkout, item, item.quantity, target.stock_location_id, target)
        checkout = await load_checkout(ctx, checkout.order)


async def update_shipment(ctx: Context, shipment_id: UUID, values: ShipmentInput) -> None:
    """Updates the tracking number and, while the order is open, the selected shipping rate."""
    rate_id = values.get("selected_shipping_rate_id")
    fields = {name: value for name, value in values.items() if name != "selected_shipping_rate_id"}
    if rate_id is not None:
        checkout = _require_open(await _lock_checkout(ctx, shipment_id))
        rate = next((each for each in checkout.rates if each.id == rate_id and each.shipment_id == shipment_id), None)
        if rate is None:
            raise _error("selected_shipping_rate_id", "is not a rate of this shipment")
        await choose_rate(ctx, checkout, shipment_id, rate)
    if fields:
        await writes.update_record(ctx.db, shipments, shipment_id, fields)


async def lock_order_of_shipment(ctx: Context, shipment_id: UUID) -> None:
    """Locks the order before its shipment, in the common lock order."""
    await _lock_checkout(ctx, shipment_id)


async def _lock_checkout(ctx: Context, shipment_id: UUID) -> Checkout:
    order_id = await writes.find_value(ctx.db, shipments, shipment_id, "order_id")
    order = await orders.lock_order(ctx.db, order_id) if order_id else None
    if order is None:
        raise NotFound()
    if order.completed_at is None:
        await refuse_while_paying(ctx, order)
    checkout = await load_checkout(ctx, order)
    if all(shipment.id != shipment_id for shipment in checkout.shipments):
        raise NotFound()  # The order was packed again while waiting for the lock.
    if order.completed_at is not None:
        note_order_changes(ctx, checkout)
    return checkout


def _require_open(checkout: Checkout) -> Checkout:
    if checkout.order.completed_at is not None:
        sentence = "The order is completed; its items can be transferred but not added or removed."
        raise _error("base", sentence, "illegal_transition")
    return checkout


async def _add_units(ctx: Context, order_id: UUID, variant_id: UUID, quantity: int) -> Checkout:
    try:
        cart = await add_lines(
            ctx, await lock_cart_with_lines(ctx, order_id), [CartItemInput(variant_id, quantity)], is_one=True
        )
    except NotFound:
        raise _error("variant_id", "is not a variant", "variant_not_found") from None
    return await pack_order(ctx, await load_checkout(ctx, cart.order))


def _find_item(checkout: Checkout, variant_id: UUID) -> tuple[Shipment, ShipmentItem]:
    item = next(each for each in checkout.items if each.variant_id == variant_id)
    return next(each for each in checkout.shipments if each.id == item.shipment_id), item


async def move_items(
    ctx: Context,
    checkout: Checkout,
    item: ShipmentItem,
    quantity: int,
    location_id: UUID,
    target: Shipment | None,
    *,
    is_new: bool = False,
) -> UUID:
    """Moves items between shipments; the order's shipping cost is unchanged.

    Without a target, takes another shipment of the location, or with `is_new` a new one. A new shipment costs nothing,
    and an emptied one transfers its cost to the target.
    """
    source = next(each for each in checkout.shipments if each.id == item.shipment_id)
    if checkout.order.completed_at is not None and source.stock_location_id != location_id:
        await move_reservation(ctx, checkout.order, item.variant_id, quantity, source.stock_location_id, location_id)
    others = [each for each in checkout.shipments if each.id != source.id and each.state in MOVABLE_STATES]
    if target is None and not is_new:
        target = next((each for each in others if each.stock_location_id == location_id), None)
    is_empty = quantity == item.quantity and all(
        each.id == item.id for each in checkout.items if each.shipment_id == source.id
    )
    if target is None and is_empty:
        await writes.update_record(ctx.db, shipments, source.id, {"stock_location_id": location_id})
        return source.id
    target_id = target.id if target else await _insert_shipment(ctx, checkout, source, location_id)
    await _move_units(ctx, checkout, item, quantity, target_id)
    if is_empty and target:
        if checkout.order.completed_at is not None:
            await note_rows(ctx, SHIPMENT, [source.id], is_deleted=True)
        await _transfer_cost(ctx, source, target)
    await _update_states(ctx, checkout)
    return target_id


async def _insert_shipment(ctx: Context, checkout: Checkout, source: Shipment, location_id: UUID) -> UUID:
    """Adds a shipment by the source's shipping method, at no cost; returns its id."""
    shipment_id = new_id()
    fields = {"order_id": checkout.order.id, "number": shipment_number(shipment_id), "stock_location_id": location_id}
    if checkout.order.completed_at is not None:
        note_change(ctx, SHIPMENT, shipment_id)
    await writes.insert_record(ctx.db, shipments, shipment_id, fields)
    await _copy_rate(ctx, checkout, source, shipment_id)
    return shipment_id


async def _copy_rate(ctx: Context, checkout: Checkout, source: Shipment, target_id: UUID) -> None:
    """Gives the new shipment the source's selected shipping method, at no cost."""
    rate = next((each for each in checkout.rates if each.shipment_id == source.id and each.is_selected), None)
    if rate:
        row = {
            "id": new_id(),
            "order_id": checkout.order.id,
            "shipment_id": target_id,
            "shipping_method_id": rate.shipping_method_id,
            "name": rate.name,
            "cost": 0,
            "tax_amount": 0,
            "tax_category_id": rate.tax_category_id,
            "is_selected": True,
        }
        await bulk.insert_rows(ctx.db, "shipping_rates", [row])


async def _move_units(ctx: Context, checkout: Checkout, item: ShipmentItem, quantity: int, target_id: UUID) -> None:
    existing = next(
        (each for each in checkout.items if each.shipment_id == target_id and each.line_item_id == item.line_item_id),
        None,
    )
    backordered_count = min(item.backordered, quantity)
    if quantity == item.quantity:
        await bulk.delete_rows(ctx.db, "shipment_items", [item.id])
    else:
        left = {"quantity": item.quantity - quantity, "backordered": item.backordered - backordered_count}
        await bulk.update_rows(ctx.db, "shipment_items", [{"id": item.id, **left}])
    if existing:
        more = {"quantity": existing.quantity + quantity, "backordered": existing.backordered + backordered_count}
        await bulk.update_rows(ctx.db, "shipment_items", [{"id": existing.id, **more}])
        return
    row = {
        "id": new_id(),
        "order_id": checkout.order.id,
        "shipment_id": target_id,
        "line_item_id": item.line_item_id,
        "variant_id": item.variant_id,
        "quantity": quantity,
        "backordered": backordered_count,
    }
    await bulk.insert_rows(ctx.db, "shipment_items", [row])


async def _transfer_cost(ctx: Context, source: Shipment, target: Shipment) -> None:
    sums = ("cost", "promo_total", "adjustment_total", "additional_tax_total", "included_tax_total", "pre_tax_amount")
    both = {name: getattr(source, name) + getattr(target, name) for name in sums}
    await bulk.update_rows(ctx.db, "shipments", [{"id": target.id, **both}])
    await bulk.delete_rows(ctx.db, "shipments", [source.id])


async def _update_states(ctx: Context, checkout: Checkout) -> None:
    order = await orders.lock_order(ctx.db, checkout.order.id)
    if order and order.completed_at is not None:
        await update_order_states(ctx, await load_checkout(ctx, order))
