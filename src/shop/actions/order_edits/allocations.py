"""Distributes changed quantities of a placed order among shipments and stock, in the caller's transaction."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from shop.actions.cart.orders import Checkout
from shop.actions.catalog.reservations import restock, take_stock, write_off_stock
from shop.actions.context import Context
from shop.actions.event_subjects import SHIPMENT
from shop.actions.events import note_change, note_rows
from shop.base.errors import Invalid
from shop.base.ids import new_id, shipment_number
from shop.models.cart.orders import CartLine
from shop.models.cart.quotes import Quote
from shop.models.checkout.shipments import Shipment, ShipmentItem, ShippingRate
from shop.queries import bulk
from shop.queries.catalog import product_index, stock
from shop.queries.catalog.stock import OrderStock
from shop.queries.checkout import shipments as shipment_queries
from shop.rules.order_edits.allocations import Allocation, release_units, take_units
from shop.rules.orders.shipments import MOVABLE_STATES

_STAMPS = frozenset({"created_at", "updated_at"})


class StockEffect(msgspec.Struct, frozen=True):
    """Units that return to the stock of a location, or with a negative quantity are taken from it."""

    line: CartLine
    location_id: UUID
    quantity: int
    backordered: int = 0
    is_tracked: bool = True
    is_lost: bool = False
    """Whether the units are damaged or lost, and do not return."""

    @property
    def mark(self) -> tuple[str, str, int, int, bool]:
        """What an edit must do as its preview showed it."""
        ids = str(self.line.variant_id), str(self.location_id)
        return *ids, self.quantity, self.backordered, self.is_lost


class Reallocation(msgspec.Struct, frozen=True):
    """The shipments of the edited order, and what changes in stock."""

    shipments: Sequence[Shipment]
    items: Sequence[ShipmentItem]
    rates: Sequence[ShippingRate]
    merged_ids: Mapping[UUID, UUID]
    """The shipments that take over the cost of emptied ones, by the ids of those."""
    effects: Sequence[StockEffect]


async def reallocate(
    ctx: Context,
    checkout: Checkout,
    lines: Sequence[CartLine],
    quotes: Mapping[UUID, Quote],
    lost_line_ids: frozenset[UUID],
) -> Reallocation:
    """Returns the shipments for the new line items; writes nothing."""
    draft = _Draft(checkout, quotes, lost_line_ids)
    quantities = {line.id: line.quantity for line in lines}
    for line in checkout.lines:
        draft.release(line, line.quantity - quantities.get(line.id, 0))
    earlier = {line.id: line.quantity for line in checkout.lines}
    grown_lines = [line for line in lines if line.quantity > earlier.get(line.id, 0)]
    stocks = await shipment_queries.list_stock_of_variants(ctx.db, [line.variant_id for line in grown_lines])
    location_ids = [location.id for location in await shipment_queries.list_active_locations(ctx.db)]
    for line in grown_lines:
        own_stocks = [each for each in stocks if each.variant_id == line.variant_id]
        count = line.quantity - earlier.get(line.id, 0)
        preferred_ids = [*draft.list_locations(line), *location_ids]
        if quotes[line.variant_id].is_tracked:
            allocations = take_units(own_stocks, preferred_ids, count)
        else:
            allocations = [Allocation(preferred_ids[0], count)] if preferred_ids else None
        if allocations is None:
            available = sum(max(each.on_hand, 0) for each in own_stocks)
            sentence = f"{line.name}: not enough stock. {available} more can be added."
            raise Invalid({"base": [sentence]}, sentence, code="out_of_stock")
        for allocation in allocations:
            draft.take(line, allocation)
    return draft.finish()


class _Draft:
    """The shipments while units are released and taken."""

    def __init__(self, checkout: Checkout, quotes: Mapping[UUID, Quote], lost_line_ids: frozenset[UUID]) -> None:
        self._checkout = checkout
        self._quotes = quotes
        self._lost_line_ids = lost_line_ids
        self._shipments = {each.id: each for each in checkout.shipments}
        self._items = {each.id: each for each in checkout.items}
        self._rates = list(checkout.rates)
        self._effects: list[StockEffect] = []

    def list_locations(self, line: CartLine) -> list[UUID]:
        """Returns the locations of shipments that can take more units: first those that have the line item."""
        movable = [each for each in self._shipments.values() if each.state in MOVABLE_STATES]
        with_line = {item.shipment_id for item in self._items.values() if item.line_item_id == line.id}
        return [each.stock_location_id for each in sorted(movable, key=lambda each: each.id not in with_line)]

    def release(self, line: CartLine, count: int) -> None:
        if count <= 0:
            return
        items = [
            item
            for item in self._items.values()
            if item.line_item_id == line.id and self._shipments[item.shipment_id].state in MOVABLE_STATES
        ]
        left = sum(item.quantity for item in items)
        if count > left:
            sentence = f"{line.name}: {line.quantity - left} cannot be removed any more, because they were shipped."
            raise Invalid({"base": [sentence]}, sentence, code="already_shipped")
        for item, quantity in release_units(items, count):
            backordered_count = min(item.backordered, quantity)
            location_id = self._shipments[item.shipment_id].stock_location_id
            self._add_effect(line, location_id, quantity, backordered_count)
            if quantity == item.quantity:
                del self._items[item.id]
            else:
                self._items[item.id] = msgspec.structs.replace(
                    item, quantity=item.quantity - quantity, backordered=item.backordered - backordered_count
                )

    def take(self, line: CartLine, allocation: Allocation) -> None:
        shipment = self._find_target(line, allocation.location_id) or self._add_shipment(allocation.location_id)
        self._add_effect(line, allocation.location_id, -allocation.quantity, allocation.backordered)
        same = (item for item in self._items.values() if item.shipment_id == shipment.id)
        item = next((item for item in same if item.line_item_id == line.id), None)
        item = item or ShipmentItem(
            id=new_id(),
            order_id=shipment.order_id,
            shipment_id=shipment.id,
            line_item_id=line.id,
            variant_id=line.variant_id,
            quantity=0,
        )
        self._items[item.id] = msgspec.structs.replace(
            item,
            quantity=item.quantity + allocation.quantity,
            backordered=item.backordered + allocation.backordered,
        )

    def finish(self) -> Reallocation:
        """Returns the result, in which other shipments take over the costs of those that are empty now."""
        filled_ids = {item.shipment_id for item in self._items.values()}
        emptied_ids = {item.shipment_id for item in self._checkout.items} - filled_ids
        merged_ids: dict[UUID, UUID] = {}
        for shipment_id in emptied_ids:
            source = self._shipments.pop(shipment_id)
            others = [each for each in self._shipments.values() if each.id not in emptied_ids]
            target = min(others, key=lambda each: each.state not in MOVABLE_STATES)
            merged_ids[shipment_id] = target.id
            self._shipments[target.id] = msgspec.structs.replace(
                target,
                cost=target.cost + source.cost,
                promo_total=target.promo_total + source.promo_total,
                promotion_id=target.promotion_id or source.promotion_id,
            )
        rates = [rate for rate in self._rates if rate.shipment_id not in merged_ids]
        items = list(self._items.values())
        return Reallocation(list(self._shipments.values()), items, rates, merged_ids, self._effects)

    def _find_target(self, line: CartLine, location_id: UUID) -> Shipment | None:
        shipments = [
            each
            for each in self._shipments.values()
            if each.state in MOVABLE_STATES and each.stock_location_id == location_id
        ]
        with_line = {item.shipment_id for item in self._items.values() if item.line_item_id == line.id}
        return min(shipments, key=lambda each: each.id not in with_line, default=None)

    def _add_shipment(self, location_id: UUID) -> Shipment:
        """Adds a shipment without a cost, by the method of the others."""
        order, shipment_id = self._checkout.order, new_id()
        shipment = Shipment(
            id=shipment_id,
            order_id=order.id,
            number=shipment_number(shipment_id),
            stock_location_id=location_id,
            created_at=order.updated_at,
            updated_at=order.updated_at,
        )
        self._shipments[shipment_id] = shipment
        rate = next((each for each in self._rates if each.is_selected), None)
        if rate:
            changes = {"id": new_id(), "shipment_id": shipment_id, "cost": 0, "tax_amount": 0}
            self._rates.append(msgspec.structs.replace(rate, **changes))
        return shipment

    def _add_effect(self, line: CartLine, location_id: UUID, quantity: int, backordered_count: int) -> None:
        quote = self._quotes.get(line.variant_id)
        is_tracked = quote is None or quote.is_tracked
        is_lost = quantity > 0 and line.id in self._lost_line_ids
        self._effects.append(StockEffect(line, location_id, quantity, backordered_count, is_tracked, is_lost))


async def insert_shipments(ctx: Context, before: Checkout, reallocation: Reallocation) -> None:
    """Inserts the new shipments with their rates."""
    known_ids = {each.id for each in before.shipments}
    new_shipments = [each for each in reallocation.shipments if each.id not in known_ids]
    for each in new_shipments:
        note_change(ctx, SHIPMENT, each.id)
    await bulk.insert_rows(ctx.db, "shipments", [_as_row(each) for each in new_shipments])
    new_rates = [rate for rate in reallocation.rates if rate.shipment_id not in known_ids]
    await bulk.insert_rows(ctx.db, "shipping_rates", [_as_row(rate) for rate in new_rates])


async def save_reallocation(
    ctx: Context, before: Checkout, reallocation: Reallocation, quotes: Mapping[UUID, Quote]
) -> None:
    """Saves items and amounts of shipments, and moves the stock. The line items of new items exist already."""
    old_items = {item.id: item for item in before.items}
    new_ids = {item.id for item in reallocation.items}
    await bulk.delete_rows(ctx.db, "shipment_items", [item_id for item_id in old_items if item_id not in new_ids])
    changed_items = [item for item in reallocation.items if item.id in old_items and old_items[item.id] != item]
    await bulk.update_rows(ctx.db, "shipment_items", [_as_row(item) for item in changed_items])
    new_items = [item for item in reallocation.items if item.id not in old_items]
    await bulk.insert_rows(ctx.db, "shipment_items", [_as_row(item) for item in new_items])
    old_shipments = {each.id: each for each in before.shipments}
    changed_shipments = [each for each in reallocation.shipments if old_shipments.get(each.id) != each]
    await bulk.update_rows(ctx.db, "shipments", [_as_row(each) for each in changed_shipments])
    await note_rows(ctx, SHIPMENT, list(reallocation.merged_ids), is_deleted=True)
    await bulk.delete_rows(ctx.db, "shipments", list(reallocation.merged_ids))
    await _move_stock(ctx, before, reallocation.effects, quotes)


async def _move_stock(
    ctx: Context, before: Checkout, effects: Sequence[StockEffect], quotes: Mapping[UUID, Quote]
) -> None:
    """Takes and returns stock. Returns at most what the order took: an imported order may have taken none."""
    order = before.order
    sold_quantities = {each.stock_item_id: each.quantity for each in await stock.list_sold_stock(ctx.db, order.number)}
    returns: list[OrderStock] = []
    losses: list[OrderStock] = []
    quantities: dict[UUID, int] = {}
    product_ids = sorted({quotes[each.line.variant_id].product_id for each in effects if each.is_tracked})
    if product_ids:
        await product_index.lock_products(ctx.db, product_ids)
    for effect in effects:
        item = await stock.find_item(ctx.db, effect.line.variant_id, effect.location_id) if effect.is_tracked else None
        if item is None:
            continue
        if effect.quantity > 0:
            quantity = min(effect.quantity, sold_quantities.get(item.id, 0))
            sold_quantities[item.id] = sold_quantities.get(item.id, 0) - quantity
            product_id = quotes[effect.line.variant_id].product_id
            returns += [OrderStock(item.id, quantity, product_id)] if quantity else []
            # Units that were backordered were never there.
            lost_count = max(quantity - effect.backordered, 0) if effect.is_lost else 0
            losses += [OrderStock(item.id, lost_count, product_id)] if lost_count else []
        else:
            quantities[item.id] = quantities.get(item.id, 0) - effect.quantity
    if returns:
        await restock(ctx, order, returns)
    if losses:
        await write_off_stock(ctx, order, losses)
    if quantities:
        await take_stock(ctx, order, quantities, product_ids)


def _as_row(struct: msgspec.Struct) -> dict[str, object]:
    return {name: value for name, value in msgspec.structs.asdict(struct).items() if name not in _STAMPS}
