"""The statement for the tax rates of an address."""

from typing import Any
from uuid import UUID

from sqlalchemy import Select, and_, exists, or_, select
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import opaque_param, statement
from shop.models.customers.addresses import addresses
from shop.models.setup.zones import tax_rates, zone_members, zones
from shop.rules.cart.totals import Rate

RATE_COLUMNS = (
    tax_rates.c.id,
    tax_rates.c.name,
    tax_rates.c.amount,
    tax_rates.c.included_in_price,
    tax_rates.c.tax_category_id,
)
"""The columns of a `Rate`."""


def _select_rates(is_unknown: Any, is_member: Any) -> Select[Any]:
    holds_place = exists().where(zone_members.c.zone_id == zones.c.id, is_member).correlate(zones)
    return (
        select(*RATE_COLUMNS)
        .join(zones, zones.c.id == tax_rates.c.zone_id)
        .where(or_(and_(is_unknown, zones.c.default_tax), holds_place))
        .order_by(tax_rates.c.name, tax_rates.c.id)
    )


def _is_member(country_id: Any, state_id: Any) -> Any:
    return or_(zone_members.c.country_id == country_id, zone_members.c.state_id == state_id)


def select_rates(address_id: Any) -> Select[Any]:
    """Selects the tax rates of all zones of an address, or of the default tax zone if it is null."""
    is_member = and_(addresses.c.id == address_id, _is_member(addresses.c.country_id, addresses.c.state_id))
    return _select_rates(address_id.is_(None), is_member)


_ID = PG_UUID(as_uuid=True)
_RATES = statement(select_rates(opaque_param("address_id", _ID)), lambda record: Rate(*record))
_country_id = opaque_param("country_id", _ID)
_RATES_AT = statement(
    _select_rates(_country_id.is_(None), _is_member(_country_id, opaque_param("state_id", _ID))),
    lambda record: Rate(*record),
)


async def list_rates(db: DatabaseSession, address_id: UUID | None) -> list[Rate]:
    """Returns the tax rates of all zones of an address; without an address, those of the default tax zone."""
    return await db.all(_RATES, address_id=address_id)


async def list_rates_at(db: DatabaseSession, country_id: UUID | None, state_id: UUID | None) -> list[Rate]:
    """Returns the tax rates of all zones of a place; without a country, those of the default tax zone."""
    return await db.all(_RATES_AT, country_id=country_id, state_id=state_id)
