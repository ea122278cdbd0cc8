"""Deliveries and transfers: goods that are expected at a stock location, and their receipt.

Each change locks the delivery, then the products. A form names the version of the delivery that it shows, so that of
two operators who receive the same goods, only one succeeds.
"""

from collections.abc import Mapping
from datetime import date
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.audit import audit
from shop.actions.catalog import stock
from shop.actions.catalog.products import defer_refresh
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound
from shop.base.values import REQUIRED
from shop.db.pool import ConstraintViolation
from shop.models.stock.deliveries import StockDelivery, stock_deliveries, stock_delivery_lines
from shop.queries import writes
from shop.queries.catalog import product_index
from shop.queries.catalog import stock as stock_queries
from shop.queries.catalog_admin import variants
from shop.queries.stock import deliveries as queries
from shop.queries.stock.deliveries import NamedLine
from shop.rules.stock.deliveries import MAX_LINES, MAX_QUANTITY, read_delivery_lines

_CHANGE_CONFLICT = "Someone else changed this in the meantime; the page now shows the current state. Nothing was saved."
_OVER = "This has ended and cannot be changed anymore."


class NewDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """The values of the form of a new delivery, or of a new transfer if it has a source."""

    id: UUID
    reference: str
    location_id: UUID
    source_id: UUID | None = None
    expected_on: date | None = None
    lines: str = ""


async def create_delivery(ctx: Context, form: NewDelivery) -> bool:
    """Creates a delivery that is expected, or the draft of a transfer; returns False if it was created before."""
    if form.source_id == form.location_id:
        raise Invalid({"location": ["must be another location than the one that the goods leave"]})
    for name, location_id in (("location", form.location_id), ("source", form.source_id)):
        if location_id and await stock_queries.find_location(ctx.db, location_id) is None:
            raise Invalid({name: ["is not a stock location"]})
    quantities = await _read_lines(ctx, form.lines) if form.lines.strip() else {}
    delivery_id = form.id
    async with ctx.db.transaction():
        await writes.lock_form(ctx.db, delivery_id)
        if await queries.lock_delivery(ctx.db, delivery_id):
            return False
        values = {"reference": form.reference, "stock_location_id": form.location_id, "expected_on": form.expected_on}
        values |= {"source_location_id": form.source_id, "state": "draft" if form.source_id else "open"}
        await writes.insert_record(ctx.db, stock_deliveries, delivery_id, values)
        await _add_lines(ctx, delivery_id, quantities)
        await _audit(ctx, delivery_id, "created", form.reference, lines=len(quantities))
    return True


async def change_delivery(
    ctx: Context, delivery_id: UUID, version: int, *, reference: str, expected_on: date | None
) -> None:
    async with ctx.db.transaction():
        delivery = await _lock(ctx, delivery_id, version)
        await _save(ctx, delivery, reference=reference, expected_on=expected_on)
        await _audit(ctx, delivery_id, "changed", reference)


async def paste_lines(ctx: Context, delivery_id: UUID, version: int | None, text: str) -> None:
    """Adds lines of `sku,quantity`; a variant that has a line gets the sum."""
    await add_lines(ctx, delivery_id, version, await _read_lines(ctx, text))


async def add_lines(ctx: Context, delivery_id: UUID, version: int | None, quantities: Mapping[UUID, int]) -> None:
    """Adds quantities by variant. A repeated submit has an older version, and adds nothing."""
    if not quantities:
        raise Invalid({"lines": [REQUIRED]})
    async with ctx.db.transaction():
        delivery = await _lock_editable(ctx, delivery_id, version)
        await _add_lines(ctx, delivery_id, quantities)
        await _save(ctx, delivery)
        await _audit(ctx, delivery_id, "changed", delivery.reference, lines=len(quantities))


async def remove_line(ctx: Context, delivery_id: UUID, line_id: UUID) -> None:
    """Removes a line of which nothing has arrived."""
    async with ctx.db.transaction():
        delivery = await _lock_editable(ctx, delivery_id)
        line = next((line for line in await queries.list_lines(ctx.db, delivery_id) if line.id == line_id), None)
        if line is None:
            raise NotFound()
        if line.received_quantity:
            raise _refusal("Some of this line has arrived, so that it cannot be removed.")
        await writes.delete_record(ctx.db, stock_delivery_lines, line_id)
        await _save(ctx, delivery)
        await _audit(ctx, delivery_id, "changed", delivery.reference)


async def send_transfer(ctx: Context, delivery_id: UUID, version: int, *, has_arrived: bool) -> None:
    """Takes the goods of a transfer from their location; `has_arrived` receives them in the same step."""
    async with ctx.db.transaction():
        delivery = await _lock(ctx, delivery_id, version)
        if delivery.state != "draft" or delivery.source_location_id is None:
            raise _refusal(_CHANGE_CONFLICT)
        lines = await queries.list_lines(ctx.db, delivery_id)
        if not lines:
            raise _refusal("Add at least one line first.")
        await _move(ctx, delivery, delivery.source_location_id, {line: -line.quantity for line in lines})
        await _audit(ctx, delivery_id, "sent", delivery.reference, units=sum(line.quantity for line in lines))
        if has_arrived:
            await _receive(ctx, delivery, {line: line.quantity for line in lines})
        else:
            await _save(ctx, delivery, state="open")


async def receive_delivery(ctx: Context, delivery_id: UUID, version: int, quantities: Mapping[UUID, int]) -> None:
    """Receives quantities by line. The delivery ends once nothing remains."""
    async with ctx.db.transaction():
        delivery = await _lock(ctx, delivery_id, version)
        if delivery.state != "open":
            raise _refusal(_CHANGE_CONFLICT)
        lines = {line.id: line for line in await queries.list_lines(ctx.db, delivery_id)}
        if not quantities.keys() <= lines.keys():
            raise _refusal(_CHANGE_CONFLICT)
        arrivals = {lines[line_id]: quantity for line_id, quantity in quantities.items() if quantity > 0}
        if not arrivals:
            raise _refusal("Enter the quantity that arrived of at least one line.")
        await _receive(ctx, delivery, arrivals)


async def close_delivery(ctx: Context, delivery_id: UUID, version: int) -> None:
    """Ends a delivery without the rest; the rest of a transfer returns to the location that it left."""
    async with ctx.db.transaction():
        delivery = await _lock(ctx, delivery_id, version)
        if delivery.state not in ("draft", "open"):
            raise _refusal(_OVER)
        lines = await queries.list_lines(ctx.db, delivery_id)
        if delivery.source_location_id and delivery.state == "open":
            rest = {line: line.remaining for line in lines if line.remaining}
            await _move(ctx, delivery, delivery.source_location_id, rest)
        state = "received" if any(line.received_quantity for line in lines) else "canceled"
        await _save(ctx, delivery, state=state)
        await _audit(ctx, delivery_id, "closed", delivery.reference, units=sum(line.remaining for line in lines))


async def _receive(ctx: Context, delivery: StockDelivery, quantities: Mapping[NamedLine, int]) -> None:
    if delivery.is_transfer:
        errors = {
            f"quantity-{line.id}": [f"must be {line.remaining} or fewer: no more was sent"]
            for line, quantity in quantities.items()
            if quantity > line.remaining
        }
        if errors:
            raise Invalid(errors)
    await _move(ctx, delivery, delivery.stock_location_id, quantities)
    for line, quantity in quantities.items():
        await queries.receive_line(ctx.db, line.id, quantity)
    remaining = sum(line.remaining for line in await queries.list_lines(ctx.db, delivery.id))
    await _save(ctx, delivery, state="open" if remaining else "received")
    await _audit(ctx, delivery.id, "received", delivery.reference, units=sum(quantities.values()))


async def _move(ctx: Context, delivery: StockDelivery, location_id: UUID, quantities: Mapping[NamedLine, int]) -> None:
    """Moves stock at a location, each line with the reference in the ledger."""
    await product_index.lock_products(ctx.db, {line.product_id for line in quantities})
    reason = "moved" if delivery.is_transfer else "received"
    note = f"{'Transfer' if delivery.is_transfer else 'Delivery'} {delivery.reference}"
    errors: dict[str, Any] = {}
    async with defer_refresh(ctx):
        for line in sorted(quantities, key=lambda line: line.variant_id):
            try:
                item = await stock.get_or_create_item(ctx, line.variant_id, location_id)
                await stock.move_stock(ctx, item.id, quantities[line], reason=reason, note=note)
            except Invalid as error:
                errors[f"quantity-{line.id}"] = [text for texts in error.errors.values() for text in texts]
    if errors:
        raise Invalid(errors)


async def _read_lines(ctx: Context, text: str) -> dict[UUID, int]:
    lines, errors = read_delivery_lines(text)
    variant_ids = await variants.find_variants(ctx.db, [line.sku for line in lines]) if not errors else {}
    if not errors:
        errors = [
            f"Line {line.number} ({line.sku[:60]}) has a SKU that does not exist."
            for line in lines
            if line.sku not in variant_ids
        ]
    if errors or not lines:
        raise Invalid({"lines": errors or [REQUIRED]})
    quantities: dict[UUID, int] = {}
    for line in lines:
        variant_id = variant_ids[line.sku]
        quantities[variant_id] = quantities.get(variant_id, 0) + line.quantity
    return quantities


async def _add_lines(ctx: Context, delivery_id: UUID, quantities: Mapping[UUID, int]) -> None:
    for variant_id in sorted(quantities):
        try:
            quantity = await queries.add_line(ctx.db, delivery_id, variant_id, quantities[variant_id])
        except ConstraintViolation:
            raise Invalid({"lines": ["has a variant that does not exist"]}) from None
        if quantity > MAX_QUANTITY:
            raise Invalid({"lines": [f"would be more than {MAX_QUANTITY:,} units of a variant"]})
    if len(await queries.list_lines(ctx.db, delivery_id)) > MAX_LINES:
        raise Invalid({"lines": [f"would be more than {MAX_LINES}; use several deliveries"]})


async def _lock(ctx: Context, delivery_id: UUID, version: int | None) -> StockDelivery:
    """Locks a delivery; refuses a form that shows an older version."""
    delivery = await queries.lock_delivery(ctx.db, delivery_id)
    if delivery is None:
        raise NotFound()
    if version is not None and delivery.version != version:
        raise _refusal(_CHANGE_CONFLICT)
    return delivery


async def _lock_editable(ctx: Context, delivery_id: UUID, version: int | None = None) -> StockDelivery:
    delivery = await _lock(ctx, delivery_id, version)
    if not delivery.can_change_lines:
        raise _refusal(_OVER if delivery.state != "open" else "The goods are on their way; lines cannot be changed.")
    return delivery


async def _save(ctx: Context, delivery: StockDelivery, **values: Any) -> None:
    await writes.update_record(ctx.db, stock_deliveries, delivery.id, {**values, "version": delivery.version + 1})


async def _audit(ctx: Context, delivery_id: UUID, event: str, reference: str, **detail: object) -> None:
    detail = {"reference": reference, **detail}
    await audit(ctx, f"stock_delivery_{event}", "done", subject_id=delivery_id, detail=detail)


def _refusal(sentence: str) -> Invalid:
    return Invalid({"base": [sentence]}, sentence)
