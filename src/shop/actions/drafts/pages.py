"""Loads the page of a draft, and what its searches show."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from shop.actions.cart.locked_carts import get_pricing, list_line_quotes
from shop.actions.cart.orders import Checkout, load_checkout
from shop.actions.checkout.coupons import list_codes
from shop.actions.checkout.steps import requirements
from shop.actions.context import Context
from shop.actions.drafts.placement import list_methods
from shop.models.access.users import User
from shop.models.cart.orders import CartLine, Order
from shop.models.cart.quotes import Quote
from shop.models.catalog.product_query import search_query
from shop.models.catalog.stock import StockLocation
from shop.models.checkout.coupons import Adjustment
from shop.models.checkout.payments import PaymentMethod
from shop.models.checkout.shipments import Shipment, ShippingRate
from shop.models.customers.addresses import AddressWithCountry
from shop.models.drafts.drafts import DraftDiscount
from shop.models.order_edits.notes import ListedNote
from shop.queries.access import operators
from shop.queries.catalog import quotes
from shop.queries.catalog_admin import price_preview
from shop.queries.checkout import adjustments, shipments
from shop.queries.customers import customers, users
from shop.queries.customers.customers import CustomerQuery
from shop.queries.drafts import drafts
from shop.queries.drafts.drafts import StockAtLocation
from shop.queries.order_edits import notes
from shop.rules.cart.line_items import CartWarning, warnings_of
from shop.rules.checkout.steps import CheckoutRequirement
from shop.rules.form_values import prefix_query

MAX_RESULTS = 20


class DraftShipment(msgspec.Struct, frozen=True):
    """A shipment with its stock location, contents and offered rates."""

    shipment: Shipment
    location_name: str
    contents: Sequence[tuple[CartLine, int]]
    rates: Sequence[ShippingRate]


class ProductOption(msgspec.Struct, frozen=True):
    """A variant that can be added, with the customer's price and its stock by location."""

    quote: Quote
    stock: Sequence[StockAtLocation]

    @property
    def is_available(self) -> bool:
        return self.quote.is_sold and self.quote.price is not None and self.quote.can_supply(1)


class DraftPage(msgspec.Struct, frozen=True):
    """A draft with all that its page shows."""

    order: Order
    lines: Sequence[CartLine]
    warnings: Mapping[UUID, Sequence[CartWarning]]
    """Warnings by line item."""
    discounts: Mapping[UUID | None, DraftDiscount]
    """Discounts by line item; None for the whole order."""
    adjustments: Sequence[Adjustment]
    codes: Sequence[str]
    shipments: Sequence[DraftShipment]
    addresses: Mapping[UUID, AddressWithCountry]
    address_book: Sequence[AddressWithCountry]
    customer: User | None
    author_email: str | None
    missing: Sequence[CheckoutRequirement]
    """What is missing before the draft can be placed."""
    methods: Sequence[PaymentMethod]
    locations: Sequence[StockLocation]
    """Where the customer can pick up the goods."""
    mailed_quotes: Sequence[ListedNote]


async def get_page(ctx: Context, order: Order) -> DraftPage:
    checkout = await load_checkout(ctx, order)
    variant_quotes = await list_line_quotes(ctx, await get_pricing(ctx, order), checkout.lines)
    warnings: dict[UUID, list[CartWarning]] = {}
    for warning in warnings_of(checkout.lines, variant_quotes):
        if warning.line_item_id:
            warnings.setdefault(warning.line_item_id, []).append(warning)
    ids = [address_id for address_id in {order.bill_address_id, order.ship_address_id} if address_id]
    locations = await shipments.list_locations(ctx.db)
    author = await operators.find_operator(ctx.db, order.author_id) if order.author_id else None
    return DraftPage(
        order,
        checkout.lines,
        warnings,
        {each.line_item_id: each for each in await drafts.list_discounts(ctx.db, order.id)},
        (await adjustments.list_manual(ctx.db, order.id))[::-1],
        await list_codes(ctx, order),
        _build_shipments(checkout, locations),
        await users.find_addresses(ctx.db, ids) if ids else {},
        await users.list_addresses(ctx.db, order.user_id) if order.user_id else (),
        await users.find_user(ctx.db, order.user_id) if order.user_id else None,
        author.email if author else None,
        [each for each in requirements(checkout) if each.step != "payment"],
        await list_methods(ctx, order),
        sorted((each for each in locations if each.active), key=lambda each: each.name),
        [each for each in await notes.list_notes(ctx.db, order.id) if each.kind == "quote"],
    )


async def search_products(ctx: Context, order: Order, text: str) -> list[ProductOption]:
    """Returns variants by product name or SKU, at the prices of the draft's customer."""
    query = prefix_query(text)
    named_variants = await price_preview.search_variants(ctx.db, query, most=MAX_RESULTS) if query else []
    ids = [each.id for each in named_variants]
    if not ids:
        return []
    variant_quotes = await quotes.list_quotes(ctx.db, await get_pricing(ctx, order), dict.fromkeys(ids, 1))
    stock = await drafts.list_stock(ctx.db, ids)
    return [
        ProductOption(variant_quotes[variant_id], [each for each in stock if each.variant_id == variant_id])
        for variant_id in ids
        if variant_id in variant_quotes
    ]


async def search_customers(ctx: Context, text: str) -> list[User]:
    """Returns customers by the start of their name, e-mail address or phone number."""
    words = search_query(text) if text else None
    if words is None:
        return []
    query = CustomerQuery(words=words, is_blocked=False)
    return list(await customers.list_customers(ctx.db, query, None, most=MAX_RESULTS))


def _build_shipments(checkout: Checkout, locations: Sequence[StockLocation]) -> list[DraftShipment]:
    location_names = {location.id: location.name for location in locations}
    lines = {line.id: line for line in checkout.lines}
    return [
        DraftShipment(
            shipment,
            location_names[shipment.stock_location_id],
            [
                (lines[item.line_item_id], item.quantity)
                for item in checkout.items
                if item.shipment_id == shipment.id and item.line_item_id in lines
            ],
            [rate for rate in checkout.rates if rate.shipment_id == shipment.id],
        )
        for shipment in checkout.shipments
    ]
