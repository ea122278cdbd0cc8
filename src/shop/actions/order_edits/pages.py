"""Loads what the pages of edits show."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from shop.actions.cart.locked_carts import get_pricing
from shop.actions.cart.orders import Checkout, load_checkout
from shop.actions.context import Context
from shop.actions.order_edits.contacts import list_addresses
from shop.actions.orders.pages import get_page
from shop.actions.timeline import TimelineItem
from shop.models.cart.orders import CartLine, Order
from shop.models.cart.quotes import Quote
from shop.models.customers.addresses import AddressWithCountry
from shop.queries import timeline
from shop.queries.catalog import quotes
from shop.queries.catalog_admin.price_preview import search_variants
from shop.queries.checkout import shipments
from shop.rules.form_values import prefix_query
from shop.rules.orders.shipments import MOVABLE_STATES

MAX_RESULTS = 20


class EditableOrder(msgspec.Struct, frozen=True):
    """An order with what its edit form shows."""

    checkout: Checkout
    ship_address: AddressWithCountry | None
    bill_address: AddressWithCountry | None
    location_names: Mapping[UUID, str]
    changed_at: datetime
    """The time of the newest entry of the timeline, or of the last change if that is later."""

    @property
    def fixed_counts(self) -> dict[UUID, int]:
        """The number of units by line item that were shipped, and cannot be removed."""
        return count_fixed(self.checkout)


def count_fixed(checkout: Checkout) -> dict[UUID, int]:
    """Returns the units that were shipped, by line item."""
    movable_ids = {each.id for each in checkout.shipments if each.state in MOVABLE_STATES}
    counts: dict[UUID, int] = {}
    for item in checkout.items:
        if item.shipment_id not in movable_ids:
            counts[item.line_item_id] = counts.get(item.line_item_id, 0) + item.quantity
    return counts


async def load_editable(ctx: Context, order: Order) -> EditableOrder:
    addresses = await list_addresses(ctx, order)
    names = {location.id: location.name for location in await shipments.list_locations(ctx.db)}
    ship_address, bill_address = (
        addresses.get(address_id) if address_id else None
        for address_id in (order.ship_address_id, order.bill_address_id)
    )
    newest = await timeline.list_of_order(ctx.db, order.id, most=1)
    changed_at = max([order.updated_at, *(entry.at for entry in newest)])
    return EditableOrder(await load_checkout(ctx, order), ship_address, bill_address, names, changed_at)


async def find_variants(ctx: Context, order: Order, text: str) -> list[Quote]:
    """Returns variants by name or SKU, with their stock and today's prices for the customer."""
    query = prefix_query(text)
    variants = await search_variants(ctx.db, query, most=MAX_RESULTS) if query else []
    return await list_variants(ctx, order, [variant.id for variant in variants])


async def list_variants(ctx: Context, order: Order, variant_ids: Sequence[UUID]) -> list[Quote]:
    pricing = await get_pricing(ctx, order)
    quotes_by_id = await quotes.list_quotes(ctx.db, pricing, dict.fromkeys(variant_ids, 1))
    return [quotes_by_id[variant_id] for variant_id in variant_ids if variant_id in quotes_by_id]


async def list_changes_since(ctx: Context, order: Order, seen_at: datetime | None) -> list[TimelineItem]:
    """Returns what happened to an order after a time, oldest first."""
    if seen_at is None:
        return []
    items = (await get_page(ctx, order)).timeline
    return [item for item in reversed(items) if item.at > seen_at]


def name_line(line: CartLine) -> str:
    return f"{line.name} ({line.options_text})" if line.options_text else line.name
