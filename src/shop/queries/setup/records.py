"""Zones as the Platform API and the event log read them."""

from shop.models.setup.zones import Zone, zones
from shop.queries.records import Records
from shop.queries.setup.methods import MEMBERS


class CountedZone(Zone, frozen=True, kw_only=True):
    """A zone with the number of its members."""

    zone_members_count: int


ZONES = Records(table=zones, row=CountedZone, extras={"zone_members_count": MEMBERS})
