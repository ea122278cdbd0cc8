"""Statements for stock locations, shipping methods, and the shipments and shipping rates of orders."""

from collections.abc import Iterable, Sequence
from typing import Any, cast
from uuid import UUID

from sqlalchemy import ColumnElement, Text, bindparam, delete, exists, func, or_, select, update
from sqlalchemy.dialects.postgresql import ARRAY, aggregate_order_by
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import any_of, into, statement
from shop.models.catalog.stock import StockLocation, stock_items, stock_locations
from shop.models.checkout.shipments import (
    Shipment,
    ShipmentItem,
    ShippingMethod,
    ShippingRate,
    shipment_items,
    shipments,
    shipping_method_amounts,
    shipping_method_categories,
    shipping_method_zones,
    shipping_methods,
    shipping_rates,
)
from shop.models.customers.addresses import addresses
from shop.models.setup.countries import countries, states
from shop.models.setup.zones import zone_members
from shop.rules.setup.shipping import LocationStock, ShippingOption

_ID = PG_UUID(as_uuid=True)
_IDS = ARRAY(_ID)
_of_order = bindparam("order_id", type_=_ID)
_of_orders = any_of("order_ids", _ID)

_STOCK_OF_VARIANTS = statement(
    select(
        stock_items.c.id,
        stock_items.c.stock_location_id,
        stock_items.c.variant_id,
        stock_items.c.count_on_hand,
        stock_items.c.backorderable,
    )
    .join(stock_locations, stock_locations.c.id == stock_items.c.stock_location_id)
    .where(stock_locations.c.active, stock_items.c.variant_id == any_of("ids", _ID))
    .order_by(stock_locations.c.default.desc(), stock_locations.c.id),
    lambda record: LocationStock(*record),
)
_LOCATIONS = statement(
    select(stock_locations)
    .where(stock_locations.c.active)
    .order_by(stock_locations.c.default.desc(), stock_locations.c.id),
    into(StockLocation),
)
_ALL_LOCATIONS = statement(select(stock_locations), into(StockLocation))


def _reaches(destination: ColumnElement[bool]) -> ColumnElement[bool]:
    return (
        exists()
        .where(
            shipping_method_zones.c.shipping_method_id == shipping_methods.c.id,
            zone_members.c.zone_id == shipping_method_zones.c.zone_id,
            destination,
        )
        .correlate(shipping_methods)
    )


_categories = (
    select(func.array_agg(shipping_method_categories.c.shipping_category_id, type_=_IDS))
    .where(shipping_method_categories.c.shipping_method_id == shipping_methods.c.id)
    .scalar_subquery()
)


def _amounts(column: Any) -> Any:
    by_weight = aggregate_order_by(column, shipping_method_amounts.c.from_weight)
    return (
        select(func.array_agg(by_weight, type_=ARRAY(column.type)))
        .where(
            shipping_method_amounts.c.shipping_method_id == shipping_methods.c.id,
            shipping_method_amounts.c.currency == bindparam("currency", type_=Text()),
        )
        .scalar_subquery()
    )


def _method(record: Any) -> ShippingOption:
    amounts = list(zip(record["weights"] or (), record["amounts"] or (), strict=True))
    return ShippingOption(
        record["id"],
        record["name"],
        record["calculator"],
        record["tax_category_id"],
        frozenset(record["category_ids"] or ()),
        amounts,
    )


_method_select = select(
    shipping_methods.c.id,
    shipping_methods.c.name,
    shipping_methods.c.calculator,
    shipping_methods.c.tax_category_id,
    _categories.label("category_ids"),
    _amounts(shipping_method_amounts.c.from_weight).label("weights"),
    _amounts(shipping_method_amounts.c.amount).label("amounts"),
).where(shipping_methods.c.deleted_at.is_(None), shipping_methods.c.display_on == any_of("displays", Text()))
_METHODS = statement(
    _method_select.where(
        _reaches(
            or_(
                zone_members.c.country_id == bindparam("country_id", type_=_ID),
                zone_members.c.state_id == bindparam("state_id", type_=_ID),
            )
        )
    ),
    _method,
)
_country_id = select(countries.c.id).where(countries.c.iso == bindparam("country_code", type_=Text())).scalar_subquery()
_METHODS_TO = statement(_method_select.where(_reaches(zone_members.c.country_id == _country_id)), _method)
# Destinations of all storefront methods: whole countries, or states of them.
_DESTINATIONS = statement(
    select(func.coalesce(zone_members.c.country_id, states.c.country_id), zone_members.c.state_id)
    .distinct()
    .select_from(
        shipping_methods.join(
            shipping_method_zones, shipping_method_zones.c.shipping_method_id == shipping_methods.c.id
        )
        .join(zone_members, zone_members.c.zone_id == shipping_method_zones.c.zone_id)
        .outerjoin(states, states.c.id == zone_members.c.state_id)
    )
    .where(
        shipping_methods.c.deleted_at.is_(None),
        shipping_methods.c.display_on == any_of("displays", Text()),
    ),
    lambda record: cast(tuple[UUID, UUID | None], tuple(record)),
)
_DESTINATION = statement(
    select(addresses.c.country_id, addresses.c.state_id).where(addresses.c.id == bindparam("id", type_=_ID)),
    lambda record: cast(tuple[UUID, UUID | None], tuple(record)),
)
_SHIPMENTS = statement(
    select(shipments).where(shipments.c.order_id == _of_orders).order_by(shipments.c.created_at, shipments.c.id),
    into(Shipment),
)
_ITEMS = statement(
    select(shipment_items).where(shipment_items.c.order_id == _of_orders).order_by(shipment_items.c.id),
    into(ShipmentItem),
)
_RATES = statement(
    select(shipping_rates)
    .where(shipping_rates.c.order_id == _of_orders)
    .order_by(shipping_rates.c.shipment_id, shipping_rates.c.cost, shipping_rates.c.name, shipping_rates.c.id),
    into(ShippingRate),
)
_METHODS_OF = statement(
    select(shipping_methods).where(shipping_methods.c.id == any_of("ids", _ID)), into(ShippingMethod)
)
_UNPACK = statement(
    delete(shipments).where(shipments.c.order_id == _of_order).returning(shipments.c.id),
    lambda record: cast(UUID, record[0]),
)
_CHOOSE = statement(
    update(shipping_rates)
    .where(
        shipping_rates.c.order_id == _of_order,
        shipping_rates.c.shipment_id == bindparam("of_shipment", type_=_ID),
        shipping_rates.c.is_selected != (shipping_rates.c.id == bindparam("chosen", type_=_ID)),
    )
    .values(is_selected=shipping_rates.c.id == bindparam("chosen", type_=_ID))
    .returning(shipping_rates.c.id),
    lambda record: cast(UUID, record[0]),
)
_UNCHOOSE = statement(
    update(shipping_rates)
    .where(
        shipping_rates.c.order_id == _of_order,
        shipping_rates.c.shipment_id == bindparam("of_shipment", type_=_ID),
        shipping_rates.c.is_selected,
    )
    .values(is_selected=False)
    .returning(shipping_rates.c.id),
    lambda record: cast(UUID, record[0]),
)
STOREFRONT_DISPLAYS = ("both", "front_end")


async def list_stock_of_variants(db: DatabaseSession, variant_ids: Iterable[UUID]) -> list[LocationStock]:
    """Returns the stock items at active locations, the default location first."""
    return await db.all(_STOCK_OF_VARIANTS, ids=list(set(variant_ids)))


async def list_active_locations(db: DatabaseSession) -> list[StockLocation]:
    return await db.all(_LOCATIONS)


async def list_locations(db: DatabaseSession) -> list[StockLocation]:
    """Returns all stock locations, including inactive ones."""
    return await db.all(_ALL_LOCATIONS)


async def find_destination(db: DatabaseSession, address_id: UUID) -> tuple[UUID, UUID | None] | None:
    """Returns the country id and the state id of an address."""
    return await db.one(_DESTINATION, id=address_id)


async def list_methods(
    db: DatabaseSession,
    country_id: UUID,
    state_id: UUID | None,
    currency: str,
    displays: Sequence[str] = STOREFRONT_DISPLAYS,
) -> list[ShippingOption]:
    """Returns the shipping methods for a destination, with their amounts in a currency."""
    return await db.all(_METHODS, country_id=country_id, state_id=state_id, currency=currency, displays=list(displays))


async def list_methods_to(db: DatabaseSession, country_code: str, currency: str) -> list[ShippingOption]:
    """Returns the methods of the storefront that reach a whole country, with their amounts in a currency."""
    return await db.all(_METHODS_TO, country_code=country_code, currency=currency, displays=list(STOREFRONT_DISPLAYS))


async def list_methods_of(db: DatabaseSession, ids: Sequence[UUID]) -> list[ShippingMethod]:
    """Returns shipping methods by id, including deleted ones, which old orders refer to."""
    return await db.all(_METHODS_OF, ids=list(ids)) if ids else []


async def list_destinations(db: DatabaseSession) -> list[tuple[UUID, UUID | None]]:
    """Returns the countries that can be shipped to, each with a state if only that state is."""
    return await db.all(_DESTINATIONS, displays=list(STOREFRONT_DISPLAYS))


async def list_shipments(db: DatabaseSession, *order_ids: UUID) -> list[Shipment]:
    return await db.all(_SHIPMENTS, order_ids=list(order_ids))


async def list_items(db: DatabaseSession, *order_ids: UUID) -> list[ShipmentItem]:
    return await db.all(_ITEMS, order_ids=list(order_ids))


async def list_shipping_rates(db: DatabaseSession, *order_ids: UUID) -> list[ShippingRate]:
    """Returns shipping rates, the cheapest of each shipment first."""
    return await db.all(_RATES, order_ids=list(order_ids))


async def unpack(db: DatabaseSession, order_id: UUID) -> None:
    await db.all(_UNPACK, order_id=order_id)


async def choose_rate(db: DatabaseSession, order_id: UUID, shipment_id: UUID, rate_id: UUID) -> None:
    """Selects one rate of a shipment. Deselects the others first, since at most one may be selected."""
    await db.all(_UNCHOOSE, order_id=order_id, of_shipment=shipment_id)
    await db.all(_CHOOSE, order_id=order_id, of_shipment=shipment_id, chosen=rate_id)
