"""The statement for the tax rates of an address."""

from uuid import UUID

from sqlalchemy import and_, exists, or_, select
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import opaque_param, statement
from shop.models.customers.addresses import addresses
from shop.models.setup.zones import tax_rates, zone_members, zones
from shop.rules.cart.totals import Rate

_address = opaque_param("address_id", PG_UUID(as_uuid=True))
_holds_address = (
    exists()
    .where(
        zone_members.c.zone_id == zones.c.id,
        addresses.c.id == _address,
        or_(zone_members.c.country_id == addresses.c.country_id, zone_members.c.state_id == addresses.c.state_id),
    )
    .correlate(zones)
)
_RATES = statement(
    select(
        tax_rates.c.id,
        tax_rates.c.name,
        tax_rates.c.amount,
        tax_rates.c.included_in_price,
        tax_rates.c.tax_category_id,
    )
    .join(zones, zones.c.id == tax_rates.c.zone_id)
    .where(or_(and_(_address.is_(None), zones.c.default_tax), _holds_address))
    .order_by(tax_rates.c.name, tax_rates.c.id),
    lambda record: Rate(*record),
)


async def list_rates(db: DatabaseSession, address_id: UUID | None) -> list[Rate]:
    """Returns the tax rates of all zones of an address; without an address, those of the default tax zone."""
    return await db.all(_RATES, address_id=address_id)
