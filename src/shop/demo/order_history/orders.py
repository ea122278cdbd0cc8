"""Adds two weeks of historical orders to a demo shop, in small batches while the shop serves.

    lock the progress  ->  price and insert the next orders of the plan  ->  save the progress      one transaction

After a crash, the next process continues with the first order that was not committed. The orders move no stock, use no
promotion or store credit, and send no e-mail. Without a frozen calculation (`explained`), `shop verify` does not expect
stock movements or promotion uses of them.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from uuid import UUID

import msgspec
import structlog

from shop.actions.cart.promotions import compile_promotion
from shop.actions.checkout.coupons import read_code
from shop.actions.context import Context, Shared
from shop.actions.operations.report_days import mark_times_stale
from shop.base.ids import new_id
from shop.demo import shop
from shop.demo.order_history.history import PlannedOrder, plan_orders
from shop.demo.order_history.order_rows import OrderFacts, Rows, build_order
from shop.demo.order_history.people import Place
from shop.models.checkout.payments import PaymentMethod
from shop.models.setup.demo import DemoFill
from shop.queries import bulk
from shop.queries.cart import promotions as promotion_queries
from shop.queries.cart.promotions import PromotableVariant
from shop.queries.catalog import prices, quotes
from shop.queries.catalog.prices import Pricing
from shop.queries.catalog_admin import variants
from shop.queries.checkout import shipments
from shop.queries.customers import customers, users
from shop.queries.operations import order_index
from shop.queries.payments import payments
from shop.queries.setup import demo as queries
from shop.queries.setup import taxes
from shop.rules.cart.promotions import CompiledPromotion
from shop.rules.cart.totals import Rate
from shop.rules.setup.shipping import ShippingOption

BATCH = 20
_PROMOTION_NAMES = {promotion.name for promotion in shop.PROMOTIONS}
_LOCATION_NAMES = {location["name"] for location in shop.LOCATIONS}
_log = structlog.get_logger("shop.demo")
_plan = lru_cache(maxsize=1)(plan_orders)


class Destination(msgspec.Struct, frozen=True):
    """The country and state of an address, with the tax rates and shipping methods there."""

    country_id: UUID
    state_id: UUID | None
    rates: Sequence[Rate] = ()
    shipping: Sequence[ShippingOption] = ()


class BatchFacts(msgspec.Struct, frozen=True):
    """The records that all orders of a batch refer to."""

    until: datetime
    user_ids: Mapping[str, UUID]
    variant_ids: Mapping[str, UUID]
    variants: Mapping[UUID, PromotableVariant]
    promotions: Sequence[CompiledPromotion]
    location_ids: Sequence[UUID]
    methods: Sequence[PaymentMethod]


async def add_orders(shared: Shared) -> int:
    """Adds the next orders of a demo shop; returns how many are left. Returns 0 at once for any other shop."""
    ctx = Context(shared)
    fill = await queries.find_fill(ctx.db)
    if fill is None:
        return 0
    total = len(_plan(fill.started_at))
    async with ctx.db.transaction():
        locked_fill = await queries.lock_fill(ctx.db)
        if locked_fill is None:
            return total - fill.order_count  # Another process is adding orders.
        plans = _plan(locked_fill.started_at)[locked_fill.order_count :][:BATCH]
        await _insert_orders(ctx, locked_fill, plans)
        count = locked_fill.order_count + len(plans)
        await queries.advance_fill(ctx.db, count=count, has_ended=count >= total)
    _log.info("demo orders added", count=count, total=total)
    return total - count


async def _insert_orders(ctx: Context, fill: DemoFill, plans: Sequence[PlannedOrder]) -> None:
    facts = await _load_facts(ctx, fill, plans)
    destinations: dict[Place, Destination] = {}
    tables: Rows = {}
    if facts.location_ids and facts.methods:
        for plan in plans:
            address_id = await _insert_address(ctx, plan, destinations)
            for table, rows in build_order(
                plan, await _order_facts(ctx, facts, plan, address_id, destinations)
            ).items():
                tables.setdefault(table, []).extend(rows)
    for table, rows in tables.items():
        await bulk.insert_history(ctx.db, table, rows)
    # They have no events, from which the worker would index and count them.
    await order_index.refresh(ctx.db, [row["id"] for row in tables.get("orders", ())])
    times = [row["completed_at"] for row in tables.get("orders", ())]
    times += [row["updated_at"] for row in tables.get("refunds", ())]
    await mark_times_stale(ctx.db, ctx.shared.shop.time_zone, times)


async def _load_facts(ctx: Context, fill: DemoFill, plans: Sequence[PlannedOrder]) -> BatchFacts:
    variant_ids = await variants.find_variants(ctx.db, sorted({sku for plan in plans for sku, _ in plan.lines}))
    emails = [plan.email for plan in plans if plan.is_customer]
    methods = [method for method in await payments.list_methods(ctx.db) if method.type in {"check", "test_card"}]
    return BatchFacts(
        fill.started_at,
        await customers.find_by_keys(ctx.db, emails),
        variant_ids,
        await promotion_queries.list_promotable_variants(ctx.db, list(variant_ids.values())),
        await _list_promotions(ctx),
        [location.id for location in await shipments.list_active_locations(ctx.db) if location.name in _LOCATION_NAMES],
        methods,
    )


async def _list_promotions(ctx: Context) -> list[CompiledPromotion]:
    """Returns the promotions of the demo shop, automatic or by code."""
    by_code = await promotion_queries.find_of_code(ctx.db, read_code(shop.COUPON))
    rows = await promotion_queries.list_automatic(ctx.db)
    rows += await promotion_queries.list_promotions_with_parts(ctx.db, [by_code[0]]) if by_code else []
    return [compile_promotion(promotion) for promotion in rows if promotion.name in _PROMOTION_NAMES]


async def _insert_address(ctx: Context, plan: PlannedOrder, destinations: dict[Place, Destination]) -> UUID:
    """Inserts the address of an order; reads what applies at its place once in a batch."""
    place, address_id = plan.place, new_id()
    destination = destinations.get(place) or await _find_destination(ctx, place)
    fields = {
        "firstname": plan.first_name,
        "lastname": plan.last_name,
        "address1": place.address1,
        "city": place.city,
        "zipcode": place.zipcode,
        "state_id": destination.state_id,
        "state_name": None if destination.state_id else place.state,
        "country_id": destination.country_id,
        "phone": place.phone,
    }
    row = {"id": address_id, **fields, "created_at": plan.at, "updated_at": plan.at}
    await bulk.insert_history(ctx.db, "addresses", [row])
    if place not in destinations:
        ids = destination.country_id, destination.state_id
        rates = await taxes.list_rates(ctx.db, address_id)
        shipping = await shipments.list_methods(ctx.db, *ids, place.currency)
        destinations[place] = Destination(*ids, rates, shipping)
    return address_id


async def _find_destination(ctx: Context, place: Place) -> Destination:
    country = await users.find_country(ctx.db, code=place.country, country_id=None)
    if country is None:
        raise AssertionError("migrations create every country")
    state = (
        await users.find_state(ctx.db, country_id=country.id, text=place.state, state_id=None) if place.state else None
    )
    return Destination(country.id, state.id if state else None)


async def _order_facts(
    ctx: Context,
    facts: BatchFacts,
    plan: PlannedOrder,
    address_id: UUID,
    destinations: Mapping[Place, Destination],
) -> OrderFacts:
    user_id = facts.user_ids.get(plan.email) if plan.is_customer else None
    pricing = await prices.find_pricing(ctx.db, user_id, plan.currency) if user_id else Pricing(plan.currency)
    quantities = {facts.variant_ids[sku]: quantity for sku, quantity in plan.lines if sku in facts.variant_ids}
    by_check = [method for method in facts.methods if (method.type == "check") == plan.pays_by_check]
    return OrderFacts(
        until=facts.until,
        user_id=user_id,
        address_id=address_id,
        variant_ids=facts.variant_ids,
        quotes=await quotes.list_quotes(ctx.db, pricing, quantities),
        variants=facts.variants,
        promotions=facts.promotions,
        rates=destinations[plan.place].rates,
        shipping=destinations[plan.place].shipping,
        location_ids=facts.location_ids,
        method=(by_check or facts.methods)[0],
    )
